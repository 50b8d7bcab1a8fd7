"""Collect a class's leaderboard rows from graded kernels, and show them as a page."""

import sys
from collections.abc import Iterable
from pathlib import Path

from trainium_edu.cli.limits import Unreadable
from trainium_edu.cli.page import rendered
from trainium_edu.cli.refusals import sentence
from trainium_edu.cli.row import read_rows
from trainium_edu.exercises.leaderboard import HEAD, Entry, boards, cells

__all__ = ["RULE", "as_page", "collect"]

RULE = sentence("class_leaderboard.rule")


def collect(paths: Iterable[Path]) -> list[Entry]:
    """Read the rows of right kernels; say on stderr which files, or rows, cannot be used.

    Parameters
    ----------
    paths : iterable of Path
        What ``grade --json`` printed (``.json``), what ``grade --csv`` keeps (``.jsonl``; a line
        that is no row is left out), or folders with such files.

    Returns
    -------
    entries : list of Entry
    """
    entries: dict[Entry, None] = {}
    for path in paths:
        for file in sorted(path.glob("**/*.json*")) if path.is_dir() else [path]:
            try:
                for row in read_rows(file):
                    if row.leaderboard:
                        entries[Entry.of(row.leaderboard)] = None
            except (Unreadable, ValueError) as error:
                print(f"{file}: {str(error)[:200]}", file=sys.stderr)
    return list(entries)


def as_page(entries: Iterable[Entry]) -> str:
    """Return all boards as a page that needs nothing but itself."""
    found = boards(entries)
    titles = {assignment for assignment, _ in found}
    title = f"Leaderboard of {titles.pop()}" if len(titles) == 1 else "Leaderboards"
    shown = {
        f"{assignment}, case {case}": [cells(*row) for row in placed]
        for (assignment, case), placed in found.items()
    }
    return rendered("leaderboard.html", title=title, rule=RULE, head=HEAD, boards=shown.items())
