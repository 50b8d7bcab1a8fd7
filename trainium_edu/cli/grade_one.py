"""Grade one submission, in a process of its own: ``python -m trainium_edu.cli.grade_one``.

For each exercise of a notebook's lesson: find the cells that it needs, run them in a kernel, and
let the exercise grade the answer from this process, on public and hidden numbers.  Kernel files go
to ``grade_kernel``.  What to do, the salt with it, comes in through a pipe, and each grade goes out
through one as soon as it is known, so that a process that has to be killed keeps what it had.
Whatever is wrong with a submission becomes a reason, never a traceback.
"""

import contextlib
import dataclasses
import json
import os
import re
import sys
import tempfile
import warnings
from collections import Counter
from pathlib import Path

from trainium_edu import exercises
from trainium_edu.cli import sandbox
from trainium_edu.cli.apart import Apart, Stopped
from trainium_edu.cli.limits import (
    Limits,
    Unreadable,
    end_family,
    limit_this_process,
    open_submission,
)
from trainium_edu.exercises.exercise import SOLUTION_SEEN, Grade
from trainium_edu.exercises.lessons import lesson_notebook, number_of
from trainium_edu.exercises.needed_cells import (
    cells_of,
    key_of,
    needed_for,
    stated,
    with_student,
)

_MOST_LEFT_OUT = 3  #: cells of a submission that stop its kernel, and belong to no exercise

__all__ = ["grade_notebook", "lesson_of", "read_submission", "student_of"]


def read_submission(path: Path):
    """Read a notebook of any format that nbformat knows.

    Raises
    ------
    Unreadable
        With the reason in words.
    """
    import nbformat

    try:
        with open_submission(path) as file:
            text = file.read().decode("utf-8-sig")
    except OSError as error:
        raise Unreadable(f"cannot be read ({error.strerror})") from None
    except UnicodeDecodeError:
        raise Unreadable("not a notebook (not text)") from None
    try:
        raw = json.loads(text)
    except (ValueError, RecursionError):
        cut = text.lstrip().startswith("{") and not text.rstrip().endswith("}")
        raise Unreadable(
            "truncated: the file ends in the middle" if cut else "not a notebook (not JSON)"
        ) from None
    if not isinstance(raw, dict) or not ("cells" in raw or "worksheets" in raw):
        raise Unreadable("not a notebook (no cells)")
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
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
    keys = {key for cell in book["cells"] for kind in ("exercise", "check")
            if (key := key_of(cell, kind))}  # fmt: skip
    known = [key for key in keys if exercises.find(key)]
    counted = Counter(sorted(map(number_of, known)))
    most = counted.most_common(1)
    lessons = [
        lesson for lesson, count in counted.items()
        if lesson == most[0][0] or 2 * count >= len(exercises.of_lesson(lesson))
    ]  # fmt: skip
    if lessons:
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


def student_of(book) -> str:
    """Return the student id that a notebook states, without running anything."""
    for cell in book["cells"]:
        tags = cell.get("metadata", {}).get("tags") or ()
        source = cell.get("source", "")
        if cell.get("cell_type") != "code" or not ("student-id" in tags or "student" in source):
            continue
        if (found := stated(source, "student")) is not None:
            return found
    return ""


