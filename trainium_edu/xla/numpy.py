"""NumPy's functions, under NumPy's names, for lazy tensors: each records nodes.

What networks need and NumPy lacks is here too (``relu``, ``softmax``, ``conv2d``, ``one_hot``).
Different from NumPy: dtypes meet as in PyTorch (see ``tensor.py``), ``take`` counts along axis 0
and takes no negative numbers, ``zeros`` and ``arange`` need the device, and options are given by
name.

>>> from trainium_edu.xla import numpy as xnp
>>> from trainium_edu.xla.device import Device
>>> x = xnp.asarray([[1.0, 2.0], [3.0, 4.0]], Device())
>>> y = xnp.sum(x, axis=0)
>>> x.device.mark_step()
>>> y.numpy().tolist()
[4.0, 6.0]
"""

import builtins
from collections.abc import Callable, Iterable, Sequence
from itertools import pairwise
from math import isfinite, prod
from operator import index as as_integer

import numpy as np

from trainium_edu.specs.arguments import flag, number, short, whole
from trainium_edu.specs.signatures import Numbers, checked, checked_after
from trainium_edu.xla.device import Device
from trainium_edu.xla.graph import GraphError, Type, as_type
from trainium_edu.xla.operations import apply, constant
from trainium_edu.xla.operations.table import fitting, stretched
from trainium_edu.xla.refusals import sentence
from trainium_edu.xla.tensor import (
    Tensor,
    aligned,
    as_dtype,
    as_tensor,
    binary,
    check_device,
    of_node,
    promoted,
    together,
    unary,
)

__all__ = [
    "abs", "add", "all", "any", "arange", "argmax", "asarray", "astype", "broadcast_to", "clip",
    "concatenate", "conv2d", "cos", "cross_entropy", "divide", "equal", "erf", "exp",
    "expand_dims", "flip", "floor", "full", "gelu", "greater", "greater_equal", "isnan",
    "layer_norm", "less", "less_equal", "log", "log_softmax", "logical_and", "logical_not",
    "logical_or", "matmul", "max", "maximum", "mean", "min", "minimum", "multiply", "negative",
    "not_equal", "one_hot", "ones", "ones_like", "pad", "power", "reciprocal", "relu",
    "reshape", "rsqrt", "sigmoid", "sign", "silu", "sin", "softmax", "split", "sqrt", "square",
    "squeeze", "stack", "subtract", "sum", "swapaxes", "take", "tanh", "transpose", "var",
    "where", "zeros", "zeros_like",
]  # fmt: skip

Axes = int | Sequence | None  #: one axis, several, or all


# -- element by element -------------------------------------------------------------------------


def asarray(data: Numbers, device: Device, dtype: str | None = None) -> Tensor:
    """Move data to a lazy device; 64-bit numbers become 32-bit ones."""
    return as_tensor(data, device, dtype)


def _named(function: Callable, name: str, doc: str) -> Callable:
    function.__name__ = function.__qualname__ = name
    function.__doc__ = doc
    return function


def _float(x: Tensor) -> Tensor:
    """Return integers as FP32 numbers."""
    return x if x.type.is_float else astype(x, "float32")


def _of(name, doc, operation="", takes_integers=False):
    def call(x: Tensor) -> Tensor:
        return unary(operation or name, x if takes_integers else _float(x))

    return _named(call, name, doc)


