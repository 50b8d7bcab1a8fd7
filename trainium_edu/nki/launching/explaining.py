"""Mistakes in kernels that Python notices first, explained for a kernel.

``float(tile)``, ``tile.T``, a missing argument, a list where an array belongs: Python's own
sentence is right and knows nothing of tiles.  :func:`explain` adds what to write instead.
"""

import linecache
import re
from inspect import signature
from types import TracebackType

from trainium_edu.nki import isa, language
from trainium_edu.nki.issuing import HANDLE
from trainium_edu.nki.mistakes import is_ours
from trainium_edu.nki.objects.tensor import NkiTensor

__all__ = ["explain", "frames_of_kernel"]

_TILE = (
    "a tile's numbers are on the chip, and Python does not compute, compare or branch with them "
    "while the kernel runs: nl and nisa functions do (nl.exp(t), nl.where(mask, a, b)), and "
    "nl.device_print shows them"
)

#: Classes of the older interface's tiles, as Python's sentences name them.
_OLDER = re.compile(r"\b(Blocks|Moved|Operation|Tile)\b(?!\()")


def explain(problem: Exception, names: dict) -> None:
    """Add to Python's message about a line of the kernel what it means for kernels.

    Parameters
    ----------
    problem : TypeError or AttributeError
    names : dict
        {id of an argument: its name}, of the kernel's call.
    """
    place = problem.__traceback__
    while place is not None and place.tb_next is not None:
        place = place.tb_next
    if place is None or type(problem) not in (TypeError, AttributeError):
        return
    file = place.tb_frame.f_code.co_filename
    if is_ours(file):
        return  # this package's own sentence
    more = _more(problem, names, linecache.getline(file, place.tb_lineno))
    if more:
        problem.args = (f"{_OLDER.sub('tile', str(problem))}; {more}",)


def frames_of_kernel(problem: BaseException) -> TracebackType | None:
    """Return a traceback without this package's own frames, except an unexpected failure's."""
    places, place = [], problem.__traceback__
    while place is not None:
        places.append(place)
        place = place.tb_next
    kept = [p for p in places if not is_ours(p.tb_frame.f_code.co_filename)]
    if places and places[-1] not in kept and not _is_said(places[-1]):
        kept.append(places[-1])
    for p in reversed(kept):
        place = TracebackType(place, p.tb_frame, p.tb_lasti, p.tb_lineno)
    return place


def _is_said(place):
    line = linecache.getline(place.tb_frame.f_code.co_filename, place.tb_lineno)
    return line.lstrip().startswith("raise ")


def _more(problem, names, line) -> str:
    text = str(problem)
    called = re.match(r"(NkiTensor\.)?(\w+)\(\) (?:missing|got|takes) ", text)
    if called:
        return _usage(called[1], called[2], line)
    if "NkiInstruction" in text:
        return HANDLE
    if "has no setter" in text:
        return "t.reshape(...), t.view(dtype) and nl.copy(t, dtype=...) return another tensor"
    if re.search(r"NkiTensor(?!\()", text) or _OLDER.search(text):
        return _TILE
    for given in names.values():
        if isinstance(problem, AttributeError) and f"{given}.{problem.name}" in line:
            return (
                f"{given} is a value of type {type(problem.obj).__name__} in this call, and "
                "tensors come from NumPy arrays: np.array(..., np.float32)"
            )
    return ""


def _usage(method, name, line) -> str:
    """Return how a function of ours is called."""
    homes = [("nisa", isa), ("nl", language)]
    owners: list = [(short, home) for short, home in homes if name in home.__all__]
    owners = [pair for pair in owners if f"{pair[0]}.{name}" in line] or owners
    for short, owner in [("t", NkiTensor)] if method else owners[:1]:
        known = list(signature(getattr(owner, name)).parameters.values())[bool(method) :]
        shown = [p.name if p.default is p.empty else f"{p.name}=..." for p in known]
        first = ": where the result goes comes first" if shown[:1] == ["dst"] else ""
        return f"the call is {short}.{name}({', '.join(shown)}){first}"
    return ""
