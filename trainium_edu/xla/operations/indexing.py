"""Where data name the place: rows of a table, one element per row, sums into rows, one-hot."""

from math import prod

import numpy as np

from trainium_edu.xla.graph import GraphError, Type, as_type
from trainium_edu.xla.operations.shapes import zeros
from trainium_edu.xla.operations.table import apply, carrier, register

__all__: list[str] = []


def _need_indices(name, indices: Type):
    if indices.dtype not in ("int32", "uint32"):
        raise GraphError(f"{name}: the indices are {indices}; cast them to int32")


def _inside(node, indices, limit):
    """Return indices, and raise for the first one that is not from 0 to ``limit - 1``."""
    wrong = (indices < 0) | (indices >= limit)
    if wrong.any():
        where = f" at {node.line}" if node.line else ""
        raise IndexError(
            f"{node.operation}{where}: index {indices[wrong][0]} is out of range, the axis has "
            f"{limit} elements (%{node.number})"
        )
    return indices


# -- gather and scatter_add: each the other's gradient ----------------------------------------


def _infer_gather(table: Type, indices: Type) -> Type:
    _need_indices("gather", indices)
    if not table.rank:
        raise GraphError(f"gather from {table}: a scalar has no rows")
    return table.like((*indices.shape, *table.shape[1:]))


def _gather(node, table, indices):
    return table[_inside(node, indices, table.shape[0])]


def _gather_back(node, g):
    table, indices = node.inputs
    return apply("scatter_add", zeros(table.type), indices, g), None


register("gather", _infer_gather, value=_gather, vjp=_gather_back, flops=lambda node: 0,
         by_replica=True)  # fmt: skip


def _infer_scatter_add(operand: Type, indices: Type, updates: Type) -> Type:
    _need_indices("scatter_add", indices)
    wanted = (*indices.shape, *operand.shape[1:])
    if not operand.rank or updates != operand.like(wanted):
        raise GraphError(
            f"scatter_add of {updates} to rows {indices} of {operand}: the updates must be "
            f"{operand.dtype}{list(wanted)}, one row for each index"
        )
    return operand


def _scatter_add(node, operand, indices, updates):
    """Add rows in the order of their indices: sorted, then summed run by run."""
    rows = _inside(node, indices, operand.shape[0]).reshape(-1)
    out = operand.copy()
    if rows.size:
        order = np.argsort(rows, kind="stable")
        place, first = np.unique(rows[order], return_index=True)
        updates = updates.reshape(rows.size, -1)[order]
        sums = np.add.reduceat(updates, first, axis=0)
        out[place] += sums.reshape(place.size, *operand.shape[1:])
    return out


register(
    "scatter_add", _infer_scatter_add, value=_scatter_add, by_replica=True,
    vjp=lambda node, g: (g, None, apply("gather", g, node.inputs[1])),
    flops=lambda node: node.inputs[2].type.size,
)  # fmt: skip


# -- one element per row ----------------------------------------------------------------------


def _infer_pick(x: Type, indices: Type) -> Type:
    _need_indices("pick", indices)
    if not x.rank or indices.shape != x.shape[:-1]:
        raise GraphError(f"pick from {x} by {indices}: it takes one index for each row")
    return x.like(indices.shape)


def _pick(node, x, indices):
    picked = np.take_along_axis(x, _inside(node, indices, x.shape[-1])[..., None], -1)
    return picked[..., 0]


def _pick_back(node, g):
    x, indices = node.inputs
    hot = apply("one_hot", indices, classes=x.shape[-1], dtype=x.dtype)
    column = apply("reshape", g, shape=(*g.shape, 1))
    return apply("multiply", hot, column), None


register("pick", _infer_pick, value=_pick, vjp=_pick_back, flops=lambda node: 0,
         by_replica=True)  # fmt: skip


def _infer_one_hot(indices: Type, classes, dtype) -> Type:
    _need_indices("one_hot", indices)
    return as_type((*indices.shape, classes), dtype)


def _one_hot(node, indices):
    classes = node.shape[-1]
    flat = _inside(node, indices, classes).reshape(-1)
    out = np.zeros((prod(indices.shape), classes), carrier(node.dtype))
    out[np.arange(flat.size), flat] = 1
    return out.reshape(*indices.shape, classes)


register("one_hot", _infer_one_hot, value=_one_hot, vjp=lambda node, g: (None,),
         flops=lambda node: 0)  # fmt: skip
