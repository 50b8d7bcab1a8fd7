"""Operations of all ranks together.  The ``Setting`` has what moves and sums.

``Setting.collectives`` has a method of each operation's name, called with (flat, node, draw).
`flat` is [ranks, elements], in the carrier dtype, and must not be written to.  `draw` counts
operations over all executions, so that each may draw other random bits.  The method returns one
row per rank, or one row for all where they cannot differ.  A world of one needs no collectives.
``groups`` are the ranks that take part together, as tuples; None is one group of all.  ``world`` is
a group's size.

An ``all_reduce`` of several tensors is one message, a *bucket*: nothing is copied together on the
chip.  So are a ``reduce_scatter`` along no axis and an ``all_gather`` into several `shapes`: there
a rank's part is a vector, and zeros after the bucket's end make all parts equally long.

In an ``all_to_all`` part d of an axis goes to rank d, and takes the place of the part that rank d
sends.  In a ``collective_permute`` the `pairs` say which rank's tensor goes to which; the
other ranks get zeros.
"""

import numpy as np

from trainium_edu.xla.graph import GraphError, Type, Unfit
from trainium_edu.xla.operations.control import items
from trainium_edu.xla.operations.table import apply, carrier, register
from trainium_edu.xla.refusals import sentence

__all__ = ["check_pairs"]

_KINDS = ("sum", "mean", "max", "min")


def _check(x: Type, kind, groups, axis=None, world=1, is_cut=False):
    if kind not in _KINDS:
        raise Unfit(f"kind must be one of {', '.join(_KINDS)}")
    if groups is not None:
        ranks = [rank for group in groups for rank in group]
        if len({len(group) for group in groups}) != 1 or len(set(ranks)) != len(ranks):
            raise Unfit("groups must have one size, and name each rank at most once")
        if axis is not None and len(groups[0]) != world:
            raise Unfit(f"groups of {len(groups[0])} ranks, but world is {world}")
    if axis is not None and (not -x.rank <= axis < 0 or world < 1):
        raise Unfit("it takes an axis counted from the end, and one rank or more")
    if is_cut and x.shape[axis] % world:
        raise Unfit(f"{x.shape[axis]} elements do not split into {world} equal parts")


def _check_bucket(types):
    if len({x.dtype for x in types}) != 1:
        raise Unfit("a bucket is of one dtype; reduce the others in a call of their own")


