"""Grade one submission or a folder of them: one process each, nothing lost, nothing hung.

This process starts, watches and ends the others (``grade_one.py``), and writes each row down as
soon as it is known, beside the CSV as ``OUT.jsonl``.  Run the same command again after a
stop, and only what is missing or has changed is graded.  ``.github/INSTRUCTORS.md`` says what a
submission can reach with bubblewrap, and without.
"""

import contextlib
import csv
import hashlib
import json
import os
import pickle
import re
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterable, Mapping, Sequence
from concurrent.futures import Future, ThreadPoolExecutor, as_completed
from dataclasses import asdict, replace
from pathlib import Path
from typing import Any

import trainium_edu
from trainium_edu import exercises, files
from trainium_edu.cli import sandbox
from trainium_edu.cli.assignment import Assignment
from trainium_edu.cli.grade_one import exercises_of
from trainium_edu.cli.limits import Limits, Unreadable, end_family, read_bytes, start
from trainium_edu.cli.refusals import sentence
from trainium_edu.cli.row import Row, last_of
from trainium_edu.exercises import lessons

__all__ = ["absent", "filled", "grade_all", "read_roster", "submissions"]


def _watched(path, row: Row, order: Mapping, parts) -> Row:
    """Grade one submission in a process of its own, and return the row that this wrote."""
    begun, late, seconds = time.monotonic(), "", row.limits["submission_seconds"]
    package = str(Path(trainium_edu.__file__).parents[1])
    paths = f"{package}{os.pathsep}{os.environ.get('PYTHONPATH', '')}"
    environment = {**os.environ, "PYTHONPATH": paths}
    text = json.dumps({**order, "path": str(path.absolute()), "row": asdict(row)})
    with tempfile.TemporaryDirectory(prefix="grading-", ignore_cleanup_errors=True) as folder:
        process = start([sys.executable, "-m", "trainium_edu.cli.grade_one"], folder, environment)
        try:
            told, _ = process.communicate(f"{text}\n".encode(), seconds)
        except subprocess.TimeoutExpired as error:
            end_family(process)
            late, told = f"took more than {seconds:g} s", error.output or b""
            with contextlib.suppress(subprocess.TimeoutExpired):  # its pipe ended with it
                told, _ = process.communicate(timeout=5)
        row = filled(row, told.splitlines(), parts, late, process.returncode)
    row.seconds = round(time.monotonic() - begun, 2)
    return row


def filled(
    row: Row, lines: Sequence[bytes], parts: Mapping[str, int] | None, late: str = "", code: int = 0
) -> Row:
    """Return a row with what its grader's process wrote, as far as its exercises allow that.

    A submission may have written some of it: points are bounded by the exercise's own, and
    exercises of other lessons do not count.

    Parameters
    ----------
    row : Row
        As the process was given it.
    lines : sequence of bytes
    parts : dict of str to int or None
        An assignment's points by key; None for a lesson's exercises.
    late : str
        Why the process was ended, if it was.
    code : int
        That the process ended with.
    """
    if code and not late:
        late = f"its grader ended early ({'signal' if code < 0 else 'code'} {abs(code)})"
    told = last_of(lines) or replace(row, status="not graded")
    own = {name: getattr(row, name) for name in ("submission", "digest", "walls", "limits")}
    row = replace(told, **own, reason=late or told.reason, points=0, of=0)
    mine = parts if parts is not None else {e.key: e.points for e in exercises_of(row.lesson)}
    grades, row.exercises = row.exercises, {}
    stops: dict[str, list[str]] = {}
    for key, points in mine.items() if row.lesson else ():
        missing = {"points": 0, "status": "stopped", "reason": late, "misconception": ""}
        grade = {**grades.get(key, missing), "of": points}
        row.exercises[key] = {**grade, "points": min(max(grade["points"], 0), points)}
        row.points, row.of = row.points + row.exercises[key]["points"], row.of + points
        if grade["status"] in ("stopped", "error", "not checked"):
            stops.setdefault(grade["reason"], []).append(key)
    row.reason = row.reason or "; ".join(
        f"{', '.join(keys)}: {reason}" if len(keys) < len(mine) or len(mine) == 1 else reason
        for reason, keys in stops.items()
    )
    return row


def grade_all(
    paths: Iterable[Path],
    *,
    roster: dict | None = None,
    salt: str = "",
    modules: Sequence = (),
    limits: Limits | None = None,
    jobs: int = 1,
    known: dict | None = None,
    done: Callable = lambda row: None,
    assignment: Assignment | None = None,
) -> list[Row]:
    """Grade submissions side by side, in the order given.

    Parameters
    ----------
    paths : iterable of Path
    roster : dict, optional
        Student id by file name (or path).
    salt : str
        Your own word; it changes all hidden numbers.
    modules : sequence of Path
        Lessons of your own, as :func:`trainium_edu.exercises.register` takes them.
    limits : Limits, optional
    jobs : int
        How many at once.
    known : dict, optional
        Rows by (submission, digest) that need not be graded again.
    done : callable
        Called with each new row.
    assignment : Assignment, optional
        What is asked of kernel files; without one, submissions are notebooks.

    Returns
    -------
    rows : list of Row
    """
    limits = limits or (assignment.limits if assignment else Limits())
    roster, known = roster or {}, known or {}
    modules = [str(Path(module).absolute()) for module in modules]
    for module in modules:
        exercises.register(module)
    walls = sandbox.described()
    order: dict[str, Any] = {"salt": salt, "modules": modules, "assignment": ""}
    with (
        tempfile.TemporaryDirectory(prefix="assignment-", ignore_cleanup_errors=True) as folder,
        ThreadPoolExecutor(max(1, jobs)) as pool,  # of threads that watch a process each
    ):
        if assignment:  # with its data, which are drawn once for all
            order["assignment"] = str(Path(folder, "assignment"))
            files.write(order["assignment"], pickle.dumps(assignment))
        rows: list[Row | Future] = []
        parts = assignment and assignment.parts
        try:
            for path in paths:
                student = roster.get(str(path)) or roster.get(path.name) or ""
                digest, taken = _digest(path, student, salt, assignment), asdict(limits)
                row = Row(str(path), student=student, digest=digest, walls=walls, limits=taken)
                old = known.get((row.submission, row.digest))
                if old is None or not old.is_final(taken):
                    old = pool.submit(_watched, path, row, order, parts)
                rows.append(old)
            for future in as_completed(row for row in rows if isinstance(row, Future)):
                done(future.result())
        except BaseException:
            pool.shutdown(wait=False, cancel_futures=True)
            end_family(None)
            raise
    result = [row.result() if isinstance(row, Future) else row for row in rows]
    _note_shared_ids(result)
    return result


