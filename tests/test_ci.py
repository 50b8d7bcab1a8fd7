"""The run of all lanes.  Judge: the shell's exit status, which is all that a CI machine reads."""

import json
import os
import re
import runpy
import subprocess
import sys
from pathlib import Path
from types import SimpleNamespace

import nbformat
import pytest

from tests.for_each import for_each, raises
from trainium_edu.cli import under_nbval as under_nbval_plugin

TOP = Path(__file__).parents[1]
RUN = TOP / ".ci" / "run"
LESSONS = sorted((TOP / "notebooks").glob("*.ipynb"))
PROCESSORS = runpy.run_path(str(TOP / ".ci" / "processors.py"))
LANES = """
lane_first() { echo one; }
lane_second() { echo two; false; echo never; }
lane_third() { echo three; }
lane_fourth() { printf 'FAILED a - why\nFAILED b\nmodule.py:3: error: no type\n'; seq 40; false; }
"""


def run_with(folder, turns):
    """Run ``.ci/run`` with small lanes in these turns."""
    text = RUN.read_text()
    turned, found = re.subn(r"^TURNS=\(.*\)$", f"TURNS=({turns})\n{LANES}", text, flags=re.M)
    assert found == 1
    (folder / ".ci").mkdir()
    (folder / ".ci" / "run").write_text(turned)
    return subprocess.run(["bash", ".ci/run"], cwd=folder, capture_output=True, text=True)


@pytest.mark.parametrize(
    ("turns", "status", "end"),
    [
        ('"first" "third first"', 0, r"third +0\.\d min\nfirst +0\.\d min\nall +0\.\d min\n$"),
        ('"first" "second third"', 1, r"second +0\.\d min  FAILED\nthird(.*\n)+failed: second\n$"),
    ],
)
def test_the_run_ends_with_zero_exactly_when_no_lane_failed(tmp_path, turns, status, end):
    done = run_with(tmp_path, turns)
    assert done.returncode == status, done.stderr
    assert "== first ==\none\n" in done.stdout
    assert "never" not in done.stdout
    assert re.search(end, done.stdout)


def test_each_failure_of_each_lane_is_listed_at_the_end(tmp_path):
    done = run_with(tmp_path, '"first fourth" "second"')
    listed = done.stdout.split("\n== what failed in ")[1:]
    assert listed[0] == "fourth ==\nFAILED a - why\nFAILED b\nmodule.py:3: error: no type\n"
    assert listed[1].startswith("second ==\ntwo\n")


def test_a_loop_over_values_goes_on_and_names_each_that_fails():
    met = []

    @for_each("value", [1, pytest.param(2, id="two"), 3, 4])
    def odd(value):
        met.append(value)
        assert value % 2, "even"

    problem = raises(pytest.fail.Exception, "", odd)
    assert re.fullmatch(
        r"2 of 4 values failed\n\[two\] AssertionError: even[^[]*\[4\] AssertionError: even[^[]*",
        str(problem),
    )
    assert met == [1, 2, 3, 4]


def told(code, **environment):
    """Return what a fresh Python says under some environment."""
    done = subprocess.run(
        [sys.executable, "-c", code], env=os.environ | environment, capture_output=True, text=True,
        check=True,
    )  # fmt: skip
    return done.stdout


def test_processors_are_all_that_blas_and_numpy_can_tell_apart():
    """Judges: bits of a product by OpenBLAS under each name; NumPy's own list of features."""
    bits = (
        "import numpy as np; a = np.random.default_rng(0).random((199, 199), 'f4');"
        "print((a @ a).tobytes().hex())"
    )
    with open("/proc/cpuinfo") as file:
        has = set(next(line for line in file if line.startswith("flags")).split())
    names = [n for n, needs in PROCESSORS["CORE_TYPES"].items() if has.issuperset(needs.split())]
    assert {"Prescott", "Haswell", "Zen", "SkylakeX"} <= set(PROCESSORS["CORE_TYPES"])
    taken = PROCESSORS["core_types"]()
    results = {name: told(bits, OPENBLAS_CORETYPE=name) for name in names}
    assert {results[name] for name in taken} == set(results.values())
    left = told(
        "from numpy._core._multiarray_umath import __cpu_dispatch__ as d, __cpu_features__ as f;"
        "print([name for name in d if f[name]])",
        NPY_DISABLE_CPU_FEATURES=PROCESSORS["numpy_features"](),
    )
    assert left == "[]\n"


