"""Other shapes, places and orders for the same elements.  Axes count from the end."""

from math import prod

import numpy as np

from trainium_edu.xla.graph import Node, Type, Unfit, as_type
from trainium_edu.xla.operations.loops import dense
from trainium_edu.xla.operations.moves import count, fill, permute
from trainium_edu.xla.operations.table import apply, carrier, constant, register, sum_to
from trainium_edu.xla.operations.tiles import spread

__all__ = ["zeros"]


def zeros(type: Type) -> Node:
    """Return a constant zero, stretched to a type."""
    zero = constant(np.zeros((1,) * type.rank), type.dtype)
    return zero if zero.type == type else apply("broadcast", zero, shape=type.shape)


def _lead(array, type: Type) -> tuple[int, ...]:
    """Return the sizes of an array's axes beyond those of its type: replicas."""
    return array.shape[: array.ndim - type.rank]


# -- reshape ----------------------------------------------------------------------------------


def _infer_reshape(x: Type, shape) -> Type:
    if prod(shape) != x.size:
        raise Unfit(f"{x.size} elements cannot become {prod(shape)}")
    return x.like(shape)


register(
    "reshape", _infer_reshape, flops=lambda node: 0,
    value=lambda node, x: x.reshape((*_lead(x, node.inputs[0].type), *node.shape)),
    vjp=lambda node, g: (apply("reshape", g, shape=node.inputs[0].shape),),
    lower=lambda lowering, node: lowering.alias(
        node, dense(lowering, node.inputs[0], node.shape or (1,))
    ),
)  # fmt: skip


# -- broadcast: axes of size 1, repeated ------------------------------------------------------


def _infer_broadcast(x: Type, shape) -> Type:
    fits = len(shape) == x.rank
    if not fits or any(n not in (1, m) for n, m in zip(x.shape, shape, strict=True)):
        raise Unfit("ranks must be equal, and sizes that change must be 1 before; reshape first")
    return x.like(shape)


def _tile_broadcast(core, node, out, x):
    core.tensor_copy(dst=out, src=spread(core, x, out, None if node.type.is_float else node.dtype))


register(
    "broadcast", _infer_broadcast,
    value=lambda node, x: np.broadcast_to(x, x.shape[: x.ndim - node.type.rank] + node.shape),
    vjp=lambda node, g: (sum_to(g, node.inputs[0].type),), flops=lambda node: 0,
    tile=_tile_broadcast,
    lower=lambda lowering, node: lowering.alias(
        node, lowering.view(node.inputs[0]).broadcast(*(node.shape or (1,)))
    ),
)  # fmt: skip


# -- transpose --------------------------------------------------------------------------------


def _infer_transpose(x: Type, perm) -> Type:
    if sorted(perm) != list(range(-x.rank, 0)):
        raise Unfit(f"perm must name each axis from {-x.rank} to -1 once")
    return x.like(tuple(x.shape[axis] for axis in perm))


def _transpose(node, x):
    kept = range(x.ndim - node.type.rank)
    return x.transpose(*kept, *(axis + x.ndim for axis in node.of["perm"]))


def _transpose_back(node, g):
    perm = node.of["perm"]
    back = sorted(range(-len(perm), 0), key=lambda axis: perm[axis])
    return (apply("transpose", g, perm=tuple(back)),)


def _lower_transpose(lowering, node):
    """Only look at it otherwise as long as rows stay rows."""
    rank, perm = node.type.rank, node.of["perm"]
    turned = lowering.view(node.inputs[0])
    if rank:
        turned = turned.permuted(*(axis + rank for axis in perm))
    if not rank or perm[-1] == -1:
        lowering.alias(node, turned)
    else:
        permute(lowering.core, lowering.out(node), turned)


register("transpose", _infer_transpose, value=_transpose, vjp=_transpose_back,
         lower=_lower_transpose, flops=lambda node: 0)  # fmt: skip


# -- slice and pad: each the other's gradient -------------------------------------------------


