"""The graph explorer: a compiled step as layers and operations, with time, edges and advice."""

import json
from collections.abc import Callable
from dataclasses import asdict

import ipywidgets
import traitlets

from trainium_edu.specs.arguments import whole
from trainium_edu.viz.colours import ENGINE
from trainium_edu.viz.graph_rows import ENGINES, GraphRows, rows_of
from trainium_edu.viz.units import time_text
from trainium_edu.widgets.page_widget import PageWidget

__all__ = ["GraphExplorer", "GraphView"]

_SIDES = ("compiled", "recorded")


class GraphView(PageWidget, page="graph_explorer"):
    """The two graphs on the page; they go there once, as JSON.

    State: ``side`` is the graph shown, ``picked`` the operation chosen (its side and its number
    there, or nothing), ``advised`` the number of the advice chosen, -1 for none.
    """

    graph = traitlets.Unicode().tag(sync=True)
    colours = traitlets.Dict(ENGINE).tag(sync=True)
    side = traitlets.Enum(_SIDES, "compiled").tag(sync=True)
    picked = traitlets.List().tag(sync=True)
    advised = traitlets.Int(-1).tag(sync=True)
    asked = traitlets.Dict().tag(sync=True)  #: the operation whose instructions the page wants
    answer = traitlets.Unicode().tag(sync=True)  #: what became of that, in words

    def __repr__(self):
        return "GraphView()"


class GraphExplorer(ipywidgets.VBox):
    """Layers that open, time by engine, before and after, what to improve; what was opened below.

    Parameters
    ----------
    description : dict
        As :func:`trainium_edu.xla.executable.describe` gives it.
    open_operation : callable
        Takes the number of a compiled operation; returns a widget with its instructions, or None
        where it has none.
    """

    def __init__(self, description: dict, open_operation: Callable):
        self.sides = rows_of(description)
        self._about, self._opener = description, open_operation
        self.view = GraphView(graph=json.dumps(_page(description, self.sides)))
        self.view.observe(self._answer, "asked")
        super().__init__([self.view])

    def open_operation(self, operation) -> None:
        """Show the instructions of a compiled operation below, as a click on the page does.

        Parameters
        ----------
        operation : int
            Its number.

        Raises
        ------
        TypeError, ValueError
            If there is no such operation.
        """
        last = len(self.sides["compiled"].nodes) - 1
        found = self._opener(whole(operation, "operation", 0, last))
        self.children = [self.view, *([found] if found is not None else [])]

    def _answer(self, change):
        """Open what the page asks for; the page is told when it is there, or why it is not."""
        nodes, number = self.sides["compiled"].nodes, change["new"].get("operation")
        if number not in range(len(nodes)):
            return
        name = f"{nodes[number]['operation']} {number}"
        self.view.answer = f"opening {name} ..."
        try:
            self.open_operation(number)
        except Exception as error:  # in a handler it would reach nobody
            self.view.answer = f"{name} does not open: {error}"
            return
        shown = len(self.children) > 1
        self.view.answer = f"{name} is open below" if shown else f"{name} has no instructions"

    def __repr__(self):
        compiled, recorded = (len(self.sides[side].nodes) for side in _SIDES)
        took = time_text(self._about["total_ns"])
        return (
            f"GraphExplorer({self._about['name']!r}: {recorded} operations recorded, "
            f"{compiled} compiled, {took})"
        )


def _page(description, sides: dict[str, GraphRows]) -> dict:
    """Return what the page needs, in plain values."""
    graphs = {
        side: {"nodes": found.nodes, "rows": [asdict(row) for row in found.rows]}
        for side, found in sides.items()
    }
    about = {name: description[name] for name in ("name", "total_ns", "hbm_bytes", "passes")}
    advice = sorted(description["advice"], key=lambda advice: -advice["ns"])
    return graphs | about | {"engines": ENGINES, "advice": advice}
