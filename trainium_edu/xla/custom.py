"""Operators in C++ on lazy tensors: a node of the graph like any other."""

from trainium_edu.neuroncore.gpsimd_cpp import Operator
from trainium_edu.specs.signatures import checked
from trainium_edu.xla.graph import GraphError
from trainium_edu.xla.operations.custom import node_of
from trainium_edu.xla.tensor import Tensor

__all__ = ["custom_op"]


@checked
def custom_op(operator: Operator, *arguments, backward: Operator | None = None) -> Tensor:
    """Record a custom operator.

    Parameters
    ----------
    operator : gpsimd_cpp.Operator
    *arguments : Tensor or float
    backward : gpsimd_cpp.Operator, optional
        Its gradient: takes that of the result, then the same arguments, and returns that of the
        first tensor.  Without one no gradient flows.

    Returns
    -------
    Tensor
        Of the shape and dtype that the shape function says; the kernel runs with the graph.

    Raises
    ------
    GraphError
        If no tensor is among the arguments, or the shape function refuses.
    """
    tensors = [a for a in arguments if isinstance(a, Tensor)]
    if not tensors:
        raise GraphError(f"{operator.name} is called without a lazy tensor; call it directly")
    given = [a.as_node() if isinstance(a, Tensor) else a for a in arguments]
    node = node_of(operator, given, backward)
    return Tensor(tensors[0].device, node.type, node)
