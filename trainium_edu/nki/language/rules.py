"""Arithmetic and reductions on tiles, computed alike in both interfaces.

Two tiles go through ``tensor_tensor``, a tile and a number (or one number per partition) through
``tensor_scalar``; functions of one tile are activations of the Scalar Engine where it has them.
The functions are rows of ``nki/elementwise.toml``.
"""

import math

from trainium_edu.nki.mistakes import describe, is_whole
from trainium_edu.nki.objects.dtypes import DTYPE_NAMES, FLOATS, promoted
from trainium_edu.nki.refusals import misuse, refusal

__all__ = ["BITWISE", "FLOAT32", "REDUCED", "Rules", "common_shape", "refuse"]

FLOAT32 = DTYPE_NAMES["float32"]
BITWISE = {"bitwise_and", "bitwise_or", "bitwise_xor", "left_shift", "right_shift"}
#: The operator of ``tensor_reduce`` for each reduction.
REDUCED = {"all": "logical_and", "max": "maximum", "min": "minimum", "prod": "multiply",
           "sum": "add"}  # fmt: skip


def refuse(name, more, also=()) -> None:
    """Raise for arguments that a function does not have, other than those in `also`."""
    if unknown := set(more) - set(also):
        raise TypeError(f"nl.{name} has no argument {min(unknown)}")


def common_shape(name, x, y) -> tuple:
    """Return the shape to which two tiles are repeated; [P] counts as [P, 1]."""
    x, y = tuple(x), tuple(y)
    if {len(x), len(y)} == {1, 2}:
        x, y = ((*shape, 1)[:2] for shape in (x, y))
    if len(x) == len(y) and all(a == b or 1 in (a, b) for a, b in zip(x, y, strict=True)):
        return tuple(map(max, x, y))
    raise refusal("language.unlike_shapes", name=name, x=list(x), y=list(y))


