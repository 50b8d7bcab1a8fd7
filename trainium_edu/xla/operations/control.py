"""Control flow in the graph: ``while`` and ``cond``, and the tuples of results they have.

The hardware's sequencers have registers, compares and jumps; Trn1's compiler builds control flow
into the graph and bounds its trips, so a ``while`` states how many it makes at most and is timed so
often.  A ``cond`` is timed by its longer branch.
"""

from functools import reduce

import numpy as np

from trainium_edu.xla.graph import Graph, GraphError, Node, Type, Unfit, type_text
from trainium_edu.xla.operations.moves import copied
from trainium_edu.xla.operations.shapes import zeros
from trainium_edu.xla.operations.table import apply, parameter, register
from trainium_edu.xla.refusals import sentence

__all__ = ["item", "items"]


# -- tuples -----------------------------------------------------------------------------------


def item(node: Node, index: int) -> Node:
    """Return one result of an operation that has several."""
    return node.inputs[index] if node.operation == "tuple" else apply("item", node, index=index)


def items(node: Node) -> list[Node]:
    """Return all results of an operation, of which there may be only one."""
    if isinstance(node.type, Type):
        return [node]
    return [item(node, index) for index in range(len(node.type))]


def _infer_item(types, index) -> Type:
    if isinstance(types, Type) or not 0 <= index < len(types):
        raise Unfit("it picks one of several results")
    return types[index]


def _item_back(node, g):
    """Fill the other results' places with zeros."""
    parts = [zeros(type) for type in node.inputs[0].type]
    parts[node.of["index"]] = g
    return (apply("tuple", *parts),)


register(
    "item", _infer_item, value=lambda node, values: values[node.of["index"]], vjp=_item_back,
    flops=lambda node: 0,
    lower=lambda lowering, node: lowering.alias(
        node, lowering.view(node.inputs[0])[node.of["index"]]
    ),
)  # fmt: skip
register(
    "tuple", lambda *types: types, value=lambda node, *arrays: arrays, flops=lambda node: 0,
    vjp=lambda node, g: tuple(items(g)),
    lower=lambda lowering, node: lowering.alias(node, tuple(map(lowering.view, node.inputs))),
)  # fmt: skip


# -- while ------------------------------------------------------------------------------------


def _types(nodes) -> tuple[Type, ...]:
    return tuple(node.type for node in nodes)


def _check_takes(whose, types, **graphs: Graph):
    """Raise unless inner graphs take values of these types."""
    for name, graph in graphs.items():
        if _types(graph.parameters) != types:
            takes = f"{type_text(_types(graph.parameters))}, and its {whose} {type_text(types)}"
            raise Unfit(f"its {name} takes {takes}; both must be the same")


def _infer_while(*state: Type, condition: Graph, body: Graph, most: int | None = None) -> tuple:
    _check_takes("state is", state, condition=condition, body=body)
    if _types(condition.outputs) != (Type((), "bool"),):
        gives = type_text(_types(condition.outputs))
        raise Unfit(f"its condition gives {gives}; it must give one bool")
    if _types(body.outputs) != state:
        made = f"{type_text(_types(body.outputs))} of {type_text(state)}"
        raise Unfit(f"its body makes {made}; shapes and dtypes must stay the same")
    if most is not None and most < 1:
        raise Unfit("it runs at most a whole number of times, from 1")
    return state


def _while(node, inner, *state):
    condition, body, most = (node.of.get(k) for k in ("condition", "body", "most"))
    turn = 0
    while True:
        (goes_on,) = inner.run(condition, state, turn)
        if not goes_on.any():
            return tuple(state)
        if turn == most:
            raise RuntimeError(sentence("flow.beyond_bound", node=node, most=most))
        new = inner.run(body, state, turn)
        state = _where(goes_on, new, state, node.type)
        turn += 1


def _where(chosen, yes, no, types):
    """Choose results, for each replica where they differ."""
    if chosen.all():
        return yes
    if not chosen.any():
        return no
    return [
        np.where(chosen.reshape(-1, *(1,) * type.rank), a, b)
        for a, b, type in zip(yes, no, types, strict=True)
    ]


