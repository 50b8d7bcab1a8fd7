"""Judges: `cast` step by step, closed forms, fractions, the published figures of the quick test."""

import os
from fractions import Fraction
from math import inf, nan, sqrt

import ml_dtypes
import numpy as np
import pytest

from tests.for_each import for_each
from trainium_edu import numerics
from trainium_edu.numerics import ROUNDINGS, configure, dot, error_growth, exact_law, running_sum

INTERPRETED = os.environ.get("NUMBA_DISABLE_JIT") == "1"
FEW = 6 if INTERPRETED else 60


@for_each("n_random_bits", [5, 16, 20])
@for_each("rounding", ROUNDINGS)
@for_each(
    "fmt",
    ["fp16", "bf16", "tf32", "fp32", "fp8_e5m2", "fp8_e4m3", "fp8_e4m3fn",
     configure(4, 3, bias=3, infinities=False, nan=False), configure(0, 7, infinities=False)],
    ids=str,
)  # fmt: skip
def test_the_loop_is_cast_step_by_step(fmt, rounding, n_random_bits):
    """Bit for bit, overflow and infinities included."""
    rng = np.random.default_rng(0)
    terms = rng.standard_normal((FEW, 150)) * 10.0 ** rng.integers(-5, 5, (1, 150))
    terms = terms.astype(np.float32)
    if rounding == "nearest" and getattr(fmt, "has_nan", True):
        terms[3, 7], terms[4, 7], terms[2, 8] = inf, -inf, nan
    state, rows = np.zeros(150, np.float32), []
    for i, row in enumerate(terms):
        with np.errstate(invalid="ignore"):
            state = numerics.round_to(
                state + row, fmt, rounding, seed=5, step=7 + i, n_random_bits=n_random_bits
            )
        rows.append(state)
    got = running_sum(terms, fmt, rounding, seed=5, step=7, n_random_bits=n_random_bits).values
    judge = np.array(rows)
    nans = np.isnan(judge)
    np.testing.assert_array_equal(np.isnan(got), nans)
    np.testing.assert_array_equal(got.view(np.uint32)[~nans], judge.view(np.uint32)[~nans])


def test_nearest_sums_equal_ml_dtypes_adding_in_a_plain_loop():
    terms = np.random.default_rng(1).uniform(0, 1, 300).astype(np.float32)
    total = np.float32(0)
    judge = []
    for term in terms:
        total = np.float32((total + term).astype(ml_dtypes.bfloat16))
        judge.append(total)
    assert running_sum(terms, "bf16").values[:, 0].tolist() == [float(v) for v in judge]


def test_cutting_the_sum_into_pieces_changes_nothing(monkeypatch):
    terms = np.full(500 if not INTERPRETED else 60, 0.3)
    whole = running_sum(terms, "bf16", "stochastic", replicas=5, every=7, seed=3)
    monkeypatch.setattr("trainium_edu.numerics.accumulation.ROUNDINGS_PER_CALL", 1)
    pieces = running_sum(terms, "bf16", "stochastic", replicas=5, every=7, seed=3)
    np.testing.assert_array_equal(whole.values, pieces.values)
    np.testing.assert_array_equal(whole.terms_added, pieces.terms_added)


def test_every_keeps_the_right_rows():
    full = running_sum(np.ones(25), "fp16").values
    some = running_sum(np.ones(25), "fp16", every=10)
    assert some.terms_added.tolist() == [10, 20, 25]
    assert some.values[:, 0].tolist() == [10, 20, 25]
    assert full[:, 0].tolist() == list(range(1, 26))
    assert running_sum(np.ones(3), "fp16", every=10).values.tolist() == [[3]]


def test_replicas_are_independent_and_replayable():
    run = running_sum(np.full(40, 0.3), "bf16", "stochastic", start=64, replicas=30, seed=1)
    again = running_sum(np.full(40, 0.3), "bf16", "stochastic", start=64, replicas=10, seed=1)
    np.testing.assert_array_equal(run.values[:, :10], again.values)
    assert len(set(run.final.tolist())) > 3
    assert repr(run) == "Trajectory(40 steps kept of 30 replicas)"


