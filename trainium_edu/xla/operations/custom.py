"""A custom call: an operator in C++, or a kernel in NKI, as a node.

Its type is known when it is recorded, its values when it runs.  A node names what it calls by a
digest of sources and arguments; who holds that hands it in with :func:`node_of`.  A kernel is timed
as a program of its own.  An operator's time is that of a call with numbers of a normal
distribution, since a program may do more with some values than with others.
"""

from collections.abc import Iterable, Sequence
from typing import Any

import numpy as np

from trainium_edu.neuroncore.engines.custom_op import label_of
from trainium_edu.neuroncore.gpsimd_cpp import Operator, OperatorError
from trainium_edu.neuroncore.recording.dtypes import DTYPES as STORED
from trainium_edu.neuroncore.run import Run
from trainium_edu.specs.record import Record
from trainium_edu.xla.graph import DTYPES, Graph, GraphError, Node, Type, as_type
from trainium_edu.xla.operations.table import apply, carrier, register
from trainium_edu.xla.refusals import sentence

__all__ = ["callee", "calls", "check_libraries", "is_alone", "node_of", "run_alone", "values_of"]

_known: dict[str, Any] = {}


def node_of(called, arguments: Sequence, backward: Operator | None = None) -> Node:
    """Return the node of a call with nodes and numbers.

    Parameters
    ----------
    called : Operator or recorded kernel
        Has ``name``, ``digest``, ``shape(*types)``, and computes when it is called.
    arguments : sequence of Node or float
        As its functions take them.
    backward : Operator, optional
        Takes the gradient of the result and the same arguments; returns that of the first tensor.

    Raises
    ------
    GraphError
        If the shape function refuses.
    """
    for one in (called, backward):
        if one is not None:
            _known[one.digest] = one
    numbers = tuple("" if isinstance(a, Node) else float(a) for a in arguments)
    return apply(
        "custom_op", *(a for a in arguments if isinstance(a, Node)), key=called.digest,
        name=called.name, library=called.library.name if isinstance(called, Operator) else "",
        numbers=numbers, backward=backward.digest if backward else "",
        flops=getattr(called, "flops", 0),
    )  # fmt: skip


def check_libraries(graph: Graph) -> None:
    """Raise if a graph has operators of two libraries: a model can have one."""
    names = {node.of["library"]: node for node in graph.nodes if node.operation == "custom_op"}
    names.pop("", None)  # of kernels, which need none
    if len(names) > 1:
        last = next(iter(names.values()))
        two, where = " and ".join(names), f" (the last{last.at})" if last.at else ""
        raise GraphError(sentence("custom.two_libraries", graph=graph, names=two, where=where))


def callee(key: str, name: str):
    """Return what a node calls.

    Raises
    ------
    GraphError
        If this process has not seen it.
    """
    found = _known.get(key)
    if found is None:
        raise GraphError(sentence("custom.not_loaded", name=name))
    return found


def calls(nodes: Iterable[Node]) -> bool:
    """Return whether custom calls are among nodes, which other processes cannot lower."""
    return any(node.operation == "custom_op" for node in nodes)


def is_alone(node: Node) -> bool:
    """Return whether a node is a program of its own: a kernel."""
    return node.operation == "custom_op" and not node.of["library"]


def run_alone(node: Node, spec: Record) -> Run:
    """Return the run of a kernel's node."""
    return callee(node.of["key"], node.of["name"]).timed_on(spec)


def _filled(numbers, tensors) -> list:
    """Return an operator's arguments: numbers where they are, tensors in between."""
    rest = iter(tensors)
    return [next(rest) if number == "" else number for number in numbers]


def _infer(*types: Type, key, name, numbers, library, backward, flops):
    try:
        results = callee(key, name).shape(*_filled(numbers, [(t.shape, t.dtype) for t in types]))
    except OperatorError as problem:
        raise GraphError(str(problem)) from None
    several = results if isinstance(results, list) else [results]
    for _, dtype in several:
        if dtype not in DTYPES:
            raise GraphError(f"{name} returns {dtype}, and a graph knows {', '.join(DTYPES)}")
    typed = tuple(as_type(shape, dtype) for shape, dtype in several)
    return typed if isinstance(results, list) else typed[0]


def values_of(called, arguments: Sequence, dtypes: Sequence[str]) -> list[np.ndarray]:
    """Return the results of a call with numbers, and arrays that hold numbers of these dtypes."""
    kinds = iter(dtypes)
    stored = [np.asarray(a, STORED[next(kinds)].storage) if isinstance(a, np.ndarray) else a
              for a in arguments]  # fmt: skip
    found = called(*stored)
    several = found if isinstance(found, list) else [found]
    return [one.astype(carrier(one.dtype.name)) for one in several]


def _value(node, *arrays):
    called = callee(node.of["key"], node.of["name"])
    found = values_of(called, _filled(node.of["numbers"], arrays), [i.dtype for i in node.inputs])
    return found[0] if isinstance(node.type, Type) else tuple(found)


def _vjp(node, gradient):
    of = node.of
    if not of["backward"]:
        return tuple(None for _ in node.inputs)
    numbers = ("", *of["numbers"])
    made = apply(
        "custom_op", gradient, *node.inputs, key=of["backward"],
        name=callee(of["backward"], of["name"]).name, library=of["library"], numbers=numbers,
        backward="", flops=0,
    )  # fmt: skip
    return made, *(None for _ in node.inputs[1:])


def _lower(lowering, node):
    of = node.of
    operator = callee(of["key"], of["name"])
    if is_alone(node):
        raise GraphError(sentence("custom.kernel_inside", name=of["name"]))
    types = [(i.shape, i.dtype) for i in node.inputs]
    works, sites, stack, *hot = operator.typical(*_filled(of["numbers"], types))
    core = lowering.core
    core.custom_op(
        dst=lowering.out(node), srcs=[lowering.view(i) for i in node.inputs], operator=of["name"],
        works=works, sites=sites, stack_bytes=stack,
        name=label_of(core.spec, of["name"], sites, *hot),
    )  # fmt: skip


register("custom_op", _infer, value=_value, vjp=_vjp, lower=_lower, by_replica=True,
         flops=lambda node: node.of["flops"] or sum(type.size for type in node.types))  # fmt: skip
