"""What Python may ask while a kernel runs: shapes and arguments, not what the chip computes.

A kernel is a Python function that is run once to find its instructions; the numbers come when they
run.  A branch on them has no instruction: AWS's tracer raises TypeError (reference of
``VirtualRegister``), and so does this module, with numbers and without (``values=False``).  Two
statements stay: ``assert nl.equal(a, b)``, which takes no other path, and ``while register:``,
which the chip can run.  Looking at numbers (``np.array(tile)``) is said in the run's advice.

The older interface refuses more, as AWS's list of its errors says: what was only loaded, and masks,
but for ``mask_a and mask_b``, which Python's bytecode tells from a branch (``kept_until``).
"""

import ast
import dis
import linecache
import warnings
from functools import lru_cache

from trainium_edu.neuroncore.recording.engine import Engine
from trainium_edu.neuroncore.recording.source import source_line
from trainium_edu.nki import running
from trainium_edu.nki.mistakes import kernel_frame
from trainium_edu.nki.refusals import misuse

__all__ = ["kept_until", "note_looking", "refuse_branch", "refuse_comparison", "truth_of_result",
           "truth_of_tile", "warn_at_kernel"]  # fmt: skip

_INSTEAD = (
    "nl.where(mask, a, b) chooses element by element, nl.fori_loop and nl.while_loop let the chip "
    "repeat, and Python may test shapes, dtypes and arguments (x.shape[0] > 1, `t is not None`)"
)


def _statement() -> str:
    """Return what kind of statement asks: "assert", "while", "branch", or "" if that is open."""
    frame = kernel_frame()
    if frame is None:
        return ""
    text = linecache.getlines(frame.f_code.co_filename)
    found = _kind(frame.f_code.co_filename, frame.f_lineno, _Text(text)) if text else ""
    return found or _kind_without_source(frame.f_code, frame.f_lasti)


@lru_cache(maxsize=4096)
def _kind_without_source(code, at) -> str:
    """Return the same from what comes next: an AssertionError, a jump back to no ``for``."""
    steps = {step.offset: step for step in dis.get_instructions(code)}
    ahead = [step for offset, step in steps.items() if offset >= at][:4]
    if any(i.opname == "LOAD_ASSERTION_ERROR" or i.argval is AssertionError for i in ahead):
        return "assert"
    back = next((step for step in ahead[:3] if "JUMP_BACKWARD" in step.opname), None)
    return "" if back is None or steps[back.argval].opname == "FOR_ITER" else "while"


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


@lru_cache(maxsize=4096)
def kept_until(code, at) -> int | None:
    """Return the offset where `b` of ``a and b`` ends, or None where Python branches.

    Parameters
    ----------
    code : code
    at : int
        Offset of the instruction that asks for the truth of `a`.
    """
    steps = list(dis.get_instructions(code))
    place = next(k for k, step in enumerate(steps) if step.offset == at)
    before, jump = steps[place - 1], steps[place + (steps[place].opname == "TO_BOOL")]
    is_copied = jump.opname == "POP_JUMP_IF_FALSE" and before.opname == "COPY"
    return jump.argval if is_copied or jump.opname == "JUMP_IF_FALSE_OR_POP" else None


def truth_of_result(tile) -> bool:
    """Return True for a tensor in HBM, with a warning, and in an assert what a fresh tile holds.

    Raises
    ------
    TypeError
        For a tile on chip in any other statement, and for any tensor in ``while``.
    """
    statement = _statement()
    if tile.on_chip and statement == "assert":
        return _nothing_is_zero(tile.tensor, _last_writer(tile.tensor))
    if tile.on_chip or statement == "while":
        raise misuse("asking.truth_of_tile_on_chip", tile=tile)
    warn_at_kernel(
        f"Python tests the truth of {tile!r}, which says that it was passed, not what it holds: "
        "write `is not None` (err_ambiguous_tensor_truth_value)"
    )
    return True


def warn_at_kernel(text: str) -> None:
    """Warn, once in a launch, of the kernel's line that now runs."""
    frame, here = kernel_frame(), running.current_or_none()
    if frame is None or here is None:
        return
    line = "warned", frame.f_code, frame.f_lineno, text
    if line not in here.shared:
        here.shared[line] = True
        warnings.warn_explicit(text, UserWarning, frame.f_code.co_filename, frame.f_lineno)


def _nothing_is_zero(tensor, writer) -> bool:
    """Return whether nothing speaks against an assert: all elements that are known hold."""
    known = writer is not None and tensor._view.buffer.base is not None and _is_last(writer)
    return not known or bool((tensor._numbers() != 0).all())


def truth_of_tile(tensor) -> bool:
    """Return True, for the tensor exists; in an assert on a fresh result, whether all of it holds.

    Raises
    ------
    TypeError
        For a computed tile, where Python would take one path or another.
    """
    writer, statement = _last_writer(tensor), _statement()
    if statement == "assert":
        return writer is None or writer.engine is Engine.DMA or _nothing_is_zero(tensor, writer)
    if statement != "while" and (writer is None or writer.engine is Engine.DMA):
        if writer is not None:
            note_looking(
                f"Python tests the truth of {tensor.name}, which says that the tile exists, "
                "not what it holds (`t is not None` says so, too)"
            )
        return True
    raise misuse("asking.truth_of_computed", tensor=tensor, instead=_INSTEAD)


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
    """Refuse ``tensor == other``; a value without elements is simply not equal.

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
    raise misuse("asking.comparison", tensor=tensor, other=other)


def refuse_branch(register) -> None:
    """Raise TypeError where Python would branch on a register, in anything but while or assert."""
    if running.is_running() and _statement() == "branch":
        raise misuse("asking.branch_on_register", register=register, instead=_INSTEAD)


def note_looking(what: str) -> None:
    """Note that a kernel's Python looked at what only the chip knows; `what` is a sentence."""
    here = running.current_or_none()
    if here is not None:
        here.core.notes.append(("looks", -1, f"{source_line({})}: {what}", None))
