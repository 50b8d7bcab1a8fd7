"""A tree of elementwise operations as one: tiles pass through SBUF, and one rounding at the end."""

from trainium_edu.xla.graph import Graph
from trainium_edu.xla.operations.table import OPERATIONS, constant_array, register

__all__: list[str] = []


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


def _flops(node):
    return sum(OPERATIONS[one.operation].flops(one) for one in node.of["graph"].nodes)


register("fusion", lambda *types, graph: graph.outputs[0].type, value=_value, flops=_flops)
