"""A number between its neighbours.  Judges: fractions, ``np.nextafter`` in the dtype, counting."""

from fractions import Fraction

import ml_dtypes
import numpy as np

from tests.for_each import for_each, for_rows, raises
from trainium_edu.numerics import draw_bits
from trainium_edu.numerics.gaps import gap, round_repeatedly

DTYPES = {"bf16": ml_dtypes.bfloat16, "fp16": np.float16}


@for_each("fmt", list(DTYPES))
def test_the_neighbours_are_those_of_the_dtype(fmt):
    rng = np.random.default_rng(0)
    for x in np.float32(2.0 ** rng.uniform(-10, 10, 300)):
        between = gap(x, fmt)
        near = np.asarray(x).astype(DTYPES[fmt])
        lower = near if float(near) <= x else np.nextafter(near, DTYPES[fmt](0))
        assert between.lower == float(lower)
        assert between.upper == float(np.nextafter(lower, DTYPES[fmt](np.inf)))
        above = Fraction(float(x)) - Fraction(between.lower)
        assert between.p_up == above / Fraction(between.spacing)
        assert between.nearest == float(near)


def test_a_number_of_the_format_stays():
    between = gap(1.5)
    assert (between.lower, between.p_up, round_repeatedly(between, 1000).up) == (1.5, 0, 0)


def test_ties_know_the_even_neighbour():
    assert (gap(1024.5, "fp16").nearest, gap(1025.5, "fp16").nearest) == (1024, 1026)
    assert gap(1024.5, "fp16").is_tie


@for_rows("fmt", "bf16", "fp16", "fp8_e4m3")
def test_the_remembered_bits_explain_where_each_trial_went(fmt):
    between = gap(1.37, fmt)
    trials = round_repeatedly(between, 10, seed=4)
    low = between.word & ((1 << between.dropped_bits) - 1)
    lead = (low << 16) >> between.dropped_bits  # the dropped bits as 16
    assert trials.random_bits == tuple(draw_bits(10, seed=4).tolist())
    assert [lead + word >= 65536 for word in trials.random_bits] == list(trials.went_up)
    assert trials.up == sum(trials.went_up)


def test_counts_follow_the_odds():
    between = gap(1 + 3 / 1024)
    n = 1_000_000
    expected, sd = 3 / 8 * n, (n * 3 / 8 * 5 / 8) ** 0.5
    assert abs(round_repeatedly(between, n).up - expected) < 4 * sd


def test_trials_do_not_depend_on_how_they_are_cut():
    between = gap(1 + 3 / 1024)
    long = round_repeatedly(between, 200_000, seed=1)
    assert long.up == 200_000 - long.down
    assert round_repeatedly(between, 10, seed=1).random_bits == long.random_bits


@for_rows("n", 0, -1, 10**9)
def test_impossible_counts_are_refused(n):
    raises(ValueError, "n is ", round_repeatedly, gap(1.1), n)
    raises(ValueError, "drops no bits", gap, 1.1, "fp32")
