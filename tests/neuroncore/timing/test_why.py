"""Where a time comes from.  Judges: the makespan itself, to the last bit; sources of the facts."""

from itertools import pairwise

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tests.for_each import raises
from tests.neuroncore.streams import programs, stream
from trainium_edu.neuroncore import Engine, NeuronCore, place, schedule, why
from trainium_edu.neuroncore.timing.why import certainty
from trainium_edu.specs import SOURCES, TRN1, Kind

changes = st.fixed_dictionaries({}, optional={"dma_bytes_per_s": st.floats(1e9, 1e13),
    "dma_start_ns": st.floats(0, 1e4), "vector_clock_hz": st.floats(1e8, 1e10),
    "fixed_cycles": st.floats(0, 1000), "tensor_result_cycles": st.floats(0, 5000)})  # fmt: skip
gone = st.sets(st.sampled_from(["dma", "ports", "fixed"]))


@settings(max_examples=200)
@given(programs, st.one_of(st.none(), st.integers(1, 4)), changes, gone)
def test_pieces_touch_and_add_up_to_the_makespan_to_the_last_bit(program, buffers, values, causes):
    tl = schedule(program, place(program, buffers=buffers), parameters=values, without=causes)
    explained = why(tl)
    assert explained.total_ns == tl.makespan_ns
    if tl.makespan_ns:
        assert explained.pieces[0].start_ns == 0
        assert explained.pieces[-1].end_ns == tl.makespan_ns
    for a, b in pairwise(explained):
        assert a.end_ns == b.start_ns


@pytest.mark.parametrize(
    ("name", "what"),
    [("dma_start_ns", "DMA start"), ("fixed_cycles", "fixed overhead"),
     ("scalar_result_cycles", "result latency")],
)  # fmt: skip
@given(program=programs, buffers=st.integers(1, 4))
def test_what_the_path_names_is_what_the_time_depends_on(name, what, program, buffers):
    """Judge: the same order with a little more of it grows by its share, with less not by more.

    The time is the longest path, so it is convex in each piece's length.
    """
    tl = schedule(program, place(program, buffers=buffers))
    engine = Engine.SCALAR if what == "result latency" else None
    mine = [p for p in why(tl) if p.what == what and engine in (None, p.instruction.engine)]
    on_path = sum(piece.duration_ns for piece in mine)

    def at(factor):
        values = {name: tl.parameters[name] * factor}
        return schedule(program, tl.placement, parameters=values, order=tl.order).makespan_ns

    rounding = tl.rows * 2.0**-19
    assert at(1.01) - tl.makespan_ns >= 0.01 * on_path - rounding
    assert tl.makespan_ns - at(0.99) <= 0.01 * on_path + rounding


@given(programs)
def test_every_piece_rests_on_facts_with_known_sources(program):
    explained = why(schedule(program, place(program)))
    for piece in explained:
        assert piece.facts
        for path, fact in piece.facts:
            assert TRN1.find(path) is fact
        assert set(piece.sources) <= set(SOURCES)
        assert piece.kind in list(Kind)
        assert piece.then
        assert piece.row >= 0
    if len(explained):
        assert sum(explained.share_by_kind().values()) == pytest.approx(1)
        assert sum(explained.share_by_cause().values()) == pytest.approx(1)


def test_a_chain_by_hand(timed):
    x, tile = timed.hbm((128, 1024)), timed.sbuf((128, 1024))
    timed.dma_copy(dst=tile, src=x)
    timed.tensor_tensor(dst=tile, data1=tile, data2=tile, op="add")
    timed.dma_copy(dst=x, src=tile)
    explained = why(schedule(timed.program, place(timed.program)))
    assert [(p.instruction.name, p.what) for p in explained] == [
        ("dma_copy", "DMA start"), ("dma_copy", "DMA transfer"),
        ("tensor_tensor", "fixed overhead"), ("tensor_tensor", "work"),
        ("tensor_tensor", "result latency"),
        ("dma_copy", "DMA start"), ("dma_copy", "DMA transfer"),
    ]  # fmt: skip
    kinds = [p.kind for p in explained]
    sure, seen = Kind.DOCUMENTED, Kind.MEASURED  # two transfers are a burst
    assert kinds == [sure, seen, sure, sure, seen, sure, seen]
    burst = sum(TRN1.dma.rate_in_bursts.value) / 2 / 272e9
    share = 2 * 8 * (8 + 4096 / 17) / burst / explained.makespan_ns
    assert explained.share_by_cause()["DMA transfer"] == pytest.approx(share)


def test_a_transfer_rests_on_the_fact_that_sets_its_pace():
    """Judges: the documented packet rate and bytes, the traces' bursts, a loop of small ones."""

    def facts(columns, stages):
        explained = why(schedule(p := stream(stages, columns, 1), place(p, endless=True)))
        return [[path for path, _ in x.facts] for x in explained if x.what == "DMA transfer"]

    assert facts(256, 4)[0] == ["timing.dma_packet_ns", "timing.dma_burst_speedup"]
    assert facts(1024, 1)[0] == ["dma.bytes_per_s", "timing.dma_row_ns", "timing.dma_burst_speedup"]
    core = NeuronCore(values=False)
    image = core.hbm((128, 56, 56)).sliced(slice(0, 128), slice(0, 16), slice(0, 8))
    core.dma_copy(dst=core.sbuf((128, 16, 8)), src=image)
    (lists,) = (
        x for x in why(schedule(core.program, place(core.program))) if x.what == "DMA transfer"
    )
    assert [path for path, _ in lists.facts] == ["dma.bytes_per_s", "timing.dma_buffer_ns"]
    long = facts(1024, 100)
    assert long[-1] == ["dma.bytes_per_s", "timing.dma_row_ns"]
    assert sum("timing.dma_burst_ns" in paths for paths in long) == 1  # where the burst ends


def test_a_derived_fact_is_no_surer_than_what_it_was_derived_from():
    assert TRN1.timing.vector_result_cycles.kind is Kind.DERIVED
    assert certainty(TRN1.timing.vector_result_cycles) is Kind.MEASURED
    assert certainty(TRN1.timing.tensor_result_cycles) is Kind.DERIVED
    assert certainty(TRN1.tensor_engine.clock_hz) is Kind.DOCUMENTED


def test_a_waiting_queue_is_on_the_path():
    program = stream(8, 1024, 1)
    explained = why(schedule(program, place(program, buffers=4)))
    assert any(p.then == "its DMA queue was busy" for p in explained)


def test_a_changed_parameter_is_said():
    program = stream(2)
    explained = why(schedule(program, place(program), parameters={"dma_start_ns": 5000}))
    assert next(p for p in explained if p.what == "DMA start").changed == ("dma_start_ns",)
    assert next(p for p in explained if p.what == "work").changed == ()


def test_at_finds_the_piece_of_a_moment():
    program = stream(2)
    explained = why(schedule(program, place(program)))
    assert explained.at(0).what == "DMA start"
    assert explained.at(explained.makespan_ns) is explained.pieces[-1]
    raises(ValueError, "outside the run", explained.at, -1)


def test_it_prints():
    program = stream(3)
    explained = why(schedule(program, place(program)))
    assert "on the critical path" in str(explained)
    assert "known how" in str(explained)
    assert "tensor_tensor" in str(explained.pieces[3])
    core = NeuronCore(values=False)
    assert why(schedule(core.program, place(core.program))).total_ns == 0
