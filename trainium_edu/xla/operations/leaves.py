"""What a graph begins with: parameters and constants."""

from trainium_edu.xla.operations.table import constant_array, register

__all__: list[str] = []


register("parameter", lambda number, name, type: type, vjp=lambda node, g: (), flops=lambda n: 0,
         lower=lambda lowering, node: lowering.feed(node))  # fmt: skip
register("constant", lambda data, type: type, value=lambda node: constant_array(node),
         vjp=lambda node, g: (), flops=lambda n: 0,
         lower=lambda lowering, node: lowering.feed(node, constant_array(node)))  # fmt: skip
register(
    "detach", lambda x: x, value=lambda node, x: x, vjp=lambda node, g: (None,), flops=lambda n: 0,
    lower=lambda lowering, node: lowering.alias(node, lowering.view(node.inputs[0])),
)  # fmt: skip
