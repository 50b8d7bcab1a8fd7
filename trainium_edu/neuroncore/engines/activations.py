"""The functions of the Scalar Engine, in FP32, by the name of their ``nki.language`` function.

Hardware evaluates piecewise polynomials whose coefficients are not published; here stand the
functions themselves, accurate to FP32.  Outside of a stated input range hardware returns something
else; only for the sine is it known what (the last cubic goes on), and only that is imitated.
Elementary functions come from NumPy, so their last bit may differ between processors.
"""

from collections.abc import Callable
from dataclasses import dataclass
from math import pi, sqrt

import numpy as np

from trainium_edu.aside import load
from trainium_edu.specs.errors import NkiValidationError

__all__ = ["ACTIVATIONS", "Activation", "get_activation"]

_F = np.float32
_ONE, _HALF = _F(1), _F(0.5)
_SQRT_HALF, _TWO_OVER_SQRT_PI = _F(sqrt(0.5)), _F(2 / sqrt(pi))
_SQRT_TWO_OVER_PI = _F(sqrt(2 / pi))
_ONE_OVER_SQRT_TWO_PI = _F(1 / sqrt(2 * pi))
_CUBIC, _SIGMOID_SLOPE = _F(0.044715), _F(1.702)


@dataclass(frozen=True, slots=True)
class Activation:
    """One function of the Scalar Engine."""

    name: str
    function: Callable
    valid: tuple[float, float] | None = None  #: documented range of inputs; None: all
    both_signs: bool = False  #: the range holds for ``|x|``
    needs: str = ""


def erf(x):
    """Return the error function."""
    return load("scipy.special").erf(x)  # comes with scikit-learn; not needed before


def sigmoid(x):
    """Return 1 / (1 + exp(-x))."""
    return _ONE / (_ONE + np.exp(-x))


def sin(x):
    """Return the sine inside [-pi, pi]; beyond, continue with the cubic that fits at the end."""
    beyond = np.abs(x) > _F(pi)
    inside = np.sin(x)
    if not beyond.any():
        return inside
    past = x - np.copysign(_F(pi), x)
    return np.where(beyond, past * past * past / _F(6) - past, inside)


def softplus(x):
    """Return log(1 + exp(x)), without overflow."""
    return np.logaddexp(x, _F(0))


def gelu(x):
    """Return x times the normal distribution function."""
    return _times(x, _HALF * (_ONE + erf(x * _SQRT_HALF)))


def gelu_dx(x):
    """Return the derivative of gelu."""
    density = np.exp(-_HALF * x * x) * _ONE_OVER_SQRT_TWO_PI
    return _HALF * (_ONE + erf(x * _SQRT_HALF)) + _times(x, density)


def gelu_apprx_tanh(x):
    """Return gelu with the distribution function written with tanh."""
    inner = _SQRT_TWO_OVER_PI * (x + _CUBIC * x * x * x)
    return _times(x, _HALF * (_ONE + np.tanh(inner)))


def gelu_apprx_sigmoid(x):
    """Return x * sigmoid(1.702 x)."""
    return _times(x, sigmoid(_SIGMOID_SLOPE * x))


def gelu_apprx_sigmoid_dx(x):
    """Return the derivative of gelu_apprx_sigmoid."""
    s = sigmoid(_SIGMOID_SLOPE * x)
    return s + _times(_SIGMOID_SLOPE * x, s * (_ONE - s))


def silu(x):
    """Return x * sigmoid(x)."""
    return _times(x, sigmoid(x))


def silu_dx(x):
    """Return the derivative of silu."""
    s = sigmoid(x)
    return s + _times(x, s * (_ONE - s))


def mish(x):
    """Return x * tanh(softplus(x))."""
    return _times(x, np.tanh(softplus(x)))


def erf_dx(x):
    """Return the derivative of the error function."""
    return _TWO_OVER_SQRT_PI * np.exp(-x * x)


def _times(x, factor):
    """Multiply; where the factor is 0 and x is infinite, return the function's limit, 0."""
    return np.where(factor == 0, _F(0) * np.sign(x), x * factor)


def _rows(*rows):
    return {row.name: row for row in rows}


ACTIVATIONS = _rows(
    Activation("copy", lambda x: x),
    Activation("square", np.square),
    Activation("sigmoid", sigmoid),
    Activation("relu", lambda x: np.maximum(x, _F(0))),
    Activation(
        "prelu",
        np.positive,
        needs="activate2 of NeuronCore-v4 (Trainium3); here it is relu(x) - slope * relu(-x)",
    ),
    Activation("gelu", gelu),
    Activation("gelu_dx", gelu_dx),
    Activation("gelu_apprx_tanh", gelu_apprx_tanh),
    Activation("gelu_apprx_sigmoid", gelu_apprx_sigmoid),
    Activation("gelu_apprx_sigmoid_dx", gelu_apprx_sigmoid_dx),
    Activation("silu", silu),
    Activation("silu_dx", silu_dx),
    Activation("tanh", np.tanh),
    Activation("softplus", softplus),
    Activation("mish", mish),
    Activation("erf", erf),
    Activation("erf_dx", erf_dx),
    Activation("exp", np.exp),
    Activation("log", np.log, (2.0**-64, 2.0**64)),
    Activation("sin", sin, (-float(_F(pi)), float(_F(pi)))),
    Activation("arctan", np.arctan, (-float(_F(pi / 2)), float(_F(pi / 2)))),
    Activation("sqrt", np.sqrt, (2.0**-116, 2.0**118)),
    Activation("rsqrt", lambda x: _ONE / np.sqrt(x), (2.0**-87, 2.0**97)),
    Activation("reciprocal", lambda x: _ONE / x, (2.0**-42, 2.0**42), both_signs=True),
    Activation("sign", np.sign),
    Activation("abs", np.abs),
)
_ALSO = {"identity": "copy", "absolute": "abs", "bypass": "copy"}


def get_activation(op, role: str = "op") -> Activation:
    """Return a function of the Scalar Engine by its name.

    Raises
    ------
    NkiValidationError
        For a name that the Scalar Engine of NeuronCore-v2 does not have.

    Examples
    --------
    >>> import numpy as np
    >>> get_activation("relu").function(np.float32([-1, 2])).tolist()
    [0.0, 2.0]
    """
    name = op if isinstance(op, str) else str(getattr(op, "__name__", ""))
    row = ACTIVATIONS.get(_ALSO.get(name, name))
    if row is None:
        raise NkiValidationError(
            f"{role} is {op!r}, which is not a function of the Scalar Engine; choose one of "
            f"{', '.join(ACTIVATIONS)}"
        )
    if row.needs:
        raise NkiValidationError(f"{role} is {row.name}, which needs {row.needs}")
    return row
