"""A kernel file's grades: values, thresholds, forbidden names, and the row that they give.

Judge: NumPy, ``nki.run`` of the same kernel for its time and bytes, arithmetic on the band's ends.
"""

import contextlib
import csv
import dataclasses
import io
import json
import pickle
from pathlib import Path

import numpy as np
import pytest

import trainium_edu.nki as nki
import trainium_edu.nki.beta1 as older
import trainium_edu.nki.beta1.language as older_nl
import trainium_edu.nki.isa as nisa
import trainium_edu.nki.language as nl
from tests.cli.kernel_files import RIGHT, SPEC, changed, write
from tests.for_each import for_each, for_rows
from tests.texts import table_beside
from trainium_edu import __main__
from trainium_edu.cli import grade, gradescope
from trainium_edu.cli.assignment import Threshold, read
from trainium_edu.cli.grade_kernel import difference, figures_of, judge, reach, uses
from trainium_edu.cli.row import read_kept
from trainium_edu.nki.published import device_ns

MARKS = table_beside(__file__, "marks.toml")
FIGURES = {"latency_us": 10.0, "low_us": 8.0, "high_us": 15.0, "hbm_bytes": 1000,
           "hbm_times": 2.0, "mfu": 0.5, "mfu_low": 0.3, "mfu_high": 0.6}  # fmt: skip


