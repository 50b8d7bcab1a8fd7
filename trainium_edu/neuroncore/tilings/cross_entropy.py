"""Cross entropy of rows of logits with one label each, and its gradient."""

from trainium_edu.neuroncore.recording.core import NeuronCore
from trainium_edu.neuroncore.recording.views import View
from trainium_edu.neuroncore.tilings.elementwise import COLUMNS
from trainium_edu.neuroncore.tilings.pieces import as_rows, load, new_like, pieces, row_tiles, store
from trainium_edu.specs.arguments import whole
from trainium_edu.specs.errors import NkiValidationError
from trainium_edu.specs.signatures import checked

__all__ = ["cross_entropy", "cross_entropy_gradient"]

_LOWEST = -3e38  #: what the other classes become where the label's own logit is looked for


@checked
def cross_entropy(
    core: NeuronCore, dst: View, logits: View, labels: View, *, columns: int = COLUMNS
) -> None:
    """Write ``log(sum(exp(logits))) - logits[label]`` of each row to dst.

    Parameters
    ----------
    core : NeuronCore
    dst : View[rows, 1]
    logits : View[rows, classes]
    labels : View[rows, 1]
        Integers below `classes`; the loss of a row with a negative label is 0.
    columns : int
        Longest free axis of one instruction; longer rows are loaded twice, for what is the largest
        is known at the end.

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
    spans, numbers = _spans(core, logits, columns)
    for down in row_tiles(core, logits):
        rows = (down.stop - down.start, 1)
        label = load(core, labels.sliced(down), "float32", name="label")
        kept, minus_top = _minus_top(core, logits, down, spans)
        sums, owns = (core.sbuf((rows[0], len(spans))) for _ in range(2))
        for number, across in enumerate(spans):
            tile = kept or load(core, logits.sliced(down, across), name="logits")
            _exp(core, tile, minus_top, _column(sums, number))
            is_own = core.sbuf(tile.shape, "uint8", name="one hot")
            core.tensor_scalar(
                dst=is_own, data=_like(numbers, tile), op0="equal",
                operand0=_counted_from(core, label, across.start),
            )  # fmt: skip
            picked = core.sbuf(tile.shape, name="picked")
            core.select_reduce(
                dst=picked, predicate=is_own, on_true=tile, on_false=_LOWEST,
                reduce_res=_column(owns, number), reduce_cmd="reset_reduce",
            )  # fmt: skip
        loss, counts = core.sbuf(rows, name="loss"), core.sbuf(rows, name="counts")
        core.activation(dst=loss, op="log", data=_together(core, "add", sums))
        core.tensor_tensor(dst=loss, data1=loss, data2=minus_top, op="subtract")
        own = _together(core, "maximum", owns)
        core.tensor_tensor(dst=loss, data1=loss, data2=own, op="subtract")
        core.tensor_scalar(dst=counts, data=label, op0="greater_equal", operand0=0.0)
        piece = dst.sliced(down)
        result = new_like(core, piece)
        core.tensor_tensor(dst=result, data1=loss, data2=counts, op="multiply")
        store(core, piece, result)


@checked
def cross_entropy_gradient(
    core: NeuronCore, dst: View, logits: View, labels: View, gradient: View, *,
    columns: int = COLUMNS,
) -> None:  # fmt: skip
    """Write ``(softmax(logits) - one_hot(label)) * gradient`` of each row to dst.

    Parameters
    ----------
    core : NeuronCore
    dst, logits : View[rows, classes]
    labels : View[rows, 1]
        Rows with a negative label give 0.
    gradient : View[rows, 1]
        Of each row's loss.
    columns : int
        As of :func:`cross_entropy`; longer rows are loaded three times.

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
    spans, numbers = _spans(core, logits, columns)
    for down in row_tiles(core, logits):
        rows = (down.stop - down.start, 1)
        label = load(core, labels.sliced(down), "float32", name="label")
        row_gradient = load(core, gradient.sliced(down), "float32", name="gradient")
        loaded, minus_top = _minus_top(core, logits, down, spans)
        sums = core.sbuf((rows[0], len(spans)))
        for number, across in enumerate(spans):
            tile = loaded or load(core, logits.sliced(down, across), name="logits")
            exp = _exp(core, tile, minus_top, _column(sums, number))
        part, factor = core.sbuf(rows, name="1 / sum"), core.sbuf(rows, name="factor")
        core.reciprocal(dst=part, data=_together(core, "add", sums))
        core.tensor_scalar(dst=factor, data=label, op0="greater_equal", operand0=0.0,
                           op1="multiply", operand1=-1.0)  # fmt: skip
        core.tensor_tensor(dst=factor, data1=factor, data2=row_gradient, op="multiply")
        for across in spans:
            if loaded is None:  # the sum was not known before: once more
                tile = load(core, logits.sliced(down, across), name="logits")
                exp = core.sbuf(tile.shape, name="exp")
                core.activation(dst=exp, op="exp", data=tile, bias=minus_top)
            core.tensor_scalar(dst=exp, data=exp, op0="multiply", operand0=part)
            minus = core.sbuf(exp.shape, name="one hot - softmax")
            core.scalar_tensor_tensor(
                dst=minus, data=_like(numbers, exp), op0="equal",
                operand0=_counted_from(core, label, across.start), op1="subtract", operand1=exp,
            )  # fmt: skip
            piece = dst.sliced(down, across)
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


def _spans(core, logits, columns):
    """Return the pieces of classes, and 0, 1, 2, ... on each partition for one of them."""
    spans = list(pieces(logits.shape[1], whole(columns, "columns", 1)))
    most = next(row_tiles(core, logits)).stop
    numbers = core.sbuf((most, spans[0].stop), name="class numbers")
    core.iota(dst=numbers, pattern=[[1, spans[0].stop]])
    return spans, numbers


def _minus_top(core, logits, down, spans):
    """Return the tile if it is the only one, else None, and minus the maximum of each row."""
    parts = core.sbuf((down.stop - down.start, len(spans)), name="minus maximum")
    for number, across in enumerate(spans):
        tile = load(core, logits.sliced(down, across), name="logits")
        out = _column(parts, number)
        core.tensor_reduce(dst=out, op="maximum", data=tile, axis=1, negate=True)
    only = tile if len(spans) == 1 else None
    return only, _together(core, "minimum", parts)


def _exp(core, tile, minus_top, total):
    """Return exp(x - max) of a tile, and write the sum of each row."""
    exp = core.sbuf(tile.shape, name="exp")
    core.activation_reduce(
        dst=exp, op="exp", data=tile, bias=minus_top, reduce_op="add", reduce_res=total
    )
    return exp


def _column(view, number):
    return view.sliced(slice(None), slice(number, number + 1))


def _together(core, op, parts):
    """Return what the pieces of a row found, as one number."""
    if parts.shape[1] == 1:
        return parts
    out = core.sbuf((parts.shape[0], 1))
    core.tensor_reduce(dst=out, op=op, data=parts, axis=1)
    return out


def _like(numbers, tile):
    return numbers.sliced(slice(0, tile.shape[0]), slice(0, tile.shape[1]))


def _counted_from(core, label, start):
    """Return labels as a piece counts its classes."""
    if not start:
        return label
    out = core.sbuf(label.shape, name="label here")
    core.tensor_scalar(dst=out, data=label, op0="subtract", operand0=float(start))
    return out
