"""Judges: a wider search for the best format, ml_dtypes for rounding, all values for survival."""

import itertools
import operator

import ml_dtypes
import numpy as np
import pytest

from tests.for_each import for_rows
from trainium_edu.exercises import number_formats as module
from trainium_edu.exercises.exercise import Status
from trainium_edu.numerics import all_values, configure


@for_rows("data, power", ("weights", 3), ("gradients", -9), ("activations", 9))
def test_no_format_further_away_is_better(data, power):
    best = module.ratios_kept(data, power)
    fits = {e: min(b for f, b in best if f == e) + 2 for e in range(1, 7)}
    for e in range(1, 7):
        top = max(v for (f, _), v in best.items() if f == e)
        for bias in (*range(fits[e] - 12, fits[e] - 2, 2), *range(fits[e] + 6, fits[e] + 12, 2)):
            assert module.ratio_kept(data, power, e, bias) <= top


def test_ml_dtypes_solves_the_rounding_exercise():
    def judge(words):
        return words.view(np.float32).astype(ml_dtypes.bfloat16).view(np.uint16)

    assert module.nearest_even(judge, "ab123").status is Status.PASSED


def test_the_list_of_all_values_solves_the_survival_exercise():
    for student in ("", "a", "b", "c"):
        numbers = module.survives.numbers(student)
        lowest, highest = numbers.lowest, numbers.highest
        field = int(np.ceil(np.log2(highest - lowest + 2)))
        fmt = configure(field, numbers.mantissa_bits, bias=1 - lowest, infinities=False, nan=False)
        held = set(all_values(fmt).tolist())

        def judge(x, _bits, _lowest, highest, held=held):
            return abs(x) < 2.0 ** (highest + 1) and x in held

        assert module.survives(judge, student).status is Status.PASSED


def test_every_mistake_shows_on_the_numbers_of_every_student():
    for i in range(50):
        numbers = module.survives.numbers(str(i))
        bits, low, high = numbers.mantissa_bits, numbers.lowest, numbers.highest
        right = [module.on_grid(x, bits, low, high) for x in numbers.candidates]
        assert 3 <= sum(right) <= 7
        for ends in ((-2000, high), (low, 2000)):
            assert right != [module.on_grid(x, bits, *ends) for x in numbers.candidates]


@for_rows(
    "answer, words",
    (lambda x: None, "not attempted"),
    (lambda x: (9, 3), "impossible split"),
    (lambda x: (4, 10**6), "out of FP32's range"),
    (lambda x: "e4m3", "two whole numbers"),
)
def test_odd_answers_to_best_format_are_told_apart(answer, words):
    result = module.best_format(answer, "ab123")
    told = f"{result.misconception} {result.feedback} {result.status}"
    assert words in told


@for_rows("student", "", "ab123", "x", "y")
def test_no_words_that_can_be_told_apart_are_shorter(student):
    """Judge: Kraft and McMillan's inequality, which all codes obey, over all lengths of words."""
    for counts in module.mean_bits.numbers(student).counts:
        if len(counts) > 6:
            continue
        lengths = itertools.product(range(len(counts)), repeat=len(counts))
        apart = (words for words in lengths if sum(2.0**-bits for bits in words) <= 1)
        best = min(sum(map(operator.mul, counts, words)) for words in apart)
        assert module.words_mean(counts) == pytest.approx(best / sum(counts))


@for_rows("value", float("nan"), True, "8", [8])
def test_what_is_no_number_of_bits_is_said_so(value):
    result = module.mean_bits(lambda counts: value, "ab123")
    assert "it should be a number of bits" in result.feedback


def test_numbers_of_numpy_are_numbers_of_bits():
    result = module.mean_bits(lambda counts: np.float64(module.words_mean(counts)), "ab123")
    assert result.status is Status.PASSED


@for_rows("value", float("nan"), float("inf"), 3.5, True, "8", [8])
def test_what_is_no_whole_number_is_said_so(value):
    assert "whole number" in module.counts_to(lambda bits: value, "ab123").feedback
