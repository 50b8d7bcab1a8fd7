"""The command ``leaderboard``: a class's rows of graded kernels, ranked."""

import sys
from collections.abc import Iterable
from pathlib import Path

from trainium_edu import files
from trainium_edu.cli.limits import Unreadable
from trainium_edu.cli.page import rendered
from trainium_edu.cli.refusals import sentence
from trainium_edu.cli.row import read_rows
from trainium_edu.exercises.leaderboard import HEAD, Entry, as_csv, as_text, boards, cells

__all__ = ["as_page", "command"]

_RULE = sentence("class_leaderboard.rule")


def command(options) -> None:
    """Rank kernels that were graded."""
    entries = _collect(options.paths)
    if not entries:
        raise ValueError(sentence("class_leaderboard.no_row", path=options.paths[0]))
    if options.pseudonyms:
        entries = [entry.under(options.pseudonyms) for entry in entries]
    if options.csv:
        files.write(options.csv, as_csv(entries))
    if options.html:
        files.write(options.html, as_page(entries))
    if not (options.csv or options.html):
        for (assignment, case), placed in boards(entries).items():
            print(f"{assignment}, case {case}\n{as_text(placed)}\n")
        print(_RULE)


def _collect(paths: Iterable[Path]) -> list[Entry]:
    """Read the rows of right kernels; say on stderr which files, or rows, cannot be used.

    Files are what ``grade --json`` printed (``.json``), or what ``grade --csv`` keeps (``.jsonl``;
    a line that is no row is left out).
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
    return rendered("leaderboard.html", rule=_RULE, head=HEAD, boards=found, cells=cells)
