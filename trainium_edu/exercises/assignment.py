"""A lesson's exercises as an nbgrader assignment.

The export keeps what an exercise needs and nothing else of the lesson: its text, all that the
lesson imports, the cell to be written in (graded by nobody), and a locked cell with the points:
the public check, and the hidden one between nbgrader's marks.  Grade ids come from exercise keys,
so they never change.  nbgrader itself is not imported here; only its metadata format is written.
"""

import itertools
import json
from pathlib import Path

from nbformat.v4 import new_code_cell, new_markdown_cell

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
    head = "\n".join(filter(None, imports))
    made = [new_markdown_cell(title, id="title"), new_code_cell(head, id="imports")]
    for above, cell in itertools.pairwise([made[-1], *book["cells"]]):
        exercise, check = (catalogue.find(key_of(cell, kind)) for kind in ("exercise", "check"))
        if exercise:
            made += [above] if above["cell_type"] == "markdown" else []
            # nbgrader empties a cell without marks, starter and all; so there are always marks.
            solution = answers.get(exercise.key) or "pass"
            made.append(_marked(cell, "SOLUTION", solution, exercise.key))
        elif check:
            stem = catalogue.LESSONS[lessons.number_of(check.key)]
            hidden = _HIDDEN.format(key=check.key, stem=stem, salt=salt, own=own)
            made.append(_marked(cell, "HIDDEN TESTS", hidden, check.key, check.points))
        elif "student-id" in cell.get("metadata", {}).get("tags", ()):
            made.append(new_code_cell(text_of(cell), id=cell["id"], metadata=cell["metadata"]))
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


def _marked(cell, kind, region, key, points=0):
    """Return a cell with a region between marks: a solution, or with points a locked test."""
    is_test = points > 0
    info = {"grade": is_test, "locked": is_test, "solution": not is_test, "task": False}
    info |= {"schema_version": _SCHEMA, "grade_id": grade_id(key, "check" if is_test else "")}
    info |= {"points": points} if is_test else {}
    source = f"{text_of(cell).rstrip()}\n### BEGIN {kind}\n{region}\n### END {kind}"
    metadata = {**cell.get("metadata", {}), "nbgrader": info}
    return new_code_cell(source, id=cell["id"], metadata=metadata)
