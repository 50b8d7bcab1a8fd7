"""Judges: the variance of one rounding, f (1 - f); the geometric series 1/4 + 1/16 + ... = 1/3."""

import numpy as np
import pytest

from trainium_edu.numerics.two_laws import doublings, walks


def test_each_rounding_adds_its_own_variance_to_the_mean_square():
    found = walks(1 + 3 / 1024, runs=4000)
    assert found.one == 3 / 8 * 5 / 8
    n = np.arange(1, 65)
    np.testing.assert_allclose(found.mean_square, n * found.one, rtol=0.1)
    assert np.abs(found.runs.mean(axis=1)).max() < 4 * np.sqrt(64 * found.one / 4000)
    np.testing.assert_array_equal(found.nearest, -n * 3 / 8)
    assert set(np.unique(found.runs[0])) == {-3 / 8, 5 / 8}


@pytest.mark.compiled  # 12.7 million additions take minutes where Numba is switched off
def test_the_scatter_of_a_sum_that_doubles_settles_at_the_root_of_a_third_epsilon():
    found = doublings(count=5, runs=400)
    assert found.sums.tolist() == [128, 256, 512, 1024, 2048, 4096]
    assert found.gaps.tolist() == [1, 2, 4, 8, 16]
    covered = [sum(0.25**j for j in range(1, k + 1)) for k in range(6)]
    np.testing.assert_allclose(found.covered, covered)
    assert found.saturation == pytest.approx(np.sqrt(2**-7 / 3))
    law = np.sqrt(found.covered * 2**-7)  # a term that is small beside the gap adds term * gap
    relative = found.sd / found.sums
    np.testing.assert_allclose(relative[2:], law[2:], rtol=0.04)
    assert relative[1] == pytest.approx(law[1] * np.sqrt(7 / 8))  # (gap - term) in the first
    np.testing.assert_allclose(found.scatter[1:], found.sd[1:], rtol=0.12)
    assert (found.nearest == 128).all()
