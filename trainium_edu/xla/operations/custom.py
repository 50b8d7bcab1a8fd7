"""An operator in C++ as a node: its shape function when it is recorded, its kernel when it runs.

A node names its operator by a digest of sources and flags; who holds the library hands the operator
in with :func:`node_of`.  Its time is that of a call with numbers of a normal distribution, since a
program may do more with some values than with others.
"""

from collections.abc import Sequence

import numpy as np

from trainium_edu.neuroncore.engines.custom_op import label_of
from trainium_edu.neuroncore.gpsimd_cpp import Operator, OperatorError
from trainium_edu.neuroncore.recording.dtypes import DTYPES as STORED
from trainium_edu.xla.graph import DTYPES, Graph, GraphError, Node, Type, as_type
from trainium_edu.xla.operations.table import apply, carrier, register

__all__ = ["check_libraries", "node_of"]

_known: dict[str, Operator] = {}


def node_of(operator: Operator, arguments: Sequence, backward: Operator | None = None) -> Node:
    """Return the node of an operator on nodes and numbers.

    Parameters
    ----------
    operator : Operator
    arguments : sequence of Node or float
        As its functions take them.
    backward : Operator, optional
        Takes the gradient of the result and the same arguments; returns that of the first tensor.

    Raises
    ------
    GraphError
        If the shape function refuses.
    """
    for one in (operator, backward):
        if one is not None:
            _known[one.digest] = one
    numbers = tuple("" if isinstance(a, Node) else float(a) for a in arguments)
    return apply(
        "custom_op", *(a for a in arguments if isinstance(a, Node)), key=operator.digest,
        name=operator.name, library=operator.library.name, numbers=numbers,
        backward=backward.digest if backward else "",
    )  # fmt: skip


def check_libraries(graph: Graph) -> None:
    """Raise if a graph has operators of two libraries: a model can have one."""
    names = {node.of["library"]: node for node in graph.nodes if node.operation == "custom_op"}
    if len(names) > 1:
        where = next(iter(names.values())).line
        raise GraphError(
            f"{graph.name} has operators of the libraries {' and '.join(names)}"
            f"{f' (the last at {where})' if where else ''}; a model can have one library of custom "
            "operators: register all functions in it"
        )


def _operator(key: str, name: str) -> Operator:
    operator = _known.get(key)
    if operator is None:
        raise GraphError(
            f"the custom operator {name} is not loaded here, or its sources have changed; load its "
            "library first"
        )
    return operator


def _filled(numbers, tensors) -> list:
    """Return an operator's arguments: numbers where they are, tensors in between."""
    rest = iter(tensors)
    return [next(rest) if number == "" else number for number in numbers]


def _infer(*types: Type, key, name, numbers, library, backward):
    try:
        given = [(t.shape, t.dtype) for t in types]
        shape, dtype = _operator(key, name).shape(*_filled(numbers, given))
    except OperatorError as problem:
        raise GraphError(str(problem)) from None
    if dtype not in DTYPES:
        raise GraphError(f"{name} returns {dtype}, and a graph knows {', '.join(DTYPES)}")
    return as_type(shape, dtype)


def _value(node, *arrays):
    stored = [
        np.asarray(a, STORED[i.dtype].storage) for a, i in zip(arrays, node.inputs, strict=True)
    ]
    operator = _operator(node.of["key"], node.of["name"])
    return operator(*_filled(node.of["numbers"], stored)).astype(carrier(node.dtype))


def _vjp(node, gradient):
    of = node.of
    if not of["backward"]:
        return tuple(None for _ in node.inputs)
    numbers = ("", *of["numbers"])
    made = apply(
        "custom_op", gradient, *node.inputs, key=of["backward"],
        name=_operator(of["backward"], of["name"]).name, library=of["library"], numbers=numbers,
        backward="",
    )  # fmt: skip
    return made, *(None for _ in node.inputs[1:])


def _lower(lowering, node):
    of = node.of
    operator = _operator(of["key"], of["name"])
    types = [(i.shape, i.dtype) for i in node.inputs]
    works, sites, stack, *hot = operator.typical(*_filled(of["numbers"], types))
    core = lowering.core
    core.custom_op(
        dst=lowering.out(node), srcs=[lowering.view(i) for i in node.inputs], operator=of["name"],
        works=works, sites=sites, stack_bytes=stack,
        name=label_of(core.spec, of["name"], sites, *hot),
    )  # fmt: skip


register("custom_op", _infer, value=_value, vjp=_vjp, lower=_lower, by_replica=True)