abs = _of("abs", "Return the absolute value of each element.", "absolute", True)
cos = _of("cos", "Return the cosine of each element.")
erf = _of("erf", "Return the error function of each element.")
exp = _of("exp", "Return e to each element.")
floor = _of("floor", "Return the largest integer that is not above each element.")
gelu = _of("gelu", "Return x times the normal distribution function of x, for each element.")
log = _of("log", "Return the natural logarithm of each element.")
negative = _of("negative", "Return each element with the other sign.", "negate", True)
reciprocal = _of("reciprocal", "Return 1 over each element.")
relu = _of("relu", "Return each element, or 0 where it is negative.")
rsqrt = _of("rsqrt", "Return 1 over the square root of each element.")
sigmoid = _of("sigmoid", "Return 1 / (1 + exp(-x)) of each element.")
sign = _of("sign", "Return -1, 0 or 1 by the sign of each element.", "sign", True)
silu = _of("silu", "Return x times its sigmoid, for each element.")
sin = _of("sin", "Return the sine of each element.")
sqrt = _of("sqrt", "Return the square root of each element.")
square = _of("square", "Return the square of each element.", "square", True)
tanh = _of("tanh", "Return the hyperbolic tangent of each element.")
isnan = _of("isnan", "Return whether each element is NaN.", "is_nan")


def _two(operation, doc):
    def call(a: Tensor | Numbers, b: Tensor | Numbers) -> Tensor:
        result = binary(operation, a, b)
        if result is NotImplemented:
            other = b if isinstance(a, Tensor) else a
            raise TypeError(f"{operation} takes tensors and numbers, not {short(other)}")
        return result

    return _named(call, operation, doc)


add = _two("add", "Return a + b.")
divide = _two("divide", "Return a / b.")
equal = _two("equal", "Return whether a == b.")
greater = _two("greater", "Return whether a > b.")
greater_equal = _two("greater_equal", "Return whether a >= b.")
less = _two("less", "Return whether a < b.")
less_equal = _two("less_equal", "Return whether a <= b.")
maximum = _two("maximum", "Return the larger of each two elements.")
minimum = _two("minimum", "Return the smaller of each two elements.")
multiply = _two("multiply", "Return a * b.")
not_equal = _two("not_equal", "Return whether a != b.")
power = _two("power", "Return a to the power of b.")
subtract = _two("subtract", "Return a - b.")


def _logic(operation, doc):
    def call(a: Tensor, b: Tensor) -> Tensor:
        return binary(operation, astype(a, "bool"), astype(b, "bool"))

    return _named(call, operation, doc)


logical_and = _logic("logical_and", "Return whether both are true.")
logical_or = _logic("logical_or", "Return whether one of both is true.")


def logical_not(x: Tensor) -> Tensor:
    """Return whether each element is false."""
    return unary("logical_not", astype(x, "bool"))


def astype(x: Tensor, dtype: str) -> Tensor:
    """Return the tensor in another dtype."""
    dtype = str(getattr(dtype, "__name__", dtype))
    kind = x.device.narrowed.get(dtype, dtype)
    return x if x.dtype == kind else unary("cast", x, dtype=as_type((), kind).dtype)


def where(condition: Tensor, a: Tensor | float, b: Tensor | float) -> Tensor:
    """Return a where the condition holds, else b; tensors or numbers, stretched to one shape."""
    tensors = [x for x in (condition, a, b) if isinstance(x, Tensor)]
    check_device("where", *tensors)
    fitting("where", stretched, *(t.type for t in tensors))
    device, rank = condition.device, builtins.max(t.ndim for t in tensors)
    types = [x.type for x in (a, b) if isinstance(x, Tensor)] or [Type((), "int32")]
    dtype = promoted("where", types[0], types[-1])
    if not as_type((), dtype).is_float and builtins.any(isinstance(x, float) for x in (a, b)):
        dtype = device.float_dtype
    nodes = [
        as_dtype(x.as_node(), dtype) if isinstance(x, Tensor)
        else device.scalar(float(x), dtype, rank)
        for x in (a, b)
    ]  # fmt: skip
    nodes.insert(0, astype(condition, "bool").as_node())
    return of_node(device, apply("select", *(aligned(n, rank) for n in nodes)))


def clip(x: Tensor, low: Tensor | float | None = None,
         high: Tensor | float | None = None) -> Tensor:  # fmt: skip
    """Return each element, but at least `low` and at most `high`."""
    x = x if low is None else maximum(x, low)
    return x if high is None else minimum(x, high)


# -- over axes ----------------------------------------------------------------------------------


