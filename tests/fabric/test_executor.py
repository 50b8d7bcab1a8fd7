"""Judges: sums written out by hand in the stated order, ml_dtypes, NumPy; bit flips by a seed."""

import ml_dtypes
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tests.for_each import for_each, for_rows, raises
from trainium_edu import fabric
from trainium_edu.fabric import FabricError, RanksDisagree

BF16 = ml_dtypes.bfloat16


def noisy(ranks, elements, seed=0, dtype=np.float32):
    """Numbers of very different size, so that every order of additions gives other bits."""
    rng = np.random.default_rng(seed)
    scale = 10.0 ** rng.integers(-6, 7, (ranks, elements))
    return (rng.standard_normal((ranks, elements)) * scale).astype(dtype)


def in_order(data, order):
    total = data[order[0]].copy()
    for rank in order[1:]:
        total = total + data[rank]
    return total


def stated_order_ring(data, chunk, n):
    return in_order(data, [(chunk + 1 + i) % n for i in range(n)])


def stated_order_kangaring(data, chunk, n):
    positions, home = n // 2, chunk // 2
    walk = [(home + 1 + i) % positions for i in range(positions)]
    return in_order(data, [r for p in walk for r in (2 * p, 2 * p + 1)])


def stated_order_mesh(data, chunk, n, per_chip=2):
    chips, home, local = n // per_chip, chunk // per_chip, chunk % per_chip
    total = in_order(data, [home * per_chip + (local + j) % per_chip for j in range(per_chip)])
    for chip in range(chips):
        if chip != home:
            duty = ((home - chip) % chips - 1) % per_chip
            ranks = [chip * per_chip + (duty + j) % per_chip for j in range(per_chip)]
            total = total + in_order(data, ranks)
    return total


def stated_order_halving(data, chunk, n):
    partial = {r: data[r] for r in range(n)}
    bit = 1
    while bit < n:
        partial = {r: partial[r] + partial[r ^ bit] for r in range(n)}
        bit *= 2
    return partial[chunk]


@for_rows(
    "algorithm, topology, options, order",
    ("ring", fabric.ring(7), {"cycles": 1}, stated_order_ring),
    ("ring", fabric.ring(3, ranks_per_chip=2), {"cycles": 1}, stated_order_ring),
    ("kangaring", fabric.ring(5, ranks_per_chip=2), {"cycles": 1}, stated_order_kangaring),
    ("mesh", fabric.torus(2, 3, ranks_per_chip=2), {}, stated_order_mesh),
    ("halving_doubling", fabric.ring(8), {"order": "plain"}, stated_order_halving),
)
def test_floats_are_added_in_the_stated_order(algorithm, topology, options, order):
    n = topology.ranks
    data = noisy(n, 5 * n + 2)
    out = fabric.run(topology, "all_reduce", data, algorithm, **options)
    columns = np.array_split(np.arange(data.shape[1]), n)
    for chunk, part in enumerate(columns):
        wanted = order(data[:, part], chunk, n)
        for rank in range(n):
            assert out[rank][part].tobytes() == wanted.tobytes()


def test_single_step_mesh_adds_in_rank_order_everywhere():
    data = noisy(6, 40)
    out = fabric.run(fabric.ring(6), "all_reduce", data, "mesh_single_step")
    assert all(x.tobytes() == in_order(data, range(6)).tobytes() for x in out)


SUMMING = [a for a, able in fabric.ALGORITHMS.items() if "all_reduce" in able]


@for_each("algorithm", [a for a in SUMMING if a != "hierarchical"])
@for_each("dtype", [np.float32, np.float64, np.float16, BF16, np.int8, np.uint16])
def test_ranks_agree_bit_for_bit_in_every_type(algorithm, dtype):
    data = noisy(8, 37).clip(-100, 100).astype(dtype)
    out = fabric.run(fabric.torus(2, 2, ranks_per_chip=2), "all_reduce", data, algorithm)
    assert all(x.dtype == dtype for x in out)
    fabric.check_agreement(out)


def test_integers_wrap_as_numpy_does():
    data = np.full((4, 8), 100, np.int8)
    out = fabric.run(fabric.ring(4), "all_reduce", data)
    assert out[0].tolist() == [np.int8(400 - 512).item()] * 8


