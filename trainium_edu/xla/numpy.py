"""NumPy's functions, under NumPy's names, for lazy tensors: each records nodes.

>>> from trainium_edu.xla import numpy as xnp
>>> from trainium_edu.xla.device import Device
>>> x = xnp.asarray([[1.0, 2.0], [3.0, 4.0]], Device())
>>> xnp.sum(x, axis=0).numpy().tolist()
[4.0, 6.0]
"""

import builtins
from math import prod

from trainium_edu.xla.device import Device
from trainium_edu.xla.graph import GraphError
from trainium_edu.xla.operations import apply
from trainium_edu.xla.tensor import Tensor, aligned, as_tensor, binary, unary

__all__ = [
    "abs", "add", "argmax", "asarray", "astype", "concatenate", "cos", "divide", "erf", "exp",
    "log", "matmul", "max", "maximum", "mean", "min", "minimum", "multiply", "negative", "power",
    "relu", "reshape", "rsqrt", "sigmoid", "sin", "sqrt", "square", "stack", "subtract", "sum",
    "swapaxes", "take", "tanh", "transpose", "var", "where",
]  # fmt: skip


def asarray(data, device: Device, dtype: str | None = None) -> Tensor:
    """Move data to a lazy device; 64-bit numbers become 32-bit ones."""
    return as_tensor(data, device, dtype)


def _of(function, doc):
    def call(x: Tensor) -> Tensor:
        return unary(function, x)

    call.__name__ = call.__qualname__ = function
    call.__doc__ = doc
    return call


abs = _of("absolute", "Return the absolute value of each element.")
cos = _of("cos", "Return the cosine of each element.")
erf = _of("erf", "Return the error function of each element.")
exp = _of("exp", "Return e to each element.")
log = _of("log", "Return the natural logarithm of each element.")
negative = _of("negate", "Return each element with the other sign.")
relu = _of("relu", "Return each element, or 0 where it is negative.")
rsqrt = _of("rsqrt", "Return 1 over the square root of each element.")
sigmoid = _of("sigmoid", "Return 1 / (1 + exp(-x)) of each element.")
sin = _of("sin", "Return the sine of each element.")
sqrt = _of("sqrt", "Return the square root of each element.")
square = _of("square", "Return the square of each element.")
tanh = _of("tanh", "Return the hyperbolic tangent of each element.")


def _two(operation, doc):
    def call(a, b) -> Tensor:
        return binary(operation, a, b)

    call.__name__ = call.__qualname__ = operation
    call.__doc__ = doc
    return call


add = _two("add", "Return a + b.")
divide = _two("divide", "Return a / b.")
maximum = _two("maximum", "Return the larger of each two elements.")
minimum = _two("minimum", "Return the smaller of each two elements.")
multiply = _two("multiply", "Return a * b.")
power = _two("power", "Return a to the power of b.")
subtract = _two("subtract", "Return a - b.")


def astype(x: Tensor, dtype: str) -> Tensor:
    """Return the tensor in another dtype."""
    return x if x.dtype == dtype else unary("cast", x, dtype=dtype)


def where(condition: Tensor, a, b) -> Tensor:
    """Return a where the condition holds, else b."""
    like = a if isinstance(a, Tensor) else b
    if not isinstance(like, Tensor):
        like = astype(condition, "float32")
    device, rank = like.device, like.ndim
    nodes = [
        x.as_node() if isinstance(x, Tensor) else device.scalar(float(x), like.dtype, rank)
        for x in (a, b)
    ]
    nodes.insert(0, condition.as_node())
    rank = builtins.max(n.type.rank for n in nodes)
    node = apply("select", *(aligned(n, rank) for n in nodes))
    return Tensor(device, node.type, node)


def _axes(x: Tensor, axis) -> tuple[int, ...]:
    """Return axes counted from the end, in order."""
    axes = range(x.ndim) if axis is None else axis if isinstance(axis, tuple | list) else (axis,)
    for one in axes:
        if not -x.ndim <= one < x.ndim:
            raise GraphError(f"axis {one} of a {x.type} tensor; it has {x.ndim} axes")
    return tuple(sorted((one - x.ndim if one >= 0 else one) for one in axes))


def sum(x: Tensor, axis=None, keepdims: bool = False) -> Tensor:
    """Return the sum over axes (all if not given)."""
    return unary("reduce_sum", x, axes=_axes(x, axis), keep=keepdims)


def max(x: Tensor, axis=None, keepdims: bool = False) -> Tensor:
    """Return the largest element over axes (all if not given)."""
    return unary("reduce_max", x, axes=_axes(x, axis), keep=keepdims)


def min(x: Tensor, axis=None, keepdims: bool = False) -> Tensor:
    """Return the smallest element over axes (all if not given)."""
    return unary("reduce_min", x, axes=_axes(x, axis), keep=keepdims)


def mean(x: Tensor, axis=None, keepdims: bool = False) -> Tensor:
    """Return the mean over axes (all if not given)."""
    count = prod(x.shape[a] for a in _axes(x, axis))
    return sum(x, axis, keepdims) * (1.0 / count)


def var(x: Tensor, axis=None, keepdims: bool = False) -> Tensor:
    """Return the variance over axes (all if not given)."""
    return mean(square(x - mean(x, axis, True)), axis, keepdims)


