"""Tables of text in Markdown, here or at a path: a page for readers, rows for the package."""

from functools import cache
from pathlib import Path

__all__ = ["rows"]


@cache
def _sections(file):
    """Return a file's sections by their headings; the whole file has the heading ""."""
    text = (Path(__file__).parent / file).read_text(encoding="utf-8")
    return {"": text} | {
        heading: section
        for heading, _, section in (part.partition("\n") for part in text.split("\n## ")[1:])
    }


def rows(file: str | Path, heading: str = "") -> list[list[str]]:
    """Return the cells of every row of a file's tables (or of those below one heading).

    Examples
    --------
    >>> rows("sources.md")[0][:2]
    ['nki-trn1-arch', 'Trainium/Inferentia2 Architecture Guide for NKI']
    """
    table: list[list[str]] = []
    for line in _sections(file)[heading].splitlines():
        if line.startswith("|--"):  # the row before this line is a header
            table.pop()
        elif line.startswith("|"):
            table.append([cell.strip() for cell in line[1:-1].split("|")])
    return table
