"""Cards as HTML: what a check says, and what answers a prediction, with the guess where it is.

How they look is in ``card.html``.
"""

import html
import math
import re
from pathlib import Path
from typing import Any

from jinja2 import Template

from trainium_edu.specs.signatures import checked
from trainium_edu.viz.units import letters

__all__ = ["Prose", "answer", "error_factor", "number_strip", "options", "paragraph", "part"]

_TEXT = Path(__file__).with_suffix(".html").read_text(encoding="utf-8")
_HTML: Any = Template(_TEXT, autoescape=True).module  #: its macros
_LINK = re.compile(r"\[([^]]+)\]\((https://[^)\s]+)\)")


def part(head, lines=(), code="", colour="info") -> str:
    """Return a part of a check's card.

    Parameters
    ----------
    head : str
        Its first words, in bold.
    lines : iterable of str
        One paragraph each; code stands in backticks.
    code : str
    colour : str
        JupyterLab's name for the mark at its left: success, warn or info.
    """
    lines = [re.sub("`([^`]+)`", r"<code>\1</code>", html.escape(line)) for line in lines]
    return str(_HTML.part(html.escape(head), lines, html.escape(code), letters(code), colour))


def paragraph(text: str) -> str:
    """Return a text; several lines keep their columns, in letters that fit the page."""
    return str(_HTML.paragraph(text, letters(text) if "\n" in text else ""))


class Prose:
    """Paragraphs below an answer: ``**bold**``, ``*italic*``, ``[link](https://...)``, code.

    Code stands in backticks.

    Parameters
    ----------
    *paragraphs : str
        One after the other; those that begin with a hyphen become a list.

    Examples
    --------
    >>> Prose("**Long rows** pay.", "- `dma` first")
    **Long rows** pay.
    - `dma` first
    """

    def __init__(self, *paragraphs: str):
        self.paragraphs = paragraphs

    def __repr__(self):
        return _LINK.sub(r"\1", "\n".join(self.paragraphs))

    def _repr_html_(self):
        return str(_HTML.prose([(p.startswith("- "), _marked(p)) for p in self.paragraphs]))


def _marked(paragraph):
    said = html.escape(paragraph.removeprefix("- "), quote=False).split("`")
    for i, words in enumerate(said):  # every second one stood between backticks
        bold = re.sub(r"\*\*(.+?)\*\*", r"<b>\1</b>", words)
        italic = re.sub(r"\*(.+?)\*", r"<i>\1</i>", bold)
        said[i] = f"<code>{words}</code>" if i % 2 else _LINK.sub(_HTML.link, italic)
    return "".join(said)


def answer(head, explain="", mine="", said="", drawn="", right=False) -> str:
    """Return a reveal: the answer large, the guess drawn beside it, then the reasons."""
    reasons = (_LINK.sub(_HTML.link, html.escape(text)) for text in (said, explain))
    return str(_HTML.answer(head, mine, drawn, *reasons, right))


def number_strip(guess, answer, spell) -> str:
    """Return an SVG line with the answer and the guess on it.

    Parameters
    ----------
    guess, answer : float
    spell : callable
        Number to text with its unit.

    Returns
    -------
    svg : str
        The line begins at zero; where both are positive and a factor of ten or more apart, it
        goes by ratio, with a mark at each power of ten.
    """
    by_ratio = (error_factor(guess, answer) or 1) >= 10
    at = [math.log10(abs(x)) if by_ratio else x for x in (guess, answer)]
    marks = range(math.floor(min(at)), math.ceil(max(at)) + 1) if by_ratio else [0]
    low, high = min(*at, *marks), max(*at, *marks)
    g, a, *xs = (80 + 320 * (x - low) / (high - low or 1.0) for x in (*at, *marks))
    placed = zip(xs, marks, strict=True)
    # Where the guess or the answer itself is written, there is none.
    ticks = [(x, mark) for x, mark in placed if abs(x - g) > 25 and abs(x - a) > 12]
    return str(_HTML.strip(spell(guess), spell(answer), g, a, ticks, by_ratio))


def options(rows) -> str:
    """Return options as a list.

    Parameters
    ----------
    rows : iterable of (str, bool, bool)
        Text, whether it is right, whether it is the learner's.
    """
    return str(_HTML.options(rows))


@checked
def error_factor(guess: float, answer: float) -> float | None:
    """Return how many times too large or too small a guess is, at least 1.

    Parameters
    ----------
    guess, answer : float

    Returns
    -------
    factor : float or None
        None where a ratio says nothing: a zero, or opposite signs.

    Examples
    --------
    >>> error_factor(256, 1024)
    4.0
    """
    if guess == 0 or answer == 0 or (guess < 0) != (answer < 0):
        return 1.0 if guess == answer else None
    small, large = sorted((abs(guess), abs(answer)))
    return large / small