def grade_notebook(book, lesson, *, student="", salt="", limits, folder, walls=False, done=print):
    """Grade all exercises of a lesson.

    Parameters
    ----------
    book : notebook
    lesson : str
    student : str
        The id whose numbers count; put in place of the one that the notebook states.
    salt : str
        The instructor's word for the hidden numbers.
    limits : Limits
    folder : Path
        Where the submission's cells run.
    walls : bool
        Whether their kernel stands behind the system's walls.
    done : callable
        Called with (key, Grade, notes) as each exercise is graded.
    """
    from trainium_edu.cli.grade_cpp import CppApart

    kernel = Apart(
        "in_kernel", folder, limits, walls=walls, TRAINIUM_EDU_COMMITTED="1",
        TRAINIUM_EDU_HOME=str(Path(folder) / ".home"), MPLBACKEND="agg",
    )  # fmt: skip
    cells = cells_of(book)
    for i, cell in enumerate(cells):
        if "student-id" in cell.tags:
            told = with_student(cell.source, student)
            cells[i] = dataclasses.replace(cell, source=told, prepares=told)
    left_out: set[int] = set()
    starters = _starters(lesson)
    try:
        with CppApart(walls, limits):
            for exercise in exercises_of(lesson):
                grade = _grade(exercise, cells, left_out, starters, kernel, student, salt)
                done(exercise.key, *grade)
    finally:
        kernel.stop()


def _grade(exercise, cells, left_out, starters, kernel, student, salt):
    """Grade one exercise; of several cells that bind its answer the last attempted one counts."""
    copies, notes, first = set(), [], None
    for _ in range(6):
        needed = needed_for(exercise.answer, cells, key=exercise.key, skip=left_out | copies)
        if not needed:
            break
        binders = [cell for cell in needed if exercise.answer in cell.binds]
        if [cell.source.strip() for cell in binders] == [starters.get(exercise.key)]:
            grade = Grade(0, exercise.points, "not attempted")
        else:
            try:
                grade = _grade_cells(exercise, needed, kernel, student, salt, notes, left_out)
            except Stopped as stop:
                grade = Grade(0, exercise.points, "stopped", str(stop))
            if any("sys.modules" in cell.source for cell in needed):
                kernel.stop()  # the next exercise gets a kernel with all its modules
        first = first or grade
        if grade.status != "not attempted":
            return grade, notes
        copies.add(binders[-1].index)
    return first or Grade(
        0, exercise.points, "not attempted", f"no cell binds `{exercise.answer}`"
    ), notes


def _grade_cells(exercise, needed, kernel, student, salt, notes, left_out):
    """Run the cells in an empty namespace, and grade what the answer's name then holds."""
    kernel.begin()
    errors = []
    for cell in needed:
        is_own = exercise.answer in cell.binds or cell.key == exercise.key
        if cell.broken and is_own:
            return Grade(0, exercise.points, "error", f"its cell cannot be read: {cell.broken}")
        try:
            error = kernel.run(cell.source)
        except Stopped as stop:
            if is_own or len(left_out) >= _MOST_LEFT_OUT:
                raise
            left_out.add(cell.index)  # one cell of another costs no answer its points
            notes.append(f"a cell beside it was left out: {stop}")
            again = [other for other in needed if other is not cell]
            return _grade_cells(exercise, again, kernel, student, salt, notes, left_out)
        if error:
            errors[: 0 if is_own else len(errors)] = [error]
    try:
        answer = kernel.look(exercise.answer)
    except KeyError:
        return Grade(0, exercise.points, "error", f"its cell raised {errors[0]}" if errors else
                     f"its cells leave no `{exercise.answer}`")  # fmt: skip
    except ValueError as error:
        return Grade(0, exercise.points, "wrong", f"`{exercise.answer}`: {error}")
    return exercise.grade(answer, student, salt)


def _starters(lesson):
    """Return the exercise cells of the installed lesson by key, to see an untouched one at once."""
    return {key_of(c): "".join(c["source"]).strip() for c in _lesson_cells(lesson) if key_of(c)}


def _lesson_cells(lessons):
    """Return the cells of installed lessons, those that there are."""
    cells = []
    for lesson in lessons.split("+"):
        with contextlib.suppress(OSError, ValueError, KeyError):
            cells += json.loads(lesson_notebook(lesson).read_text(encoding="utf-8"))["cells"]
    return cells


