"""A strip of steps: which graph each ran, and whether it was found or had to be compiled."""

import html
from collections.abc import Sequence
from hashlib import md5
from itertools import groupby
from operator import attrgetter
from pathlib import Path

from jinja2 import Template

from trainium_edu.files import tables
from trainium_edu.viz.colours import COLOURS
from trainium_edu.viz.units import aligned, counted
from trainium_edu.xla.compiler import Event

__all__ = ["EVENTS", "CacheStrip"]

#: What may become of a step's graph: in words, how its cell is framed, and how the key says that.
EVENTS = tables(__file__)["events"]
_HITS = ("memory", "disk")
_TOGETHER = 4  # steps of the same graph, all found, that become one cell
_COLOURS = ("blue", "orange", "green", "pink", "sky", "yellow")
_TEMPLATE = Template(Path(__file__).with_suffix(".html").read_text(encoding="utf-8"))


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
        sizes = f"{counted(len(steps), 'step')}, {counted(len(self.graphs), 'graph')}"
        return f"{sizes}: {', '.join(counts) or 'nothing ran'}"

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
        cells = [self._shown(cell) for cell in self._cells()]
        return _TEMPLATE.render(name=name, summary=self._summary(), events=EVENTS, cells=cells)

    def _shown(self, cell) -> dict:
        """Return what the template shows of a cell."""
        first, count = cell[0], len(cell)
        steps, event, graph, why = map(html.escape, self._told(cell))
        because = f" {why[:1].upper()}{why[1:]}" if why else ""
        colour = _COLOURS[self.graphs.index(first.graph) % len(_COLOURS)]
        return {
            "kind": first.kind,
            "letter": self.letter(first.graph),
            "colour": COLOURS["red" if first.kind == "failed" else colour],
            "count": count,
            "width": 22 if first.kind in _HITS and count == 1 else min(300, 60 + 1.2 * count),
            "told": (steps, event, graph, because),
        }
