"""Grade one submission or a folder of them: one process each, nothing lost, nothing hung.

This process starts, watches and ends the others (``grade_one.py``), and writes each row down as
soon as it is known, beside the CSV as ``OUT.jsonl``.  Run the same command again after a stop, and
only what is missing or has changed is graded.  Not a sandbox: see ``.github/INSTRUCTORS.md`` for a
container.
"""

import contextlib
import csv
import dataclasses
import hashlib
import importlib.util
import io
import json
import os
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterable, Sequence
from pathlib import Path

import psutil

import trainium_edu
from trainium_edu import exercises, files
from trainium_edu.cli.grade_one import Limits

__all__ = ["Row", "grade_all", "grade_submission", "read_roster", "submissions", "write_csv"]


@dataclasses.dataclass(slots=True)
class Row:
    """What is known of one submission."""

    submission: str
    status: str = "graded"  #: "graded" or "not graded"
    reason: str = ""
    lesson: str = ""
    student: str = ""
    points: int = 0
    of: int = 0
    seconds: float = 0.0
    notes: list = dataclasses.field(default_factory=list)
    exercises: dict = dataclasses.field(default_factory=dict)  #: by key: Grade as a dict
    digest: str = ""  #: of the file and the checks; tells whether a kept row is still good


class _Worker:
    """One running grader process."""

    def __init__(self, path, row, options, limits):
        self.row, self._limits = row, limits
        self._folder = tempfile.TemporaryDirectory(prefix="grading-", ignore_cleanup_errors=True)
        self._out = Path(self._folder.name) / "grades.jsonl"
        self._begun = time.monotonic()
        package = str(Path(trainium_edu.__file__).parents[1])
        environment = {
            **os.environ,
            "PYTHONPATH": os.pathsep.join(filter(None, (package, os.environ.get("PYTHONPATH")))),
        }
        self._process = subprocess.Popen(
            [sys.executable, "-m", "trainium_edu.cli.grade_one", str(path.absolute()),
             str(self._out), json.dumps({**options, "limits": dataclasses.asdict(limits)})],
            stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL,
            cwd=self._folder.name, env=environment, start_new_session=True,
        )  # fmt: skip

    def finished(self) -> bool:
        """Tell whether it ended, ending it if its time is over."""
        if self._process.poll() is not None:
            return True
        if time.monotonic() - self._begun > self._limits.submission_seconds:
            self.end()
            self.row.reason = f"took more than {self._limits.submission_seconds:g} s"
            return True
        return False

    def end(self):
        """Kill the process and all that it started."""
        with contextlib.suppress(psutil.Error):
            family = psutil.Process(self._process.pid).children(recursive=True)
            for process in family:
                with contextlib.suppress(psutil.Error):
                    process.kill()
        with contextlib.suppress(OSError):
            self._process.kill()
        self._process.wait()

    def collect(self) -> Row:
        """Fill the row from what the process wrote."""
        row, ended = self.row, False
        lines = self._out.read_text(encoding="utf-8").splitlines() if self._out.exists() else []
        for line in lines:
            with contextlib.suppress(ValueError, KeyError):
                part = json.loads(line)
                kind = part.pop("kind")
                if kind == "unreadable":
                    row.status, row.reason, ended = "not graded", part["reason"], True
                elif kind == "lesson":
                    row.lesson, row.student = part["lesson"], part["student"]
                    row.notes += part["notes"]
                    if part["stated"] and part["stated"].casefold() != part["student"].casefold():
                        row.notes.append(f"states the student id {part['stated']!r}")
                elif kind == "grade":
                    key = part.pop("key")
                    row.notes += [f"{key}: {note}" for note in part.pop("notes")]
                    row.exercises[key] = part
                elif kind == "end":
                    ended = True
        if not ended and not row.reason:
            code = self._process.returncode
            row.reason = f"its grader ended early ({'signal' if code < 0 else 'code'} {abs(code)})"
        if not row.lesson and row.status == "graded":
            row.status = "not graded"
        for exercise in exercises.of_lesson(row.lesson) if row.lesson else ():
            missing = {"points": 0, "of": exercise.points, "status": "stopped",
                       "reason": row.reason, "misconception": ""}  # fmt: skip
            row.exercises.setdefault(exercise.key, missing)
        row.points = sum(grade["points"] for grade in row.exercises.values())
        row.of = sum(grade["of"] for grade in row.exercises.values())
        stops = [f"{key}: {grade['reason']}" for key, grade in row.exercises.items()
                 if grade["status"] in ("stopped", "error")]  # fmt: skip
        row.reason = row.reason or "; ".join(stops)
        row.seconds = round(time.monotonic() - self._begun, 2)
        self._folder.cleanup()
        return row