def _axes(x: Tensor, axis) -> tuple[int, ...]:
    """Return axes counted from the end, in order."""
    if axis is None:
        axis = range(x.ndim)
    axes = axis if isinstance(axis, tuple | list | range) else (axis,)
    for one in axes:
        if type(one) is not int:
            one = whole(one, "axis")
        if not -x.ndim <= one < x.ndim:
            raise GraphError(f"axis {one} of a {x.type} tensor; it has {x.ndim} axes")
    return tuple(sorted((one - x.ndim if one >= 0 else one) for one in axes))


def _reduced(operation, x, axis, keepdims):
    return unary(operation, x, axes=_axes(x, axis), keep=flag(keepdims, "keepdims"))


def sum(x: Tensor, axis: Axes = None, *, keepdims: bool = False) -> Tensor:
    """Return the sum over axes (all if not given)."""
    return _reduced("reduce_sum", astype(x, "int32") if x.dtype == "bool" else x, axis, keepdims)


def max(x: Tensor, axis: Axes = None, *, keepdims: bool = False) -> Tensor:
    """Return the largest element over axes (all if not given)."""
    return _reduced("reduce_max", x, axis, keepdims)


def min(x: Tensor, axis: Axes = None, *, keepdims: bool = False) -> Tensor:
    """Return the smallest element over axes (all if not given)."""
    return _reduced("reduce_min", x, axis, keepdims)


def mean(x: Tensor, axis: Axes = None, *, keepdims: bool = False) -> Tensor:
    """Return the mean over axes (all if not given); of narrow formats, summed up in FP32."""
    return _mean(x, axis, keepdims, 0)


def _mean(x: Tensor, axis, keepdims, fewer) -> Tensor:
    """Return the sum divided by the number of elements, less so many."""
    count = prod(x.shape[a] for a in _axes(x, axis)) - fewer
    if count < 1:
        raise GraphError(f"a mean over axis {axis} of {x.type}: there are no elements to divide by")
    wide = x if x.dtype == "float32" else unary("cast", x, dtype="float32")
    total = sum(wide, axis, keepdims=keepdims)
    share = constant(np.full((1,) * total.ndim, 1.0 / count))
    dtype = x.dtype if x.type.is_float else x.device.float_dtype
    return of_node(x.device, as_dtype(apply("multiply", total.as_node(), share), dtype))


def var(x: Tensor, axis: Axes = None, *, ddof: int = 0, keepdims: bool = False) -> Tensor:
    """Return the variance over axes (all if not given), divided by the count less `ddof`."""
    fewer = whole(ddof, "ddof", 0)
    return _mean(square(x - mean(x, axis, keepdims=True)), axis, keepdims, fewer)


def argmax(x: Tensor, axis: int | None = None, *, keepdims: bool = False) -> Tensor:
    """Return the position of the first largest element along an axis (of all elements), int32."""
    keepdims = flag(keepdims, "keepdims")
    if axis is None:
        place = unary("argmax", reshape(x, -1), axis=-1)
        return reshape(place, (1,) * x.ndim) if keepdims else place
    place = unary("argmax", x, axis=_axes(x, axis)[0])
    return expand_dims(place, axis % x.ndim) if keepdims else place


def any(x: Tensor, axis: Axes = None, *, keepdims: bool = False) -> Tensor:
    """Return whether some element is true."""
    return sum(astype(x, "bool"), axis, keepdims=keepdims) > 0


def all(x: Tensor, axis: Axes = None, *, keepdims: bool = False) -> Tensor:
    """Return whether all elements are true."""
    return logical_not(any(logical_not(x), axis, keepdims=keepdims))


def _last_axis(operation, doc):
    def call(x: Tensor, axis: int = -1) -> Tensor:
        (axis,) = _axes(x, axis)
        if axis == -1:
            return unary(operation, _float(x))
        return swapaxes(unary(operation, _float(swapaxes(x, axis, -1))), axis, -1)

    return _named(call, operation, doc)


