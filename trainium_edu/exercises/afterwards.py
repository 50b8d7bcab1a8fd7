"""What stands behind a pass: why it is so, one solution, and a next challenge.

They are prose and code in ``solutions/NAME.md`` beside a lesson's ``NAME.py``, an exercise's part
under its key::

    ## 02/spacing

    Two lines of why.

    ~~~python
    def spacing(...):
    ~~~

    One line on what to try next.

(with backticks for the tildes).  Nothing else of an exercise knows a solution, and the walls of
the grader leave that folder out.
"""

import re
from dataclasses import dataclass
from pathlib import Path

__all__ = ["FOLDER", "Afterwards", "of", "read"]

#: Where those of our own lessons are; a grader's walls and archives leave it out.
FOLDER = Path(__file__).resolve().parent / "solutions"


@dataclass(frozen=True, slots=True)
class Afterwards:
    """What is told after a pass; empty where it is not installed."""

    why: str = ""
    solution: str = ""
    challenge: str = ""


_PART = re.compile(r"(?ms)^## (\S+)\n+(.*?)\n+```python\n(.*?)\n```\n+(.*?)\s*(?=^## |\Z)")


def read(path) -> dict[str, Afterwards]:
    """Read a lesson's file.

    Parameters
    ----------
    path : Path

    Returns
    -------
    parts : dict
        By exercise key.
    """
    text = Path(path).read_text(encoding="utf-8")
    return {
        key: Afterwards(" ".join(why.split()), solution, " ".join(challenge.split()))
        for key, why, solution, challenge in _PART.findall(text)
    }


def of(exercise) -> Afterwards:
    """Return what stands behind a pass of one exercise."""
    lesson = Path(exercise.function.__code__.co_filename)
    try:
        found = read(lesson.parent / FOLDER.name / f"{lesson.stem}.md")
    except OSError:
        return Afterwards()
    name = exercise.key.partition("/")[2]  # a course's lesson may take it under its own number
    named = (part for key, part in found.items() if key.partition("/")[2] == name)
    return found.get(exercise.key) or next(named, Afterwards())
