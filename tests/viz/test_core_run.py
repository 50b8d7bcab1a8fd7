"""Judges: the timed program's own arrays and its critical path, and the chip's facts."""

import numpy as np
import pytest

from tests.viz.programs import timed
from trainium_edu.neuroncore import Engine, NeuronCore, measure, place, schedule, why
from trainium_edu.specs import SOURCES, TRN1
from trainium_edu.viz.core_run import film_of_core


@pytest.fixture(scope="module")
def core():
    return timed()


@pytest.fixture(scope="module")
def film(core):
    return film_of_core(core, why=why(core), band=(1.0, 2.0))


def test_every_instruction_has_its_span_at_its_time(core, film):
    for row in range(core.rows):
        mine = film.spans["row"] == row
        track = [film.tracks[t].kind for t in film.spans["track"][mine]]
        if core.instruction(row).engine is Engine.DMA:
            assert set(track) == {"queue"}
            assert film.spans["start"][mine].min() >= core.start_ns[row]
            assert film.spans["end"][mine].max() == core.done_ns[row]
        else:
            at = np.flatnonzero(mine & (film.of_kind("engine")))
            assert film.spans["start"][at].tolist() == [core.start_ns[row]]
            assert film.spans["end"][at].tolist() == [core.end_ns[row]]


def test_the_same_spans_as_the_general_timeline(core, film):
    ours = sorted(
        (film.tracks[t].name, s, e)
        for t, s, e in zip(film.spans["track"], film.spans["start"], film.spans["end"], strict=True)
    )
    assert ours == sorted((s.track, s.start_ns, s.end_ns) for s in core.timeline.spans)


def test_the_pieces_touch_and_add_up_to_the_makespan(core, film):
    start, end = film.pieces["start"], film.pieces["end"]
    assert start[0] == 0
    assert end[-1] == core.makespan_ns
    assert np.array_equal(start[1:], end[:-1])
    assert sum(c["ns"] for c in film.words["causes"]) == pytest.approx(core.makespan_ns)
    assert sum(c["share"] for c in film.words["shares"]) == pytest.approx(1)


def test_a_row_is_critical_when_a_piece_is_its_own(film):
    assert set(np.flatnonzero(film.rows["critical"])) == set(film.pieces["row"])


def test_every_piece_names_facts_with_kind_and_source(film):
    kinds = film.words["kinds"]
    titles = {s.title for s in SOURCES.values()}
    for p in range(len(film.pieces["start"])):
        facts = film.words["facts"][film.pieces["facts"][p]]
        assert facts
        for fact in facts:
            assert fact["kind"] in kinds
            assert any(title in fact["source"] for title in titles), fact
        assert film.words["thens"][film.pieces["then"][p]]


def test_a_changed_parameter_says_that_it_was_set_here(core):
    other = schedule(
        core.program, core.placement, parameters={**core.parameters, "dma_start_ns": 2600.0}
    )
    film = film_of_core(other, why=why(other))
    said = [f for facts in film.words["facts"] for f in facts if f["name"] == "dma_start_ns"]
    assert said == [{
        "value": "2600", "name": "dma_start_ns", "kind": "assumed",
        "source": "set here, instead of the fact's value", "url": "", "note": "",
    }]  # fmt: skip


def test_gaps_of_an_engine_are_waits_with_a_reason(core, film):
    for engine in (Engine.VECTOR, Engine.SCALAR, Engine.TENSOR):
        rows = set(core.rows_on(engine).tolist())
        mine = [i for i, r in enumerate(film.waits["row"]) if r in rows]
        waited = sum(film.waits["ns"][i] for i in mine)
        last = core.end_ns[core.rows_on(engine)[-1]]
        assert waited == pytest.approx(core.idle_ns(engine) - (core.makespan_ns - last))
        last = {film.waits["row"][i]: i for i in reversed(mine)}
        for row, i in last.items():  # the last wait stands first: drawn next to the instruction
            assert film.waits["on"][i] == core.predecessor[row]
            assert film.waits["reason"][i] == core.wait[row]
        said = core.waiting(engine)
        assert sum(said.values()) - said.get("nothing left to do", 0) == pytest.approx(waited)


def test_a_single_buffer_shows_who_waits_for_a_place():
    one = timed(buffers=1)
    film = film_of_core(one)
    styles = {film.words["reasons"][r]["style"] for r in film.waits["reason"]}
    assert "place" in styles
    assert {"data", "place"} >= styles - {"queue", "order", "port"}


def test_tiles_lie_where_place_put_them_and_never_on_one_another(core, film):
    tiles = film.tiles
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


def test_memories_have_the_chips_capacity_and_the_placements_high_water(core, film):
    sbuf, psum = film.words["memories"]
    assert sbuf["capacity"] == int(TRN1.sbuf.bytes_per_partition)
    assert (psum["capacity"], psum["banks"]) == (int(TRN1.psum.bytes_per_partition), 8)
    for number, memory in enumerate((sbuf, psum)):
        mine = film.tiles["memory"] == number
        top = (film.tiles["address"][mine] + film.tiles["bytes"][mine]).max()
        assert memory["high"] == top
        assert film.use(number)[1].max() <= memory["high"]


def test_slots_of_a_site_count_from_zero(film):
    by_site = {}
    for a, slot in zip(film.tiles["allocation"], film.tiles["slot"], strict=True):
        by_site.setdefault(a // 3, set()).add(int(slot))  # tile, acc, out of each turn
    assert film.tiles["slot"].max() == 1
    assert film.tiles["slot"].min() == 0


def test_ports_are_shown_when_two_engines_share_one():
    core = NeuronCore(values=False)
    a, b = core.sbuf((128, 512)), core.sbuf((128, 512))
    core.memset(dst=a, value=0.0, engine="vector")
    core.memset(dst=b, value=0.0, engine="gpsimd")
    film = film_of_core(measure(core.program, optimise=False))
    ports = [t.name for t in film.tracks if t.kind == "port"]
    assert ports == ["port: Vector/GpSimd on SBUF"]
    free = schedule(core.program, place(core.program), without="ports")
    assert not [t for t in film_of_core(free).tracks if t.kind == "port"]


def test_an_empty_program_has_a_film():
    core = NeuronCore(values=False, name="nothing")
    film = film_of_core(measure(core.program))
    assert film.makespan_ns == 0
    assert film.to_bytes()
