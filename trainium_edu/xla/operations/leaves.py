"""What a graph begins with: parameters and constants."""

from trainium_edu.xla.operations.table import constant_array, register

__all__: list[str] = []


def _lower_constant(lowering, node):
    lowering.feed(node, constant_array(node))


def _lower_as_it_is(lowering, node):
    lowering.alias(node, lowering.view(node.inputs[0]))


register("parameter", lambda number, name, type: type, vjp=lambda node, g: (), flops=lambda n: 0,
         lower=lambda lowering, node: lowering.feed(node))  # fmt: skip
register("constant", lambda data, type: type, value=lambda node: constant_array(node),
         vjp=lambda node, g: (), flops=lambda n: 0, lower=_lower_constant)  # fmt: skip
register("detach", lambda x: x, value=lambda node, x: x, vjp=lambda node, g: (None,),
         flops=lambda n: 0, lower=_lower_as_it_is)  # fmt: skip
