"""``import nki`` without changing the code.  Judge: Python's own import, in a fresh process."""

import os
import subprocess
import sys

import pytest

import trainium_edu.nki as nki
from tests.texts import table_beside, text_beside

CODE = table_beside(__file__, "drop_in.toml")


def python(code, *, folder=None, **environment):
    """Run code in a fresh Python and return what it printed."""
    env = {**os.environ, **environment}
    if folder:
        env["PYTHONPATH"] = str(folder)
    found = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, env=env)
    assert found.returncode == 0, found.stderr
    return found.stdout.strip()


def test_the_public_imports_find_this_package():
    code = "import trainium_edu.nki as t; print(t.activate())\n" + CODE["imports"]
    assert python(code).split() == ["True"] * 8


def test_kernels_that_aws_published_are_found_where_its_tests_look_for_them(tmp_path):
    """Judge: Python's import of a file in a folder called reference, under a name of AWS's."""
    (tmp_path / "reference").mkdir()
    (tmp_path / "reference" / "attention.py").write_text("twice = lambda x: 2 * x\n")
    said = python(CODE["published_kernels"], folder=tmp_path).split()
    assert said == ["8", "2", "4", "True", "True"]


def test_a_script_of_the_documentation_finds_the_kernel_beside_it(tmp_path):
    """Judge: the import of AWS's layer norm script, ``neuronxcc.nki.docs.examples.<folder>``."""
    folder = tmp_path / "examples" / "softmax"
    folder.mkdir(parents=True)
    (folder / "twice.py").write_text("factor = 2\n")
    code = f"""
import sys, trainium_edu.nki as ours
ours.activate()
sys.path.insert(0, {str(folder)!r})  # as Python does for a script, and `trainium_edu run`
from neuronxcc.nki.docs.examples.softmax.twice import factor
print(factor)
"""
    assert python(code) == "2"


def test_deactivate_takes_it_back():
    assert python(CODE["taken_back"]) == "gone"


@pytest.fixture
def with_aws(tmp_path):
    """Make a folder that holds another package called nki."""
    (tmp_path / "nki").mkdir()
    (tmp_path / "nki" / "__init__.py").write_text("whose = 'AWS'\n")
    return tmp_path


def test_a_machine_with_aws_packages_is_left_alone_unless_asked(with_aws):
    said = python(CODE["left_alone"], folder=with_aws).split()
    assert said == ["False", "AWS", "False", "True", "True"]


def test_load_ext_activates_and_unload_ext_takes_back():
    pytest.importorskip("IPython")
    assert python(CODE["load_ext"]).split() == ["True", "False"]


def test_annotations_of_parameters_take_a_shape():
    import numpy as np

    from trainium_edu.nki import typing

    @nki.jit
    def kernel(x: typing.tensor[2, 2], kind: nki.dtype = "float32"):
        return x

    assert kernel(np.ones((2, 2), np.float32)).shape == (2, 2)


OLDER = text_beside(__file__, "older_imports.py.txt")


def test_the_older_imports_find_this_package_too():
    """Judge besides: the imports at the head of AWS's own examples, SDK 2.20 to 2.26."""
    code = "import trainium_edu.nki as t; t.activate()" + OLDER
    assert python(code).split() == ["True"] * 8


def test_what_published_scripts_import_from_inside_the_compiler():
    """Judge: NumPy's allclose; imports at the head of AWS's benchmarks, tuners and libraries."""
    assert python(CODE["inside_the_compiler"]).splitlines() == [
        "True True True", "allclose: the largest error is 0.5", "True False",
    ]  # fmt: skip


def test_the_older_names_are_taken_back_too():
    assert python(CODE["older_taken_back"]) == "gone False"


def test_an_older_package_of_aws_is_left_alone(tmp_path):
    (tmp_path / "neuronxcc").mkdir()
    (tmp_path / "neuronxcc" / "__init__.py").write_text("whose = 'AWS'\n")
    said = python(CODE["older_left_alone"], folder=tmp_path).split()
    assert said == ["True", "AWS", "trainium_edu.nki.beta1"]
