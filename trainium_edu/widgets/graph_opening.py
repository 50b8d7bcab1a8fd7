"""From an operation of a compiled graph to its instructions, and of a matmul to the array."""

from collections.abc import Callable
from itertools import accumulate

import ipywidgets
import numpy as np

from trainium_edu.neuroncore.systolic_array import SystolicArray
from trainium_edu.specs.signatures import checked
from trainium_edu.widgets.card import Prose
from trainium_edu.widgets.systolic_array import array_player
from trainium_edu.widgets.timeline_explorer import timeline_explorer
from trainium_edu.xla.executable import Executable
from trainium_edu.xla.graph import Node

__all__ = ["instructions_of"]

_SIDE = 4  # of the array that is drawn, and the most of K, M and N
_MARGIN = 0.05  # of an operation's time, shown before and after it


@checked
def instructions_of(executable: Executable) -> Callable:
    """Return what opens the operations of an executable, for ``graph_explorer(open_operation=)``.

    Parameters
    ----------
    executable : Executable

    Returns
    -------
    callable
        Takes an id of ``describe(executable)``.  Returns the timeline of the program that the
        operation is in, at the time when it runs; below a matmul's, a small systolic array at the
        same kind of work.  Returns a sentence for a collective, None for what issues nothing.

    Examples
    --------
    >>> from trainium_edu.xla.graph import Graph, as_type
    >>> from trainium_edu.xla.operations import apply, parameter
    >>> x = parameter(0, as_type((128, 64), "float32"), "x")
    >>> open_operation = instructions_of(Executable(Graph("one", (x,), (apply("exp", x),))))
    >>> open_operation(1).children[0]
    TimelineExplorer('exp', 3 instructions, 3.045 µs)
    """
    return lambda operation: _opened(executable, operation)


def _opened(executable, number):
    one = executable.operations()[number]
    if one.section is None:
        return None
    section = executable.sections[one.section]
    if section.body.is_collective:
        return f"{one.node.operation} is done by all ranks together: it waits for links, not here."
    begins = [0.0, *accumulate(times.makespan_ns for _, times in executable.timed())]
    start, end = (ns - begins[one.section] for ns in (one.start_ns, one.end_ns))
    margin = _MARGIN * (end - start)
    timeline = timeline_explorer(
        section.body.run, memory=False, window=(max(0.0, start - margin), end + margin)
    )
    return ipywidgets.VBox([timeline, *_array_of(one.node)])


def _array_of(node: Node) -> list:
    """Return a small product of a matmul's kind, cycle by cycle; nothing for other operations."""
    if node.operation != "dot":
        return []
    rows = node.inputs[0].shape[-2 if node.of["turn_a"] else -1]
    sizes = rows, *node.shape[-2:]
    k, m, n = (min(_SIDE, size) for size in sizes)
    said = (
        f"**The same in the Tensor Engine.** This product has K = {sizes[0]}, M = {sizes[1]}, "
        f"N = {sizes[2]}. Here {k} × {m} × {n} of it goes through {_SIDE} × {_SIDE} of the array's "
        "128 × 128 processing elements, with small numbers in place of the values."
    )
    numbers = np.arange(k, dtype=np.float32)[:, None]
    player = array_player(
        (numbers + np.arange(m)) % 3 - 1, (numbers + 2 * np.arange(n)) % 5 - 2,
        array=SystolicArray(_SIDE, _SIDE),
    )  # fmt: skip
    return [ipywidgets.HTML(Prose(said)._repr_html_()), player]
