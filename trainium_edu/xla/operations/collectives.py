"""Operations of all ranks together.  Who moves and sums is handed in with the ``Setting``.

``Setting.collectives`` has a method of each operation's name, called with (array, node): the array
has a leading axis of replicas.  A world of one needs nobody.  ``groups`` are the ranks that take
part together, as tuples; None is one group of all.  ``world`` is a group's size.
"""

import numpy as np

from trainium_edu.xla.graph import GraphError, Type
from trainium_edu.xla.operations.table import apply, register

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


def _infer_reduce(x: Type, kind, groups=None) -> Type:
    _check("all_reduce", x, kind, groups)
    return x


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


def _value(node, inner, x):
    setting, groups = inner.setting, node.of.get("groups")
    if groups is not None and len(groups[0]) == 1:
        return x
    if setting.collectives is None:
        if setting.replicas in (None, 1) and node.of.get("world", 1) == 1:
            return x
        where = f" at {node.line}" if node.line else ""
        raise RuntimeError(
            f"{node.operation}{where} needs other ranks, and no collectives were given to "
            "reach them; run it inside a training world"
        )
    if x.ndim == node.inputs[0].type.rank:  # the same on all replicas
        x = np.broadcast_to(x, (setting.replicas or 1, *x.shape))
    return getattr(setting.collectives, node.operation)(x, node)


def _reduce_back(node, g, gradients):
    if node.of["kind"] not in ("sum", "mean"):
        raise GraphError(f"all_reduce of kind {node.of['kind']!r} has no gradient; use sum or mean")
    return (apply("all_reduce", g, **node.of),)


def _gather_back(node, g, gradients):
    return (apply("reduce_scatter", g, kind="sum", **node.of),)


def _scatter_back(node, g, gradients):
    of = dict(node.of)
    kind = of.pop("kind")
    if kind != "sum":
        raise GraphError(f"reduce_scatter of kind {kind!r} has no gradient; use sum")
    return (apply("all_gather", g, **of),)


def _lower(lowering, node):
    """Leave the time to whoever knows the links; a tensor of the same size stays in its place."""
    lowering.collectives.append(node)
    x = node.inputs[0]
    if node.type == x.type:
        lowering.alias(node, lowering.view(x))
    else:
        lowering.out(node)


def _flops(node):
    return 0 if node.operation == "all_gather" else node.inputs[0].type.size


_SAME = {"value": _value, "lower": _lower, "flops": _flops, "outside": True}
register("all_reduce", _infer_reduce, vjp=_reduce_back, **_SAME)
register("all_gather", _infer_gather, vjp=_gather_back, **_SAME)
register("reduce_scatter", _infer_scatter, vjp=_scatter_back, **_SAME)
