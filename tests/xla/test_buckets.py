"""Judge: every choice of buckets, tried one by one; and counting by hand."""

from itertools import combinations

import numpy as np
import pytest

from tests.for_each import for_each
from trainium_edu.xla.buckets import bill, bucket_of, choose_buckets, pad_to_bucket


def padded(lengths, buckets):
    return sum(min(b for b in buckets if b >= n) for n in lengths)


def least(lengths, count):
    """Try all sets of buckets."""
    u = sorted(set(lengths))
    return min(
        padded(lengths, (*chosen, u[-1]))
        for k in range(min(count, len(u)))
        for chosen in combinations(u[:-1], k)
    )


@for_each("seed", range(40))
def test_choose_buckets_wastes_as_little_as_the_best_of_all_choices(seed):
    rng = np.random.default_rng(seed)
    lengths = [int(n) for n in rng.integers(1, rng.integers(2, 30), rng.integers(1, 25))]
    for count in range(1, 6):
        found = choose_buckets(lengths, count)
        assert len(found) <= count
        assert found[-1] == max(lengths)
        assert list(found) == sorted(set(found))
        assert padded(lengths, found) == least(lengths, count)


def test_as_many_buckets_as_lengths_waste_nothing():
    assert choose_buckets([7, 3, 3, 9], 8) == (3, 7, 9)
    assert bill([7, 3, 3, 9], (3, 7, 9)).waste == 0


def test_a_bill_counts_compiles_tokens_and_time():
    found = bill([3, 5, 5, 8], [5, 8, 100], step_ns=lambda n: 10 * n)
    assert (found.compiles, found.tokens, found.padded_tokens) == (2, 21, 23)
    assert found.steps_ns == 230
    assert found.waste == pytest.approx(2 / 23)
    assert bill([3, 5, 5, 8]).compiles == 3


def test_without_buckets_each_length_is_a_graph_and_nothing_is_padded():
    found = bill(range(1, 11))
    assert (found.compiles, found.waste, found.steps_ns) == (10, 0, None)


def test_padding_reaches_the_next_bucket_along_the_axis():
    x = np.arange(6).reshape(2, 3)
    assert pad_to_bucket(x, [2, 4, 8]).tolist() == [[0, 1, 2, 0], [3, 4, 5, 0]]
    assert pad_to_bucket(x, [2, 4, 8], axis=0, value=-1).tolist() == x.tolist()
    assert pad_to_bucket(x, [3]).tolist() == x.tolist()


def test_a_sequence_longer_than_all_buckets_is_one_sentence():
    with pytest.raises(ValueError, match=r"a sequence has 9 tokens and the largest bucket 8; cut"):
        bucket_of(9, [4, 8])


@pytest.mark.parametrize(("lengths", "count"), [([], 2), ([3], 0), ([0, 3], 1)])
def test_senseless_arguments_are_one_sentence(lengths, count):
    with pytest.raises(ValueError, match=r"buckets for \d lengths: give one or more of each"):
        choose_buckets(lengths, count)


def test_a_thousand_lengths_are_chosen_for_at_once():
    lengths = np.random.default_rng(0).integers(1, 2000, 5000)
    found = choose_buckets(lengths.tolist(), 16)
    assert padded(lengths.tolist(), found) < 1.1 * lengths.sum()
