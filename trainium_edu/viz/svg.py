"""A scene as SVG that stands in a page by itself; words for colours follow the page's theme.

The page defines ``--ink``, ``--muted``, ``--grid`` and ``--paper``.
"""

from html import escape

from trainium_edu.files import tables
from trainium_edu.specs.signatures import checked
from trainium_edu.viz.scene import Scene

__all__ = ["to_svg"]

_SVG = tables(__file__)
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
        raise ValueError(
            "the scene has images, and SVG is written of shapes and text alone; draw the values as"
            " areas or bars"
        )
    drawn = "\n".join(_DRAWN[kind](*shape) for kind, *shape in scene.shapes)
    return _SVG["picture"].format(escape(scene.alt), scene.width, scene.height, drawn)


def _colour(colour) -> str:
    return f"var(--{colour})" if colour in _WORDS else escape(colour)


def _rect(x, y, width, height, colour, opacity, outline):
    fill = "none" if outline else _colour(colour)
    edge = f";stroke:{_colour(colour)}" if outline else ""
    return _SVG["rect"].format(x, y, width, height, fill, opacity, edge)


def _stroked(d, colour, width, dash="", opacity=1.0, words=""):
    dashes = f";stroke-dasharray:{_DASH.get(dash, dash)}" if dash else ""
    faint = f";stroke-opacity:{opacity}" if opacity != 1 else ""
    return _SVG["stroked"].format(d, _colour(colour), width, dashes, faint, _title(words))


def _title(words):
    return f"<title>{escape(words)}</title>" if words else ""


def _line(x1, y1, x2, y2, colour, width, dashed):
    return _stroked(f"M{x1} {y1}L{x2} {y2}", colour, width, "dashed" if dashed else "")


def _ticks(xs, top, bottom, colour, width, opacity):
    d = "".join(f"M{x} {top}V{bottom}" for x in xs)
    return _stroked(d, colour, width, opacity=opacity)


def _points(xs, ys):
    return "M" + "L".join(f"{x:g} {y:g}" for x, y in zip(xs, ys, strict=True))


def _path(xs, ys, *look):
    return _stroked(_points(xs, ys), *look)


def _area(xs, ys, colour, opacity, words):
    return _SVG["area"].format(f"{_points(xs, ys)}Z", _colour(colour), opacity, _title(words))


def _text(x, y, words, anchor, colour, size, bold):
    weight = ";font-weight:600" * bold
    return _SVG["text"].format(x, y, anchor, _colour(colour), size, weight, escape(words))


#: What writes each kind of shape.
_DRAWN = {f.__name__[1:]: f for f in (_rect, _line, _ticks, _path, _area, _text)}
