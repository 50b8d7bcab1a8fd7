"""Integers from fractions, remainders, and trigonometry, put together from instructions.

No engine of NeuronCore-v2 has these as operators.  A cast from FP32 to INT32 rounds to the nearest
integer; a comparison then corrects it.  Numbers of magnitude 2**23 and more are whole already.
"""

import math

from trainium_edu.nki.issuing import issue
from trainium_edu.nki.language import elementwise as ew
from trainium_edu.nki.language.creation import made
from trainium_edu.nki.language.matrix import copied
from trainium_edu.nki.objects.dtypes import DTYPE_NAMES
from trainium_edu.nki.objects.tensor import NkiTensor
from trainium_edu.nki.running import known_issue

__all__ = ["ceil", "cos", "floor", "fmod", "mod", "sin", "tan", "trunc"]

_FLOAT32, _INT32, _UINT8 = (DTYPE_NAMES[n] for n in ("float32", "int32", "uint8"))
_WHOLE_FROM = 2.0**23
_TWO_PI = 2 * math.pi
#: 2 * pi in three parts whose products with small integers are exact in FP32 (Cody and Waite)
_TWO_PI_PARTS = (6.28125, 0.0019350051879882812, 3.0199157663e-07)


def _scalar(tile, op, number, dtype=_FLOAT32, **more):
    return made(tile.shape, dtype, "tensor_scalar", data=tile, op0=op, operand0=number, **more)


def _pair(a, op, b, dtype=_FLOAT32):
    return made(a.shape, dtype, "tensor_tensor", data1=a, data2=b, op=op)


def _nearest(x):
    """Return the nearest integer in FP32 (ties to even), for magnitudes under 2**31."""
    return copied(x, _INT32)


def _rounded(name, x, dtype, correct):
    ew.RULES.tile(name, x)
    if not x._view.dtype.is_float:
        return copied(x, dtype or x.dtype)  # whole already
    rounded = correct(_nearest(x))
    out = copied(x, _FLOAT32)
    magnitude = _scalar(x, "abs", 0.0)
    small = _scalar(magnitude, "less", _WHOLE_FROM, _UINT8)
    issue("tensor_copy_predicated", dst=out, src=rounded, predicate=small)
    dtype = dtype or x.dtype
    return out if dtype == _FLOAT32 else copied(out, dtype)


def floor(x, dtype=None) -> NkiTensor:
    """Return the largest integer not above x."""
    return _rounded("floor", x, dtype, lambda n: _pair(n, "subtract", _pair(n, "greater", x)))


def ceil(x, dtype=None) -> NkiTensor:
    """Return the smallest integer not below x."""
    return _rounded("ceil", x, dtype, lambda n: _pair(n, "add", _pair(n, "less", x)))


def trunc(x, dtype=None) -> NkiTensor:
    """Return x without its fraction."""

    def correct(nearest):
        size = _scalar(x, "abs", 0.0)
        whole = _scalar(nearest, "abs", 0.0)
        whole = _pair(whole, "subtract", _pair(whole, "greater", size))
        signs = made(x.shape, _FLOAT32, "activation", op="sign", data=x)
        return _pair(whole, "multiply", signs)

    return _rounded("trunc", x, dtype, correct)


def mod(x, y, dtype=None) -> NkiTensor:
    """Return x - y * floor(x / y), with the sign of y."""
    known_issue("mod")
    return _remainder("mod", x, y, dtype, floor)


def fmod(x, y, dtype=None) -> NkiTensor:
    """Return x - y * trunc(x / y), with the sign of x."""
    known_issue("fmod")
    return _remainder("fmod", x, y, dtype, trunc)


def _remainder(name, x, y, dtype, to_integer):
    tile = x if isinstance(x, NkiTensor) else y
    ew.RULES.tile(name, tile)
    x, y = ew.RULES.operand(name, x), ew.RULES.operand(name, y)
    dtype = dtype or ew.RULES.common(x, y)
    x, y = (t if isinstance(t, NkiTensor) else _filled(tile, t) for t in (x, y))
    turns = to_integer(ew.divide(x, y, _FLOAT32))
    remainder = ew.subtract(x, ew.multiply(turns, y, _FLOAT32), _FLOAT32)
    # The reciprocal is rounded, so the quotient may be one off: bring |left| under |y|.
    size = ew.abs(y, _FLOAT32)
    signs = ew.sign(y if name == "mod" else x, _FLOAT32)
    remainder = ew.multiply(remainder, signs)
    remainder = ew.subtract(remainder, ew.multiply(size, ew.greater_equal(remainder, size)))
    remainder = ew.add(remainder, ew.multiply(size, ew.less(remainder, 0.0)))
    return ew.multiply(remainder, signs, dtype)


def _filled(tile, number):
    return made(tile.shape, _FLOAT32, "memset", value=float(number))


def sin(x, dtype=None) -> NkiTensor:
    """Return the sine of any x: brought into [-pi, pi] first, where the activation is right."""
    return _sine(x, 0.0, dtype)


def cos(x, dtype=None) -> NkiTensor:
    """Return the cosine of x, as the sine of x + pi / 2."""
    return _sine(x, math.pi / 2, dtype)


def tan(x, dtype=None) -> NkiTensor:
    """Return sin(x) / cos(x)."""
    return ew.multiply(sin(x, _FLOAT32), ew.reciprocal(cos(x, _FLOAT32)), dtype or x.dtype)


def _sine(x, shift, dtype):
    ew.RULES.tile("sin", x)
    turns = _nearest(_scalar(x, "multiply", 1 / _TWO_PI, op1="add", operand1=shift / _TWO_PI))
    angle = x
    for part in _TWO_PI_PARTS:
        angle = _pair(angle, "subtract", _scalar(turns, "multiply", part))
    angle = _scalar(angle, "add", shift, op1="minimum", operand1=math.pi)
    angle = _scalar(angle, "maximum", -math.pi)
    return made(x.shape, dtype or x.dtype, "activation", op="sin", data=angle)


sin.op = "sin"  # type: ignore[attr-defined]  # activations know it by this name
