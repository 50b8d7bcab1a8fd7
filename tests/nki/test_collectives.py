"""Collectives between ranks.  Judges: NumPy sums, concatenations and shifts; ``fabric``'s own bill
for the time."""

import ml_dtypes
import numpy as np
import pytest

import trainium_edu.nki as nki
import trainium_edu.nki.isa as nisa
import trainium_edu.nki.language as nl
from tests.for_each import for_each, for_rows, raises
from tests.nki.cases import stored
from tests.texts import table_beside
from trainium_edu import fabric
from trainium_edu.nki import collectives as ncc
from trainium_edu.specs import NkiValidationError

EVERYONE = ncc.ReplicaGroup([[0, 1, 2, 3]])


def inputs(ranks, shape, dtype=np.float32):
    draw = np.random.default_rng(1)
    return [draw.integers(-8, 8, shape).astype(dtype) for _ in range(ranks)]


def outputs(kernel, arrays, *rest):
    return [run.outputs for run in nki.run_ranks(kernel, [(a, *rest) for a in arrays])]


def in_hbm(collective):
    """Make a kernel that calls one collective on HBM tensors."""

    @nki.jit
    def kernel(x, shape, groups, options):
        out = nl.ndarray(shape, x.dtype, buffer=nl.shared_hbm)
        collective(srcs=[x], dsts=[out], replica_group=groups, **options)
        return out

    return kernel


@for_rows("dtype", np.float32, ml_dtypes.bfloat16, np.int32, np.float16)
@for_rows("op, judge", (nl.add, np.sum), (nl.maximum, np.max), (nl.minimum, np.min))
def test_all_reduce(dtype, op, judge):
    arrays = inputs(4, (6, 10), dtype)
    got = outputs(in_hbm(ncc.all_reduce), arrays, (6, 10), EVERYONE, {"op": op})
    expected = judge(np.stack([a.astype(np.float32) for a in arrays]), axis=0)
    for each in got:
        np.testing.assert_array_equal(each.astype(np.float32), expected)


def test_groups_are_collectives_of_their_own():
    arrays = inputs(4, (2, 3))
    pairs = ncc.ReplicaGroup([[0, 2], [1, 3]])
    got = outputs(in_hbm(ncc.all_reduce), arrays, (2, 3), pairs, {"op": nl.add})
    for rank in range(4):
        np.testing.assert_array_equal(got[rank], arrays[rank % 2] + arrays[rank % 2 + 2])


def test_reduce_scatter_gather_and_all_to_all():
    arrays = inputs(4, (8, 3))
    total = np.sum(arrays, axis=0)
    got = outputs(
        in_hbm(ncc.reduce_scatter), arrays, (2, 3), EVERYONE, {"op": nl.add, "collective_dim": 0}
    )
    for rank in range(4):
        np.testing.assert_array_equal(got[rank], total[2 * rank : 2 * rank + 2])
    for each in outputs(in_hbm(ncc.all_gather), arrays, (32, 3), EVERYONE, {"collective_dim": 0}):
        np.testing.assert_array_equal(each, np.concatenate(arrays))
    got = outputs(in_hbm(ncc.all_to_all), arrays, (8, 3), EVERYONE, {"collective_dim": 0})
    for rank in range(4):
        expected = np.concatenate([a[2 * rank : 2 * rank + 2] for a in arrays])
        np.testing.assert_array_equal(got[rank], expected)


@nki.jit
def gather_tiles(x, groups):
    tile, wide = nl.load(x), nl.ndarray((x.shape[0], 4 * x.shape[1]), x.dtype, buffer=nl.sbuf)
    ncc.all_gather(srcs=[tile], dsts=[wide], replica_group=groups, collective_dim=1)
    return stored(wide, x.dtype)


def test_tiles_in_sbuf_are_gathered_along_the_free_axis():
    arrays = inputs(4, (16, 5))
    for each in outputs(gather_tiles, arrays, EVERYONE):
        np.testing.assert_array_equal(each, np.concatenate(arrays, axis=1))


@nki.jit
def permute(x, pairs):
    out = nl.ndarray(x.shape, x.dtype, buffer=nl.shared_hbm)
    nl.store(out, nl.zeros(x.shape, x.dtype, buffer=nl.sbuf))
    ncc.collective_permute([x], [out], source_target_pairs=pairs)
    return out


def test_permute_by_pairs():
    arrays = inputs(3, (2, 2))
    got = outputs(permute, arrays, [(0, 2), (2, 0)])
    np.testing.assert_array_equal(got, [arrays[2], np.zeros((2, 2)), arrays[0]])