def argmax(x: Tensor, axis: int = -1) -> Tensor:
    """Return the position of the largest element along an axis, int32."""
    return unary("argmax", x, axis=_axes(x, axis)[0])


def reshape(x: Tensor, shape) -> Tensor:
    """Return the same elements in another shape; one size may be -1."""
    shape = (shape,) if isinstance(shape, int) else tuple(shape)
    if shape.count(-1) == 1:
        known = -prod(shape)
        if known == 0 or x.size % known:
            raise GraphError(f"reshape of {x.type} to {list(shape)}: {x.size} elements do not fit")
        shape = tuple(x.size // known if n == -1 else n for n in shape)
    return x if shape == x.shape else unary("reshape", x, shape=shape)


def transpose(x: Tensor, axes=None) -> Tensor:
    """Return the tensor with its axes in another order; reversed if none is given."""
    axes = range(x.ndim)[::-1] if axes is None else axes
    order = tuple(a % x.ndim - x.ndim for a in axes)
    return unary("transpose", x, perm=order)


def swapaxes(x: Tensor, first: int, second: int) -> Tensor:
    """Return the tensor with two axes exchanged."""
    order = list(range(x.ndim))
    order[first], order[second] = order[second], order[first]
    return transpose(x, order)


def matmul(a: Tensor, b: Tensor) -> Tensor:
    """Return the product of matrices; leading axes are batches, stretched as NumPy does."""
    x, y = a.as_node(), b.as_node()
    if x.type.rank < 2 or y.type.rank < 2:
        raise GraphError(f"matmul of {a.type} and {b.type}: both need two axes or more")
    if y.type.rank == 2 and x.type.rank > 2:  # one matrix for all: one large product
        flat = reshape(a, (-1, a.shape[-1]))
        return reshape(matmul(flat, b), (*a.shape[:-1], b.shape[-1]))
    if x.type.rank != y.type.rank or x.shape[:-2] != y.shape[:-2]:
        rank = builtins.max(x.type.rank, y.type.rank)
        x, y = aligned(x, rank), aligned(y, rank)
        batch = tuple(n if m == 1 else m for m, n in zip(x.shape[:-2], y.shape[:-2], strict=True))
        x, y = (
            n if n.shape[:-2] == batch else apply("broadcast", n, shape=(*batch, *n.shape[-2:]))
            for n in (x, y)
        )
    node = apply("dot", x, y, turn_a=False, turn_b=False)
    return Tensor(a.device, node.type, node)


def concatenate(tensors, axis: int = 0) -> Tensor:
    """Join tensors along an axis."""
    tensors = list(tensors)
    node = apply("concatenate", *(t.as_node() for t in tensors), axis=_axes(tensors[0], axis)[0])
    return Tensor(tensors[0].device, node.type, node)


def stack(tensors, axis: int = 0) -> Tensor:
    """Join tensors along a new axis in front, or at `axis`."""
    tensors = list(tensors)
    axis = axis if axis >= 0 else axis + tensors[0].ndim + 1
    return concatenate([reshape(t, (*t.shape[:axis], 1, *t.shape[axis:])) for t in tensors], axis)


def take(table: Tensor, indices: Tensor) -> Tensor:
    """Return rows of a table, [rows, width], by their numbers (integers of any shape)."""
    node = apply("gather", table.as_node(), indices.as_node())
    return Tensor(table.device, node.type, node)


def index(x: Tensor, key) -> Tensor:
    """Return ``x[key]`` for integers, slices, ``...`` and None."""
    key = key if isinstance(key, tuple) else (key,)
    if any(isinstance(k, Tensor) for k in key):
        if len(key) == 1 and x.ndim == 2:
            return take(x, key[0])
        raise GraphError("a tensor as index picks rows of a table of two axes; use take or where")
    given = builtins.sum(k is not None and k is not Ellipsis for k in key)
    if Ellipsis not in key:
        key = (*key, Ellipsis)
    at = key.index(Ellipsis)
    key = (*key[:at], *[slice(None)] * (x.ndim - given), *key[at + 1 :])
    starts, stops, steps, shape = [], [], [], []
    sizes = iter(x.shape)
    for one in key:
        if one is None:
            shape.append(1)
            continue
        size = next(sizes, None)
        if size is None:
            raise GraphError(f"{given} indices for a {x.type} tensor; it has {x.ndim} axes")
        if isinstance(one, slice):
            start, stop, step = one.indices(size)
            if step < 1:
                raise GraphError(f"slice {one} has a step below 1; reverse with other means")
            stop = builtins.max(start, stop)
            shape.append(-(-(stop - start) // step))
        else:
            if not -size <= one < size:
                raise GraphError(f"index {one} of an axis of size {size} in {x.type}")
            start, step = one % size, 1
            stop = start + 1
        starts.append(start)
        stops.append(stop)
        steps.append(step)
    part = unary("slice", x, starts=tuple(starts), limits=tuple(stops), strides=tuple(steps))
    return reshape(part, tuple(shape))


for _method in (sum, mean, max, min, var, argmax, reshape, transpose, swapaxes, astype):
    setattr(Tensor, _method.__name__, _method)
Tensor.__getitem__ = index
Tensor.__matmul__ = matmul
Tensor.T = property(transpose)
