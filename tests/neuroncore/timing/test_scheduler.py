"""When things run: laws over drawn programs, judged by brute force over all pairs of instructions.

The judge knows nothing of domains, lists or heaps: it compares the rectangles of every two rows.
"""

from contextlib import nullcontext
from itertools import pairwise

import numpy as np
import pytest
from hypothesis import assume, given, settings
from hypothesis import strategies as st

from tests.for_each import for_each, for_rows, raises
from tests.neuroncore.streams import PARTS, place_tightly, programs, random_program, steps, stream
from trainium_edu.neuroncore import Engine, NeuronCore, place, schedule
from trainium_edu.neuroncore.timing import _loops, overlaps
from trainium_edu.neuroncore.timing.expansion import ENGINES
from trainium_edu.neuroncore.timing.hazards import find_hazards
from trainium_edu.neuroncore.timing.waits import Wait

DMA = ENGINES.index(Engine.DMA)
buffers = st.one_of(st.none(), st.integers(1, 4))


def accesses_of(placement):
    """Yield per row its (memory or HBM allocation, r0, r1, b0, b1, is_write)."""
    run, program = placement.run, placement.program
    for row in range(run.rows):
        found = []
        for a in range(run.row_access[row], run.row_access[row + 1]):
            i = run.access_instance[a]
            info = program.allocations[run.allocation[i]]
            r0, r1, b0, b1 = run.rectangle[:, a]
            if info.memory.is_on_chip:
                where = info.memory
                r0, r1 = r0 + info.start_partition, r1 + info.start_partition
                b0, b1 = b0 + placement.address[i], b1 + placement.address[i]
            else:
                where = i
            found.append((where, r0, r1, b0, b1, bool(run.is_write[a])))
        yield found


def do_overlap(a, b):
    return a[0] == b[0] and a[1] < b[2] and b[1] < a[2] and a[3] < b[4] and b[3] < a[4]


def check_laws(tl):
    run = tl.placement.run
    start, release, done = tl.start_ns, tl.release_ns, tl.done_ns
    assert (start >= 0).all()
    assert (release >= start).all()
    assert (done >= release).all()
    accesses = list(accesses_of(tl.placement))
    chain = tl.pieces.chain[run.kind]
    for row in range(run.rows):
        for before in range(row):
            same = run.engine[row] == run.engine[before] != DMA
            if same:  # in-order issue, one thing at a time
                assert start[row] >= release[before]
            for a in accesses[row]:
                for b in accesses[before]:
                    if not do_overlap(a, b) or not (a[5] or b[5]):
                        continue
                    if b[5] and not a[5]:  # it reads what the other wrote
                        need = start[before] + chain[before] if same else done[before]
                    else:
                        need = done[before] if b[5] and not same else release[before]
                    assert start[row] >= need
    # shared ports: the intervals in which both engines of a pair hold the memory do not meet
    for pair, bit in (((1, 3), 1), ((1, 2), 2)):
        one, two = (np.flatnonzero((run.engine == e) & (run.ports & bit > 0)) for e in pair)
        for i in one:
            for j in two:
                assert release[i] <= start[j] or release[j] <= start[i]
    # queues move one transfer at a time, and none before it is issued and started up
    lead = tl.pieces.lead[run.kind]
    for q in range(16):
        spans = []
        for row in np.flatnonzero(run.engine == DMA):
            k = tl.transfer[row]
            if tl.queue_start_ns[k, q] >= 0:
                spans.append((tl.queue_start_ns[k, q], tl.queue_end_ns[k, q]))
                assert tl.queue_start_ns[k, q] >= start[row] + lead[row]
        spans.sort()
        assert all(a[1] <= b[0] for a, b in pairwise(spans))


@settings(max_examples=100)
@given(programs, buffers)
def test_no_engine_does_two_things_and_nothing_starts_early(program, b):
    check_laws(schedule(program, place(program, buffers=b)))


@settings(max_examples=100)
@given(st.builds(random_program, steps), st.sampled_from([None, 1, 2]))
def test_nothing_starts_over_a_living_tile_where_room_is_tight(program, b):
    placement, _ = place_tightly(program, b)
    check_laws(schedule(program, placement))


@given(programs)
def test_the_laws_hold_without_each_cause_too(program):
    for endless, gone in ((True, ()), (False, ("fixed",)), (False, ("dma",))):
        tl = schedule(program, place(program, endless=endless), without=gone)
        if endless:  # addresses are virtual; rectangles of different tiles never meet
            assert (tl.done_ns >= tl.start_ns).all()
        else:
            check_laws(tl)


