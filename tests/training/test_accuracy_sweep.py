"""The stored table.  Judge: training again gives the same accuracies, exactly."""

import pytest

from trainium_edu.training import ARMS, SETTINGS, run_sweep, stored_sweep


def row(rate, arm):
    return next(r for r in stored_sweep() if (r.learning_rate, r.arm) == (rate, arm))


def test_the_table_has_every_arm_at_every_setting_over_ten_seeds():
    assert [(r.learning_rate, r.epochs) for r in stored_sweep()[::4]] == list(SETTINGS)
    assert [r.arm for r in stored_sweep()] == list(ARMS) * len(SETTINGS)
    assert all(len(r.accuracies) == 10 for r in stored_sweep())


@pytest.mark.compiled
@pytest.mark.parametrize("arm", ["master", "stochastic"])
def test_two_of_the_seeds_come_back_exactly(arm):
    [again] = run_sweep([(0.1, 60)], arms=[arm], seeds=[0, 1])
    assert again.accuracies == row(0.1, arm).accuracies[:2]


@pytest.mark.compiled
@pytest.mark.slow
@pytest.mark.parametrize("stored", stored_sweep(), ids=lambda r: f"{r.arm}-{r.learning_rate:g}")
def test_every_row_of_the_table_comes_back_exactly(stored):
    assert run_sweep([(stored.learning_rate, stored.epochs)], arms=[stored.arm]) == [stored]


def test_the_effect_is_there_at_small_rates_and_not_at_a_large_one():
    assert abs(row(0.1, "nearest").mean - row(0.1, "fp32").mean) < 1
    assert row(0.01, "nearest").mean < row(0.01, "fp32").mean - 3
    assert row(0.003, "nearest").mean < row(0.003, "fp32").mean - 25
    for rate, _ in SETTINGS:
        assert abs(row(rate, "stochastic").mean - row(rate, "fp32").mean) < 0.5
        assert abs(row(rate, "master").mean - row(rate, "fp32").mean) < 0.5
