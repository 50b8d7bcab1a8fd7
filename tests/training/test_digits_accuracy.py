"""The stored accuracies on 32 ranks.  Judges: training again; the claim that the project makes."""

import numpy as np
import pytest

from tests.for_each import for_rows
from tests.golden.make_digits_accuracy import ARMS_OF_JOB, LEARNING_RATES, accuracies
from trainium_edu.training import stored_digits_accuracy

LARGE, SMALL = LEARNING_RATES
BEFORE_LANDING = ((LARGE, "stochastic"), (SMALL, "nearest"))  #: the others before a release
ROWS = {(row.learning_rate, row.arm): row for row in stored_digits_accuracy()}


def test_the_table_has_every_arm_at_both_rates_over_ten_seeds():
    assert set(ROWS) == {(rate, arm) for rate in LEARNING_RATES for arm in ARMS_OF_JOB}
    assert all(len(row.accuracies) == 10 for row in ROWS.values())


@for_rows("arm", "fp32", "stochastic")
def test_fp32_and_bf16_with_random_bits_reach_97_percent(arm):
    assert ROWS[LARGE, arm].mean >= 97
    assert min(ROWS[LARGE, arm].accuracies) >= 97


def test_rounding_matters_at_the_small_rate_alone():
    means = [ROWS[LARGE, arm].mean for arm in ARMS_OF_JOB]
    assert max(means) - min(means) < 1
    nearest, fp32 = ROWS[SMALL, "nearest"], ROWS[SMALL, "fp32"]
    assert nearest.mean < fp32.mean - 5
    assert nearest.mean < fp32.mean - 2 * (nearest.spread + fp32.spread)
    for arm in ("stochastic", "master"):
        assert abs(ROWS[SMALL, arm].mean - fp32.mean) < 1.5


@pytest.mark.compiled
@pytest.mark.slow
@pytest.mark.parametrize(("rate", "arm"), [
    pytest.param(*row, marks=() if row in BEFORE_LANDING else pytest.mark.soak) for row in ROWS
], ids=str)  # fmt: skip
def test_the_first_seed_comes_back_within_a_few_images(rate, arm):
    """BLAS differs by processor; 2 % are seven of the 360 test images."""
    again = accuracies(rate, arm, seeds=[0])
    assert np.abs(again.accuracies[0] - ROWS[rate, arm].accuracies[0]) < 2
