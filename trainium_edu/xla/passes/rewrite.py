"""What every pass shares: nodes made again on other inputs, and what stands for what."""

from collections.abc import Callable, Mapping
from operator import attrgetter
from typing import NamedTuple

from trainium_edu.xla.graph import Graph, Node, intern
from trainium_edu.xla.operations.table import OPERATIONS

__all__ = ["Step", "images", "on_inputs", "rewrite", "rewritten"]


class Step(NamedTuple):
    """One pass over one graph.

    Attributes
    ----------
    name : str
    before, after : Graph
    stands_for : dict of Node to tuple of Node
        Each node of `after` → the nodes of `before` whose work it does.
    """

    name: str
    before: Graph
    after: Graph
    stands_for: Mapping[Node, tuple[Node, ...]]


def on_inputs(node: Node, inputs: tuple[Node, ...]) -> Node:
    """Return the same operation on other nodes; itself where they are its own."""
    if inputs == node.inputs:
        return node
    row, types = OPERATIONS[node.operation], [one.type for one in inputs]
    return intern(node.operation, inputs, node.attributes, lambda: row.infer(*types, **node.of),
                  node)  # fmt: skip


def images(graph: Graph, rule: Callable[[Node, tuple[Node, ...]], Node]) -> dict[Node, Node]:
    """Return what a rule makes of every node, in the graph's order; parameters stay."""
    image: dict[Node, Node] = {}
    for node in graph.nodes:
        is_parameter = node.operation == "parameter"
        image[node] = node if is_parameter else rule(node, tuple(image[i] for i in node.inputs))
    return image


def rewrite(name: str, graph: Graph, rule: Callable[[Node, tuple[Node, ...]], Node]) -> Step:
    """Return the step that replaces each node by what a rule makes of it.

    Parameters
    ----------
    name : str
    graph : Graph
    rule : callable (node, inputs) -> Node
        `inputs` are what the rule made of the node's own.
    """
    return rewritten(name, graph, images(graph, rule))


def rewritten(name: str, graph: Graph, image: Mapping[Node, Node]) -> Step:
    """Return the step that replaces nodes by others.

    Parameters
    ----------
    name : str
    graph : Graph
    image : dict of Node to Node
        Must be whole: what reads an image's old node is an image too.  Not named: itself.
    """
    outputs = tuple(image.get(o, o) for o in graph.outputs)
    after = graph if outputs == graph.outputs else Graph(graph.name, graph.parameters, outputs)
    return Step(name, graph, after, _stands_for(graph, after, image))


def _stands_for(before, after, image):
    """Return what each node stands for; the work of a lost node goes to its readers."""
    stands: dict[Node, dict[Node, None]] = {node: {} for node in after.nodes}
    carriers: dict[Node, tuple[Node, ...]] = {}
    for node in reversed(before.nodes):
        mine = image.get(node, node)
        if mine in stands:
            found: tuple[Node, ...] = (mine,)
        else:
            found = tuple(dict.fromkeys(c for user in before.users[node] for c in carriers[user]))
        carriers[node] = found
        for one in found:
            stands[one][node] = None
    for node in reversed(after.nodes):
        if not stands[node]:
            stands[node] = dict.fromkeys(old for u in after.users[node] for old in stands[u])
    return {node: tuple(sorted(of, key=attrgetter("number"))) for node, of in stands.items()}
