"""The Gradescope archive and its results.

Judge: Gradescope's documented format (two scripts at the top of the archive; ``results.json`` with
a score or tests, each with score and max_score), and the grader's own row.
"""

import json
import os
import stat
import subprocess
import sys
import zipfile

import pytest

from tests.cli.kernel_files import RIGHT, write
from tests.cli.submitted import grade_submission
from tests.cli.test_grade import LESSON, LIMITS, _lesson, submission  # noqa: F401
from trainium_edu import __main__
from trainium_edu.cli import gradescope, sandbox
from trainium_edu.cli.assignment import read


def test_results_have_a_test_for_each_exercise(tmp_path):
    row = grade_submission(
        submission(tmp_path / "a.ipynb", double="def double(x):\n    return x * x"),
        modules=[LESSON],
        limits=LIMITS,
    )
    gradescope.write_results(row, tmp_path / "results" / "results.json")
    found = json.loads((tmp_path / "results" / "results.json").read_text())
    assert found["score"] == sum(test["score"] for test in found["tests"]) == 4
    assert sum(test["max_score"] for test in found["tests"]) == 6
    first = next(test for test in found["tests"] if test["number"] == "99/double")
    assert (first["score"], first["max_score"], first["status"]) == (0, 2, "failed")
    assert first["output"] == "wrong: That is the square."
    assert found["stdout_visibility"] == "hidden"


def test_a_file_that_is_no_submission_scores_nothing_and_says_why(tmp_path):
    (tmp_path / "a.ipynb").write_text("no notebook")
    arguments = ["grade", str(tmp_path), "--gradescope", str(tmp_path / "results.json")]
    assert __main__.main(arguments) == 0
    found = json.loads((tmp_path / "results.json").read_text())
    assert (found["score"], found["tests"]) == (0, [])
    assert found["output"] == f"not a notebook (not JSON)\nwalls: {sandbox.described()}"


def test_the_archive_has_two_scripts_that_can_be_run_and_a_package_that_can_be_built(tmp_path):
    out = tmp_path / "autograder.zip"
    assert __main__.main(["export", "02", str(out), "--gradescope", "--salt", "it's"]) == 0
    with zipfile.ZipFile(out) as archive:
        names = archive.namelist()
        for script in ("setup.sh", "run_autograder"):
            assert stat.S_IMODE(archive.getinfo(script).external_attr >> 16) & 0o111
            if os.name == "posix":
                subprocess.run(["bash", "-n"], input=archive.read(script), check=True)
        assert "it's" not in archive.read("run_autograder").decode()
        assert archive.read("salt") == b"it's\n"
        assert stat.S_IMODE(archive.getinfo("salt").external_attr >> 16) == 0o600
        assert "package/pyproject.toml" in names
        assert "package/trainium_edu/exercises/stochastic_rounding.py" in names
        assert not [name for name in names if "solutions" in name or "__pycache__" in name]
    assert sum(name.endswith(".ipynb") for name in names) >= 8


def test_the_archive_of_an_assignment_holds_its_files_and_nobody_elses(tmp_path):
    spec = write(tmp_path, right=RIGHT)
    out = tmp_path / "autograder.zip"
    said = gradescope.export(str(spec), out, salt="pepper")
    assert said.endswith("autograder for assignment Tiled product, 4 parts, 7 points")
    with zipfile.ZipFile(out) as archive:
        names = {name for name in archive.namelist() if not name.startswith("package/")}
        line = archive.read("run_autograder").decode()
        archive.extractall(tmp_path / "source")
    assert names == {"setup.sh", "run_autograder", "salt", "assignment/spec.toml",
                     "assignment/reference.py"}  # fmt: skip
    assert (
        " grade submission --assignment source/assignment/spec.toml --salt-file source/salt "
        in line
    )
    unpacked = read(tmp_path / "source" / "assignment" / "spec.toml", salt="pepper")
    assert unpacked.digest == read(spec, salt="pepper").digest


@pytest.mark.slow
def test_the_archives_package_grades_a_submission(tmp_path):
    """Run what ``run_autograder`` runs, on the unpacked package in a process of its own."""
    from tests.solutions import reading

    out = tmp_path / "autograder.zip"
    gradescope.export("07", out, salt="pepper")
    with zipfile.ZipFile(out) as archive:
        archive.extractall(tmp_path)
        line = archive.read("run_autograder").decode().replace("\\\n", "").split()
    (tmp_path / "submission").mkdir()
    (tmp_path / "source").mkdir()
    (tmp_path / "salt").rename(tmp_path / "source" / "salt")
    (tmp_path / "source" / "salt").chmod(0o600)  # as setup.sh does
    answers = {b.key: b.source for b in reading.blocks("07") if b.kind == "solution"}
    book = reading.with_answers("07", answers, "")
    (tmp_path / "submission" / "07.ipynb").write_text(json.dumps(book))
    done = subprocess.run(
        [sys.executable, *line[line.index("-m") :]], cwd=tmp_path, capture_output=True, text=True,
        env={**os.environ, "PYTHONPATH": str(tmp_path / "package")},
    )  # fmt: skip
    assert done.returncode == 0, done.stderr
    found = json.loads((tmp_path / "results" / "results.json").read_text())
    assert found["score"] == sum(test["max_score"] for test in found["tests"]) == 6
