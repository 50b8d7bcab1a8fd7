"""Which cells of a notebook an exercise needs, so that a grader need not run the whole lesson.

An answer's own cells run as they are.  Of the other cells only what prepares them is taken:
imports, definitions, and assignments (above the exercises those of constants, since a lesson's
results take their time to compute).  A cell with the tag ``needed`` runs as it is.
"""

import ast
import dataclasses
import re
from collections.abc import Collection

__all__ = ["Cell", "cells_of", "key_of", "needed_for", "stated", "text_of", "with_student"]

_DEFINES = (ast.Import, ast.ImportFrom, ast.FunctionDef, ast.AsyncFunctionDef, ast.ClassDef)
_ASSIGNS = (ast.Assign, ast.AnnAssign, ast.AugAssign)


@dataclasses.dataclass(frozen=True, slots=True)
class Cell:
    """One code cell."""

    index: int  #: its place among all cells of the notebook
    source: str
    tags: frozenset
    key: str  #: of the exercise that is to be written in it
    binds: frozenset  #: names that it binds or changes
    prepares: str  #: its imports, definitions and assignments
    broken: str  #: the syntax error, or empty


def key_of(cell, kind: str = "exercise") -> str:
    """Return the exercise key in a cell's metadata, or an empty string.

    Parameters
    ----------
    cell : dict
        A notebook cell, however damaged.
    kind : str
        ``"exercise"`` for the cell to be written in, ``"check"`` for the one that checks it.

    Returns
    -------
    key : str
    """
    metadata = cell.get("metadata")
    mine = metadata.get("trainium_edu") if isinstance(metadata, dict) else None
    key = mine.get(kind) if isinstance(mine, dict) else None
    return key if isinstance(key, str) else ""


def cells_of(notebook) -> list[Cell]:
    """Read the code cells of a notebook, all but those that check an answer.

    Parameters
    ----------
    notebook : dict
        As nbformat reads it.

    Returns
    -------
    cells : list of Cell
    """
    cells, in_section = [], False
    for i, cell in enumerate(notebook["cells"]):
        if cell.get("cell_type") == "code" and not key_of(cell, "check"):
            in_section |= bool(key_of(cell))
            cells.append(_read(i, cell, in_section))
    return cells


def needed_for(name: str, cells: list[Cell], *, key: str = "",
               skip: Collection[int] = ()) -> list[Cell]:  # fmt: skip
    """Return what has to run for an answer: what prepares its cells, then these.

    Parameters
    ----------
    name : str
        That the answer is bound to.
    cells : list of Cell
    key : str
        Of the exercise: a cell to be written in belongs to it whatever it binds.
    skip : collection of int
        Indices of cells that must not run.

    Returns
    -------
    needed : list of Cell
        Empty where no cell binds the name.
    """
    cells = [cell for cell in cells if cell.index not in skip]
    own = [cell for cell in cells if name in cell.binds or (key and cell.key == key)]
    if not any(name in cell.binds for cell in own):
        return []
    others = [cell for cell in cells if cell not in own and cell.prepares]
    return [*(dataclasses.replace(cell, source=cell.prepares) for cell in others), *own]


def stated(source: str, name: str) -> str | None:
    r"""Return the text that a source gives a name, without running it.

    Parameters
    ----------
    source : str
    name : str

    Returns
    -------
    str or None
        At most 200 characters; None if no line states it.

    Examples
    --------
    >>> stated("import numpy\nstudent = 'ab123'", "student")
    'ab123'
    """
    try:
        body = ast.parse(source).body
    except (SyntaxError, ValueError, RecursionError, MemoryError):
        return None
    for node in body:
        if (
            isinstance(node, ast.Assign)
            and isinstance(node.value, ast.Constant)
            and any(isinstance(t, ast.Name) and t.id == name for t in node.targets)
        ):
            return str(node.value.value or "")[:200]
    return None


def with_student(source: str, student: str) -> str:
    """Put another student id into the cell that states it, and leave the rest of the cell.

    Parameters
    ----------
    source : str
    student : str

    Returns
    -------
    source : str

    Examples
    --------
    >>> with_student("student = ''  # yours", "ab12")
    "student = 'ab12'"
    """
    line = f"student = {student!r}"
    changed, count = re.subn(r"(?m)^student\s*=.*$", lambda _: line, source)
    return changed if count else f"{source}\n{line}"


def _read(index, cell, in_section) -> Cell:
    source, tags, key = text_of(cell), _tags(cell), key_of(cell)
    code = _without_magics(source)
    try:
        tree = ast.parse(code)
    except (SyntaxError, ValueError, RecursionError, MemoryError) as error:
        # Found by its looks, so that the grader can run it and report the error.
        names = re.findall(r"^(?:async\s+)?(?:def|class)\s+(\w+)|^(\w+)\s*=", code, re.MULTILINE)
        broken = f"{type(error).__name__}: {getattr(error, 'msg', error)}"
        return Cell(index, source, tags, key, frozenset(a or b for a, b in names), "", broken)
    taken, lines = [], code.split("\n")
    for part in tree.body:
        if _prepares(part, in_section):
            first = min(node.lineno for node in (part, *getattr(part, "decorator_list", ())))
            taken += lines[first - 1 : part.end_lineno]
    prepares = source if tags & {"needed", "student-id"} else "\n".join(taken)
    return Cell(index, source, tags, key, frozenset(_bound(tree)), prepares, "")


def _prepares(part, in_section) -> bool:
    """Return whether a statement is taken from a cell that is not the answer's."""
    if isinstance(part, _ASSIGNS):
        value = ast.walk(part.value) if part.value else ()
        return in_section or not any(isinstance(n, ast.Call | ast.Name) for n in value)
    # Between a lesson's imports, so that `import neuronxcc.nki` finds the emulator.
    activates = isinstance(part, ast.Expr) and ast.unparse(part).endswith("activate()")
    return activates or isinstance(part, _DEFINES)


def _bound(tree):
    """Yield the names that a cell binds or changes (``x[0] = 1``), outside of its functions."""
    nodes = list(tree.body)
    while nodes:
        node = nodes.pop()
        if isinstance(node, ast.Import | ast.ImportFrom):
            yield from ((alias.asname or alias.name).split(".")[0] for alias in node.names)
        elif isinstance(node, _DEFINES):
            yield node.name
            continue
        elif isinstance(getattr(node, "ctx", None), ast.Store):
            while isinstance(node, ast.Subscript | ast.Attribute):
                node = node.value
            if isinstance(node, ast.Name):
                yield node.id
        nodes += ast.iter_child_nodes(node)


def _without_magics(source):
    """Blank out the lines that only IPython understands, keeping the rest of the cell."""
    lines = source.split("\n")
    if lines and re.match(r"%%(time|timeit|capture|prun)\b", lines[0]):
        lines[0] = "pass"
    elif lines and lines[0].startswith("%%"):
        return ""
    return "\n".join(
        re.sub(r"^(\s*)([%!].*|.*\w\?{1,2}\s*)$", r"\1pass", line)
        if re.match(r"\s*[%!]|[\w.]+\?{1,2}\s*$", line)
        else line
        for line in lines
    )


def text_of(cell) -> str:
    """Return a cell's source, however it is kept."""
    source = cell.get("source", "")
    return "".join(source) if isinstance(source, list) else str(source)


def _tags(cell):
    metadata = cell.get("metadata")
    tags = metadata.get("tags") if isinstance(metadata, dict) else None
    return (
        frozenset(t for t in tags if isinstance(t, str)) if isinstance(tags, list) else frozenset()
    )