def grade_submission(path: Path, *, student: str = "", **options) -> Row:
    """Grade one notebook in a process of its own.

    Parameters
    ----------
    path : Path
    student : str
        The id whose numbers count; by default the one that the notebook states.
    **options
        As :func:`grade_all` takes them.

    Returns
    -------
    Row
    """
    (row,) = grade_all([Path(path)], roster={Path(path).name: student}, **options)
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

    Returns
    -------
    rows : list of Row
    """
    limits, roster, known = limits or Limits(), roster or {}, known or {}
    modules = [Path(module).absolute() for module in modules]
    for module in modules:
        exercises.register(module)
    waiting = list(enumerate(paths))
    rows: dict[int, Row] = {}
    running: dict[int, _Worker] = {}
    try:
        while waiting or running:
            while waiting and len(running) < max(1, jobs):
                place, path = waiting.pop(0)
                student = roster.get(str(path)) or roster.get(path.name) or ""
                row = Row(str(path), digest=_digest(path, student, salt))
                if (old := known.get((row.submission, row.digest))) is not None:
                    rows[place] = old
                    continue
                options = {"student": student, "salt": salt, "modules": [str(m) for m in modules]}
                running[place] = _Worker(path, row, options, limits)
            for place in [p for p, worker in running.items() if worker.finished()]:
                rows[place] = running.pop(place).collect()
                done(rows[place])
            time.sleep(0.03)
    finally:
        for worker in running.values():
            worker.end()
    result = [rows[place] for place in sorted(rows)]
    _note_shared_ids(result)
    return result


def submissions(target: Path, complain: Callable = lambda sentence: None) -> list[Path]:
    """Return the notebooks of a folder, checkpoints and hidden folders left out.

    Parameters
    ----------
    target : Path
    complain : callable
        Called with one sentence for each folder that cannot be read.

    Raises
    ------
    ValueError
        If there is nothing to grade.
    """
    target = Path(target)
    if not target.exists():
        raise ValueError(f"{target} is not there")
    if not target.is_dir():
        return [target]
    found = []

    def unreadable(error):
        complain(f"{error.filename}: cannot be read ({error.strerror})")

    for folder, names, others in os.walk(target, onerror=unreadable):
        names[:] = sorted(n for n in names if not n.startswith("."))
        names_here = [n for n in names if n.endswith(".ipynb")]  # a folder named like a notebook
        found += [Path(folder) / n for n in sorted([*others, *names_here])
                  if n.endswith(".ipynb") and not n.startswith(".")]  # fmt: skip
    if not found:
        raise ValueError(f"{target} holds no notebook")
    return found


def read_roster(path: Path) -> dict:
    """Read student ids from a CSV with the columns ``submission`` (file name) and ``student``."""
    with open(path, newline="", encoding="utf-8-sig") as file:
        rows = list(csv.DictReader(file))
    if not rows or not {"submission", "student"} <= set(rows[0]):
        raise ValueError(f"{path} needs the columns submission and student")
    return {row["submission"]: (row["student"] or "").strip() for row in rows}


def read_kept(path: Path) -> dict:
    """Read the rows of an earlier run; a torn last line is left out."""
    kept = {}
    if not Path(path).is_file():
        return kept
    with contextlib.suppress(OSError):
        for line in Path(path).read_text(encoding="utf-8", errors="replace").splitlines():
            with contextlib.suppress(ValueError, TypeError):
                row = Row(**json.loads(line))
                kept[row.submission, row.digest] = row
    return kept


def end_torn_line(path: Path):
    """End a last line that a full disk cut short, so that the next row begins its own."""
    if path.is_file() and path.stat().st_size:
        with path.open("rb+") as file:
            file.seek(-1, os.SEEK_END)
            if file.read(1) != b"\n":
                file.write(b"\n")


def write_csv(rows: list[Row], out: Path):
    """Write one line per submission, whole or not at all."""
    keys = sorted({key for row in rows for key in row.exercises})
    head = [
        "submission",
        "student",
        "lesson",
        "points",
        "of",
        "status",
        "reason",
        "notes",
        "seconds",
    ]
    head += [column for key in keys for column in (key, f"{key} feedback")]
    text = io.StringIO(newline="")
    table = csv.writer(text)
    table.writerow(head)
    for row in rows:
        line = [row.submission, row.student, row.lesson, row.points, row.of, row.status,
                row.reason, "; ".join(row.notes), row.seconds]  # fmt: skip
        for key in keys:
            grade = row.exercises.get(key)
            said = f"{grade['status']}: {grade['reason']}".strip(": ") if grade else ""
            line += [grade["points"], said] if grade else ["", ""]
        table.writerow([_harmless(value) for value in line])
    files.write(out, text.getvalue())


def _harmless(value):
    """Keep a spreadsheet from taking a student's text for a formula."""
    return f"'{value}" if isinstance(value, str) and value[:1] in ("=", "+", "-", "@") else value


def _note_shared_ids(rows):
    by_id: dict = {}
    for row in rows:
        if row.student:
            by_id.setdefault((row.lesson, row.student.casefold()), []).append(row)
    for same in by_id.values():
        for row in same if len(same) > 1 else ():
            others = ", ".join(Path(r.submission).name for r in same if r is not row)[:200]
            note = f"same student id as {others}"
            if note not in row.notes:
                row.notes.append(note)


def _digest(path, student, salt):
    """Return a hash of all that a grade depends on: the file, the checks, id and salt."""
    hashed = hashlib.sha256(f"{student}|{salt}|{trainium_edu.__version__}".encode())
    with contextlib.suppress(OSError):
        hashed.update(Path(path).read_bytes())
    for name in exercises.LESSONS.values():
        spec = importlib.util.find_spec(f"trainium_edu.exercises.{name[3:]}")
        if spec is not None and spec.origin:
            hashed.update(Path(spec.origin).read_bytes())
    return hashed.hexdigest()[:32]
