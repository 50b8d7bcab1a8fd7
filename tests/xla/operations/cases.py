"""A case of an operation: types of its inputs, attributes, and judges in NumPy and PyTorch.

The cases of arithmetic are in ``cases_math.py``, those of moves in ``cases_move.py``; the test
files here run all of them.
"""

from collections.abc import Callable
from dataclasses import dataclass, field, replace
from importlib import import_module
from importlib.util import find_spec

import numpy as np

from trainium_edu.neuroncore import NeuronCore
from trainium_edu.xla.executor import Plan, Setting, as_held
from trainium_edu.xla.graph import Graph, Node, Type
from trainium_edu.xla.lowering import lower
from trainium_edu.xla.operations import apply, parameter


@dataclass(frozen=True)
class Case:
    """One operation on inputs of these types.

    Attributes
    ----------
    operation : str
    types : tuple of Type
    numpy : callable (*arrays) -> array, or None
        The judge of values.
    torch : callable (*tensors) -> tensor, or None
        The judge of gradients, and of values where NumPy has none.
    low, high : float
        Where the inputs lie.
    attributes : dict
    flat : tuple of int
        The inputs to which no gradient flows.
    is_smooth : bool
        Whether a gradient flows.
    is_lowered : bool
        Whether its values can be held against its instructions'.
    """

    operation: str
    types: tuple[Type, ...]
    numpy: Callable | None = None
    torch: Callable | None = None
    low: float = -2.0
    high: float = 2.0
    attributes: dict = field(default_factory=dict)
    flat: tuple[int, ...] = ()
    is_smooth: bool = True
    is_lowered: bool = True

    def __str__(self):
        return "-".join([self.operation, *map(str, self.types)]).replace(" ", "")

    def of_dtype(self, dtype):
        """Return the case with its FP32 inputs in another dtype."""
        types = tuple(t.like(dtype=dtype) if t.dtype == "float32" else t for t in self.types)
        attributes = {k: dtype if v == "float32" else v for k, v in self.attributes.items()}
        return replace(self, types=types, attributes=attributes)

    def arrays(self, seed=0, lead=()):
        """Return inputs as the executor holds them; `lead`: of so many replicas."""
        rng = np.random.default_rng(seed)
        return [as_held(_draw(rng, t.like((*lead, *t.shape)), self), t) for t in self.types]

    def graph(self) -> Graph:
        """Return the graph of this one operation on parameters."""
        return graph_of(self.operation, *self.types, **self.attributes)


def f(*shape, dtype="float32"):
    return Type(shape, dtype)


def i(*shape):
    return Type(shape, "int32")


def b(*shape):
    return Type(shape, "bool")


def graph_of(operation, *types, **attributes) -> Graph:
    """Return the graph of one operation on parameters of these types."""
    inputs = tuple(parameter(n, t) for n, t in enumerate(types))
    return Graph(operation, inputs, (apply(operation, *inputs, **attributes),))


def _draw(rng, type, case):
    if type.dtype == "bool":
        return rng.integers(0, 2, type.shape).astype(bool)
    if not type.is_float:
        return rng.integers(int(case.low), int(case.high) + 1, type.shape)
    return rng.uniform(case.low, case.high, type.shape)


def values(graph: Graph, arrays, replicas=None):
    """Return the executor's values of a graph's outputs."""
    return Plan(graph).run(arrays, Setting(replicas=replicas))


def lowered(graph: Graph, arrays, core=None):
    """Return (core, values of the outputs) of a graph's instructions."""
    core = NeuronCore() if core is None else core
    lowering = lower(graph, core, dict(zip(graph.parameters, arrays, strict=True)))
    found = [core.value(lowering.view(o)).reshape(o.shape) for o in graph.outputs]
    return core, [np.asarray(v).astype(np.float64) for v in found]


def add_up(node: Node, weights: Node) -> Node:
    """Return the sum of a node's elements, weighted."""
    axes = tuple(range(-node.type.rank, 0))
    return apply("reduce_sum", apply("multiply", node, weights), axes=axes, keep=False)


def families() -> list:
    """Return the modules of cases that are there."""
    names = [f"tests.xla.operations.cases_{family}" for family in ("math", "move")]
    return [import_module(name) for name in names if find_spec(name)]


def all_cases() -> list[Case]:
    """Return the cases of all families."""
    return [case for family in families() for case in family.CASES]
