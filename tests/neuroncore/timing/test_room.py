"""Who gets slots where not everybody can.  Judges: all ways to give them, scheduled; laws."""

import dataclasses
import itertools
import random
from functools import cache

import numpy as np
import pytest

from tests.neuroncore.streams import stream
from tests.neuroncore.timing.test_placement import check_layout
from trainium_edu.neuroncore import Memory, NeuronCore, place, schedule
from trainium_edu.specs import TRN1

ENGINES = ("vector", "scalar", "gpsimd")


def with_sbuf(bytes_per_partition):
    fact = dataclasses.replace(TRN1.sbuf.bytes_per_partition, value=bytes_per_partition)
    return TRN1.replace(sbuf=TRN1.sbuf.replace(bytes_per_partition=fact))


@cache
def pipeline(seed, dtypes=("float32", "bfloat16")):
    """Record some turns: groups of tiles are loaded, worked on by some engines, and stored."""
    draw = random.Random(seed)
    core = NeuronCore(values=False)
    n = draw.choice([256, 512, 1024, 2048])
    x, y = (core.hbm((128, n), name=name) for name in "xy")
    bias = core.sbuf((128, n), name="bias") if draw.random() < 0.3 else None
    if bias:
        core.dma_copy(dst=bias, src=x)
    groups = [
        (f"l{k}", draw.choice(dtypes), draw.choice([1, 1, 1, 2, 4]))
        for k in range(draw.randint(1, 3))
    ]
    works = [
        (f"c{k}", draw.choice(dtypes), draw.choice(ENGINES), draw.randint(1, 4))
        for k in range(draw.randint(1, 3))
    ]
    for _ in range(draw.randint(8, 16)):
        loaded = [[core.sbuf((128, n), d, name=m) for _ in range(c)] for m, d, c in groups]
        for tile in itertools.chain(*loaded):
            core.dma_copy(dst=tile, src=x)
        before = bias or loaded[0][0]
        for k, (name, dtype, engine, times) in enumerate(works):
            made = core.sbuf((128, n), dtype, name=name)
            mine = [g for i, g in enumerate(loaded) if min(i, len(works) - 1) == k]
            for number, data in enumerate(list(itertools.chain(*mine)) * times or [before]):
                if engine == "scalar":
                    core.activation(dst=made, data=data, op="exp")
                else:
                    other = made if number else before
                    core.tensor_tensor(dst=made, data1=data, data2=other, op="add", engine=engine)
            before = made
        core.dma_copy(dst=y, src=before)
    return core.program


def makespan(program, placement):
    return schedule(program, placement).makespan_ns


