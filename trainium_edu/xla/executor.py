"""Values of a graph, operation by operation: BLAS and NumPy in FP32, each result rounded once.

A *plan* is made once per graph: what to call in which order, and when an array is needed no more.
Arrays hold float32 for every floating dtype, rounded to the numbers that the dtype has.
"""

from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np

from trainium_edu.numerics import rounding
from trainium_edu.xla.graph import Graph, Node, Type
from trainium_edu.xla.operations.table import OPERATIONS, carrier

__all__ = ["Plan", "Setting", "as_held"]

_FORMATS = {"bfloat16": "bf16", "float16": "fp16", "tfloat32": "tf32", "float8_e4m3": "fp8_e4m3",
            "float8_e5m2": "fp8_e5m2"}  # fmt: skip


@dataclass(frozen=True, slots=True)
class Setting:
    """How one execution rounds, and who sums over ranks.

    Attributes
    ----------
    rounding : {"nearest", "stochastic"}
    seed : int
    step : int
        Counts executions, so that each draws other bits.
    replicas : int or None
        Size of the leading axis that replicated values have; None without one.
    collectives : object or None
        Has a method for each kind of collective that the graph asks for.
    """

    rounding: str = "nearest"
    seed: int = 0
    step: int = 0
    replicas: int | None = None
    collectives: object = None


def as_held(values, type: Type) -> np.ndarray:
    """Return values as the executor holds them: in the carrier dtype, rounded to `type`'s."""
    array = np.asarray(values)
    held = array.astype(carrier(type.dtype), copy=False)
    return _rounded(held, type, Setting(), 0)


def _rounded(array, type, setting, place):
    fmt = _FORMATS.get(type.dtype)
    if fmt is None:
        return array
    if setting.rounding == "nearest":
        return rounding.round_to(array, fmt)
    step = setting.step * 2**20 + place
    if array.ndim == type.rank:
        return rounding.round_to(array, fmt, "stochastic", seed=setting.seed, step=step)
    out = np.empty_like(array)
    for i, one in enumerate(array):  # replicas share their random bits, so equal ones stay equal
        out[i] = rounding.round_to(one, fmt, "stochastic", seed=setting.seed, step=step)
    return out


@dataclass(frozen=True, slots=True)
class Inner:
    """What an operation that looks outside gets: the setting, and a way to run inner graphs."""

    setting: Setting
    place: int  #: of the operation in its plan
    plans: dict  #: Graph -> Plan

    def run(self, graph: Graph, arrays, turn: int) -> list[np.ndarray]:
        """Return the outputs of an inner graph; every turn draws other random bits."""
        plan = self.plans.get(graph)
        if plan is None:
            plan = self.plans[graph] = Plan(graph)
        apart = 0x9E3779B97F4A7C15 * (self.place * 2**20 + turn + 1)
        setting = replace(self.setting, seed=(self.setting.seed + apart) % 2**64)
        return plan.run(arrays, setting)


class Plan:
    """The order of execution of one graph; made once, run often.

    Parameters
    ----------
    graph : Graph
    """

    def __init__(self, graph: Graph):
        self.graph = graph
        slot = {node: i for i, node in enumerate(graph._all)}
        self._slots = len(slot)
        self._inputs = [slot[p] for p in graph.parameters]
        self._outputs = [slot[o] for o in graph.outputs]
        last = {}
        steps = [n for n in graph.nodes if n.operation != "parameter"]
        for place, node in enumerate(steps):
            for one in node.inputs:
                last[slot[one]] = place
        self._inner: dict[Graph, Plan] = {}
        kept = {*self._outputs}
        self._steps = [
            (node, OPERATIONS[node.operation], tuple(slot[i] for i in node.inputs), slot[node],
             tuple(s for s in dict.fromkeys(slot[i] for i in node.inputs)
                   if last[s] == place and s not in kept))
            for place, node in enumerate(steps)
        ]  # fmt: skip

    def run(self, feeds: Sequence[np.ndarray], setting: Setting | None = None, *,
            look=None) -> list[np.ndarray]:  # fmt: skip
        """Compute the outputs.

        Parameters
        ----------
        feeds : sequence of array
            One per parameter, as :func:`as_held` returns them.
        setting : Setting, optional
        look : callable (Node, array), optional
            Called with every value.
        """
        setting = Setting() if setting is None else setting
        held: list = [None] * self._slots
        for slot, array in zip(self._inputs, feeds, strict=True):
            held[slot] = array
        with np.errstate(all="ignore"):
            for place, (node, row, inputs, slot, done) in enumerate(self._steps):
                arrays = [held[i] for i in inputs]
                value = self._value(node, row, arrays, setting, place)
                if isinstance(node.type, Type):
                    value = _rounded(value, node.type, setting, place)
                held[slot] = value
                for one in done:
                    held[one] = None
                if look is not None:
                    look(node, value)
        return [held[slot] for slot in self._outputs]

    def _value(self, node: Node, row, arrays, setting, place):
        if row.outside:
            return row.value(node, Inner(setting, place, self._inner), *arrays)
        if not row.by_replica or setting.replicas is None:
            return row.value(node, *arrays)
        has = [a.ndim > i.type.rank for a, i in zip(arrays, node.inputs, strict=True)]
        if not any(has):
            return row.value(node, *arrays)
        return np.stack([
            row.value(node, *(a[r] if own else a for a, own in zip(arrays, has, strict=True)))
            for r in range(setting.replicas)
        ])  # fmt: skip
