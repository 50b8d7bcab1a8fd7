"""Do replicas hold the same bits?  Judge: bits flipped at random."""

import numpy as np
import pytest

from tests.for_each import for_each, for_rows, raises
from trainium_edu.training.parallel.agreement import RanksDisagree, check_replicas, odd_ranks


def alike(replicas, shape, dtype=np.float32, seed=0):
    one = np.random.default_rng(seed).standard_normal(shape).astype(dtype)
    return np.ascontiguousarray(np.broadcast_to(one, (replicas, *shape)))


@for_rows("shape", (1,), (3,), (7, 11), (64, 33), (3000, 5))
@for_rows("replicas", 1, 2, 5, 32)
def test_any_one_bit_of_any_rank_is_found(replicas, shape):
    array = alike(replicas, shape)
    check_replicas([("w", array)])
    rng = np.random.default_rng(1)
    words = array.reshape(replicas, -1).view(np.uint32)
    for _ in range(10 if replicas > 1 else 0):
        rank, element = rng.integers(1, replicas), rng.integers(words.shape[1])
        words[rank, element] ^= np.uint32(1 << rng.integers(32))
        with pytest.raises(RanksDisagree, match=f"rank {rank} holds .* at element {element},"):
            check_replicas([("w", array)])
        words[rank, element] = words[0, element]


def test_the_sentence_names_parameter_rank_element_and_both_values():
    fine, other = alike(4, (8,)), alike(4, (6, 6))
    other[2, 1, 3], other[0, 1, 3] = 0.5, 0.25
    other[1:4:2, 1, 3] = 0.25
    with pytest.raises(RanksDisagree, match=r"parameter second: rank 2 holds 0.5 at element 9, "
                       "rank 0 holds 0.25 .*drift apart"):  # fmt: skip
        check_replicas([("first", fine), ("second", other)])


def test_bits_count_and_not_numbers():
    zeros, nans = np.zeros((2, 4), np.float32), np.full((2, 4), np.nan, np.float32)
    check_replicas([("nan", nans)])
    zeros[1, 2] = -0.0
    with pytest.raises(RanksDisagree, match=r"holds -0\.0 at element 2, rank 0 holds 0\.0"):
        check_replicas([("zero", zeros)])


@for_each("array", [
    alike(3, (5, 7)).astype(np.int8), alike(3, (5, 7)).swapaxes(1, 2), alike(3, (0,)),
    np.broadcast_to(np.float32([1, 2]), (9, 2)), alike(4, (9,), np.float64), alike(3, ()),
], ids=["bytes", "turned", "empty", "shared", "float64", "number"])  # fmt: skip
def test_other_layouts_and_dtypes(array):
    check_replicas([("w", array)])
    if array.size and array.flags.writeable:
        array[1:2].flat[-1] += 1
        raises(RanksDisagree, "rank 1", check_replicas, [("w", array)])


def test_the_odd_ones_are_the_few():
    first, second = alike(8, (5, 3)), alike(8, (4,))
    assert odd_ranks([first, second]) == []
    first[6, 1, 1] = np.nextafter(first[6, 1, 1], 9, dtype=np.float32)
    second[0, 2] = -0.0
    second[1:, 2] = 0.0
    assert odd_ranks([first, second]) == [0, 6]
