"""Arithmetic on tiles.  Each function also names an operator to instructions: ``op=nl.add``.

The functions are rows of ``nki/elementwise.toml``, computed by ``rules.py``; here is how this
interface takes tiles and numbers, and makes a tile at once.
"""

from trainium_edu.nki.earlier import names_of
from trainium_edu.nki.language.creation import made
from trainium_edu.nki.language.matrix import broadcast_to, copied
from trainium_edu.nki.language.rules import FLOAT32, Rules
from trainium_edu.nki.mistakes import describe
from trainium_edu.nki.objects.dtypes import FLOATS
from trainium_edu.nki.objects.enums import MemoryRegion
from trainium_edu.nki.objects.enums import engine as _engine
from trainium_edu.nki.objects.tensor import NkiTensor
from trainium_edu.nki.refusals import refusal
from trainium_edu.nki.rows import publish
from trainium_edu.nki.running import known_issue, later_chip
from trainium_edu.specs.errors import NkiValidationError


class Eager(Rules):
    """The current interface: every result is a new tile in SBUF, written at once."""

    copied = staticmethod(copied)
    repeated = staticmethod(broadcast_to)

    def binary(self, name, x, y, dtype=None):
        """Return an operator, and note what AWS lists as failing on hardware."""
        if name == "power" and not self.is_tile(y):
            known_issue(name, depth=3)
        elif self.is_tile(x) and self.is_tile(y) and x._view.shape != y._view.shape:
            known_issue(f"broadcasting of {name}", depth=3)
        return super().binary(name, x, y, dtype)

    def divide(self, name, x, y, dtype=None):
        """Return x times the reciprocal of y, which AWS lists as failing on hardware."""
        known_issue(name, depth=3)
        return super().divide(name, x, y, dtype)

    def is_tile(self, x):
        """Return whether an operand is a tile."""
        return isinstance(x, NkiTensor)

    def tile(self, name, x):
        """Return an operand that has to be a tile on chip."""
        if not isinstance(x, NkiTensor):
            raise TypeError(f"nl.{name} takes a tile, not {describe(x)}")
        if not x._on_chip:
            raise refusal("language.in_hbm", name=name, x=x)
        return x

    def operand(self, name, x, role=""):
        """Return a tile on chip, or a number as an int or a float."""
        kind = type(x)
        if kind is int or kind is float:
            return x
        if isinstance(x, NkiTensor):
            return self.tile(name, x)
        if hasattr(x, "__float__") and getattr(x, "ndim", 0) == 0:
            return int(x) if hasattr(x, "__index__") else float(x)
        is_array = " (kernels take arrays as arguments)" if hasattr(x, "shape") else ""
        raise TypeError(f"nl.{name} takes tiles and numbers, not {describe(x)}{is_array}")

    def sizes(self, x):
        """Return the sizes of a tile."""
        return x._view.shape

    def kind(self, x):
        """Return the dtype of a tile."""
        return x.dtype

    def with_number(self, kind, number):
        """Return the dtype of a tile, or FP32 of an integer tile with a fraction."""
        is_whole = kind in FLOATS or hasattr(number, "__index__")
        return kind if is_whole else FLOAT32

    def is_in_psum(self, x):
        """Return whether a tile is in PSUM."""
        return x.buffer is MemoryRegion.psum

    def in_sbuf(self, x):
        """Return a tile in SBUF: a copy of one in PSUM."""
        return copied(x, x.dtype) if self.is_in_psum(x) else x

    def made(self, instruction, shape, dtype, **operands):
        """Return a new tile that an instruction writes."""
        return made(shape, dtype, instruction, **operands)

    def abs_max(self, name, **_):
        """Refuse: a later chip has it."""
        raise later_chip(f"nl.{name}", "NeuronCore-v4 (Trainium3)")

    abs_min = abs_max

    def rsqrt(self, name, x, dtype=None):
        """Return 1 / sqrt(x) by the GpSimd Engine."""
        return self._one(name, self.tile(name, x), dtype, {}, engine=_engine.gpsimd, op0="rsqrt",
                         operand0=0.0)  # fmt: skip

    def axes(self, name, x, axis):
        """Return the reduced axes: the last of the tile."""
        axes = super().axes(name, x, axis)
        if axes != tuple(range(x.ndim - len(axes), x.ndim)):
            raise NkiValidationError(
                f"nl.{name}: axis {axis} of {x!r}; reductions go over the last dimensions of a "
                f"tile: {', '.join(str(list(range(k, x.ndim))) for k in range(x.ndim - 1, 0, -1))}"
            )
        return axes

    def reduced(self, op, x, axes, dtype, keepdims):
        """Return a reduction of a tile, as one axis where that is a run in memory."""
        shape = x.shape[: axes[0]]
        if keepdims or len(shape) == 1:
            shape = (*shape, *(1,) * (len(axes) if keepdims else 1))
        if _is_flat(x, axes):
            x, axes = x.flatten_dims(axes[0], axes[-1]), axes[:1]
        return made(shape, dtype, "tensor_reduce", op=op, data=x, axis=axes)


def _is_flat(x, axes):
    """Return whether several reduced axes are one run in memory."""
    view = x._view
    step = view.strides[axes[-1]]
    for axis in reversed(axes):
        if view.strides[axis] != step:
            return False
        step *= view.shape[axis]
    return len(axes) > 1


RULES = Eager()
__all__ = publish("now", "two_inputs comparisons one_input negations", globals())
for _name in __all__:
    globals()[_name].op = _name  # instructions know it by this name

__getattr__ = names_of(__name__, "nki.language")
