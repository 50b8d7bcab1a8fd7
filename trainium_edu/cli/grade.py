"""Grade one submission or a folder of them: one process each, nothing lost, nothing hung.

This process starts, watches and ends the others (``grade_one.py``), and writes each row down as
soon as it is known, beside the CSV as ``OUT.jsonl``.  Run the same command again after a
stop, and only what is missing or has changed is graded.  ``.github/INSTRUCTORS.md`` says what a
submission can reach with bubblewrap, and without.
"""

import contextlib
import csv
import hashlib
import importlib.util
import io
import json
import os
import subprocess
import sys
import tempfile
import time
import tomllib
from collections.abc import Callable, Iterable, Mapping, Sequence
from concurrent.futures import Future, ThreadPoolExecutor, as_completed
from dataclasses import asdict, dataclass, field
from pathlib import Path

import trainium_edu
from trainium_edu import exercises, files
from trainium_edu.cli import sandbox
from trainium_edu.cli.assignment import Assignment
from trainium_edu.cli.grade_one import exercises_of
from trainium_edu.cli.limits import Limits, Unreadable, end_family, open_submission
from trainium_edu.tools.schema import checked

__all__ = ["Row", "absent", "grade_all", "grade_submission", "keep_row", "read_kept",
           "read_roster", "submissions", "write_csv"]  # fmt: skip


@dataclass(slots=True)
class Row:
    """The results of one submission."""

    submission: str
    status: str = "graded"  #: "graded" or "not graded"
    reason: str = ""
    lesson: str = ""
    student: str = ""
    points: int = 0
    of: int = 0
    seconds: float = 0.0
    notes: list = field(default_factory=list)
    exercises: dict = field(default_factory=dict)  #: each exercise's Grade as a dict, by key
    digest: str = ""  #: of the file and the checks; tells whether a kept row is still good
    walls: str = ""  #: "bubblewrap", or why the submission ran without walls
    limits: dict = field(default_factory=dict)  #: those under which it was graded
    #: of a kernel file, by case: latency and its band, traffic, MFU
    figures: dict = field(default_factory=dict)
    advice: list = field(default_factory=list)  #: what its author could improve
    leaderboard: dict = field(default_factory=dict)  #: its entry, if it is right

    @property
    def was_stopped(self) -> bool:
        """Whether a limit ended an exercise, or all of it."""
        return any(grade["status"] == "stopped" for grade in self.exercises.values())

    @property
    def was_unchecked(self) -> bool:
        """Whether the machine lacked what a check needs, such as a C++ compiler."""
        return any(grade["status"] == "not checked" for grade in self.exercises.values())


def _watched(path, row: Row, order: Mapping, limits: Limits, running: list, parts=None) -> Row:
    """Grade one submission in a process of its own, and fill its row from what that writes."""
    package, begun = str(Path(trainium_edu.__file__).parents[1]), time.monotonic()
    paths = filter(None, (package, os.environ.get("PYTHONPATH")))
    text = json.dumps({**order, "path": str(path.absolute()), "limits": asdict(limits)})
    with tempfile.TemporaryDirectory(prefix="grading-", ignore_cleanup_errors=True) as folder:
        process = subprocess.Popen(
            [sys.executable, "-m", "trainium_edu.cli.grade_one"],
            stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, cwd=folder,
            env={**os.environ, "PYTHONPATH": os.pathsep.join(paths)}, start_new_session=True,
        )  # fmt: skip
        running.append(process)
        try:
            told, _ = process.communicate(f"{text}\n".encode(), limits.submission_seconds)
        except subprocess.TimeoutExpired as late:
            end_family(process)
            row.reason, told = f"took more than {limits.submission_seconds:g} s", late.output or b""
            with contextlib.suppress(subprocess.TimeoutExpired):  # its pipe ended with it
                told, _ = process.communicate(timeout=5)
        fill(row, told.splitlines(), process.returncode, parts)
    row.seconds = round(time.monotonic() - begun, 2)
    return row


