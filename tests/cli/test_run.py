"""``python -m trainium_edu run``.  Judge: what Python does with the same script."""

import os
import subprocess
import sys

import pytest

from tests.texts import text_beside

SCRIPT = text_beside(__file__, "run.py.txt")


@pytest.fixture
def script(tmp_path):
    (tmp_path / "beside.py").write_text("SCALE = 3.0\n")
    path = tmp_path / "script.py"
    path.write_text(SCRIPT)
    return path


def run(*arguments, **environment):
    return subprocess.run(
        [sys.executable, "-m", "trainium_edu", "run", *map(str, arguments)],
        capture_output=True, text=True, env={**os.environ, **environment}, check=False,
    )  # fmt: skip


def test_a_script_that_imports_nki_runs_unmodified_with_its_arguments(script):
    found = run(script, "--fast", "7", "--platform", "mine")
    assert found.returncode == 0, found.stderr
    assert found.stdout.strip() == (
        "__main__ ['--fast', '7', '--platform', 'mine'] [[3.0, 3.0], [3.0, 3.0]]"
    )


def test_an_error_is_shown_as_python_shows_it(script):
    script.write_text("import nki\n\ndef f():\n    raise KeyError('mine')\n\nf()\n")
    found = run(script)
    assert found.returncode == 1
    lines = found.stderr.strip().splitlines()
    assert lines[0].startswith("Traceback")
    assert "script.py" in lines[1]
    assert lines[-1] == "KeyError: 'mine'"


@pytest.mark.parametrize(("leave", "code"), [("3", 3), ("", 0), ("'words'", 1)])
def test_the_exit_code_is_the_scripts(script, leave, code):
    script.write_text(f"import sys\nsys.exit({leave})\n")
    assert run(script).returncode == code


def test_a_missing_script_is_named():
    found = run("nothing.py")
    assert found.returncode == 2
    assert "nothing.py: there is no such script" in found.stderr


def test_a_platform_that_the_script_sets_can_be_overruled(script):
    script.write_text(
        'import os\nos.environ["NEURON_PLATFORM_TARGET_OVERRIDE"] = "trn3"\n' + script.read_text()
    )
    refused = run(script)
    assert refused.returncode == 1
    assert "asks for NeuronCore-v4" in refused.stderr
    assert "[[3.0, 3.0], [3.0, 3.0]]" in run("--platform", "trn1", script).stdout


def test_aws_own_package_is_left_alone_unless_asked(script):
    (script.parent / "nki").mkdir()
    (script.parent / "nki" / "__init__.py").write_text("")
    where = {"PYTHONPATH": str(script.parent)}
    refused = run(script, **where)
    assert refused.returncode == 1
    assert "left alone" in refused.stderr
    assert "3.0" in run("--replace", script, **where).stdout


def test_descriptors_are_written_before_where_a_flag_says_so(tmp_path):
    """Judge: the kernel's own timeline, with the flag and without."""
    path = tmp_path / "timed.py"
    path.write_text(text_beside(__file__, "timed.py.txt"))
    for more, waits in (((), "True"), (("--disable-dge",), "False")):
        found = run("--platform", "trn2", *more, path, NEURON_CC_FLAGS="--auto-cast none")
        assert (found.stdout.strip(), found.returncode) == (waits, 0), found.stderr
