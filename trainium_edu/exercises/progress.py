"""How far the learner is in all lessons, as a table, and in one of them, as a list."""

import html
from dataclasses import dataclass
from pathlib import Path

from trainium_edu import settings
from trainium_edu.exercises import catalogue, learner, lessons, predict
from trainium_edu.exercises.cells import key_of, text_of
from trainium_edu.exercises.lessons import COURSE, Lesson
from trainium_edu.widgets import journal

__all__ = ["Progress", "Row", "progress"]


@dataclass(frozen=True, slots=True)
class Item:
    """A question or an exercise of a lesson, and what the learner did with it."""

    text: str
    state: str  #: "right", "predicted" or "open"; of an exercise "passed", "wrong" or "open"
    solution_seen: str = ""  #: when

    def __str__(self):
        mark = {"passed": "[x]", "right": "[x]", "open": "[ ]"}.get(self.state, "[~]")
        return f"  {mark} {self.text}"


@dataclass(frozen=True, slots=True, repr=False)
class Row:
    """How far the learner is in one lesson: what it asks, and what of it is done."""

    lesson: Lesson
    questions: list[Item]
    exercises: list[Item]

    @property
    def cells(self) -> tuple[str, str, str]:
        """What was predicted, what of it was right, and the exercises done, as people read it."""
        states = [item.state for item in self.questions]
        done = [item.state for item in self.exercises].count("passed")
        seen = sum(item.solution_seen != "" for item in self.exercises)
        more = f", {seen} solution{'s' * (seen > 1)} seen" if seen else ""
        return (
            f"{len(states) - states.count('open')} of {len(states)}" if states else "",
            f"{states.count('right')}" if states else "",
            f"{done} of {len(self.exercises)}{more}" if self.exercises else "",
        )

    def __str__(self):
        head = f"{self.lesson.number} {self.lesson.title}"
        return "\n".join([head, *map(str, self.questions + self.exercises)])

    __repr__ = __str__


class Progress:
    """The table of lessons with what the learner did; the same for everyone until they begin."""

    def __init__(self, rows, left_off=""):
        self.rows = rows  #: of :class:`Row`
        self.left_off = left_off  #: the key of the question or exercise touched last, if any

    def __str__(self):
        lines = [f"{'lesson':34}  {'minutes':>7}  core  {'predicted':>9}  right  exercises"]
        for row in self.rows:
            x, (predicted, right, done) = row.lesson, row.cells
            lines.append(
                f"{f'{x.number} {x.title}':34.34}  {x.takes:>7}  {'●' if x.core else '':^4}  "
                f"{predicted:>9}  {right:>5}  {done:>9}".rstrip()
            )
        return "\n".join([*lines, "", self._where()[0]])

    __repr__ = __str__

    def _where(self):
        """Say where the learner left off: the sentence, and the page to go on with."""
        number = lessons.number_of(self.left_off)
        row = next((r for r in self.rows if r.lesson.number == number), None)
        if row is None:
            return f"You have not begun: open {COURSE[0].stem}.ipynb.", f"{COURSE[0].stem}.ipynb"
        x = row.lesson
        return (
            f"You left off at {self.left_off} in {x.title}.",
            f"{x.stem}.ipynb{_cell(self.left_off)}",
        )

    def _repr_html_(self):
        from jinja2 import Template

        said, page = self._where()
        table = Template(Path(__file__).with_suffix(".html").read_text(encoding="utf-8"))
        return table.render(rows=self.rows, said=said, page=page, escaped=html.escape)


def _cell(key) -> str:
    """Return the fragment that leads to the cell of a question or an exercise."""
    try:
        return next(
            f"#cell-id={cell['id']}"
            for cell in lessons.cells_of(lessons.number_of(key))
            if f'"{key}"' in text_of(cell) or key in (key_of(cell), key_of(cell, "check"))
        )
    except (OSError, ValueError, KeyError, AttributeError, StopIteration):  # some other version
        return ""


def progress(lesson: str = "") -> Progress | Row:
    """Show how far you are: predicted, right, exercises that pass their public checks.

    A prediction is right if it is the answer or, for a number, within a tenth of it.

    Parameters
    ----------
    lesson : str, optional
        A lesson's number, to see each of its questions and exercises.

    Returns
    -------
    Progress or Row
        Displays as text, all lessons also as a table; a damaged journal counts as an empty one.

    Raises
    ------
    ValueError
        If there is no such lesson.

    Examples
    --------
    >>> "03 The systolic array" in str(progress())
    True
    """
    quiet = settings.lesson().quiet
    checks = learner.events()
    guesses = [] if quiet else journal.read("predictions")
    mine = {x.number: x for x in COURSE}
    for number, stem in catalogue.LESSONS.items():  # lessons that an instructor registered
        name = stem.partition("_")[2]
        mine.setdefault(number, Lesson(number, name, name.replace("_", " "), ""))
    rows = [_row(mine[number], checks, guesses) for number in sorted(mine)]
    if lesson:
        found = next((row for row in rows if row.lesson.number == str(lesson)), None)
        if found is None:
            raise ValueError(f"no lesson {str(lesson)[:20]!r}; there are {', '.join(sorted(mine))}")
        return found
    event = {} if quiet else journal.last("predictions", "progress")
    key = event.get("key", event.get("exercise"))
    return Progress(rows, key if isinstance(key, str) else "")


def _row(lesson, checks, guesses):
    """Return one lesson's row, from the events of both journals."""
    row = Row(lesson, [], [])
    for question in predict.of_lesson(lesson.number):
        events = [event for event in guesses if event.get("key") == question.key]
        state = "right" if any(event.get("right") is True for event in events) else "predicted"
        is_open = not any("value" in event for event in events)
        row.questions.append(Item(f"predict {question.key}", "open" if is_open else state))
    for exercise in catalogue.of_lesson(lesson.number):
        events = [event for event in checks if event.get("exercise") == exercise.key]
        states = [event.get("status") for event in events]
        state = next((state for state in ("passed", "wrong") if state in states), "open")
        seen = str(events[states.index("solution")].get("answer")) if "solution" in states else ""
        points = f"{exercise.points} point{'s' * (exercise.points > 1)}"
        text = f"{exercise.title} ({points}{seen and f'; solution seen {seen}'})"
        row.exercises.append(Item(text, state, seen))
    return row
