"""A fast twin of ``recording.executor.Eager``: it gives the same bits, later and on several CPUs.

``nc_matmul`` after ``nc_matmul`` into one PSUM tile is how a kernel walks along the contraction.
Every instruction is checked, marked and recorded at once; its numbers may wait:

- products that one tile adds up become a :class:`Sum`, which one thread computes in their order;
- an instruction that moves or combines a tile that waits (``waits=True`` in its row) waits too;
- a look at the bytes of a buffer involved (``Buffer.base``, ``View.array``: there is no other way
  to them) first computes all that waits, in an order that gives the numbers of eager execution.

Only buffers invisible to all others take part: no stated addresses, no arrays of the caller, no
tensors shared with other cores.  Beside that, operands of matmuls stay in FP32 until their tile
changes, and checks are remembered by shape.
"""

from weakref import WeakKeyDictionary

import numpy as np

from trainium_edu.neuroncore.execution.products import Sum
from trainium_edu.neuroncore.execution.remembered import Remembered, look_of
from trainium_edu.neuroncore.recording.executor import Checked, Eager
from trainium_edu.neuroncore.recording.views import View

__all__ = ["Deferred"]

_MOST_WORK = 2**31  # multiply-adds that wait at most: 40 ms of work
_MOST_CALLS = 256


class Deferred(Eager):
    """An executor for one core; see :class:`~trainium_edu.neuroncore.recording.executor.Eager`."""

    def __init__(self):
        super().__init__()
        self._remembered = Remembered()
        self._wide = WeakKeyDictionary()  #: buffer -> (its writes then, place -> part in FP32)
        # The sums come first: no tile of theirs was touched by a call that waits.
        self._sums: list[Sum] = []
        self._calls: list = []  #: (sums it needs, call), in program order
        self._buffers: list = []  #: those whose ``pending`` leads here
        self._work = 0  #: multiply-adds
        self._is_computing = False
        self._is_lost = False

    def check(self, call) -> Checked:
        """Return what was found for an earlier call that looks the same, or check the call."""
        look = look_of(call)
        known = self._remembered.get(look)
        if known is None:
            known = self._remembered.keep(look, call, super().check(call))
        call.engine, found = known
        return found

    def execute(self, call) -> None:
        """Compute at once, or put off what reads a tile that waits."""
        if not (call.row.waits and self._buffers and self._puts_off(call)):
            self._quietly(call.row.execute, call)

    def multiply(self, dst, stationary, moving, add) -> None:
        """Add the product to a sum that waits, or compute it at once."""
        if not self._adds_to_sum(dst, stationary, moving, add):
            super().multiply(dst, stationary, moving, add)

    def widened(self, view) -> np.ndarray:
        """Return an operand in FP32; a narrow tile's is kept until the tile changes."""
        buffer = view.buffer
        if view.dtype.name == "float32" or buffer.info.address is not None:
            return super().widened(view)
        writes, parts = self._wide.get(buffer, (None, None))
        if writes != buffer.writes:
            writes, parts = self._wide[buffer] = buffer.writes, {}
        place = view.offset, view.shape, view.strides, view.dtype.name
        if place not in parts:
            parts[place] = super().widened(view)
        return parts[place]

    def _adds_to_sum(self, dst, stationary, moving, add) -> bool:
        """Return whether a product waits now: added to a sum, or the first of one."""
        if not isinstance(add, bool) or "float32" in (stationary.dtype.name, moving.dtype.name):
            return False  # by a mask, or of operands that may change while it waits
        buffer, place = dst.buffer, (dst.offset, dst.shape, dst.strides)
        if self._work >= _MOST_WORK:
            self.finish()
        lhs, rhs = self.widened(stationary), self.widened(moving)  # may compute what waits
        pending = buffer.pending
        if not (add and type(pending) is Sum and pending.place == place):
            if not buffer.is_private or 0 in dst.strides or (add and not dst.is_written()):
                return False
            if pending is not None:
                self.finish()
            pending = buffer.pending = Sum(place, dst.array(), add, self.finish)
            self._sums.append(pending)
            self._buffers.append(buffer)
        pending.factors.append((lhs, rhs))
        self._work += lhs.size * rhs.shape[1]
        return True

    def _puts_off(self, call) -> bool:
        """Return whether a call waits now, because it reads what waits."""
        if call.core.rounding.mode != "nearest":  # tosses follow the order of the instructions
            return False
        operands = call.__dict__
        views = [v for v in map(operands.get, call.row.reads) if isinstance(v, View)]
        if all(view.buffer.pending is None for view in views):
            return False
        if len(self._calls) >= _MOST_CALLS or not all(map(View.is_written, views)):
            return False
        written = [operands[role] for role in call.row.writes]
        views += written
        if not all(type(view) is View and view.buffer.is_private for view in views):
            return False
        for view in written:
            view.mark_written()
        needed = []
        for view in views:
            buffer = view.buffer
            if buffer.pending is None:
                self._buffers.append(buffer)
            elif type(buffer.pending) is Sum:  # it takes no more products
                buffer.pending.offer()
                needed.append(buffer.pending)
            buffer.pending = self
        self._calls.append((needed, call))
        return True

    def finish(self) -> None:
        """Compute all that waits.

        Raises
        ------
        RuntimeError
            If an interrupt or an error ended an earlier attempt: the numbers are lost.
        """
        if self._is_computing or not self._buffers:
            return
        if self._is_lost:
            raise RuntimeError(
                "this core was interrupted while it computed, so these numbers are lost; run the "
                "kernel again"
            )
        try:
            self._is_computing = self._is_lost = True
            with np.errstate(all="ignore"):
                for each in self._sums:
                    each.offer()
                remaining_sums = iter(self._sums)
                for needed, call in self._calls:
                    for each in needed:
                        _wait(each, remaining_sums)
                    call.row.execute(call)
                for each in self._sums:
                    _wait(each, remaining_sums)
        finally:
            self._is_computing = False
        for buffer in self._buffers:
            buffer.pending = None
        self._is_lost = False
        self._sums, self._calls, self._buffers = [], [], []
        self._work = 0


def _wait(needed, rest):
    """Wait for a sum; while a helper is at it, compute the rest."""
    while not needed.is_done:
        other = next(rest, None)
        if other is None:
            break
        other.compute()
    needed.wait()
