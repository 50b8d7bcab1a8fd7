"""Ask a training loop for what its device ran, and run that again: how a grader trusts a loop.

The loop runs where its author's code runs; what leaves is the list of graphs that its device
executed, each with where its inputs came from.  The grader runs these graphs itself, on arrays of
its own, so that counts, losses and weights are its own and nobody can report others.
"""

import json
import warnings
from collections.abc import Callable
from dataclasses import dataclass
from functools import wraps

import numpy as np

from trainium_edu.exercises.judge import short
from trainium_edu.exercises.refusals import sentence
from trainium_edu.xla.compiler import Compiler, Event, cut
from trainium_edu.xla.device import Device
from trainium_edu.xla.executor import Plan
from trainium_edu.xla.graph import Graph
from trainium_edu.xla.operations.table import carrier
from trainium_edu.xla.tensor import EarlyRun

__all__ = ["Executed", "LoopRequest", "counting_device", "on_a_device", "run_again"]

_MOST_BYTES = 16 << 20


@dataclass(frozen=True)
class LoopRequest:
    """A wish for what a loop runs, instead of its result.

    Attributes
    ----------
    setting : str
        Name of the function of :data:`SETTINGS` that makes the loop's arguments.
    seed : int
    steps : int
    """

    setting: str
    seed: int
    steps: int


#: name -> function (device, seed, steps) -> (tensors by name, arguments after the device)
SETTINGS: dict[str, Callable] = {}


@dataclass(frozen=True)
class Executed:
    """One graph that a device ran.

    Attributes
    ----------
    graph : Graph
    marked : bool
        Whether ``mark_step`` ran it; else somebody asked for a value.
    outputs : list of ndarray
    """

    graph: Graph
    marked: bool
    outputs: list


class _Counting(Compiler):
    """Counts what would be compiled; values are computed, and nothing is timed."""

    def __init__(self):
        super().__init__()
        self.plans: dict[int, Plan] = {}  # by fingerprint

    def get(self, graph, step):
        """Return a graph's plan."""
        kind = "memory" if graph.fingerprint in self.plans else "compiled"
        self.history.append(Event(step, kind, graph.fingerprint, ""))
        return self.plans.setdefault(graph.fingerprint, Plan(graph))

    def run(self, executable, feeds, setting, look=None):
        """Compute the outputs."""
        return executable.run(feeds, setting, look=look)


def counting_device() -> Device:
    """Return a device that computes and counts graphs, and takes no time to compile them."""
    return Device(compiler=_Counting())


class _Watched(Device):
    """A device that notes each graph it runs, and where the graph's inputs come from."""

    def __init__(self):
        super().__init__(compiler=_Counting())
        self.graphs: dict[str, int] = {}
        self.ran: list[dict] = []
        self.known: dict[bytes, list] = {}  # an array's bytes -> where it came from

    def knows(self, place, array):
        """Keep where an array comes from."""
        self.known.setdefault(_key(array), place)

    def mark_step(self):
        """Cut and run, and note it."""
        waiting = [t for t in self.pending.tensors.values() if t.node is not None]
        self._noted(waiting, True, super().mark_step)

    def evaluate(self, tensor):
        """Run what one tensor needs, and note it."""
        self._noted([tensor], False, lambda: super(_Watched, self).evaluate(tensor))

    def _noted(self, tensors, marked, run):
        if not tensors:
            run()
            return
        graph, numbers = cut(tuple(t.node for t in tensors))
        feeds = [self.pending.feeds[n] for n in numbers]
        run()
        number = self.graphs.setdefault(graph.to_json(), len(self.graphs))
        sources = [self.known.get(_key(a), ["number", np.ravel(a).tolist()[:1]]) for a in feeds]
        for i, tensor in enumerate(tensors):
            self.knows(["output", len(self.ran), i], tensor.numpy())
        self.ran.append({"graph": number, "marked": marked, "feeds": sources})


def _key(array) -> bytes:
    return str((array.dtype, array.shape)).encode() + array.tobytes()


def on_a_device(loop: Callable) -> Callable:
    """Let a loop be called with a :class:`LoopRequest`, which returns what its device ran.

    Parameters
    ----------
    loop : callable (device, ...)

    Returns
    -------
    callable
        Called with anything else it is the loop itself.
    """

    @wraps(loop)
    def called(*arguments, **keywords):
        if not (len(arguments) == 1 and isinstance(arguments[0], LoopRequest)):
            return loop(*arguments, **keywords)
        request, device, logged = arguments[0], _Watched(), []
        tensors, given = SETTINGS[request.setting](device, request.seed, request.steps)
        for name, tensor in tensors.items():
            device.knows(["given", name], tensor.numpy())
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", EarlyRun)
            loop(device, *given, lambda value: logged.append(float(value)))
            last = {n: t.numpy() for n, t in tensors.items() if t.requires_grad}
        told = {"steps": device.step, "graphs": list(device.graphs), "ran": device.ran}
        ends = {name: device.known.get(_key(array)) for name, array in last.items()}
        return json.dumps({**told, "logged": logged, "last": ends}).encode()

    return called


def run_again(found, tensors) -> tuple[list[Executed], dict[str, np.ndarray], list[float], int]:
    """Run the graphs that a loop ran, on these arrays.

    Parameters
    ----------
    found : bytes
        What a loop :func:`on_a_device` returned.
    tensors : dict of str to ndarray
        What it was given, by name.

    Returns
    -------
    executed : list of Executed
    last : dict of str to ndarray
        The trained tensors at the end.
    logged : list of float
        What the loop says it logged.
    steps : int
        How often it says it called ``mark_step``.

    Raises
    ------
    ValueError
        One sentence on why it cannot be run again.
    """
    if not isinstance(found, bytes) or len(found) > _MOST_BYTES:
        raise ValueError(sentence("loops.not_bytes"))
    try:
        told = json.loads(found)
        graphs = [Graph.from_json(text) for text in told["graphs"]]
        plans = [Plan(graph) for graph in graphs]
        executed: list[Executed] = []

        def array(source):
            match source:
                case ["given", name]:
                    return tensors[name]
                case ["output", k, i]:
                    return executed[k].outputs[i]
            raise ValueError(f"an input of a graph comes from {short(source)}")

        for row in told["ran"]:
            plan = plans[row["graph"]]
            feeds = [
                np.full(p.shape, s[1][0], carrier(p.dtype))
                if s[0] == "number" and p.type.size == 1
                else array(s)
                for p, s in zip(plan.graph.parameters, row["feeds"], strict=True)
            ]
            executed.append(Executed(plan.graph, bool(row["marked"]), plan.run(feeds)))
        last = {name: array(source) for name, source in told["last"].items()}
        return executed, last, [float(v) for v in told["logged"]], int(told["steps"])
    except (KeyError, IndexError, TypeError, AttributeError) as problem:
        raise ValueError(f"what the loop's device ran is incomplete: {short(problem)}") from None
