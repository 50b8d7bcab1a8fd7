"""A lazy device: what was recorded on it and has not run yet; ``mark_step`` runs it.

Data on the device enter a graph as parameters, numbered in the order of their first use since the
last cut.  So a loop that does the same again records the very same nodes, and the cut finds its
executable by the identity of the roots.
"""

import itertools
import time
from collections.abc import Callable
from dataclasses import dataclass, field
from weakref import WeakValueDictionary, ref

import numpy as np

from trainium_edu.xla import graph as graphs
from trainium_edu.xla.compiler import Compiler
from trainium_edu.xla.executor import Setting, as_held
from trainium_edu.xla.graph import Graph, Node, Type, walk
from trainium_edu.xla.operations import constant, parameter

__all__ = ["Device", "cut"]

_serial = itertools.count()


@dataclass
class Pending:
    """What was recorded since the last cut."""

    feeds: list = field(default_factory=list)  #: the array behind each leaf, by its number
    leaves: dict = field(default_factory=dict)  #: leaf -> (weak tensor, node it was computed from)
    tensors: WeakValueDictionary = field(default_factory=WeakValueDictionary)  #: by serial number


class Device:
    """One NeuronCore as a lazy device.

    Parameters
    ----------
    name : str
    setting : Setting, optional
        Rounding, seed, replicas, collectives.
    compiler : Compiler, optional

    Attributes
    ----------
    step : int
        How often ``mark_step`` was called.
    """

    def __init__(self, name: str = "xla:0", *, setting: Setting | None = None, compiler=None):
        self.name = name
        self.setting = Setting() if setting is None else setting
        self.compiler = Compiler() if compiler is None else compiler
        self.step = self.executions = self.generation = 0
        self.pending = Pending()
        self.trained = WeakValueDictionary()  #: id -> tensors that want gradients, in order
        self._closures: list[tuple[Callable, tuple]] = []
        self._found: dict[tuple[Node, ...], tuple] = {}  # roots -> (executable, leaf numbers)
        self.seconds = {"compile": 0.0, "execute": 0.0}

    def __repr__(self):
        return f"device(type='xla', index={self.name.partition(':')[2] or 0})"

    def __str__(self):
        return self.name

    # -- recording ----------------------------------------------------------------------------

    def leaf(self, array: np.ndarray, type: Type, name: str = "", tensor=None, origin=None) -> Node:
        """Return the parameter that stands for data in the graph being recorded."""
        node = parameter(len(self.pending.feeds), type, name)
        self.pending.feeds.append(array)
        if origin is not None:
            self.pending.leaves[node] = (ref(tensor), origin)
        return node

    def scalar(self, value: float, dtype: str, rank: int) -> Node:
        """Return a Python number as a node: an input, so that it may change from step to step.

        0 and 1 are constants, as in PyTorch/XLA.
        """
        if value == 0 or value == 1:
            return constant(np.full((1,) * rank, value), dtype)
        type = Type((1,) * rank, dtype)
        return self.leaf(as_held(np.full(type.shape, value), type), type)

    def origin(self, leaf: Node) -> Node | None:
        """Return the node that a leaf's value was computed from since the last cut, or None."""
        found = self.pending.leaves.get(leaf)
        return found and found[1]

    def add(self, tensor) -> None:
        """Remember a tensor whose value is to be computed at the next cut, if it still lives."""
        self.pending.tensors[next(_serial)] = tensor

    # -- running ------------------------------------------------------------------------------

    def mark_step(self) -> None:
        """Cut the graph: run all that is pending, then the step closures.

        An error or an interrupt leaves everything as it was before the call.
        """
        tensors = [t for t in self.pending.tensors.values() if t.node is not None]
        if tensors:
            self._run(tensors)
        self.pending = Pending()
        for tensor in tensors:
            tensor.forget_node()
        self.step += 1
        graphs.forget()
        closures, self._closures = self._closures, []
        for function, arguments in closures:
            function(*arguments)

    def evaluate(self, tensor) -> None:
        """Run what one tensor needs, and only that; what else is pending stays so."""
        self._run([tensor])

    def _run(self, tensors) -> None:
        nodes = tuple(t.node for t in tensors)
        found = self._found.get(nodes)
        if found is None:
            graph, numbers = cut(nodes)
            start = time.perf_counter()
            found = self.compiler.get(graph, self.step), numbers
            self.seconds["compile"] += time.perf_counter() - start
            self._found[nodes] = found
        else:
            self.compiler.hit(self.step, found[0])
        executable, numbers = found
        setting = Setting(self.setting.rounding, self.setting.seed, self.executions,
                          self.setting.replicas, self.setting.collectives)  # fmt: skip
        start = time.perf_counter()
        values = executable.run([self.pending.feeds[n] for n in numbers], setting)
        self.seconds["execute"] += time.perf_counter() - start
        self.executions += 1
        for tensor, value in zip(tensors, values, strict=True):
            tensor.hold(value)

    def add_step_closure(self, function: Callable, arguments: tuple = ()) -> None:
        """Call a function after the next cut, in the order of asking."""
        self._closures.append((function, arguments))

    def reset(self) -> None:
        """Drop what is pending; tensors of this device cannot be used any more."""
        self.generation += 1
        self.pending = Pending()
        self._closures = []


def cut(roots: tuple[Node, ...], name: str = "step") -> tuple[Graph, list[int]]:
    """Make a graph of what roots need, its parameters numbered from 0.

    Returns
    -------
    graph : Graph
    numbers : list of int
        The number that each parameter had in the recording.
    """
    order = walk(roots)
    leaves = [node for node in order if node.operation == "parameter"]
    new = {leaf: parameter(i, leaf.type, leaf.of["name"]) for i, leaf in enumerate(leaves)}
    for node in order:
        if node not in new:
            inputs = tuple(new[i] for i in node.inputs)
            new[node] = node if inputs == node.inputs else graphs.intern(
                node.operation, inputs, node.attributes, lambda of=node: of.type, node
            )  # fmt: skip
    graph = Graph(name, tuple(new[leaf] for leaf in leaves), tuple(new[root] for root in roots))
    return graph, [leaf.of["number"] for leaf in leaves]
