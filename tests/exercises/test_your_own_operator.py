"""Lesson 13 with and without a compiler, and its exercises' premises.

Judges: what the lesson stores; programs of both engines, timed; a machine without a compiler.
"""

import re
from pathlib import Path

import nbclient
import nbformat
import numpy as np
import pytest

import trainium_edu.nki as nki
import trainium_edu.nki.isa as nisa
import trainium_edu.nki.language as nl
from tests.for_each import for_rows
from tests.neuroncore.gpsimd_cpp.sources import program
from tests.solutions import reading
from tests.texts import text_beside
from trainium_edu import exercises
from trainium_edu.exercises import cpp
from trainium_edu.exercises import your_own_operator as check
from trainium_edu.exercises.exercise import Status
from trainium_edu.neuroncore import gpsimd_cpp
from trainium_edu.neuroncore.gpsimd_cpp import compiler

ROOT = Path(__file__).parents[2]
LESSON = ROOT / "notebooks" / "13_your_own_operator.ipynb"
NO_COMPILER = text_beside(__file__, "no_compiler.py.txt")


def _here():
    try:
        gpsimd_cpp.find_compiler()
    except gpsimd_cpp.NoCompilerError as missing:
        pytest.skip(str(missing))


def said(cell):
    """Return a cell's texts: what it prints, in one piece, and what its outputs say."""
    printed = "".join(out.text for out in cell.outputs if out.output_type == "stream")
    shown = [out for out in cell.outputs if out.output_type != "stream"]
    return [printed, *(out.get("data", {}).get("text/plain", out.get("ename")) for out in shown)]


@pytest.mark.parametrize("way", ["without", pytest.param("with", marks=pytest.mark.slow)])
def test_the_lesson_says_what_it_stores_with_a_compiler_and_without(way, tmp_path, monkeypatch):
    """The same outputs both ways: all operator calls are stored, errors and graphs too."""
    if way == "with":
        _here()
    book = nbformat.read(LESSON, as_version=4)
    stored = {cell.id: said(cell) for cell in book.cells if cell.cell_type == "code"}
    assert any("race: processors 0 and 1" in text for texts in stored.values() for text in texts)
    if way == "without":
        book.cells.insert(0, nbformat.v4.new_code_cell(NO_COMPILER))
    monkeypatch.setenv("TRAINIUM_EDU_COMMITTED", "1")
    monkeypatch.setenv("TRAINIUM_EDU_HOME", str(tmp_path))
    monkeypatch.setenv("PYTHONPATH", str(ROOT))
    nbclient.NotebookClient(
        book, timeout=120, kernel_name="python3", resources={"metadata": {"path": str(tmp_path)}}
    ).execute()
    for cell in book.cells:
        if cell.cell_type == "code" and cell.id in stored:
            assert said(cell) == stored[cell.id], cell.id


def test_a_program_that_was_not_stored_is_refused_in_a_sentence(monkeypatch):
    exec(NO_COMPILER, {})
    try:
        place = gpsimd_cpp.Stored(Path(cpp.__file__).with_name("your_own_operator.json.xz"))
        monkeypatch.setattr(cpp, "stored", lambda: place)
        with pytest.raises(gpsimd_cpp.NoCompilerError, match="no result is stored"):
            cpp.operator("relu", "torch::Tensor relu(const torch::Tensor& x) { return x; }")
    finally:
        monkeypatch.undo()
        _restore()


def _restore():
    import importlib

    from trainium_edu.neuroncore.gpsimd_cpp import stored

    importlib.reload(compiler)
    stored.find_compiler = compiler.find_compiler


def _solution(key):
    (block,) = (b for b in reading.blocks("13") if (b.key, b.kind) == (key, "solution"))
    return reading.run(block)[exercises.find(key).answer]


def test_without_a_compiler_an_answer_is_not_checked_and_gets_no_verdict():
    def no_compiler(job):
        return {"outcomes": [], "problem": "no compiler", "text": "there is no C++ compiler"}

    cpp.use(no_compiler)
    try:
        result = check.sums(_solution("13/race"))
        assert result.status is Status.NOT_CHECKED
        assert "Not checked here: there is no C++ compiler" in str(result)
        grade = check.sums.grade(_solution("13/race"))
        assert (grade.points, grade.status) == (0, "not checked")
        assert "no C++ compiler" in grade.reason
        assert check.sums(cpp.Source(check.RACING)).status is Status.NOT_ATTEMPTED
    finally:
        cpp.use(cpp.run_here)


def test_the_programs_of_the_exercises_do_what_the_lesson_says_of_them():
    """The race is found, and 16 KB are too small; judge: the emulator's own refusals."""
    _here()
    told = cpp.run_here(cpp.Job(
        "sums", check.RACING, cpp.shape_source("sums", result="{x.size(1)}, torch::kFloat"), True,
        [(np.ones((16, 40), np.float32),)],
    ))  # fmt: skip
    assert "all write element [0] of the result" in told["text"]
    assert check.RACING.splitlines()[told["line"]].strip().startswith("out.tcm_to_tensor")
    shape = cpp.shape_source(
        "histogram", "torch::Tensor values, double bins", "{(int64_t)bins}, torch::kInt"
    )
    few, many = (
        cpp.run_here(cpp.Job("histogram", check.COUNTING, shape, False,
                             [(np.arange(bins, dtype=np.int32), float(bins))]))
        for bins in (100, 5000)
    )  # fmt: skip
    assert few["outcomes"][0].output.tolist() == [1] * 100
    assert "the pool of 16 KB full" in many["text"]


LOOKUP = program("lookup.cpp")
TRIPS = program("trips.cpp")