@nki.jit
def ring_sum(x, groups):
    """Sum around the ring: each turn passes on what came and adds it."""
    out = nl.ndarray(x.shape, x.dtype, buffer=nl.shared_hbm)
    sources = nl.ndarray((len(groups.replica_groups[0]), 1), nl.int32, buffer=nl.shared_hbm)
    total, passing = nl.load(x), x
    for turn in range(len(groups.replica_groups[0])):
        who = ncc.collective_permute_implicit_current_processing_rank_id(turn, groups)
        number = nl.ndarray((1, 1), nl.int32, buffer=nl.sbuf)
        nisa.register_store(number, who)
        nl.store(sources[turn : turn + 1], number)
        arrived = nl.ndarray(x.shape, x.dtype, buffer=nl.hbm)
        ncc.collective_permute_implicit([[passing]], [[arrived]], groups)
        passing = arrived
        if turn + 1 < len(groups.replica_groups[0]):
            total = nl.add(total, nl.load(arrived))
    nl.store(out, total)
    return out, sources


def test_a_ring_by_hand():
    arrays = inputs(4, (4, 4))
    for rank, (total, sources) in enumerate(outputs(ring_sum, arrays, EVERYONE)):
        np.testing.assert_array_equal(total, np.sum(arrays, axis=0))
        assert sources.reshape(-1).tolist() == [(rank - turn) % 4 for turn in range(4)]


@nki.jit
def permute_reduced(x, groups):
    out = nl.ndarray(x.shape, x.dtype, buffer=nl.shared_hbm)
    ncc.collective_permute_implicit_reduce([[x]], [[x]], [[out]], groups, nl.add)
    return out


def test_implicit_permute_with_a_reduction():
    arrays = inputs(4, (4, 4))
    got = outputs(permute_reduced, arrays, EVERYONE)
    for rank in range(4):
        np.testing.assert_array_equal(got[rank], 2 * arrays[rank - 1])


@nki.jit
def exchange(x, metadata, groups):
    out = nl.ndarray((2, 6), x.dtype, buffer=nl.shared_hbm)
    nl.store(out, nl.zeros((2, 6), x.dtype, buffer=nl.sbuf))
    ncc.all_to_all_v([x], [out], groups, metadata)
    return out


def test_variable_lengths_land_in_equal_slots_and_report_their_counts():
    x = [np.arange(8, dtype=np.float32), 10 + np.arange(8, dtype=np.float32)]
    tables = [np.uint32([[2, 3], [0, 4], [0, 0]]), np.uint32([[6, 0], [1, 0], [0, 0]])]
    groups = ncc.ReplicaGroup([[0, 1]])
    runs = nki.run_ranks(exchange, [(x[r], tables[r], groups) for r in range(2)])
    np.testing.assert_array_equal(runs[0].outputs[0], [0, 1, 0, 0, 0, 0])
    np.testing.assert_array_equal(runs[0].outputs[1], x[1][1:7])
    np.testing.assert_array_equal(runs[1].outputs[0], [4, 5, 6, 0, 0, 0])
    assert [t[2].tolist() for t in tables] == [[2, 6], [3, 0]]


def test_rank_id_and_a_group_of_one():
    @nki.jit
    def who(x):
        out = nl.ndarray(x.shape, x.dtype, buffer=nl.shared_hbm)
        ncc.all_reduce([x], [out], ncc.ReplicaGroup([[0]]), nl.add)
        assert int(ncc.rank_id()) == 0
        return out

    x = np.ones((2, 2), np.float32)
    np.testing.assert_array_equal(nki.simulate(who)(x), x)


def test_time_is_the_bill_of_fabric():
    x = inputs(4, (128, 2048))
    run = nki.run_ranks(
        in_hbm(ncc.all_reduce), [(a, (128, 2048), EVERYONE, {"op": nl.add}) for a in x]
    )
    topology = fabric.group(4)
    best = fabric.choose(topology, "all_reduce", x[0].nbytes)
    bill = fabric.account(fabric.plan(topology, "all_reduce", best), topology, x[0].nbytes)
    assert run[0].timeline.makespan_ns == pytest.approx(bill.total_ns, rel=1e-9)
    (instruction,) = run[0].program.instructions
    assert (instruction.name, dict(instruction.options)["algorithm"]) == ("all_reduce", best)


PAIR = ncc.ReplicaGroup([[0, 1]])
SUM = {"op": nl.add}
REFUSED = table_beside(__file__, "collectives.toml")


def with_two(call, shape=None, given=(4, 4), place=nl.hbm):
    """Evaluate a call on two ranks, x given to each and y beside it in the same memory."""

    def kernel(x):
        if place is nl.sbuf:
            x = nl.load(x)
        eval(call, globals() | {"x": x, "y": nl.ndarray(shape or x.shape, x.dtype, buffer=place)})

    return nki.run_ranks(kernel, [(x,) for x in inputs(2, given)])


@for_each("row", REFUSED["in_hbm"])
def test_limits_in_hbm(row):
    call, words, *shapes = row
    raises(NkiValidationError, words, with_two, call, *shapes)


