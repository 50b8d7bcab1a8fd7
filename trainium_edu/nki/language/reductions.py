"""Reductions over free dimensions, and what is built on them."""

from trainium_edu.nki.issuing import issue
from trainium_edu.nki.language import elementwise as ew
from trainium_edu.nki.language.creation import _whole_number, made, ndarray
from trainium_edu.nki.language.elementwise import RULES
from trainium_edu.nki.language.matrix import broadcast_to, copied
from trainium_edu.nki.language.rules import FLOAT32, common_shape
from trainium_edu.nki.objects.dtypes import DTYPE_NAMES
from trainium_edu.nki.objects.tensor import NkiTensor
from trainium_edu.nki.rows import publish
from trainium_edu.specs.errors import NkiValidationError

__all__ = ["dropout", "rms_norm", "softmax", "var", "where",
           *publish("now", "reductions searches", globals())]  # fmt: skip

_UINT8 = DTYPE_NAMES["uint8"]


def _spread(small, x, axes):
    """Return a view of one number per kept position, repeated over the reduced axes."""
    for axis in axes:
        small = small.broadcast(axis, x.shape[axis])
    return small


def var(x, axis, dtype=None, keepdims=False) -> NkiTensor:
    """Return the variance along free axes; the reduced axes stay, with size 1."""
    axes = RULES.axes("var", RULES.tile("var", x), axis)
    middle = _spread(RULES.mean("var", x, axis, FLOAT32, keepdims=True), x, axes)
    away = made(x.shape, FLOAT32, "tensor_tensor", data1=x, data2=middle, op="subtract")
    squares = made(x.shape, FLOAT32, "tensor_tensor", data1=away, data2=away, op="multiply")
    return RULES.mean("var", squares, axis, dtype or x.dtype, keepdims=True)


def softmax(x, axis=-1, dtype=None) -> NkiTensor:
    """Return exp(x - max) / sum(exp(x - max)) along free axes."""
    axes = RULES.axes("softmax", RULES.tile("softmax", x), axis)
    top = RULES.reduced("maximum", x, axes, FLOAT32, True)
    powers = ndarray(x.shape, FLOAT32)
    if len(axes) == x.ndim - 1:  # one number per partition: the activation's own bias
        column = (x.shape[0], 1)
        how = {"data": top.reshape(column), "op0": "multiply", "operand0": -1.0}
        negative = made(column, FLOAT32, "tensor_scalar", **how)
        issue("activation", dst=powers, op="exp", data=x, bias=negative)
    else:
        issue("tensor_tensor", dst=powers, data1=x, data2=_spread(top, x, axes), op="subtract")
        issue("activation", dst=powers, op="exp", data=powers)
    total = RULES.reduced("add", powers, axes, FLOAT32, True)
    inverse = _spread(made(total.shape, FLOAT32, "reciprocal", data=total), x, axes)
    how = {"data1": powers, "data2": inverse, "op": "multiply"}
    return made(x.shape, dtype or x.dtype, "tensor_tensor", **how)


def rms_norm(x, w, axis, n, epsilon=1e-06, dtype=None, compute_dtype=None) -> NkiTensor:
    """Return x / sqrt(sum(x * x) / n + epsilon) * w along a free axis.

    Parameters
    ----------
    x : NkiTensor[P, ...] on chip
    w : NkiTensor or number
        Of the shape of `x`, or with sizes of 1 that repeat.
    axis : int or tuple of int
        The last axes; never 0, the partitions.
    n : number
        How many values one mean is of.
    epsilon : float
    dtype, compute_dtype : dtype, optional
        Of the result (default: that of `x`), and in between (default: float32).

    Returns
    -------
    NkiTensor in SBUF
    """
    axes = RULES.axes("rms_norm", RULES.tile("rms_norm", x), axis)
    compute = compute_dtype or FLOAT32
    if not RULES.operand("rms_norm", n) > 0:
        raise NkiValidationError(f"nl.rms_norm: n is {n}; it counts the values of one mean, >= 1")
    squares = ew.square(x, compute)
    total = RULES.reduced("add", squares, axes, FLOAT32, True)
    mean = {"op0": "multiply", "operand0": 1.0 / n, "op1": "add", "operand1": epsilon}
    root = made(total.shape, FLOAT32, "tensor_scalar", data=total, **mean)
    issue("activation", dst=root, op="rsqrt", data=root)
    how = {"data1": x, "data2": _spread(root, x, axes), "op": "multiply"}
    scaled = made(x.shape, compute, "tensor_tensor", **how)
    return ew.multiply(scaled, w, dtype or x.dtype)


def where(condition, x, y, dtype=None) -> NkiTensor:
    """Return x where the condition is nonzero, else y.

    Parameters
    ----------
    condition : NkiTensor on chip
    x, y : NkiTensor on chip, or number
        Sizes are equal to the condition's, or 1.
    dtype : dtype, optional
        Of the result; default: that of the first tile of `x` and `y`.

    Returns
    -------
    NkiTensor in SBUF
    """
    RULES.tile("where", condition)
    tiles = [t for t in (x, y) if isinstance(t, NkiTensor)]
    shape = condition.shape
    for tile in tiles:
        RULES.tile("where", tile)
        shape = common_shape("where", shape, tile.shape)
    out = ndarray(shape, dtype or (tiles[0].dtype if tiles else condition.dtype))
    if isinstance(y, NkiTensor):
        issue("tensor_copy", dst=out, src=broadcast_to(y, shape))
    else:
        issue("memset", dst=out, value=_whole_number(y) if not out._view.dtype.is_float else y)
    differs = {"data": condition, "op0": "not_equal", "operand0": 0.0}
    mask = made(condition.shape, _UINT8, "tensor_scalar", **differs)
    if isinstance(x, NkiTensor):
        x = broadcast_to(x, shape, out.dtype)  # the instruction moves bits: one dtype
    issue("tensor_copy_predicated", dst=out, src=x, predicate=broadcast_to(mask, shape))
    return out


def dropout(x, rate, dtype=None) -> NkiTensor:
    """Return x, each element 0 with probability `rate` (a number, or one per partition).

    What is kept is not scaled; the random bits are those of ``nl.random_seed``.

    Parameters
    ----------
    x : NkiTensor on chip
    rate : number from 0 to 1, or float NkiTensor[P, 1]
    dtype : dtype, optional
        Of the result; default: that of `x`.
    """
    RULES.tile("dropout", x)
    out = made(x.shape, x.dtype, "dropout", data=x, prob=rate)
    return out if dtype is None or dtype == x.dtype else copied(out, dtype)
