"""Collect a class's leaderboard rows from graded kernels, and show them as text or a page."""

import contextlib
import json
from collections.abc import Iterable, Iterator
from pathlib import Path

from trainium_edu.cli.page import rendered
from trainium_edu.cli.refusals import sentence
from trainium_edu.cli.row import read_kept
from trainium_edu.exercises.leaderboard import HEAD, Entry, boards, cells
from trainium_edu.exercises.leaderboard import as_text as board_as_text

__all__ = ["as_page", "as_text", "collect"]

_RULE = sentence("class_leaderboard.rule")


def collect(paths: Iterable[Path]) -> tuple[list[Entry], list[str]]:
    """Read the rows of right kernels.

    Parameters
    ----------
    paths : iterable of Path
        What ``grade --json`` printed (``.json``), what ``grade --csv`` keeps (``.jsonl``; a line
        that is no row is left out), or folders with such files.

    Returns
    -------
    entries : list of Entry
    unreadable : list of str
        One sentence for each file, or row, that cannot be used.
    """
    entries: dict[Entry, None] = {}
    unreadable = []
    for path in paths:
        for file in sorted(path.glob("**/*.json*")) if path.is_dir() else [path]:
            try:
                for row in _rows(file):
                    if row.get("leaderboard"):
                        entries[Entry.of(row["leaderboard"])] = None
            except (OSError, ValueError, RecursionError) as error:
                why = error.strerror if isinstance(error, OSError) else error
                unreadable.append(f"{file}: {str(why)[:200]}")
    return list(entries), unreadable


def _rows(file: Path) -> Iterator[dict]:
    """Yield the rows of a file of JSON."""
    if file.suffix == ".jsonl":
        yield from ({"leaderboard": row.leaderboard} for row in read_kept(file).values())
        return
    with contextlib.suppress(UnicodeDecodeError):
        found = json.loads(file.read_text(encoding="utf-8"))
        for row in found if isinstance(found, list) else [found]:
            if not isinstance(row, dict):
                raise ValueError("not what grade --json prints")
            yield row
        return
    raise ValueError("not text")


def as_text(entries: Iterable[Entry]) -> str:
    """Return all boards as text."""
    parts = [
        f"{assignment}, case {case}\n{board_as_text(placed)}"
        for (assignment, case), placed in boards(entries).items()
    ]
    return "\n\n".join([*parts, _RULE])


def as_page(entries: Iterable[Entry]) -> str:
    """Return all boards as a page that needs nothing but itself."""
    found = boards(entries)
    titles = {assignment for assignment, _ in found}
    title = f"Leaderboard of {titles.pop()}" if len(titles) == 1 else "Leaderboards"
    shown = [(f"{assignment}, case {case}", [_name_first(*row) for row in placed])
             for (assignment, case), placed in found.items()]  # fmt: skip
    return rendered("leaderboard.html", title=title, rule=_RULE, boards=shown,
                    head=HEAD[1:2] + HEAD[:1] + HEAD[2:])  # fmt: skip


def _name_first(place: int, entry: Entry) -> tuple[str, ...]:
    """Return a row whose head is the name, as a table's row begins with what it is about."""
    first, name, *rest = cells(place, entry)
    return name, first, *rest
