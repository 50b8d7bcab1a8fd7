"""The card that answers a prediction, as HTML: the answer, and the guess drawn where it is."""

import html
import math
import re

from trainium_edu.specs.signatures import checked

__all__ = ["Prose", "card", "error_factor", "marked_list", "number_strip", "without_links"]

_LINK_LOOK = (
    r'href="\2" target="_blank" rel="noopener" '
    'style="color:var(--jp-content-link-color,#0060a0);text-decoration:underline"'
)
_LINK = re.compile(r"\[([^]]+)\]\((https://[^)\s]+)\)")


def _linked(page):
    return _LINK.sub(rf"<a {_LINK_LOOK}>\1</a>", page)


def without_links(text: str) -> str:
    """Return a text in which ``[words](https://...)`` are the words alone."""
    return _LINK.sub(r"\1", text)


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
        return without_links("\n".join(self.paragraphs))

    def _repr_html_(self):
        rows = []
        for text in self.paragraphs:
            bullet = text.startswith("- ")
            said = html.escape(text.removeprefix("- "), quote=False).split("`")
            for i, part in enumerate(said):  # every second one stood between backticks
                bold = re.sub(r"\*\*(.+?)\*\*", r"<b>\1</b>", part)
                italic = re.sub(r"\*(.+?)\*", r"<i>\1</i>", bold)
                said[i] = f"<code>{part}</code>" if i % 2 else _linked(italic)
            lead = "display:list-item;margin:4px 0 0 22px" if bullet else "margin:8px 0 0"
            rows.append(f'<p style="{lead}">{"".join(said)}</p>')
        return (
            '<div style="max-width:56em;line-height:1.5;white-space:normal;font-size:14px;'
            f'color:var(--jp-content-font-color1,#222)">{"".join(rows)}</div>'
        )


def card(head, explain="", mine="", said="", drawn="", right=False) -> str:
    """Return a reveal as HTML: the answer large, the guess drawn beside it, then the reasons."""
    colour = "var(--jp-success-color1,#2e7d32)" if right else "var(--jp-brand-color1,#0072b2)"
    parts = [f'<div style="font-size:1.25em;font-weight:600">{html.escape(head)}</div>']
    if mine:
        mark = "✓ " if right else ""
        parts.append(f"<div>{mark}{html.escape(mine)}</div>")
    parts.append(drawn)
    for text, weight in ((said, 600), (explain, 400)):
        if text:
            parts.append(
                f'<div style="margin-top:6px;font-weight:{weight};max-width:46em;'
                f'white-space:pre-wrap">{_linked(html.escape(text))}</div>'
            )
    return (
        f'<div role="status" style="border:1px solid var(--jp-border-color2,#ccc);border-left:'
        f"6px solid {colour};border-radius:4px;padding:10px 16px;margin:4px 2px;max-width:760px;"
        "background:var(--jp-layout-color1,#fff);color:var(--jp-content-font-color1,#222);"
        f'line-height:1.5">{"".join(parts)}</div>'
    )


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
    label = html.escape(f"the answer {spell(answer)}, your guess {spell(guess)}", quote=True)
    ink = "var(--jp-content-font-color1,#222)"

    def text(x, y, words, letters=1):
        x = min(max(x, 4 * letters), 480 - 4 * letters)  # all of it inside the picture
        return f'<text x="{x:.1f}" y="{y}" text-anchor="middle" fill="{ink}">{words}</text>'

    ticks = "".join(
        f'<path d="M{x:.1f} 26 v10" stroke="{ink}"/>'
        + text(x, 48, f'10<tspan dy="-4" font-size="9">{n}</tspan>' if by_ratio else 0)
        for x, n in zip(xs, marks, strict=True)
        if abs(x - g) > 25 and abs(x - a) > 12  # there the guess or the answer itself is written
    )
    mine = f"you: {spell(guess)}"
    return (
        f'<svg role="img" aria-label="{label}" viewBox="0 0 480 66" width="100%" '
        f'font-size="13" style="max-width:480px;display:block;margin-top:6px">'
        f'<line x1="40" y1="31" x2="440" y2="31" stroke="{ink}" stroke-width="1.5"/>{ticks}'
        f'<circle cx="{a:.1f}" cy="31" r="8" fill="var(--jp-success-color1,#2e7d32)"/>'
        f'<path d="M{g - 8:.1f} 39 L{g:.1f} 25 L{g + 8:.1f} 39 Z" '
        'fill="var(--jp-warn-color1,#e08700)" stroke="none"/>'
        + text(a, 16, html.escape(spell(answer)), len(spell(answer)))
        + text(g, 62, html.escape(mine), len(mine))
        + "</svg>"
    )


def marked_list(rows) -> str:
    """Return options as a list.

    Parameters
    ----------
    rows : iterable of (str, bool, bool)
        Text, whether it is right, whether it is the learner's.
    """
    lines = []
    for text, right, mine in rows:
        mark = "✓" if right else "✗" if mine else "·"
        note = " <i>(your choice)</i>" if mine and not right else ""
        weight = 600 if right else 400
        lines.append(
            f'<li style="list-style:none;font-weight:{weight}">{mark} {html.escape(text)}{note}'
            "</li>"
        )
    return f'<ul style="margin:6px 0 0;padding:0">{"".join(lines)}</ul>'


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
