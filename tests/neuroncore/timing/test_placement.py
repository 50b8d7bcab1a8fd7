"""Where tiles go.  Judges: brute force over all pairs of tiles, hand-made layouts, AWS's limits."""

import dataclasses
import itertools
import random
import re

from hypothesis import given
from hypothesis import strategies as st

from tests.for_each import for_rows, raises
from tests.neuroncore.streams import PARTS, place_tightly, programs, random_program, steps, stream
from trainium_edu.neuroncore import Memory, NeuronCore, place, schedule
from trainium_edu.neuroncore.timing import expansion as expanded
from trainium_edu.specs import TRN1, NkiValidationError

BANK = 2048
ENGINES = ("vector", "scalar", "gpsimd")


def with_sbuf(bytes_per_partition):
    fact = dataclasses.replace(TRN1.sbuf.bytes_per_partition, value=bytes_per_partition)
    return TRN1.replace(sbuf=TRN1.sbuf.replace(bytes_per_partition=fact))


def pipeline(seed, dtypes=("float32", "bfloat16")):
    """Record some turns: groups of tiles are loaded, worked on by some engines, and stored."""
    draw = random.Random(seed)
    core = NeuronCore(values=False)
    n = draw.choice([256, 512, 1024, 2048])
    x, y = (core.hbm((128, n), name=name) for name in "xy")
    bias = core.sbuf((128, n), name="bias") if draw.random() < 0.3 else None
    if bias:
        core.dma_copy(dst=bias, src=x)
    lines = range(draw.randint(1, 3))
    groups = [(f"l{k}", draw.choice(dtypes), draw.choice([1, 1, 1, 2, 4])) for k in lines]
    lines = range(draw.randint(1, 3))
    works = [(f"c{k}", *map(draw.choice, (dtypes, ENGINES)), draw.randint(1, 4)) for k in lines]
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


def share_bytes(a, b):
    return (
        a.memory is b.memory
        and a.address < b.address + b.row_bytes
        and b.address < a.address + a.row_bytes
        and a.start_partition < b.start_partition + b.partitions
        and b.start_partition < a.start_partition + a.partitions
    )


def alive_together(a, b):
    return a.first_row <= b.last_row and b.first_row <= a.last_row


def check_layout(program, placement, sbuf_bytes=192 * 1024):
    tiles = placement.tiles()
    capacity = {Memory.SBUF: sbuf_bytes, Memory.PSUM: 16 * 1024}
    for k, a in enumerate(tiles):
        stated = program.allocations[a.allocation].address
        assert 0 <= a.address <= capacity[a.memory] - a.row_bytes
        assert a.address % program.allocations[a.allocation].dtype.itemsize == 0
        if stated is not None:
            assert a.address == stated
        elif a.memory is Memory.PSUM:
            inside = a.address // BANK == (a.address + a.row_bytes - 1) // BANK
            assert inside if a.row_bytes <= BANK else a.address % BANK == 0
        for b in tiles[:k]:
            both = stated is not None and program.allocations[b.allocation].address is not None
            if share_bytes(a, b) and not both:
                assert not alive_together(a, b)
                # over a stated address nothing goes, even after its last access
                assert (stated is None) == (program.allocations[b.allocation].address is None)


@given(programs, st.one_of(st.none(), st.integers(1, 5)))
def test_no_two_living_tiles_share_a_byte(program, buffers):
    check_layout(program, place(program, buffers=buffers))


@given(st.builds(random_program, steps), st.one_of(st.none(), st.integers(1, 3)))
def test_no_two_living_tiles_share_a_byte_where_room_is_tight(program, buffers):
    placement, sbuf_bytes = place_tightly(program, buffers)
    check_layout(program, placement, sbuf_bytes)


@given(programs)
def test_same_program_same_place(program):
    one, two = place(program), place(program)
    assert (one.address == two.address).all()
    assert (one.slot == two.slot).all()
    assert one.sites == two.sites


