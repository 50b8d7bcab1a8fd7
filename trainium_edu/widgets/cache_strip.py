"""A strip of steps: which graph each ran, and whether it was found or had to be compiled."""

import html
from collections.abc import Sequence
from hashlib import md5
from itertools import groupby
from operator import attrgetter

from trainium_edu.files import tables
from trainium_edu.viz.colours import COLOURS
from trainium_edu.viz.units import aligned
from trainium_edu.xla.compiler import Event

__all__ = ["EVENTS", "CacheStrip"]

#: What may become of a step's graph: in words, how its cell is framed, and how the key says that.
EVENTS = tables(__file__)["events"]
_HITS = ("memory", "disk")
_TOGETHER = 4  # steps of the same graph, all found, that become one cell
_COLOURS = [COLOURS[name] for name in ("blue", "orange", "green", "pink", "sky", "yellow")]
_INK = "var(--jp-ui-font-color1,#222)"


class CacheStrip:
    """Steps as cells of a strip; each tells its graph, and why it is not the one before.

    A clickable strip in a notebook, text elsewhere.

    Parameters
    ----------
    history : sequence of Event
        A compiler's, or a part of it.

    Examples
    --------
    >>> CacheStrip([Event(0, "compiled", 0x8C1F << 48, "the first graph"),
    ...             *(Event(step, "memory", 0x8C1F << 48, "") for step in range(1, 10))])
    10 steps, 1 graph: 1 compiled, 9 hit (memory)
    step 1      compiled      A (8c1f00)  the first graph
    steps 2–10  hit (memory)  A (8c1f00)
    """

    def __init__(self, history: Sequence[Event]):
        self.history = history
        self.graphs = list(dict.fromkeys(event.graph for event in history))

    def letter(self, graph: int) -> str:
        """Return the letter of a graph, in order of appearance."""
        k = self.graphs.index(graph)
        return chr(ord("A") + k % 26) + (str(k // 26) if k >= 26 else "")

    def _cells(self) -> list[list[Event]]:
        """Return the steps, those together that find the same graph again and again."""
        cells: list[list[Event]] = []
        for (kind, *_), group in groupby(self.history, attrgetter("kind", "graph", "why")):
            same = list(group)
            is_long = len(same) >= _TOGETHER and kind in _HITS
            cells += [same] if is_long else [[event] for event in same]
        return cells

    def _summary(self) -> str:
        kinds = [event.kind for event in self.history]
        counts = [f"{kinds.count(k)} {name}" for k, (name, *_) in EVENTS.items() if k in kinds]
        steps = {event.step for event in self.history}
        sizes = [f"{len(found)} {what}{'' if len(found) == 1 else 's'}" for found, what in
                 ((steps, "step"), (self.graphs, "graph"))]  # fmt: skip
        return f"{', '.join(sizes)}: {', '.join(counts) or 'nothing ran'}"

    def _told(self, cell) -> tuple[str, str, str, str]:
        """Return a cell in words: its steps, event, graph and reason."""
        first, last = cell[0], cell[-1]
        more = "" if first is last else f"–{last.step + 1}"
        steps = f"step{'s' * bool(more)} {first.step + 1}{more}"
        graph = f"{self.letter(first.graph)} ({f'{first.graph:016x}'[:6]})"
        return steps, EVENTS[first.kind][0], graph, first.why

    def __repr__(self):
        rows = [self._told(cell) for cell in self._cells()]
        return "\n".join([self._summary(), *aligned(rows)])

    def _repr_html_(self):
        name = f"te-strip-{md5(repr(self).encode(), usedforsecurity=False).hexdigest()[:8]}"
        cells = "".join(self._cell_html(cell, name) for cell in self._cells())
        keys = ", ".join(f"{event}: {said}" for event, _, said in EVENTS.values())
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
        kind, letter = cell[0].kind, self.letter(cell[0].graph)
        colour = _COLOURS[self.graphs.index(cell[0].graph) % len(_COLOURS)]
        colour = COLOURS["red"] if kind == "failed" else colour
        share = {"compiled": 45, "failed": 0}.get(kind, 8)
        times = f" × {len(cell)}" if len(cell) > 1 else ""
        more = {"compiled": " compiled", "failed": " ✗ failed"}.get(kind, times)
        wide = 22 if kind in _HITS and len(cell) == 1 else min(300, 60 + 1.2 * len(cell))
        because = f" {why[:1].upper()}{why[1:]}" if why else ""
        return (
            f'<details name="{name}"><summary data-lm-suppress-shortcuts="true" '
            f'aria-label="{steps}: {event}, graph {graph}" title="{steps}: {event}" style="'
            f"display:block;list-style:none;cursor:pointer;min-width:{wide:.0f}px;padding:2px 4px;"
            f"text-align:center;border:2px {EVENTS[kind][1]} {colour};border-radius:4px;"
            f'background:color-mix(in srgb,{colour} {share}%,transparent)"><b>{letter}</b>{more}'
            '</summary><div style="position:absolute;left:0;right:0;bottom:0;height:4.2em;'
            'overflow:auto;z-index:1;background:var(--jp-layout-color0,#fff)">'
            f"<b>{steps}</b>: {event}, graph <b>{graph}</b>.{because}</div></details>"
        )
