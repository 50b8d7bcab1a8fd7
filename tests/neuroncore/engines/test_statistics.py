"""bn_stats and bn_aggr against NumPy's mean and variance."""

import numpy as np
import pytest


@pytest.mark.parametrize("n", [1, 2, 7, 511, 512])
def test_statistics_of_even_and_odd_elements(bench, rng, n):
    x = rng.standard_normal((4, n)).astype(np.float32)
    found = bench.issue("bn_stats", dst=(4, 6), data=x)
    for first in (0, 1):
        part = x[:, first::2].astype(np.float64)
        count = part.shape[1]
        mean = part.mean(axis=1) if count else np.zeros(4)
        spread = part.var(axis=1) * count if count else np.zeros(4)
        wanted = np.stack([np.full(4, count), mean, spread], axis=1)
        np.testing.assert_allclose(
            found[:, 3 * first : 3 * first + 3], wanted, rtol=1e-5, atol=1e-5
        )


@pytest.mark.parametrize("n", [6, 512, 1300])
def test_aggregate_of_pieces_is_the_mean_and_variance_of_all(bench, rng, n):
    x = (3 + rng.standard_normal((5, n))).astype(np.float32)
    tile, pieces = bench.tile(x), -(-n // 512)
    stats = bench.empty(5, 6 * pieces)
    for i in range(pieces):
        dst = stats.sliced(slice(0, 5), slice(6 * i, 6 * i + 6))
        part = tile.sliced(slice(0, 5), slice(512 * i, min(n, 512 * i + 512)))
        bench.core.bn_stats(dst=dst, data=part)
    found = bench.issue("bn_aggr", dst=(5, 2), data=stats)
    wide = x.astype(np.float64)
    np.testing.assert_allclose(found, np.stack([wide.mean(1), wide.var(1)], 1), rtol=2e-5)
