"""Choosing and searching: by index expressions, by predicates, by value."""

import numpy as np

from trainium_edu.nki.beta1.index import Expression, Mask, box_of
from trainium_edu.nki.beta1.isa.constants import reduce_cmd
from trainium_edu.nki.beta1.isa.options import also_written, choice, more, same_dtype
from trainium_edu.nki.beta1.operation import in_sbuf, op_name, operation, perform, scalar, tile
from trainium_edu.nki.beta1.promotion import as_dtype
from trainium_edu.nki.mistakes import describe
from trainium_edu.nki.running import later_chip
from trainium_edu.specs.errors import NkiValidationError

__all__ = [
    "affine_select", "iota", "max8", "nc_find_index8", "nc_match_replace8", "range_select",
    "select_reduce", "sequence_bounds",
]  # fmt: skip

_COMMANDS = reduce_cmd
_FP32_MIN = float(np.finfo(np.float32).min)
_AXES_MAX = 4  # free axes that the GpSimd Engine counts along


# -- index expressions as numbers -------------------------------------------------------------


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
        raise NkiValidationError(
            f"{who}: {expression!r} is not start + step * position along its axes, which is all "
            "that the GpSimd Engine counts; build it from iota and tensor_scalar"
        )
    lead = len(shape) - len(expression.shape)
    own = (1,) * lead + expression.shape
    if lead < 0 or any(a not in (1, b) for a, b in zip(own, shape, strict=True)):
        raise NkiValidationError(
            f"{who}: {expression!r} does not fit a tile of {list(shape)}; each size is that of the "
            "tile, or 1"
        )
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
def iota(expr, dtype, *, mask=None, **kwargs):
    """Return a tile that holds the numbers of an index expression.

    Parameters
    ----------
    expr : expression of nl.arange, nl.mgrid
        Axis 0 is the partitions': ``nl.arange(128)[:, None] * 2 + nl.arange(512)[None, :]``.
    dtype : dtype

    Returns
    -------
    tile in SBUF
    """
    more("iota", kwargs, iota.__kwdefaults__)
    if not isinstance(expr, Expression):
        if not hasattr(expr, "__index__"):
            raise TypeError(f"iota: expr is {describe(expr)}, not an expression of nl.arange")
        expr = Expression((1, 1), int(expr), (0, 0))
    if len(expr.shape) == 1:
        expr = expr[:, None]
    pattern, multiplier, offset = _pattern(expr, expr.shape, mask, "iota")
    return operation("iota", expr.shape, dtype, mask=mask, pattern=pattern, offset=offset,
                     channel_multiplier=multiplier, **kwargs)


def affine_select(pred, on_true_tile, on_false_value, *, mask=None, dtype=None, **kwargs):
    """Return a tile where a comparison of index expressions holds, and a number elsewhere.

    Parameters
    ----------
    pred : one comparison of index expressions, such as ``iy <= ix``
        Known before the kernel runs; not several with ``&``.
    on_true_tile : tile
    on_false_value : number

    Returns
    -------
    tile in SBUF
    """
    kept = in_sbuf(tile(on_true_tile, "affine_select: on_true_tile"))
    more("affine_select", kwargs, affine_select.__kwdefaults__)
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
        raise TypeError(
            f"affine_select: pred is {describe(pred)}; it must be a comparison of index "
            "expressions, such as nl.arange(128)[:, None] >= nl.arange(512)[None, :]"
        )
    if pred.unequal is not None:
        return pred.unequal, "not_equal"
    parts = pred.parts
    if pred.truth is None and len(parts) == 1:
        return parts[0], "greater_equal"
    if pred.truth is None and len(parts) == 2 and _is_negated(*parts):
        return parts[0], "equal"
    raise NkiValidationError(
        "affine_select: pred is more than one comparison of sums of index expressions, and the "
        "GpSimd Engine compares one pattern with zero: use one affine_select for each, or nl.where "
        "with a tile"
    )


def _is_negated(one, two):
    return (one.values is None and two.values is None and one.start == -two.start
            and one.shape == two.shape and one.steps == tuple(-s for s in two.steps))


# -- by predicates ----------------------------------------------------------------------------

