"""A tree of elementwise operations as one: tiles pass through SBUF, and one rounding at the end."""

from dataclasses import dataclass

from trainium_edu.neuroncore import NeuronCore
from trainium_edu.neuroncore.recording.views import View
from trainium_edu.xla.graph import Graph, Node
from trainium_edu.xla.operations.loops import lower_elementwise
from trainium_edu.xla.operations.table import OPERATIONS, constant_array, register

__all__: list[str] = []


@dataclass(frozen=True, slots=True)
class _Inside:
    """Where an inner graph's nodes lie; equal nodes of the graph around it lie elsewhere."""

    core: NeuronCore
    places: dict[Node, View]

    def view(self, node: Node) -> View:
        """Return the place of an operand or of the result."""
        return self.places[node]

    out = view


def _value(node, *arrays):
    """Run the inner nodes in FP32; the executor rounds what the last one gives."""
    inner: Graph = node.of["graph"]
    held = dict(zip(inner.parameters, arrays, strict=True))
    for one in inner.nodes:
        if one.operation == "constant":
            held[one] = constant_array(one)
        elif one not in held:
            held[one] = OPERATIONS[one.operation].value(one, *(held[i] for i in one.inputs))
    return held[inner.outputs[0]]


def _lower(lowering, node):
    """Let the tile loop see the operands as the inner graph's parameters."""
    inner: Graph = node.of["graph"]
    (root,) = inner.outputs
    places = dict(zip(inner.parameters, map(lowering.view, node.inputs), strict=True))
    inside = _Inside(lowering.core, places | {root: lowering.out(node)})
    nodes = [one for one in inner.nodes if OPERATIONS[one.operation].is_elementwise]
    lower_elementwise(inside, nodes, [root])


def _flops(node):
    return sum(OPERATIONS[one.operation].flops(one) for one in node.of["graph"].nodes)


register("fusion", lambda *types, graph: graph.outputs[0].type, value=_value, flops=_flops,
         lower=_lower)  # fmt: skip
