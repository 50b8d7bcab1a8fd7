"""Wrong arguments are refused in a sentence; judges: the signature and docstring of each function.

``wrong_arguments.py`` learns right calls from the docstrings' examples and makes them wrong, one
argument at a time; it runs in a process of its own, under a limit of time and memory.  Here its
report is held to three rules: at most 2 % end in a traceback of Python, NumPy or Numba, nothing
that the docstring excludes is accepted, and nothing hangs.
"""

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

from tests.for_each import for_rows, raises
from tests.wrong_arguments import PACKAGES, is_deliberate, kind_of, wrong_values
from trainium_edu import files
from trainium_edu.specs import Record

ROOT = Path(__file__).parents[1]
WORKER = Path(__file__).with_name("wrong_arguments.py")
#: Public functions that no example and no line of right_calls.toml reaches, at most, of all.
UNTRIED = 0.12
#: Tracebacks of Python's own, at most, of all calls.
RAW = 0.02
#: Not those whose examples take seconds: slow tests try them whole.
DRAWN = [p for p in PACKAGES if p not in ("training", "widgets", "viz")]
#: Share of all wrong calls, seed and seconds at most, of the draw that fast tests make.
DRAW = (0.15, 1, 240)


@pytest.fixture(scope="module")
def report(tmp_path_factory):
    """A function that returns a package's lines; xdist's workers share what each of them found."""
    shared = tmp_path_factory.getbasetemp()
    if "PYTEST_XDIST_WORKER" in os.environ:
        shared = shared.parent

    def found(package, share, seed, timeout):
        path = shared / f"wrong-arguments-{package}-{share}-{seed}.jsonl"
        if not path.exists():
            files.write(
                path, tried(package, share, seed, tmp_path_factory.mktemp("tried"), timeout)
            )
        return [json.loads(line) for line in path.read_text().splitlines()]

    return found


def tried(package, share, seed, folder, timeout):
    """Run the worker; return its lines, or fail and say what it was trying."""
    run = [sys.executable, str(WORKER), package, str(share), str(seed)]
    environment = os.environ | {"PYTHONPATH": str(ROOT), "TRAINIUM_EDU_COMMITTED": "1"}
    out = folder / "lines"
    with out.open("w") as lines:
        try:
            done = subprocess.run(run, stdout=lines, stderr=subprocess.PIPE, text=True, cwd=folder,
                                  env=environment, timeout=timeout)  # fmt: skip
            trouble = done.stderr[-2000:] if done.returncode else ""
        except subprocess.TimeoutExpired:
            trouble = f"stopped after {timeout} s"
    if trouble:
        pytest.fail(f"{package}: {trouble}; the last call was {out.read_text().splitlines()[-1:]}")
    return out.read_text()


def hold(lines):
    """Hold one package's report to the rules."""
    first, calls = lines[0], [line for line in lines if "outcome" in line]
    assert not first["missed"], first["missed"]
    of = {
        outcome: [f"{c['call']}: {c['detail']}" for c in calls if c["outcome"] == outcome]
        for outcome in ("hang", "silent", "raw")
    }
    assert not of["hang"], "\n".join(of["hang"])
    assert not of["silent"], "\n".join(of["silent"])
    assert len(of["raw"]) <= max(2, RAW * len(calls)), "\n".join(of["raw"])


@pytest.mark.parametrize("package", DRAWN)
def test_a_draw_of_wrong_arguments_is_refused_in_a_sentence(package, report):
    hold(report(package, *DRAW))


@pytest.mark.slow
@pytest.mark.parametrize("package", PACKAGES)
def test_all_wrong_arguments_are_refused_in_a_sentence(package, report):
    hold(report(package, share=1.0, seed=0, timeout=500))


def test_few_of_all_end_in_a_traceback(report):
    lines = [line for package in DRAWN for line in report(package, *DRAW)]
    outcomes = [line["outcome"] for line in lines if "outcome" in line]
    assert outcomes.count("raw") <= RAW * len(outcomes)
    assert outcomes.count("refused") > 0.8 * len(outcomes)


def test_nearly_every_public_function_is_tried(report):
    first = [report(package, *DRAW)[0] for package in DRAWN]
    unknown = [name for line in first for name in line["unknown"]]
    assert len(unknown) <= UNTRIED * sum(line["functions"] for line in first), unknown


# --- The judge itself ---


def test_a_sentence_of_ours_is_told_from_a_traceback_of_pythons():
    caught = raises(TypeError, "", Record("a", b=1).find, 3)
    assert is_deliberate(caught)
    caught = raises(AttributeError, "", Record.find.__wrapped__, Record("a"), 3)
    assert not is_deliberate(caught)


@for_rows("line, kind",
    ("int", "int"), ("int, optional", "int"), ("float, CSS pixels", "float"), ("bool", "bool"),
     ("{1, 2}", "choice"), ("Format or str", "record"), ("float32[n, 64]", "array"),
     ("sequence of int", "sequence"), ("Topology", "record"), ("int or dict", None),
)  # fmt: skip
def test_type_lines_are_read(line, kind):
    assert kind_of(line, None) == kind


def test_what_a_docstring_excludes_is_known():
    excluded = {label for label, _, no in wrong_values("int", "int", "1 to 31.", 16) if no}
    assert {"a bool", "a fraction", "text", "None", "0", "-1", "huge", "NaN"} <= excluded
    allowed = {label for label, _, no in wrong_values("float", "float, optional", "", None) if no}
    assert "None" not in allowed
    assert "huge" not in allowed