def test_soak_takes_all_combinations_of_core_type_threads_and_vector_instructions():
    """Judge: the product of the three lists, counted by hand."""
    whole = PROCESSORS["settings"]()
    assert len({tuple(s.values()) for s in whole}) == len(whole)
    assert len(whole) == len(PROCESSORS["core_types"]()) * 2 * 2
    assert any(s["NPY_DISABLE_CPU_FEATURES"] for s in whole)
    assert ".ci/processors.py\n" in commands("soak")


def commands(target):
    """Return what make would do."""
    done = subprocess.run(
        ["make", "--dry-run", "--no-print-directory", target], cwd=TOP, capture_output=True,
        text=True, check=True,
    )  # fmt: skip
    return done.stdout


def test_all_lessons_run_and_their_kernels_own_what_they_talk_through(tmp_path):
    """Judge: make's own list, and the operating system's list of what a kernel listens on."""
    assert all(f"notebooks/{lesson.name}" in commands("test-notebooks") for lesson in LESSONS)
    kernelspec = {"name": "python3", "display_name": "Python 3"}
    book = nbformat.v4.new_notebook(metadata={"kernelspec": kernelspec})
    book.cells.append(nbformat.v4.new_code_cell(
        "import psutil\n"
        "found = psutil.Process().net_connections('unix')\n"
        "len({c.laddr for c in found if '/lessons-' in c.laddr})"
    ))  # fmt: skip
    sockets = nbformat.v4.new_output("execute_result", {"text/plain": "5"}, execution_count=1)
    book.cells[0].execution_count = 1
    book.cells[0].outputs = [sockets]  # shell, iopub, stdin, control, heartbeat
    nbformat.write(book, tmp_path / "sockets.ipynb")
    done = under_nbval(tmp_path / "sockets.ipynb")
    assert done.returncode == 0, done.stdout


def under_nbval(path):
    """Run ``pytest --nbval`` as somebody would who knows only the environment file."""
    plain = {k: v for k, v in os.environ.items() if not k.startswith("TRAINIUM_EDU")}
    return subprocess.run(
        [sys.executable, "-m", "pytest", "--nbval", "-q", str(path)], cwd=TOP,
        env=plain | {"PYTHONPATH": str(TOP)}, capture_output=True, text=True,
    )  # fmt: skip


def test_nbval_alone_reads_the_lessons_along():
    """Judge: a lesson's stored outputs, which show what is behind its predictions."""
    done = under_nbval(LESSONS[0])
    assert done.returncode == 0, done.stdout[-3000:]


def test_without_nbval_the_plugin_does_nothing(monkeypatch):
    monkeypatch.delenv("TRAINIUM_EDU_COMMITTED", raising=False)
    options = SimpleNamespace(getoption=lambda name, default: default)
    under_nbval_plugin.pytest_configure(options)
    assert "TRAINIUM_EDU_COMMITTED" not in os.environ


@for_each("lesson", LESSONS, ids=lambda path: path.stem)
def test_lessons_print_no_digits_of_a_rounding_error(lesson):
    """Judge: BLAS, whose last digits differ by core type (`.ci/run processors` compares them).

    What is left of a difference is smaller than any number that a lesson is about, except for
    those that a format's name stands beside, and for what a puzzle's kernel is to return.
    """
    outputs = [o for c in json.loads(lesson.read_text())["cells"] for o in c.get("outputs", ())]
    texts = ["".join(o.get("text") or o["data"]["text/plain"]) for o in outputs]
    for line in "\n".join(texts).splitlines():
        tiny = re.search(r"(?<!than )\b\d(\.\d+)?e-(0?[5-9]|\d\d)\b", line)
        assert not tiny or re.match(r"(E\dM\d|wanted)\b", line), line


def test_the_workflow_calls_what_stands_here():
    """Judge: the Makefile's own targets, its command for the fast tests, and the files named."""
    text = (TOP / ".github" / "workflows" / "ci.yml").read_text()
    assert ".ci/run" in text
    fast = re.search(r'-m pytest (-n 2 -m "[^"]*")', commands("test-fast")).group(1)
    assert f"python -m pytest {fast}" in text
    targets = re.findall(r"run: make (\S+)", text)
    assert targets == ["docs", "test-fast", "test-notebooks"]
    for target in targets:
        assert commands(target)
    for name in re.findall(r"notebooks/\S+\.ipynb", text):
        assert (TOP / name).is_file()
