"""A lesson's exercises as an nbgrader assignment.

The export keeps what an exercise needs and nothing else of the lesson: its text, all that the
lesson imports, the cell to be written in (graded by nobody), and a locked cell with the points:
the public check, and the hidden one between nbgrader's marks.  Grade ids come from exercise keys,
so they never change.  nbgrader itself is not imported here; only its metadata format is written.
"""

import json
from pathlib import Path

from trainium_edu import files
from trainium_edu.exercises import afterwards, catalogue, lessons
from trainium_edu.exercises.cells import imports_of, key_of, text_of

__all__ = ["export", "files_of", "grade_id"]

_SCHEMA = 3
# The cells so far are graded as any submission's are (``cli/grade_one.py``), in other processes: in
# this one a submission may have replaced anything of the package.
_HIDDEN = Path(__file__).with_suffix(".txt").read_text(encoding="utf-8").rstrip()


def grade_id(key: str, part: str = "") -> str:
    """Return nbgrader's name for an exercise's cell.

    Parameters
    ----------
    key : str
    part : str
        Empty for the cell to be written in, ``"check"`` for the one with the points.

    Examples
    --------
    >>> grade_id("02/spacing", "check")
    'ex-02-spacing-check'
    """
    return "-".join(["ex", key.replace("/", "-"), *([part] if part else [])])


def export(lesson: str, out: Path, *, solutions: Path | None = None, salt: str = "") -> str:
    """Write a lesson's exercises as the source version of an nbgrader assignment.

    Parameters
    ----------
    lesson : str
        Its two-digit number; a lesson of one's own is registered before, and its module is written
        beside the notebook, where the public checks find it.
    out : Path
        The notebook to write.
    solutions : Path, optional
        A file as :mod:`.afterwards` reads it; its solutions go between nbgrader's solution marks,
        and ``nbgrader generate_assignment`` takes them out again.
    salt : str
        Your own word; it changes all hidden numbers.

    Returns
    -------
    said : str
        One line on what was written.

    Raises
    ------
    ValueError
        If the lesson has no exercises.
    """
    lesson = lessons.number_of(str(lesson))
    mine = catalogue.of_lesson(lesson)
    if not mine:
        raise ValueError(f"lesson {lesson} has no exercises")
    book = json.loads(lessons.lesson_notebook(lesson).read_text(encoding="utf-8"))
    told = afterwards.read(solutions) if solutions else {}
    answers = {key: part.solution for key, part in told.items()}
    name = catalogue.LESSONS[lesson].partition("_")[2]
    own = {path.name: path.read_text(encoding="utf-8") for path in files_of(lesson)}
    codes = [text_of(cell) for cell in book["cells"] if cell["cell_type"] == "code"]
    imports = dict.fromkeys("\n".join(map(imports_of, codes)).split("\n"))  # each once
    title = "# " + name.replace("_", " ").capitalize()
    made = [{"cell_type": "markdown", "id": "title", "metadata": {}, "source": title},
            _code("\n".join(filter(None, imports)), "imports", {})]  # fmt: skip
    for i, cell in enumerate(book["cells"]):
        exercise = catalogue.find(key_of(cell)) if key_of(cell) else None
        check = catalogue.find(key_of(cell, "check")) if key_of(cell, "check") else None
        if exercise:
            if i and book["cells"][i - 1]["cell_type"] == "markdown":
                made.append(book["cells"][i - 1])
            made.append(_answer_cell(exercise, cell, answers.get(exercise.key)))
        elif check:
            made.append(_check_cell(check, cell, salt, own))
        elif "student-id" in cell.get("metadata", {}).get("tags", ()):
            made.append(_code(text_of(cell), cell["id"], cell.get("metadata", {})))
    for cell in made:
        cell.pop("attachments", None)
    text = json.dumps({**book, "cells": made}, indent=1, ensure_ascii=False)
    for file, content in {out.name: f"{text}\n", **own}.items():
        files.write(out.with_name(file), content, makes_folder=True)
    points = sum(exercise.points for exercise in mine)
    return f"{out}: {len(mine)} exercises, {points} points"


def files_of(lesson: str) -> list[Path]:
    """Return the module of a lesson of one's own, and the file of its words if there is one."""
    own = lessons.OWN.get(lesson)
    both = (own, own.with_suffix(".toml")) if own else ()
    return [path for path in both if path.is_file()]


def _answer_cell(exercise, cell, solution):
    # nbgrader empties a cell without marks, starter and all; so there are always marks.
    region = solution or "pass"
    source = f"{text_of(cell).rstrip()}\n### BEGIN SOLUTION\n{region}\n### END SOLUTION"
    metadata = {**cell.get("metadata", {}), "nbgrader": _grade(grade_id(exercise.key))}
    return _code(source, cell["id"], metadata)


def _check_cell(exercise, cell, salt, own):
    """Return the locked cell: the public check, and the hidden one that nbgrader strips."""
    stem = catalogue.LESSONS[lessons.number_of(exercise.key)]
    hidden = _HIDDEN.format(key=exercise.key, stem=stem, salt=salt, own=own)
    source = f"{text_of(cell)}\n### BEGIN HIDDEN TESTS\n{hidden}\n### END HIDDEN TESTS"
    info = _grade(grade_id(exercise.key, "check"), points=exercise.points)
    return _code(source, cell["id"], {**cell.get("metadata", {}), "nbgrader": info})


def _grade(name, points=None):
    """Return nbgrader's cell metadata: a solution cell, or with points a locked test cell."""
    info = {
        "grade": points is not None, "grade_id": name, "locked": points is not None,
        "schema_version": _SCHEMA, "solution": points is None, "task": False,
    }  # fmt: skip
    return info if points is None else {**info, "points": points}


def _code(source, key, metadata):
    return {"cell_type": "code", "id": key, "metadata": metadata, "source": source,
            "outputs": [], "execution_count": None}  # fmt: skip