def _lower_while(lowering, node):
    """Issue the turns that are made; without values one turn, timed as often as its bound says."""
    core, condition, body = lowering.core, node.of["condition"], node.of["body"]
    state = [copied(core, lowering.view(one)) for one in node.inputs]
    lowering.alias(node, tuple(state))

    def goes_on():
        return lowering.inside(condition, state)[0]

    def turn():
        new = lowering.inside(body, state)
        new = [copied(core, view) if any(view.buffer is s.buffer for s in state) else view
               for view in new]  # fmt: skip
        for here, view in zip(state, new, strict=True):
            core.dma_copy(dst=here, src=view)

    if core.values:
        while core.value(goes_on()).any():
            turn()
        return
    most = node.of.get("most")
    if most is None:
        raise GraphError(sentence("flow.no_bound", node=node))
    with core.repeat(most):
        goes_on()
        turn()


register("while", _infer_while, value=_while, lower=_lower_while, outside=True,
         flops=lambda node: 0)  # fmt: skip


# -- cond -------------------------------------------------------------------------------------


def _infer_cond(predicate: Type, *operands: Type, on_true: Graph, on_false: Graph) -> tuple:
    if predicate != Type((), "bool"):
        raise Unfit(f"its predicate is {predicate}; it must be one bool")
    _check_takes("operands are", operands, on_true=on_true, on_false=on_false)
    if _types(on_true.outputs) != _types(on_false.outputs):
        yes, no = (type_text(_types(graph.outputs)) for graph in (on_true, on_false))
        raise Unfit(f"on_true gives {yes} and on_false {no}; shapes and dtypes must be the same")
    return _types(on_true.outputs)


def _cond(node, inner, predicate, *operands):
    on_true, on_false = node.of["on_true"], node.of["on_false"]
    yes = inner.run(on_true, operands, 0) if predicate.any() else None
    no = inner.run(on_false, operands, 0) if not predicate.all() else None
    return tuple(_where(predicate, yes, no, node.type))


def _cond_back(node, g, gradients):
    """Choose between the gradients of the two branches."""
    predicate, *operands = node.inputs
    float_operands = [i for i, one in enumerate(operands) if one.type.is_float]
    float_results = [i for i, type in enumerate(node.type) if type.is_float]
    operand_gradients: list[Node | None] = [None] * len(node.inputs)
    if float_operands and float_results:
        branches = {
            name: _gradient_of(node.of[name], float_operands, float_results, gradients)
            for name in ("on_true", "on_false")
        }
        both = apply("cond", predicate, *operands, *(item(g, i) for i in float_results), **branches)
        for position, i in enumerate(float_operands):
            operand_gradients[1 + i] = item(both, position)
    return tuple(operand_gradients)


def _gradient_of(graph: Graph, float_operands, float_results, gradients) -> Graph:
    """Return the graph from operands and gradients of results to gradients of operands."""
    inputs, first = [graph.parameters[i] for i in float_operands], len(graph.parameters)
    result_gradients = [
        parameter(first + position, graph.outputs[i].type, "gradient")
        for position, i in enumerate(float_results)
    ]
    parts = [
        gradients(graph.outputs[i], inputs, up)
        for i, up in zip(float_results, result_gradients, strict=True)
    ]
    sums = []
    for operand, *several in zip(inputs, *parts, strict=True):
        known = [part for part in several if part is not None]
        sums.append(
            reduce(lambda a, b: apply("add", a, b), known) if known else zeros(operand.type)
        )
    return Graph(f"{graph.name}_gradient", (*graph.parameters, *result_gradients), tuple(sums))


def _lower_cond(lowering, node):
    """Issue the branch that is taken; without values the one that takes longer."""
    predicate, *operands = node.inputs
    branches = node.of["on_true"], node.of["on_false"]
    if lowering.core.values:
        taken = branches[not lowering.core.value(lowering.view(predicate)).any()]
    else:
        taken = max(branches, key=lowering.duration_ns)
    lowering.alias(node, tuple(lowering.inside(taken, [lowering.view(one) for one in operands])))


register("cond", _infer_cond, value=_cond, vjp=_cond_back, lower=_lower_cond, outside=True,
         flops=lambda node: 0)  # fmt: skip
