"""Judges: the timed program's own arrays and its critical path, and the chip's facts."""

import numpy as np
import pytest

from tests.viz.programs import timed
from trainium_edu.neuroncore import Engine, NeuronCore, measure, place, schedule
from trainium_edu.specs import SOURCES, TRN1
from trainium_edu.viz.core_timing import trace_of_core


@pytest.fixture(scope="module")
def core():
    return timed()


@pytest.fixture(scope="module")
def trace(core):
    return trace_of_core(core, band=(1.0, 2.0))


def test_every_instruction_has_its_span_at_its_time(core, trace):
    kinds = np.array([track.kind for track in trace.tracks])
    for row in range(core.rows):
        mine = trace.spans["row"] == row
        track = kinds[trace.spans["track"][mine]]
        if core.instruction(row).engine is Engine.DMA:
            assert set(track) == {"queue"}
            assert trace.spans["start"][mine].min() >= core.start_ns[row]
            assert trace.spans["end"][mine].max() == core.done_ns[row]
        else:
            at = np.flatnonzero(mine & (kinds[trace.spans["track"]] == "engine"))
            assert trace.spans["start"][at].tolist() == [core.start_ns[row]]
            assert trace.spans["end"][at].tolist() == [core.end_ns[row]]


def test_the_same_spans_as_the_general_timeline(core, trace):
    ours = sorted(
        (trace.tracks[t].name, s, e)
        for t, s, e in zip(
            trace.spans["track"], trace.spans["start"], trace.spans["end"], strict=True
        )
    )
    assert ours == sorted((s.track, s.start_ns, s.end_ns) for s in core.timeline.spans)


def test_the_pieces_touch_and_add_up_to_the_makespan(core, trace):
    start, end = trace.pieces["start"], trace.pieces["end"]
    assert start[0] == 0
    assert end[-1] == core.makespan_ns
    assert np.array_equal(start[1:], end[:-1])
    assert sum(c["ns"] for c in trace.words["causes"]) == pytest.approx(core.makespan_ns)
    assert sum(c["share"] for c in trace.words["shares"]) == pytest.approx(1)


def test_a_row_is_critical_when_a_piece_is_its_own(trace):
    assert set(np.flatnonzero(trace.rows["critical"])) == set(trace.pieces["row"])


def test_every_piece_names_facts_with_kind_and_source(trace):
    kinds = trace.words["kinds"]
    titles = {s.title for s in SOURCES.values()}
    for p in range(len(trace.pieces["start"])):
        facts = trace.words["facts"][trace.pieces["facts"][p]]
        assert facts
        for fact in facts:
            assert fact["kind"] in kinds
            assert any(title in fact["source"] for title in titles), fact
        assert trace.words["thens"][trace.pieces["then"][p]]


def test_a_changed_parameter_says_that_it_was_set_here(core):
    other = schedule(
        core.program, core.placement, parameters={**core.parameters, "dma_start_ns": 2600.0}
    )
    trace = trace_of_core(other)
    said = [f for facts in trace.words["facts"] for f in facts if f["name"] == "dma_start_ns"]
    assert said == [{
        "value": "2600", "name": "dma_start_ns", "kind": "assumed",
        "source": "set here, instead of the fact's value", "url": "", "note": "",
    }]  # fmt: skip


def test_gaps_of_an_engine_are_waits_with_a_reason(core, trace):
    for engine in (Engine.VECTOR, Engine.SCALAR, Engine.TENSOR):
        rows = set(core.rows_on(engine).tolist())
        mine = [i for i, r in enumerate(trace.waits["row"]) if r in rows]
        waited = sum(trace.waits["ns"][i] for i in mine)
        last = core.end_ns[core.rows_on(engine)[-1]]
        assert waited == pytest.approx(core.idle_ns(engine) - (core.makespan_ns - last))
        last = {trace.waits["row"][i]: i for i in reversed(mine)}
        for row, i in last.items():  # the last wait stands first: drawn next to the instruction
            assert trace.waits["on"][i] == core.predecessor[row]
            assert trace.waits["reason"][i] == core.wait[row]
        said = core.waiting(engine)
        assert sum(said.values()) - said.get("nothing left to do", 0) == pytest.approx(waited)


def test_a_single_buffer_shows_who_waits_for_a_place():
    trace = trace_of_core(timed(buffers=1))
    styles = {trace.words["reasons"][r]["style"] for r in trace.waits["reason"]}
    assert "place" in styles
    assert {"data", "place"} >= styles - {"queue", "order", "port"}


def test_tiles_lie_where_place_put_them_and_never_on_one_another(core, trace):
    tiles = trace.tiles
    where = {(t.allocation, t.first_row): (t.address, t.row_bytes) for t in core.placement.tiles()}
    for i in range(len(tiles["start"])):
        key = (tiles["allocation"][i], tiles["first_row"][i])
        assert where.pop(key) == (tiles["address"][i], tiles["bytes"][i])
    assert not where
    order = np.argsort(tiles["start"], kind="stable")
    for k, i in enumerate(order):
        for j in order[k + 1 :]:
            same = tiles["memory"][i] == tiles["memory"][j]
            apart = (
                tiles["address"][i] + tiles["bytes"][i] <= tiles["address"][j]
                or tiles["address"][j] + tiles["bytes"][j] <= tiles["address"][i]
            )
            assert not same or apart or tiles["start"][j] >= tiles["end"][i] - 1300.0


def test_memories_have_the_chips_capacity_and_the_placements_high_water(core, trace):
    sbuf, psum = trace.words["memories"]
    assert sbuf["capacity"] == int(TRN1.sbuf.bytes_per_partition)
    assert (psum["capacity"], psum["banks"]) == (int(TRN1.psum.bytes_per_partition), 8)
    for number, memory in enumerate((sbuf, psum)):
        mine = trace.tiles["memory"] == number
        top = (trace.tiles["address"][mine] + trace.tiles["bytes"][mine]).max()
        assert memory["high"] == top
        start, end, size = (trace.tiles[name][mine] for name in ("start", "end", "bytes"))
        assert max(size[(start <= t) & (t < end)].sum() for t in start) <= memory["high"]


def test_slots_of_a_site_count_from_zero(trace):
    by_site = {}
    for a, slot in zip(trace.tiles["allocation"], trace.tiles["slot"], strict=True):
        by_site.setdefault(a // 3, set()).add(int(slot))  # tile, acc, out of each turn
    assert (trace.tiles["slot"].max(), trace.tiles["slot"].min()) == (1, 0)


def test_ports_are_shown_when_two_engines_share_one():
    core = NeuronCore(values=False)
    a, b = core.sbuf((128, 512)), core.sbuf((128, 512))
    core.memset(dst=a, value=0.0, engine="vector")
    core.memset(dst=b, value=0.0, engine="gpsimd")
    trace = trace_of_core(measure(core.program, optimise=False))
    ports = [t.name for t in trace.tracks if t.kind == "port"]
    assert ports == ["port: Vector/GpSimd on SBUF"]
    free = schedule(core.program, place(core.program), without="ports")
    assert not [t for t in trace_of_core(free).tracks if t.kind == "port"]


def test_an_empty_program_has_a_trace():
    trace = trace_of_core(measure(NeuronCore(values=False, name="nothing").program))
    assert trace.makespan_ns == 0
    assert trace.to_bytes()
