"""Work that waits until somebody looks: matmuls, and the instructions that use what they give.

``nc_matmul`` after ``nc_matmul`` into one PSUM tile is how a kernel walks along the contraction.
The chip adds product by product; NumPy does better with one long product, and with two such on two
CPUs.  So a core records, checks and marks every instruction at once, and puts off the numbers:

- products that one tile adds up become a :class:`Sum`, computed as one product of stacked operands;
- an instruction that moves or combines a tile that waits (``waits=True`` in its row) waits too;
- whoever looks at the bytes of a buffer involved (``Buffer.base``, ``View.array``: there is no
  other way to them) first lets all that waits be computed, in an order that gives the same numbers.

The program decides what is computed together, never the clock or the CPUs, so a kernel gives the
same bits every time; against adding product by product the order of additions in FP32 differs, as
it does between two BLAS libraries.  Only buffers that nobody else can see take part: no stated
addresses, no arrays of the caller, no tensors shared with other cores.
"""

import numpy as np

from trainium_edu.neuroncore.execution.products import Product
from trainium_edu.neuroncore.recording.views import View

__all__ = ["Sum", "Waiting"]

_LONGEST = 16  # products in one sum: 2048 rows of the contraction
_MOST_WORK = 2**31  # multiply-adds that wait at most: 40 ms of work
_MOST_CALLS = 256


class Sum:
    """What one PSUM tile will hold: the sum of ``stationary.T @ moving``, added to it or not.

    Parameters
    ----------
    queue : Waiting
    place : tuple
        Offset, shape and strides of the tile in its buffer.
    out : float32[...]
        The live window on the tile.
    adds : bool
        Whether the sum is added to what the tile holds.
    """

    __slots__ = ("adds", "moving", "out", "place", "product", "queue", "stationary")

    def __init__(self, queue, place, out, adds):
        self.queue = queue
        self.place = place
        self.out = out
        self.adds = adds
        self.stationary = []
        self.moving = []
        self.product = None  #: once the sum has ended

    def finish(self) -> None:
        """Let all that waits be computed."""
        self.queue.finish()

    def end(self) -> Product:
        """Make one product of the sum, and offer it to helpers."""
        if self.product is None:
            left, right = self.queue.stack(self.stationary), self.queue.stack(self.moving)
            self.product = Product(left.T, right, self.out, self.adds)
            self.product.offer()
        return self.product


class Waiting:
    """What one core has recorded and not computed.

    The sums come first: no tile of theirs was touched by a call that waits.
    """

    is_eager = False  #: compute at once: the plain twin, for tests

    def __init__(self):
        self._sums: list[Sum] = []
        self._calls: list = []  #: (products it needs, execute, call), in program order
        self.buffers: list = []  #: those whose ``waiting`` leads here
        self._work = 0  #: multiply-adds
        self._stacks = {}  #: ids of parts -> (parts, stacked along k)
        self._is_computing = False
        self._is_lost = False

    def takes_product(self, dst, stationary, moving, add: bool) -> bool:
        """Add a product to a sum that waits, or begin one; False if it has to run now.

        Parameters
        ----------
        dst : View
            In PSUM.
        stationary, moving : float32[k, m], float32[k, n]
            Arrays that nobody will change.
        add : bool
        """
        buffer = dst.buffer
        place = dst.offset, dst.shape, dst.strides
        found = buffer.waiting
        if not (
            add and type(found) is Sum and found.place == place and len(found.moving) < _LONGEST
        ):
            if not buffer.is_private or 0 in dst.strides or (add and not dst.is_written()):
                return False
            if found is not None or self._work >= _MOST_WORK:
                self.finish()
            found = buffer.waiting = Sum(self, place, dst.array(), add)
            self._sums.append(found)
            self.buffers.append(buffer)
        found.stationary.append(stationary)
        found.moving.append(moving)
        self._work += stationary.size * moving.shape[1]
        if self.is_eager:
            self.finish()
        return True

    def takes(self, row, call) -> bool:
        """Put off an instruction that reads what waits; False if it has to run now."""
        if call.core.rounding.mode != "nearest":  # tosses follow the order of the instructions
            return False
        operands = call.__dict__
        views = [v for v in map(operands.get, row.reads) if isinstance(v, View)]
        if all(view.buffer.waiting is None for view in views):
            return False
        if len(self._calls) >= _MOST_CALLS or not all(map(View.is_written, views)):
            return False
        written = [operands[role] for role in row.writes]
        views += written
        if not all(type(view) is View and view.buffer.is_private for view in views):
            return False
        for view in written:
            view.mark_written()
        needed = []
        for view in views:
            buffer = view.buffer
            if buffer.waiting is None:
                self.buffers.append(buffer)
            elif type(buffer.waiting) is Sum:  # it takes no more products
                needed.append(buffer.waiting.end())
            buffer.waiting = self
        self._calls.append((needed, row.execute, call))
        return True

    def finish(self) -> None:
        """Compute all that waits.

        Raises
        ------
        RuntimeError
            If an interrupt or an error ended an earlier attempt: the numbers are lost.
        """
        if self._is_computing or not self.buffers:
            return
        if self._is_lost:
            raise RuntimeError(
                "this core was interrupted while it computed, so these numbers are lost; run the "
                "kernel again"
            )
        try:
            self._is_computing = self._is_lost = True
            with np.errstate(all="ignore"):
                products = [each.end() for each in self._sums]
                rest = iter(products)
                for needed, execute, call in self._calls:
                    for product in needed:
                        _wait(product, rest)
                    execute(call)
                for product in products:
                    _wait(product, rest)
        finally:
            self._is_computing = False
        for buffer in self.buffers:
            buffer.waiting = None
        self._is_lost = False
        self._sums, self._calls, self.buffers = [], [], []
        self._stacks, self._work = {}, 0

    def stack(self, parts: list) -> np.ndarray:
        """Return arrays [k, n] as one, stacked along k; sums often share a stack."""
        if len(parts) == 1:
            return parts[0]
        key = tuple(map(id, parts))
        found = self._stacks.get(key)
        if found is None:
            found = self._stacks[key] = parts, np.concatenate(parts)
        return found[1]


def _wait(product, rest):
    """Wait for a product; while a helper is at it, compute the rest."""
    while not product.is_done:
        other = next(rest, None)
        if other is None:
            break
        other.compute()
    product.wait()
