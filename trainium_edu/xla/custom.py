"""Operators in C++ on lazy tensors: a node of the graph like any other."""

from trainium_edu.neuroncore.gpsimd_cpp import Operator
from trainium_edu.specs.signatures import checked
from trainium_edu.xla.tensor import Tensor, called

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
    (result,) = called(operator, arguments, backward)
    return result
