"""A scene as SVG that stands in a page by itself; words for colours follow the page's theme.

The page defines ``--ink``, ``--muted``, ``--grid`` and ``--paper``.
"""

from collections.abc import Callable
from html import escape

from trainium_edu.specs.signatures import checked
from trainium_edu.viz.scene import Scene

__all__ = ["to_svg"]

_WORDS = {"ink", "muted", "grid", "paper"}
_DASH = {"dashed": "5 4", "dotted": "1.5 3"}


@checked
def to_svg(scene: Scene, *, over_images: bool = False) -> str:
    """Return a scene as an SVG element with its text for screen readers.

    Parameters
    ----------
    scene : Scene
    over_images : bool
        Whether the page draws the scene's images, as that of a widget does.

    Raises
    ------
    ValueError
        If it has images that nobody draws.

    Examples
    --------
    >>> scene = Scene(20, 10, "one bar")
    >>> scene.rect(1, 2, 3, 4, "ink")
    >>> print(to_svg(scene))
    <svg role="img" aria-label="one bar" viewBox="0 0 20 10">
    <rect x="1.0" y="2.0" width="3.0" height="4.0" style="fill:var(--ink);fill-opacity:1.0"/>
    </svg>
    """
    if scene.data()["images"] and not over_images:
        raise ValueError("the scene has images, and SVG is written of shapes and text alone; draw "
                         "the values as areas or bars")  # fmt: skip
    drawn = [_DRAWN[kind](*shape) for kind, *shape in scene.shapes]
    head = (f'<svg role="img" aria-label="{escape(scene.alt)}" '
            f'viewBox="0 0 {scene.width:g} {scene.height:g}">')  # fmt: skip
    return "\n".join([head, *drawn, "</svg>"])


def _colour(colour) -> str:
    return f"var(--{colour})" if colour in _WORDS else escape(colour)


def _rect(x, y, width, height, colour, opacity, outline):
    fill = "none" if outline else _colour(colour)
    edge = f";stroke:{_colour(colour)}" if outline else ""
    return (f'<rect x="{x}" y="{y}" width="{width}" height="{height}" '
            f'style="fill:{fill};fill-opacity:{opacity}{edge}"/>')  # fmt: skip


def _stroked(d, colour, width, dash="", opacity=1.0, words=""):
    dashes = f";stroke-dasharray:{_DASH.get(dash, dash)}" if dash else ""
    style = f"fill:none;stroke:{_colour(colour)};stroke-width:{width}{dashes}"
    faint = f";stroke-opacity:{opacity}" if opacity != 1 else ""
    return f'<path d="{d}" style="{style}{faint}">{_title(words)}</path>'


def _title(words):
    return f"<title>{escape(words)}</title>" if words else ""


def _line(x1, y1, x2, y2, colour, width, dashed):
    return _stroked(f"M{x1} {y1}L{x2} {y2}", colour, width, "dashed" if dashed else "")


def _ticks(xs, top, bottom, colour, width, opacity):
    d = "".join(f"M{x} {top}V{bottom}" for x in xs)
    return _stroked(d, colour, width, opacity=opacity)


def _points(xs, ys):
    return "M" + "L".join(f"{x:g} {y:g}" for x, y in zip(xs, ys, strict=True))


def _path(xs, ys, colour, width, dash, opacity, words):
    return _stroked(_points(xs, ys), colour, width, dash, opacity, words)


def _area(xs, ys, colour, opacity, words):
    style = f"fill:{_colour(colour)};fill-opacity:{opacity}"
    return f'<path d="{_points(xs, ys)}Z" style="{style}">{_title(words)}</path>'


def _text(x, y, words, anchor, colour, size, bold):
    style = f"fill:{_colour(colour)};font-size:{size}px" + ";font-weight:600" * bold
    return f'<text x="{x}" y="{y}" text-anchor="{anchor}" style="{style}">{escape(words)}</text>'


_DRAWN: dict[str, Callable[..., str]] = {"rect": _rect, "line": _line, "ticks": _ticks,
                                         "path": _path, "area": _area, "text": _text}  # fmt: skip
