"""Indices of the older interface: ``nl.arange``, ``nl.mgrid``, arithmetic on them, and masks.

An :class:`Expression` is an array of integers, kept as ``start + step * position`` for each of
its axes, so that an access of 128 x 512 elements costs as much as one of 2 x 2.  Loop variables are
plain Python numbers here.  A comparison makes a :class:`Mask`.
"""

import operator
import sys
from functools import lru_cache

import numpy as np

from trainium_edu.nki.asking import kept_until
from trainium_edu.nki.mistakes import describe, frame_where
from trainium_edu.nki.refusals import misuse, refusal
from trainium_edu.nki.running import current_or_none
from trainium_edu.specs.errors import NkiValidationError

__all__ = ["EMPTY", "AnyOrder", "Expression", "Grid", "Mask", "arange", "are_apart", "box_of",
           "forget_asked", "mgrid"]  # fmt: skip

#: The box of a mask that holds nowhere.
EMPTY = ()


class Expression:
    """Whole numbers of some shape: an index, or a part of one.

    Attributes
    ----------
    shape : tuple of int
    start : int
    steps : tuple of int         how much the number grows along each axis
    values : int64[shape], optional
        The numbers themselves, where no start and steps give them (``i // 3``).

    Examples
    --------
    >>> i = arange(4)[:, None] * 2 + arange(3)[None, :]
    >>> i.shape, i.start, i.steps
    ((4, 3), 0, (2, 1))
    """

    __slots__ = ("_turned", "shape", "start", "steps", "values")
    __hash__ = object.__hash__

    def __init__(self, shape, start, steps, values=None):
        self.shape = shape
        self.start = start
        self.steps = steps
        self.values = values
        self._turned = {}

    @property
    def ndim(self) -> int:
        """How many axes it has."""
        return len(self.shape)

    def numbers(self) -> np.ndarray:
        """Return the numbers, int64[shape]."""
        if self.values is not None:
            return self.values
        found = np.full(self.shape, self.start, np.int64)
        for axis, (size, step) in enumerate(zip(self.shape, self.steps, strict=True)):
            if step:
                line = np.arange(size, dtype=np.int64) * step
                found += line.reshape((-1,) + (1,) * (len(self.shape) - axis - 1))
        return found

    def bounds(self) -> tuple[int, int]:
        """Return the smallest and the largest number."""
        if self.values is not None:
            return int(self.values.min()), int(self.values.max())
        low = high = self.start
        for size, step in zip(self.shape, self.steps, strict=True):
            if step > 0:
                high += step * (size - 1)
            else:
                low += step * (size - 1)
        return low, high

    def __repr__(self):
        low, high = self.bounds()
        return f"index expression of shape {list(self.shape)}, {low} … {high}"

    def __bool__(self):
        raise _no_branch(self)

    def __setitem__(self, key, value):
        raise _not_assigned(self)

    def __iter__(self):
        raise TypeError(f"{self!r} cannot be iterated; loops go over nl.affine_range")

    def __array__(self, dtype=None, copy=None):
        return self.numbers().astype(dtype or np.int64)

    __array_ufunc__ = None  # np.int64(3) * i asks i

    def __getitem__(self, key):
        parts = key if type(key) is tuple else (key,)
        kinds = tuple([part if part is None or part is Ellipsis else
                       0 if type(part) is slice and part == _ALL else part
                       for part in parts])  # fmt: skip
        try:
            index = self._turned.get(kinds)
        except TypeError:  # a slice with bounds
            return self._part(parts)
        if index is None:
            index = self._part(parts)
            self._turned[kinds] = index
        return index

    def _part(self, parts):
        if Ellipsis in parts:
            at = parts.index(Ellipsis)
            rest = self.ndim - sum(p is not None for p in parts) + 1
            parts = (*parts[:at], *(_ALL,) * rest, *parts[at + 1 :])
        if self.values is not None:
            return _of_array(self.values[parts])
        shape, steps, start, axis = [], [], self.start, 0
        for part in parts:
            if part is None:
                shape.append(1)
                steps.append(0)
                continue
            if axis == self.ndim:
                raise IndexError(f"{self!r} has {self.ndim} axes, and {list(parts)} needs more")
            size, step = self.shape[axis], self.steps[axis]
            axis += 1
            if isinstance(part, slice):
                first, stop, stride = part.indices(size)
                shape.append(len(range(first, stop, stride)))
                steps.append(step * stride)
                start += first * step
            else:
                start += operator.index(part) % size * step
        shape += self.shape[axis:]
        steps += self.steps[axis:]
        return Expression(tuple(shape), start, tuple(steps)) if shape else start

    # -- arithmetic ---------------------------------------------------------------------------

    def __add__(self, other):
        if type(other) is int and self.values is None:
            return Expression(self.shape, self.start + other, self.steps)
        return _combined(operator.add, self, other)

    __radd__ = __add__

    def __sub__(self, other):
        if type(other) is int and self.values is None:
            return Expression(self.shape, self.start - other, self.steps)
        return _combined(operator.sub, self, other)

    def __rsub__(self, other):
        return _combined(operator.sub, other, self)

    def __mul__(self, other):
        if type(other) is int and self.values is None:
            return Expression(
                self.shape, self.start * other, tuple([s * other for s in self.steps])
            )
        return _combined(operator.mul, self, other)

    __rmul__ = __mul__

    def __neg__(self):
        return self * -1

    def __pos__(self):
        return self

    def __floordiv__(self, other):
        whole = type(other) is int and other > 0 and self.values is None
        if whole and not any(number % other for number in (self.start, *self.steps)):
            steps = tuple([step // other for step in self.steps])
            return Expression(self.shape, self.start // other, steps)
        return _combined(operator.floordiv, self, other)

    def __rfloordiv__(self, other):
        return _combined(operator.floordiv, other, self)

    def __mod__(self, other):
        return _combined(operator.mod, self, other)

    def __rmod__(self, other):
        return _combined(operator.mod, other, self)

    def __truediv__(self, other):
        raise TypeError(f"{self!r} / {other!r}: an index is a whole number; i // n gives one")

    # -- comparisons --------------------------------------------------------------------------

    def __ge__(self, other):
        return _mask(self - other)

    def __gt__(self, other):
        return _mask(self - other - 1)

    def __le__(self, other):
        return _mask(other - self)

    def __lt__(self, other):
        return _mask(other - self - 1)

    def __eq__(self, other):
        difference = self - other
        return _mask(difference, difference * -1)

    def __ne__(self, other):
        difference = self - other
        if type(difference) is int:
            difference = Expression((), difference, ())
        return _joined(Mask(difference.shape, (), difference.numbers() != 0, difference))


_ALL = slice(None)


def _combined(function, a, b):
    """Return ``function(a, b)`` of two expressions or numbers."""
    a, b = _expression(a), _expression(b)
    if a is None or b is None:
        return NotImplemented
    if a.values is None and b.values is None:
        if function is operator.mul and not any(a.steps):
            return b * a.start if not b.shape or a.shape == () else _grown(b * a.start, a.shape)
        if function is operator.mul and not any(b.steps):
            return a * b.start if b.shape == () else _grown(a * b.start, b.shape)
        if function is operator.add or function is operator.sub:
            sign = 1 if function is operator.add else -1
            shape, first, second = _aligned(a.shape, a.steps, b.shape, b.steps)
            steps = tuple([x + sign * y for x, y in zip(first, second, strict=True)])
            return Expression(shape, a.start + sign * b.start, steps)
    return _of_array(function(a.numbers(), b.numbers()))


def _grown(expression, shape):
    return expression + Expression(shape, 0, (0,) * len(shape))


@lru_cache(4096)
def _aligned(shape, steps, other_shape, other_steps):
    """Return the common shape of two expressions, and the steps of each in it."""
    try:
        common = np.broadcast_shapes(shape, other_shape)
    except ValueError:
        raise NkiValidationError(
            f"index expressions of shapes {list(shape)} and {list(other_shape)} do not go together;"
            " sizes are equal or 1: write nl.arange(n)[:, None] and nl.arange(m)[None, :]"
        ) from None
    return common, _in(common, shape, steps), _in(common, other_shape, other_steps)


def _in(common, shape, steps):
    lead = len(common) - len(shape)
    return (0,) * lead + tuple(
        step if size != 1 else 0 for size, step in zip(shape, steps, strict=True)
    )


def _expression(value):
    kind = type(value)
    if kind is Expression:
        return value
    if kind is Grid:
        raise TypeError("nl.mgrid[...] is several indices: use its .p, .x, .y, or unpack it")
    if kind is not float and hasattr(value, "__index__") and not getattr(value, "shape", ()):
        return Expression((), operator.index(value), ())
    if isinstance(value, np.ndarray) and value.dtype.kind in "iu":
        return _of_array(value)
    return None


def _of_array(values):
    """Return an expression of these numbers, as start and steps where that is all of them."""
    values = np.asarray(values)
    if values.ndim == 0:
        return int(values)
    start = int(values.reshape(-1)[0])
    corner = [0] * values.ndim
    steps = []
    for axis, size in enumerate(values.shape):
        at = (*corner[:axis], min(1, size - 1), *corner[axis + 1 :])
        steps.append(int(values[at]) - start)
    found = Expression(values.shape, start, tuple(steps))
    if not np.array_equal(found.numbers(), values):
        found = Expression(values.shape, start, None, values.astype(np.int64))
    return found


@lru_cache(4096)
def _counting(start, stop, step):
    size = len(range(start, stop, step))
    if not size:
        raise NkiValidationError(f"nl.arange({start}, {stop}, {step}) is empty")
    return Expression((size,), start, (step,))


def arange(start, stop=None, step=1) -> Expression:
    """Return the indices start … stop - 1; ``arange(n)[:, None]`` runs along partitions.

    Examples
    --------
    >>> arange(128)[:, None]
    index expression of shape [128, 1], 0 … 127
    """
    if stop is None:
        start, stop = 0, start
    try:
        return _counting(operator.index(start), operator.index(stop), operator.index(step))
    except TypeError:
        raise misuse("index.arange", start=start, stop=stop, step=step) from None


class AnyOrder:
    """The counter of ``nl.affine_range(n)``: numbers whose present the running program knows.

    Attributes
    ----------
    numbers : range
    """

    __slots__ = ("numbers",)

    def __init__(self, numbers):
        self.numbers = numbers

    def __iter__(self):
        running = current_or_none()
        if running is None:
            yield from self.numbers
            return
        outer, program, starts = running.turn, running.core.program, []
        inner = len(program.turns)
        try:
            for number in self.numbers:
                running.turn = (*outer, (self, number))
                starts.append(len(program))
                yield number
            if inner == len(program.turns):
                program.turns.append((*starts, len(program)))
        finally:
            running.turn = outer

    def __len__(self):
        return len(self.numbers)

    def __getitem__(self, key):
        return self.numbers[key]

    def __repr__(self):
        return f"nl.affine_{self.numbers!r}"


def are_apart(turn, other) -> bool:
    """Return whether two turns, as ``Running.turn`` has them, may run in any order."""
    for (loop, number), (loop_of_other, number_of_other) in zip(turn, other, strict=False):
        if loop is not loop_of_other:
            return False
        if number != number_of_other:
            return True
    return False


class Grid(tuple):
    """A result of ``nl.mgrid[0:p, 0:x]``: one index a dimension, also as ``.p``, ``.x``, ``.y``."""

    __slots__ = ()

    def __getattr__(self, name):
        at = "pxyzw".find(name)
        if len(name) == 1 and 0 <= at < len(self):
            return self[at]
        names = ", ".join("." + c for c in "pxyzw"[: len(self)])
        raise AttributeError(f"this nl.mgrid has {len(self)} dimensions: {names}")


class _Mgrid:
    """``nl.mgrid``: indices of a box."""

    def __getitem__(self, key):
        parts = key if type(key) is tuple else (key,)
        lines = [arange(p.start or 0, p.stop, p.step or 1) for p in parts]
        shape = tuple(line.shape[0] for line in lines)
        found = []
        for axis, line in enumerate(lines):
            steps = [0] * len(shape)
            steps[axis] = line.steps[0]
            found.append(Expression(shape, line.start, tuple(steps)))
        return Grid(found)

    def __repr__(self):
        return "nl.mgrid"


mgrid = _Mgrid()


class Mask:
    """The places where an instruction works, as a comparison of index expressions gives them.

    Attributes
    ----------
    shape : tuple of int
    parts : tuple of Expression     the mask holds where all of them are 0 or more
    truth : bool[shape], optional   the same as numbers, where no comparison of that kind gives it
    unequal : Expression, optional  what is not 0 where the mask holds, if that says it all
    """

    __slots__ = ("parts", "shape", "truth", "unequal")
    __hash__ = object.__hash__

    def __init__(self, shape, parts, truth=None, unequal=None):
        self.shape = shape
        self.parts = parts
        self.truth = truth
        self.unequal = unequal

    def __repr__(self):
        return f"mask of shape {list(self.shape)}"

    def values(self) -> np.ndarray:
        """Return the mask, bool[shape]."""
        found = np.ones(self.shape, bool) if self.truth is None else self.truth
        for part in self.parts:
            found = found & (part.numbers() >= 0)
        return np.broadcast_to(found, self.shape)

    def __setitem__(self, key, value):
        raise _not_assigned(self)

    def __and__(self, other):
        if isinstance(other, bool | np.bool_):
            never = Mask(self.shape, (Expression(self.shape, -1, (0,) * len(self.shape)),))
            return _joined(self if other else never)
        return _joined(_both(self, other)) if isinstance(other, Mask) else NotImplemented

    __rand__ = __and__

    def __or__(self, other):
        if isinstance(other, bool | np.bool_):
            return True if other else _joined(self)
        if not isinstance(other, Mask):
            return NotImplemented
        return _of_truth(self.values() | other.values())

    __ror__ = __or__

    def __invert__(self):
        return _of_truth(~self.values())

    def __bool__(self):
        """Return True in ``a and b``, of which Python keeps b alone, and let b mean both."""
        frame = sys._getframe(1)
        until = kept_until(frame.f_code, frame.f_lasti)
        if until is None:
            raise _no_branch(self)
        _check_joined()
        _asked[:] = [(frame.f_code, frame.f_lasti, until, self), False]
        return True


#: [(code, offset, where b ends, a) of the ``a and b`` that was met last, whether b is a mask].
_asked: list = []


def _both(a, b):
    """Return the mask that holds where both do."""
    shape = np.broadcast_shapes(a.shape, b.shape)
    if a.truth is None and b.truth is None:
        return Mask(shape, a.parts + b.parts)
    return Mask(shape, (), a.values() & b.values())


def _no_branch(value) -> TypeError:
    return TypeError(
        f"{value!r} has no truth value: it holds at some indices of nl.arange or nl.mgrid and not "
        "at others, so no branch, `not`, `or` or loop can depend on it; pass it as mask= to the "
        "instruction, and combine masks with &, | and ~ "
        "(err_control_flow_condition_depending_on_arange)"
    )


def _not_assigned(value) -> TypeError:
    return TypeError(
        f"{value!r} cannot be assigned to: it has no memory; nisa.iota(index, dtype=nl.uint32) "
        "makes a tile of it (err_cannot_assign_to_index)"
    )


def forget_asked() -> None:
    """Forget the ``a and b`` of a kernel that ended inside it."""
    _asked.clear()


def _check_joined() -> None:
    """Raise for a mask that ``and`` joined to something else than a mask made there.

    Python keeps the second operand alone, so the mask would be lost.
    """
    if _asked and not _asked[1]:
        mask = _asked[0][-1]
        _asked.clear()
        raise misuse("mask.lost_by_and", mask=mask)
    _asked.clear()


def _mask(*parts):
    parts = tuple(
        [part if type(part) is Expression else Expression((), part, ()) for part in parts]
    )
    shape = parts[0].shape
    if any(part.values is not None for part in parts):
        return _joined(Mask(shape, (), np.logical_and.reduce([p.numbers() >= 0 for p in parts])))
    return _joined(Mask(shape, parts))


def _of_truth(truth):
    return _joined(Mask(truth.shape, (), truth))


def _joined(mask):
    """Return a new mask, and with it the one whose truth ``a and b`` has just asked."""
    if not _asked:
        return mask
    code, first, until, other = _asked[0]
    frame = frame_where(lambda other: other is code)
    if frame is None or not first < frame.f_lasti < until:
        _check_joined()
        return mask
    _asked[1] = True
    return _both(other, mask)


def box_of(mask, shape, what: str):
    """Return the box of an iteration space in which a mask holds.

    Parameters
    ----------
    mask : Mask, bool or None
    shape : tuple of int
        Of the iteration space.
    what : str
        Whose mask it is, for errors.

    Returns
    -------
    None, EMPTY, or tuple of (first, end)
        None: everywhere; one pair per axis otherwise.

    Raises
    ------
    NkiValidationError
        For a mask of another shape, or one that is not a box (a triangle).
    """
    if _asked:
        _check_joined()
    if mask is None:
        return None
    if isinstance(mask, bool | np.bool_):
        return None if mask else EMPTY
    if not isinstance(mask, Mask):
        raise misuse("mask.not_a_comparison", what=what, mask=describe(mask))
    lead = _lead(mask.shape, shape, what)
    low, high = [0] * len(shape), list(shape)
    if mask.truth is not None:
        _bound_by_truth(mask, lead, low, high, what)
    for part in mask.parts:
        shift = lead + len(mask.shape) - len(part.shape)
        axes = [a for a, s in enumerate(part.steps) if s and part.shape[a] > 1]
        if len(axes) == 1:
            axis, step = axes[0], part.steps[axes[0]]
            at = axis + shift
            if step > 0:  # start + step * i >= 0
                low[at] = max(low[at], -(part.start // step))
            else:
                high[at] = min(high[at], part.start // -step + 1)
        elif not axes:
            if part.start < 0:
                return EMPTY
        else:
            least, most = part.bounds()
            if most < 0:
                return EMPTY
            if least < 0:
                _bound_by_truth(mask, lead, low, high, what)
    if any(a >= b for a, b in zip(low, high, strict=True)):
        return EMPTY
    if all(a == 0 for a in low) and tuple(high) == tuple(shape):
        return None
    return tuple(zip(low, high, strict=True))


def _lead(mask_shape, shape, label):
    """Return which axis of the iteration space a mask's first axis is."""
    for lead in dict.fromkeys((len(shape) - len(mask_shape), 0)):
        if lead >= 0 and len(mask_shape) + lead <= len(shape):
            pairs = zip(mask_shape, shape[lead:], strict=False)
            if all(m in (1, s) for m, s in pairs):
                return lead
    raise NkiValidationError(
        f"{label}: the mask has shape {list(mask_shape)}, and what it masks has {list(shape)}; "
        "compare the index expressions of the access itself: nl.arange(n)[:, None] < limit"
    )


def _bound_by_truth(mask, lead, low, high, label):
    """Cut the box to where a mask of numbers holds; raise if that is not a box."""
    truth = mask.values()
    if not truth.any():
        high[0] = 0
        return
    volume = 1
    for axis, size in enumerate(truth.shape):
        line = np.flatnonzero(truth.any(axis=tuple(a for a in range(truth.ndim) if a != axis)))
        first, end = int(line[0]), int(line[-1]) + 1
        volume *= end - first
        if size > 1:
            low[axis + lead] = max(low[axis + lead], first)
            high[axis + lead] = min(high[axis + lead], end)
    if volume != int(truth.sum()):
        raise refusal("mask.not_a_box", what=label, places=int(truth.sum()))
