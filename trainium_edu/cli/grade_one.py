"""Grade one submission, in a process of its own: ``python -m trainium_edu.cli.grade_one``.

A notebook's exercises are run cell by cell in another process, behind walls, and graded from this
one, on public and hidden numbers; a kernel file goes to ``grade_kernel``.  What to do, the salt
with it, comes in through a pipe, and the row goes out through one whenever an exercise is graded,
so that a process that has to be ended keeps what it had.
Whatever is wrong with a submission becomes a reason, never a traceback.
"""

import contextlib
import json
import os
import pickle
import re
import sys
import tempfile
import warnings
from collections import Counter
from pathlib import Path

from trainium_edu import exercises
from trainium_edu.cli import sandbox
from trainium_edu.cli.apart import Apart, Stopped
from trainium_edu.cli.grade_cpp import CppApart
from trainium_edu.cli.limits import Limits, Unreadable, end_family, limit_this_process, read_text
from trainium_edu.cli.row import Row
from trainium_edu.cli.within import own_pipes
from trainium_edu.exercises.cells import key_of, parts_of, shown_by, stated, text_of, with_student
from trainium_edu.exercises.exercise import SOLUTION_SEEN, Grade
from trainium_edu.exercises.lessons import cells_of, number_of

_MOST_LEFT_OUT = 3  #: cells of a submission that stop its process, and belong to no exercise

__all__ = ["exercises_of", "grade_notebook", "lesson_of", "read_submission"]


def read_submission(path: Path):
    """Read a notebook of any format that nbformat knows.

    Raises
    ------
    Unreadable
        With the reason in words.
    """
    import nbformat

    text = read_text(path, "a notebook")
    try:
        raw = json.loads(text)
    except (ValueError, RecursionError):
        cut = text.lstrip().startswith("{") and not text.rstrip().endswith("}")
        why = "truncated: the file ends in the middle" if cut else "not a notebook (not JSON)"
        raise Unreadable(why) from None
    if not isinstance(raw, dict) or not {"cells", "worksheets"} & {*raw}:
        raise Unreadable("not a notebook (no cells)")
    try:
        with warnings.catch_warnings(action="ignore"):
            book = nbformat.reads(text, as_version=4)
        for cell in book["cells"]:
            str(cell["cell_type"]), cell.get("source", "")
    except Exception as error:
        raise Unreadable(f"a damaged notebook ({type(error).__name__})") from None
    return book


def lesson_of(book, name: str = "") -> str:
    """Return the lesson that a notebook hands in, ``"02"``; of several ``"02+08"``.

    A lesson counts if the notebook has cells of half of its exercises, or of most of all; so a cell
    that was copied from another lesson costs nobody anything.

    Parameters
    ----------
    book : dict
    name : str
        Its file's name, used where no cell says it.

    Raises
    ------
    Unreadable
        If it is no lesson with exercises.
    """
    marks = (key_of(cell, kind) for cell in book["cells"] for kind in ("exercise", "check"))
    keys = {key for key in marks if key}
    counted = Counter(sorted(number_of(key) for key in keys if exercises.find(key)))
    (first, _), *_ = counted.most_common(1) or [("", 0)]

    def is_handed_in(lesson):
        return lesson == first or 2 * counted[lesson] >= len(exercises.of_lesson(lesson))

    if lessons := [*filter(is_handed_in, counted)]:
        return "+".join(lessons)
    match = re.search(r"(?<!\d)(\d\d[a-z]?)_[a-z]", name)
    if match and exercises.of_lesson(match.group(1)):
        return match.group(1)
    if keys:
        raise Unreadable(f"unknown exercise {min(keys)!r}")
    raise Unreadable("no exercise cells of a known lesson")


def exercises_of(lessons: str) -> list:
    """Return the exercises of what :func:`lesson_of` says."""
    return [e for lesson in lessons.split("+") for e in exercises.of_lesson(lesson)]


class _Notebook:
    """A submission's cells, in a process of their own."""

    def __init__(self, book, student: str, process: Apart, notes: list):
        self._prepares, self.answers = parts_of(book)
        self._prepares = [with_student(source, student) for source in self._prepares]
        self.process, self._notes, self._errors = process, notes, list[str]()
        self._left_out = 0

    def _begin(self):
        """Forget the last exercise's names; prepare a new process, without what stops it."""
        if self.process.begin():
            return
        self._errors = []
        for source in self._prepares:
            try:
                self._errors += filter(None, [self.process.run(source)])
            except Stopped as stop:
                if self._left_out == _MOST_LEFT_OUT:
                    raise
                self._left_out += 1
                self._prepares.remove(source)  # one cell beside an answer costs it no points
                self._notes.append(f"a cell beside the answers was left out: {stop}")
                return self._begin()
        self.process.ask("keep")

    def grade(self, exercise, sources, salt, student) -> Grade:
        """Run an exercise's cells, and grade what the name of its answer then holds."""
        nothing, name = (0, exercise.points), exercise.answer
        try:
            self._begin()
            errors = [*filter(None, map(self.process.run, sources)), *self._errors]
            return exercise.grade(self.process.look(name), student, salt)
        except Stopped as stop:
            return Grade(*nothing, "stopped", str(stop))
        except KeyError:
            if not sources:
                return Grade(*nothing, "not attempted", f"no cell binds `{name}`")
            said = f"its cell raised {errors[0]}" if errors else f"its cells leave no `{name}`"
            return Grade(*nothing, "error", said)
        except ValueError as error:
            return Grade(*nothing, "wrong", f"`{name}`: {error}")
        finally:
            if any("sys.modules" in source for source in sources):
                self.process.stop()  # the next exercise gets a process with all its modules


