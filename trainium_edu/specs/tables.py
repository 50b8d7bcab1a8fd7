"""Tables of text beside this module, in Markdown: a page for readers, rows for the package."""

from pathlib import Path

__all__ = ["rows"]


def rows(file: str) -> list[list[str]]:
    """Return the cells of every row of a file's tables, without the header rows.

    Examples
    --------
    >>> rows("sources.md")[0][:2]
    ['nki-trn1-arch', 'Trainium/Inferentia2 Architecture Guide for NKI']
    """
    found: list[list[str]] = []
    for line in Path(__file__).with_name(file).read_text(encoding="utf-8").splitlines():
        if line.startswith("|--"):  # the row before this line is a header
            found.pop()
        elif line.startswith("|"):
            found.append([cell.strip() for cell in line[1:-1].split("|")])
    return found
