"""Errors under ``--auto-cast``.  Judges: NumPy with operands rounded by ml_dtypes, and spacings."""

import ml_dtypes
import numpy as np
import pytest

from tests.for_each import for_rows
from trainium_edu.training.auto_cast import CASES, auto_cast_errors, error_table

ERRORS = auto_cast_errors()


def test_matmult_rounds_what_products_read_and_none_rounds_nothing():
    draw = np.random.default_rng(0)
    x, w = (draw.normal(size=(256, 256)).astype(np.float32) for _ in range(2))
    narrow = [a.astype(ml_dtypes.bfloat16).astype(np.float64) for a in (x, w)]
    right = x.astype(float) @ w
    error = np.sqrt(((narrow[0] @ narrow[1] - right) ** 2).mean()) / right.std()
    assert ERRORS["a matrix product"]["matmult"] == pytest.approx(error, rel=1e-3)
    assert all(of["matmult"] == 0 for name, of in ERRORS.items() if name != "a matrix product")
    assert all(of["none"] == 0 for of in ERRORS.values())


def test_all_errs_by_half_a_spacing_and_loses_an_update_of_a_thousandth():
    """Uniform within half a spacing to either side: spacing / sqrt(12), for numbers of spread 1."""
    assert ERRORS["layer norm of numbers near 100"]["all"] == pytest.approx(0.5 / 12**0.5, rel=0.1)
    assert ERRORS["the change that an update makes"]["all"] > 1


@for_rows("type", "fp16", "tf32")
def test_ten_bits_of_mantissa_err_less_than_seven(type):
    for name, of in auto_cast_errors(type).items():
        assert of["all"] < ERRORS[name]["all"] / 4


def test_the_table_shows_every_case_in_per_cent():
    rows = error_table(ERRORS).splitlines()
    assert [row[:34].strip() for row in rows[1:]] == list(CASES)
    assert rows[1].split()[-2] == f"{100 * ERRORS['a matrix product']['all']:.2f}"
