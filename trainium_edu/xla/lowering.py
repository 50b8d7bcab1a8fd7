"""A graph becomes instructions: each operation issues its own on a NeuronCore, values in HBM.

An operation reads and writes HBM; inside a fusion, tiles pass from one operation to the next in
SBUF.  Operations follow each other in one program as long as it is short, so transfers of one
overlap with the other's arithmetic; a long program is cut into *sections* that meet at a barrier
(``executable``).
"""

from collections.abc import Sequence
from typing import Any

import numpy as np

from trainium_edu import neuroncore
from trainium_edu.neuroncore import NeuronCore
from trainium_edu.neuroncore.recording.source import SourceLine
from trainium_edu.neuroncore.recording.views import View
from trainium_edu.xla.graph import Graph, Node, Type
from trainium_edu.xla.operations.loops import lower_elementwise
from trainium_edu.xla.operations.table import OPERATIONS

__all__ = ["Lowering", "casts_on_load", "line_of", "lower"]

_LOADING = frozenset({"dot"})  #: rows that ask ``lowering.loaded`` for their operands


class Lowering:
    """The context of an operation's `lower`.

    Attributes
    ----------
    core : NeuronCore
    collectives : list of Node
        Operations that issue no instructions because other ranks take part.
    """

    def __init__(self, core: NeuronCore, feeds=None, on_load=frozenset()):
        self.core = core
        self.collectives: list[Node] = []
        self._feeds = {} if feeds is None else feeds
        self._on_load = on_load
        self._views: dict[Node, Any] = {}  # a View, or a tuple of them

    def view(self, node: Node) -> View:
        """Return where a value lies in HBM, in its own shape (a scalar has shape (1,))."""
        return self._views[node]

    def loaded(self, node: Node) -> View:
        """Return from where an operand is loaded; the DMA casts it to the node's dtype."""
        return self.view(node.inputs[0] if node in self._on_load else node)

    def out(self, node: Node) -> View:
        """Return new room in HBM for an operation's result."""
        if node not in self._views:
            name = node.of.get("name") or f"{node.operation}.{len(self._views)}"

            def room(type):
                return self.core.hbm(type.shape or (1,), type.dtype, name=name)

            is_one = isinstance(node.type, Type)
            self._views[node] = room(node.type) if is_one else tuple(map(room, node.type))
        return self._views[node]

    def alias(self, node: Node, view: View) -> None:
        """Alias a result to other bytes, seen in another shape or order."""
        self._views[node] = view

    def feed(self, node: Node, values=None) -> None:
        """Put what comes from outside into HBM: an input's values, or a constant's."""
        values = self._feeds.get(node) if values is None else values
        if values is None or not self.core.values:
            self.out(node)
            return
        array = np.ascontiguousarray(np.asarray(values).reshape(node.shape or (1,)))
        self._views[node] = self.core.hbm(array, node.dtype, name=node.of.get("name") or None)

    def lower(self, node: Node) -> None:
        """Issue one operation's instructions; its operands have a place already."""
        row = OPERATIONS[node.operation]
        if node in self._on_load:
            return
        if row.lower is None:
            lower_elementwise(self, [node], [node])
        else:
            row.lower(self, node)

    def issue(self, graph: Graph) -> None:
        """Issue the instructions of all nodes that have no place yet."""
        for node in (*graph.parameters, *graph.nodes):
            if node not in self._views:
                self.lower(node)

    def with_views(self, views, on_load=frozenset()) -> "Lowering":
        """Return a lowering on the same core that knows where these nodes of another graph lie."""
        inner = Lowering(self.core, on_load=on_load)
        inner._views.update(views)
        return inner

    def inside(self, graph: Graph, views: Sequence[View]) -> list[View]:
        """Issue an inner graph on views of its parameters; return where its results are."""
        inner = self.with_views(zip(graph.parameters, views, strict=True), casts_on_load(graph))
        inner.issue(graph)
        self.collectives += inner.collectives
        return [inner.view(output) for output in graph.outputs]

    def duration_ns(self, graph: Graph) -> float:
        """Return how long an inner graph takes by itself."""
        core = lower(graph, NeuronCore(self.core.spec, values=False)).core
        return neuroncore.measure(core.program).makespan_ns if len(core.program) else 0.0


def casts_on_load(graph: Graph) -> frozenset[Node]:
    """Return the casts that only products read: a DMA casts while it loads, for nothing."""
    return frozenset(
        node
        for node in graph.nodes
        if node.operation == "cast" and node not in graph.outputs
        and node.type.is_float and node.inputs[0].type.is_float
        and all(user.operation in _LOADING for user in graph.users[node])
    )  # fmt: skip


def line_of(node: Node, number: int) -> SourceLine:
    """Return an instruction's line: its node's, told from other nodes of that line by a number."""
    name = f"{node.operation}.{number}"
    if node.line is None:
        return SourceLine("<graph>", number, name)
    return node.line._replace(function=name)


def lower(graph: Graph, core: NeuronCore, feeds=None) -> Lowering:
    """Issue all of a graph's instructions on a core.

    Parameters
    ----------
    graph : Graph
    core : NeuronCore
        With ``values=True`` it computes as well: `feeds` then holds the parameters' arrays.
    feeds : dict of Node to array, optional

    Returns
    -------
    Lowering
        Its ``view(output)`` says where the results are.
    """
    lowering = Lowering(core, feeds, casts_on_load(graph))
    lower_all(lowering, graph._all)
    return lowering


def lower_all(lowering: Lowering, nodes: Sequence[Node]) -> None:
    """Lower nodes in their order; what they issue and allocate has their lines."""
    core = lowering.core
    for number, node in enumerate(nodes):
        if node in lowering._views:
            continue
        line = line_of(node, number)
        core.line_of = lambda line=line: line
        core.caller = lower_all.__code__, line
        lowering.lower(node)
