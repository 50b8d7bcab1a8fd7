"""The cells of a notebook that somebody hands in: whose it is, and what stands for which exercise.

An exercise's cells carry its key in their metadata.  They are run after what prepares them: the
imports of the lesson, and all other cells of the exercise section, which begins with the cell that
states the student's id, or with the first answer.  Nothing else of a lesson is run for a grade.
"""

import ast
import re
from functools import cache

__all__ = ["imports_of", "key_of", "parts_of", "shown_by", "stated", "text_of", "with_student"]

_STUDENT = re.compile(r"(?m)^student\s*=.*$")
_IMPORTS = re.compile(r"import |from |(\w+\.)*(activate|register)\(")


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


def shown_by(cell, kind: str = "") -> list[dict]:
    """Return the outputs of a cell, however damaged, that show something: of a MIME type if given.

    Examples
    --------
    >>> shown_by({"outputs": [{"data": {"text/plain": "4"}}, {"text": "5"}, 6]}, "text/plain")
    [{'data': {'text/plain': '4'}}]
    """
    outputs = cell.get("outputs") if isinstance(cell, dict) else ()
    shown = [out for out in outputs if isinstance(out, dict)] if isinstance(outputs, list) else []
    data = [(out, out.get("data")) for out in shown]
    return [out for out, held in data if isinstance(held, dict) and (not kind or kind in held)]


def text_of(cell) -> str:
    """Return a cell's source, however it is kept."""
    source = cell.get("source", "")
    return "".join(source) if isinstance(source, list) else str(source)


def parts_of(notebook) -> tuple[list[str], dict[str, list[str]]]:
    """Return the sources that a grade needs, in their order; cells that check are left out.

    Parameters
    ----------
    notebook : dict
        As nbformat reads it.

    Returns
    -------
    prepares : list of str
        What prepares every answer.
    answers : dict of str to list of str
        The cells of each exercise, by its key.
    """
    codes = (cell for cell in notebook["cells"] if cell.get("cell_type") == "code")
    cells = [(key_of(cell), text_of(cell)) for cell in codes if not key_of(cell, "check")]
    marked = (i for i, (key, source) in enumerate(cells) if key or _STUDENT.search(source))
    begin, answers = next(marked, 0), dict[str, list[str]]()
    prepares = [imports_of(source) for _, source in cells[:begin]]
    for key, source in cells[begin:]:
        (answers.setdefault(key, []) if key else prepares).append(source)
    return list(filter(str.strip, prepares)), answers


@cache
def imports_of(source: str) -> str:
    r"""Return what a cell imports or registers; also where it turns ``neuronxcc.nki`` into ours.

    Examples
    --------
    >>> imports_of("import math\n%time train()\nfrom time import sleep\nsleep(9)")
    'import math\nfrom time import sleep'
    """
    try:
        lines = [ast.unparse(part) for part in ast.parse(re.sub(r"(?m)^[%!].*", "", source)).body]
    except (SyntaxError, ValueError, RecursionError, MemoryError):
        return ""
    return "\n".join(filter(_IMPORTS.match, lines))


def stated(source: str, name: str) -> str | None:
    r"""Return the text that a line of a source gives a name, without running it.

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
    line = re.search(rf"(?m)^{name}\s*=\s*(?:(['\"])(?P<text>.*?)\1|(?P<number>\d+))", source)
    return line and (line["text"] or line["number"] or "")[:200]


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
    return _STUDENT.sub(lambda _: f"student = {student!r}", source)
