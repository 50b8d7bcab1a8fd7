"""Where a view starts when only the data can tell: one index for all of it, or one per partition.

A view that carries an :class:`Indirect` in its ``indirect`` attribute is moved, at the moment an
instruction reads or writes it, by ``index * step_bytes``.  A *scalar* index (a register, or one
number in SBUF) moves the whole view; a *vector* index (one number per partition, in SBUF) gives
each row of its first axis a place of its own, in place of the stride of that axis.
"""

from dataclasses import dataclass
from typing import Any

import numpy as np

from trainium_edu.neuroncore.recording.views import View
from trainium_edu.specs.errors import NkiValidationError

__all__ = ["Indirect", "IndirectView", "OutOfBoundsError", "indices_of", "out_of_bounds",
           "resolve_scalar"]  # fmt: skip


class OutOfBoundsError(NkiValidationError, IndexError):
    """An index in data points outside its tensor."""


def out_of_bounds(
    view, what: str, limit: int, there="it goes from", skipped=""
) -> OutOfBoundsError:
    """Return the error for an index: it names the whole tensor, also for a view of a part."""
    info = view.buffer.info
    skip = f"; oob_mode skip leaves such {skipped} out" if skipped else ""
    return OutOfBoundsError(
        f"{what} is out of bounds: {there} 0 to {limit - 1} in {info.name}, "
        f"{info.dtype}{list(info.shape)} in {info.memory}, and the whole access has to lie inside"
        f"{skip}"
    )


@dataclass(frozen=True, slots=True)
class Indirect:
    """An index that moves a view along one axis.

    Attributes
    ----------
    index : View, int, or an object with ``value``
        SBUF tile of integers, a number, or a register.
    step_bytes : int
        Bytes from one index to the next: the stride of the indexed axis of the whole tensor.
    limit : int
        Indices are 0 to ``limit - 1``: the size of that axis.
    is_vector : bool
        One index per element of the view's first axis; False: one for the whole view.
    """

    index: object
    step_bytes: int
    limit: int
    is_vector: bool = False


class IndirectView(View):
    """A view whose place depends on data."""

    __slots__ = ("indirect",)

    def __init__(self, buffer, dtype, shape, strides, offset=0, indirect=None):
        super().__init__(buffer, dtype, shape, strides, offset)
        self.indirect = indirect

    def read(self) -> np.ndarray:
        """Return the numbers at the index, or of one row after another; see ``View.read``."""
        indirect = self.indirect
        if indirect is None:
            return super().read()
        if indirect.is_vector:
            return np.stack([self._row(int(k)).read() for k in indices_of(indirect)])
        found = resolve_scalar(self, values=True)
        if found is None:
            raise out_of_bounds(self, f"index {int(indices_of(indirect)[0])}", indirect.limit)
        return found.read()

    def _row(self, k):
        at = Indirect(k, self.indirect.step_bytes, self.indirect.limit)
        return IndirectView(
            self.buffer, self.dtype, self.shape[1:], self.strides[1:], self.offset, at
        )

    @classmethod
    def of(cls, view: View, index, *, axis=0, is_vector=False) -> "IndirectView":
        """Return `view` with `index` in place of its position on `axis`.

        Parameters
        ----------
        view : View
        index : View, int or register
        axis : int
            The indexed axis; scalar: it disappears, vector: its size becomes the index's.
        is_vector : bool

        Examples
        --------
        >>> import numpy as np
        >>> from trainium_edu.neuroncore import NeuronCore
        >>> core = NeuronCore()
        >>> table = core.hbm(np.arange(8, dtype=np.float32).reshape(4, 2))
        >>> rows = core.sbuf((3, 1), "int32")
        >>> core.dma_copy(dst=rows, src=core.hbm(np.int32([[2], [0], [2]])))
        >>> got = core.sbuf((3, 2))
        >>> core.dma_copy(dst=got, src=IndirectView.of(table, rows, is_vector=True))
        >>> core.value(got)[:, 0].tolist()
        [4.0, 0.0, 4.0]
        """
        shape, strides = list(view.shape), list(view.strides)
        indirect = Indirect(index, strides[axis], shape[axis], is_vector)
        if is_vector:
            shape[axis] = index.size
        else:
            del shape[axis], strides[axis]
        return cls(view.buffer, view.dtype, tuple(shape), tuple(strides), view.offset, indirect)


def indices_of(indirect: Indirect) -> np.ndarray:
    """Return the indices as int64[n], from SBUF, a register or a number."""
    index = indirect.index
    if isinstance(index, View):
        if index.dtype.is_float:
            raise NkiValidationError(
                f"the index {index!r} is {index.dtype}; indices are whole numbers: use int32"
            )
        return index.read().reshape(-1).astype(np.int64)
    number: Any = getattr(index, "value", index)  # a register, or the number itself
    return np.array([int(number)], np.int64)


def resolve_scalar(view: View, *, values: bool) -> View | None:
    """Return the plain view at its index, or None where the index is out of bounds.

    Without values the index is unknown and counts as 0.
    """
    indirect = view.indirect
    assert indirect is not None  # the caller has looked
    index = indirect.index
    if isinstance(index, View) and index.size != 1:
        raise NkiValidationError(
            f"{index!r} is a scalar index, but has {index.size} elements; give a (1, 1) tile or a "
            "register, or use a vector index"
        )
    at = int(indices_of(indirect)[0]) if values or not isinstance(index, View) else 0
    offset = view.offset + at * indirect.step_bytes
    base = view.buffer.base
    end = offset + sum((n - 1) * s for n, s in zip(view.shape, view.strides, strict=True))
    if not 0 <= at < indirect.limit or (base is not None and end >= base.size):
        return None
    return View(view.buffer, view.dtype, view.shape, view.strides, offset)
