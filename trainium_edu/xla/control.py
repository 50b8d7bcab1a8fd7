"""Loops and branches inside the graph: ``while_loop`` and ``cond`` on lazy tensors.

Python's own ``while`` and ``if`` run while the graph is recorded: a loop is unrolled, a branch is
taken for good, and a condition on a tensor cuts the graph.  These two stay in it.  Sizes are fixed
when the graph is compiled; what may change from run to run is how often a loop turns (up to a
stated bound) and where an access begins (indices are data: ``take(x, start + arange(n))``).
"""

from collections.abc import Callable, Mapping, Sequence
from typing import Any

from trainium_edu.specs.signatures import checked
from trainium_edu.xla.device import Device
from trainium_edu.xla.graph import Graph, GraphError, Node, Type
from trainium_edu.xla.operations import apply, parameter
from trainium_edu.xla.operations.control import items
from trainium_edu.xla.refusals import sentence
from trainium_edu.xla.tensor import Tensor, of_node

__all__ = ["cond", "while_loop"]


@checked
def while_loop(condition: Callable, body: Callable, state: Sequence[Tensor], *, most: int) -> tuple:
    """Repeat a body in the graph, as long as a condition holds.

    Parameters
    ----------
    condition, body : callable
        Of the state's tensors; called once each, to record them.  The condition returns one bool,
        the body the new state, of the same shapes and dtypes.
    state : sequence of Tensor
    most : int
        The most turns; a program for the chip is made, and timed, for a bound.

    Returns
    -------
    tuple of Tensor

    Raises
    ------
    GraphError
        If shapes or dtypes change from turn to turn, or an inner function uses a tensor that is not
        part of the state.

    Examples
    --------
    >>> from trainium_edu import xla
    >>> device = xla.Device()
    >>> n, total = (xla.as_tensor(x, device) for x in (0.0, 1.0))
    >>> _, total = while_loop(lambda n, t: n < 10.0, lambda n, t: (n + 1.0, t * 2.0), [n, total],
    ...                       most=16)
    >>> device.mark_step()
    >>> total.item()
    1024.0
    """
    if not state:
        raise GraphError("while_loop has no state; without one its condition never changes")
    return _results("while", (), state, {"condition": condition, "body": body}, most=most)


@checked
def cond(predicate: Tensor, on_true: Callable, on_false: Callable, *operands: Tensor) -> tuple:
    """Choose between two functions in the graph; both are compiled, one runs.

    Parameters
    ----------
    predicate : Tensor
        One bool.
    on_true, on_false : callable
        Of the operands; results of equal shapes and dtypes.
    *operands : Tensor

    Returns
    -------
    tuple of Tensor

    Examples
    --------
    >>> from trainium_edu import xla
    >>> device = xla.Device()
    >>> x = xla.as_tensor([3.0, 4.0], device)
    >>> (y,) = cond(x.sum() > 5.0, lambda x: x / 2.0, lambda x: x, x)
    >>> device.mark_step()
    >>> y.numpy().tolist()
    [1.5, 2.0]
    """
    return _results("cond", (predicate,), operands, {"on_true": on_true, "on_false": on_false})


def _results(operation, first, operands, functions: Mapping[str, Callable], **more) -> tuple:
    """Return the results of an operation whose inner functions take the operands."""
    types = [tensor.type for tensor in operands]
    graphs: Any = {name: _recorded(name, function, types) for name, function in functions.items()}
    every = (*first, *operands)
    node = apply(operation, *(tensor.as_node() for tensor in every), **graphs, **more)
    return tuple(of_node(every[0].device, result) for result in items(node))


class _Inner(Device):
    """The device that records an inner function: numbers are constants, other data stay outside."""

    def evaluate(self, tensor) -> None:
        """Refuse to compute: there is no value while an inner function is recorded."""
        raise GraphError(sentence("control.value_inside", tensor=tensor))

    def leaf(self, array, type, name="", tensor=None, origin=None) -> Node:
        """Refuse tensors that are not passed as arguments."""
        raise GraphError(sentence("control.data_inside", type=type))


def _recorded(name: str, function: Callable, types: Sequence[Type]) -> Graph:
    """Call a function on stand-ins and return the graph of what it does."""
    device = _Inner(f"the inner function {name}")
    device.lifted = set()
    takes = [parameter(i, type) for i, type in enumerate(types)]
    found = function(*(of_node(device, node) for node in takes))
    found = found if isinstance(found, tuple | list) else (found,)
    for one in found:
        if not isinstance(one, Tensor) or one.device is not device:
            kind = f"a {one.type} tensor" if isinstance(one, Tensor) else type(one).__name__
            raise GraphError(sentence("control.foreign_result", name=name, kind=kind))
    return Graph(name, tuple(takes), tuple(one.as_node() for one in found))
