"""A tree of elementwise operations as one: tiles pass through SBUF, and one rounding at the end."""

from trainium_edu.xla.graph import Graph
from trainium_edu.xla.operations.loops import lower_elementwise
from trainium_edu.xla.operations.table import OPERATIONS, register

__all__: list[str] = []


def _value(node, *arrays):
    """Run the inner nodes in FP32; the executor rounds what the last one gives."""
    inner: Graph = node.of["graph"]
    held = dict(zip(inner.parameters, arrays, strict=True))
    for one in inner.nodes:
        if one not in held:
            held[one] = OPERATIONS[one.operation].value(one, *(held[i] for i in one.inputs))
    return held[inner.outputs[0]]


def _lower(lowering, node):
    """Run the tile loop with the operands as the inner graph's parameters."""
    inner: Graph = node.of["graph"]
    views = [*map(lowering.view, node.inputs), lowering.out(node)]
    places = dict(zip((*inner.parameters, *inner.outputs), views, strict=True))
    nodes = [one for one in inner.nodes if OPERATIONS[one.operation].is_elementwise]
    lower_elementwise(lowering.with_views(places), nodes, inner.outputs)


def _flops(node):
    return sum(OPERATIONS[one.operation].flops(one) for one in node.of["graph"].nodes)


register("fusion", lambda *types, graph: graph.outputs[0].type, value=_value, flops=_flops,
         lower=_lower)  # fmt: skip
