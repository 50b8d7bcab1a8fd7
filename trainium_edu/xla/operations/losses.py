"""The loss of a classifier, row by row, and its gradient; the front takes the mean.

A negative label marks a row that does not count, as PyTorch's ``ignore_index=-100`` does: its loss
and gradient are 0.
"""

import numpy as np

from trainium_edu.neuroncore import tilings
from trainium_edu.xla.graph import Type, Unfit
from trainium_edu.xla.operations.loops import as_rows, dense
from trainium_edu.xla.operations.normalise import log_softmax, softmax
from trainium_edu.xla.operations.table import apply, register

__all__: list[str] = []


def _infer(logits: Type, labels: Type) -> Type:
    if logits.rank != 2 or not logits.is_float:
        raise Unfit("logits must be numbers [rows, classes]")
    if labels != Type(logits.shape[:1], "int32"):
        raise Unfit(f"labels must be s32[{logits.shape[0]}], one class number for each row")
    return logits.like(logits.shape[:1])


def _infer_gradient(logits: Type, labels: Type, g: Type) -> Type:
    if g != _infer(logits, labels):
        raise Unfit(f"{g} is not the type of the loss of {logits}")
    return logits


def _places(logits, labels):
    """Return labels as [.., rows, 1], those that count, and where these point to."""
    classes = logits.shape[-1]
    if labels.size and labels.max() >= classes:
        raise IndexError(
            f"cross_entropy: label {labels.max()} is out of range; {classes} classes have the "
            f"labels 0 to {classes - 1} (a negative label leaves a row out)"
        )
    labels = np.broadcast_to(labels, logits.shape[:-1])[..., None]
    counts = labels >= 0
    return counts, np.where(counts, labels, 0)


def _value(node, logits, labels):
    counts, places = _places(logits, labels)
    loss = -np.take_along_axis(log_softmax(logits), places, -1)
    return np.where(counts, loss, 0)[..., 0]


def _value_gradient(node, logits, labels, g):
    counts, places = _places(logits, labels)
    out = softmax(logits)
    chosen = np.take_along_axis(out, places, -1)
    np.put_along_axis(out, places, chosen - 1, -1)
    out *= g[..., None] * counts
    return out


def _lower(lowering, node):
    logits, labels = node.inputs
    column = dense(lowering, labels, (labels.type.size, 1))
    out = lowering.out(node).reshaped(labels.type.size, 1)
    tilings.cross_entropy(lowering.core, out, as_rows(lowering, logits), column)


def _lower_gradient(lowering, node):
    logits, labels, g = node.inputs
    columns = [dense(lowering, v, (v.type.size, 1)) for v in (labels, g)]
    tilings.cross_entropy_gradient(
        lowering.core, lowering.out(node), as_rows(lowering, logits), *columns
    )


def _work(node):
    return 5 * node.inputs[0].type.size


register("cross_entropy", _infer, value=_value, flops=_work, lower=_lower,
         vjp=lambda node, g: (apply("cross_entropy_gradient", *node.inputs, g), None))  # fmt: skip
register("cross_entropy_gradient", _infer_gradient, value=_value_gradient, flops=_work,
         lower=_lower_gradient)  # fmt: skip
