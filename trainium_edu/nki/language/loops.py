"""Loops: unrolled ones, which are Python's ``range``, and those that run on the chip."""

from contextlib import contextmanager

from trainium_edu.nki.mistakes import describe, is_whole
from trainium_edu.nki.objects.virtual_register import NkiScalar, VirtualRegister
from trainium_edu.nki.refusals import misuse, refusal
from trainium_edu.nki.running import count_loop, current, known_issue
from trainium_edu.specs.arguments import whole

__all__ = ["affine_range", "dynamic_range", "fori_loop", "no_reorder", "sequential_range",
           "static_range", "while_loop"]  # fmt: skip


def static_range(start, stop=None, step=1) -> range:
    """Return Python's range; the loop is unrolled."""
    return _range("static_range", start, stop, step)


def sequential_range(start, stop=None, step=1) -> range:
    """Return Python's range; the loop is unrolled."""
    return _range("sequential_range", start, stop, step)


def affine_range(start, stop=None, step=1) -> range:
    """Return Python's range; the loop is unrolled."""
    return _range("affine_range", start, stop, step)


def _range(name, start, stop, step):
    if isinstance(start, VirtualRegister) or isinstance(stop, VirtualRegister):
        raise TypeError(f"nl.{name} is unrolled before the kernel runs; use nl.fori_loop")
    try:
        return range(start) if stop is None else range(start, stop, step)
    except TypeError:
        bounds = ", ".join(describe(part) for part in (start, stop) if part is not None)
        raise misuse("loops.bounds", name=name, bounds=bounds) from None


def dynamic_range(start, stop=None, step=1):
    """Yield the values of a loop whose bounds may be registers (superseded by ``fori_loop``)."""
    known_issue("dynamic_range")
    if stop is None:
        start, stop = 0, start
    for value in _turns("dynamic_range", start, stop, step):
        yield VirtualRegister(value, frozen=True)


def _turns(name, start, stop, step):
    if isinstance(step, VirtualRegister) or not is_whole(step):
        raise AssertionError(
            f"nl.{name}: step is {step!r}; it must be a whole number known before the kernel runs, "
            "because the loop instruction holds it"
        )
    if step.__index__() < 1:
        raise AssertionError(f"nl.{name}: step is {step}; dynamic loops count up, step >= 1")
    with _dynamic(name):
        for value in range(_bound(name, start), _bound(name, stop), step.__index__()):
            count_loop("for")
            yield value


@contextmanager
def _dynamic(name):
    """Mark what is issued inside as belonging to one dynamic loop."""
    running = current()
    if running.ordered:
        raise refusal("loops.in_no_reorder", name=name)
    outer = running.loops
    running.loops = (*outer, object())
    try:
        yield
    finally:
        running.loops = outer


def _bound(name, value):
    if isinstance(value, VirtualRegister):
        value = value.value
    return whole(value, f"nl.{name}: a bound", why=" or a register")


def fori_loop(lower, upper, body_fun, step=1) -> None:
    """Call ``body_fun(i)`` for i from `lower` to `upper` - 1; bounds may be registers.

    Parameters
    ----------
    lower, upper : int, VirtualRegister or NkiScalar
    body_fun : function of a register, or of a scalar if a bound is one and none a register
        Returns nothing: state is carried in SBUF or HBM.
    step : int
        1 or more, known before the kernel runs.
    """
    if not callable(body_fun):
        raise TypeError(f"nl.fori_loop: the body is {body_fun!r}; it must be a function of i")
    kinds = {type(lower), type(upper)}
    kind = VirtualRegister if VirtualRegister in kinds or NkiScalar not in kinds else NkiScalar
    for value in _turns("fori_loop", lower, upper, step):
        if body_fun(kind(value)) is not None:  # by value: writing it changes nothing
            raise misuse("loops.body_returns")


def while_loop(init, body_fun) -> None:
    """Call ``r = body_fun(r)`` while the register r is nonzero, beginning with `init`.

    Parameters
    ----------
    init : VirtualRegister
    body_fun : function of a register, returning one
        The loop is stopped after as many turns as a kernel may have instructions.
    """
    if not isinstance(init, VirtualRegister):
        raise TypeError(f"nl.while_loop: the condition is {init!r}; it must be a register")
    condition = VirtualRegister(init.value)
    with _dynamic("while_loop"):
        while condition.value:
            count_loop("while")
            condition = body_fun(condition)
            if not isinstance(condition, VirtualRegister):
                raise misuse("loops.condition", condition=condition)


class no_reorder:
    """Keep the program's order inside this block.

    The scheduler here never reorders the instructions of one engine; a block adds that each
    instruction waits for the one before it, whatever engine runs it.
    """

    def __enter__(self):
        running = current()
        running.ordered += 1
        self.first = len(running.core.program.instructions)
        return self

    def __exit__(self, kind, *_):
        running = current()
        running.ordered -= 1
        if kind is None:
            instructions = running.core.program.instructions
            for place in range(self.first + 1, len(instructions)):
                instructions[place].after = (*instructions[place].after, place - 1)
