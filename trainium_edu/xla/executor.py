"""Values of a graph, operation by operation: BLAS and NumPy in FP32, each result rounded once.

A *plan* is made once per graph: what to call in which order, and when an array is needed no more.
Arrays hold float32 for every floating dtype, rounded to the numbers that the dtype has.

Arrays are freed at their last use, and there is no pool of buffers.  The allocator reuses the same
pages, and buffers passed as ``out=`` measured no faster (a test counts page faults).
"""

from collections.abc import Callable, Sequence
from contextlib import nullcontext
from dataclasses import dataclass, replace
from functools import partial
from itertools import accumulate
from sys import getrefcount
from typing import NamedTuple

import numpy as np

from trainium_edu.neuroncore.execution.products import one_blas_thread, side_by_side
from trainium_edu.numerics import rounding
from trainium_edu.numerics.launch import serial_only
from trainium_edu.specs.signatures import checked
from trainium_edu.xla.graph import Graph, GraphError, Node, Type
from trainium_edu.xla.operations.table import OPERATIONS, Operation, carrier, constant_array

_BLOCK = 2**22  #: numbers that are computed together for some replicas: 16 MiB of values
_MUCH = 2**19  #: operations that are worth a second CPU
__all__ = ["Plan", "Setting", "as_held", "hollow"]

_FORMATS = {"bfloat16": "bf16", "float16": "fp16", "tfloat32": "tf32", "float8_e4m3": "fp8_e4m3",
            "float8_e5m2": "fp8_e5m2"}  # fmt: skip


@dataclass(frozen=True, slots=True)
class Setting:
    """The settings of one execution: how it rounds, and what sums over ranks.

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


def _draw(setting, number) -> int:
    """Return the generator's step for one operation of one execution."""
    return setting.step * 2**20 + number


def _rounded(array, type, setting, number, out=None):
    fmt = _FORMATS.get(type.dtype)
    if fmt is None:
        return array
    if setting.rounding == "nearest":
        return rounding.round_floats(array, fmt, out=out)
    rows = 1 if array.ndim == type.rank else len(array)  # replicas share their random bits
    return rounding.round_floats(array, fmt, "stochastic", seed=setting.seed,
                                 step=_draw(setting, number), rows=rows, out=out)  # fmt: skip


@dataclass(frozen=True, slots=True)
class Inner:
    """The context of an operation that runs inner graphs, or looks at the setting."""

    setting: Setting
    number: int  #: number of the operation in its plan
    plans: dict  #: Graph -> Plan

    def run(self, graph: Graph, arrays, turn: int) -> list[np.ndarray]:
        """Return the outputs of an inner graph; every turn draws other random bits."""
        plan = self.plans.get(graph)
        if plan is None:
            plan = self.plans[graph] = Plan(graph)
        apart = 0x9E3779B97F4A7C15 * (self.number * 2**20 + turn + 1)
        setting = replace(self.setting, seed=(self.setting.seed + apart) % 2**64)
        return plan.run(arrays, setting)


class _Step(NamedTuple):
    """One operation of a plan; slots are positions in the list of values."""

    number: int  #: among the plan's operations; each draws its own random bits
    node: Node
    row: Operation
    call: Callable  #: with the arrays, where replicas need no loop
    inputs: tuple[int, ...]
    slot: int
    done: tuple[int, ...]  #: slots that are read for the last time
    rounds: bool