@nki.jit
def by_lanes(x, entries):
    out = nl.ndarray(x.shape, nl.float32, buffer=nl.shared_hbm)
    tile, one, total = (nl.ndarray(x.shape, nl.float32, buffer=nl.sbuf) for _ in range(3))
    nisa.dma_copy(dst=tile, src=x)
    nisa.memset(dst=total, value=0.0)
    for e in range(entries):
        nisa.tensor_scalar(dst=one, data=tile, op0=nl.equal, operand0=float(e), op1=nl.multiply,
                           operand1=float(e * e))  # fmt: skip
        nisa.tensor_tensor(dst=total, data1=total, data2=one, op=nl.add)
    nisa.dma_copy(dst=out, src=total)
    return out


@for_rows("numbers, entries", (4096, 40), (16_384, 64), (65_536, 24))
def test_the_times_of_the_third_exercise_are_those_of_real_programs(numbers, entries):
    """Judge: a kernel and two operators that do the lookup, right, on the emulator's clock."""
    _here()
    x = np.random.default_rng(0).integers(0, entries, numbers).astype(np.int32)
    table = (np.arange(entries) ** 2).astype(np.float32)
    vector = nki.run(by_lanes, x.astype(np.float32).reshape(128, -1), entries)
    np.testing.assert_array_equal(vector.outputs.ravel(), table[x])
    told = check.VECTOR_NS + entries * (
        check.VECTOR_ENTRY_NS + check.VECTOR_COLUMN_NS * numbers / 128
    )
    assert told == pytest.approx(vector.timeline.makespan_ns, rel=0.15)
    arguments = "torch::Tensor x, torch::Tensor table"
    for name, text, many, told in (
        ("shared", LOOKUP, True, check.OPERATOR_NS + check.SHARED_NS * numbers / 8),
        ("trips", TRIPS, False, check.TRIP_NS * numbers),
    ):
        found = cpp.run_here(
            cpp.Job(name, text, cpp.shape_source(name, arguments), many, [(x, table)])
        )
        (one,) = found["outcomes"]
        np.testing.assert_array_equal(one.output, table[x])
        assert told == pytest.approx(one.ns, rel=0.15), name


def test_a_table_of_2048_entries_is_the_largest_that_fits_beside_its_buffers():
    _here()
    for entries, fits in ((2048, True), (2049, False)):
        shape = cpp.shape_source("shared", "torch::Tensor x, torch::Tensor table")
        case = np.zeros(8192, np.int32), np.zeros(entries, np.float32)
        told = cpp.run_here(cpp.Job("shared", LOOKUP, shape, True, [case]))
        assert ("problem" not in told) == fits
        assert check.best(2**20, entries) == ("operator" if fits else "vector")


@for_rows("student", "", "a", "b", "c", "d")
def test_no_job_is_nearly_a_tie_and_both_engines_are_right_often(student):
    answers = [check.best(*job) for job in check.choose.numbers(student).jobs]
    assert min(map(answers.count, ("vector", "operator"))) >= 5


def test_messages_name_the_line_of_the_cell():
    _here()
    text = check.RACING.replace("sum[j] = 0;", "sum[j] = 0")
    result = check.sums(cpp.Source(text))
    number = int(re.search(r"sums\.cpp:(\d+): ", result.feedback)[1])
    assert "sum[j] = 0" in repr(cpp.Source(text)).splitlines()[number - 1]
    assert result.misconception == "does not compile"


def test_half_of_a_character_is_one_sentence_that_can_be_shown():
    _here()
    half = "\ud800"
    text = check.RACING.replace("sum[j] = 0;", f"sum[j] = 0;  // {half}")
    result = check.sums(cpp.Source(text))
    assert result.misconception == "does not compile"
    assert f"{half!r} is half of a character (a lone surrogate)" in result.feedback
    assert "sum[j] = 0;" in result.feedback.encode().decode()
    with pytest.raises(gpsimd_cpp.CompileError, match=r"sums.cpp:\d+: .* is half of a character"):
        cpp.operator("sums", text)


def _texts():
    """Return the C++ texts of the lesson's cells, by name."""
    found = {}
    for cell in nbformat.read(LESSON, as_version=4).cells:
        for name, text in re.findall(r'^(\w+) = r"""(.*?)"""', cell.source, re.M | re.S):
            found[name] = text
    return found


def test_with_one_seed_for_all_processors_eight_shares_are_rounded_alike():
    """Judge: the lesson's own program, with and without the processor's number in its seed."""
    _here()
    text, x = _texts()["rounding"], np.full((8, 2000), 1.002, np.float32)
    shape = cpp.shape_source("rounded", result="x.sizes(), torch::kFloat").replace(
        "kFloat", "kBFloat16"
    )
    alike = []
    for one in (text, text.replace("(get_cpu_id() + 1)", "1u")):
        told = cpp.run_here(cpp.Job("rounded", one, shape, True, [(x,)]))
        rows = np.asarray(told["outcomes"][0].output, np.float32)
        assert set(np.unique(rows)) == {1.0, 1.0078125}
        alike.append((rows == rows[0]).all())
    assert alike == [False, True]


@for_rows("name", "by_element", "by_stream", "by_copy", "by_eight")
def test_each_relu_of_the_lesson_is_numpys_for_any_shape(name):
    _here()
    x = np.random.default_rng(1).standard_normal((3, 1365)).astype(np.float32)
    told = cpp.run_here(cpp.Job("relu", _texts()[name], cpp.shape_source("relu"),
                                name == "by_eight", [(x,), (x[:1, :5],)]))  # fmt: skip
    for given, one in zip((x, x[:1, :5]), told["outcomes"], strict=True):
        np.testing.assert_array_equal(one.output, np.maximum(given, 0))
