"""Cross entropy of rows of logits with one label each, and its gradient."""

from collections.abc import Iterator

from trainium_edu.neuroncore.recording.core import NeuronCore
from trainium_edu.neuroncore.recording.views import View
from trainium_edu.neuroncore.tilings.pieces import as_rows, load, new_like, row_tiles, store
from trainium_edu.neuroncore.tilings.softmax import raised
from trainium_edu.specs.errors import NkiValidationError
from trainium_edu.specs.signatures import checked

__all__ = ["cross_entropy", "cross_entropy_gradient"]

_LOWEST = -3e38  #: what the other classes become where the label's own logit is looked for


@checked
def cross_entropy(core: NeuronCore, dst: View, logits: View, labels: View) -> None:
    """Write ``log(sum(exp(logits))) - logits[label]`` of each row to dst.

    Parameters
    ----------
    core : NeuronCore
    dst : View[rows, 1]
    logits : View[rows, classes]
        A row has to fit one partition.
    labels : View[rows, 1]
        Whole numbers below `classes`; the loss of a row with a negative label is 0.

    Examples
    --------
    >>> import numpy as np
    >>> from trainium_edu.neuroncore import NeuronCore
    >>> core = NeuronCore()
    >>> x, label = core.hbm(np.zeros((3, 4), np.float32)), core.hbm(np.int32([[0], [3], [-100]]))
    >>> loss = core.hbm((3, 1))
    >>> cross_entropy(core, loss, x, label)
    >>> core.value(loss).reshape(3).astype(float).round(4).tolist()
    [1.3863, 1.3863, 0.0]
    """
    logits, labels, dst = _checked(logits, labels, dst, 1)
    for down, tile, label, classes in _row_tiles(core, logits, labels):
        rows = (tile.shape[0], 1)
        _, minus_top, total = raised(core, tile)
        is_own, picked = core.sbuf(tile.shape, "uint8", name="one hot"), core.sbuf(tile.shape)
        own = core.sbuf(rows, name="logit of label")
        core.tensor_scalar(dst=is_own, data=classes, op0="equal", operand0=label)
        core.select_reduce(
            dst=picked, predicate=is_own, on_true=tile, on_false=_LOWEST, reduce_res=own,
            reduce_cmd="reset_reduce",
        )  # fmt: skip
        loss, counts = core.sbuf(rows, name="loss"), core.sbuf(rows, name="counts")
        core.activation(dst=loss, op="log", data=total)
        core.tensor_tensor(dst=loss, data1=loss, data2=minus_top, op="subtract")
        core.tensor_tensor(dst=loss, data1=loss, data2=own, op="subtract")
        core.tensor_scalar(dst=counts, data=label, op0="greater_equal", operand0=0.0)
        piece = dst.sliced(down)
        result = new_like(core, piece)
        core.tensor_tensor(dst=result, data1=loss, data2=counts, op="multiply")
        store(core, piece, result)


@checked
def cross_entropy_gradient(
    core: NeuronCore, dst: View, logits: View, labels: View, gradient: View
) -> None:
    """Write ``(softmax(logits) - one_hot(label)) * gradient`` of each row to dst.

    Parameters
    ----------
    core : NeuronCore
    dst, logits : View[rows, classes]
    labels : View[rows, 1]
        Rows with a negative label give 0.
    gradient : View[rows, 1]
        Of each row's loss.

    Examples
    --------
    >>> import numpy as np
    >>> from trainium_edu.neuroncore import NeuronCore
    >>> core = NeuronCore()
    >>> x, label = core.hbm(np.zeros((1, 4), np.float32)), core.hbm(np.int32([[1]]))
    >>> one, y = core.hbm(np.ones((1, 1), np.float32)), core.hbm((1, 4))
    >>> cross_entropy_gradient(core, y, x, label, one)
    >>> core.value(y).tolist()
    [[0.25, -0.75, 0.25, 0.25]]
    """
    logits, labels, dst = _checked(logits, labels, dst, logits.shape[-1])
    for down, tile, label, classes in _row_tiles(core, logits, labels):
        rows = (tile.shape[0], 1)
        exp, _, total = raised(core, tile)
        part, factor = core.sbuf(rows, name="1 / sum"), core.sbuf(rows, name="factor")
        core.reciprocal(dst=part, data=total)
        core.tensor_scalar(dst=exp, data=exp, op0="multiply", operand0=part)
        minus = core.sbuf(tile.shape, name="one hot - softmax")
        core.scalar_tensor_tensor(
            dst=minus, data=classes, op0="equal", operand0=label, op1="subtract", operand1=exp
        )
        own = load(core, gradient.sliced(down), "float32", name="gradient")
        core.tensor_scalar(dst=factor, data=label, op0="greater_equal", operand0=0.0,
                           op1="multiply", operand1=-1.0)  # fmt: skip
        core.tensor_tensor(dst=factor, data1=factor, data2=own, op="multiply")
        piece = dst.sliced(down)
        result = new_like(core, piece)
        core.tensor_scalar(dst=result, data=minus, op0="multiply", operand0=factor)
        store(core, piece, result)


def _checked(logits, labels, dst, columns):
    logits, dst = as_rows(logits, "logits"), as_rows(dst, "dst")
    rows = logits.shape[0]
    if labels.shape != (rows, 1) or dst.shape != (rows, columns):
        raise NkiValidationError(
            f"cross_entropy: logits {list(logits.shape)} need labels [{rows}, 1] and dst "
            f"[{rows}, {columns}], and these are {list(labels.shape)} and {list(dst.shape)}"
        )
    return logits, labels, dst


def _row_tiles(core, logits, labels) -> Iterator[tuple]:
    """Yield rows, their logits, their labels in FP32, and 0, 1, 2, ... on each partition."""
    tiles = list(row_tiles(core, logits))
    numbers = core.sbuf((tiles[0].stop, logits.shape[1]), name="class numbers")
    core.iota(dst=numbers, pattern=[[1, logits.shape[1]]])
    for down in tiles:
        tile = load(core, logits.sliced(down), name="logits")
        label = load(core, labels.sliced(down), "float32", name="label")
        yield down, tile, label, numbers.sliced(slice(0, tile.shape[0]))