def _width(types, world) -> int:
    """Return the elements of one rank's part of a bucket."""
    return -(-sum(type.size for type in types) // world)


def _infer_reduce(*types: Type, kind, groups=None, scale=1.0) -> Type | tuple[Type, ...]:
    for x in types:
        _check(x, kind, groups)
    _check_bucket(types)
    return types if len(types) > 1 else types[0]


def _infer_gather(x: Type, world, axis=None, groups=None, shapes=()) -> Type | tuple[Type, ...]:
    _check(x, "sum", groups, axis, world)
    if axis is not None:
        return x.like(tuple(n * world if i == axis + x.rank else n for i, n in enumerate(x.shape)))
    types = tuple(x.like(shape) for shape in shapes)
    if x.shape != (_width(types, world),):
        raise Unfit(f"a part has the shape ({_width(types, world)},)")
    return types if len(types) > 1 else types[0]


def _infer_scatter(*types: Type, kind, world, axis=None, groups=None) -> Type:
    x = types[0]
    _check(x, kind, groups, axis, world, axis is not None)
    if axis is None:
        _check_bucket(types)
        return x.like((_width(types, world),))
    return x.like(tuple(n // world if i == axis + x.rank else n for i, n in enumerate(x.shape)))


def _infer_exchange(x: Type, world, axis, groups=None) -> Type:
    _check(x, "sum", groups, axis, world, True)
    return x


def _infer_permute(x: Type, world, pairs, groups=None) -> Type:
    check_pairs(world, pairs)
    return x


def check_pairs(world: int, pairs) -> None:
    """Refuse pairs by which a rank would send or get two tensors, or that name another rank."""
    apart = all(len({*side} & {*range(world)}) == len(pairs) for side in zip(*pairs, strict=False))
    if not apart or any(len(pair) != 2 for pair in pairs):
        raise GraphError(sentence("collectives.pairs", world=world, pairs=[*pairs], last=world - 1))


def _value(node, inner, *arrays):
    """Lay the operands of each rank in one row, let the row be reduced, and take it apart again."""
    setting, groups = inner.setting, node.of.get("groups")
    is_alone = groups is not None and len(groups[0]) == 1
    if setting.collectives is None and not is_alone:
        if setting.replicas not in (None, 1) or node.of.get("world", 1) != 1:
            raise RuntimeError(sentence("collectives.no_collectives", node=node))
        is_alone = True
    ranks, axis = setting.replicas or 1, node.of.get("axis")
    if is_alone and node.of.get("pairs") == ():
        return np.zeros_like(arrays[0])
    if is_alone and (axis is not None or node.operation in ("all_reduce", "collective_permute")):
        return arrays if len(arrays) > 1 else arrays[0]
    types = [one.type for one in node.inputs]
    is_scatter = axis is None and node.operation == "reduce_scatter"
    if axis is not None:
        arrays = [np.moveaxis(arrays[0], axis, arrays[0].ndim - types[0].rank)]
    width = node.of["world"] * node.type.size if is_scatter else 0
    flat = _in_rows(ranks, types, arrays, width)
    draw = setting.step * 2**20 + inner.number
    if is_alone:
        out = flat if setting.replicas else flat[0]
    else:
        out = getattr(setting.collectives, node.operation)(flat, node, draw)
    if node.of.get("scale", 1.0) != 1.0:
        out = (out * np.float32(node.of["scale"])).astype(out.dtype, copy=False)
    if axis is not None:
        shape = np.moveaxis(np.empty(node.type.shape, bool), axis, 0).shape
        out = out.reshape(*out.shape[:-1], *shape)
        return np.ascontiguousarray(np.moveaxis(out, -len(shape), axis))
    if is_scatter:
        return out
    parts, begin = [], 0
    for type in node.types:
        part = out[..., begin : begin + type.size]
        parts.append(part.reshape((*out.shape[:-1], *type.shape)))
        begin += type.size
    return tuple(parts) if len(parts) > 1 else parts[0]


def _in_rows(ranks, types, arrays, width) -> np.ndarray:
    """Return the operands of each rank one after the other, and zeros up to `width`.

    One operand comes as it lies there, and so do several that lie like this already.
    """
    elements = sum(type.size for type in types)
    if len(arrays) == 1 and arrays[0].ndim > types[0].rank and elements >= width:
        return arrays[0].reshape(ranks, -1)
    if elements >= width and _lie_in_rows(ranks, types, arrays, elements):
        return arrays[0].base
    flat = np.empty((ranks, max(elements, width)), carrier(types[0].dtype))
    flat[:, elements:] = 0
    begin = 0
    for type, array in zip(types, arrays, strict=True):
        shape = array.shape[array.ndim - type.rank :]
        np.copyto(flat[:, begin : begin + type.size].reshape((ranks, *shape)), array)
        begin += type.size
    return flat


def _lie_in_rows(ranks, types, arrays, elements) -> bool:
    """Return whether operands are columns of one array, in their order."""
    base, begin = arrays[0].base, 0
    if base is None or base.shape != (ranks, elements) or not base.flags.c_contiguous:
        return False
    first = base.__array_interface__["data"][0]
    for type, array in zip(types, arrays, strict=True):
        at = array.__array_interface__["data"][0]
        if array.base is not base or at != first + begin * base.itemsize:
            return False
        if array.shape != (ranks, *type.shape) or array.strides[0] != base.strides[0]:
            return False
        begin += type.size
    return True


def _reduce_back(node, g, gradients):
    if node.of["kind"] not in ("sum", "mean"):
        raise GraphError(f"all_reduce of kind {node.of['kind']!r} has no gradient; use sum or mean")
    return tuple(items(apply("all_reduce", *items(g), **node.of)))


def _check_axis(node):
    if node.of.get("axis") is None:
        raise GraphError(f"{node.operation} of a bucket has no gradient; give it an axis")


def _gather_back(node, g, gradients):
    _check_axis(node)
    return (apply("reduce_scatter", g, kind="sum", **node.of),)


def _scatter_back(node, g, gradients):
    _check_axis(node)
    of = dict(node.of)
    kind = of.pop("kind")
    if kind != "sum":
        raise GraphError(f"reduce_scatter of kind {kind!r} has no gradient; use sum")
    return (apply("all_gather", g, **of),)


def _permute_back(node, g, gradients):
    back = tuple((target, source) for source, target in node.of["pairs"])
    return (apply("collective_permute", g, **node.of | {"pairs": back}),)


def _lower(lowering, node):
    """Leave the time to what knows the links; tensors of the same size stay in their place."""
    lowering.collectives.append(node)
    views = tuple(map(lowering.view, node.inputs))
    if node.operation == "all_reduce" or node.type == node.inputs[0].type:
        lowering.alias(node, views if len(views) > 1 else views[0])
    else:
        lowering.out(node)


def _flops(node):
    is_move = node.operation in ("all_gather", "all_to_all", "collective_permute")
    return 0 if is_move else sum(one.type.size for one in node.inputs)


_SAME = {"value": _value, "lower": _lower, "flops": _flops, "outside": True}
register("all_reduce", _infer_reduce, vjp=_reduce_back, **_SAME)
register("all_gather", _infer_gather, vjp=_gather_back, **_SAME)
register("reduce_scatter", _infer_scatter, vjp=_scatter_back, **_SAME)
register("all_to_all", _infer_exchange, **_SAME,
         vjp=lambda node, g, gradients: (apply("all_to_all", g, **node.of),))  # fmt: skip
register("collective_permute", _infer_permute, vjp=_permute_back, **_SAME)