#: Endings of other files that students submit instead of a notebook or a kernel.
_ALSO_HANDED_IN = re.compile(r"\.(ipynb|py|txt|md|docx?|odt|pdf|rtf|html|zip)")


def submissions(target: Path, suffix: str = ".ipynb", leave: Iterable[Path] = ()) -> list[Path]:
    """Return the notebooks of a folder, checkpoints and hidden folders left out.

    Files of other kinds (a document, a script) are listed too, so that they get a row with the
    reason.  Those beside a notebook of the same name, or in a student's folder with a notebook, are
    left out.

    Parameters
    ----------
    target : Path
    suffix : str
        ".py" for kernel files.
    leave : iterable of Path
        Files that are not submissions, such as the assignment itself.

    Raises
    ------
    ValueError
        If there is nothing to grade.
    """
    target, leave = Path(target), set(leave)
    if not target.exists():
        raise ValueError(f"{target} is not there")
    if not target.is_dir():
        return [target]

    def unreadable(error):
        print(f"{error.filename}: cannot be read ({error.strerror})", file=sys.stderr)

    found: list[Path] = []
    for folder, names, others in os.walk(target, onerror=unreadable):
        names[:] = sorted(n for n in names if not n.startswith("."))
        odd_folders = [n for n in names if n.endswith(suffix)]  # one named like a notebook
        here = [Path(folder, n) for n in sorted([*others, *odd_folders]) if not n.startswith(".")]
        here = [path for path in here if path.resolve() not in leave]
        stems = {path.stem for path in here if path.suffix == suffix}
        if stems and Path(folder) != target:
            stems = {path.stem for path in here}
        for path in here:
            is_other = _ALSO_HANDED_IN.fullmatch(path.suffix) and path.stem not in stems
            if path.suffix == suffix or is_other:
                found.append(path)
    if not any(path.suffix == suffix for path in found):
        raise ValueError(f"{target} holds no {suffix} file to grade")
    return found


def absent(roster: Mapping[str, str], paths: Iterable[Path]) -> list[Row]:
    """Return a row for each entry of a roster that handed nothing in."""
    seen = {name for path in paths for name in (str(path), path.name)}
    why = "not graded", "nothing was handed in"
    return [Row(name, *why, student=roster[name]) for name in roster if name not in seen]


def read_roster(path: Path, paths: Sequence[Path]) -> dict:
    """Read student ids from a CSV with the columns ``submission`` (file name) and ``student``.

    Parameters
    ----------
    path : Path
    paths : sequence of Path
        The submissions; the table has to name at least one of them.

    Raises
    ------
    ValueError
        For a table without these columns, or one that names none of the submissions.
    """
    with open(path, newline="", encoding="utf-8-sig") as file:
        rows = list(csv.DictReader(file))
    if not rows or not {"submission", "student"} <= set(rows[0]):
        raise ValueError(f"{path} needs the columns submission and student")
    found = {row["submission"] or "": (row["student"] or "").strip() for row in rows}
    found.pop("", None)
    if not any(str(p) in found or p.name in found for p in paths):
        about = {"count": len(paths), "name": next(iter(found)), "first": paths[0].name}
        raise ValueError(sentence("grade.roster", path=path, **about))
    return found


def _note_shared_ids(rows):
    by_id: dict = {}
    for row in rows:
        by_id.setdefault((row.lesson, row.student.casefold()), []).append(row)
    for (_, student), same in by_id.items():
        for row in same if student and len(same) > 1 else ():
            others = ", ".join(Path(r.submission).name for r in same if r is not row)[:200]
            if (note := f"same student id as {others}") not in row.notes:
                row.notes.append(note)


def _digest(path, student, salt, assignment=None):
    """Return a hash of all that a grade depends on: the file, the checks, id and salt."""
    hashed = hashlib.sha256(f"{student}|{salt}|{trainium_edu.__version__}".encode())
    with contextlib.suppress(Unreadable):
        hashed.update(read_bytes(path))
    checks = [*sorted(Path(exercises.__file__).parent.glob("*.*")), *lessons.OWN.values()]
    for part in [assignment.digest.encode()] if assignment else map(Path.read_bytes, checks):
        hashed.update(part)
    return hashed.hexdigest()[:32]