@nki.jit
def product(lhsT, rhs):
    (k, m), n = lhsT.shape, rhs.shape[1]
    out = nl.ndarray((m, n), dtype=lhsT.dtype, buffer=nl.shared_hbm)
    for i in nl.affine_range(m // 128):
        sums = nl.ndarray((128, n), dtype=nl.float32, buffer=nl.psum)
        for p in nl.affine_range(k // 128):
            a, b = nl.ndarray((128, 128), lhsT.dtype), nl.ndarray((128, n), lhsT.dtype)
            nisa.dma_copy(dst=a, src=lhsT[p * 128 : p * 128 + 128, i * 128 : i * 128 + 128])
            nisa.dma_copy(dst=b, src=rhs[p * 128 : p * 128 + 128, :])
            nisa.nc_matmul(dst=sums, stationary=a, moving=b)
        c = nl.ndarray((128, n), lhsT.dtype)
        nisa.tensor_copy(dst=c, src=sums)
        nisa.dma_copy(dst=out[i * 128 : i * 128 + 128, :], src=c)
    return out


@pytest.fixture(scope="module")
def assignment(tmp_path_factory):
    return read(write(tmp_path_factory.mktemp("assignment")))


def asked(kernel):
    return lambda request: (request.report(kernel), kernel.passes)


def test_a_right_kernel_has_the_time_and_bytes_of_its_run(assignment):
    case = assignment.cases[1]
    mark, run = judge(case, asked(product), assignment)
    assert (mark.points, mark.status) == (2, "full")
    true = nki.run(product, *case.arguments)
    found = figures_of(run, case, "kernel")
    assert found["latency_us"] == true.timeline.makespan_ns / 1e3
    assert (found["low_us"], found["high_us"]) == (true.band.low_ns / 1e3, true.band.high_ns / 1e3)
    assert found["hbm_bytes"] == true.timeline.hbm_bytes
    assert found["hbm_times"] == true.timeline.hbm_bytes / (3 * 256 * 256 * 2)
    assert found["mfu"] == pytest.approx(true.timeline.mfu)
    assert found["mfu_low"] < found["mfu"] < found["mfu_high"]
    timed = figures_of(run, case, "benchmark")
    assert timed["latency_us"] == device_ns(true.timeline.makespan_ns) / 1e3
    assert timed["mfu"] == found["mfu"]
    assert [str(a).split(":")[0] for a in run.advice] == [
        str(a).split(":")[0] for a in true.advice
    ]  # the lines of this file


def test_no_number_reaches_the_kernels_process(assignment):
    case = assignment.cases[1]
    assert case.arguments[0].nbytes == 2 * 256 * 256
    assert len(pickle.dumps(case.request)) < 1000
    shapes = [(blank.shape, blank.dtype) for blank in case.request.arguments]
    assert shapes == [((256, 256), "bfloat16")] * 2


def test_a_kernel_that_writes_an_argument_is_judged_by_what_stands_there(tmp_path):
    (tmp_path / "spec.py").write_text(
        "assignment = dict(kernel='doubled', reference=lambda x, out: 2 * x, writes=[1],\n"
        "    cases=[dict(shapes=[[128, 8], [128, 8]])])\n"
    )

    @nki.jit
    def doubled(x, out):
        tile = nl.load(x)
        nl.store(out, nl.add(tile, tile))

    assignment = read(tmp_path / "spec.py")
    mark, run = judge(assignment.cases[0], asked(doubled), assignment)
    assert (mark.status, mark.reason) == ("full", "")
    np.testing.assert_array_equal(run.outputs[0], 2 * assignment.cases[0].arguments[0])


@older.jit
def scaled(x, factor=1.0):
    i = older_nl.program_id(0)
    out = older_nl.ndarray(x.shape, dtype=x.dtype, buffer=older_nl.shared_hbm)
    tile = older_nl.load(x[i * 128 : (i + 1) * 128, :])
    older_nl.store(out[i * 128 : (i + 1) * 128, :], tile * factor)
    return out


GRID = """
assignment = dict(kernel="scaled", reference=lambda x, factor: factor * x, latency="benchmark",
    cases=[dict(shapes=[[512, 64]], grid=[4], options={"factor": 3.0})])
"""


def test_a_grid_of_the_older_interface_runs_on_one_core_and_is_timed_as_benchmark_says(tmp_path):
    (tmp_path / "spec.py").write_text(GRID)
    assignment = read(tmp_path / "spec.py")
    case = assignment.cases[0]
    mark, run = judge(case, asked(scaled), assignment)
    assert (mark.status, mark.reason) == ("full", "")
    benchmark = older.benchmark(scaled)[4]
    with contextlib.redirect_stdout(io.StringIO()):
        benchmark(*case.arguments, factor=3.0)
    found = figures_of(run, case, assignment.latency)
    latency = benchmark.benchmark_result.nc_latency
    assert found["latency_us"] == pytest.approx(latency.get_latency_percentile(99))
    assert (found["low_us"], found["high_us"]) == pytest.approx(latency.band_us)

    @nki.jit
    def current(x, factor=1.0):
        return x

    mark, _ = judge(dataclasses.replace(case, grid=(2,)), asked(current), assignment)
    assert "the kernel runs as 2 programs on a NeuronCore each, and one is asked for" in mark.reason


OUT = np.arange(12, dtype=np.float32).reshape(3, 4)


@for_rows("outputs, expected, said",
    ([OUT], [OUT.astype(np.float64)], ""),
        ([OUT * 1.009], [OUT], ""),
        ([OUT], [OUT, OUT], "it returns 1 output; 2 expected"),
        ([OUT.T], [OUT], "the output has shape (4, 3); (3, 4) expected"),
        ([OUT, OUT + (OUT == 6)], [OUT, OUT], "1 of 12 elements of output 2 are wrong; the first, "
         "at (1, 2), is 7, and 6 is expected (rtol 0.01, atol 0.001)"),
        ([np.where(OUT > 9, np.nan, OUT)], [OUT], "2 of 12 elements of the output are NaN, as "
         "memory is that nobody wrote; the first stands at (2, 2)"),
        ([np.where(OUT > 9, np.nan, OUT)], [np.where(OUT > 9, np.nan, OUT)], ""),
        ([np.where(OUT > 9, np.inf, OUT)], [np.where(OUT > 9, np.inf, OUT)], ""),
        ([np.where(OUT > 9, -np.inf, OUT)], [np.where(OUT > 9, np.inf, OUT)], "2 of 12 elements "
         "of the output are wrong; the first, at (2, 2), is -inf, and inf is expected (rtol 0.01, "
         "atol 0.001)"),
)  # fmt: skip
def test_a_difference_is_said_in_a_sentence(outputs, expected, said):
    assert difference(outputs, expected, 0.01, 0.001) == said


@for_each("metric, value, points, status", MARKS["thresholds"])
def test_a_threshold_inside_the_band_gives_what_the_assignment_says(metric, value, points, status):
    mark = reach(Threshold("c", metric, value, 4, 3), FIGURES)
    assert (mark.points, mark.status) == (points, status)
    assert ("the model cannot tell; this assignment gives 3 of 4" in mark.reason) == (points == 3)
    assert reach(Threshold("c", metric, value, 4, 3), FIGURES, right=False).points == 0
    assert reach(Threshold("c", metric, value, 4, 3), None).points == 0


def test_the_side_of_the_prediction_is_said():
    for value, side in ((10.0, "reaches"), (9.9, "misses")):
        reason = reach(Threshold("c", "latency_us", value, 4, 0), FIGURES).reason
        assert f"10.00 µs (8.00 to 15.00): the prediction {side} the threshold" in reason


@for_each("source, names, said", MARKS["uses"])
def test_forbidden_names_are_found_by_whatever_name_they_are_imported(source, names, said):
    assert uses(source, names) == said


def test_one_file_becomes_text_json_csv_gradescope_and_a_row_of_the_board(tmp_path, capsys):
    spec = write(tmp_path, right=changed(("\nimport nki\n", '\nstudent = "ada"\nimport nki\n')))
    target = str(tmp_path / "class" / "right.py")
    table, results = tmp_path / "grades.csv", tmp_path / "results.json"
    arguments = ["grade", target, "--assignment", str(spec), "--json", "--csv", str(table),
                 "--gradescope", str(results)]  # fmt: skip
    assert __main__.main(arguments) == 0
    said = capsys.readouterr().out
    row = json.loads(said[said.index("{") :])
    assert (row["points"], row["of"], row["lesson"], row["student"]) == (6, 7, "Tiled product",
        "ada")  # fmt: skip
    assert row["exercises"]["large: at most 1000 µs"]["status"] == "full"
    (line,) = csv.DictReader(table.open())
    assert float(line["large latency_us"]) == row["figures"]["large"]["latency_us"]
    assert line["case small"] == "1"
    told = json.loads(results.read_text())
    assert told["score"] == 6
    assert [test["max_score"] for test in told["tests"]] == [1, 2, 3, 1]
    assert told["leaderboard"][0]["name"] == "latency µs"
    assert told["leaderboard"][0]["order"] == "asc"
    (tmp_path / "row.json").write_text(json.dumps(row))
    assert __main__.main(["leaderboard", str(tmp_path / "row.json"), str(table) + ".jsonl"]) == 0
    board = capsys.readouterr().out
    assert board.startswith("Tiled product, case large\nplace  name")
    assert board.count("ada") == 1  # the same row from both files
    kept = read_kept(tmp_path / "grades.csv.jsonl")
    assert [old.points for old in kept.values()] == [6]
    gradescope.write_results(next(iter(kept.values())), results)
    assert json.loads(results.read_text()) == told


@pytest.mark.slow
def test_a_right_kernel_may_be_called_fast_txt_and_a_notebook_is_named(tmp_path):
    asked = read(write(tmp_path, right=RIGHT))
    (tmp_path / "class" / "fast.txt").write_text(RIGHT)
    (tmp_path / "class" / "book.ipynb").write_text("{}")
    paths = grade.submissions(tmp_path / "class", suffix=".py", leave=asked.own)
    rows = grade.grade_all(paths, assignment=asked)
    assert [(Path(row.submission).name, row.points) for row in rows] == [
        ("book.ipynb", 0), ("fast.txt", 6), ("right.py", 6),
    ]  # fmt: skip
    assert rows[0].reason == "a notebook; a Python file with the kernel is asked for"


def test_spec_and_reference_in_the_folder_are_no_submissions(tmp_path):
    asked = read(write(tmp_path, right=""))
    (tmp_path / "class" / "right.txt").write_text("")
    paths = grade.submissions(tmp_path, suffix=".py", leave=asked.own)
    assert [path.name for path in paths] == ["right.py"]
    with pytest.raises(ValueError, match=r"holds no \.py file to grade"):
        grade.submissions(tmp_path / "class", suffix=".py", leave=paths)
    assert "points = 2" in SPEC
