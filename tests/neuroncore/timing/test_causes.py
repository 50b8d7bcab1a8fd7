"""What a time would be without a cause.  Judges: closed forms, and a time that never grows."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.neuroncore.streams import programs, stream
from trainium_edu.neuroncore import NeuronCore, causes_table, place, schedule, without
from trainium_edu.neuroncore.timing.causes import CausesTable
from trainium_edu.neuroncore.timing.waits import CAUSES


@given(programs, st.sets(st.sampled_from(list(CAUSES)), min_size=1), st.integers(1, 3))
def test_taking_a_cause_away_never_makes_it_slower(program, causes, buffers):
    tl = schedule(program, place(program, buffers=buffers))
    assert without(tl, *causes).makespan_ns <= tl.makespan_ns


def test_without_transfers_a_stream_takes_its_vector_time():
    program = stream(16)
    tl = schedule(program, place(program, buffers=2))
    work = (tl.release_ns - tl.start_ns)[tl.rows_on("vector")].sum()
    assert without(tl, "dma").makespan_ns == work + tl.pieces.result.max()


def test_with_endless_buffers_a_stream_takes_its_transfers():
    program = stream(16, 512, 1)
    tl = schedule(program, place(program, buffers=1))
    row = tl.pieces.quick[tl.placement.run.kind[0]]  # sixteen stages are a burst
    queue = 2 * 16 * 8 * row  # 16 loads and 16 stores, 8 rows on each queue
    assert without(tl, "buffers").makespan_ns == 1300 + queue


def test_what_is_gone_stays_gone():
    program = stream(8)
    tl = schedule(program, place(program, buffers=1))
    both = without(without(tl, "dma"), "fixed")
    assert both.without == {"dma", "fixed"}
    assert both.makespan_ns == without(tl, "fixed", "dma").makespan_ns


def two_walls(stages=240):
    """Transfers take as long as Vector and GpSimd, which take turns on SBUF."""
    core = NeuronCore(values=False)
    x = core.hbm((128, 1024), name="x")
    for _ in range(stages):
        loaded = core.sbuf((128, 1024), name="loaded")
        left, right = core.sbuf((128, 1024), name="left"), core.sbuf((128, 1024), name="right")
        core.dma_copy(dst=loaded, src=x)
        core.tensor_copy(dst=left, src=loaded)
        core.tensor_copy(dst=right, src=loaded, engine="gpsimd")
    return schedule(core.program, place(core.program))


def test_a_cause_that_hides_behind_another_shows_in_pairs():
    """Closed form: max(transfers, Vector + GpSimd) as it is, max(Vector, GpSimd) without both."""
    table = causes_table(two_walls())
    assert table.saved("dma") < 0.15
    assert table.saved("ports") < 0.15
    assert table.saved("dma", "ports") > 0.35
    assert table.saved("ports", "dma") == table.saved("dma", "ports")
    assert any("but only once" in s and "ports" in s for s in table.sentences)


def test_sentences_say_what_costs_and_what_hides():
    table = CausesTable(
        100.0,
        {"dma": 100.0, "buffers": 98.0, "fixed": 80.0},
        {("dma", "buffers"): 58.0, ("dma", "fixed"): 80.0, ("buffers", "fixed"): 79.0},
    )
    assert table.sentences == (
        "fixed overheads cost 20%",
        "transfers cost 41%, but only once there are buffers enough",
        "waiting for buffers costs 42%, but only once transfers take no time",
    )
    assert table.first == "fixed"


def test_the_table_names_all_pairs_and_prints():
    program = stream(16)
    table = causes_table(schedule(program, place(program, buffers=1)))
    assert (len(table.alone_ns), len(table.pairs_ns), table.first) == (4, 6, "dma")
    text = str(table)
    assert "as it is" in text
    assert "transfers cost" in text
    assert "-0%" not in text


def test_unknown_causes_raise():
    program = stream(2)
    with pytest.raises(ValueError, match="choose one of dma, ports, buffers, fixed"):
        without(schedule(program, place(program)), "gravity")
