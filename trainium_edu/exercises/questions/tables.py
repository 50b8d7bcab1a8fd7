"""Tables below answers: a lesson's words have their titles, heads and rows, under ``shown``."""

from collections.abc import Iterable, Mapping

from trainium_edu.viz.numbers import Numbers


def table(words: Mapping[str, str], rows: Iterable) -> str:
    """Return a table's head, if it has one, and its form of a row filled with each row's values."""
    lines = [words["row"].format(*row) for row in rows]
    return "\n".join([words["head"], *lines] if "head" in words else lines)


def numbers(words: Mapping[str, str], rows: Iterable, bars: Mapping | None = None, **look):
    """Return a table, folded below its bars: those of its first two columns unless given.

    The title may name values of the first row.
    """
    rows = list(rows)
    bars = bars or {str(name): number for name, number, *_ in rows}
    return Numbers(table(words, rows), words["title"].format(*rows[0]), bars, **look)
