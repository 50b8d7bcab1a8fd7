"""Element by element: arithmetic, comparisons, logic, rounding, powers."""

from math import inf, log

from trainium_edu.torch.operations.table import fixed, row
from trainium_edu.xla import numpy as xnp
from trainium_edu.xla.tensor import Tensor, promoted

__all__ = ["ceil", "floor", "log1p", "scaled", "truncated"]


def _is_bool(x) -> bool:
    return isinstance(x, bool) or str(getattr(x, "dtype", "")).endswith("bool")


def _plain(x):
    """Return a number that lazy tensors take: True is 1."""
    return int(x) if isinstance(x, bool) else x


def scaled(x, factor):
    """Return x times a number, which is left out if it is 1."""
    return x if factor == 1 else xnp.multiply(x, _plain(factor))


# -- arithmetic -----------------------------------------------------------------------------------


def _times_alpha(other, alpha):
    """Return alpha times a tensor or a number."""
    if isinstance(other, Tensor):
        return scaled(other, alpha)
    return _plain(other) if alpha == 1 else other * alpha


@row("add.Tensor", "add.Scalar")
def _add(self, other, alpha=1):
    if _both_bool(self, other):
        return _or(self, other)
    return xnp.add(self, _times_alpha(other, alpha))


@row("sub.Tensor", "sub.Scalar")
def _sub(self, other, alpha=1):
    return xnp.subtract(self, _times_alpha(other, alpha))


@row("mul.Tensor", "mul.Scalar")
def _mul(self, other):
    if _both_bool(self, other):
        return _and(self, other)
    return xnp.multiply(self, _plain(other))


@row("div.Tensor", "div.Scalar")
def _div(self, other):
    return xnp.divide(self, _plain(other))


@row("div.Tensor_mode", "div.Scalar_mode")
def _div_mode(self, other, rounding_mode=None):
    if rounding_mode is None:
        return _div(self, other)
    return _whole_quotient(self, other, floor if rounding_mode == "floor" else truncated)


def _whole_quotient(a, b, to_whole):
    """Return a / b rounded to an integer; integers beyond FP32's 24 bits in two steps."""
    b = _plain(b)
    quotient = to_whole(xnp.divide(a, b))
    is_float = a.type.is_float or (b.type.is_float if isinstance(b, Tensor) else type(b) is float)
    return quotient if is_float else xnp.astype(quotient, "int32")


def _rest(a, b, to_whole):
    return xnp.subtract(a, xnp.multiply(_whole_quotient(a, b, to_whole), _plain(b)))


row("remainder.Tensor", "remainder.Scalar")(lambda self, other: _rest(self, other, floor))
row("fmod.Tensor", "fmod.Scalar")(lambda self, other: _rest(self, other, truncated))


@row("addcmul")
def _addcmul(self, tensor1, tensor2, value=1):
    return self + scaled(tensor1, value) * tensor2


@row("addcdiv")
def _addcdiv(self, tensor1, tensor2, value=1):
    return self + scaled(tensor1, value) / tensor2


@row("lerp.Scalar", "lerp.Tensor")
def _lerp(self, end, weight):
    return self + (end - self) * weight


@row("maximum")
def _maximum(self, other):
    if _both_bool(self, other):
        return _or(self, other)
    return xnp.maximum(self, other)


@row("minimum")
def _minimum(self, other):
    if _both_bool(self, other):
        return _and(self, other)
    return xnp.minimum(self, other)


@row("clamp", "clamp.Tensor")
def _clamp(self, min=None, max=None):
    return xnp.clip(self, _plain(min), _plain(max))


# -- comparisons and logic ------------------------------------------------------------------------


def _compare(function):
    return lambda self, other: function(self, _plain(other))


for _name, _function in {
    "eq": xnp.equal, "ne": xnp.not_equal, "lt": xnp.less, "le": xnp.less_equal, "gt": xnp.greater,
    "ge": xnp.greater_equal,
}.items():  # fmt: skip
    row(f"{_name}.Tensor", f"{_name}.Scalar")(_compare(_function))


def _as_bool(x, like):
    return xnp.astype(x, "bool") if isinstance(x, Tensor) else fixed(like, bool(x)) > 0


def _both_bool(self, other):
    return _is_bool(self) and _is_bool(other)


@row("logical_and")
@row("bitwise_and.Tensor", "bitwise_and.Scalar", fits=_both_bool)
def _and(self, other):
    return xnp.logical_and(_as_bool(self, other), _as_bool(other, self))


@row("logical_or")
@row("bitwise_or.Tensor", "bitwise_or.Scalar", fits=_both_bool)
def _or(self, other):
    return xnp.logical_or(_as_bool(self, other), _as_bool(other, self))


@row("logical_xor")
@row("bitwise_xor.Tensor", "bitwise_xor.Scalar", fits=_both_bool)
def _xor(self, other):
    return xnp.not_equal(_as_bool(self, other), _as_bool(other, self))


