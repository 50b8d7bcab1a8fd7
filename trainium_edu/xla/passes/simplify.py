"""What needs no instruction: neutral elements, double turns, shapes of shapes, known numbers.

Rules look at a node whose inputs are simple already and return a simpler node, or None.  All but
one keep every bit (-0 counts as 0): ``x * a * b`` becomes ``x * (a * b)``, which rounds once less.
"""

from collections.abc import Callable
from contextlib import suppress

import numpy as np

from trainium_edu.xla.graph import Graph, GraphError, Node
from trainium_edu.xla.operations.table import (
    OPERATIONS,
    apply,
    carrier,
    constant,
    constant_array,
)
from trainium_edu.xla.passes.rewrite import Step, on_inputs, rewrite

__all__ = ["MOST_FOLDED", "RULES", "simplify"]

MOST_FOLDED = 1024  #: elements of a result that is computed at compile time; more would be data


def simplify(graph: Graph) -> Step:
    """Apply the rules to every node until none applies.

    Examples
    --------
    >>> from trainium_edu.xla.graph import Graph, as_type
    >>> from trainium_edu.xla.operations import apply, parameter
    >>> x = parameter(0, as_type((2, 6), "float32"))
    >>> y = apply("reshape", apply("reshape", x, shape=(12,)), shape=(3, 4))
    >>> [node.operation for node in simplify(Graph("shapes", (x,), (y,))).after.nodes]
    ['parameter', 'reshape']
    """
    done: dict[Node, Node] = {}
    return rewrite("simplify", graph, lambda node, inputs: _simple(on_inputs(node, inputs), done))


def _simple(node: Node, done: dict) -> Node:
    if node not in done:
        rules = (_known, _unstretched, *RULES.get(node.operation, ()))
        found = next((new for rule in rules if (new := rule(node)) is not None), None)
        if found is None:
            done[node] = node
        else:
            inputs = tuple(_simple(i, done) for i in found.inputs)
            done[node] = _simple(on_inputs(found, inputs), done)
    return done[node]


def _known(node):
    """Compute what depends on constants alone, if it is small and exact in the executor's hands."""
    row = OPERATIONS[node.operation]
    if not node.inputs or any(i.operation != "constant" for i in node.inputs):
        return None
    if node.operation == "custom_op":  # which runs on the chip, whatever it is called with
        return None
    if row.value is None or row.outside or node.type.size > MOST_FOLDED:
        return None
    types = [node.type, *(i.type for i in node.inputs)]
    if any(t.is_float and t.dtype != "float32" for t in types):
        return None
    with np.errstate(all="ignore"):
        value = row.value(node, *(constant_array(i) for i in node.inputs))
    return constant(np.asarray(value, carrier(node.dtype)).reshape(node.shape), node.dtype)


def _unstretched(node):
    """Drop a broadcast in front of an elementwise operation, which stretches by itself."""
    if not OPERATIONS[node.operation].is_elementwise or len(node.inputs) < 2:
        return None
    inputs = tuple(
        i.inputs[0] if i.operation == "broadcast" and i.inputs[0].type.rank == i.type.rank else i
        for i in node.inputs
    )
    if inputs == node.inputs:
        return None
    for kept in (inputs, *_with_one_stretched(node.inputs, inputs)):
        with suppress(GraphError):  # of an operation whose operands have to be alike
            found = on_inputs(node, kept)
            if found.type == node.type:
                return found if found is not node else None
    return None


def _with_one_stretched(before, inputs):
    """Yield the inputs with one after the other as wide as it was: someone has to be."""
    for k, one in enumerate(before):
        yield (*inputs[:k], one, *inputs[k + 1 :])


def _is_all(node, number):
    return node.operation == "constant" and bool((constant_array(node) == number).all())


def _neutral(number, *, right_only=False):
    """Return the rule that drops an operand which changes nothing."""

    def rule(node):
        a, b = node.inputs
        if _is_all(b, number) and a.type == node.type:
            return a
        if not right_only and _is_all(a, number) and b.type == node.type:
            return b
        return None

    return rule


def _twice(node):
    """-(-x) is x."""
    inner = node.inputs[0]
    return inner.inputs[0] if inner.operation == node.operation else None


def _times_two_constants(node):
    """(x * a) * b is x * (a * b)."""
    for inner, b in (node.inputs, node.inputs[::-1]):
        if b.operation != "constant" or inner.operation != "multiply":
            continue
        for x, a in (inner.inputs, inner.inputs[::-1]):
            if a.operation == "constant" and inner.dtype == "float32":
                product = apply("multiply", a, b, like=node)
                if product.type.size <= MOST_FOLDED:
                    return apply("multiply", x, product, like=node)
    return None


def _same_shape(node):
    x = node.inputs[0]
    if x.shape == node.shape:
        return x
    if x.operation == "reshape":
        return apply("reshape", x.inputs[0], like=node, shape=node.shape)
    return None


def _same_type(node):
    return node.inputs[0] if node.inputs[0].type == node.type else None


def _turns(node) -> tuple[int, ...] | None:
    """Return a transpose's order of axes, counted from the front."""
    if node.operation != "transpose":
        return None
    return tuple(axis + node.type.rank for axis in node.of["perm"])


def _transposed_twice(node):
    axes, x = _turns(node), node.inputs[0]
    inner = _turns(x)
    if axes == tuple(range(len(axes))):
        return x
    if inner is None:
        return None
    rank = len(axes)
    both = tuple(inner[axis] - rank for axis in axes)
    return apply("transpose", x.inputs[0], like=node, perm=both)


def _turned_operands(node):
    """Drop a transpose of the last two axes in front of a product, which turns by itself."""
    attributes, inputs = dict(node.of), list(node.inputs)
    for k, name in enumerate(("turn_a", "turn_b")):
        axes = _turns(inputs[k])
        if axes is None:
            continue
        *front, row, column = range(len(axes))
        if axes == (*front, column, row):
            inputs[k] = inputs[k].inputs[0]
            attributes[name] = not attributes[name]
    return apply("dot", *inputs, like=node, **attributes) if attributes != node.of else None


#: operation -> rules, tried in this order
RULES: dict[str, tuple[Callable[[Node], Node | None], ...]] = {
    "add": (_neutral(0),),
    "subtract": (_neutral(0, right_only=True),),
    "multiply": (_neutral(1), _times_two_constants),
    "divide": (_neutral(1, right_only=True),),
    "negate": (_twice,),
    "reshape": (_same_shape,),
    "broadcast": (_same_type,),
    "transpose": (_transposed_twice,),
    "cast": (_same_type,),
    "dot": (_turned_operands,),
}
