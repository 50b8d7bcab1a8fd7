"""The roofline as a picture, with a table of who says so."""

from collections.abc import Sequence
from pathlib import Path

import ipywidgets
from jinja2 import Template

from trainium_edu.specs import TRN1, Record
from trainium_edu.specs.signatures import checked
from trainium_edu.viz import roofline as picture
from trainium_edu.viz.documents import source_of
from trainium_edu.viz.units import counted
from trainium_edu.widgets.picture import Panel
from trainium_edu.widgets.retiming import core_of
from trainium_edu.widgets.sketch import Page, Sketch

__all__ = ["roofline"]

#: The ridges with their reasons; the first is what the sources print.
_TABLE = Template(Path(__file__).with_suffix(".html").read_text(encoding="utf-8"), autoescape=True)


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
    name = f"roofline of {counted(len(points), 'program')}"

    def draw(values) -> Page:
        return Page(picture.draw_roofline(points, spec=spec, width=values["width"]))

    rows = {name: (fact, source_of(fact)) for name, fact in picture.ridges(spec).items()}
    panel = Panel([Sketch([], draw, name), ipywidgets.HTML(_TABLE.render(rows=rows))], name)
    panel.points = points
    return panel
