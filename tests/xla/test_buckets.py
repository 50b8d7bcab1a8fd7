"""Judge: counting by hand."""

import pytest

from trainium_edu.xla.buckets import bill


def test_a_bill_counts_compiles_tokens_and_time_with_buckets_and_without():
    found = bill([3, 5, 5, 8], [5, 8, 100], step_ns=lambda n: 10 * n)
    assert (found.compiles, found.tokens, found.padded_tokens) == (2, 21, 23)
    assert found.steps_ns == 230
    assert found.waste == pytest.approx(2 / 23)
    assert bill([3, 5, 5, 8]).compiles == 3
    found = bill(range(1, 11))
    assert (found.compiles, found.waste, found.steps_ns) == (10, 0, None)
