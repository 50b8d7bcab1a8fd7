"""From many elements to few.  Axes count from the end."""

import numpy as np

from trainium_edu.neuroncore import tilings
from trainium_edu.specs.errors import NkiValidationError
from trainium_edu.xla.graph import Type, Unfit
from trainium_edu.xla.operations.loops import dense
from trainium_edu.xla.operations.table import apply, register

__all__: list[str] = []


def _infer(x: Type, axes, keep) -> Type:
    if any(not -x.rank <= a < 0 for a in axes) or len(set(axes)) != len(axes):
        raise Unfit(f"axes must be different ones, from {-x.rank} to -1")
    gone = {a + x.rank for a in axes}
    sizes = [1 if i in gone else n for i, n in enumerate(x.shape) if keep or i not in gone]
    return x.like(tuple(sizes))


def _infer_sum(x: Type, axes, keep) -> Type:
    if x.dtype == "bool":
        raise Unfit("it takes numbers; cast it to s32 to count")
    return _infer(x, axes, keep)


def _infer_extreme(x: Type, axes, keep) -> Type:
    if any(x.shape[a] == 0 for a in axes if -x.rank <= a < 0):
        raise Unfit("there is no element of which to take the largest or smallest")
    return _infer(x, axes, keep)


# -- gradients --------------------------------------------------------------------------------


def _kept(node, g):
    """Return a gradient with the reduced axes, of size 1."""
    shape = _infer(node.inputs[0].type, node.of["axes"], True).shape
    return g if g.shape == shape else apply("reshape", g, shape=shape)


def _of_sum(node, g):
    return (apply("broadcast", _kept(node, g), shape=node.inputs[0].shape),)


def _of_extreme(node, g):
    """Share the gradient among all that are the largest."""
    x = node.inputs[0]
    chosen = apply("cast", apply("equal", x, _kept(node, node)), dtype=x.dtype)
    count = apply("reduce_sum", chosen, axes=node.of["axes"], keep=True)
    return (chosen * (_kept(node, g) / count),)


# -- instructions -----------------------------------------------------------------------------


def _groups(shape, axes):
    """Return [size, whether reduced] of neighbouring axes taken together."""
    groups: list[list] = []
    for i, size in enumerate(shape):
        is_reduced = i - len(shape) in axes
        if size == 1:
            continue
        if groups and groups[-1][1] == is_reduced:
            groups[-1][0] *= size
        else:
            groups.append([size, is_reduced])
    return groups


def _lower(op):
    def lower(lowering, node):
        core, x = lowering.core, node.inputs[0]
        groups = _groups(x.shape, node.of["axes"])
        view = dense(lowering, x, [size for size, _ in groups] or [1])
        while sum(gone for _, gone in groups) > 1:  # the last ones first, by way of HBM
            last = max(i for i, (_, gone) in enumerate(groups) if gone)
            left = [group for i, group in enumerate(groups) if i != last]
            between = "float32" if x.type.is_float else x.dtype
            part = core.hbm([size for size, _ in left], between, name=f"{node.operation} part")
            _reduce(lowering, op, part, view, last)
            groups, view = [[size, gone] for size, gone in left], part
        gone = [i for i, (_, is_gone) in enumerate(groups) if is_gone]
        if gone:
            _reduce(lowering, op, lowering.out(node), view, gone[0])
        else:
            out = lowering.out(node)
            core.dma_copy(dst=out.reshaped(*view.shape), src=view)

    return lower


def _reduce(lowering, op, dst, view, axis):
    """Reduce one axis of a view whose kept axes may be on both sides."""
    core, sizes = lowering.core, view.shape
    before = int(np.prod(sizes[:axis], dtype=int))
    inner = view.size // before // sizes[axis]
    if axis < len(sizes) - 1:
        blocks, out = dense(lowering, view, (before, sizes[axis], inner)), (before, 1, inner)
        for i in range(before):
            tilings.reduce(core, dst.reshaped(*out).sliced(i), op, blocks.sliced(i), axis=0)
        return
    try:
        parts = [(dst.reshaped(before, 1), view.reshaped(before, sizes[-1]))]
    except NkiValidationError:  # its axes lie in another order: one block after the other
        rows = dst.reshaped(sizes[0], before // sizes[0], 1)
        parts = [(rows.sliced(i), dense(lowering, view.sliced(i), (before // sizes[0], sizes[-1])))
                 for i in range(sizes[0])]  # fmt: skip
    for there, here in parts:
        tilings.reduce(core, there, op, here)


def _lower_argmax(lowering, node):
    """Find the largest of each row, then its first place: two instructions for a short row."""
    x, axis = node.inputs[0], node.of["axis"]
    core, view = lowering.core, lowering.view(x)
    order = [i for i in range(x.type.rank) if i != axis + x.type.rank] + [axis + x.type.rank]
    rows = x.type.size // x.shape[axis]
    view = dense(lowering, view.permuted(*order), (rows, x.shape[axis]))
    tilings.argmax(core, lowering.out(node).reshaped(rows, 1), view)


# -- the rows ---------------------------------------------------------------------------------


def _value(function):
    def value(node, x):
        return function.reduce(x, node.of["axes"], keepdims=node.of["keep"], dtype=x.dtype)

    return value


def _work(node):
    return node.inputs[0].type.size


register("reduce_sum", _infer_sum, value=_value(np.add), vjp=_of_sum, flops=_work,
         lower=_lower("add"))  # fmt: skip
register("reduce_max", _infer_extreme, value=_value(np.maximum), vjp=_of_extreme, flops=_work,
         lower=_lower("maximum"))  # fmt: skip
register("reduce_min", _infer_extreme, value=_value(np.minimum), vjp=_of_extreme, flops=_work,
         lower=_lower("minimum"))  # fmt: skip
register(
    "argmax", lambda x, axis: _infer_extreme(x, (axis,), False).like(dtype="int32"),
    value=lambda node, x: np.argmax(x, node.of["axis"]).astype(np.int32),
    vjp=lambda node, g: (None,), flops=_work, lower=_lower_argmax,
)  # fmt: skip
