"""Read the package's solutions, and the wrong answers of this folder.

Each file here has an answer under its exercise, its kind and, where it is wrong, its name and the
feedback that it gets::

    ## 02/spacing wrong counts-stored-bits: the eighth is implied
    ## 02/spacing hard-coded

A ``python`` block replaces the learner's cell in the stored lesson; a ``diff`` is what differs from
the solution: its ``-`` lines, and the ``+`` lines in their place.
"""

import functools
import re
from dataclasses import dataclass
from pathlib import Path

import nbformat

from trainium_edu import exercises
from trainium_edu.exercises import afterwards, lessons
from trainium_edu.exercises.cells import key_of, parts_of, with_student

FOLDER = Path(__file__).parent
NOTEBOOKS = FOLDER.parents[1] / "notebooks"
PART = re.compile(
    r"(?ms)^## (?P<key>\S+) (?P<kind>wrong|hard-coded)(?: (?P<name>[^\s:]+))?"
    r"(?:: (?P<feedback>[^\n]+))?\n\n```(?P<form>python|diff)\n(?P<source>.*?)\n```$"
)


@dataclass(frozen=True)
class Block:
    kind: str
    key: str
    source: str
    name: str = ""
    feedback: str = ""

    @property
    def label(self):
        return " ".join(part for part in (self.key, self.kind, self.name) if part)


def edited(solution: str, differences: str) -> str:
    """Return a solution with some of its lines replaced."""
    source, hunks = f"\n{solution}\n", re.compile(r"(?m)(?:^-.*\n)+(?:^\+.*\n)+")
    assert not hunks.sub("", f"{differences}\n")
    for hunk in hunks.findall(f"{differences}\n"):
        old, new = ("".join(re.findall(rf"(?m)^[{sign}](.*\n)", hunk)) for sign in "-+")
        assert source.count(f"\n{old}") == 1, old
        source = source.replace(f"\n{old}", f"\n{new}")
    return source[1:-1]


@functools.cache
def blocks(lesson: str) -> tuple[Block, ...]:
    stem = exercises.LESSONS[lesson]
    path = FOLDER / f"{stem}.md"
    if not path.exists():
        return ()
    told = afterwards.read(afterwards.FOLDER / f"{stem.partition('_')[2]}.md")
    found = [Block("solution", key, part.solution) for key, part in told.items()
             if lessons.number_of(key) == lesson]  # fmt: skip
    text = path.read_text(encoding="utf-8")
    parts = [match.groupdict("") for match in PART.finditer(text)]
    assert len(parts) == text.count("\n## ") == text.count("\n```\n"), path.name
    for part in parts:
        if part.pop("form") == "diff":
            part["source"] = edited(told[part["key"]].solution, part["source"])
        found.append(Block(**part))
    return tuple(found)


@functools.cache
def notebook(lesson: str):
    """Return the stored lesson, or None while it is being written."""
    path = NOTEBOOKS / f"{exercises.LESSONS[lesson]}.ipynb"
    return nbformat.read(path, as_version=4) if path.exists() else None


def starter(exercise) -> Block:
    """Return the learner's cell as the lesson ships it."""
    book = notebook(lessons.number_of(exercise.key))
    for cell in book.cells if book else ():
        if key_of(cell) == exercise.key:
            return Block("starter", exercise.key, cell.source)
    return Block("starter", exercise.key, f"{exercise.answer} = None")


def with_answers(lesson: str, answers: dict, student: str = ""):
    """Return a copy of the stored lesson with some cells replaced, as a learner hands it in.

    Parameters
    ----------
    answers : dict
        Source by exercise key.
    """
    book = nbformat.from_dict(notebook(lesson))
    for cell in book.cells:
        if key_of(cell) in answers:
            cell.source = answers[key_of(cell)]
        if "student-id" in cell.metadata.get("tags", ()):
            cell.source = with_student(cell.source, student)
    return book


def run(block: Block, student: str = "") -> dict:
    """Run a block with the cells of the lesson that it needs; return the names it leaves."""
    lesson = lessons.number_of(block.key)
    scope = {"__name__": "__main__", "display": lambda *args: None}
    if notebook(lesson) is None:
        module = f"trainium_edu.exercises.{exercises.LESSONS[lesson].partition('_')[2]}"
        exec(f"import importlib; check = importlib.import_module({module!r})", scope)
        exec(f"import numpy as np\nstudent = {student!r}", scope)
        exec(compile(block.source, block.label, "exec"), scope)
        return scope
    book = with_answers(lesson, {block.key: block.source}, student)
    prepares, answers = parts_of(book)
    for source in (*prepares, *answers[block.key]):
        exec(compile(source, f"<{block.label}>", "exec"), scope)
    return scope
