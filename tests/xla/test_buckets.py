"""Judge: counting by hand."""

import pytest

from trainium_edu.xla.buckets import bill, bucket_of


def test_a_bill_counts_compiles_tokens_and_time():
    found = bill([3, 5, 5, 8], [5, 8, 100], step_ns=lambda n: 10 * n)
    assert (found.compiles, found.tokens, found.padded_tokens) == (2, 21, 23)
    assert found.steps_ns == 230
    assert found.waste == pytest.approx(2 / 23)
    assert bill([3, 5, 5, 8]).compiles == 3


def test_without_buckets_each_length_is_a_graph_and_nothing_is_padded():
    found = bill(range(1, 11))
    assert (found.compiles, found.waste, found.steps_ns) == (10, 0, None)


def test_a_sequence_longer_than_all_buckets_is_one_sentence():
    with pytest.raises(ValueError, match=r"a sequence has 9 tokens and the largest bucket 8; cut"):
        bucket_of(9, [4, 8])
