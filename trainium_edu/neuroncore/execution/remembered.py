"""Checks that need not be done again: a loop issues one instruction on many tiles of one shape."""

from trainium_edu.neuroncore.recording.engine import Engine
from trainium_edu.neuroncore.recording.executor import Checked
from trainium_edu.neuroncore.recording.views import View

__all__ = ["Remembered"]

_MOST = 4096
_PLAIN = {int, bool, str, type(None)}


class Remembered(dict):
    """Results of checks by shape, kept for later calls of equal shapes."""

    def keep(self, look, call, found: Checked) -> tuple[Engine, Checked]:
        """Return the call's engine and what was found; keep them if looks decide."""
        known = call.engine, found
        if look is not None:
            if len(self) >= _MOST:
                self.clear()
            self[look] = known
        return known


def look_of(call) -> tuple | None:
    """Return all that a check by shape looks at, or None if looks do not decide."""
    row, operands = call.row, call.operands
    if not row.by_shape:
        return None
    kinds = tuple(map(type, operands.values()))  # True and 1 differ
    look = [row.name, call.engine, kinds, *operands]
    for kind, value in zip(kinds, operands.values(), strict=True):
        if kind is View:
            look += value.dtype.name, value.shape, value.strides, value.buffer.info.memory
            if row.by_place:
                info = value.buffer.info
                look += value.footprint(), info.address, info.start_partition
        elif kind in _PLAIN or (kind is tuple and set(map(type, value)) <= {int}):
            look.append(value)
        elif kind is float:
            look.append(value or str(value))  # 0.0 and -0.0 differ
        else:
            return None
    return tuple(look)
