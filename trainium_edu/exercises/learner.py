"""How far the learner is, kept in their own journal on this machine."""

from trainium_edu import exercises, settings
from trainium_edu.widgets import journal

__all__ = ["Progress", "progress"]

_this_session: dict[str, list] = {}  # when nbval reads along, or the journal cannot be written


def record(exercise, status, fingerprint: str = "") -> str:
    """Note one check; return a complaint, empty if it was kept.

    Parameters
    ----------
    exercise : Exercise
    status : Status
    fingerprint : str
        Tells one wrong answer from the next.
    """
    event = {"exercise": exercise.key, "status": str(status), "answer": fingerprint}
    here = _this_session.setdefault(exercise.key, [])
    known = here if settings.lesson().quiet else _events(exercise.key) + here
    if (known and known[-1] == event) or status == "not attempted":
        return ""
    if settings.lesson().quiet:
        here.append(event)
        return ""
    complaint = journal.append("progress", event)
    if complaint:
        here.append(event)
    return complaint


def wrong_answers(exercise) -> int:
    """Count the different wrong answers since the last right one: the place on the hint ladder."""
    here = _this_session.get(exercise.key, [])
    seen: list[str] = []
    for event in here if settings.lesson().quiet else _events(exercise.key) + here:
        if event.get("status") == "passed":
            seen = []
        elif event.get("status") == "wrong" and event.get("answer") not in seen:
            seen.append(event.get("answer"))
    return len(seen)


class Progress:
    """A table of lessons and exercises; its text is the same for everyone until they begin."""

    def __init__(self, rows):
        self.rows = rows  #: (lesson, exercise title, points, status)

    def __str__(self):
        if not self.rows:
            return "No lesson with exercises is installed."
        lines, lesson = [], None
        for name, title, points, status in self.rows:
            if name != lesson:
                mine = [row for row in self.rows if row[0] == name]
                passed = sum(row[3] == "passed" for row in mine)
                lines.append(f"{name}: {passed} of {len(mine)} exercises pass their public checks")
                lesson = name
            mark = {"passed": "[x]", "wrong": "[~]"}.get(status, "[ ]")
            lines.append(f"  {mark} {title} ({points} point{'s' if points != 1 else ''})")
        return "\n".join(lines)

    __repr__ = __str__


def progress() -> Progress:
    """Show, for each lesson, which exercises pass their public checks so far.

    Returns
    -------
    Progress
        Displays as text; a damaged journal counts as an empty one.

    Examples
    --------
    >>> "of" in str(progress())
    True
    """
    rows = []
    events = [] if settings.lesson().quiet else journal.read("progress")
    for lesson in exercises.LESSONS:
        for item in exercises.of_lesson(lesson):
            mine = [e.get("status") for e in events if e.get("exercise") == item.key]
            mine += [e["status"] for e in _this_session.get(item.key, [])]
            status = "passed" if "passed" in mine else "wrong" if "wrong" in mine else "open"
            rows.append((exercises.LESSONS[lesson], item.title, item.points, status))
    return Progress(rows)


def _events(key):
    return [event for event in journal.read("progress") if event.get("exercise") == key]
