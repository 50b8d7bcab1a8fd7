"""Which exercises there are: those of our lessons, and of lessons that an instructor adds."""

import importlib
import importlib.util
import re
import sys
from pathlib import Path

from trainium_edu.exercises.answers import said_of
from trainium_edu.exercises.exercise import Exercise
from trainium_edu.exercises.lessons import COURSE, NUMBER, OWN, number_of
from trainium_edu.specs.signatures import checked

__all__ = ["LESSONS", "find", "listed", "of_lesson", "register"]

#: Lessons that have, or may have, exercises: number to notebook; :func:`register` adds more.
LESSONS = {lesson.number: lesson.stem for lesson in COURSE[1:]}


@checked
def of_lesson(lesson: str) -> tuple:
    """Return a lesson's exercises in the order of its module.

    Parameters
    ----------
    lesson : str
        Its number, ``"02"``, or its notebook, ``"02_stochastic_rounding"``.

    Returns
    -------
    exercises : tuple of Exercise
        Empty for an unknown lesson.
    """
    return listed(lesson, Exercise)


def listed(lesson: str, kind: type, package: str = __package__) -> tuple:
    """Return the objects of a kind with a key, in the order of a lesson's module of a package."""
    number = number_of(lesson)
    stem = {COURSE[0].number: COURSE[0].stem, **LESSONS}.get(number, "")
    name = f"{package}.{stem.partition('_')[2]}"
    if not stem or importlib.util.find_spec(name) is None:
        return ()
    values = vars(importlib.import_module(name)).values()
    rows = (value if isinstance(value, tuple) else (value,) for value in values)
    mine = (one for row in rows for one in row if isinstance(one, kind))
    return tuple(one for one in mine if number_of(getattr(one, "key", "")) == number)


@checked
def find(key: str):
    """Return the exercise with a key such as ``"02/spacing"``, or None."""
    return next((e for e in of_lesson(key) if e.key == key), None)


def register(path) -> str:
    """Add a lesson of your own, for this process.

    Parameters
    ----------
    path : Path
        A Python file named like the notebook beside it, ``20_my_lesson.py``, with exercises
        ``20/...``: of its own, or shipped ones with another key.

    Returns
    -------
    lesson : str
        Its number.

    Raises
    ------
    ValueError
        For a file of another name, or one that cannot be run.
    """
    path = Path(path)
    if not re.fullmatch(NUMBER.pattern + r"_\w+\.py", path.name) or not path.is_file():
        raise ValueError(f"{path} is not named like 20_my_lesson.py")
    name = f"{__package__}.{path.stem.partition('_')[2]}"
    spec = importlib.util.spec_from_file_location(name, path)
    assert spec is not None  # the name ends in .py
    assert spec.loader is not None
    sys.modules[name] = importlib.util.module_from_spec(spec)
    try:
        spec.loader.exec_module(sys.modules[name])
    except (Exception, SystemExit) as error:
        del sys.modules[name]
        raise ValueError(f"{path} cannot be used: {said_of(error, str(path), 200)}") from None
    number = number_of(path.name)
    LESSONS[number], OWN[number] = path.stem, path.absolute()
    return number
