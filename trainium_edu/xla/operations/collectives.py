"""Operations of all ranks together.  Who moves and sums is handed in with the ``Setting``.

``Setting.collectives`` has a method of each operation's name, called with (flat, node): flat is
float32[ranks, elements], an array of its own that may be written to.  It returns one row per rank,
or one row for all where they cannot differ.  A world of one needs nobody.  ``groups`` are the ranks
that take part together, as tuples; None is one group of all.  ``world`` is a group's size.

An ``all_reduce`` of several tensors is one message, a *bucket*: nothing is copied together on the
chip.
"""

import numpy as np

from trainium_edu.xla.graph import GraphError, Type
from trainium_edu.xla.operations.control import item
from trainium_edu.xla.operations.table import apply, carrier, register

__all__: list[str] = []

_KINDS = ("sum", "mean", "max", "min")


def _check(name, x: Type, kind, groups, axis=None, world=1):
    if kind not in _KINDS:
        raise GraphError(f"{name}: kind is {kind!r}; it must be one of {', '.join(_KINDS)}")
    if groups is not None:
        ranks = [rank for group in groups for rank in group]
        if len({len(group) for group in groups}) != 1 or len(set(ranks)) != len(ranks):
            raise GraphError(
                f"{name}: groups {groups} must have one size, and name each rank at most once"
            )
        if axis is not None and len(groups[0]) != world:
            raise GraphError(f"{name}: groups of {len(groups[0])} ranks, but world is {world}")
    if axis is not None and (not -x.rank <= axis < 0 or world < 1):
        raise GraphError(
            f"{name} of {x} along axis {axis} among {world}: it takes an axis counted from the "
            "end, and one rank or more"
        )


def _infer_reduce(*types: Type, kind, groups=None, scale=1.0) -> Type | tuple[Type, ...]:
    for x in types:
        _check("all_reduce", x, kind, groups)
    if len({x.dtype for x in types}) != 1:
        raise GraphError(
            f"all_reduce of {' and '.join(map(str, types))}: a bucket is of one dtype; reduce the "
            "others in a call of their own"
        )
    return types if len(types) > 1 else types[0]


def _infer_gather(x: Type, axis, world, groups=None) -> Type:
    _check("all_gather", x, "sum", groups, axis, world)
    return x.like(tuple(n * world if i == axis + x.rank else n for i, n in enumerate(x.shape)))


def _infer_scatter(x: Type, kind, axis, world, groups=None) -> Type:
    _check("reduce_scatter", x, kind, groups, axis, world)
    if x.shape[axis] % world:
        raise GraphError(
            f"reduce_scatter of {x} along axis {axis}: {x.shape[axis]} elements do not split into "
            f"{world} equal parts"
        )
    return x.like(tuple(n // world if i == axis + x.rank else n for i, n in enumerate(x.shape)))


def _value(node, inner, *arrays):
    """Lay the operands of each rank in one row, let the row be reduced, and take it apart again."""
    setting, groups = inner.setting, node.of.get("groups")
    is_alone = groups is not None and len(groups[0]) == 1
    if setting.collectives is None and not is_alone:
        if setting.replicas not in (None, 1) or node.of.get("world", 1) != 1:
            where = f" at {node.line}" if node.line else ""
            raise RuntimeError(
                f"{node.operation}{where} needs other ranks, and no collectives were given to "
                "reach them; run it inside a training world"
            )
        is_alone = True
    if is_alone:
        return arrays if len(arrays) > 1 else arrays[0]
    ranks, axis = setting.replicas or 1, node.of.get("axis")
    types = [one.type for one in node.inputs]
    flat = np.empty((ranks, sum(type.size for type in types)), np.float32)
    begin = 0
    for type, array in zip(types, arrays, strict=True):
        if axis is not None:
            array = np.moveaxis(array, axis, array.ndim - type.rank)
        shape = array.shape[array.ndim - type.rank :]
        room = flat[:, begin : begin + type.size].reshape(ranks, *shape)
        np.copyto(room, array)
        begin += type.size
    out = getattr(setting.collectives, node.operation)(flat, node)
    if node.of.get("scale", 1.0) != 1.0:
        out = out * np.float32(node.of["scale"])
    if not types[0].is_float:
        out = out.astype(carrier(types[0].dtype))
    if axis is not None:
        shape = np.moveaxis(np.empty(node.type.shape, bool), axis, 0).shape
        out = out.reshape((*out.shape[:-1], *shape))
        return np.ascontiguousarray(np.moveaxis(out, -len(shape), axis))
    parts, begin = [], 0
    for type in types:
        part = out[..., begin : begin + type.size]
        parts.append(part.reshape((*out.shape[:-1], *type.shape)))
        begin += type.size
    return tuple(parts) if len(parts) > 1 else parts[0]


def _reduce_back(node, g, gradients):
    if node.of["kind"] not in ("sum", "mean"):
        raise GraphError(f"all_reduce of kind {node.of['kind']!r} has no gradient; use sum or mean")
    if len(node.inputs) == 1:
        return (apply("all_reduce", g, **node.of),)
    back = apply("all_reduce", *(item(g, i) for i in range(len(node.inputs))), **node.of)
    return tuple(item(back, i) for i in range(len(node.inputs)))


def _gather_back(node, g, gradients):
    return (apply("reduce_scatter", g, kind="sum", **node.of),)


def _scatter_back(node, g, gradients):
    of = dict(node.of)
    kind = of.pop("kind")
    if kind != "sum":
        raise GraphError(f"reduce_scatter of kind {kind!r} has no gradient; use sum")
    return (apply("all_gather", g, **of),)


def _lower(lowering, node):
    """Leave the time to whoever knows the links; tensors of the same size stay in their place."""
    lowering.collectives.append(node)
    views = tuple(map(lowering.view, node.inputs))
    if len(views) > 1:
        lowering.alias(node, views)
    elif node.type == node.inputs[0].type:
        lowering.alias(node, views[0])
    else:
        lowering.out(node)


def _flops(node):
    return 0 if node.operation == "all_gather" else sum(one.type.size for one in node.inputs)


_SAME = {"value": _value, "lower": _lower, "flops": _flops, "outside": True}
register("all_reduce", _infer_reduce, vjp=_reduce_back, **_SAME)
register("all_gather", _infer_gather, vjp=_gather_back, **_SAME)
register("reduce_scatter", _infer_scatter, vjp=_scatter_back, **_SAME)
