"""Rows brought to one scale, over the last axis: softmax, its logarithm, layer norm."""

import numpy as np

from trainium_edu.neuroncore import tilings
from trainium_edu.xla.graph import Type, Unfit
from trainium_edu.xla.operations.loops import as_rows
from trainium_edu.xla.operations.table import apply, register

__all__: list[str] = []


def row_sum(x):
    """Return the sum of each row, with the last axis kept."""
    return apply("reduce_sum", x, axes=(-1,), keep=True)


def _infer(x: Type) -> Type:
    if x.rank == 0 or not x.is_float:
        raise Unfit("it takes floating-point numbers with a last axis")
    return x


# -- softmax ----------------------------------------------------------------------------------


def softmax(x: np.ndarray) -> np.ndarray:
    """Return exp(x - max) / sum over the last axis."""
    raised = np.exp(x - x.max(-1, keepdims=True))
    raised /= raised.sum(-1, keepdims=True)
    return raised


def log_softmax(x: np.ndarray) -> np.ndarray:
    """Return x - max - log(sum(exp(x - max))) over the last axis."""
    shifted = x - x.max(-1, keepdims=True)
    shifted -= np.log(np.exp(shifted).sum(-1, keepdims=True))
    return shifted


def _lower(tiling):
    def lower(lowering, node):
        tiling(lowering.core, lowering.out(node), as_rows(lowering, node.inputs[0]))

    return lower


for _name, _function, _tiling, _vjp in (
    ("softmax", softmax, tilings.softmax, lambda node, g: (node * (g - row_sum(g * node)),)),
    ("log_softmax", log_softmax, tilings.log_softmax,
     lambda node, g: (g - apply("exp", node) * row_sum(g),)),
):  # fmt: skip
    register(
        _name, _infer, value=lambda node, x, function=_function: function(x), vjp=_vjp,
        flops=lambda node: 5 * node.type.size, lower=_lower(_tiling),
    )  # fmt: skip


# -- layer norm -------------------------------------------------------------------------------


def _infer_layer_norm(x: Type, weight: Type, bias: Type, eps) -> Type:
    each = _infer(x).like(x.shape[-1:])
    if weight != each or bias != each:
        raise Unfit(f"weight and bias: both must be {each}, one number for each place of the last "
                    "axis")  # fmt: skip
    return x


def _value_layer_norm(node, x, weight, bias):
    between = (1,) * (node.type.rank - 1)  # a replica's own weight belongs to its rows
    weight, bias = (v.reshape(*v.shape[:-1], *between, v.shape[-1]) for v in (weight, bias))
    out = x - x.mean(-1, keepdims=True)
    spread = np.einsum("...i,...i->...", out, out)[..., None] / out.shape[-1] + node.of["eps"]
    out *= 1.0 / np.sqrt(spread)
    out = out * weight
    out += bias
    return out


def _of_layer_norm(node, g):
    """Return the part of g that changes neither mean nor spread, divided by the spread."""
    x, weight, _ = node.inputs
    width = x.shape[-1]

    def mean(v):
        return row_sum(v) * (1 / width)

    centred = x - mean(x)
    spread = apply("rsqrt", mean(apply("square", centred)) + node.of["eps"])
    unit = centred * spread
    weighted = g * apply("reshape", weight, shape=(1,) * (x.type.rank - 1) + (width,))
    along = unit * mean(weighted * unit)
    rest = weighted - mean(weighted) - along
    leading = tuple(range(-x.type.rank, -1))
    of_weight, of_bias = (
        apply("reduce_sum", v, axes=leading, keep=False) if leading else v for v in (g * unit, g)
    )
    return rest * spread, of_weight, of_bias


def _lower_layer_norm(lowering, node):
    x, weight, bias = (as_rows(lowering, v) for v in node.inputs)
    tilings.layer_norm(
        lowering.core, lowering.out(node), x, weight, bias, epsilon=float(node.of["eps"])
    )


register("layer_norm", _infer_layer_norm, value=_value_layer_norm, vjp=_of_layer_norm,
         flops=lambda node: 8 * node.type.size, lower=_lower_layer_norm)  # fmt: skip
