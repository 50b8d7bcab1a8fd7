"""The roofline as a picture, with a table of who says so."""

from collections.abc import Sequence
from html import escape

import ipywidgets

from trainium_edu.specs import TRN1, Record
from trainium_edu.specs.signatures import checked
from trainium_edu.viz import roofline as picture
from trainium_edu.viz.documents import source_of
from trainium_edu.widgets.picture import Panel
from trainium_edu.widgets.retiming import core_of
from trainium_edu.widgets.sketch import Page, Sketch

__all__ = ["roofline"]


@checked
def roofline(*timelines, names: Sequence[str] | None = None, spec: Record = TRN1) -> Panel:
    """Show where programs stand below the roofs of a NeuronCore.

    Parameters
    ----------
    *timelines : CoreTimeline, Run or viz.roofline.Point
    names : list of str, optional
        What each is called in the picture.
    spec : Record

    Returns
    -------
    Panel
        A picture, and the readings of the ridge with their sources.

    Examples
    --------
    >>> roofline()
    Panel('roofline of 0 programs')
    """
    names = [""] * len(timelines) if names is None else list(names)
    if len(names) != len(timelines):
        raise ValueError(f"{len(names)} names for {len(timelines)} timelines; give one for each")
    points = [
        t if isinstance(t, picture.Point) else picture.point_of(core_of(t), name)
        for t, name in zip(timelines, names, strict=True)
    ]
    name = f"roofline of {len(points)} program{'s' * (len(points) != 1)}"

    def draw(values) -> Page:
        return Page(picture.draw_roofline(points, spec=spec, width=values["width"]))

    shown = Sketch([], draw, name)
    panel = Panel([shown, ipywidgets.HTML(_table(spec))], name)
    panel.points = points
    return panel


def _table(spec) -> str:
    """Write the ridges with their reasons; the first is what the sources print."""
    rows = [
        _row("td", name, f"{fact.value:.4g}", fact.kind, source_of(fact))
        for name, fact in picture.ridges(spec).items()
    ]
    head = _row("th", "ridge of a BF16 matmul", "FLOP/byte", "kind", "where from")
    return (
        "<table style='font-size:13px;line-height:1.4;border-collapse:separate;border-spacing:12px"
        f" 3px'><thead>{head}</thead><tbody>{''.join(rows)}</tbody></table>"
    )


def _row(tag, *cells) -> str:
    drawn = (f"<{tag} style='text-align:left'>{escape(str(cell))}</{tag}>" for cell in cells)
    return f"<tr>{''.join(drawn)}</tr>"
