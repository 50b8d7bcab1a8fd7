"""Which cells of a notebook an exercise needs: a backward slice over the names that cells define.

A grader runs these and not the whole lesson.  Names are read with Python's own ``symtable``, so
a function's local ``x`` pulls in nobody.  A cell that is needed for its effect alone carries the
tag ``needed``.  Left out: changes made through a method call on another cell's object, which no
reading of names can see.
"""

import ast
import builtins
import re
import symtable
from dataclasses import dataclass

__all__ = ["Cell", "cells_of", "key_of", "needed_for", "stated", "with_student"]


@dataclass(frozen=True, slots=True)
class Cell:
    """One code cell, and the names that it gives and takes."""

    index: int  #: its place among all cells of the notebook
    source: str
    tags: frozenset
    binds: frozenset  #: names that it binds or changes
    needs: frozenset  #: names that it reads while it runs
    needs_later: frozenset  #: names that its functions read when they are called
    changes: frozenset  #: those of `binds` that exist before (``x += 1``, ``x[0] = 1``)
    broken: str  #: the syntax error, or empty
    always: bool  #: tagged ``needed``, or imports names that nobody can see


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
    """Read the code cells of a notebook.

    Parameters
    ----------
    notebook : dict
        As nbformat reads it.

    Returns
    -------
    cells : list of Cell
    """
    return [
        _read(i, _text(cell), _tags(cell))
        for i, cell in enumerate(notebook["cells"])
        if cell.get("cell_type") == "code"
    ]


def needed_for(name: str, cells: list[Cell], *, skip=frozenset()) -> list[Cell]:
    """Return the cells that bind a name, and all they need, in the order of the notebook.

    Parameters
    ----------
    name : str
    cells : list of Cell
    skip : set of int
        Indices of cells that must not run.

    Returns
    -------
    needed : list of Cell
        Empty where nobody binds the name.
    """
    cells = [cell for cell in cells if cell.index not in skip]
    last = max((cell.index for cell in cells if name in cell.binds), default=None)
    if last is None:
        return []
    chosen = {cell.index: cell for cell in cells if cell.always and cell.index < last}
    asked = set()
    wanted = [(name, last + 1)]
    for cell in list(chosen.values()):
        wanted += [(n, cell.index) for n in cell.needs] + [(n, last) for n in cell.needs_later]
    while wanted:
        item = wanted.pop()
        if item in asked or hasattr(builtins, item[0]):
            continue
        asked.add(item)
        for cell in _binders(*item, cells):
            chosen[cell.index] = cell
            wanted += [(n, cell.index) for n in cell.needs | cell.changes]
            wanted += [(n, last) for n in cell.needs_later]
    return [chosen[i] for i in sorted(chosen)]


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


def _binders(name, before, cells):
    """Return the last cell above that binds a name, and those after it that change it."""
    above = [cell for cell in cells if name in cell.binds and cell.index < before]
    if not above:
        return [cell for cell in cells if name in cell.binds][:1]
    whole = [i for i, cell in enumerate(above) if name not in cell.changes]
    return above[whole[-1] if whole else 0 :]


def _read(index, source, tags):
    code = _without_magics(source)
    try:
        tree = ast.parse(code)
        table = symtable.symtable(code, "cell", "exec")
    except (SyntaxError, ValueError, RecursionError, MemoryError) as error:
        # Found by its looks, so that the grader can run it and report the error.
        names = re.findall(r"^(?:async\s+)?(?:def|class)\s+(\w+)|^(\w+)\s*=", code, re.MULTILINE)
        binds = frozenset(a or b for a, b in names)
        broken = f"{type(error).__name__}: {getattr(error, 'msg', error)}"
        empty = frozenset()
        return Cell(index, source, tags, binds, empty, empty, empty, broken, "needed" in tags)
    star = any(
        isinstance(node, ast.ImportFrom) and any(a.name == "*" for a in node.names)
        for node in ast.walk(tree)
    )
    top = {s.get_name(): s for s in table.get_symbols()}
    binds = {n for n, s in top.items() if s.is_assigned() or s.is_imported() or s.is_namespace()}
    later = set()
    for child in table.get_children():
        reads, given = _globals_of(child)
        later |= reads
        binds |= given
    read = {n for n, s in top.items() if s.is_referenced()}
    changes = _changed_in_place(tree)
    early = _read_before_bound(tree)
    needs = (read - binds) | (read & early) | changes
    return Cell(
        index, source, tags, frozenset(binds | changes), frozenset(needs),
        frozenset(later - binds), frozenset(changes | (binds & early)), "",
        star or "needed" in tags,
    )  # fmt: skip


def _globals_of(table):
    """Return the global names that a function or class body reads, and those it binds."""
    reads, binds = set(), set()
    for symbol in table.get_symbols():
        if symbol.is_global():
            reads.add(symbol.get_name())
            if symbol.is_assigned():
                binds.add(symbol.get_name())
    for child in table.get_children():
        inner_reads, inner_binds = _globals_of(child)
        reads |= inner_reads
        binds |= inner_binds
    return reads, binds


def _changed_in_place(tree):
    """Return names whose object is changed at the cell's top level: ``x[0] = 1``, ``x.a = 1``."""
    changed = set()
    for node in _top_level(tree):
        if isinstance(node, ast.AugAssign) and isinstance(node.target, ast.Name):
            changed.add(node.target.id)
        if isinstance(node, ast.Subscript | ast.Attribute) and isinstance(node.ctx, ast.Store):
            inner = node.value
            while isinstance(inner, ast.Subscript | ast.Attribute):
                inner = inner.value
            if isinstance(inner, ast.Name):
                changed.add(inner.id)
    return changed


def _read_before_bound(tree):
    """Return names that a cell reads at a line above, or in, the statement that binds them."""
    early, bound = set(), set()
    for statement in tree.body:
        nodes = [n for n in _top_level(statement) if isinstance(n, ast.Name)]
        early |= {n.id for n in nodes if isinstance(n.ctx, ast.Load)} - bound
        bound |= {n.id for n in nodes if isinstance(n.ctx, ast.Store)}
        if isinstance(statement, ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef):
            bound.add(statement.name)
        if isinstance(statement, ast.Import | ast.ImportFrom):
            bound |= {(a.asname or a.name).split(".")[0] for a in statement.names}
    return early


def _top_level(tree):
    """Walk a tree without going into functions."""
    nodes = [tree]
    while nodes:
        node = nodes.pop()
        yield node
        for child in ast.iter_child_nodes(node):
            if not isinstance(child, ast.FunctionDef | ast.AsyncFunctionDef | ast.Lambda):
                nodes.append(child)


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


def _text(cell):
    source = cell.get("source", "")
    return "".join(source) if isinstance(source, list) else str(source)


def _tags(cell):
    metadata = cell.get("metadata")
    tags = metadata.get("tags") if isinstance(metadata, dict) else None
    return (
        frozenset(t for t in tags if isinstance(t, str)) if isinstance(tags, list) else frozenset()
    )
