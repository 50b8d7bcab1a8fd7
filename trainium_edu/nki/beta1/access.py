"""What an index selects: slices and numbers, or index expressions; and what a mask leaves of it.

Bounds are checked where an instruction takes the part, since a mask may leave out what lies past
the tensor.
"""

from dataclasses import replace
from functools import lru_cache

import numpy as np

from trainium_edu.neuroncore.recording.indirect import IndirectView
from trainium_edu.neuroncore.recording.views import View
from trainium_edu.nki.beta1.index import AnyOrder, Expression, Grid
from trainium_edu.nki.mistakes import describe
from trainium_edu.nki.objects.indexing import ALL, DynamicSlice
from trainium_edu.nki.refusals import refusal
from trainium_edu.specs.errors import NkiValidationError

__all__ = ["ALL", "check_reach", "cut", "indexed", "parts_of", "sliced"]


def parts_of(key) -> tuple:
    """Return the parts of an index, grids unpacked and loop ranges as slices."""
    if type(key) is not tuple:
        if type(key) is Grid:
            return tuple(key)
        key = (key,)
    for part in key:
        if type(part) is Grid:
            return tuple(q for p in key for q in (p if type(p) is Grid else (p,)))
    return key


def _whole(part, tile, axis):
    """Return one number of an index."""
    if type(part) is int:
        return part
    if isinstance(part, float) or not hasattr(part, "__index__") or isinstance(part, bool):
        hint = "; a // b gives a whole number" if isinstance(part, float) else ""
        raise TypeError(f"{tile!r}: index {describe(part)} of dimension {axis} is no number{hint}")
    return part.__index__()


def sliced(tile, parts):
    """Return the part of a tile that numbers and slices select."""
    view = tile.window
    sizes, strides = view.shape, view.strides
    if Ellipsis in parts:
        at = parts.index(Ellipsis)
        parts = (*parts[:at], *(ALL,) * (len(sizes) - len(parts) + 1), *parts[at + 1 :])
    if tile.one and len(parts) > 1 and len(parts) > len(sizes):
        parts = parts[: len(sizes)]
    if len(parts) > len(sizes):
        raise IndexError(f"{tile!r} has {len(sizes)} dimensions, but {len(parts)} were indexed")
    on_chip = tile.on_chip
    shape, steps, offset, reach = [], [], view.offset, None
    if tile.reach is not None:
        check_reach(tile, view.shape)
    for axis, (size, stride) in enumerate(zip(sizes, strides, strict=True)):
        part = parts[axis] if axis < len(parts) else ALL
        kind = type(part)
        if kind is AnyOrder:  # nl.affine_range(n) as an index: all of its values
            part, kind = part.numbers, range
        if kind is range:
            part, kind = slice(part.start, part.stop, part.step), slice
        elif kind is DynamicSlice:
            start = _whole(part.start, tile, axis)
            part, kind = slice(start, start + _whole(part.size, tile, axis)), slice
        if kind is not slice:
            start = _whole(part, tile, axis)
            at = start + size if start < 0 else start
            if not 0 <= at < size:
                reach = (
                    [(axis, size, start, None)]
                    if reach is None
                    else [*reach, (axis, size, start, None)]
                )
            offset += at * stride
            if on_chip and axis == 0:
                shape.append(1)
                steps.append(stride)
            continue
        start, stop, step = part.start, part.stop, part.step
        start = 0 if start is None else _whole(start, tile, axis)
        stop = size if stop is None else _whole(stop, tile, axis)
        step = 1 if step is None else _whole(step, tile, axis)
        start, stop = start + size * (start < 0), stop + size * (stop < 0)
        count = len(range(start, stop, step)) if step > 0 else 0
        if count < 1:
            raise refusal("index.empty_slice", tile=tile, part=part, axis=axis, size=size)
        if step != 1 and on_chip and axis == 0:
            raise refusal("index.skipped_partitions", tile=tile, step=step)
        if start < 0 or start + (count - 1) * step >= size:
            reach = [*(reach or ()), (axis, size, start, (len(shape), step))]
        offset += start * stride
        shape.append(count)
        steps.append(stride * step)
    if not shape:
        shape, steps = [1], [view.dtype.itemsize]
    if on_chip and len(shape) < 2:
        shape.append(1)
        steps.append(view.dtype.itemsize)
    found = View(view.buffer, view.dtype, tuple(shape), tuple(steps), offset)
    return tile.like(found, one=tile.one, reach=None if reach is None else tuple(reach))


def indexed(tile, parts):
    """Return the part of a tile that index expressions select."""
    if tile.reach is not None:
        check_reach(tile, tile.window.shape)
    view = tile.window
    starts, forms, widths = [], [], set()
    for axis, part in enumerate(parts):
        if type(part) is Expression:
            if part.values is not None:
                raise refusal("index.uneven_steps", tile=tile, part=part, axis=axis)
            starts.append(part.start)
            forms.append((part.shape, part.steps))
            widths.add(len(part.shape))
        elif part is Ellipsis or type(part) in (slice, DynamicSlice):
            if part is Ellipsis and axis == len(parts) - 1:
                break
            raise refusal("index.mixed_kinds", tile=tile)
        else:
            part = _whole(part, tile, axis)
            starts.append(part + view.shape[axis] if part < 0 and axis < len(view.shape) else part)
            forms.append(())
    if widths and max(widths) < 2:
        raise refusal("index.one_dimension", tile=tile)
    if tile.one and len(starts) == 1:
        starts.append(0)
        forms.append(())
    plan = _plan(tuple(forms), view.shape, view.strides, tile.on_chip)
    if type(plan) is str:
        raise NkiValidationError(f"{tile!r}: {plan}")
    shape, strides, reaches = plan
    offset, is_out = view.offset, False
    for start, stride, (size, low, high, _) in zip(starts, view.strides, reaches, strict=False):
        offset += start * stride
        if start + low < 0 or start + high >= size:
            is_out = True
    reach = None
    if is_out:
        reach = tuple(
            (axis, size, start, steps)
            for axis, (start, (size, _, _, steps)) in enumerate(zip(starts, reaches, strict=True))
        )
    found = View(view.buffer, view.dtype, shape, strides, offset)
    return tile.like(found, reach=reach)