def select_reduce(*, dst, predicate, on_true, on_false, reduce_res=None,
                  reduce_cmd=reduce_cmd.idle, reduce_op=np.amax, reverse_pred=False, mask=None,
                  dtype=None, **kwargs):
    """Write a tile where a predicate holds, and a number elsewhere; keep the maximum if asked.

    Parameters
    ----------
    dst : tile
    predicate : tile of 8- or 16-bit integers, or bool
    on_true : tile
    on_false : number, or tile[P, 1]
    reduce_res : float tile[P, 1], optional
        Gets the maximum of each partition.
    reduce_cmd : nki.isa.reduce_cmd
        ``idle``, ``reset_reduce`` or ``reduce``.
    reverse_pred : bool
        Take `on_true` where the predicate does not hold.
    """
    dst, predicate, on_true = (
        tile(x, f"select_reduce: {n}")
        for x, n in ((dst, "dst"), (predicate, "predicate"), (on_true, "on_true"))
    )
    more("select_reduce", kwargs, select_reduce.__kwdefaults__, ())
    same_dtype("select_reduce", dst, dtype)
    perform("select_reduce", mask=mask, dst=dst, predicate=predicate, on_true=on_true,
            on_false=scalar(on_false), reduce_op=op_name(reduce_op), reverse_pred=reverse_pred,
            reduce_res=also_written(reduce_res, "select_reduce: reduce_res"),
            reduce_cmd=choice(_COMMANDS, reduce_cmd, "select_reduce: reduce_cmd"))


def range_select(*, on_true_tile, comp_op0, comp_op1, bound0, bound1, reduce_cmd=reduce_cmd.idle,
                 reduce_res=None, reduce_op=np.amax, range_start=0, on_false_value=_FP32_MIN,
                 mask=None, dtype=None, **kwargs):
    """Choose elements whose index lies in a range: of a later chip."""
    raise later_chip("nki.isa.range_select", "NeuronCore-v3 (Trainium2)")


# -- by value ---------------------------------------------------------------------------------

def max8(*, src, mask=None, dtype=None, **kwargs):
    """Return the eight largest elements of each partition, in descending order, tile[P, 8]."""
    src = tile(src, "max8: src")
    more("max8", kwargs, max8.__kwdefaults__)
    return operation("max8", (src.shape[0], 8), dtype or src.kind, mask=mask, space=src.shape,
                     axes={"dst": (0, None)}, src=src, **kwargs)


def nc_find_index8(*, data, vals, mask=None, dtype=None, **kwargs):
    """Return where eight values first occur in each partition, uint32 (or uint16) tile[P, 8].

    Parameters
    ----------
    data : tile[P, ...]
        8 to 16384 elements per partition.
    vals : tile[P, 8]
    mask : mask over `data`
    """
    data, vals = tile(data, "nc_find_index8: data"), tile(vals, "nc_find_index8: vals")
    more("nc_find_index8", kwargs, nc_find_index8.__kwdefaults__)
    return operation("nc_find_index8", (data.shape[0], 8), dtype or "uint32", mask=mask,
                     space=data.shape, axes={"dst": (0, None), "vals": _lanes(vals)}, data=data,
                     vals=vals, **kwargs)


def nc_match_replace8(*, data, vals, imm, dst_idx=None, mask=None, dtype=None, **kwargs):
    """Return a tile with the first occurrence of each of eight values replaced by a number.

    Parameters
    ----------
    data : tile[P, ...]
        Up to 16384 elements per partition.
    vals : tile[P, 8]
    imm : number
    dst_idx : uint32 or uint16 tile[P, 8], optional
        Gets the places.
    mask : mask over `data`
    """
    data, vals = tile(data, "nc_match_replace8: data"), tile(vals, "nc_match_replace8: vals")
    more("nc_match_replace8", kwargs, nc_match_replace8.__kwdefaults__)
    places = also_written(dst_idx, "nc_match_replace8: dst_idx")
    axes = {"vals": _lanes(vals)}
    if places is not None:
        axes["dst_idx"] = _lanes(places)
    return operation("nc_match_replace8", data.shape, dtype or data.kind, mask=mask, axes=axes,
                     data=data, vals=vals, imm=scalar(imm), dst_idx=places, **kwargs)


def _lanes(value):
    """Return the axes of a tile of which a mask cuts the partitions alone."""
    return (0, *(None,) * (len(value.shape) - 1))


def sequence_bounds(*, segment_ids, dtype=None):
    """Return where the segment of each element begins and ends.

    Parameters
    ----------
    segment_ids : float32 or int32 tile[1, n]
        0 is padding.

    Returns
    -------
    tile[1, 2, n]
        Beginnings, then ends.
    """
    ids = tile(segment_ids, "sequence_bounds: segment_ids")
    return operation("sequence_bounds", (1, 2, *ids.shape[1:]),
                     ids.kind if dtype is None else as_dtype(dtype), segment_ids=ids)
# fmt: on
