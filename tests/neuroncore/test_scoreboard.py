"""Judges: the timelines' own figures, added up by hand."""

import numpy as np
import pytest

import trainium_edu.nki as nki
from tests.for_each import for_rows, raises
from trainium_edu.neuroncore.scoreboard import advice, scoreboard
from trainium_edu.nki.examples.matmul import basic
from trainium_edu.nki.examples.vector_add import add_rows, add_tiles

X = np.ones((256, 512), np.float32)


def test_each_line_holds_the_runs_own_figures():
    runs = {"rows": nki.run(add_rows, X, X), "tiles": nki.run(add_tiles, X, X)}
    head, *lines = scoreboard(runs).splitlines()
    assert head.split()[:2] == ["kernel", "instr."]
    for line, (name, run) in zip(lines, runs.items(), strict=True):
        cells = line.split()
        assert (cells[0], int(cells[1])) == (name, len(run.timeline.program.instructions))
        assert float(cells[2]) == pytest.approx(3 * X.nbytes / 1e6, rel=0.004)
        time_us = float(cells[3].replace(",", ""))
        assert time_us == pytest.approx(run.timeline.makespan_ns / 1000, rel=0.004)
    ratio = runs["rows"].timeline.makespan_ns / runs["tiles"].timeline.makespan_ns
    assert f"{ratio:.1f} x" in lines[1]


def test_kernels_that_follow_one_another_add_up():
    run = nki.run(add_tiles, X, X)
    line = scoreboard({"once": run, "twice": (run, run)}).splitlines()[2].split()
    assert float(line[3]) == pytest.approx(2 * run.timeline.makespan_ns / 1000, abs=0.06)
    assert "0.5 x" in scoreboard({"once": run, "twice": (run, run)})


def test_flops_are_the_tensor_engines_and_agree_with_mfu():
    """Judge: 2 K M N by hand, and the documented peak."""
    lhsT, rhs = np.ones((128, 128), np.float32), np.ones((128, 512), np.float32)
    run = nki.run(basic, lhsT, rhs)
    cells = scoreboard({"basic": run}).splitlines()[1].split()
    rate = 2 * 128 * 128 * 512 / run.timeline.makespan_ns / 1e3
    assert float(cells[-4]) == pytest.approx(rate, abs=0.05)
    assert scoreboard({"adds": nki.run(add_rows, X, X)}).splitlines()[1].split()[-4] == "0.0"


def test_advice_is_the_costliest_of_each_run():
    runs = {"rows": nki.run(add_rows, X, X), "wide": nki.run(add_tiles, X, X, width=512)}
    costliest = max((w for w in runs["rows"].advice if w.cost), key=lambda w: w.cost.nominal_ns)
    lines = advice(runs).splitlines()
    two = next(i for i, line in enumerate(lines) if line.startswith("wide: "))
    assert " ".join(line.strip() for line in lines[:two]) == f"rows: {costliest}"
    assert max(map(len, lines)) <= 110
    assert advice({"fine": Quiet()}) == "fine: nothing that costs time was found"


class Quiet:
    advice = ()


def test_a_ratio_stands_with_its_range_and_a_tie_is_said():
    """Judge: ``compare``; one kernel three times is a tie with once, and exactly three of them."""
    wide = nki.run(add_tiles, X, X, width=512)
    near = nki.run(add_tiles, X, X, width=256)
    ratio = nki.compare(wide, near)
    table = scoreboard({"wide": wide, "near": near, "same": wide, "thrice": (wide,) * 3})
    first, second, same, thrice = table.splitlines()[1:]
    assert first.endswith("  1.0 x")
    range_ = f"({ratio.low:.1f}-{ratio.high:.1f})"
    assert second.endswith(f"  {ratio.nominal:.1f} x {range_}" + "  tie" * (1 in ratio))
    assert wide.band.high_ns > near.band.low_ns
    assert same.endswith("  1.0 x")
    assert thrice.endswith("  0.3 x (0.3-0.3)")


def test_two_buffers_or_four_may_be_a_tie():
    """Judge: the range, by hand: eight tiles need at most two."""
    two, four = (nki.run(add_tiles, X, X, width=512, buffers=n) for n in (2, 4))
    assert scoreboard({"two": two, "four": four}).splitlines()[2].endswith("1.0 x (1.0-1.0)  tie")


def test_nothing_to_compare_says_so():
    raises(ValueError, "at least one run", scoreboard, {})


@for_rows("table", scoreboard, advice)
@for_rows(
    "runs, says",
    ([1], "takes a dict of names and runs, not a list"),
    ({}, "needs at least one run"),
    ({"rows": np.zeros(3)}, "'rows' is a ndarray; it must be what nki.run returned"),
    ({"rows": ()}, "'rows' is a tuple; it must be what nki.run returned"),
)
def test_what_is_no_run_is_refused_by_one_sentence(table, runs, says):
    caught = raises((TypeError, ValueError), says, table, runs)
    assert f"{table.__name__}({{'rows': run}})" in str(caught)