@lru_cache(16384)
def _plan(forms, sizes, strides, on_chip):
    """Return (shape, strides, reach of each dimension) of an index; a str says what is wrong."""
    if len(forms) > len(sizes):
        return f"{len(forms)} indices for {len(sizes)} dimensions"
    try:
        shape = np.broadcast_shapes(*(form[0] for form in forms if form))
    except ValueError:
        given = " and ".join(str(list(form[0])) for form in forms if form)
        return f"indices of shapes {given} do not go together; sizes are equal or 1"
    stride_of, reaches = [0] * len(shape), []
    for dimension, form in enumerate(forms):
        if not form:
            reaches.append((sizes[dimension], 0, 0, ()))
            continue
        own, steps = form
        lead = len(shape) - len(own)
        low = high = 0
        spread = []
        for axis, (size, step) in enumerate(zip(own, steps, strict=True)):
            if size == 1 or not step:
                continue
            stride_of[axis + lead] += step * strides[dimension]
            low, high = low + min(step * (size - 1), 0), high + max(step * (size - 1), 0)
            spread.append((axis + lead, step))
        reaches.append((sizes[dimension], low, high, tuple(spread)))
        if on_chip and dimension == 0:
            wrong = [axis for axis, step in spread if axis != 0 or step != 1]
            if wrong:
                return (
                    "the partition index has to run along axis 0 of the access, one after another "
                    "(nl.arange(n)[:, None]): engines read partitions in order"
                )
        elif on_chip and any(axis == 0 for axis, _ in spread):
            return (
                f"the index of dimension {dimension} changes along axis 0, which is the "
                "partitions': the same elements are read in each partition"
            )
    for dimension in range(len(forms), len(sizes)):
        shape = (*shape, sizes[dimension])
        stride_of.append(strides[dimension])
        reaches.append((sizes[dimension], 0, sizes[dimension] - 1, ((len(shape) - 1, 1),)))
    if on_chip and not stride_of[0]:
        if shape and shape[0] != 1:
            return (
                "axis 0 of the access is the partitions', and the partition index does not change "
                "along it: nl.broadcast_to repeats partitions"
            )
        stride_of[0] = strides[0]
    if not shape or (on_chip and len(shape) < 2):
        shape, stride_of = (*shape, 1), [*stride_of, strides[-1]]
    return tuple(shape), tuple(stride_of), tuple(reaches)


def check_reach(tile, shape, first=None):
    """Raise if the part of an access from `first` of size `shape` leaves its tensor."""
    for axis, size, start, steps in tile.reach:
        low = high = start
        pairs = () if steps is None else (steps,) if steps and type(steps[0]) is int else steps
        for at, step in pairs:
            begin = 0 if first is None else first[at]
            ends = (begin * step, (begin + shape[at] - 1) * step)
            low, high = low + min(ends), high + max(ends)
        if low < 0 or high >= size:
            raise refusal("index.past_the_end", tile=tile, axis=axis, low=low, high=high, size=size)


def cut(tile, box, axes=None, space=None) -> View:
    """Return the view of a tile inside a box of the iteration space, checked.

    Parameters
    ----------
    tile : Tile
    box : tuple of (first, end) or None
    axes : tuple of int or None, optional
        For each axis of the tile, the axis of the space; default: the same one.
    space : tuple of int, optional
    """
    view = tile.window
    if box is None:
        if tile.reach is not None:
            check_reach(tile, view.shape)
        return view
    shape, offset, first = list(view.shape), view.offset, [0] * len(view.shape)
    for axis, size in enumerate(view.shape):
        at = axis if axes is None else axes[axis] if axis < len(axes) else None
        if at is None or at >= len(box):
            continue
        low, high = box[at]
        if size == space[at]:
            first[axis], shape[axis] = low, high - low
            offset += low * view.strides[axis]
        elif size != 1:
            raise NkiValidationError(
                f"{tile!r} cannot be cut by a mask over {list(space)}: its axis {axis} has {size} "
                "elements; index it with the same shape as the other operands"
            )
    if tile.reach is not None:
        check_reach(tile, shape, first)
    indirect = view.indirect
    if indirect is None:
        return View(view.buffer, view.dtype, tuple(shape), view.strides, offset)
    if indirect.is_vector and shape[0] != view.shape[0]:  # its rows are those of the index
        offset -= first[0] * view.strides[0]
        index = indirect.index
        rows = View(index.buffer, index.dtype, (shape[0], 1), (index.strides[0], index.strides[-1]),
                    index.offset + first[0] * index.strides[0])  # fmt: skip
        indirect = replace(indirect, index=rows)
    return IndirectView(view.buffer, view.dtype, tuple(shape), view.strides, offset, indirect)
