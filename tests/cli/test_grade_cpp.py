"""C++ of submissions runs apart: same verdicts, within limits, behind walls where there are any.

Judges: the same jobs in this process; a file that a submission must not read.
"""

import time

import nbformat
import numpy as np
import pytest

from tests.cli.submitted import grade_submission
from tests.solutions import reading
from tests.texts import text_beside
from trainium_edu.cli import sandbox
from trainium_edu.cli.apart import Stopped
from trainium_edu.cli.grade import grade_all
from trainium_edu.cli.grade_cpp import CppApart
from trainium_edu.cli.limits import Limits
from trainium_edu.exercises import cpp
from trainium_edu.neuroncore import gpsimd_cpp

DOUBLE = """
#include <torch/torch.h>
HEAD
torch::Tensor twice(const torch::Tensor& x, double by) { BODY return torch::mul(x, by); }
"""
SHAPE = cpp.shape_source("twice", "torch::Tensor x, double by")
X = np.arange(5, dtype=np.float32)


def job(head="", body=""):
    text = DOUBLE.replace("HEAD", head).replace("BODY", body)
    return cpp.Job("twice", text, SHAPE, False, [(X, 2.0), (X[:3], 3.0)])


@pytest.fixture(scope="module", autouse=True)
def _compiler():
    try:
        gpsimd_cpp.find_compiler()
    except gpsimd_cpp.NoCompilerError as missing:
        pytest.skip(str(missing))


@pytest.fixture(scope="module", params=["walls", pytest.param("none", marks=pytest.mark.slow)])
def apart(request):
    walls = request.param == "walls"
    if walls and sandbox.missing():
        pytest.skip(sandbox.missing())
    with CppApart(walls, Limits(seconds=5)) as it:
        it.walls = walls
        yield it


@pytest.mark.parametrize("body", ["", "for (;;) by += 1;"])
def test_a_job_gives_apart_what_it_gives_here(apart, body):
    there, here = apart(job(body=body)), cpp.run_here(job(body=body))
    assert (there.keys(), there.get("text")) == (here.keys(), here.get("text"))
    for one, other in zip(there["outcomes"], here["outcomes"], strict=True):
        np.testing.assert_array_equal(one.output, other.output)
        assert (one.works, one.ns) == (other.works, other.ns)


def test_a_file_of_the_graders_is_not_there_behind_walls(apart, tmp_path):
    secret = tmp_path / "secret"
    secret.write_text("the salt")
    head = "#include <sys/syscall.h>\n#include <unistd.h>"  # a system call is what no stub refuses
    body = f'if (syscall(SYS_openat, -100, "{secret}", 0) >= 0) by = 99;'
    (first, _) = apart(job(head, body))["outcomes"]
    is_hidden = apart.walls or sandbox.has_another_user()  # who may not enter tmp_path
    assert first.output[1] == (2.0 if is_hidden else 99.0)


@pytest.mark.slow
@pytest.mark.clock
def test_what_runs_before_main_is_stopped_too():
    """A static initialiser runs when the program starts, before the call's own limits."""
    with CppApart(not sandbox.missing(), Limits(seconds=1)) as apart:
        begin = time.monotonic()
        with pytest.raises(Stopped, match="its C\\+\\+ did not end within 7 s"):
            apart(job(head="static int endless = [] { for (;;) {} return 1; }();"), patience_s=6)
        assert time.monotonic() - begin < 30
        assert "problem" not in apart(job())


NUMPY = """
def sums(*arrays):
    return arrays[0].sum(0) if arrays else "torch::Tensor sums(torch::Tensor x) { return x; }"
"""
OPENS = text_beside(__file__, "opens.py.txt")


@pytest.mark.slow
def test_a_submission_with_all_solutions_gets_all_points_and_one_that_cheats_none(tmp_path):
    answers = {b.key: b.source for b in reading.blocks("13") if b.kind == "solution"}
    wrong = {"13/race": NUMPY, "13/histogram": OPENS} | {
        b.key: b.source
        for b in reading.blocks("13")
        if b.kind == "hard-coded" and b.key == "13/engine"
    }
    rows = []
    for name, given in (("right", answers), ("wrong", wrong)):
        path = tmp_path / f"13_{name}.ipynb"
        nbformat.write(reading.with_answers("13", given), path)
        rows.append(grade_submission(path))
    assert [row.points for row in rows] == [11, 0], [row.exercises for row in rows]
    said = {key: grade["reason"] for key, grade in rows[1].exercises.items()}
    assert "the C++ compiler says" in said["13/race"]
    assert "names of the emulator's own" in said["13/histogram"]
    assert said["13/engine"].startswith("hidden check: ")


def test_a_row_that_could_not_be_checked_is_graded_again(tmp_path):
    """Judge: a kept row of the same file, once as it was and once not checked."""
    path = tmp_path / "13_me.ipynb"
    nbformat.write(reading.notebook("13"), path)
    (row,) = grade_all([path])
    assert {grade["status"] for grade in row.exercises.values()} == {"not attempted"}
    row.notes = ["kept"]
    known = {(row.submission, row.digest): row}
    assert grade_all([path], known=known)[0].notes == ["kept"]
    row.exercises["13/race"]["status"] = "not checked"
    assert grade_all([path], known=known)[0].notes == []
