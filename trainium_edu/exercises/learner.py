"""What is remembered of the learner's exercises, in their own journal on this machine."""

from trainium_edu import settings
from trainium_edu.widgets import journal

__all__ = ["events", "has_passed", "record", "since_pass", "solution_seen"]

#: Events of this session only: nbval reads along, or the journal cannot be written.
THIS_SESSION: list[dict] = []


def record(key: str, status: str, what: str = "") -> str:
    """Note one event; return a complaint, empty if it was kept.

    Parameters
    ----------
    key : str
        Of an exercise.
    status : str
        "passed", "wrong", "hint" or "solution".
    what : str
        Tells one wrong answer, or one hint, from the next.
    """
    event = {"exercise": key, "status": status, "answer": what}
    if events(key)[-1:] == [event]:
        return ""
    complaint = "" if settings.lesson().quiet else journal.append("progress", event)
    if complaint or settings.lesson().quiet:
        THIS_SESSION.append(event)
    return complaint


def events(key: str = "") -> list[dict]:
    """Return what happened to one exercise, or to all, in order."""
    kept = [] if settings.lesson().quiet else journal.read("progress")
    return [e for e in kept + THIS_SESSION if not key or e.get("exercise") == key]


def since_pass(key: str, status: str) -> list[str]:
    """Return what came with each different event of a status since the last pass, in order."""
    found: dict[str, None] = {}
    for event in events(key):
        if event.get("status") == "passed":
            found = {}
        elif event.get("status") == status:
            found[str(event.get("answer"))] = None
    return list(found)


def has_passed(key: str) -> bool:
    """Return whether an exercise was ever passed."""
    return any(event.get("status") == "passed" for event in events(key))


def solution_seen(key: str) -> str:
    """Return when a solution was first seen: "before the pass", "after the pass", or ""."""
    return next((str(e.get("answer")) for e in events(key) if e.get("status") == "solution"), "")
