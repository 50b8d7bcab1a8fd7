"""Rules of what counts: index expressions become patterns of numbers, and comparisons choose."""

import numpy as np

from trainium_edu.nki.beta1.index import Expression, Mask, box_of
from trainium_edu.nki.beta1.operation import in_sbuf, operation, scalar, tile
from trainium_edu.nki.beta1.promotion import as_dtype
from trainium_edu.nki.mistakes import describe
from trainium_edu.nki.refusals import misuse, refusal

__all__ = ["affine_select", "iota", "sequence_bounds"]

_AXES_MAX = 4  # free axes that the GpSimd Engine counts along


def _pattern(expression, shape, mask, who):
    """Return (pattern, channel_multiplier, offset) of an expression over a tile, cut to a mask.

    Parameters
    ----------
    expression : Expression
        Of `shape`, or of sizes 1 there.
    shape : tuple of int
        Of the tile.
    mask : mask over `shape`
    who : str
    """
    if expression.values is not None:
        raise refusal("isa.uneven_iota", who=who, expression=expression)
    lead = len(shape) - len(expression.shape)
    own = (1,) * lead + expression.shape
    if lead < 0 or any(a not in (1, b) for a, b in zip(own, shape, strict=True)):
        raise refusal("isa.unlike_iota", who=who, expression=expression, shape=list(shape))
    steps = [s if n > 1 else 0 for n, s in zip(own, (0,) * lead + expression.steps, strict=True)]
    box, offset, sizes = box_of(mask, shape, who), expression.start, list(shape)
    if box:
        offset += sum(low * step for (low, _), step in zip(box, steps, strict=True))
        sizes = [high - low for low, high in box]
    pairs = [[step, size] for step, size in zip(steps[1:], sizes[1:], strict=True)]
    at = len(pairs) - 2
    while len(pairs) > _AXES_MAX and at >= 0:
        (outer, count), (inner, size) = pairs[at], pairs[at + 1]
        if count == 1 or size == 1 or outer == inner * size:
            pairs[at : at + 2] = [[outer if size == 1 else inner, count * size]]
        at -= 1
    return pairs, steps[0], offset


# fmt: off
def iota(expr, dtype, mask, **kwargs):
    """Return the numbers of an index expression."""
    if not isinstance(expr, Expression):
        if not hasattr(expr, "__index__"):
            raise TypeError(f"iota: expr is {describe(expr)}, not an expression of nl.arange")
        expr = Expression((1, 1), int(expr), (0, 0))
    if len(expr.shape) == 1:
        expr = expr[:, None]
    pattern, multiplier, offset = _pattern(expr, expr.shape, mask, "iota")
    return operation("iota", expr.shape, dtype, mask=mask, pattern=pattern, offset=offset,
                     channel_multiplier=multiplier, **kwargs)


def affine_select(pred, on_true_tile, on_false_value, mask, dtype, **kwargs):
    """Compare one index expression with zero."""
    kept = in_sbuf(tile(on_true_tile, "affine_select: on_true_tile"))
    shape = tuple(kept.shape)
    expression, compare = _comparison(pred, len(shape))
    pattern, multiplier, offset = _pattern(expression, shape, mask, "affine_select")
    return operation("affine_select", shape, dtype or kept.kind, mask=mask, pattern=pattern,
                     channel_multiplier=multiplier, on_true_tile=kept,
                     on_false_value=scalar(on_false_value), cmp_op=compare, offset=offset,
                     **kwargs)


def _comparison(pred, rank):
    """Return what a comparison of index expressions compares with 0, and how."""
    if isinstance(pred, bool | np.bool_):  # of loop variables alone
        return Expression((1,) * rank, 0 if pred else -1, (0,) * rank), "greater_equal"
    if not isinstance(pred, Mask):
        raise misuse("isa.pred_of_select", pred=describe(pred))
    if pred.unequal is not None:
        return pred.unequal, "not_equal"
    parts = pred.parts
    if pred.truth is None and len(parts) == 1:
        return parts[0], "greater_equal"
    if pred.truth is None and len(parts) == 2 and _is_negated(*parts):
        return parts[0], "equal"
    raise refusal("isa.two_comparisons")


def _is_negated(first, second):
    return (first.values is None and second.values is None and first.start == -second.start
            and first.shape == second.shape
            and first.steps == tuple(-step for step in second.steps))


def sequence_bounds(segment_ids, dtype):
    """Return beginnings, then ends, of one row."""
    ids = tile(segment_ids, "sequence_bounds: segment_ids")
    return operation("sequence_bounds", (1, 2, *ids.shape[1:]),
                     ids.kind if dtype is None else as_dtype(dtype), segment_ids=ids)
# fmt: on
