"""The lessons: which there are, how long they take, and where their notebooks lie.

``COURSE`` is the one table of lessons, read from ``lessons.toml``; the README, the instructors'
page and ``progress`` show it, and each notebook's opening has to agree (``.ci/generate.py`` writes
the pages, tests hold them).  Notebooks are in ``notebooks/`` of a clone, or copies inside an
installed package.
"""

import json
import re
from dataclasses import dataclass
from pathlib import Path

import trainium_edu
from trainium_edu.exercises.refusals import sentence
from trainium_edu.files import tables

__all__ = ["COURSE", "Lesson", "cells_of", "folder", "lesson_notebook", "notebooks", "number_of"]


#: A lesson's number: two digits, and a letter if a lesson has a second part.
NUMBER = re.compile(r"\d\d(?:[a-z](?![a-z]))?")


@dataclass(frozen=True, slots=True)
class Lesson:
    """One lesson of the course."""

    number: str
    name: str  #: its notebook is ``NUMBER_NAME.ipynb``; its exercises are in a module of this name
    title: str
    about: str
    minutes: int = 0  #: to read and play; 0 where nobody says
    exercise_minutes: int = 0  #: for the exercises; 0: there are none, or `minutes` holds them
    core: bool = False  #: part of a first course in computer architecture

    @property
    def stem(self) -> str:
        """Its notebook's name without the ending."""
        return f"{self.number}_{self.name}"

    @property
    def takes(self) -> str:
        """Minutes as people read them: ``15``, ``30 + 40`` with exercises."""
        more = f" + {self.exercise_minutes}" if self.exercise_minutes else ""
        return f"{self.minutes}{more}" if self.minutes else ""


COURSE = tuple(Lesson(**row) for row in tables(__file__)["lesson"])

#: Lessons that an instructor added for this process: number to Python file.
OWN: dict[str, Path] = {}


def number_of(text: str) -> str:
    """Return the lesson's number with which a key, a notebook's name or an exercise's begins.

    Parameters
    ----------
    text : str

    Returns
    -------
    str
        Two digits, and a letter in a lesson of two parts; "" if there is none.

    Examples
    --------
    >>> [number_of(text) for text in ("02", "02/spacing", "09b_when_training_breaks", "mine")]
    ['02', '02', '09b', '']
    """
    found = NUMBER.match(text)
    return found[0] if found else ""


def folder() -> Path:
    """Return the folder of the lessons.

    Returns
    -------
    path : Path

    Raises
    ------
    FileNotFoundError
        If this installation has none.
    """
    package = Path(trainium_edu.__file__).parent
    for candidate in (package / "notebooks", package.parent / "notebooks"):
        if any(candidate.glob("[0-9][0-9]*_*.ipynb")):
            return candidate
    raise FileNotFoundError(sentence("lessons.none"))


def notebooks() -> list[Path]:
    """Return the lessons' notebooks in order, and the glossary that they link to."""
    return sorted([*folder().glob("[0-9][0-9]*_*.ipynb"), *folder().glob("glossary.ipynb")])


def lesson_notebook(lesson: str) -> Path:
    """Return the notebook of a lesson.

    Parameters
    ----------
    lesson : str
        Its number, such as ``"02"``.

    Raises
    ------
    FileNotFoundError
        If it is not installed.
    """
    own = OWN.get(lesson)
    for path in [own.with_suffix(".ipynb")] if own else notebooks():
        if path.name.startswith(f"{lesson}_") and path.is_file():
            return path
    beside = f" beside {own.name}" if own else ""
    raise FileNotFoundError(f"the notebook of lesson {lesson} is not there{beside}")


def cells_of(lesson: str) -> list[dict]:
    """Return the cells of a lesson's notebook, as :func:`lesson_notebook` finds it."""
    return json.loads(lesson_notebook(lesson).read_text(encoding="utf-8"))["cells"]