@given(programs, buffers)
def test_busiest_engine_le_makespan_le_sum_of_everything(program, b):
    tl = schedule(program, place(program, buffers=b))
    busiest = max(tl.busy_ns(e) for e in Engine)
    kind = tl.placement.run.kind
    p = tl.pieces
    rows = np.maximum(p.descriptors, 1)[kind]
    everything = (p.lead[kind] + p.fixed[kind] + p.work[kind] * rows + p.result[kind]).sum()
    assert busiest <= tl.makespan_ns <= everything


@given(programs, buffers)
def test_nobody_waits_without_a_reason(program, b):
    """Work-conserving: every start equals the bound that its reason names, to the last bit."""
    tl = schedule(program, place(program, buffers=b))
    p, kind = tl.pieces, tl.placement.run.kind
    for row in range(tl.rows):
        by, wait = int(tl.predecessor[row]), Wait(int(tl.wait[row]))
        start = tl.start_ns[row]
        if wait is Wait.QUEUE:
            k, q = tl.transfer[row], tl.critical_queue[tl.transfer[row]]
            assert tl.queue_start_ns[k, q] == tl.queue_end_ns[tl.transfer[by], q]
            wait, by = Wait(int(tl.ready_wait[row])), int(tl.ready_predecessor[row])
        lead = 0.0 if tl.engine[row] == DMA else p.lead[kind[row]]
        match wait:
            case Wait.START:
                assert start == lead
            case Wait.ENGINE | Wait.PORT:
                assert start == tl.release_ns[by]
            case Wait.OPERANDS | Wait.OVERWRITES:
                assert start == tl.done_ns[by] + lead
            case Wait.PLACE:
                assert start == tl.release_ns[by] + lead
            case Wait.CHAIN:
                assert start == tl.start_ns[by] + p.chain[kind[by]] + lead


@given(programs, buffers)
def test_who_can_start_first_goes_first(program, b):
    tl = schedule(program, place(program, buffers=b))
    assert (np.diff(tl.start_ns[tl.order]) >= 0).all()


@given(programs, buffers)
def test_same_program_same_timeline(program, b):
    one = schedule(program, place(program, buffers=b))
    program.__dict__.pop("_expanded")
    two = schedule(program, place(program, buffers=b))
    for name in ("start_ns", "release_ns", "done_ns", "order", "predecessor", "queue_end_ns"):
        assert np.array_equal(getattr(one, name), getattr(two, name))


@given(programs, buffers)
def test_its_own_order_frozen_gives_the_same_times(program, b):
    placement = place(program, buffers=b)
    free = schedule(program, placement)
    frozen = schedule(program, placement, order=free.order)
    for name in ("start_ns", "release_ns", "done_ns", "queue_start_ns", "queue_end_ns"):
        assert np.array_equal(getattr(free, name), getattr(frozen, name))


@given(programs, st.sampled_from([(2, 1), (4, 1), (4, 2)]))
def test_with_frozen_order_removing_buffers_never_speeds_anything_up(program, pair):
    """A slot of fewer buffers serves every owner that a slot of a multiple serves, and more."""
    many, few = (place(program, buffers=b) for b in pair)
    assume(not (many.notes or few.notes))  # everybody got what was asked
    less = schedule(program, few)
    more = schedule(program, many, order=less.order)
    assert more.makespan_ns <= less.makespan_ns
    assert (more.start_ns <= less.start_ns).all()


@given(st.integers(2, 24), st.integers(1, 4), st.sampled_from([64, 512, 1024]))
def test_in_a_stream_each_removed_buffer_costs_or_is_free(stages, works, columns):
    """Where one in-order engine reads each site, 3 to 2 is a removal like any other."""
    program = stream(stages, columns, works)
    for few in (1, 2, 3):
        less = schedule(program, place(program, buffers=few))
        more = schedule(program, place(program, buffers=few + 1), order=less.order)
        assert more.makespan_ns <= less.makespan_ns


@given(st.integers(48, 96), st.sampled_from([512, 1024, 2048]))
def test_a_balanced_stream_runs_1_8_times_faster_with_two_buffers(stages, columns):
    """Moving in and out takes as long as computing; a serial scheduler would give 1.0."""
    probe = stream(1, columns, 1)
    tl = schedule(probe, place(probe))
    load = tl.done_ns[0]
    store = tl.queue_end_ns[1].max() - tl.queue_start_ns[1].min()
    work = tl.release_ns[1] - tl.start_ns[1]
    program = stream(stages, columns, round((load + store) / work))
    one, two = (schedule(program, place(program, buffers=b)) for b in (1, 2))
    assert one.makespan_ns >= 1.8 * two.makespan_ns


