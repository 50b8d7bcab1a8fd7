"""What Python may ask while a kernel runs: shapes and arguments, not what the chip computes.

A kernel is a Python function that is run once to find its instructions; the numbers come when they
run.  A branch on them has no instruction: AWS's tracer raises TypeError (reference of
``VirtualRegister``), and so does this module, with numbers and without (``values=False``).  Two
statements stay: ``assert nl.equal(a, b)``, which takes no other path, and ``while register:``,
which the chip can run.  Looking at numbers (``np.array(tile)``) is said in the run's advice.
"""

import ast
import dis
import linecache
import sys
from functools import lru_cache
from types import FrameType

from trainium_edu.neuroncore.recording.engine import Engine
from trainium_edu.neuroncore.recording.source import source_line
from trainium_edu.nki import running
from trainium_edu.nki.mistakes import is_ours

__all__ = ["note_looking", "refuse_branch", "refuse_comparison", "truth_of_tile"]

_INSTEAD = (
    "nl.where(mask, a, b) chooses element by element, nl.fori_loop and nl.while_loop let the chip "
    "repeat, and Python may ask shapes, dtypes and arguments (x.shape[0] > 1, `t is not None`)"
)


def _statement() -> str:
    """Return what kind of statement asks: "assert", "while", "branch", or "" if that is open."""
    frame: FrameType | None = sys._getframe(2)
    while frame is not None and is_ours(frame.f_code.co_filename):
        frame = frame.f_back
    if frame is None:
        return ""
    text = linecache.getlines(frame.f_code.co_filename)
    found = _kind(frame.f_code.co_filename, frame.f_lineno, _Text(text)) if text else ""
    return found or ("assert" if _fails_next(frame.f_code, frame.f_lasti) else "")


def _fails_next(code, at) -> bool:
    """Return whether an AssertionError is made next: what an assert is in code without source."""
    ahead = [i for i in dis.get_instructions(code) if i.offset > at][:3]
    return any(i.opname == "LOAD_ASSERTION_ERROR" or i.argval is AssertionError for i in ahead)


class _Text(list):
    """The lines of a file, which count as the same while there are as many."""

    def __hash__(self):
        return len(self)


@lru_cache(maxsize=64)
def _kind(_, line, text) -> str:
    try:
        tree = ast.parse("".join(text))
    except SyntaxError:
        return ""
    for node in ast.walk(tree):
        if isinstance(node, ast.Assert | ast.While):
            test = node if isinstance(node, ast.Assert) else node.test
            if node.lineno <= line <= test.end_lineno:
                return type(node).__name__.lower()
    return "branch"


def truth_of_tile(tensor) -> bool:
    """Return whether a tensor is there; of what was just computed, in an assert, whether it holds.

    Raises
    ------
    TypeError
        For a computed tile, where Python would take one path or another.
    """
    writer = _last_writer(tensor)
    if writer is None:
        return True
    if writer.engine is Engine.DMA:
        if _statement() != "assert":
            note_looking(
                f"Python asks for the truth of {tensor.name}, which says that the tile is there "
                "and not what it holds (`t is not None` says so, too)"
            )
        return True
    if _statement() == "assert":
        known = tensor._view.buffer.base is not None and _is_last(writer)
        return not known or bool((tensor._numbers() != 0).all())  # nothing speaks against it
    raise TypeError(
        f"{tensor!r} holds what the chip computes, and Python branches before it has run, so no "
        f"path can depend on it: {_INSTEAD}"
    )


def _last_writer(tensor):
    """Return the instruction that last wrote to an on-chip tile from other tensors, or None."""
    here = running.current_or_none()
    if here is None or not tensor._on_chip:
        return None
    allocation = tensor._view.buffer.info.index
    for instruction in reversed(here.core.program.instructions):
        writes = [a for a in instruction.accesses if a.is_write]
        if len(writes) < len(instruction.accesses) and any(
            a.allocation == allocation for a in writes
        ):
            return instruction
    return None


def _is_last(writer):
    return running.current().core.program.instructions[-1] is writer


def refuse_comparison(tensor, other):
    """Compare a tensor with something by ``==``: only what has no elements is simply not equal.

    Raises
    ------
    TypeError
        For a number, an array or another tile.
    """
    if isinstance(other, type(tensor)):
        if not (tensor._on_chip and other._on_chip):
            return NotImplemented
    elif isinstance(other, str) or not (hasattr(other, "__float__") or hasattr(other, "shape")):
        return NotImplemented
    raise TypeError(
        f"{tensor!r} and {other!r} are not compared by Python, which branches before the chip has "
        "run: nl.equal(a, b) makes a mask of equal elements, which nl.where(mask, c, d) takes, and "
        "`a is b` asks whether two names are one tile"
    )


def refuse_branch(register) -> None:
    """Raise TypeError where Python would branch on a register, in anything but while or assert."""
    if running.is_running() and _statement() == "branch":
        raise TypeError(
            f"{register!r} is a number that the chip knows while it runs, and Python branches "
            f"before: a register bounds loops, is an offset of t.ap(scalar_offset=...), and ends "
            f"nl.while_loop; {_INSTEAD}"
        )


def note_looking(what: str) -> None:
    """Note that a kernel's Python looked at what only the chip knows; `what` is a sentence."""
    here = running.current_or_none()
    if here is not None:
        here.core.notes.append(("looks", -1, f"{source_line({})}: {what}", None))