def test_bf16_nearest_is_ml_dtypes_addition_in_ring_order():
    data = noisy(5, 23, dtype=BF16)
    out = fabric.run(fabric.ring(5), "all_reduce", data, cycles=1)
    for chunk, part in enumerate(np.array_split(np.arange(23), 5)):
        wanted = stated_order_ring(data[:, part], chunk, 5)  # ml_dtypes adds and rounds
        assert out[0][part].tobytes() == wanted.astype(BF16).tobytes()


@for_rows("algorithm", "ring", "mesh", "rdh", "recursive_doubling", "kangaring")
def test_stochastic_rounding_agrees_across_ranks_and_follows_the_seed(algorithm):
    data = noisy(8, 64, dtype=BF16)
    torus = fabric.torus(2, 2, ranks_per_chip=2)

    def sums(seed):
        out = fabric.run(torus, "all_reduce", data, algorithm, rounding="stochastic", seed=seed)
        return out[0].tobytes()

    assert sums(1) == sums(1)
    assert sums(1) != sums(2)


def test_stochastic_rounding_is_unbiased_where_nearest_stagnates():
    ranks, n = 64, 4096
    data = np.full((ranks, n), 2.0**-8, BF16)
    data[0] = 1.0  # adding 2^-8 to 1 is half a spacing: a tie, which goes to even
    near = fabric.run(fabric.ring(ranks), "all_reduce", data, "mesh_single_step")
    summed = fabric.run(
        fabric.ring(ranks), "all_reduce", data, "mesh_single_step", rounding="stochastic", seed=5
    )
    exact = 1 + 63 / 256
    assert near[0].astype(float).mean() == 1.0
    # each of 63 additions errs by at most half a spacing 2^-7, with standard deviation below it
    assert abs(summed[0].astype(float).mean() - exact) < 4 * np.sqrt(63 / n) * 2**-7


@for_rows("algorithm", "ring", "kangaring", "mesh", "rdh")
@for_each("seed", range(5))
def test_a_seeded_upset_trips_the_agreement_check(algorithm, seed):
    torus = fabric.torus(2, 2, ranks_per_chip=2)
    data = np.arange(8 * 24, dtype=np.int32).reshape(8, 24)
    with pytest.raises(RanksDisagree, match=r"rank .* holds .* at element"):
        fabric.run(torus, "all_reduce", data, algorithm, upset_seed=seed)


def test_memory_is_each_ranks_own():
    data = np.ones((4, 8), np.float32)
    before = data.copy()
    out = fabric.run(fabric.ring(4), "all_reduce", data)
    out[0][:] = -1
    assert np.array_equal(data, before)
    assert np.all(out[1] == 4)


@settings(deadline=None, max_examples=40)
@given(
    ranks=st.integers(2, 9),
    elements=st.integers(0, 50),
    algorithm=st.sampled_from(["ring", "mesh", "mesh_single_step", "ring_by_dimension"]),
)
def test_any_length_of_buffer_is_legal(ranks, elements, algorithm):
    data = np.random.default_rng(elements).integers(-9, 9, (ranks, elements))
    out = fabric.run(fabric.ring(ranks), "all_reduce", data, algorithm)
    assert all(np.array_equal(x, data.sum(axis=0)) for x in out)


def test_shape_is_kept():
    data = np.ones((4, 3, 5), np.float32)
    out = fabric.run(fabric.ring(4), "all_reduce", data)
    assert out[2].shape == (3, 5)


def test_states_show_every_step():
    schedule = fabric.plan(fabric.ring(4), "all_reduce", "ring", cycles=1)
    data = np.arange(16).reshape(4, 4)
    out, states = fabric.execute(schedule, data, keep_states=True)
    assert states.values.shape == (7, 4, 4, 1)
    assert np.array_equal(states.values[0, :, :, 0], data)
    assert np.array_equal(states.values[-1, 1, :, 0], out[1])
    # after step 0 rank 1 has added what rank 0 sent of chunk 3
    assert states.values[1, 1, 3, 0] == data[0, 3] + data[1, 3]


def test_unknown_rounding_and_too_much_memory():
    with pytest.raises(FabricError, match="rounding is 'up'"):
        fabric.run(fabric.ring(2), "all_reduce", np.ones((2, 4), BF16), rounding="up")
    with pytest.raises(FabricError, match="applies to BF16"):
        fabric.run(fabric.ring(2), "all_reduce", np.ones((2, 4), np.float32), rounding="stochastic")
    huge = np.broadcast_to(np.float32(1), (64, 20_000_000))
    raises(FabricError, "GiB", fabric.run, fabric.ring(64), "all_reduce", huge)
