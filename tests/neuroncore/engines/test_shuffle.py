"""nc_stream_shuffle against indexing of rows."""

import numpy as np
import pytest

from trainium_edu.neuroncore.recording.dtypes import DTYPES


@pytest.mark.parametrize("partitions", [32, 64, 128])
@pytest.mark.parametrize("dtype", ["float32", "bfloat16", "int8"])
def test_every_quarter_is_shuffled_alike(bench, rng, partitions, dtype):
    x = rng.integers(0, 99, (partitions, 6)).astype(DTYPES[dtype].storage)
    mask = rng.integers(0, 32, 32).tolist()
    found = bench.issue("nc_stream_shuffle", dst=(partitions, 6, dtype), src=x, shuffle_mask=mask)
    rows = [32 * (p // 32) + mask[p % 32] for p in range(partitions)]
    assert np.array_equal(found, x[rows])


def test_255_leaves_a_partition_and_in_place_is_allowed(bench):
    tile = bench.tile(np.arange(32, dtype=np.float32)[:, None])
    mask = [31 - p for p in range(16)] + [255] * 16
    found = bench.issue("nc_stream_shuffle", dst=tile, src=tile, shuffle_mask=mask)
    assert found[:, 0].tolist() == [*range(31, 15, -1), *range(16, 32)]


@pytest.mark.parametrize("start", [32, 64, 96])
def test_a_quarter_may_move_to_another(bench, start):
    dst = bench.core.sbuf((32, 1), start_partition=start)
    src = bench.tile(np.arange(32)[:, None])
    found = bench.issue("nc_stream_shuffle", dst=dst, src=src, shuffle_mask=list(range(32)))
    assert found[:, 0].tolist() == list(range(32))
