"""Which line of the learner's code is running now, and how it was called."""

import sys
from pathlib import Path
from types import FrameType
from typing import NamedTuple

__all__ = ["SourceLine", "allocation_site", "source_line"]

_PACKAGE = Path(__file__).resolve().parents[2]


class SourceLine(NamedTuple):
    """A line of the code that recorded an instruction."""

    file: str
    line: int
    function: str
    callers: tuple = ()  #: (file, line, function) of the calls that lead here, the nearest first

    def __str__(self):
        way = "".join(
            f", called from {f'line {line}' if file == self.file else _place(file, line)}"
            for file, line, _ in self.callers[:1]
        )
        return _place(self.file, self.line) + way


def _place(file: str, line: int) -> str:
    path = Path(file)
    is_cell = path.parent.name.startswith("ipykernel_") or file.startswith("<ipython-input")
    return f"cell line {line}" if is_cell else f"{path.name}:{line}"


_COMPREHENSIONS = {"<listcomp>", "<setcomp>", "<dictcomp>", "<genexpr>"}
_MOST_CALLERS = 6
_LONGEST_WAY = 24  # calls; deeper ones are taken together
_inside = {}  # file -> whether it belongs to this package


def source_line(places: dict, frame: FrameType | None = None) -> SourceLine | None:
    """Return the innermost line outside this package that is running now, and who called it.

    `places` keeps what each place is called; `frame` is where to look, if not here.
    """
    frame = sys._getframe(1) if frame is None else frame
    while frame is not None:
        code = frame.f_code
        if not _inside.get(code.co_filename) and not _is_inside(code):
            line = _place_of(frame, places)[1]
            if line.function in _COMPREHENSIONS:
                line = line._replace(function=_name(frame))
            callers = _callers(frame, line.line, places)
            return line._replace(callers=callers) if callers else line
        frame = frame.f_back
    return None


def _place_of(frame, places) -> tuple:
    """Return (code, SourceLine without callers, "function:line", in this package?) of a frame.

    To count a long function's lines takes long, so it is done once.  What is known holds the code,
    so that no other can get its id.
    """
    code = frame.f_code
    key = id(code), frame.f_lasti
    entry = places.get(key)
    if entry is None:
        line = SourceLine(code.co_filename, frame.f_lineno, code.co_name)
        entry = places[key] = code, line, f"{line.function}:{line.line}", _is_inside(code)
    return entry


def _name(frame) -> str:
    """Return the function that a line stands in; before Python 3.12 a comprehension is another."""
    while frame.f_code.co_name in _COMPREHENSIONS and frame.f_back is not None:
        frame = frame.f_back
    return frame.f_code.co_name


def _callers(frame, below, places) -> tuple:
    """Return (file, line, function) of the calls between line `below` and the kernel it serves."""
    if frame.f_code.co_name == "<module>":
        return ()
    callers: list[tuple] = []
    frame = frame.f_back
    while frame is not None and len(callers) < _MOST_CALLERS:
        code = frame.f_code
        if _inside.get(code.co_filename) or _is_inside(code):  # the kernel's caller
            return tuple(callers)
        if code.co_name == "<module>":  # no kernel: a script that issues instructions itself
            return tuple(callers)
        file, line, name, _ = _place_of(frame, places)[1]
        if line != below:
            callers.append((file, line, _name(frame) if name in _COMPREHENSIONS else name))
        below, frame = line, frame.f_back
    return ()


def allocation_site(places: dict, caller: tuple | None = None) -> tuple:
    """Return what identifies the place that allocates: (file, line, ...) and the calls to here.

    The route is the calls that lead here from the kernel, and the lines of this package on it.  A
    compiler inlines the calls: a function that loads, called on two lines, is two sites.  Tiles of
    one template (``tilings``) share the user's line.  A compiler is the `caller` itself: its code
    ends the route, and its line is the place.
    """
    frame: FrameType | None = sys._getframe(2)
    place: tuple = ()
    route: list[str] = []
    while frame is not None and len(route) < _LONGEST_WAY:
        if caller is not None and frame.f_code is caller[0]:
            return (*caller[1][:3], *route)
        _, line, step, inside = _place_of(frame, places)
        if inside and place:  # the kernel's caller
            break
        if not inside and not place:
            place = line[:2]
        else:
            route.append(step)
        if line.function == "<module>":
            break
        frame = frame.f_back
    return (*place, *route) if place else ()


def _is_inside(code) -> bool:
    """Return whether code belongs to this package; kernels in a folder ``examples`` do not."""
    name = code.co_filename
    inside = _inside.get(name)
    if inside is None:
        path = Path(name)
        inside = _inside[name] = (
            path.is_relative_to(_PACKAGE) and "examples" not in path.relative_to(_PACKAGE).parts
        )
    return inside