@for_each("call, words, shape, given", REFUSED["in_sbuf"])
def test_limits_of_tiles_in_sbuf(call, words, shape, given):
    raises(NkiValidationError, words, with_two, call, shape, given, nl.sbuf)


@for_each("call", REFUSED["wrong"])
def test_what_is_of_the_wrong_kind_is_a_type_error(call):
    raises(TypeError, r" is | holds | are |lists of ranks", with_two, call)


def test_a_group_on_all_devices_of_a_node_has_four_channels():
    @nki.jit
    def shift(x, group, channels):
        out = [nl.ndarray(x.shape, x.dtype, buffer=nl.shared_hbm) for _ in range(channels)]
        ncc.collective_permute_implicit(
            [[x]] * channels, [[o] for o in out], group, list(range(channels))
        )
        return out[-1]

    devices = ncc.ReplicaGroup([list(range(0, 32, 2)), list(range(1, 32, 2))])
    arrays = inputs(32, (1, 2))
    np.testing.assert_array_equal(outputs(shift, arrays, devices, 4), np.roll(arrays, 2, axis=0))
    raises(NkiValidationError, "up to 4 of them", outputs, shift, arrays, devices, 5)


@for_rows(
    "table, options, words",
    (np.uint32([[9, 0], [0, 0], [0, 0]]), {}, "go beyond src"),
    (np.uint32([[7, 0], [0, 0], [0, 0]]), {}, "a slot of dst has 6"),
    (np.int32([[2, 2], [0, 2], [0, 0]]), {}, "it must be uint32"),
    (np.uint32([2, 2, 0, 2, 0, 0]), {}, "3 rows of 2"),
    (np.zeros((4, 2), np.uint32), {}, "3 rows of 2"),
    (np.zeros((4, 2), np.uint32), {"has_rdispls": True}, "NeuronCore-v4"),
    (np.zeros((3, 2), np.uint32), {"priority": 2}, "NeuronCore-v4"),
    (np.zeros((3, 2), np.uint32), {"size": 7}, "equal slots"),
)
def test_limits_of_variable_lengths(table, options, words):
    size = options.pop("size", 12)

    def kernel(x, metadata):
        out = nl.ndarray((1, size), x.dtype, buffer=nl.hbm)
        ncc.all_to_all_v([x], [out], PAIR, metadata, **options)

    x = np.arange(8, dtype=np.float32)
    raises(NkiValidationError, words, nki.run_ranks, kernel, [(x, table), (x, table.copy())])


def test_ranks_bring_the_same_shapes():
    def kernel(x, rows):
        ncc.all_reduce([x[0:rows]], [nl.ndarray((rows, 4), x.dtype, buffer=nl.hbm)], PAIR, nl.add)

    x = np.ones((4, 4), np.float32)
    raises(NkiValidationError, "all ranks bring the same", nki.run_ranks, kernel, [(x, 2), (x, 3)])


def test_integers_are_reduced_exactly():
    """Beyond 2**24, where FP32 would round."""
    x = np.full((2, 2), 2**24 + 1, np.int32)
    for run in nki.run_ranks(permute_reduced, [(x, PAIR), (x, PAIR)]):
        np.testing.assert_array_equal(run.outputs, 2 * x)
    for each in outputs(in_hbm(ncc.all_reduce), [x, x], (2, 2), PAIR, SUM):
        np.testing.assert_array_equal(each, 2 * x)


def test_groups_name_ranks_that_run():
    with pytest.raises(NkiValidationError, match="2 ranks run here"):
        outputs(in_hbm(ncc.all_reduce), inputs(2, (4, 4)), (4, 4), EVERYONE, {"op": nl.add})
    raises(NkiValidationError, "each rank once", ncc.ReplicaGroup, [[0, 1], [1]])
    raises(TypeError, "lists of ranks", ncc.ReplicaGroup, "ab")


def test_ranks_that_wait_for_each_other_are_told():
    @nki.jit
    def lonely(x, is_first):
        out = nl.ndarray(x.shape, x.dtype, buffer=nl.shared_hbm)
        if is_first:
            ncc.all_reduce([x], [out], ncc.ReplicaGroup([[0, 1]]), nl.add)
        return out

    x = np.ones((2, 2), np.float32)
    with pytest.raises(NkiValidationError, match="wait for each other forever"):
        nki.run_ranks(lonely, [(x, True), (x, False)])


@for_rows(
    "arguments, error, words",
    ([], TypeError, "a tuple of arguments for each rank"),
    (3, TypeError, "a tuple of arguments for each rank"),
    ([np.ones(2)], TypeError, "it must be a tuple"),
    ([()], TypeError, "missing a required argument"),
    ([(1, 2)], TypeError, "too many positional"),
    ([(0,)] * 65, NkiValidationError, "at most 64"),
)
def test_ranks_take_a_tuple_each(arguments, error, words):
    raises(error, words, nki.run_ranks, lambda x: None, arguments)