@row("logical_not")
@row("bitwise_not", fits=_is_bool)
def _not(self):
    return xnp.logical_not(self)


# -- functions of one number ----------------------------------------------------------------------


def _float(x: Tensor) -> Tensor:
    """Return integers as FP32 numbers."""
    return x if x.type.is_float else xnp.astype(x, "float32")


def floor(x: Tensor) -> Tensor:
    """Return the largest integer that is not above each element."""
    return xnp.floor(x) if x.type.is_float else x


def ceil(x: Tensor) -> Tensor:
    """Return the smallest integer that is not below each element."""
    return -xnp.floor(-x) if x.type.is_float else x


def truncated(x: Tensor) -> Tensor:
    """Return each element without its fraction."""
    return xnp.sign(x) * xnp.floor(xnp.abs(x)) if x.type.is_float else x


def _rounded(x: Tensor) -> Tensor:
    """Return the nearest integer; of two, the even one."""
    if not x.type.is_float:
        return x
    down, half = xnp.floor(x), fixed(x, 0.5)
    part, even = x - down, xnp.floor(down * half) * fixed(x, 2.0)
    goes_up = xnp.logical_or(part > half, xnp.logical_and(xnp.equal(part, half), down > even))
    return down + xnp.astype(goes_up, x.dtype)


def log1p(x: Tensor) -> Tensor:
    """Return log(1 + x), exact for small x too: log u times x / (u - 1), with u = 1 + x."""
    x = _float(x)
    one = fixed(x, 1.0)
    u = x + one
    plain = xnp.logical_or(xnp.equal(u, one), xnp.equal(u, fixed(x, inf)))
    return xnp.where(plain, x, xnp.log(u) * (x / (u - one)))


def _expm1(x: Tensor) -> Tensor:
    """Return exp(x) - 1, exact for small x too: (u - 1) x / log u, with u = exp(x)."""
    x = _float(x)
    one, u = fixed(x, 1.0), xnp.exp(x)
    less = u - one
    exact = xnp.where(xnp.equal(u, one), x, less * (x / xnp.log(u)))
    return xnp.where(xnp.abs(x) < fixed(x, 1.0), exact, less)


def _sinh(x):
    e = _expm1(xnp.abs(x))
    return xnp.sign(x) * (e + e / (e + fixed(e, 1.0))) * fixed(e, 0.5)


def _cosh(x):
    e = xnp.exp(_float(x))
    return (e + xnp.reciprocal(e)) * fixed(e, 0.5)


def _times(function, factor):
    def call(x):
        y = function(x)
        return y * fixed(y, factor)

    return call


def _exp2(x):
    x = _float(x)
    return xnp.exp(x * fixed(x, log(2.0)))


def _erfc(x):
    y = xnp.erf(x)
    return fixed(y, 1.0) - y


def _unary(function):
    return lambda self: function(self)


for _name, _function in {
    "abs": xnp.abs, "neg": xnp.negative, "sign": xnp.sign, "sgn": xnp.sign, "exp": xnp.exp,
    "log": xnp.log, "sqrt": xnp.sqrt, "rsqrt": xnp.rsqrt, "reciprocal": xnp.reciprocal,
    "sin": xnp.sin, "cos": xnp.cos, "tanh": xnp.tanh, "erf": xnp.erf,
    "sigmoid": xnp.sigmoid, "floor": floor, "ceil": ceil, "trunc": truncated, "round": _rounded,
    "frac": lambda x: x - truncated(x), "log1p": log1p, "expm1": _expm1, "sinh": _sinh,
    "cosh": _cosh, "exp2": _exp2, "erfc": _erfc, "tan": lambda x: xnp.sin(x) / xnp.cos(x),
    "log2": _times(xnp.log, 1 / log(2.0)), "log10": _times(xnp.log, 1 / log(10.0)),
}.items():  # fmt: skip
    row(_name)(_unary(_function))


# -- powers ---------------------------------------------------------------------------------------

_POWERS = {
    0: xnp.ones_like, 1: lambda x: x, 2: xnp.square, 3: lambda x: xnp.square(x) * x,
    0.5: xnp.sqrt, -0.5: xnp.rsqrt, -1: lambda x: xnp.reciprocal(_float(x)),
}  # fmt: skip


@row("pow.Tensor_Scalar")
def _pow(self, exponent):
    known = _POWERS.get(exponent)
    if known is None:
        known = lambda x: xnp.power(x, exponent)  # noqa: E731
    whole = not self.type.is_float and isinstance(exponent, int) and exponent >= 0
    out = known(self)
    return xnp.astype(out, "int32") if whole else out


@row("pow.Tensor_Tensor")
def _pow_tensor(self, exponent):
    dtype = promoted("pow", self.type, exponent.type)
    return xnp.astype(xnp.power(self, exponent), dtype)


@row("pow.Scalar")
def _pow_of_number(self, exponent):
    out = xnp.power(self, exponent)
    whole = not exponent.type.is_float and isinstance(self, int)
    return xnp.astype(out, "int32") if whole else out
