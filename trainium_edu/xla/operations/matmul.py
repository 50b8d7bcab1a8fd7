"""Products of matrices, batched too; an operand may be stored transposed.

An attribute `dtype` is that of the result where it is not the operands': sums in PSUM are FP32.
"""

import numpy as np

from trainium_edu.neuroncore import tilings
from trainium_edu.xla.graph import Node, Type, Unfit
from trainium_edu.xla.operations.table import apply, check_dtypes, register
from trainium_edu.xla.operations.turns import turns

__all__: list[str] = []


def _infer(a: Type, b: Type, turn_a: bool, turn_b: bool, dtype: str | None = None) -> Type:
    if a.rank < 2 or a.rank != b.rank or a.shape[:-2] != b.shape[:-2]:
        raise Unfit("both need the same batch axes and two more")
    m, k = a.shape[-2:] if not turn_a else (a.shape[-1], a.shape[-2])
    k2, n = b.shape[-2:] if not turn_b else (b.shape[-1], b.shape[-2])
    if k != k2:
        raise Unfit(f"the inner sizes are {k} and {k2}, and must be equal")
    check_dtypes("float", a, b)
    return a.like((*a.shape[:-2], m, n), dtype)


def _value(node, a, b):
    turn_a, turn_b = node.of["turn_a"], node.of["turn_b"]
    a, b = (x.swapaxes(-1, -2) if turned else x for x, turned in ((a, turn_a), (b, turn_b)))
    return np.matmul(a, b)


def _product(a, b, turn_a=False, turn_b=False):
    return apply("dot", a, b, turn_a=turn_a, turn_b=turn_b)


def _vjp(node, g: Node):
    (a, b), turn_a, turn_b = node.inputs, node.of["turn_a"], node.of["turn_b"]
    g = g if g.dtype == a.dtype else apply("cast", g, dtype=a.dtype)
    of_a = _product(b, g, turn_b, True) if turn_a else _product(g, b, False, not turn_b)
    of_b = _product(g, a, True, turn_a) if turn_b else _product(a, g, not turn_a, False)
    return of_a, of_b


def _lower(lowering, node):
    """Issue one product per batch: [K, M] is what the array holds, so a turned `a` lies ready."""
    views = map(lowering.loaded, node.inputs)
    for out, left, right in turns(lowering.core, lowering.out(node), *views):
        tilings.matmul(
            lowering.core, out, left, right, stationary_layout="KM" if node.of["turn_a"] else "MK",
            moving_layout="NK" if node.of["turn_b"] else "KN",
            dtype=node.inputs[0].dtype,
        )  # fmt: skip


def _flops(node):
    a = node.inputs[0]
    return 2 * node.type.size * a.shape[-2 if node.of["turn_a"] else -1]


register("dot", _infer, value=_value, vjp=_vjp, lower=_lower, flops=_flops)
