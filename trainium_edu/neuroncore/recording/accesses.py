"""Find the bytes that an instruction touches; check that they are its own, and within reach."""

from functools import partial
from math import prod

from trainium_edu.neuroncore.recording.engine import Engine, Memory
from trainium_edu.neuroncore.recording.indirect import indices_of, out_of_bounds, resolve_scalar
from trainium_edu.neuroncore.recording.memory import check_start_partition
from trainium_edu.neuroncore.recording.program import Access
from trainium_edu.neuroncore.recording.views import View
from trainium_edu.specs.errors import NkiValidationError

__all__ = ["access_of", "check_inside", "is_tensor", "look_up", "tiles_of", "touched"]


def tiles_of(row, operands) -> tuple:
    """Return (role, whether written, whether read to be kept) of each tensor, reads first."""
    roles = [(role, False, role in row.writes) for role in row.reads]
    roles += [(role, True, False) for role in row.writes]
    return tuple(tile for tile in roles if is_tensor(operands.get(tile[0])))


def is_tensor(operand) -> bool:
    """Return whether an operand is a view, or several."""
    if isinstance(operand, list | tuple):
        return any(isinstance(item, View) for item in operand)
    return isinstance(operand, View)


def touched(call, tiles) -> tuple[Access, ...]:
    """Return what an instruction reads and writes; `tiles` as ``tiles_of`` finds them."""
    core, engine, operands, accesses = call.core, call.engine, call.operands, []
    for role, is_write, is_kept in tiles:
        operand = operands[role]
        if isinstance(operand, View):
            accesses.append(_access(core, operand, role, engine, is_write, is_kept))
        else:
            accesses += [_access(core, view, role, engine, is_write, is_kept) for view in operand]
    return tuple(accesses)


def look_up(call) -> tuple[Access, ...]:
    """Return the accesses to indices in data; a view at a scalar index becomes a plain view."""
    accesses: list[Access] = []
    for role, operand in call.operands.items():
        for item in operand if isinstance(operand, list | tuple) else (operand,):
            indirect = getattr(item, "indirect", None)
            if indirect is None:
                continue
            call.is_indirect = True
            if isinstance(indirect.index, View):
                at = f"{role}.index"
                accesses.append(_access(call.core, indirect.index, at, Engine.DMA, False, False))
            if item is operand and not indirect.is_vector:
                _find_place(call, role, item)
    return tuple(accesses)


def _find_place(call, role, view):
    place = resolve_scalar(view, values=call.core.values)
    if place is not None:
        setattr(call, role, place)
    elif str(getattr(call, "oob_mode", "error")) == "skip":
        call.is_skipped = True
    else:
        raise out_of_bounds(
            view, f"{call.name}: index {int(indices_of(view.indirect)[0])} of {role}",
            view.indirect.limit, skipped="accesses" * hasattr(call, "oob_mode"),
        )  # fmt: skip


def _access(core, view, role, engine, is_write, is_kept) -> Access:
    """Return what an operand touches, checked; `is_kept`: read only to keep what it skips."""
    buffer = view.buffer
    info = buffer.info
    allocations = core.program.allocations
    if info.index >= len(allocations) or allocations[info.index] is not info:
        raise NkiValidationError(
            f"{view!r} belongs to another program, which has ended or runs on another core; "
            "programs do not share memory, so pass data through HBM arguments"
        )
    access = view._write if is_write else view._read
    if access is None or access.role is not role:
        access = access_of(view, role, is_write)
    if not (is_write or is_kept or buffer.all_written) and core.values and not view.is_written():
        core.notes.append(("uninitialised", len(core.program), role, info))
    first = access[1] if view.indirect is None else view.offset // buffer.pitch
    first += info.start_partition
    if first and engine is not Engine.DMA and info.memory is not Memory.HBM:
        check_start_partition(first, view.shape[0], view)
    return access


_make = partial(tuple.__new__, Access)  # what Access(...) does, without its Python function


def access_of(view, role, is_write) -> Access:
    """Return what a view touches, checked to lie inside its storage; the view keeps it."""
    info = view.buffer.info
    if view.indirect is None:
        row, end, low, high = check_inside(view)
    elif info.memory is Memory.HBM:  # where data decides, any part may be touched
        row, end, low, high = 0, prod(info.shape[:-1]), 0, info.row_bytes
    else:
        row, end, low, high = 0, info.partitions, 0, info.row_bytes
    known = view._read or view._write
    geometry = known.geometry if known else (view.dtype.name, view.shape, view.strides, view.offset)
    found = _make((info.index, row, end, low, high, is_write, role, geometry))
    if is_write:
        view._write = found
    else:
        view._read = found
    return found


def check_inside(view) -> tuple[int, int, int, int]:
    """Return a view's rectangle; raise for a pattern that leaves its storage."""
    _, end, _, high = rectangle = view.footprint()
    info, pitch = view.buffer.info, view.buffer.pitch
    if info.memory is Memory.HBM:
        if end * info.row_bytes > pitch:
            raise NkiValidationError(
                f"{view!r}: the pattern reaches byte {(end - 1) * info.row_bytes + high - 1}, and "
                f"{info!r} has {pitch} bytes"
            )
    elif high > info.row_bytes or end > info.partitions:
        raise NkiValidationError(
            f"{view!r}: the pattern reaches partition {end - 1} and byte {high - 1} of each "
            f"partition; the storage {info!r} has {info.partitions} partitions of "
            f"{info.row_bytes} bytes"
        )
    return rectangle