# --- The documented quick test: 1024 + 2048 x 0.5 in FP16 ---


def test_nearest_stays_at_1024():
    assert running_sum(np.full(2048, 0.5), "fp16", start=1024).final == [1024]
    assert running_sum(np.full(2048, 0.5), "bf16", start=1024).final == [1024]


def test_the_exact_law_of_the_quick_test():
    """Figures computed independently when the facts were gathered."""
    law = exact_law(1024, 0.5, 2048, "fp16")
    assert law.mean == pytest.approx(2048, abs=1e-9)
    assert law.sd == pytest.approx(22.826, abs=5e-4)
    assert [law.quantile(q) for q in (0.025, 0.5, 0.975)] == [2004, 2048, 2094]
    assert [law.quantile(q) for q in (0.0005, 0.9995)] == [1974, 2126]
    assert law.chance(2056) == pytest.approx(0.0323, abs=5e-5)
    assert law.chance(2056, inf) == pytest.approx(0.371, abs=5e-4)
    assert (law.values[law.values > 2048] % 2 == 0).all()
    stopped = exact_law(1024, 0.5, 2048, "fp16", stop_at=2048)
    assert 1 - stopped.chance(2048, inf) == pytest.approx(0.491, abs=5e-4)
    assert law.probabilities.sum() == pytest.approx(1, abs=1e-12)


def test_two_bits_are_enough_for_the_quick_test():
    """Its fractions are 1/2 and 1/4; one bit is not enough for the second."""
    ideal = exact_law(1024, 0.5, 2048, "fp16")
    two, one = (exact_law(1024, 0.5, 2048, "fp16", n_random_bits=k) for k in (2, 1))
    np.testing.assert_array_equal(two.probabilities, ideal.probabilities)
    assert one.mean < 2047


def test_the_law_of_few_steps_by_fractions():
    """All paths by exact arithmetic."""
    chances = {Fraction(1): Fraction(1)}
    for _ in range(6):
        after = {}
        for value, p in chances.items():
            target = value + Fraction(3, 64)
            low, high = (Fraction(v) for v in numerics.neighbours(float(target), "fp8_e4m3"))
            up = (target - low) / (high - low) if high != low else Fraction(0)
            after[low] = after.get(low, 0) + p * (1 - up)
            after[high] = after.get(high, 0) + p * up
        chances = {v: p for v, p in after.items() if p}
    law = exact_law(1, 3 / 64, 6, "fp8_e4m3")
    assert law.values.tolist() == [float(v) for v in sorted(chances)]
    assert law.probabilities == pytest.approx([float(chances[v]) for v in sorted(chances)])


@pytest.mark.compiled
def test_many_runs_follow_the_exact_law():
    """Mean within 4 standard errors, spread within 4 of its own, every value possible."""
    law, runs = exact_law(1024, 0.5, 2048, "fp16"), 4000
    final = running_sum(
        np.full(2048, 0.5), "fp16", "stochastic", start=1024, replicas=runs, every=2048, seed=11
    ).final.astype(float)
    assert abs(final.mean() - law.mean) < 4 * law.sd / sqrt(runs)
    assert abs(final.std() / law.sd - 1) < 4 / sqrt(2 * runs)
    assert set(final) <= set(law.values)
    shares = np.array([(final <= law.quantile(q)).mean() for q in (0.1, 0.5, 0.9)])
    assert (np.abs(shares - [0.1, 0.5, 0.9]) < 0.05).all()


def test_negative_terms_have_the_mirrored_law():
    law, mirror = exact_law(100, 0.3, 50, "bf16"), exact_law(-100, -0.3, 50, "bf16")
    np.testing.assert_array_equal(mirror.values, -law.values[::-1])
    assert mirror.probabilities == pytest.approx(law.probabilities[::-1], abs=1e-15)
    cut = exact_law(-100, -0.3, 50, "bf16", n_random_bits=3)
    assert cut.mean > mirror.mean  # fewer bits pull towards zero, from either side