@for_rows("buffers", 1, 2, 3, 4)
def test_tiles_of_a_site_rotate_over_its_buffers(buffers):
    placement = place(stream(10), buffers=buffers)
    loaded = [t for t in placement.tiles() if t.name == "loaded"]
    site = placement.sites[0]
    assert (site.tiles, site.alive, site.slots) == (10, 1, buffers)
    assert [t.address for t in loaded] == [site.addresses[k % buffers] for k in range(10)]
    assert len(set(site.addresses)) == buffers


def test_slots_are_those_alive_at_once_times_buffers(timed):
    x = timed.hbm((128, 64))
    for _ in range(6):
        pair = [timed.sbuf((128, 64), name="pair") for _ in range(2)]
        for tile in pair:
            timed.dma_copy(dst=tile, src=x)
        timed.tensor_tensor(dst=pair[0], data1=pair[0], data2=pair[1], op="add")
        timed.dma_copy(dst=x, src=pair[0])
    site = place(timed.program, buffers=3).sites[0]
    assert (site.tiles, site.alive, site.slots) == (12, 2, 6)


def test_a_site_that_runs_once_has_one_slot_whatever_is_asked(timed):
    timed.memset(dst=timed.sbuf((128, 64)), value=0.0)
    assert place(timed.program, buffers=4).sites[0].slots == 1


def one_after_another(widths, turns=1):
    core = NeuronCore(values=False)
    for _ in range(turns):
        for columns in widths:
            core.memset(dst=core.sbuf((128, columns)), value=0.0)
    return core.program


def test_sites_that_do_not_fit_together_share_bytes_if_never_alive_at_once():
    wide = place(one_after_another((24576, 32768)))  # 96 and 128 KiB
    assert wide.high_water_bytes[Memory.SBUF] == 128 * 1024
    alternating = place(one_after_another((1024, 2048), turns=2), buffers=1)
    assert alternating.high_water_bytes[Memory.SBUF] == 4096 + 8192  # never apart


def test_a_load_waits_for_no_dead_tile_while_there_is_room(timed):
    """Judge: the same program timed as if memory had no end."""
    x = timed.hbm((128, 512))
    timed.dma_copy(dst=(first := timed.sbuf((128, 512))), src=x)
    timed.reciprocal(dst=(second := timed.sbuf((128, 512))), data=first)
    timed.reciprocal(dst=(third := timed.sbuf((128, 512))), data=second)
    timed.dma_copy(dst=(late := timed.sbuf((128, 512))), src=x)  # may run at once
    timed.tensor_tensor(dst=third, data1=third, data2=late, op="add")
    placed = place(timed.program)
    assert placed.high_water_bytes[Memory.SBUF] == 4 * 2048
    endless = schedule(timed.program, place(timed.program, endless=True))
    assert schedule(timed.program, placed).makespan_ns == endless.makespan_ns


def test_default_is_four_buffers_where_they_fit_and_fewer_with_a_note_where_not():
    assert place(stream(10)).sites[0].slots == 4
    tight = place(stream(10, columns=8192))  # 32 KiB per tile, two sites, 192 KiB
    assert [s.slots for s in tight.sites] == [3, 3]
    assert "SBUF is full" in tight.notes[0]
    assert tight.high_water_bytes[Memory.SBUF] == 192 * 1024


def test_all_sites_have_the_largest_number_of_buffers_that_fits():
    placement = place(stream(10, columns=9000))  # 36 000 bytes per tile: five of them fit
    assert [s.slots for s in placement.sites] == [2, 2]
    assert "fewer for loaded 2 of 4 slots, result 2 of 4 slots" in placement.notes[0]


