"""Scalar Engine functions against mpmath-free closed forms in float64, and PyTorch."""

from math import pi

import numpy as np
import pytest

from tests.for_each import for_each, for_rows, raises
from tests.neuroncore.closed_forms import CLOSED
from trainium_edu.neuroncore.engines.activations import ACTIVATIONS, get_activation
from trainium_edu.specs.errors import NkiValidationError

X = np.concatenate([np.linspace(-12, 12, 4001), [0.0, -0.0, 1e-6, -1e-6, 88.0, -88.0]])
POSITIVE = np.geomspace(2.0**-60, 2.0**60, 2001)


def test_every_function_of_the_reference_has_a_closed_form_here():
    assert set(CLOSED) == set(ACTIVATIONS) - {"prelu"}


@for_each("name", CLOSED)
def test_close_to_the_closed_form(name):
    x = POSITIVE if name in ("log", "sqrt", "rsqrt", "reciprocal") else X
    x = x[np.abs(x) <= pi] if name == "sin" else x
    x = x.astype(np.float32)
    with np.errstate(all="ignore"):
        found = ACTIVATIONS[name].function(x)
        wanted = CLOSED[name](x.astype(np.float64))
    assert found.dtype == np.float32
    np.testing.assert_allclose(found, wanted, rtol=2e-5, atol=3e-6)


@for_rows("name", "gelu", "gelu_apprx_sigmoid", "silu", "erf")
def test_closed_slopes_are_those_of_their_functions(name):
    """Judge: half of the difference over a short step to either side."""
    both = CLOSED[name](X + 1e-4) - CLOSED[name](X - 1e-4)
    np.testing.assert_allclose(CLOSED[f"{name}_dx"](X), both / 2e-4, rtol=1e-5, atol=1e-6)


@for_rows("name", "gelu", "gelu_apprx_tanh", "gelu_apprx_sigmoid", "silu", "mish")
def test_limits_at_infinity(name):
    with np.errstate(all="ignore"):
        low, high = ACTIVATIONS[name].function(np.float32([-np.inf, np.inf]))
    assert (low, high) == (0, np.inf)


@for_each("name", sorted(set(CLOSED) - {"sign", "relu"}))
def test_nan_stays_nan(name):
    with np.errstate(all="ignore"):
        assert np.isnan(ACTIVATIONS[name].function(np.float32([np.nan]))).all()


def test_sine_goes_on_as_a_cubic_beyond_pi():
    # the reference prints: activation(op=nl.sin) of 9.0 returns about 27.65
    found = ACTIVATIONS["sin"].function(np.float32([9.0, -9.0]))
    assert found == pytest.approx([27.65, -27.65], abs=0.01)


TORCH = {
    "gelu": lambda f, x: f.gelu(x), "gelu_apprx_tanh": lambda f, x: f.gelu(x, approximate="tanh"),
    "silu": lambda f, x: f.silu(x), "mish": lambda f, x: f.mish(x),
    "softplus": lambda f, x: f.softplus(x), "relu": lambda f, x: f.relu(x),
}  # fmt: skip


@pytest.mark.judge
@pytest.mark.parametrize("name", TORCH)
def test_pytorch_agrees(name):
    torch = pytest.importorskip("torch")
    x = X.astype(np.float32)
    wanted = TORCH[name](torch.nn.functional, torch.from_numpy(x)).numpy()
    with np.errstate(all="ignore"):
        np.testing.assert_allclose(ACTIVATIONS[name].function(x), wanted, rtol=1e-5, atol=2e-6)


@pytest.mark.judge
@for_rows("derivative, of",
    ("gelu_dx", "gelu"), ("silu_dx", "silu"), ("erf_dx", "erf"),
     ("gelu_apprx_sigmoid_dx", "gelu_apprx_sigmoid"),
)  # fmt: skip
def test_derivatives_are_central_differences(derivative, of):
    x = np.linspace(-5, 5, 501)
    wanted = (CLOSED[of](x + 1e-5) - CLOSED[of](x - 1e-5)) / 2e-5
    found = ACTIVATIONS[derivative].function(x.astype(np.float32))
    np.testing.assert_allclose(found, wanted, atol=3e-6)


def test_unknown_and_later_functions_are_refused():
    raises(NkiValidationError, "not a function of the Scalar Engine", get_activation, "cosine")
    raises(NkiValidationError, "NeuronCore-v4", get_activation, "prelu")
