"""Tables below answers: a lesson's words have their titles, heads and rows, under ``shown``."""

from collections.abc import Iterable, Mapping

from trainium_edu.viz.numbers import Numbers
from trainium_edu.widgets.picture import Picture


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


def spoken(text: str, first: int = 0) -> str:
    """Return a table's lines from the `first` on in one, for screen readers."""
    return "; ".join(" ".join(line.split()) for line in text.splitlines()[first:])


def pictured(draw, text: str) -> list:
    """Return a picture, read out as its table, and that table folded below it."""
    return [Picture(draw, spoken(text)), Numbers(text)]
