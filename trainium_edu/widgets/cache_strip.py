"""A strip of steps: which graph each ran, and whether it was found or had to be compiled."""

import html
from collections.abc import Sequence
from hashlib import md5
from itertools import groupby

from trainium_edu.specs.arguments import short
from trainium_edu.specs.signatures import checked
from trainium_edu.viz.colours import COLOURS
from trainium_edu.xla.compiler import Event

__all__ = ["EVENTS", "CacheStrip", "cache_strip"]

#: What may become of a step's graph, and how its cell is framed.
EVENTS = {
    "compiled": "solid", "hit (memory)": "solid", "hit (disk)": "dashed", "failed": "double",
    "extracted": "dotted",
}  # fmt: skip
_HITS = ("memory", "disk")  # as a compiler calls them
_KEYS = ("step", "event", "graph", "why")
_TOGETHER = 4  # steps of the same graph, all found, that become one cell
_COLOURS = [COLOURS[name] for name in ("blue", "orange", "green", "pink", "sky", "yellow")]
_INK = "var(--jp-ui-font-color1,#222)"


class CacheStrip:
    """Steps as cells of a strip; each tells its graph, and why it is not the one before.

    Parameters
    ----------
    history : sequence of dict or Event
    """

    def __init__(self, history: Sequence[dict | Event]):
        self.history = [_step_of(entry, k) for k, entry in enumerate(history)]
        self.graphs = list(dict.fromkeys(entry["graph"] for entry in self.history))

    def letter(self, graph: str) -> str:
        """Return the letter of a graph, in order of appearance."""
        k = self.graphs.index(graph)
        return chr(ord("A") + k % 26) + (str(k // 26) if k >= 26 else "")

    def _cells(self) -> list[list[dict]]:
        """Return the steps, those together that find the same graph again and again."""
        cells: list[list[dict]] = []
        for (event, *_), group in groupby(
            self.history, lambda entry: (entry["event"], entry["graph"], entry["why"])
        ):
            same = list(group)
            is_long = len(same) >= _TOGETHER and event.startswith("hit")
            cells += [same] if is_long else [[entry] for entry in same]
        return cells

    def _summary(self) -> str:
        events = [entry["event"] for entry in self.history]
        counts = [f"{events.count(e)} {e}" for e in EVENTS if e in events]
        steps = {entry["step"] for entry in self.history}
        sizes = [f"{len(found)} {what}{'' if len(found) == 1 else 's'}" for found, what in
                 ((steps, "step"), (self.graphs, "graph"))]  # fmt: skip
        return f"{', '.join(sizes)}: {', '.join(counts) or 'nothing ran'}"

    def _told(self, cell) -> tuple[str, str, str, str]:
        """Return a cell in words: its steps, event, graph and reason."""
        first, last = cell[0], cell[-1]
        steps = (
            f"step {first['step']}" if first is last else f"steps {first['step']}–{last['step']}"
        )
        graph = f"{self.letter(first['graph'])} ({first['graph']})"
        return steps, first["event"], graph, first["why"]

    def __repr__(self):
        rows = [self._told(cell) for cell in self._cells()]
        widths = [max(map(len, column)) for column in zip(*rows, strict=True)] if rows else []
        lines = ["  ".join(f"{text:<{wide}}" for text, wide in zip(row, widths, strict=True))
                 for row in rows]  # fmt: skip
        return "\n".join([self._summary(), *(line.rstrip() for line in lines)])

    def _repr_html_(self):
        name = f"te-strip-{md5(repr(self).encode(), usedforsecurity=False).hexdigest()[:8]}"
        cells = "".join(self._cell_html(cell, name) for cell in self._cells())
        keys = ", ".join(f"{event}: {said}" for event, said in (
            ("compiled", "filled"), ("hit (memory)", "outlined"), ("hit (disk)", "dashed"),
            ("failed", "✗"), ("extracted", "dotted")))  # fmt: skip
        return (
            f'<div role="group" aria-label="Cache: {self._summary()}" style="position:relative;'
            f'max-width:900px;padding-bottom:4.6em;font-size:13px;line-height:1.4;color:{_INK}">'
            f'<div style="margin-bottom:4px"><b>{self._summary()}</b></div>'
            f'<div style="display:flex;flex-wrap:wrap;gap:3px">{cells}</div>'
            '<div style="position:absolute;bottom:0;height:4.2em;'
            'color:var(--jp-ui-font-color2,#555)">'
            f"Each letter is a graph ({keys}). Click a cell for its graph.</div></div>"
        )

    def _cell_html(self, cell, name):
        steps, event, graph, why = (html.escape(text) for text in self._told(cell))
        first, letter = cell[0], self.letter(cell[0]["graph"])
        colour = _COLOURS[self.graphs.index(first["graph"]) % len(_COLOURS)]
        colour = COLOURS["red"] if event == "failed" else colour
        is_found = event.startswith("hit")
        share = {"compiled": 45, "failed": 0}.get(event, 8)
        shown = {
            "compiled": f"<b>{letter}</b> compiled",
            "failed": f"<b>{letter}</b> ✗ failed",
        }.get(event, f"<b>{letter}</b>" + (f" × {len(cell)}" if len(cell) > 1 else ""))
        wide = 22 if is_found and len(cell) == 1 else min(300, 60 + 1.2 * len(cell))
        because = f" {why[:1].upper()}{why[1:]}" if why else ""
        return (
            f'<details name="{name}"><summary data-lm-suppress-shortcuts="true" '
            f'aria-label="{steps}: {event}, graph {graph}" title="{steps}: {event}" style="'
            f"display:block;list-style:none;cursor:pointer;min-width:{wide:.0f}px;padding:2px 4px;"
            f"text-align:center;border:2px {EVENTS[event]} {colour};border-radius:4px;"
            f'background:color-mix(in srgb,{colour} {share}%,transparent)">{shown}</summary>'
            '<div style="position:absolute;left:0;right:0;bottom:0;height:4.2em;overflow:auto;'
            f'z-index:1;background:var(--jp-layout-color0,#fff)"><b>{steps}</b>: {event}, graph '
            f"<b>{graph}</b>.{because}</div></details>"
        )


def _step_of(entry, k) -> dict:
    """Return one checked entry of a history; what is not given is empty."""
    if isinstance(entry, Event):
        kind = f"hit ({entry.kind})" if entry.kind in _HITS else entry.kind
        entry = {
            "step": entry.step, "event": kind, "graph": f"{entry.graph:08x}"[:8], "why": entry.why,
        }  # fmt: skip
    if not {"event", "graph"} <= entry.keys():
        raise ValueError(f"history[{k}] is {short(entry)}; it must be a dict with {_KEYS}")
    if entry["event"] not in EVENTS:
        raise ValueError(
            f"'event' of history[{k}] is {short(entry['event'])}; it must be {', '.join(EVENTS)}"
        )
    given = {"step": k + 1, "why": ""} | {key: entry[key] for key in _KEYS if key in entry}
    return {key: value if key == "step" else str(value) for key, value in given.items()}


@checked
def cache_strip(history: Sequence[dict | Event]) -> CacheStrip:
    """Show step by step which graph ran, and whether it was found or compiled.

    Parameters
    ----------
    history : sequence of dict or Event
        A compiler's history, or one dict per graph that ran: ``event`` ("compiled", "hit (memory)",
        "hit (disk)", "failed", "extracted"), ``graph`` (its hash), and, if known, ``step`` (its
        number) and ``why`` (what is different from the graph before).

    Returns
    -------
    CacheStrip
        A clickable strip in a notebook, text elsewhere.

    Raises
    ------
    ValueError
        If an entry lacks its event or graph, or has another event.

    Examples
    --------
    >>> cache_strip([{"event": "compiled", "graph": "8c1f", "why": "the first graph"},
    ...              *[{"event": "hit (memory)", "graph": "8c1f"}] * 9])
    10 steps, 1 graph: 1 compiled, 9 hit (memory)
    step 1      compiled      A (8c1f)  the first graph
    steps 2–10  hit (memory)  A (8c1f)
    """
    return CacheStrip(history)
