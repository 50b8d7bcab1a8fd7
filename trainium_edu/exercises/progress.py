"""How far the learner is in all lessons, as a table, and in one of them, as a list."""

import html
from dataclasses import dataclass
from pathlib import Path

from trainium_edu import settings
from trainium_edu.exercises import catalogue, learner, lessons, predict
from trainium_edu.exercises.lessons import COURSE, Lesson
from trainium_edu.widgets import journal

__all__ = ["Open", "Progress", "Row", "progress"]


@dataclass(frozen=True, slots=True)
class Row:
    """How far the learner is in one lesson."""

    lesson: Lesson
    questions: tuple[tuple[str, str], ...]  #: (key, "right", "predicted" or "open")
    exercises: tuple[tuple[str, int, str, str], ...]
    """(title, points, "passed", "wrong" or "open", when its solution was seen or "")"""

    @property
    def cells(self) -> tuple[str, str, str]:
        """What was predicted, what of it was right, and the exercises done, as people read it."""
        states = [state for _, state in self.questions]
        done = [state for _, _, state, _ in self.exercises].count("passed")
        seen = sum(seen != "" for *_, seen in self.exercises)
        more = f", {seen} solution{'s' * (seen > 1)} seen" if seen else ""
        return (
            f"{len(states) - states.count('open')} of {len(states)}" if states else "",
            f"{states.count('right')}" if states else "",
            f"{done} of {len(self.exercises)}{more}" if self.exercises else "",
        )


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
        return f"You left off at {self.left_off} in {x.title}.", f"{x.stem}.ipynb{_cell(self)}"

    def _repr_html_(self):
        from jinja2 import Template

        said, page = self._where()
        table = Template(Path(__file__).with_suffix(".html").read_text(encoding="utf-8"))
        return table.render(rows=self.rows, said=said, page=page, escaped=html.escape)


def _cell(progress) -> str:
    """Return the fragment that leads to the cell where the learner left off."""
    key = progress.left_off
    try:
        found = next(
            c["id"]
            for c in lessons.cells_of(lessons.number_of(key))
            if f'"{key}"' in "".join(c["source"])
            or key in c["metadata"].get("trainium_edu", {}).values()
        )
    except (OSError, ValueError, KeyError, AttributeError, StopIteration):  # some other version
        return ""
    return f"#cell-id={found}"


class Open:
    """What one lesson asks, and what of it is done."""

    def __init__(self, row):
        self.row = row

    def __str__(self):
        x, marks = self.row.lesson, {"passed": "[x]", "right": "[x]", "open": "[ ]"}
        lines = [f"{x.number} {x.title}"]
        lines += [f"  {marks.get(s, '[~]')} predict {key}" for key, s in self.row.questions]
        lines += [
            f"  {marks.get(s, '[~]')} {title} ({points} point{'s' if points != 1 else ''}"
            f"{seen and f'; solution seen {seen}'})"
            for title, points, s, seen in self.row.exercises
        ]
        return "\n".join(lines)

    __repr__ = __str__


def progress(lesson: str = "") -> Progress | Open:
    """Show how far you are: predicted, right, exercises that pass their public checks.

    A prediction is right if it is the answer or, for a number, within a tenth of it.

    Parameters
    ----------
    lesson : str, optional
        A lesson's number, to see each of its questions and exercises.

    Returns
    -------
    Progress or Open
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
        return Open(found)
    event = {} if quiet else journal.last("predictions", "progress")
    key = event.get("key", event.get("exercise"))
    return Progress(rows, key if isinstance(key, str) else "")


def _row(lesson, checks, guesses):
    """Return one lesson's row, from the events of both journals."""

    def question_state(key):
        events = [e for e in guesses if e.get("key") == key]
        if not any("value" in e for e in events):
            return "open"
        return "right" if any(e.get("right") is True for e in events) else "predicted"

    def exercise_state(key):
        events = [e for e in checks if e.get("exercise") == key]
        states = [e.get("status") for e in events]
        seen = [str(e.get("answer")) for e in events if e.get("status") == "solution"]
        return next((s for s in ("passed", "wrong") if s in states), "open"), *(seen[:1] or [""])

    return Row(
        lesson,
        tuple((q.key, question_state(q.key)) for q in predict.of_lesson(lesson.number)),
        tuple(
            (e.title, e.points, *exercise_state(e.key)) for e in catalogue.of_lesson(lesson.number)
        ),
    )