def test_a_serial_scheduler_would_fail_that():
    program = stream(64)
    tl = schedule(program, place(program, buffers=2))
    alone = (tl.done_ns - tl.start_ns)[tl.engine != DMA].sum()
    kind = tl.placement.run.kind[tl.engine == DMA]
    transfers = (tl.pieces.lead[kind] + tl.pieces.work[kind] * 8).sum()  # 128 rows, 16 queues
    assert tl.makespan_ns < 0.56 * (alone + transfers)


# -- compiled and plain ------------------------------------------------------------------------


@pytest.mark.compiled
@settings(max_examples=25)
@given(programs, buffers)
def test_plain_python_gives_the_same_bits(program, b):
    with pytest.MonkeyPatch.context() as patch:
        fast = schedule(program, place(program, buffers=b))
        for name in _loops.__all__:
            patch.setattr(_loops, name, getattr(_loops, name).py_func)
        program.__dict__.pop("_expanded")
        slow = schedule(program, place(program, buffers=b))
    assert np.array_equal(fast.placement.address, slow.placement.address)
    for name in ("start_ns", "release_ns", "done_ns", "order", "predecessor", "wait",
                 "queue_start_ns", "queue_end_ns", "critical_queue"):  # fmt: skip
        assert np.array_equal(getattr(fast, name), getattr(slow, name))


@given(programs)
def test_coming_back_to_python_between_pieces_changes_nothing(program):
    whole = schedule(program, place(program))
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr("trainium_edu.neuroncore.timing.scheduler._PIECE", 3)
        pieces = schedule(program, place(program))
    assert np.array_equal(whole.done_ns, pieces.done_ns)
    assert np.array_equal(whole.order, pieces.order)


# -- single rules, by hand ---------------------------------------------------------------------


def test_a_repeated_body_takes_the_time_of_the_same_body_written_out():
    done = []
    for looped in (True, False):
        core = NeuronCore(values=False)
        x = core.hbm((128, 64))
        with core.repeat(20) if looped else nullcontext():
            for _ in range(1 if looped else 20):
                tile = core.sbuf((128, 64))
                core.dma_copy(dst=tile, src=x)
                core.tensor_copy(dst=tile, src=tile)
        done.append(schedule(core.program, place(core.program, buffers=2)).done_ns)
    assert np.array_equal(*done)


def test_vector_and_gpsimd_take_turns_on_sbuf_and_scalar_does_not(timed):
    tiles = [timed.sbuf((128, 512)) for _ in range(3)]
    timed.tensor_copy(dst=tiles[0], src=tiles[0])
    timed.tensor_copy(dst=tiles[1], src=tiles[1], engine="gpsimd")
    timed.activation(dst=tiles[2], op="exp", data=tiles[2])
    tl = schedule(timed.program, place(timed.program))
    assert (tl.start_ns[2], tl.start_ns[1]) == (0, tl.release_ns[0])
    assert tl.reason(1) == "the port that the Vector Engine holds"
    free = schedule(timed.program, place(timed.program), without=["ports"])
    assert free.start_ns.tolist() == [0, 0, 0]
    assert free.order.tolist() == [0, 1, 2]  # a tie goes in program order


def test_the_wait_for_a_port_begins_when_the_operands_are_there(timed):
    """By hand: what GpSimd waits for until Vector's result is there is no wait for the port."""
    tiles = [timed.sbuf((128, 512)) for _ in range(5)]
    timed.tensor_copy(dst=tiles[1], src=tiles[0], engine="vector")
    timed.tensor_copy(dst=tiles[2], src=tiles[3], engine="vector")
    timed.tensor_copy(dst=tiles[4], src=tiles[1], engine="gpsimd")
    tl = schedule(timed.program, place(timed.program))
    there, free = tl.done_ns[0], tl.release_ns[1]
    assert there < free == tl.start_ns[2]
    row, ns, wait, by = (part.tolist() for part in tl.waits)
    assert (row, ns, by) == ([2, 2], [free - there, there], [1, 0])
    assert wait == [Wait.PORT, Wait.OPERANDS]
    waits = tl.waiting("gpsimd")
    assert waits["operands from the Vector Engine"] == there
    assert waits["the port that the Vector Engine holds"] == free - there
    assert sum(waits.values()) == pytest.approx(tl.idle_ns("gpsimd"))