def rooms(program, count=8):
    """Return sizes of SBUF from what is alive at once to what everybody would like."""
    free = place(program)
    low, high = free.alive_bytes[Memory.SBUF], free.high_water_bytes[Memory.SBUF]
    return [(low + (high - low) * k // count) // 4 * 4 for k in range(count + 1)]


def best_by_trying(program, spec):
    """Return the shortest time of all numbers of buffers per site that fit side by side."""
    sites = place(program).sites
    counts = [range(1, -(-s.tiles // s.alive) + 1)[:4] for s in sites]
    names = [s.name for s in sites]
    times = []
    for buffers in itertools.product(*counts):
        need = sum(
            min(s.alive * b, s.tiles) * s.row_bytes for s, b in zip(sites, buffers, strict=True)
        )
        if need <= int(spec.sbuf.bytes_per_partition):
            placement = place(program, spec, buffers=dict(zip(names, buffers, strict=True)))
            assert not placement.short
            times.append(makespan(program, placement))
    return min(times)


def test_no_other_choice_is_much_better_and_program_order_is():
    """Judge: exhaustive search; of 40 small programs the mean is within 3 %, the worst within 20.

    The worst are short programs that only move data: their transfers go first come, first served,
    and a load that runs ahead may stand in the way of a store.
    """
    ours, order = [], []
    for seed in range(40):
        program = pipeline(seed)
        sites = place(program).sites
        least = sum(s.alive * s.row_bytes for s in sites)
        most = sum(s.wanted * s.row_bytes for s in sites)
        spec = with_sbuf(random.Random(seed).randint(least, most) // 4 * 4)
        best = best_by_trying(program, spec)
        ours.append(makespan(program, place(program, spec)) / best)
        order.append(makespan(program, place(program, spec, favour="order")) / best)
    assert np.mean(ours) < 1.03
    assert max(ours) < 1.20
    assert np.mean(order) > 1.06
    assert max(order) > 1.40


def test_more_room_takes_no_slot_away_where_tiles_are_of_one_size():
    """Law: with every site's rank fixed, more bytes only reach further down the list."""
    for seed in range(20):
        program = pipeline(seed, ("float32",))
        free = place(program)
        size = free.sites[0].row_bytes
        before = None
        for room in range(free.alive_bytes["sbuf"], free.high_water_bytes["sbuf"] + 1, size):
            sites = place(program, with_sbuf(room)).sites
            slots = [0 if s.lends else s.slots for s in sites]
            assert before is None or all(a <= b for a, b in zip(before, slots, strict=True))
            before = slots
        assert before == [s.slots for s in free.sites]


def test_more_room_is_not_slower():
    """Law, within a tenth, where engines and not the queues have most to do."""
    tried = 0
    for seed in range(40):
        program = pipeline(seed)
        free = schedule(program, place(program))
        if free.busy_ns("dma") > 0.8 * max(map(free.busy_ns, ENGINES)):
            continue
        tried += 1
        times = [makespan(program, place(program, with_sbuf(room))) for room in rooms(program)]
        assert all(b <= 1.10 * min(times[: k + 1]) for k, b in enumerate(times))
        assert times[-1] < 0.9 * times[0]
    assert tried > 5


def test_what_everybody_wants_is_never_shortened_and_every_favour_gives_it():
    for seed in range(8):
        program = pipeline(seed)
        placements = [place(program, favour=favour) for favour in ("gain", "order", "nobody")]
        assert not placements[0].short
        assert all((p.address == placements[0].address).all() for p in placements)
        assert all(s.slots == s.wanted for s in placements[0].sites)


def test_nobody_favoured_is_one_buffer_each():
    program = stream(10, columns=8192)
    nobody = place(program, favour="nobody")
    assert [(s.slots, s.wanted) for s in nobody.sites] == [(1, 4), (1, 4)]
    assert [s.name for s in nobody.short] == ["loaded", "result"]
    assert (nobody.address == place(program, buffers=1).address).all()
    with pytest.raises(ValueError, match="must be one of 'gain', 'order', 'nobody'"):
        place(program, favour="loads")


def accumulate(blocks, columns=2048, steps=8):
    """Add up products of loaded tiles in tiles that stay: only the loaded ones gain."""
    core = NeuronCore(values=False)
    x, y = (core.hbm((128, columns), name=name) for name in "xy")
    for _ in range(blocks):
        total = core.sbuf((128, columns), name="total")
        core.memset(dst=total, value=0.0)
        for _ in range(steps):
            loaded = core.sbuf((128, columns), name="loaded")
            core.dma_copy(dst=loaded, src=x)
            for _ in range(4):
                core.tensor_tensor(dst=total, data1=total, data2=loaded, op="add")
        core.dma_copy(dst=y, src=total)
    return core.program


def test_result_tiles_do_not_take_the_room_of_loaded_ones():
    """The sum is first in the program and lives long; a second buffer helps it once in a block."""
    program, spec = accumulate(6), with_sbuf(3 * 8192)
    slots = {s.name: s.slots for s in place(program, spec).sites}
    assert slots == {"total": 1, "loaded": 2}
    assert {s.name: s.slots for s in place(program, spec, favour="order").sites} == {
        "total": 2, "loaded": 1,
    }  # fmt: skip
    gain, order = (makespan(program, place(program, spec, favour=f)) for f in ("gain", "order"))
    assert gain < 0.85 * order


def chain(turns=8, columns=1024):
    """Load, four lines of work on tiles of their own, store: never more than two are alive."""
    core = NeuronCore(values=False)
    x, y = (core.hbm((128, columns), name=name) for name in "xy")

    def work(data, made):
        core.tensor_tensor(dst=made, data1=data, data2=data, op="add")
        return made

    for _ in range(turns):
        data = core.sbuf((128, columns), name="data")
        core.dma_copy(dst=data, src=x)
        one = work(data, core.sbuf((128, columns), name="one"))
        two = work(one, core.sbuf((128, columns), name="two"))
        three = work(two, core.sbuf((128, columns), name="three"))
        four = work(three, core.sbuf((128, columns), name="four"))
        core.dma_copy(dst=y, src=four)
    return core.program


def test_what_is_loaded_keeps_its_bytes_and_the_rest_lends():
    """Five lines of 4 KiB tiles, two alive at once; 16 KiB are room for four.

    Judge: endless memory.  Two of the lines in the middle share; what is loaded and what is stored
    does not, for others would wait.
    """
    program = chain()
    placement = place(program, with_sbuf(16384))
    lent = {s.name for s in placement.sites if s.lends}
    assert len(lent) == 2
    assert not lent & {"data", "four"}
    assert placement.high_water_bytes[Memory.SBUF] == 16384  # no third of it is left
    check_layout(program, placement, 16384)
    alone = place(program, with_sbuf(8192))  # everybody lends
    assert all(s.lends for s in alone.sites)
    check_layout(program, alone, 8192)
    free = makespan(program, place(program, endless=True))
    assert makespan(program, placement) < 1.05 * free < 0.7 * makespan(program, alone)


def test_buffers_are_respected_where_bytes_are_lent_and_a_note_says_what_is_in_the_way():
    program, spec = chain(), with_sbuf(16384)
    named = place(program, spec, buffers={"data": 2})
    assert {s.name: s.slots for s in named.sites}["data"] == 2
    more = place(program, spec, buffers={"data": 4})
    assert {s.name: (s.slots, s.wanted) for s in more.sites}["data"] == (2, 4)
    note = more.notes[-1]
    assert note.startswith("data got 2 of the 4 slots that buffers asks for, each 4096 bytes of ")
    assert "16384 in SBUF; in the way are one (1 x 4096 bytes), two (1 x 4096 bytes)" in note
    everybody = place(program, spec, buffers=3)
    assert max(s.slots for s in everybody.sites) <= 3
    check_layout(program, named, 16384)
    check_layout(program, more, 16384)


def test_what_no_slots_hold_is_packed_by_live_ranges_stretched_by_turns():
    """One to four tiles of one line and four to one of the other, five at every moment."""
    core = NeuronCore(values=False)
    x = core.hbm((128, 512), name="x")
    for turn in range(12):
        many = [core.sbuf((128, 512), name="many") for _ in range(1 + turn % 4)]
        for tile in many:
            core.dma_copy(dst=tile, src=x)
        few = [core.sbuf((128, 512), name="few") for _ in range(4 - turn % 4)]
        for tile in few:
            core.tensor_tensor(dst=tile, data1=many[0], data2=many[-1], op="add")
        for tile in many:
            core.tensor_tensor(dst=few[0], data1=few[0], data2=tile, op="add")
        for tile in few:
            core.dma_copy(dst=x, src=tile)
    tight, wider = (place(core.program, with_sbuf(2048 * count)) for count in (5, 7))
    assert "packed by its own live range" in tight.notes[0]
    assert "packed by its own live range" in wider.notes[0]
    check_layout(core.program, tight, 2048 * 5)
    check_layout(core.program, wider, 2048 * 7)


def test_a_slot_goes_to_the_tile_after_the_one_that_died_first():
    """One long life between short ones: the next takes the older of the free slots."""
    core = NeuronCore(values=False)
    x = core.hbm((128, 64), name="x")
    tiles = [core.sbuf((128, 64), name="t") for _ in range(5)]
    for tile in tiles[:3]:
        core.dma_copy(dst=tile, src=x)
    for tile in (tiles[1], tiles[2], tiles[0]):  # dies in this order
        core.dma_copy(dst=x, src=tile)
    for tile in tiles[3:]:
        core.dma_copy(dst=tile, src=x)
    placement = place(core.program, buffers=1)
    assert [placement.where(t)[2] for t in tiles] == [0, 1, 2, 1, 2]
