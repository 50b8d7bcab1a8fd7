"""The curves of activations in FP32.  Judge: SciPy in float64."""

import numpy as np
import pytest
from scipy import special

from tests.for_each import for_each, for_rows
from trainium_edu.xla.operations import curves

X = np.linspace(-9, 9, 200_001).astype(np.float32)
WIDE = X.astype(np.float64)
DENSITY = np.exp(-WIDE * WIDE / 2) / np.sqrt(2 * np.pi)
INNER = np.sqrt(2 / np.pi) * (WIDE + 0.044715 * WIDE**3)
CURVES = {
    "erf": special.erf(WIDE),
    "gelu": WIDE * special.ndtr(WIDE),
    "gelu_slope": special.ndtr(WIDE) + WIDE * DENSITY,
    "gelu_tanh": WIDE * (1 + np.tanh(INNER)) / 2,
    "silu": WIDE * special.expit(WIDE),
}
#: limits at minus and plus infinity
ENDS = {"erf": (-1, 1), "gelu": (0, np.inf), "gelu_slope": (0, 1), "gelu_tanh": (0, np.inf),
        "silu": (0, np.inf)}  # fmt: skip


@for_each("name", CURVES)
def test_curves_are_scipys_to_fp32(name):
    got = getattr(curves, name)(X)
    assert got.dtype == np.float32
    np.testing.assert_allclose(got, CURVES[name], rtol=3e-7, atol=3e-7)


@for_each("name", CURVES)
@pytest.mark.filterwarnings("ignore::RuntimeWarning")
def test_curves_end_where_they_should(name):
    far = np.float32([-np.inf, -1e30, 1e30, np.inf, np.nan])
    low, near_low, _, high, nan = getattr(curves, name)(far)
    assert (low, high) == pytest.approx(ENDS[name], abs=1e-30)
    assert near_low == pytest.approx(ENDS[name][0], abs=1e-30)
    assert np.isnan(nan)


@for_rows("shape", (), (0, 3), (2, 40_000))
def test_any_number_of_numbers_goes_through(shape):
    x = np.random.default_rng(0).uniform(-3, 3, shape).astype(np.float32)
    np.testing.assert_allclose(curves.gelu(x), x * special.ndtr(x), rtol=1e-6, atol=1e-6)
    assert curves.gelu(x).shape == shape