def test_the_wait_for_a_place_begins_when_the_operands_are_there(timed):
    """By hand: until Scalar's result is there, GpSimd would wait although the place were free."""
    a, b, c = (timed.sbuf((128, 1024)) for _ in range(3))
    out = timed.hbm((128, 1024), "float32")
    timed.tensor_copy(dst=a, src=b, engine="vector")
    timed.dma_copy(dst=out, src=a)
    timed.activation(dst=c, op="copy", data=b)
    timed.tensor_copy(dst=a, src=c, engine="gpsimd")
    tl = schedule(timed.program, place(timed.program))
    there, free = tl.done_ns[2], tl.release_ns[1]
    assert there < free == tl.start_ns[3]
    row, ns, wait, by = (part.tolist() for part in tl.waits)
    assert (row, ns, by) == ([3, 3], [free - there, there], [1, 2])
    assert wait == [Wait.PLACE, Wait.OPERANDS]


def test_who_waits_for_a_port_lets_others_go_first(timed):
    tiles = [timed.sbuf((128, 512)) for _ in range(3)]
    timed.tensor_copy(dst=tiles[0], src=tiles[0], engine="gpsimd")
    timed.tensor_copy(dst=tiles[1], src=tiles[1])
    timed.activation(dst=tiles[2], op="exp", data=tiles[2])
    assert schedule(timed.program, place(timed.program)).order.tolist() == [0, 2, 1]


@for_rows("transfer_first", True, False)
def test_a_transfer_and_an_instruction_at_the_same_moment_go_in_program_order(transfer_first):
    core = NeuronCore(values=False)
    x, tile, other = core.hbm((128, 64)), core.sbuf((128, 64)), core.sbuf((128, 64))
    for is_transfer in (transfer_first, not transfer_first):
        if is_transfer:
            core.dma_copy(dst=tile, src=x)
        else:
            core.memset(dst=other, value=0.0)
    tl = schedule(core.program, place(core.program))
    assert (tl.start_ns.tolist(), tl.order.tolist()) == ([0, 0], [0, 1])


def test_vector_and_scalar_take_turns_on_psum(timed):
    banks = [timed.psum((128, 512)) for _ in range(2)]
    timed.tensor_copy(dst=banks[0], src=banks[0])
    timed.activation(dst=banks[1], op="exp", data=banks[1])
    tl = schedule(timed.program, place(timed.program))
    assert tl.start_ns[1] == tl.release_ns[0]


def test_transfers_without_data_in_common_share_queues_in_program_order(timed):
    x = timed.hbm((128, 1024))
    for _ in range(2):
        timed.dma_copy(dst=timed.sbuf((128, 1024), name="t"), src=x)
    tl = schedule(timed.program, place(timed.program))
    assert tl.start_ns.tolist() == [0, 0]
    assert np.array_equal(tl.queue_start_ns[1], tl.queue_end_ns[0])  # start-up overlaps
    assert Wait(int(tl.wait[1])) is Wait.QUEUE


