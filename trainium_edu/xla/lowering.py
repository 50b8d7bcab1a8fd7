"""A graph becomes instructions: each operation issues its own on a NeuronCore, values in HBM.

An operation reads and writes HBM; inside a fusion, tiles pass from one operation to the next in
SBUF.  Operations follow each other in one program as long as it is short, so transfers of one
overlap with the other's arithmetic; a long program is cut into *sections* that meet at a barrier.
"""

import numpy as np

from trainium_edu.neuroncore import NeuronCore
from trainium_edu.neuroncore.recording.views import View
from trainium_edu.xla.graph import Graph, Node
from trainium_edu.xla.operations.loops import lower_elementwise
from trainium_edu.xla.operations.table import OPERATIONS

__all__ = ["Lowering", "lower"]


class Lowering:
    """What an operation's `lower` holds in its hands.

    Attributes
    ----------
    core : NeuronCore
    collectives : list of Node
        Those met so far, in order; they have no instructions.
    """

    def __init__(self, core: NeuronCore, feeds=None):
        self.core = core
        self._feeds = {} if feeds is None else feeds
        self._views: dict[Node, View] = {}
        self.collectives: list[Node] = []

    def view(self, node: Node) -> View:
        """Return where a value lies in HBM, in its own shape (a scalar has shape (1,))."""
        return self._views[node]

    def out(self, node: Node) -> View:
        """Return new room in HBM for an operation's result."""
        if node not in self._views:
            name = f"{node.operation}.{node.number}"
            self._views[node] = self.core.hbm(node.shape or (1,), node.dtype, name=name)
        return self._views[node]

    def alias(self, node: Node, view: View) -> None:
        """Let a result be the same bytes as something else, seen otherwise."""
        self._views[node] = view

    def feed(self, node: Node, values=None) -> None:
        """Put what comes from outside into HBM: an input's values, or a constant's."""
        values = self._feeds.get(node) if values is None else values
        if values is None or not self.core.values:
            self.out(node)
            return
        array = np.ascontiguousarray(np.asarray(values).reshape(node.shape or (1,)))
        self._views[node] = self.core.hbm(array, node.dtype, name=node.of.get("name") or None)


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
    lowering = Lowering(core, feeds)
    for node in (*graph.parameters, *graph.nodes):
        if node.operation != "parameter" or node not in lowering._views:
            row = OPERATIONS[node.operation]
            if row.lower is None:
                lower_elementwise(lowering, [node], [node])
            else:
                row.lower(lowering, node)
    return lowering