def test_more_room_is_not_slower():
    """Law, where engines and not the queues have most to do, but for one of eighteen pipelines.

    What is left over goes to the smallest sites, which are not those that wait in that one (16 %).
    """
    gains, losses = [], []
    for seed in range(40):
        program = pipeline(seed)
        free = place(program)
        timed = schedule(program, free)
        if timed.busy_ns("dma") > 0.8 * max(map(timed.busy_ns, ENGINES)):
            continue
        low, high = free.alive_bytes[Memory.SBUF], free.high_water_bytes[Memory.SBUF]
        rooms = [(low + (high - low) * k // 8) // 4 * 4 for k in range(1, 9)]
        times = [schedule(program, place(program, with_sbuf(room))).makespan_ns for room in rooms]
        losses.append(max(b / min(times[: k + 1]) for k, b in enumerate(times)))
        gains.append(times[0] / times[-1])
    assert (len(gains), sorted(losses)[:-1]) == (18, [1.0] * 17)
    assert max(losses) <= 1.16
    assert max(gains) > 1.1


def test_a_named_site_keeps_its_buffers_and_a_note_says_what_is_in_the_way():
    program = stream(10, columns=8192)  # six tiles of 32 KiB fit
    assert [s.slots for s in place(program, buffers={"loaded": 4}).sites] == [4, 2]
    most = place(program, buffers={"loaded": 8})
    assert [s.slots for s in most.sites] == [5, 1]
    assert most.notes[-1].startswith("loaded got 5 of the 8 slots that buffers asks for, each 3276")
    assert "of 196608 in SBUF; in the way are result (1 x 32768 bytes)" in most.notes[-1]


def test_a_dict_names_the_sites():
    placement = place(stream(10), buffers={"loaded": 2})
    assert [s.slots for s in placement.sites] == [2, 4]
    site = placement.program.allocations[placement.run.allocation[2]].site
    assert [s.slots for s in place(placement.program, buffers={site: 3}).sites] == [3, 4]
    raises(ValueError, "there are loaded, result", place, placement.program, buffers={"laoded": 2})


def test_what_no_slots_hold_is_packed_by_live_ranges_stretched_by_turns(timed):
    """One to four tiles of one line and four to one of the other, five at every moment."""
    x = timed.hbm((128, 512), name="x")
    for turn in range(12):
        many = [timed.sbuf((128, 512), name="many") for _ in range(1 + turn % 4)]
        for tile in many:
            timed.dma_copy(dst=tile, src=x)
        few = [timed.sbuf((128, 512), name="few") for _ in range(4 - turn % 4)]
        for tile in few:
            timed.tensor_tensor(dst=tile, data1=many[0], data2=many[-1], op="add")
        for tile in many:
            timed.tensor_tensor(dst=few[0], data1=few[0], data2=tile, op="add")
        for tile in few:
            timed.dma_copy(dst=x, src=tile)
    tight, wider = (place(timed.program, with_sbuf(2048 * count)) for count in (5, 7))
    assert "packed by its own live range" in tight.notes[0]
    assert "packed by its own live range" in wider.notes[0]
    check_layout(timed.program, tight, 2048 * 5)
    check_layout(timed.program, wider, 2048 * 7)


def test_lines_that_take_turns_share_the_banks_of_psum(timed):
    """Eight lines have one bank each and use them one after another.  Judge: endless memory.

    With a bank of its own, each product would wait until Vector has read the one before it.
    """
    x, y = (timed.sbuf((128, n), "bfloat16", name="operand") for n in (128, 512))
    out = timed.sbuf((128, 512), name="out")
    for tile in (x, y):
        timed.memset(dst=tile, value=0.0)
    for _, line, _ in itertools.product(range(3), range(8), range(6)):
        columns = slice(0, 512 - 8 * line)  # its size tells the lines apart
        sums = timed.psum((128, columns.stop), name=f"sums_{line}")
        timed.nc_matmul(dst=sums, stationary=x, moving=y.sliced(slice(0, 128), columns))
        timed.tensor_copy(dst=out.sliced(slice(0, 128), columns), src=sums)
    placed = [place(timed.program, **how) for how in ({}, {"buffers": 1}, {"endless": True})]
    shared = placed[0]
    check_layout(timed.program, shared)
    assert "packed by its own live range, begun up to" in shared.notes[0]
    assert [site.buffers for site in shared.sites if site.memory is Memory.PSUM] == [1] * 8
    ours, slow, best = (schedule(timed.program, each).makespan_ns for each in placed)
    assert ours == best < 0.7 * slow


def test_a_slot_goes_to_the_tile_after_the_one_that_died_first(timed):
    """One long life between short ones: the next takes the older of the free slots."""
    x = timed.hbm((128, 64), name="x")
    tiles = [timed.sbuf((128, 64), name="t") for _ in range(5)]
    for tile in tiles[:3]:
        timed.dma_copy(dst=tile, src=x)
    for tile in (tiles[1], tiles[2], tiles[0]):  # dies in this order
        timed.dma_copy(dst=x, src=tile)
    for tile in tiles[3:]:
        timed.dma_copy(dst=tile, src=x)
    placement = place(timed.program, buffers=1)
    assert [placement.where(t)[2] for t in tiles] == [0, 1, 2, 1, 2]


def too_big(core):
    x = core.hbm((128, 16 * 1024), name="x")
    tiles = [core.sbuf((128, 16 * 1024), name="weights") for _ in range(4)]
    for tile in tiles:
        core.dma_copy(dst=tile, src=x)
    for tile in tiles:
        core.tensor_copy(dst=tile, src=tiles[0])


def test_what_does_not_fit_is_timed_beside_the_rest_where_that_is_asked_for(timed):
    """Judge: the same program in endless memory."""
    too_big(timed)
    placement = place(timed.program, beside=True)
    assert sorted(t.address for t in placement.tiles()) == [65536 * k for k in range(4)]
    assert placement.notes == (
        "SBUF is too small: 262144 bytes of each partition are needed at once, and there are 196608"
        "; the rest is timed as if it lay beside them, without what it costs to move it out and in",
    )
    endless = schedule(timed.program, place(timed.program, endless=True))
    assert schedule(timed.program, placement).makespan_ns == endless.makespan_ns


def test_too_big_says_what_was_there_and_what_spilling_costs(timed):
    too_big(timed)
    text = str(raises(NkiValidationError, "", place, timed.program))
    assert "262144 bytes of each SBUF partition" in text
    assert "196608" in text
    assert "4 x weights: float32[128, 16384] = 262144 bytes" in text
    moved = 2 * 128 * (262144 - 196608)
    assert f"{moved} bytes" in text
    assert f"{moved / 272e9 * 1e6:.1f} us" in text


def test_psum_too_big_raises(timed):
    x = timed.sbuf((128, 128), "bfloat16")
    timed.memset(dst=x, value=0.0)
    banks = [timed.psum((128, 512), name="bank") for _ in range(9)]
    for bank in banks:
        timed.nc_matmul(dst=bank.sliced(PARTS, slice(0, 128)), stationary=x, moving=x)
    for bank in banks:
        timed.tensor_copy(dst=x, src=bank.sliced(PARTS, slice(0, 128)))
    raises(NkiValidationError, "PSUM", place, timed.program)


def test_no_tile_of_up_to_2_kib_crosses_a_bank_and_longer_ones_begin_with_one(timed):
    tiles = [timed.psum((128, columns)) for columns in (512, 384, 384, 1024)]
    for _ in range(2):
        for tile in tiles:
            timed.memset(dst=tile, value=0.0)
    by_size = sorted((t.row_bytes, t.address) for t in place(timed.program).tiles())
    assert by_size == [(1536, 6144), (1536, 8192), (2048, 4096), (4096, 0)]


def test_a_long_lived_tile_does_not_stop_the_others_from_rotating(timed):
    x = timed.hbm((128, 64))
    tiles = []
    for _ in range(6):
        tile = timed.sbuf((128, 64), name="t")
        timed.dma_copy(dst=tile, src=x)
        tiles.append(tile)
        timed.tensor_copy(dst=tiles[0], src=tile)
    placement = place(timed.program, buffers=1)
    assert placement.sites[0].alive == 2
    check_layout(timed.program, placement)


def test_what_one_instruction_reads_and_what_it_writes_never_share_a_slot(timed):
    old, short, new = (timed.sbuf((128, 64), name="t") for _ in range(3))
    timed.memset(dst=old, value=0.0)
    timed.memset(dst=short, value=0.0)
    timed.tensor_copy(dst=new, src=old)  # the turn would be old's slot, and old is read here
    placement = place(timed.program, buffers=1)
    assert placement.sites[0].alive == 2
    assert [placement.where(t)[2] for t in (old, short, new)] == [0, 1, 1]


def test_overlapping_stated_addresses_are_kept_and_noted(timed):
    a = timed.sbuf((128, 64), address=0, name="a")
    b = timed.sbuf((128, 64), address=128, name="b")
    timed.memset(dst=a, value=0.0)
    timed.memset(dst=b, value=1.0)
    placement = place(timed.program)
    assert [placement.where(t)[1] for t in (a, b)] == [0, 128]
    assert placement.notes == (
        "a and b were given overlapping addresses in SBUF: writing one overwrites the other",
    )


def test_many_overlaps_are_not_all_told(timed):
    for k in range(2000):
        timed.memset(dst=timed.sbuf((128, 64), address=k, name=f"t{k}"), value=0.0)
    placement = place(timed.program)
    assert (len(placement.notes), placement.notes[-1]) == (21, "more stated tiles overlap")


def test_other_partitions_are_other_bytes(timed):
    for start in (0, 64):
        tile = timed.sbuf((64, 16 * 1024), start_partition=start, name=f"half{start}")
        timed.memset(dst=tile, value=0.0)
    for tile in (t for t in place(timed.program).tiles()):
        assert tile.address == 0


def test_endless_gives_every_tile_its_own_bytes():
    addresses = [t.address for t in place(stream(100, columns=8192), endless=True).tiles()]
    assert len(set(addresses)) == 200


# -- loops recorded once -------------------------------------------------------------------------


def test_a_repeated_body_is_placed_like_the_same_body_written_out():
    written, looped = place(stream(9), buffers=2), place(stream(9, looped=True), buffers=2)
    assert [t.address for t in written.tiles()] == [t.address for t in looped.tiles()]
    sites = [[(s.alive, s.slots, s.tiles) for s in p.sites] for p in (written, looped)]
    assert sites[0] == sites[1]


def test_nested_loops_run_out_in_order(timed):
    outer = timed.sbuf((128, 16), name="outer")
    timed.memset(dst=outer, value=0.0)
    with timed.repeat(3):
        middle = timed.sbuf((128, 16), name="middle")
        timed.memset(dst=middle, value=0.0)
        with timed.repeat(2):
            inner = timed.sbuf((128, 16), name="inner")
            timed.tensor_copy(dst=inner, src=middle)
        timed.tensor_copy(dst=outer, src=middle)
        timed.tensor_copy(dst=outer, src=inner)  # of the last turn
    run = expanded.expand(timed.program)
    assert run.instruction.tolist() == [0] + [1, 2, 2, 3, 4] * 3
    names = [timed.program.allocations[a].name for a in run.allocation]
    assert names == ["outer"] + ["middle"] * 3 + ["inner"] * 6
    assert run.first.tolist() == [0, 1, 6, 11, 2, 3, 7, 8, 12, 13]
    assert run.last.tolist() == [15, 4, 9, 14, 2, 5, 7, 10, 12, 15]


def test_an_open_loop_and_an_endless_one_raise(timed):
    tile = timed.sbuf((128, 16))
    with timed.repeat(2):
        timed.memset(dst=tile, value=0.0)
        raises(ValueError, "still being recorded", place, timed.program)
    with timed.repeat(10**9):
        timed.memset(dst=tile, value=0.0)
    raises(ValueError, "at most 2000000", place, timed.program)


# -- questions and bad input ---------------------------------------------------------------------


def test_where_tells_memory_address_slot_and_bytes(timed):
    x, tile = timed.hbm((128, 64)), timed.sbuf((128, 64))
    idle = timed.sbuf((128, 64))
    timed.dma_copy(dst=tile, src=x)
    placement = place(timed.program)
    assert placement.where(tile) == (Memory.SBUF, 0, 0, 256)
    assert placement.where(x)[:3] == (Memory.HBM, None, -1)
    assert placement.where(idle)[1] is None
    assert re.match(r"Placement\('program', SBUF 256 of 196608", repr(placement))
    assert "1 alive" in str(placement)


@for_rows("buffers", 0, -1, True, 1.5, "two", float("nan"), {"loaded": 0})
def test_strange_buffers_raise(buffers):
    raises((TypeError, ValueError), "an integer from 1", place, stream(2), buffers=buffers)


def test_an_empty_program_is_placed(timed):
    placement = place(timed.program, TRN1)
    assert placement.tiles() == []
    assert placement.high_water_bytes == {Memory.SBUF: 0, Memory.PSUM: 0}