softmax = _last_axis("softmax", "Return exp(x) over its sum along an axis.")
log_softmax = _last_axis("log_softmax", "Return the logarithm of the softmax along an axis.")


def layer_norm(x: Tensor, weight: Tensor, bias: Tensor, eps: float = 1e-5) -> Tensor:
    """Return the last axis normalised to mean 0 and variance 1, times weight, plus bias."""
    return together("layer_norm", x, weight, bias, eps=number(eps, "eps", 0))


def cross_entropy(logits: Tensor, labels: Tensor) -> Tensor:
    """Return minus the log probability of each row's label: [rows, classes], int32[rows]."""
    return together("cross_entropy", logits, labels)


# -- products -----------------------------------------------------------------------------------


def matmul(a: Tensor, b: Tensor | Numbers) -> Tensor:
    """Return the product of matrices; leading axes are batches, stretched as NumPy does.

    A tensor of one axis is a row on the left, a column on the right.
    """
    b = b if isinstance(b, Tensor) else as_tensor(b, a.device)
    check_device("matmul", a, b)
    _check_matmul(a.type, b.type)
    if a.ndim == 1 or b.ndim == 1:
        return _vectors(a, b)
    if b.ndim == 2 and a.ndim > 2:  # one matrix for all: one large product
        flat = reshape(a, (prod(a.shape[:-1]), a.shape[-1]))
        return reshape(matmul(flat, b), (*a.shape[:-1], b.shape[-1]))
    dtype = promoted("matmul", a.type, b.type)
    rank = builtins.max(a.ndim, b.ndim)
    x, y = (aligned(as_dtype(t.as_node(), dtype), rank) for t in (a, b))
    if x.shape[:-2] != y.shape[:-2]:
        batch = np.broadcast_shapes(x.shape[:-2], y.shape[:-2])
        x, y = (
            n if n.shape[:-2] == batch else apply("broadcast", n, shape=(*batch, *n.shape[-2:]))
            for n in (x, y)
        )
    return of_node(a.device, apply("dot", x, y, turn_a=False, turn_b=False))


def _check_matmul(a: Type, b: Type):
    if not a.rank or not b.rank:
        raise GraphError(f"matmul of {a} and {b}: both need an axis; multiply takes numbers")
    inner = a.shape[-1], b.shape[-2 if b.rank > 1 else -1]
    if inner[0] != inner[1]:
        sizes = " and ".join(map(str, inner))
        raise GraphError(f"matmul of {a} and {b}: the inner sizes are {sizes}, and must be equal")
    fitting("the batches of a matmul", stretched, *(t.like(t.shape[:-2]) for t in (a, b)))


def _vectors(a, b):
    row = expand_dims(a, 0) if a.ndim == 1 else a
    column = expand_dims(b, 1) if b.ndim == 1 else b
    product = matmul(row, column)
    return squeeze(product, tuple(axis for axis, t in ((-2, a), (-1, b)) if t.ndim == 1))


def conv2d(x: Tensor, w: Tensor, bias: Tensor | None = None, *, stride: int | Sequence = 1,
           padding: int | Sequence = 0) -> Tensor:  # fmt: skip
    """Slide filters over images, as PyTorch's ``conv2d``.

    Parameters
    ----------
    x : Tensor, [images, channels, height, width]
    w : Tensor, [filters, channels, height, width]
    bias : Tensor, [filters], optional
    stride, padding : int, or (vertical, horizontal)
    """
    rims = tuple((n, n) for n in _pair(padding, "padding", 0))
    out = together("convolution", x, w, strides=_pair(stride, "stride", 1), padding=rims)
    return out if bias is None else out + reshape(bias, (1, bias.size, 1, 1))


def _pair(given, name, low) -> tuple[int, int]:
    """Return two numbers of elements, down and across."""
    down, across = given if isinstance(given, tuple | list) else (given, given)
    return whole(down, name, low), whole(across, name, low)


# -- shapes -------------------------------------------------------------------------------------


def _shape(shape) -> tuple[int, ...]:
    return (shape,) if type(shape) is int else tuple(as_integer(n) for n in shape)


