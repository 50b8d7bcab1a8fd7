"""The row of one submission: lines of JSON, by which a grader's process tells what it has so far.

The last whole line counts, so that a process that has to be ended keeps what it had.  The same
lines stand beside the table (``OUT.jsonl``), where a later run finds what need not be graded again.
"""

import contextlib
import json
from collections.abc import Mapping
from dataclasses import asdict, dataclass, field
from pathlib import Path

from trainium_edu import files
from trainium_edu.cli.limits import Unreadable, read_bytes
from trainium_edu.exercises.exercise import Grade
from trainium_edu.files import tables
from trainium_edu.tools.schema import checked

__all__ = ["METRICS", "Row", "keep_row", "last_of", "plain", "read_kept", "read_rows", "write_csv"]

_SCHEMA = tables(__file__)
_WORDS = tables(__file__, "metrics.toml")
METRICS = _WORDS["metrics"]  #: what a threshold can bound, and how a report says it
_COLUMNS = _SCHEMA["columns"]  #: fields that the table begins with


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
    def has_walls(self) -> bool:
        """Whether its process stands behind the system's walls."""
        return self.walls == "bubblewrap"

    def states(self, student: str):
        """Take the id that a submission states; note it if the roster has another one."""
        if student and self.student and student.casefold() != self.student.casefold():
            self.notes.append(f"states the student id {student!r}")
        self.student = self.student or student

    def add(self, key: str, grade: Grade):
        """Write down an exercise's grade, and its entry of a leaderboard."""
        self.exercises[key] = asdict(grade)
        if entry := self.exercises[key].pop("entry"):
            self.enter(f"lesson {key}", entry)

    def enter(self, assignment: str, figures: Mapping, name: str = ""):
        """Write down an entry of a leaderboard, under the student's id unless a name is given."""
        name = plain(name or self.student or Path(self.submission).stem)[:40]
        self.leaderboard = {"assignment": assignment, "name": name, **figures}

    def is_final(self, limits: dict) -> bool:
        """Return whether it stands under these limits: all was checked, and no other limit met."""
        statuses = {grade["status"] for grade in self.exercises.values()}
        return "not checked" not in statuses and (
            limits == self.limits or "stopped" not in statuses
        )

    def feedback(self, key: str) -> str:
        """Return what an exercise's grade says to its author."""
        return "{status}: {reason}".format(**self.exercises[key]).strip(": ")

    def said(self) -> list[str]:
        """Return the figures of each case, as a report has them."""
        words = _WORDS["figures"]
        return [f"{case}: {words.format(**found)}" for case, found in self.figures.items()]

    def line(self) -> str:
        """Return it as a line of a file."""
        return json.dumps(asdict(self))


def plain(text: str) -> str:
    """Return text, some of which a submission may have chosen, as one short printable line."""
    return "".join(c for c in " ".join(text.split()) if c.isprintable())[:800]


def last_of(lines) -> Row | None:
    """Return the last row that is whole; None if none is."""
    for line in reversed(lines):
        with contextlib.suppress(ValueError, RecursionError):
            return Row(**checked(json.loads(line), _SCHEMA))
    return None


def keep_row(row: Row, path: Path):
    """Write a row down for a later run, on a line of its own after one that a full disk tore."""
    with Path(path).open("a", encoding="utf-8") as file:
        file.write(f"\n{row.line()}\n")


def read_kept(path: Path) -> dict:
    """Read the rows of an earlier run, by (submission, digest)."""
    with contextlib.suppress(Unreadable):
        return {(row.submission, row.digest): row for row in read_rows(path)}
    return {}


def read_rows(path: Path) -> list[Row]:
    """Read the rows that ``grade --json`` printed; of lines that it kept, those that are rows.

    Raises
    ------
    Unreadable
        If the file cannot be read.
    ValueError
        One sentence, if a file of JSON holds something else.
    """
    text = read_bytes(path).decode(errors="replace")
    if path.suffix == ".jsonl":
        return [*filter(None, (last_of([line]) for line in text.splitlines()))]
    try:
        found = json.loads(text)
    except (json.JSONDecodeError, RecursionError) as error:
        raise ValueError(f"not JSON ({error})") from None
    return [Row(**checked(row, _SCHEMA)) for row in (found if isinstance(found, list) else [found])]


def write_csv(rows: list[Row], out: Path):
    """Write one line per submission, whole or not at all."""
    keys = sorted({key for row in rows for key in row.exercises})
    found = (figures for row in rows for figures in row.figures.items())
    measured = sorted({(case, name) for case, figures in found for name in figures})
    heads = [f"{key}{what}" for key in keys for what in ("", " feedback", " misconception")]
    table: list[list] = [[*_COLUMNS, *heads, *(f"{case} {name}" for case, name in measured)]]
    for row in rows:
        line = [getattr(row, name) for name in _COLUMNS]
        line[_COLUMNS.index("notes")] = "; ".join(row.notes)
        for key in keys:
            part = row.exercises.get(key)
            line += [part["points"], row.feedback(key), part["misconception"]] if part else [""] * 3
        table.append(line + [row.figures.get(case, {}).get(name, "") for case, name in measured])
    files.write(out, files.csv_text(table))