def test_no_terms_leave_the_start():
    law = exact_law(3, 0.1, 0, "bf16")
    assert (law.values.tolist(), law.probabilities.tolist(), law.sd) == ([3.0], [1.0], 0.0)


# --- Error growth ---


@pytest.mark.compiled
def test_a_positive_sum_stagnates_and_stochastic_rounding_settles_near_root_epsilon():
    """Closed form sqrt(epsilon / 3) at powers of two; nearest stops at 256 in BF16."""
    n = 1 << 15
    terms = np.full(n, 0.5)
    nearest = running_sum(terms, "bf16", every=n).final[0]
    assert nearest == 128  # 0.5 is half of the spacing 1 there, and 128 is even
    runs = running_sum(terms, "bf16", "stochastic", replicas=400, every=n, seed=2).final
    relative = runs.std() / (n / 2)
    theory = sqrt(2.0**-7 / 3)
    assert numerics.predicted_sum_sd(terms, "bf16")[-1] / (n / 2) == pytest.approx(theory, rel=0.03)
    assert relative == pytest.approx(theory, rel=4 / sqrt(2 * 400) + 0.03)
    assert abs(runs.mean() / (n / 2) - 1) < 4 * theory / sqrt(400)


def test_predicted_sd_is_the_binomial_one_on_an_even_grid():
    """Closed form: n steps of variance p (1 - p), as long as the spacing stays 1."""
    terms = np.full(100, 0.25)
    predicted = numerics.predicted_sum_sd(terms, "fp16", start=1024)
    assert predicted == pytest.approx(np.sqrt(np.arange(1, 101) * 0.25 * 0.75))
    law = exact_law(1024, 0.25, 100, "fp16")
    assert law.sd == pytest.approx(predicted[-1])


@pytest.mark.compiled
def test_a_shared_bias_grows_as_n_and_random_errors_as_root_n():
    n, replicas = 4096, 300
    values = np.full(n, 1 + 0.3 * 2.0**-7)
    bias, sd = numerics.predicted_error_growth(values, "bf16")
    grown = error_growth(values, "bf16")[:, 0]
    np.testing.assert_array_equal(grown, bias)
    assert bias[-1] == pytest.approx(-n * 0.3 * 2.0**-7, rel=1e-4)
    assert bias[-1] / bias[n // 4 - 1] == pytest.approx(4)
    random = error_growth(values, "bf16", "stochastic", replicas=replicas, seed=4)
    assert sd[-1] == pytest.approx(2.0**-7 * sqrt(n * 0.3 * 0.7), rel=1e-3)
    assert sd[-1] / sd[n // 4 - 1] == pytest.approx(2)
    assert random[-1].std() == pytest.approx(sd[-1], rel=4 / sqrt(2 * replicas))
    assert abs(random[-1].mean()) < 4 * sd[-1] / sqrt(replicas)


# --- Dot products ---


def test_a_dot_product_is_the_sum_of_its_fp32_products():
    rng = np.random.default_rng(5)
    a, b = rng.standard_normal((2, 40)).astype(np.float32)
    one = dot(a, b, "bf16", "stochastic", replicas=3, seed=6).values
    np.testing.assert_array_equal(
        one, running_sum(a * b, "bf16", "stochastic", replicas=3, seed=6).values
    )
    wide = dot(a, b, "fp32").final[0]
    assert wide == pytest.approx(float(a.astype(float) @ b.astype(float)), rel=1e-5)


def test_rounded_products_are_rounded_by_cast():
    rng = np.random.default_rng(6)
    a, b = rng.standard_normal((2, 20)).astype(np.float32)
    got = dot(a, b, "fp8_e4m3", round_products=True).values[:, 0]
    products = numerics.cast(a * b, "fp8_e4m3").astype(np.float32)
    np.testing.assert_array_equal(got, running_sum(products, "fp8_e4m3").values[:, 0])
    random = dot(a, b, "bf16", "stochastic", round_products=True, replicas=50, seed=1)
    assert len(set(random.values[0].tolist())) == 2  # already the first product differs