def _infer_slice(x: Type, starts, limits, strides) -> Type:
    if not len(starts) == len(limits) == len(strides) == x.rank:
        raise Unfit("it needs a start, a limit and a stride for each axis")
    sizes = []
    for axis, (start, limit, stride) in enumerate(zip(starts, limits, strides, strict=True)):
        size = x.shape[axis]
        if not 0 <= start <= limit <= size or stride < 1:
            part = f"{start}:{limit}:{stride} on axis {axis}"
            raise Unfit(f"{part} does not lie in 0 to {size}, going up")
        sizes.append(-(-(limit - start) // stride))
    return x.like(tuple(sizes))


def _parts(node) -> tuple[slice, ...]:
    of = node.of
    return tuple(map(slice, of["starts"], of["limits"], of["strides"]))


def _slice_back(node, g):
    """Spread the gradient by its strides (a new axis padded with zeros), then pad it."""
    of, x = node.of, node.inputs[0]
    strides = of["strides"]
    if any(stride > 1 for stride in strides):
        sizes = [n for pair in zip(g.shape, strides, strict=True) for n in (pair[0], 1)]
        g = apply("reshape", g, shape=tuple(sizes))
        none = (0,) * len(sizes)
        gaps = tuple(n for stride in strides for n in (0, stride - 1))
        g = apply("pad", g, low=none, high=gaps, value=0.0)
        spread = tuple(n * s for n, s in zip(node.shape, strides, strict=True))
        g = apply("reshape", g, shape=spread)
        ends = tuple(map(min, spread, (n - s for n, s in zip(x.shape, of["starts"], strict=True))))
        g = _cut_out(g, [slice(0, end) for end in ends])
    high = tuple(
        n - start - have for n, start, have in zip(x.shape, of["starts"], g.shape, strict=True)
    )
    return (apply("pad", g, low=of["starts"], high=high, value=0.0),)


def _lower_slice(lowering, node):
    view = lowering.view(node.inputs[0])
    lowering.alias(node, view.sliced(*_parts(node)) if node.type.rank else view)


register(
    "slice", _infer_slice, value=lambda node, x: x[(..., *_parts(node))], vjp=_slice_back,
    lower=_lower_slice, flops=lambda node: 0,
)  # fmt: skip


def _infer_pad(x: Type, low, high, value) -> Type:
    if not len(low) == len(high) == x.rank or min((*low, *high), default=0) < 0:
        raise Unfit("it takes two numbers from 0 for each axis")
    return x.like(tuple(a + n + b for a, n, b in zip(low, x.shape, high, strict=True)))


def _inside(node) -> tuple[slice, ...]:
    """Return where the padded tensor lies in the result."""
    x = node.inputs[0]
    return tuple(slice(low, low + n) for low, n in zip(node.of["low"], x.shape, strict=True))


def _pad(node, x):
    out = np.full((*_lead(x, node.inputs[0].type), *node.shape), node.of["value"], x.dtype)
    out[(..., *_inside(node))] = x
    return out


def _cut_out(x, place):
    """Return the part of a node that lies in a place, a slice for each axis."""
    starts, limits = (tuple(getattr(p, end) for p in place) for end in ("start", "stop"))
    return apply("slice", x, starts=starts, limits=limits, strides=(1,) * len(place))


def _lower_pad(lowering, node):
    """Fill the borders, axis by axis (all of it where rows get longer), and copy the rest."""
    core, out, x = lowering.core, lowering.out(node), lowering.view(node.inputs[0])
    inside, value = _inside(node) or (slice(0, 1),), node.of["value"]
    if out.shape[-1] > x.shape[-1] and x.size > x.shape[-1]:  # borders would be very short runs
        fill(core, out, value)
    else:
        for axis, part in enumerate(inside):
            for border in (slice(0, part.start), slice(part.stop, out.shape[axis])):
                if border.start < border.stop:
                    fill(core, out.sliced(*inside[:axis], border), value)
    core.dma_copy(dst=out.sliced(*inside), src=x)


register("pad", _infer_pad, value=_pad, vjp=lambda node, g: (_cut_out(g, _inside(node)),),
         lower=_lower_pad, flops=lambda node: 0)  # fmt: skip


# -- concatenate ------------------------------------------------------------------------------


def _infer_concatenate(*types: Type, axis) -> Type:
    if not types or not -types[0].rank <= axis < 0:
        raise Unfit("it takes one tensor or more, and an axis counted from the end")
    alike = {(t.rank, t.dtype, t.shape[:axis], t.shape[axis:][1:]) for t in types}
    if len(alike) > 1:
        raise Unfit("dtype and the other axes must be equal")
    ((_, dtype, before, after),) = alike
    return Type((*before, sum(t.shape[axis] for t in types), *after), dtype)


def _concatenate(node, *arrays):
    ranks = [i.type for i in node.inputs]
    leads = {_lead(a, t) for a, t in zip(arrays, ranks, strict=True)}
    if len(leads) > 1:  # some are the same for all replicas
        lead = max(leads)
        arrays = [np.broadcast_to(a, (*lead, *t.shape)) for a, t in zip(arrays, ranks, strict=True)]
    return np.concatenate(arrays, node.of["axis"])


def _along(node) -> list[tuple[slice, ...]]:
    """Return where each input lies in the result."""
    axis, start, places = node.of["axis"] + node.type.rank, 0, []
    for one in node.inputs:
        end = start + one.shape[axis]
        places.append(
            tuple(slice(start, end) if i == axis else slice(0, n) for i, n in enumerate(one.shape))
        )
        start = end
    return places


def _lower_concatenate(lowering, node):
    out = lowering.out(node)
    for one, place in zip(node.inputs, _along(node), strict=True):
        if one.type.size:
            lowering.core.dma_copy(dst=out.sliced(*place), src=lowering.view(one))


register("concatenate", _infer_concatenate, value=_concatenate, flops=lambda node: 0,
         vjp=lambda node, g: tuple(_cut_out(g, place) for place in _along(node)),
         lower=_lower_concatenate)  # fmt: skip


# -- iota -------------------------------------------------------------------------------------


def _infer_iota(shape, axis, dtype) -> Type:
    if not -len(shape) <= axis < 0 or dtype == "bool":
        raise Unfit("it counts in numbers, along an axis counted from the end")
    return as_type(shape, dtype)


def _iota(node):
    axis, shape = node.of["axis"], node.shape
    count = np.arange(shape[axis], dtype=carrier(node.dtype))
    return np.broadcast_to(count.reshape(-1, *(1,) * (-1 - axis)), shape)


register(
    "iota", _infer_iota, value=_iota, vjp=lambda node, g: (), flops=lambda node: 0,
    lower=lambda lowering, node: count(
        lowering.core, lowering.out(node), node.of["axis"] + node.type.rank
    ),
)  # fmt: skip