def grade_notebook(book, row: Row, *, salt: str, only: str, limits: Limits, folder: Path, say):
    """Grade all exercises of a lesson; of several cells of one, the last attempted one counts.

    Parameters
    ----------
    book : notebook
    row : Row
        States lesson, student and walls; the grades go there.
    salt : str
        The instructor's word for the hidden numbers.
    only : str
        The key of the one exercise to grade; empty for all.
    limits : Limits
    folder : Path
        Where the submission's cells run.
    say : callable
        Called with the row as each exercise is graded.
    """
    process = Apart("in_kernel", folder, limits, walls=row.has_walls)
    notebook = _Notebook(book, row.student, process, row.notes)
    starters = _shipped(row.lesson, "exercise")
    with process, CppApart(row.has_walls, limits):
        for exercise in exercises_of(row.lesson):
            if only not in ("", exercise.key):
                continue
            own = notebook.answers.get(exercise.key, [])
            written = [source for source in own if source.strip() != starters.get(exercise.key)]
            tries = [written[:end] for end in range(len(written), 0, -1)]
            grade = Grade(0, exercise.points, "not attempted")
            for sources in tries if own else [[]]:
                grade = notebook.grade(exercise, sources, salt, row.student)
                if grade.status != "not attempted":
                    break
            row.add(exercise.key, grade)
            say(row)


def _shipped(lessons, kind):
    """Return the sources of the lessons' own cells of a kind, by key, where they are installed."""
    cells = []
    for lesson in lessons.split("+"):
        with contextlib.suppress(OSError, ValueError, KeyError):
            cells += cells_of(lesson)
    return {key: text_of(cell).strip() for cell in cells if (key := key_of(cell, kind))}


def suspicions(book, lesson) -> list[str]:
    """Name what an instructor may want to look at; it changes no points."""
    codes = [cell for cell in book["cells"] if cell["cell_type"] == "code"]
    source = "\n".join(map(text_of, codes))
    told = ("sys.modules", "os._exit", "trainium_edu.cli", ".solution(", "exercises.afterwards")
    notes = [f"uses {text}" for text in told if text in source]
    given = _shipped(lesson, "check")
    mine = {exercise.key for exercise in exercises_of(lesson)}
    for cell in book["cells"]:
        key, check = key_of(cell), key_of(cell, "check")
        if check in mine and shown_by(cell, SOLUTION_SEEN):
            notes.append(f"saw the solution of {check} before it passed")
        if check in given and text_of(cell).strip() != given[check]:
            notes.append(f"changed the check of {check}")
        if key and key not in mine:
            what = "exercise of another lesson" if exercises.find(key) else "unknown exercise"
            notes.append(f"{what} {key!r}")
    return list(dict.fromkeys(notes))


def main():
    """Grade what a line of JSON on stdin names; write the row to stdout, again and again."""
    asked, told = own_pipes()
    order = json.loads(asked.readline())
    # jsonschema checks URIs with it if it is there, and building its grammar takes longer than all
    # the rest of a worker's start; a notebook has no URI to check.
    sys.modules.setdefault("rfc3987_syntax", None)  # type: ignore[arg-type]
    row, path = Row(**order["row"]), Path(order["path"])
    limits, row.walls = Limits(**row.limits), row.walls or sandbox.described()
    for module in order["modules"]:
        exercises.register(module)
    limit_this_process(limits)

    def say(row):
        print(row.line(), file=told, flush=True)

    try:
        with tempfile.TemporaryDirectory(prefix="grade-", ignore_cleanup_errors=True) as folder:
            given = {"limits": limits, "folder": Path(folder), "say": say}
            if order.get("assignment"):
                from trainium_edu.cli.grade_kernel import grade_file

                grade_file(path, row, pickle.loads(Path(order["assignment"]).read_bytes()), **given)
            else:
                book = read_submission(path)
                row.lesson = lesson_of(book, path.name)
                sources = [text_of(c) for c in book["cells"] if c.get("cell_type") == "code"]
                row.notes += suspicions(book, row.lesson)
                row.states(next(filter(None, (stated(s, "student") for s in sources)), ""))
                only = order.get("only", "")
                grade_notebook(book, row, salt=order["salt"], only=only, **given)
    except Unreadable as error:
        row.status, row.reason = "not graded", str(error)
    say(row)


if __name__ == "__main__":
    sandbox.harden()
    main()
    end_family(None)
    os._exit(0)  # whatever a stopped kernel left in this process must not keep it alive