def suspicions(book, lesson) -> list[str]:
    """Name what an instructor may want to look at; it changes no points."""
    source = "\n".join(c.get("source", "") for c in book["cells"] if c["cell_type"] == "code")
    told = ("sys.modules", "os._exit", "trainium_edu.cli", ".solution(", "exercises.afterwards")
    notes = [f"uses {text}" for text in told if text in source]
    notes += [f"saw the solution of {e.key} before it passed" for e in exercises_of(lesson)
              if _says_solution_seen(book, e.key)]  # fmt: skip
    given = {key_of(c, "check"): "".join(c["source"]).strip() for c in _lesson_cells(lesson)}
    changed = {key for c in book["cells"] if (key := key_of(c, "check")) and key in given
               and given[key] != c.get("source", "").strip()}  # fmt: skip
    notes += [f"changed the check of {key}" for key in sorted(changed)]
    mine = {exercise.key for exercise in exercises_of(lesson)}
    others = sorted({k for c in book["cells"] if (k := key_of(c)) and k not in mine})
    return notes + [f"{'exercise of another lesson' if exercises.find(key) else 'unknown exercise'}"
                    f" {key!r}" for key in others]  # fmt: skip


def _says_solution_seen(book, key) -> bool:
    """Return whether an output of a check says so; outputs are the submission's own words."""
    outputs = [c.get("outputs") for c in book["cells"] if key_of(c, "check") == key]
    return any(
        isinstance(out, dict) and isinstance(out.get("data"), dict) and SOLUTION_SEEN in out["data"]
        for some in outputs if isinstance(some, list) for out in some
    )  # fmt: skip


def main():
    """Grade what a line of JSON on stdin names; write JSON lines to stdout."""
    given = json.loads(sys.stdin.readline())
    out = os.fdopen(os.dup(sys.stdout.fileno()), "w", encoding="utf-8")
    nothing = os.open(os.devnull, os.O_RDWR)
    for stream in (sys.stdin, sys.stdout):  # what prints here, or is started here, has no pipe
        os.dup2(nothing, stream.fileno())
    # jsonschema checks URIs with it if it is there, and building its grammar takes longer than all
    # the rest of a worker's start; a notebook has no URI to check.
    sys.modules.setdefault("rfc3987_syntax", None)  # type: ignore[arg-type]
    limits = Limits(**given["limits"])
    for module in given["modules"]:
        exercises.register(module)
    limit_this_process(limits)

    def say(**line):
        out.write(json.dumps(line) + "\n")
        out.flush()

    path = Path(given["path"])
    if given.get("assignment"):
        _grade_file(path, given, limits, say)
        return
    try:
        book = read_submission(path)
        lesson = lesson_of(book, path.name)
    except Unreadable as error:
        say(kind="unreadable", reason=str(error))
        return
    own = student_of(book)
    student = given["student"] or own
    say(
        kind="lesson", lesson=lesson, student=student, stated=own,
        notes=suspicions(book, lesson),
    )  # fmt: skip
    with tempfile.TemporaryDirectory(prefix="grade-", ignore_cleanup_errors=True) as folder:
        grade_notebook(
            book, lesson, student=student, salt=given["salt"], limits=limits, folder=Path(folder),
            walls=given["walls"],
            done=lambda key, grade, notes: say(
                kind="grade", key=key, notes=notes, **dataclasses.asdict(grade)
            ),
        )  # fmt: skip
    say(kind="end")


def _grade_file(path, given, limits, say):
    """Grade a kernel file instead of a notebook."""
    from trainium_edu.cli.assignment import Assignment
    from trainium_edu.cli.grade_kernel import grade_file

    assignment = Assignment.load(Path(given["assignment"]))
    try:
        for line in grade_file(
            path, assignment, student=given["student"], walls=given["walls"], limits=limits
        ):
            say(**line)
    except Unreadable as error:
        say(kind="unreadable", reason=str(error))
    else:
        say(kind="end")


if __name__ == "__main__":
    sandbox.harden()
    main()
    end_family(None)
    os._exit(0)  # whatever a stopped kernel left in this process must not keep it alive
