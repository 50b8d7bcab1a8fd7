"""Fly from a cluster of 100,000 chips into one multiply-accumulate; every figure has its source."""

import json
from pathlib import Path

import traitlets

from trainium_edu.specs import TRN1, Record
from trainium_edu.specs.ladder import ladder
from trainium_edu.viz import colours
from trainium_edu.viz.documents import documents, source_of, url_of
from trainium_edu.widgets.page_widget import PageWidget

__all__ = ["ZoomLadder", "zoom_ladder"]

#: Per level its parts in the drawing, which of them a figure is about, and what is drawn; a few
#: beats of one processing element, all numbers exact in BF16 and FP32.
_DRAWN = Path(__file__).with_suffix(".json").read_text(encoding="utf-8")
_NAMED = {"chip": "green", "link": "orange", "hbm": "sky", "psum": "yellow", "mark": "red"}
_COLOURS = colours.ENGINE | {part: colours.COLOURS[name] for part, name in _NAMED.items()}


def zoom_ladder(level: int | str = 0, *, spec: Record = TRN1):
    """Show the machine from the outside in.

    Parameters
    ----------
    level : int or str
        Where to begin: 0 (of Trainium the UltraCluster) to the last (one multiply-accumulate), or
        a rung's key.
    spec : specs.Record
        ``TRN1``, ``INF2`` or ``TRN2``.

    Returns
    -------
    ZoomLadder

    Raises
    ------
    ValueError
        If there is no such level.

    Examples
    --------
    >>> zoom_ladder("chip").level
    2
    """
    rungs = ladder(spec)
    keys = [rung.key for rung in rungs]
    if isinstance(level, str) and level in keys:
        level = keys.index(level)
    if isinstance(level, bool) or not isinstance(level, int) or not 0 <= level < len(keys):
        raise ValueError(f"level is {level!r}; choose 0 to {len(keys) - 1}, or {', '.join(keys)}")
    return ZoomLadder(rungs, level, spec)


class ZoomLadder(PageWidget, page="zoom"):
    """State: the level shown; the texts and figures go to the page once."""

    rungs = traitlets.List().tag(sync=True)
    beats = traitlets.List().tag(sync=True)  #: what one processing element does, beat by beat
    colours = traitlets.Dict().tag(sync=True)
    counts = traitlets.Dict().tag(sync=True)  #: how many the picture draws, of what
    levels = traitlets.Dict().tag(sync=True)  #: of ``zoom.json``
    level = traitlets.Int(0).tag(sync=True)

    def __init__(self, rungs, level, spec):
        drawn, counts = _DRAWN, _counts(spec)
        for name, count in counts.items():
            drawn = drawn.replace(f"{{{name}}}", f"{count}")
        drawn = json.loads(drawn)
        state = {"rungs": _shown(rungs, drawn["levels"]), "colours": _COLOURS, "counts": counts}
        super().__init__(level=level, **state, **drawn)

    @traitlets.validate("level")
    def _keep_on_the_ladder(self, proposal):
        return min(max(proposal["value"], 0), len(self.rungs) - 1)

    def __repr__(self):
        return f"ZoomLadder({len(self.rungs)} levels)"


def _shown(rungs, levels) -> list[dict]:
    """Turn the rungs' facts into what the page shows."""
    shown = []
    for rung in rungs:
        texts = {name: getattr(rung, name) for name in ("key", "name", "holds", "sentence")}
        parts = levels[rung.key]["parts"]
        shown.append(texts | {"figures": [_figure(parts, *figure) for figure in rung.figures]})
    return shown


def _counts(spec) -> dict:
    partitions, size = spec.sbuf.partitions.pretty, spec.sbuf.bytes_per_partition.pretty
    counts = {"cores": spec.cores.value, "dma": spec.dma_engines.value, "cc": spec.cc_cores.value}
    sbuf = f"{partitions} × {size.split(' per')[0]}"
    return counts | {"queues": spec.dma.queues.value, "sbuf": sbuf}


def _figure(parts, label, fact) -> dict:
    first = documents(fact)[0]
    who = f"{first.title} ({first.publisher}, {fact.as_of})"
    said = f"derived: {source_of(fact)}." if fact.inputs else f"{fact.kind}: {who}: {fact.locator}."
    shown = {"label": label, "value": fact.pretty, "kind": str(fact.kind), "source": said}
    return shown | {"note": fact.note, "url": url_of(fact), "part": parts.get(label, "")}
