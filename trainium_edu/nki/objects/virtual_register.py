"""Virtual registers of the engines' sequencers: a number that the chip knows only while it runs.

Here the kernel runs as Python, so a register has a value at once: it can bound a loop, be the
condition of a ``while`` and an offset of an access.  Its truth is counted, so that an endless loop
stops.
"""

import operator

from trainium_edu.nki.asking import note_looking, refuse_branch
from trainium_edu.nki.objects.object import NKIObject
from trainium_edu.nki.refusals import refusal
from trainium_edu.nki.running import count_loop, known_issue

__all__ = ["NkiScalar", "VirtualRegister"]


def _number(other):
    return other.value if isinstance(other, VirtualRegister) else other


def _comparison(compare):
    return lambda self, other: compare(self._asked(), _number(other))


def _arithmetic(compute):
    return lambda self, other: self._made(compute(self.value, _number(other)))


class VirtualRegister(NKIObject):
    """One register: an integer (or FP32) value, or nothing yet.

    Parameters
    ----------
    state : int or float, optional
        The value; ``None`` is a register that was never loaded.
    frozen : bool
        True for the variable of a dynamic loop: it cannot be written.
    """

    def __init__(self, state=None, frozen=False):
        self.state = state
        self.frozen = frozen

    @property
    def value(self):
        """The number in the register."""
        if self.state is None:
            raise refusal("registers.never_loaded")
        return self.state

    def set(self, value) -> None:
        """Write the register."""
        if self.frozen:
            raise refusal("registers.frozen")
        self.state = value

    def __repr__(self):
        return f"VirtualRegister({self.state})"

    def __bool__(self):
        known_issue("while_register", once=True)
        count_loop("while")
        return self._asked() != 0

    def _asked(self):
        """Return the number for ``while register:``, which runs on the chip, not for an ``if``."""
        refuse_branch(self)
        return self.value

    def __int__(self):
        return int(self._looked())

    def __index__(self):
        return operator.index(self._looked())

    def __float__(self):
        return float(self._looked())

    def _looked(self):
        note_looking("Python reads a register")
        return self.value

    def __eq__(self, other):
        if other is None or isinstance(other, str):
            return False
        return self._asked() == _number(other)

    __hash__ = object.__hash__
    __lt__, __le__ = _comparison(operator.lt), _comparison(operator.le)
    __gt__, __ge__ = _comparison(operator.gt), _comparison(operator.ge)
    __add__ = __radd__ = _arithmetic(operator.add)
    __sub__, __rsub__ = _arithmetic(operator.sub), _arithmetic(lambda a, b: b - a)
    __mul__ = __rmul__ = _arithmetic(operator.mul)
    __floordiv__, __mod__ = _arithmetic(operator.floordiv), _arithmetic(operator.mod)

    def _made(self, value):
        return VirtualRegister(value)


class NkiScalar(VirtualRegister):
    """An integer of 32 bits that the chip computes: arithmetic makes new ones, and wraps."""

    dtype = "int32"

    def __init__(self, value):
        super().__init__((int(value) + 2**31) % 2**32 - 2**31, frozen=True)

    def __repr__(self):
        return f"NkiScalar({self.state})"

    def _made(self, value):
        return NkiScalar(value)

    def __neg__(self):
        return NkiScalar(-self.value)

    def __pos__(self):
        return self

    def __floordiv__(self, other):  # it has sums and products only
        return NotImplemented

    __mod__ = __floordiv__