def test_a_transfer_of_one_row_uses_the_queue_of_its_partition(timed):
    """Judge: "each DMA engine corresponds to 8 partition lanes" (the DMA overview)."""
    x = timed.hbm((1, 1024))
    tile = timed.sbuf((128, 1024))
    for k in range(0, 128, 5):
        timed.dma_copy(dst=tile.sliced(slice(k, k + 1)), src=x)
    tl = schedule(timed.program, place(timed.program, endless=True))
    used = [np.flatnonzero(row >= 0).tolist() for row in tl.queue_start_ns]
    assert used == [[k // 8] for k in range(0, 128, 5)]


def test_overlapping_stated_addresses_make_the_second_wait_for_the_first(timed):
    x = timed.hbm((128, 64))
    a, b = timed.sbuf((128, 64), address=0), timed.sbuf((128, 64), address=128)
    timed.dma_copy(dst=a, src=x)
    timed.memset(dst=b, value=0.0)
    tl = schedule(timed.program, place(timed.program))
    assert tl.start_ns[1] == tl.done_ns[0]
    assert Wait(int(tl.wait[1])) is Wait.OVERWRITES


def test_an_instruction_waits_for_those_that_it_was_told_to(timed):
    x, tile, other = timed.hbm((128, 64)), timed.sbuf((128, 64)), timed.sbuf((128, 64))
    timed.dma_copy(dst=tile, src=x)
    timed.memset(dst=other, value=0.0)
    timed.program.instructions[1].after = (0,)
    tl = schedule(timed.program, place(timed.program))
    assert tl.start_ns[1] == tl.done_ns[0]
    assert Wait(int(tl.wait[1])) is Wait.STATED


@for_rows("order", "load, fill, read", "read, fill, load")
@for_each("half", [
        (PARTS, slice(0, 256)), (PARTS, slice(256, 512)),
        (slice(0, 64), slice(0, 512)), (slice(64, 128), slice(0, 512)),
    ], ids=["left", "right", "upper", "lower"])  # fmt: skip
def test_dropping_what_a_write_covers_loses_no_hazard(half, order):
    """A half-covered tile keeps its older half: the third waits for both others."""
    core = NeuronCore(values=False)
    x, tile, out = core.hbm((128, 512)), core.sbuf((128, 512)), core.sbuf((128, 512))
    for step in order.split(", "):
        if step == "load":
            core.dma_copy(dst=tile, src=x)
        elif step == "fill":
            core.memset(dst=tile.sliced(*half), value=0.0, engine="gpsimd")
        else:
            core.activation(dst=out, op="exp", data=tile)
    hazards = find_hazards(place(core.program))
    first, end = hazards.start[2:4]
    assert sorted(hazards.edges["row"][first:end].tolist()) == [0, 1]


# -- bad input ---------------------------------------------------------------------------------


def test_an_impossible_order_raises():
    program = stream(3)
    placement = place(program, buffers=1)
    order = schedule(program, placement).order
    raises(ValueError, "impossible", schedule, program, placement, order=order[::-1])
    two = schedule(program, place(program, buffers=2)).order
    raises(ValueError, "no more buffers", schedule, program, placement, order=two)


CAUSES = "choose one of dma, ports, buffers, fixed"


@for_rows("words, options",
    (CAUSES, {"without": "speed"}), (CAUSES, {"without": ["dma", "x"]}),
    ("exact up to", {"parameters": {"dma_bytes_per_s": 1e-3}}),
    *(("order must list", {"order": x}) for x in ([0, 1], [0.0] * 15, [0] * 15, "order")),
)  # fmt: skip
def test_a_strange_order_an_unknown_cause_and_hours_raise(words, options):
    program = stream(3)
    raises(ValueError, words, schedule, program, place(program), **options)


def test_the_placement_of_another_program_raises():
    raises(ValueError, "another program", schedule, stream(2), place(stream(2)))


def test_an_empty_program_takes_no_time(timed):
    tl = schedule(timed.program, place(timed.program))
    assert (tl.makespan_ns, len(tl.timeline)) == (0, 0)


def test_drawn_programs_use_every_engine():
    """The strategy above is no toy: over a few draws all streams and queues are in use."""
    drawn = [("load", 0, 1, 0, True), ("matmul", 1, 2, 1, True), ("copy", 1, 2, 0, True),
             ("gpsimd", 0, 1, 0, True), ("scalar", 0, 1, 0, False), ("store", 0, 1, 0, False),
             ("vector", 1, 1, 1, True)]  # fmt: skip
    program = random_program(drawn)
    assert {i.engine for i in program.instructions} == set(Engine) - {Engine.SYNC}
    assert steps is not None


@pytest.mark.parametrize("seed", range(5))
def test_what_overlaps_is_found_among_neighbours_as_among_all(seed, monkeypatch):
    """Judge: the same accesses, none of them cut into pieces."""
    draw = np.random.default_rng(seed)
    bounds = np.concatenate(([0], np.cumsum(draw.integers(1, 4, 300))))
    n = int(bounds[-1])
    corner = draw.integers(0, (100, 500), (n, 2))
    end = corner + draw.integers(1, 25, (n, 2))
    whole = draw.random(n) < 0.05
    corner[whole], end[whole] = 0, (128, 512)
    rectangle = np.stack((corner[:, 0], end[:, 0], corner[:, 1], end[:, 1]))
    given = bounds, draw.integers(0, 6, 300).astype(np.int8), draw.integers(0, 2, n), rectangle
    is_write = draw.random(n) < 0.4

    def edges():
        start, found = overlaps.find_overlaps(*given, is_write)
        pairs = found.tolist()
        return [set(pairs[a:b]) for a, b in pairwise(start.tolist())]

    whole_lists = edges()
    monkeypatch.setattr(overlaps, "_FEW", 16)
    assert edges() == whole_lists
    assert sum(map(len, whole_lists)) > 300
