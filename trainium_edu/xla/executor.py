"""Values of a graph, operation by operation: BLAS and NumPy in FP32, each result rounded once.

A *plan* is made once per graph: what to call in which order, and when an array is needed no more.
Arrays hold float32 for every floating dtype, rounded to the numbers that the dtype has.

Arrays are let go at their last use and not kept in a pool of our own: the allocator hands the same
pages out again, and buffers passed as ``out=`` measured no faster (a test counts page faults).
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from functools import partial
from sys import getrefcount
from typing import NamedTuple

import numpy as np

from trainium_edu.numerics import rounding
from trainium_edu.specs.signatures import checked
from trainium_edu.xla.graph import Graph, GraphError, Node, Type
from trainium_edu.xla.operations.table import OPERATIONS, Operation, carrier, constant_array

__all__ = ["Plan", "Setting", "as_held", "hollow"]

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
    values : bool
        False: shapes only.  Nothing is computed, and data take no room.
    """

    rounding: str = "nearest"
    seed: int = 0
    step: int = 0
    replicas: int | None = None
    collectives: object = None
    values: bool = True


def as_held(values, type: Type) -> np.ndarray:
    """Return values as the executor holds them: in the carrier dtype, rounded to `type`'s."""
    array = np.asarray(values)
    held = array.astype(carrier(type.dtype), copy=False)
    return _rounded(held, type, Setting(), 0)


def hollow(type: Type) -> np.ndarray:
    """Return an array of a type's shape that takes no room: every element is the same zero."""
    return np.broadcast_to(np.zeros((), carrier(type.dtype)), type.shape)


def _draw(setting, place) -> int:
    """Return the generator's step for one operation of one execution."""
    return setting.step * 2**20 + place


def _rounded(array, type, setting, place, mode=None, in_place=False):
    fmt = _FORMATS.get(type.dtype)
    if fmt is None:
        return array
    if (mode or setting.rounding) == "nearest":
        return rounding.round_floats(array, fmt, in_place=in_place)
    rows = 1 if array.ndim == type.rank else len(array)  # replicas share their random bits
    return rounding.round_floats(
        array, fmt, "stochastic", seed=setting.seed, step=setting.step * 2**20 + place, rows=rows,
        in_place=in_place,
    )  # fmt: skip


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


class _Step(NamedTuple):
    """One operation of a plan; slots are places in the list of values."""

    node: Node
    row: Operation
    call: Callable  #: with the arrays, where replicas need no loop
    inputs: tuple[int, ...]
    slot: int
    done: tuple[int, ...]  #: slots that are read for the last time
    rounds: bool
    mode: str | None  #: how, where it does not round as the setting says


class Plan:
    """The order of execution of one graph; made once, run often.

    Parameters
    ----------
    graph : Graph
    """

    @checked
    def __init__(self, graph: Graph):
        self.graph = graph
        slot = {node: i for i, node in enumerate(graph._all)}
        self._inputs = [slot[p] for p in graph.parameters]
        self._outputs = [slot[o] for o in graph.outputs]
        self._start: list = [None] * len(slot)  # constants are there before anything runs
        self._inner: dict[Graph, Plan] = {}
        for node, place in slot.items():
            if node.operation == "constant":
                self._start[place] = as_held(constant_array(node), node.type)
        steps = [n for n in graph.nodes if n.operation not in ("parameter", "constant")]
        last = {slot[one]: place for place, node in enumerate(steps) for one in node.inputs}
        kept = {*self._outputs}
        self._steps = []
        for place, node in enumerate(steps):
            row, inputs = OPERATIONS[node.operation], tuple(slot[i] for i in node.inputs)
            done = tuple(s for s in dict.fromkeys(inputs) if last[s] == place and s not in kept)
            if row.value is None:
                raise GraphError(f"{node.operation} has no values here; its front brings them")
            call = partial(row.value, node)
            self._steps.append(
                _Step(
                    node, row, call, inputs, slot[node], done, not _is_exact(node, row), _mode(node)
                )
            )

    @checked
    def run(self, feeds: Sequence, setting: Setting | None = None, *,
            look: Callable | None = None) -> list[np.ndarray]:  # fmt: skip
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
        if len(feeds) != len(self._inputs):
            raise GraphError(f"{len(feeds)} feeds for a graph of {len(self._inputs)} parameters; "
                             "give one for each")  # fmt: skip
        held = self._start.copy()
        for slot, array in zip(self._inputs, feeds, strict=True):
            held[slot] = array
        with np.errstate(all="ignore"):
            for place, (node, row, call, inputs, slot, done, rounds, mode) in enumerate(
                self._steps
            ):
                arrays = [held[i] for i in inputs]
                if row.outside:
                    value = call(Inner(setting, place, self._inner), *arrays)
                elif row.by_replica and setting.replicas is not None:
                    value = _by_replica(node, call, arrays, setting.replicas)
                else:
                    value = call(*arrays)
                del arrays
                if rounds:
                    # nobody else holds it: this name, and getrefcount's
                    is_own = value.base is None and getrefcount(value) == 2
                    value = _rounded(value, node.type, setting, place, mode, is_own)
                held[slot] = value
                for one in done:
                    held[one] = None
                if look is not None:
                    look(node, value)
        return [held[slot] for slot in self._outputs]

    def rounding_of(self, node: Node, setting: Setting) -> str:
        """Return how an operation's result is rounded in one execution."""
        return _mode(node) or setting.rounding

    def draw_of(self, node: Node, setting: Setting) -> tuple[int, int]:
        """Return (seed, step) of the random bits by which an operation's result is rounded."""
        place = next(i for i, step in enumerate(self._steps) if step.node is node)
        return setting.seed, _draw(setting, place)


def _mode(node: Node) -> str | None:
    """Return how a cast of its own kind rounds; a fusion rounds as its last operation does."""
    last = node.of["graph"].outputs[0] if node.operation == "fusion" else node
    return last.of.get("rounding") if last.operation == "cast" else None


def _is_exact(node: Node, row: Operation) -> bool:
    """Return whether a result needs no rounding: FP32, integers, or numbers that only move."""
    if not isinstance(node.type, Type) or node.type.dtype not in _FORMATS:
        return True
    floats = [i.type for i in node.inputs if isinstance(i.type, Type) and i.type.is_float]
    moves = row.flops(node) == 0 and not node.of.get("value")  # a pad may bring a number with it
    return moves and bool(floats) and all(t.dtype == node.type.dtype for t in floats)


def _by_replica(node, call, arrays, replicas):
    """Call an operation for one replica after the other, or once if they share all operands."""
    has = [a.ndim > i.type.rank for a, i in zip(arrays, node.inputs, strict=True)]
    if not any(has):
        return call(*arrays)
    return np.stack([
        call(*(a[r] if own else a for a, own in zip(arrays, has, strict=True)))
        for r in range(replicas)
    ])  # fmt: skip