def fill(row: Row, lines: Sequence[bytes], code: int, parts: Mapping[str, int] | None = None):
    """Fill a row from the lines that a grader process wrote before it ended with some code.

    A submission may have written some of them: points are bounded by the exercise's own, and
    exercises of other lessons do not count.  An assignment has `parts`, points by key, instead of a
    lesson's exercises.
    """
    ended = False
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
            elif kind == "measured":
                row.figures, row.advice = part["figures"], part["advice"]
                row.leaderboard = part["leaderboard"]
            elif kind == "end":
                ended = True
    if not ended and not row.reason:
        row.reason = f"its grader ended early ({'signal' if code < 0 else 'code'} {abs(code)})"
    if not row.lesson and row.status == "graded":
        row.status = "not graded"
    if parts is None:
        parts = {e.key: e.points for e in exercises_of(row.lesson)}
    mine = parts if row.lesson else {}
    row.exercises = {key: grade for key, grade in row.exercises.items() if key in mine}
    for key, grade in row.exercises.items():
        if entry := grade.pop("entry", {}):
            name = (row.student or Path(row.submission).stem)[:40]
            row.leaderboard = {"assignment": f"lesson {key}", "name": name, **entry}
    for key, points in mine.items():
        missing = {"points": 0, "of": points, "status": "stopped",
                   "reason": row.reason, "misconception": ""}  # fmt: skip
        grade = row.exercises.setdefault(key, missing)
        grade["points"] = min(max(int(grade["points"]), 0), points)
        grade["of"] = points
    row.points = sum(grade["points"] for grade in row.exercises.values())
    row.of = sum(grade["of"] for grade in row.exercises.values())
    stops: dict[str, list[str]] = {}
    for key, grade in row.exercises.items():
        if grade["status"] in ("stopped", "error", "not checked"):
            stops.setdefault(grade["reason"], []).append(key)
    row.reason = row.reason or "; ".join(
        f"{', '.join(keys)}: {reason}" if len(keys) < len(mine) or len(mine) == 1 else reason
        for reason, keys in stops.items()
    )


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
    modules = [Path(module).absolute() for module in modules]
    for module in modules:
        exercises.register(module)
    walls = sandbox.missing()
    about: dict = {"limits": asdict(limits), "walls": sandbox.described()}
    order: dict = {"salt": salt, "modules": [str(m) for m in modules], "walls": not walls}
    rows: dict[int, Row] = {}
    running: list[subprocess.Popen] = []
    with (
        tempfile.TemporaryDirectory(prefix="assignment-", ignore_cleanup_errors=True) as folder,
        ThreadPoolExecutor(max(1, jobs)) as pool,  # of threads that watch a process each
    ):
        if assignment:  # with its data, which are drawn once for all
            order["assignment"] = str(Path(folder, "assignment"))
            assignment.save(Path(folder, "assignment"))
        parts, places = assignment.parts if assignment else None, dict[Future, int]()
        try:
            for place, path in enumerate(paths):
                student = roster.get(str(path)) or roster.get(path.name) or ""
                row = Row(str(path), digest=_digest(path, student, salt, assignment), **about)
                old = known.get((row.submission, row.digest))
                if old and not (
                    old.was_unchecked or (old.was_stopped and old.limits != row.limits)
                ):
                    rows[place] = old
                    continue
                mine = {**order, "student": student}
                places[pool.submit(_watched, path, row, mine, limits, running, parts)] = place
            for future in as_completed(places):
                rows[places[future]] = future.result()
                done(future.result())
        except BaseException:
            pool.shutdown(wait=False, cancel_futures=True)
            for process in running:
                if process.poll() is None:
                    end_family(process)
            raise
    result = [rows[place] for place in sorted(rows)]
    _note_shared_ids(result)
    return result


#: Endings of other files that students submit instead of a notebook or a kernel.
_ALSO_HANDED_IN = (".ipynb", ".py", ".txt", ".md", ".doc", ".docx", ".odt", ".pdf", ".rtf", ".html",
                   ".zip")  # fmt: skip


