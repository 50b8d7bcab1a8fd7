"""nc_stream_shuffle against indexing of rows."""

import numpy as np
import pytest

from trainium_edu.specs.errors import NkiValidationError


@pytest.mark.parametrize("partitions", [32, 64, 128])
@pytest.mark.parametrize("dtype", ["float32", "bfloat16", "int8"])
def test_every_quarter_is_shuffled_alike(bench, rng, partitions, dtype):
    x = rng.integers(0, 99, (partitions, 6))
    mask = rng.integers(0, 32, 32).tolist()
    found = bench.issue(
        "nc_stream_shuffle", dst=bench.empty(partitions, 6, dtype=dtype),
        src=bench.tile(x, dtype), shuffle_mask=mask,
    )  # fmt: skip
    rows = [32 * (p // 32) + mask[p % 32] for p in range(partitions)]
    assert np.array_equal(found.astype(int), x[rows])


def test_255_leaves_a_partition_and_in_place_is_allowed(bench):
    x = np.arange(32, dtype=np.float32)[:, None]
    tile = bench.tile(x)
    found = bench.issue(
        "nc_stream_shuffle",
        dst=tile,
        src=tile,
        shuffle_mask=[31 - p for p in range(16)] + [255] * 16,
    )
    assert found[:, 0].tolist() == [*range(31, 15, -1), *range(16, 32)]


@pytest.mark.parametrize("start", [32, 64, 96])
def test_a_quarter_may_move_to_another(bench, start):
    dst = bench.core.sbuf((32, 1), start_partition=start)
    src = bench.tile(np.arange(32)[:, None])
    found = bench.issue("nc_stream_shuffle", dst=dst, src=src, shuffle_mask=list(range(32)))
    assert found[:, 0].tolist() == list(range(32))


@pytest.mark.parametrize(
    ("mask", "error", "match"),
    [
        (list(range(31)), TypeError, "list of 32"),
        (None, TypeError, "list of 32"),
        ([32, *range(31)], NkiValidationError, "0 to 31"),
        ([-1, *range(31)], NkiValidationError, "0 to 31"),
        ([1.0, *range(31)], TypeError, "an integer"),
    ],
)
def test_masks_that_are_none(bench, mask, error, match):
    x = bench.tile(np.ones((32, 2)))
    with pytest.raises(error, match=match):
        bench.issue("nc_stream_shuffle", dst=bench.empty(32, 2), src=x, shuffle_mask=mask)


def test_dtype_and_free_size_must_agree(bench):
    x, mask = bench.tile(np.ones((32, 2))), list(range(32))
    with pytest.raises(NkiValidationError, match="same dtype"):
        bench.issue("nc_stream_shuffle", dst=bench.empty(32, 2, dtype="bfloat16"), src=x,
                    shuffle_mask=mask)  # fmt: skip
    with pytest.raises(NkiValidationError, match=r"must be \[32, 2\]"):
        bench.issue("nc_stream_shuffle", dst=bench.empty(32, 3), src=x, shuffle_mask=mask)