class Rules:
    """The rules of functions; a subclass has what depends on the interface: operands and results.

    A function is computed by the method of its name, or by that of its kind.

    ``is_tile(x)``; ``tile(name, x)`` and ``operand(name, x)`` return a tile, or a tile or number;
    ``kind(x)`` is a tile's dtype in NKI's words, ``with_number(kind, number)`` what it becomes
    with a number; ``made(instruction, shape, dtype, ...)`` returns a new tile that an instruction
    writes, ``reduced`` one of ``tensor_reduce``; ``copied``, ``in_sbuf`` and ``repeated`` return
    tiles.  ``how`` holds the older interface's mask.
    """

    def common(self, x, y):
        """Return the dtype that two operands become together, of which one is a tile."""
        if not self.is_tile(x):
            x, y = y, x
        kind = self.kind(x)
        return promoted(kind, self.kind(y)) if self.is_tile(y) else self.with_number(kind, y)

    def binary(self, name, x, y, dtype=None, **how):
        """Return an operator of two tiles, or of a tile and a number."""
        first, second = self.operand(name, x, "x"), self.operand(name, y, "y")
        is_first, is_second = self.is_tile(first), self.is_tile(second)
        if not is_first and not is_second:
            raise misuse("language.no_tile", name=name, x=describe(x), y=describe(y))
        if dtype is None:
            dtype = self.common(first if is_first else x, second if is_second else y)
        if is_first and is_second:
            if name in BITWISE and dtype == FLOAT32:  # of int32 and uint32, which has their bits
                dtype = self.kind(first)
            combine = self._pair if first.shape == second.shape else self._uneven
            return combine(name, first, second, dtype, how)
        data, operand = (first, second) if is_first else (second, first)
        return self.made("tensor_scalar", data.shape, dtype, data=data, op0=name,
                         operand0=operand, reverse0=not is_first, **how)  # fmt: skip

    def _pair(self, name, x, y, kind, how):
        """Combine two tiles; of those in PSUM an instruction reads one, and GpSimd's power none."""
        if self.is_in_psum(x) or name == "power":
            y = self.in_sbuf(y)
        if name == "power":
            x = self.in_sbuf(x)
        return self.made("tensor_tensor", x.shape, kind, data1=x, data2=y, op=name, **how)

    def _uneven(self, name, x, y, kind, how):
        """Combine tiles of two shapes: one number per partition, or dimensions that repeat."""
        shape = common_shape(name, x.shape, y.shape)
        for data, vector, reverse in ((x, y, False), (y, x, True)):
            is_column = math.prod(vector.shape) == shape[0] == vector.shape[0]
            if tuple(data.shape) == shape and is_column and name not in BITWISE:
                column = vector.reshape((shape[0], 1))
                if self.kind(column) != "float32":
                    column = self.copied(column, FLOAT32)
                return self.made("tensor_scalar", shape, kind, data=data, op0=name,
                                 operand0=column, reverse0=reverse, **how)  # fmt: skip
        return self._pair(name, self.repeated(x, shape), self.repeated(y, shape), kind, how)

    def divide(self, name, x, y, dtype=None, **how):
        """Return x times the Vector Engine's reciprocal of y."""
        x, y = self.operand(name, x, "x"), self.operand(name, y, "y")
        if not self.is_tile(y):
            return self.binary(
                "multiply", x, 1.0 / y if y else math.copysign(math.inf, y), dtype, **how
            )
        if dtype is None:
            dtype = self.common(x, y)
            dtype = dtype if dtype in FLOATS else FLOAT32
        whole = math.prod(y.shape) > 1
        inverse = self.made("reciprocal", y.shape, FLOAT32, data=y, **(how if whole else {}))
        return self.binary("multiply", x, inverse, dtype, **how)

    def _one(self, name, x, dtype, how, instruction="tensor_scalar", **operands):
        """Return what one instruction makes of each element of a tile."""
        return self.made(instruction, x.shape, dtype or self.kind(x), data=x, **operands, **how)

    def activation(self, name, x, dtype=None, **how):
        """Return a function of the Scalar Engine."""
        return self._one(name, self.tile(name, x), dtype, how, "activation", op=name)

    def reciprocal(self, name, x, dtype=None, **how):
        """Return 1 / x."""
        return self._one(name, self.tile(name, x), dtype, how, "reciprocal")

    def negative(self, name, x, dtype=None, **how):
        """Return x times -1."""
        x = self.tile(name, x)
        number = -1.0 if self.kind(x) in FLOATS else -1
        return self.binary("multiply", x, number, dtype or self.kind(x), **how)

    def invert(self, name, x, dtype=None, **how):
        """Return x with all bits flipped."""
        x = self.tile(name, x)
        kind = self.kind(x)
        ones = -1 if kind.startswith("int") else 256**kind.itemsize - 1
        return self._one(name, x, dtype, how, op0="bitwise_xor", operand0=ones)

    def logical_not(self, name, x, dtype=None, **how):
        """Return whether x is 0."""
        return self._one(name, self.tile(name, x), dtype, how, op0="equal", operand0=0.0)

    # -- reductions ---------------------------------------------------------------------------

    def axes(self, name, x, axis):
        """Return the reduced axes in order: free ones."""
        requested = [axis] if is_whole(axis) else axis
        if not (
            isinstance(requested, tuple | list) and requested and all(map(is_whole, requested))
        ):
            raise misuse("language.axis_kind", name=name, axis=axis)
        count = len(self.sizes(x))
        axes = tuple(sorted({int(a) + count * (a < 0) for a in requested}))
        if axes[0] < 0 or axes[-1] >= count:
            raise refusal("language.axis_range", name=name, axis=axis, x=x, count=count)
        if 0 in axes:
            raise refusal("language.partition_axis", name=name, x=x)
        return axes

    def reduction(self, name, x, axis, dtype=None, keepdims=False, **how):
        """Return what ``tensor_reduce`` gives along free axes."""
        x = self.tile(name, x)
        axes, kind = self.axes(name, x, axis), self.kind(x) if dtype is None else dtype
        return self.reduced(REDUCED[name], x, axes, kind, keepdims, **how)

    def mean(self, name, x, axis, dtype=None, keepdims=False, **how):
        """Return the sum in FP32, times one over the count."""
        x = self.tile(name, x)
        axes = self.axes(name, x, axis)
        count = math.prod(self.sizes(x)[a] for a in axes)
        total = self.reduced("add", x, axes, FLOAT32, keepdims, **how)
        return self._one(name, total, dtype or self.kind(x), {}, op0="multiply",
                         operand0=1.0 / count)  # fmt: skip
