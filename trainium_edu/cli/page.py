"""Pieces of a page of ours: it needs nothing but itself, and follows the reader's colours."""

from collections.abc import Iterable, Sequence
from html import escape
from pathlib import Path

__all__ = ["code", "paragraph", "section", "strong", "table", "whole", "words"]

_STYLE = Path(__file__).with_name("report.css")
#: Characters that no number or name has (``run_numbers`` takes them out) → tags.
_TAGS = {2: "<strong>", 3: "</strong>", 4: "<code>", 5: "</code>"}


def strong(text: str) -> str:
    """Mark text, which later becomes HTML, as important."""
    return f"\2{text}\3"


def code(text: str) -> str:
    """Mark text, which later becomes HTML, as code."""
    return f"\4{text}\5"


def words(text: str) -> str:
    """Return text as HTML, with the tags of the two above."""
    return escape(text).translate(_TAGS)


def paragraph(text: str, kind: str = "") -> str:
    """Return a paragraph, of a class of the style sheet if one is named."""
    return f'<p class="{kind}">{words(text)}</p>' if kind else f"<p>{words(text)}</p>"


def section(name: str, title: str, *parts: str) -> str:
    """Return a section with its title; `parts` are HTML."""
    return "\n".join([f'<section id="{name}">', f"<h2>{escape(title)}</h2>", *parts, "</section>"])


def table(caption: str, head: Sequence[str], rows: Iterable[Sequence[str]],
          numeric: Iterable[int] = ()) -> str:  # fmt: skip
    """Return a table; the first cell of a row is its head, columns of `numeric` are figures."""
    right = set(numeric)

    def cell(tag, place, text, more=""):
        kind = ' class="n"' if place in right else ""
        return f"<{tag}{more}{kind}>{words(text)}</{tag}>"

    top = "".join(cell("th", i, text, ' scope="col"') for i, text in enumerate(head))
    body = "".join(
        f"<tr>{cell('th', 0, row[0], ' scope=row')}"
        + "".join(cell("td", i, text) for i, text in enumerate(row[1:], 1)) + "</tr>\n"
        for row in rows
    )  # fmt: skip
    return (f'<div class="scroll"><table><caption>{escape(caption)}</caption>'
            f"<thead><tr>{top}</tr></thead>\n<tbody>{body}</tbody></table></div>")  # fmt: skip


def whole(title: str, head: str, body: str) -> str:
    """Return a page: its title as plain text, what stands below it and the rest as HTML."""
    return f"""<!doctype html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<title>{escape(title)}</title>
<style>
{_STYLE.read_text(encoding="utf-8")}</style>
</head>
<body>
<header>
<h1>{escape(title)}</h1>
{head}
</header>
<main>
{body}
</main>
</body>
</html>
"""