def reshape(x: Tensor, shape: int | Sequence) -> Tensor:
    """Return the same elements in another shape; one size may be -1."""
    shape = _shape(shape)
    if shape.count(-1) == 1:
        known = -prod(shape)
        if known == 0 or x.size % known:
            raise GraphError(f"reshape of {x.type} to {list(shape)}: {x.size} elements do not fit")
        shape = tuple(x.size // known if n == -1 else n for n in shape)
    return x if shape == x.shape else unary("reshape", x, shape=shape)


def transpose(x: Tensor, axes: Sequence | None = None) -> Tensor:
    """Return the tensor with its axes in another order; reversed if none is given."""
    order = range(x.ndim)[::-1] if axes is None else axes
    order = tuple(a - x.ndim if a >= 0 else a for a in order)
    return x if order == tuple(range(-x.ndim, 0)) else unary("transpose", x, perm=order)


def swapaxes(x: Tensor, first: int, second: int) -> Tensor:
    """Return the tensor with two axes exchanged."""
    _axes(x, (first, second))
    order = list(range(x.ndim))
    order[first], order[second] = order[second], order[first]
    return transpose(x, order)


def expand_dims(x: Tensor, axis: int) -> Tensor:
    """Return the tensor with a new axis of size 1 at a place."""
    if not -x.ndim - 1 <= axis <= x.ndim:
        raise GraphError(f"a new axis at {axis} of a {x.type} tensor, which has {x.ndim} axes")
    axis %= x.ndim + 1
    return reshape(x, (*x.shape[:axis], 1, *x.shape[axis:]))


def squeeze(x: Tensor, axis: Axes = None) -> Tensor:
    """Return the tensor without axes of size 1 (all of them if none is given)."""
    if axis is None:
        return reshape(x, [n for n in x.shape if n != 1])
    gone = {a + x.ndim for a in _axes(x, axis)}
    if builtins.any(x.shape[a] != 1 for a in gone):
        raise GraphError(f"squeeze of {x.type} along axis {axis}: the size there must be 1")
    return reshape(x, [n for i, n in enumerate(x.shape) if i not in gone])


def broadcast_to(x: Tensor, shape: int | Sequence) -> Tensor:
    """Return the tensor stretched to a shape: axes in front, and axes of size 1."""
    shape = _shape(shape)
    fits = len(shape) >= x.ndim and builtins.all(
        n in (1, m) for n, m in zip(x.shape[::-1], shape[::-1], strict=False)
    )
    if not fits:
        raise GraphError(f"broadcast_to of {x.type} to {list(shape)}: only axes of size 1 stretch")
    if shape == x.shape:
        return x
    return of_node(x.device, apply("broadcast", aligned(x.as_node(), len(shape)), shape=shape))


def concatenate(tensors: Iterable[Tensor], axis: int = 0) -> Tensor:
    """Join tensors along an axis."""
    tensors = list(tensors)
    if not tensors:
        raise GraphError("concatenate takes one tensor or more")
    check_device("concatenate", *tensors)
    dtype = tensors[0].dtype
    for one in tensors[1:]:
        dtype = promoted("concatenate", Type((1,), dtype), Type((1,), one.dtype))
    nodes = [as_dtype(t.as_node(), dtype) for t in tensors]
    (axis,) = _axes(tensors[0], axis)
    return of_node(tensors[0].device, apply("concatenate", *nodes, axis=axis))


def stack(tensors: Iterable[Tensor], axis: int = 0) -> Tensor:
    """Join tensors along a new axis in front, or at `axis`."""
    return concatenate([expand_dims(t, axis) for t in tensors], axis)


def split(x: Tensor, parts: int | Sequence, axis: int = 0) -> list[Tensor]:
    """Return equal parts along an axis, or the parts between given places."""
    (axis,) = _axes(x, axis)
    size = x.shape[axis]
    if isinstance(parts, int):
        if parts < 1 or size % parts:
            raise GraphError(f"split of {x.type} along axis {axis}: {size} is not {parts} equal "
                             "parts")  # fmt: skip
        parts = range(size // parts, size, size // parts)
    places = [0, *parts, size]
    before = (slice(None),) * (x.ndim + axis)
    return [x[(*before, slice(a, b))] for a, b in pairwise(places)]


def flip(x: Tensor, axis: Axes = None) -> Tensor:
    """Return the elements in reverse along axes (all if not given)."""
    for one in _axes(x, axis):
        x = take(x, arange(x.shape[one] - 1, -1, -1, device=x.device), one)
    return x


@checked
def pad(x: Tensor, pad_width: Numbers, *, constant_values: float = 0.0) -> Tensor:
    """Put a number around.

    Parameters
    ----------
    x : Tensor
    pad_width : int, (int, int) or list of these
        How many elements before and after, for all axes or for each.
    constant_values : float
        What they hold: any number.
    """
    width = np.broadcast_to(np.asarray(pad_width), (x.ndim, 2)).tolist()
    low, high = (tuple(side) for side in zip(*width, strict=True))
    value = float(constant_values) if x.type.is_float else int(constant_values)
    return unary("pad", x, low=low, high=high, value=value)


# -- tensors of nothing -------------------------------------------------------------------------


def full(
    shape: int | Sequence, value: float, dtype: str | None = None, *, device: Device
) -> Tensor:
    """Return a tensor of one number; an input of the graph unless it is 0 or 1."""
    shape = _shape(shape)
    dtype = dtype or ("float32" if isinstance(value, float) else "int32")
    type = as_type(shape, device.narrowed.get(dtype, dtype))
    node = device.scalar(float(value), type.dtype, type.rank)
    return of_node(device, node if node.shape == shape else apply("broadcast", node, shape=shape))


def zeros(shape: int | Sequence, dtype: str = "float32", *, device: Device) -> Tensor:
    """Return a tensor of zeros."""
    return full(shape, 0, dtype, device=device)


def ones(shape: int | Sequence, dtype: str = "float32", *, device: Device) -> Tensor:
    """Return a tensor of ones."""
    return full(shape, 1, dtype, device=device)


def zeros_like(x: Tensor, dtype: str | None = None) -> Tensor:
    """Return zeros in a tensor's shape and dtype."""
    return full(x.shape, 0, dtype or x.dtype, device=x.device)


def ones_like(x: Tensor, dtype: str | None = None) -> Tensor:
    """Return ones in a tensor's shape and dtype."""
    return full(x.shape, 1, dtype or x.dtype, device=x.device)


def arange(start: float, stop: float | None = None, step: float = 1, dtype: str | None = None, *,
           device: Device) -> Tensor:  # fmt: skip
    """Return ``start + i * step`` for all i that stay before `stop`.

    Parameters
    ----------
    start, stop, step : int or float
        With one number only, it is `stop`, and `start` is 0.
    dtype : str, optional
        Default: int32 if all are integers, else float32.
    device : Device
    """
    start, stop = (0, start) if stop is None else (start, stop)
    if not step or not builtins.all(map(isfinite, (start, stop, step))):
        raise GraphError(f"arange from {short(start)} to {short(stop)} by {short(step)} has no end")
    is_whole = builtins.all(isinstance(n, int) for n in (start, stop, step))
    dtype = dtype or ("int32" if is_whole else "float32")
    count = builtins.max(0, int(np.ceil((stop - start) / step)))
    counted = of_node(device, apply("iota", shape=(count,), axis=-1, dtype="int32"))
    counted = counted if is_whole else astype(counted, "float32")
    counted = counted if step == 1 else counted * step
    return astype(counted if start == 0 else counted + start, dtype)


def one_hot(indices: Tensor, classes: int, dtype: str = "float32") -> Tensor:
    """Return a last axis with a place for each class: 1 at each index, 0 elsewhere."""
    kind = indices.device.narrowed.get(dtype, dtype)
    return unary("one_hot", indices, classes=classes, dtype=kind)


# -- picking ------------------------------------------------------------------------------------


def take(x: Tensor, indices: Tensor | Numbers, axis: int = 0) -> Tensor:
    """Return the parts along an axis whose numbers (integers of any shape, from 0) are given."""
    if not isinstance(indices, Tensor):
        indices = as_tensor(indices, x.device)
    (axis,) = _axes(x, axis)
    front = axis + x.ndim
    turned = transpose(x, (front, *(i for i in range(x.ndim) if i != front)))
    picked = together("gather", turned, astype(indices, "int32"))
    new = range(indices.ndim)  # where the indices' axes are now; they belong at `front`
    old = [indices.ndim + i for i in range(x.ndim - 1)]
    return transpose(picked, (*old[:front], *new, *old[front:]))


def index(x: Tensor, key) -> Tensor:
    """Return ``x[key]`` for integers, slices, ``...``, None, and one tensor of integers."""
    key = key if isinstance(key, tuple) else (key,)
    if builtins.any(isinstance(k, Tensor | np.ndarray | list) for k in key):
        (first, *rest) = key
        if rest or getattr(first, "dtype", None) == "bool":
            raise GraphError(sentence("numpy.tensor_as_index"))
        return take(x, first)
    given = builtins.sum(k is not None and k is not Ellipsis for k in key)
    if given > x.ndim:
        raise GraphError(f"{given} indices for a {x.type} tensor; it has {x.ndim} axes")
    if Ellipsis not in key:
        key = (*key, Ellipsis)
    at = key.index(Ellipsis)
    key = (*key[:at], *[slice(None)] * (x.ndim - given), *key[at + 1 :])
    places: list[range] = []  # of each axis
    shape = []
    for part in key:
        if part is None:
            shape.append(1)
            continue
        size = x.shape[len(places)]
        if isinstance(part, slice):
            places.append(range(*part.indices(size)))
            shape.append(len(places[-1]))
            continue
        if isinstance(part, bool | np.bool_):
            raise GraphError(f"index {part} of a {x.type} tensor; use where for a condition")
        number = as_integer(part)
        if not -size <= number < size:
            raise GraphError(f"index {number} of an axis of size {size} in {x.type}")
        places.append(range(number % size, number % size + 1))
    backwards = tuple(axis - x.ndim for axis, span in enumerate(places) if span.step < 0)
    places = [span if span.step > 0 else span[::-1] for span in places]
    starts = tuple(span[0] if span else 0 for span in places)
    limits = tuple(span[-1] + 1 if span else 0 for span in places)
    strides = tuple(span.step for span in places)
    if limits != x.shape or builtins.any(starts) or set(strides) - {1}:
        x = unary("slice", x, starts=starts, limits=limits, strides=strides)
    return reshape(flip(x, backwards) if backwards else x, tuple(shape))


# -- methods ------------------------------------------------------------------------------------

for _name in __all__:
    globals()[_name] = checked_after(globals()[_name])


def _method(function):
    """Return a method that takes a shape, or its sizes one by one."""

    def call(self, *shape):
        one = len(shape) == 1 and not isinstance(shape[0], int)
        return function(self, *(shape if one or not shape else (shape,)))

    return _named(call, function.__name__, function.__doc__)


for _function in (abs, all, any, argmax, astype, clip, max, mean, min, squeeze, sum, swapaxes, take,
                  var):  # fmt: skip
    setattr(Tensor, _function.__name__, _function)
for _function in (reshape, transpose):
    setattr(Tensor, _function.__name__, _method(_function))
for _name, _function in {
    "__abs__": abs, "__and__": logical_and, "__getitem__": index, "__invert__": logical_not,
    "__iter__": lambda self: (self[i] for i in range(len(self))), "__matmul__": matmul,
    "__neg__": negative, "__or__": logical_or, "T": property(transpose),
    "__rmatmul__": lambda self, other: matmul(as_tensor(other, self.device), self),
}.items():  # fmt: skip
    setattr(Tensor, _name, _function)