class Plan:
    """The order of execution of one graph; made once, run often.

    Parameters
    ----------
    graph : Graph
    """

    @checked
    def __init__(self, graph: Graph):
        self.graph = graph
        slots = {node: i for i, node in enumerate(graph._all)}
        self._inputs = [slots[p] for p in graph.parameters]
        self._outputs = [slots[o] for o in graph.outputs]
        self._start: list = [None] * len(slots)  # constants are there before anything runs
        self._inner: dict[Graph, Plan] = {}
        for node, slot in slots.items():
            if node.operation == "constant":
                self._start[slot] = as_held(constant_array(node), node.type)
        steps = [n for n in graph.nodes if n.operation not in ("parameter", "constant")]
        last = {slots[i]: number for number, node in enumerate(steps) for i in node.inputs}
        results = {*self._outputs}
        self._steps = []
        for number, node in enumerate(steps):
            row, inputs = OPERATIONS[node.operation], tuple(slots[i] for i in node.inputs)
            done = tuple(s for s in dict.fromkeys(inputs) if last[s] == number and s not in results)
            if row.value is None:
                raise GraphError(f"{node.operation} has no values here; its front brings them")
            call = partial(row.value, node)
            rounds = not _is_exact(node, row)
            self._steps.append(_Step(number, node, row, call, inputs, slots[node], done, rounds))
        self._stretches = _stretches(self._steps, results)
        self._alone = [([step], None) for step in self._steps]
        #: slot of a bucket's operand → (the bucket's operation, where the operand begins in its
        #: rows, how long these are)
        self._columns: dict[int, tuple[int, int, int]] = {}
        for step in self._steps:
            if step.node.operation == "all_reduce" and len(step.inputs) > 1:
                ends = list(accumulate(operand.type.size for operand in step.node.inputs))
                for i, operand, end in zip(step.inputs, step.node.inputs, ends, strict=True):
                    self._columns.setdefault(i, (step.number, end - operand.type.size, ends[-1]))

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
        is_replicated = setting.replicas is not None
        stretches = self._stretches if is_replicated and look is None else self._alone
        buckets: dict[int, np.ndarray] = {}
        # with replicas, bits must not depend on how many threads BLAS has
        with np.errstate(all="ignore"), one_blas_thread() if is_replicated else nullcontext():
            for steps, kept in stretches:
                if kept is None:
                    (step,) = steps
                    held[step.slot] = self._value(step, [held[i] for i in step.inputs], setting)
                    buckets.pop(step.number, None)
                else:
                    self._stretch(held, steps, kept, setting, buckets)
                for step in steps:
                    for slot in step.done:
                        held[slot] = None
                if look is not None:  # which has each step alone
                    look(steps[0].node, held[steps[0].slot])
        return [held[slot] for slot in self._outputs]

    def _value(self, step, arrays, setting, room=None):
        """Return the value of one operation, rounded, in `room` where there is one."""
        node, row, call = step.node, step.row, step.call
        if row.outside:
            value = call(Inner(setting, step.number, self._inner), *arrays)
        elif row.by_replica and setting.replicas is not None:
            value = _by_replica(node, call, arrays)
        else:
            value = call(*arrays)
        del arrays
        if step.rounds and room is not None and room.flags.c_contiguous:
            value = value if value.shape == room.shape else np.broadcast_to(value, room.shape)
            return _rounded(value, node.type, setting, step.number, room)
        if step.rounds:
            # nobody else holds it: this name, and getrefcount's
            is_own = value.base is None and getrefcount(value) == 2
            out = value if is_own and value.flags.c_contiguous and value.flags.writeable else None
            value = _rounded(value, node.type, setting, step.number, out)
        if room is None:
            return value
        room[...] = value
        return room

    def _stretch(self, held, steps, kept, setting, buckets):
        """Compute a stretch of operations; of what differs among replicas, some at a time."""
        ranks = setting.replicas
        own = {
            slot: held[slot].ndim > node.type.rank
            for step in steps for slot, node in zip(step.inputs, step.node.inputs, strict=True)
            if held[slot] is not None
        }  # fmt: skip
        apart = []
        for step in steps:
            own[step.slot] = any(own[i] for i in step.inputs)
            if own[step.slot]:
                apart.append(step)
            else:  # the same for all replicas
                held[step.slot] = self._value(step, [held[i] for i in step.inputs], setting)
        out = {st.slot: self._room(st, ranks, buckets) for st in apart if st.slot in kept}
        inside = {step.slot for step in apart}

        def some(begin, end):
            for first in range(begin, end, most):
                part = slice(first, min(first + most, end))
                here: dict = {}  # values of these ranks, by slot

                def value(slot, part=part, here=here):
                    if slot in inside:
                        return here[slot]
                    return held[slot][part] if own[slot] else held[slot]

                for step in apart:
                    arrays = [value(slot) for slot in step.inputs]
                    room = out[step.slot][part] if step.slot in out else None
                    here[step.slot] = self._value(step, arrays, setting, room)
                    del arrays
                    for slot in step.done:
                        here.pop(slot, None)

        work = ranks * sum(max(st.row.flops(st.node), st.node.type.size) for st in apart)
        size = sum(st.node.type.size for st in apart)
        most = max(1, min(ranks, _BLOCK // max(1, size)))
        if work < _MUCH:
            some(0, ranks)
        else:
            with serial_only():  # the CPUs are busy with replicas
                side_by_side(some, ranks)
        for slot, value in out.items():
            held[slot] = value

    def _room(self, step, ranks, buckets) -> np.ndarray:
        """Return room for a value of all replicas: in its bucket's rows, if it is in one."""
        type = step.node.type
        shape = ranks, *type.shape
        if step.slot not in self._columns:
            return np.empty(shape, carrier(type.dtype))
        bucket, begin, width = self._columns[step.slot]
        if bucket not in buckets:
            buckets[bucket] = np.empty((ranks, width), carrier(type.dtype))
        return buckets[bucket][:, begin : begin + type.size].reshape(shape)

    def draw_of(self, node: Node, setting: Setting) -> tuple[int, int]:
        """Return (seed, step) of the random bits by which an operation's result is rounded."""
        number = next(step.number for step in self._steps if step.node is node)
        return setting.seed, _draw(setting, number)


def _is_exact(node: Node, row: Operation) -> bool:
    """Return whether a result needs no rounding: FP32, integers, or numbers that only move."""
    if not isinstance(node.type, Type) or node.type.dtype not in _FORMATS:
        return True
    floats = [i.type for i in node.inputs if isinstance(i.type, Type) and i.type.is_float]
    moves = row.flops(node) == 0 and not node.of.get("value")  # a pad may bring a number with it
    return moves and bool(floats) and all(t.dtype == node.type.dtype for t in floats)


def _by_replica(node, call, arrays):
    """Call an operation for one replica after the other, or once if they share all operands."""
    own = [a.ndim > i.type.rank for a, i in zip(arrays, node.inputs, strict=True)]
    if not any(own):
        return call(*arrays)
    ranks = next(len(a) for a, o in zip(arrays, own, strict=True) if o)
    found = [
        call(*(a[r] if o else a for a, o in zip(arrays, own, strict=True))) for r in range(ranks)
    ]
    if isinstance(node.type, Type):
        return np.stack(found)
    return tuple(np.stack(one) for one in zip(*found, strict=True))


def _stretches(steps, kept) -> list:
    """Return stretches of operations that need no other replica, each with the slots kept of it.

    An operation that looks outside, or on several results, stands alone, with None.
    """
    found: list[list] = []
    for step in steps:
        nodes = (step.node, *step.node.inputs)
        alone = step.row.outside or not all(isinstance(n.type, Type) for n in nodes)
        if alone or not found or found[-1][1]:
            found.append([[], alone])
        found[-1][0].append(step)
    last = {slot: i for i, (group, _) in enumerate(found) for st in group for slot in st.inputs}
    return [
        (group, None if alone else {
            st.slot for st in group if st.slot in kept or last.get(st.slot, -1) > i
        })
        for i, (group, alone) in enumerate(found)
    ]  # fmt: skip