def submissions(target: Path, complain: Callable = lambda sentence: None, *,
                suffix: str = ".ipynb", leave: Iterable[Path] = ()) -> list[Path]:  # fmt: skip
    """Return the notebooks of a folder, checkpoints and hidden folders left out.

    Files of other kinds (a document, a script) are listed too, so that they get a row with the
    reason.  Those beside a notebook of the same name, or in a student's folder with a notebook, are
    left out.

    Parameters
    ----------
    target : Path
    complain : callable
        Called with one sentence for each folder that cannot be read.
    suffix : str
        ".py" for kernel files.
    leave : iterable of Path
        Files that are not submissions, such as the assignment itself.

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
    found, leave = [], set(leave)

    def unreadable(error):
        complain(f"{error.filename}: cannot be read ({error.strerror})")

    for folder, names, others in os.walk(target, onerror=unreadable):
        names[:] = sorted(n for n in names if not n.startswith("."))
        names_here = [n for n in names if n.endswith(suffix)]  # a folder named like a notebook
        found += [
            Path(folder) / n for n in sorted([*others, *names_here])
            if Path(n).suffix in (suffix, *_ALSO_HANDED_IN) and not n.startswith(".")
        ]  # fmt: skip
    found = [path for path in found if path.resolve() not in leave]
    graded = {path.parent for path in found if path.suffix == suffix}
    stems = {(path.parent, path.stem) for path in found if path.suffix == suffix}
    found = [
        path for path in found
        if path.suffix == suffix
        or ((path.parent, path.stem) not in stems and (path.parent == target
                                                       or path.parent not in graded))
    ]  # fmt: skip
    if not graded:
        what = "notebook" if suffix == ".ipynb" else f"{suffix} file to grade"
        raise ValueError(f"{target} holds no {what}")
    return found


def absent(roster: Mapping[str, str], paths: Iterable[Path]) -> list[Row]:
    """Return a row for each entry of a roster that handed nothing in."""
    names = {name for path in paths for name in (str(path), path.name)}
    return [Row(name, "not graded", "nothing was handed in", student=student)
            for name, student in roster.items() if name not in names]  # fmt: skip


def read_roster(path: Path, paths: Iterable[Path] = ()) -> dict:
    """Read student ids from a CSV with the columns ``submission`` (file name) and ``student``.

    Parameters
    ----------
    path : Path
    paths : iterable of Path
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
    paths = list(paths)
    found.pop("", None)
    if paths and not any(str(p) in found or p.name in found for p in paths):
        raise ValueError(
            f"{path} names none of the {len(paths)} submissions: its column submission has "
            f"{next(iter(found))!r}, and the first file is called {paths[0].name!r}"
        )
    return found


def keep_row(row: Row, path: Path):
    """Write a row down for a later run."""
    with Path(path).open("a", encoding="utf-8") as file:
        file.write(json.dumps(asdict(row)) + "\n")


def read_kept(path: Path) -> dict:
    """Read the rows of an earlier run; a line that is torn, or no row, is left out."""
    kept: dict = {}
    schema = tomllib.loads(Path(__file__).with_name("row.toml").read_text(encoding="utf-8"))
    if not Path(path).is_file():
        return kept
    with contextlib.suppress(OSError):
        for line in Path(path).read_text(encoding="utf-8", errors="replace").splitlines():
            with contextlib.suppress(ValueError, RecursionError):
                row = Row(**checked(json.loads(line), schema))
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
    head = ["submission", "student", "lesson", "points", "of", "status", "reason", "notes",
            "seconds", "walls"]  # fmt: skip
    head += [f"{key}{what}" for key in keys for what in ("", " feedback", " misconception")]
    measured = sorted({(case, name) for row in rows for case, found in row.figures.items()
                       for name in found})  # fmt: skip
    head += [f"{case} {name}" for case, name in measured]
    text = io.StringIO(newline="")
    table = csv.writer(text)
    table.writerow(head)
    for row in rows:
        line = [row.submission, row.student, row.lesson, row.points, row.of, row.status,
                row.reason, "; ".join(row.notes), row.seconds, row.walls]  # fmt: skip
        for key in keys:
            grade = row.exercises.get(key)
            said = f"{grade['status']}: {grade['reason']}".strip(": ") if grade else ""
            line += [grade["points"], said, grade["misconception"]] if grade else [""] * 3
        line += [row.figures.get(case, {}).get(name, "") for case, name in measured]
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


def _digest(path, student, salt, assignment=None):
    """Return a hash of all that a grade depends on: the file, the checks, id and salt."""
    hashed = hashlib.sha256(f"{student}|{salt}|{trainium_edu.__version__}".encode())
    with contextlib.suppress(OSError, Unreadable), open_submission(path) as file:
        while piece := file.read(1 << 20):
            hashed.update(piece)
    if assignment:
        hashed.update(assignment.digest.encode())
        return hashed.hexdigest()[:32]
    for name in exercises.LESSONS.values():
        spec = importlib.util.find_spec(f"trainium_edu.exercises.{name.partition('_')[2]}")
        if spec is not None and spec.origin:
            hashed.update(Path(spec.origin).read_bytes())
    return hashed.hexdigest()[:32]
