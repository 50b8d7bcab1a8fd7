"""Judge: broken schedules made from good ones; each must be refused, with the right name in it."""

from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.for_each import for_rows, raises
from trainium_edu import fabric
from trainium_edu.fabric import Op, Schedule, ScheduleError, check

COLUMNS = ("step", "phase", "src", "dst", "item", "into", "op", "fused")


def without(schedule, row):
    return replace(schedule, **{c: np.delete(getattr(schedule, c), row) for c in COLUMNS})


def doubled(schedule, row):
    return replace(
        schedule,
        **{c: np.insert(getattr(schedule, c), row, getattr(schedule, c)[row]) for c in COLUMNS},
    )


def ring4():
    return fabric.plan(fabric.ring(4), "all_reduce", "ring", cycles=1)


def test_a_lost_chunk_says_which_rank_misses_what():
    moves = [(0, 0, 1, 0, "add"), (0, 1, 2, 1, "add"), (0, 2, 0, 2, "add"), (1, 1, 2, 0, "add"),
             (1, 2, 0, 1, "add")]  # fmt: skip
    schedule = Schedule.from_moves("reduce_scatter", 3, moves)
    raises(ScheduleError, r"rank 0 misses .* part of chunk 0", check, schedule)


def test_a_doubled_chunk_says_whose_part_is_counted_twice():
    moves = [(0, 1, 0, 0, "add"), (1, 1, 0, 0, "add"), (0, 0, 1, 1, "add")]
    with pytest.raises(ScheduleError, match="rank 0 counts rank 1's part of chunk 0 2 times"):
        check(Schedule.from_moves("reduce_scatter", 2, moves))


def test_sending_what_one_does_not_hold_is_named():
    with pytest.raises(ScheduleError, match="step 0 rank 1 sends chunk 0, which it does not hold"):
        check(Schedule.from_moves("all_gather", 3, [(0, 1, 2, 0, "copy")]))


def test_receiving_twice_is_named():
    moves = [(0, 0, 1, 0, "copy"), (1, 0, 1, 0, "copy"), (0, 1, 0, 1, "copy")]
    with pytest.raises(ScheduleError, match="rank 1 receives chunk 0 twice"):
        check(Schedule.from_moves("all_gather", 2, moves))


@given(data=st.data())
def test_every_single_lost_or_doubled_move_is_caught(data):
    algorithm = data.draw(
        st.sampled_from(["ring", "kangaring", "mesh", "rdh", "ring_by_dimension"])
    )
    topology = fabric.torus(2, 2, ranks_per_chip=2)
    schedule = fabric.plan(topology, "all_reduce", algorithm)
    rows = np.flatnonzero(schedule.op != Op.SETTLE)
    row = int(rows[data.draw(st.integers(0, len(rows) - 1))])
    broken = data.draw(st.sampled_from([without, doubled]))(schedule, row)
    raises(ScheduleError, "rank", check, broken)
    with pytest.raises(ScheduleError, match="rank"):  # and the executor refuses before it runs
        fabric.execute(broken, np.ones((8, 16), np.float32))


def test_a_partial_in_the_wrong_place_is_caught():
    schedule = ring4()
    items = schedule.item.copy()
    items[0] = (items[0] + 1) % 4
    raises(ScheduleError, "", check, replace(schedule, item=items, into=items))


@for_rows("moves",
    [(0, 0, 1, 0)], [("a", 0, 1, 0, "add")], [(0, 0, 1, 0, "sum")], [(0, True, 1, 0, "add")],
     [(-1, 0, 1, 0, "add")], [7],
)  # fmt: skip
def test_lines_that_are_no_moves(moves):
    with pytest.raises((ScheduleError, ValueError, TypeError)):
        Schedule.from_moves("reduce_scatter", 2, moves)


def test_ranks_out_of_range():
    with pytest.raises(ScheduleError, match="names rank 5 as its dst; there are 2"):
        check(Schedule.from_moves("reduce_scatter", 2, [(0, 0, 5, 0, "add")]))


def test_a_good_schedule_by_hand_runs():
    n = 4
    moves = [(s, r, (r + 1) % n, (r - 1 - s) % n, "add") for s in range(n - 1) for r in range(n)]
    mine = check(Schedule.from_moves("reduce_scatter", n, moves))
    data = np.arange(n * 8).reshape(n, 8)
    out = fabric.execute(mine, data)
    assert np.array_equal(np.concatenate(out), data.sum(axis=0))
    assert "step 0: rank 0 +→ rank 1, chunk 3" in str(mine)


@given(n=st.integers(0, 10**6), chunks=st.integers(1, 64), lanes=st.integers(1, 4))
def test_item_sizes_are_numpy_array_split(n, chunks, lanes):
    schedule = fabric.Moves().schedule(
        "all_reduce", "x", chunks, 1, owner=np.repeat(np.arange(chunks), lanes), lanes=lanes
    )
    ours = fabric.item_sizes(schedule, n).reshape(chunks, lanes)
    split = [len(c) for c in np.array_split(np.empty(n, bool), chunks)]
    assert ours.sum(axis=1).tolist() == split
    assert (ours.max(axis=1) - ours.min(axis=1)).max() <= 1
