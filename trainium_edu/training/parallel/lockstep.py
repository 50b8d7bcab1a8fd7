"""Every rank runs a function of its own; where its graph is cut, it meets the others.

Ranks are greenlets of one process.  At a meeting all ranks must ask for the same: equal graphs are
the same nodes (``xla.graph`` keeps each once), so they are compiled once and run as one graph whose
values have an axis of ranks.  Nothing here runs at the same time, so a run is repeatable.
"""

import contextvars
import os
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from greenlet import getcurrent, greenlet

from trainium_edu.specs.arguments import whole
from trainium_edu.specs.signatures import checked
from trainium_edu.training.parallel.collectives import Links, links
from trainium_edu.xla.compiler import Compiler, difference
from trainium_edu.xla.device import Device, World, cut, world
from trainium_edu.xla.executor import Setting

__all__ = ["RankFailed", "RanksDisagree", "launch"]


class RanksDisagree(RuntimeError):
    """Ranks do not do the same where they must."""


class RankFailed(RuntimeError):
    """A rank raised an error; the cause is the error."""


@dataclass(frozen=True, slots=True)
class Request:
    """What a rank brings to a meeting, and waits for."""

    kind: str  #: "run" or "rendezvous"
    what: tuple  #: must be equal on all ranks: roots and replaced nodes, or a tag
    brings: Any  #: feeds, or a payload
    is_cut: bool = False  #: ``mark_step``, and not one value asked for


class RankDevice(Device):
    """A NeuronCore whose graphs run together with those of the other ranks."""

    def __init__(self, name, hub, **options):
        super().__init__(name, **options)
        self._hub = hub
        self._is_cutting = False

    def mark_step(self) -> None:
        """Cut the graph, as all ranks do."""
        self._is_cutting = True
        try:
            super().mark_step()
        finally:
            self._is_cutting = False

    def _together(self, roots, replaced):
        request = Request("run", (roots, replaced), self.pending.feeds, self._is_cutting)
        return self._hub.ask(request)


class _Rendezvous:
    """The links of a world, and where its ranks meet on the host."""

    def __init__(self, hub, reached):
        self._hub, self._links = hub, reached

    def __getattr__(self, name):
        return getattr(self._links, name)

    def rendezvous(self, tag, payload):
        return self._hub.ask(Request("rendezvous", (tag,), payload))


@dataclass
class _Rank:
    """One rank: its greenlet, what it waits for, what the process looks like to it."""

    number: int
    runs: greenlet | None = None
    request: Request | None = None
    result: Any = None  #: what its function returned
    random: np.random.BitGenerator | None = None


class Hub:
    """Runs ranks from meeting to meeting."""

    def __init__(self, ranks: int, reached: Links | None, setting: Setting, per_instance: int):
        self.ranks = [_Rank(i) for i in range(ranks)]
        self.links, self.per_instance = reached, per_instance
        self.device = Device(setting=replace(setting, replicas=ranks, collectives=reached),
                             compiler=Compiler(times=reached))  # fmt: skip
        self.places = [RankDevice(f"xla:{i % per_instance}", self) for i in range(ranks)]
        self._found: dict[tuple, tuple] = {}

    # -- what a rank calls, from inside its greenlet ---------------------------------------------

    def ask(self, request: Request):
        """Wait for the others, and return what the meeting has for this rank."""
        here = getcurrent()
        if here.parent is None or here not in [rank.runs for rank in self.ranks]:
            raise RuntimeError("this tensor belongs to a rank of a launch that has ended")
        return here.parent.switch(request)

    # -- the loop ---------------------------------------------------------------------------------

    def run(self, function: Callable[[int], Any]) -> list:
        """Call a function with each rank's number, and return what each returned."""
        try:
            for rank in self.ranks:
                self._start(rank, function)
            while any(rank.request for rank in self.ranks):
                for rank, value in zip(self.ranks, self._meet(), strict=True):
                    self._go_on(rank, value)
        finally:
            for rank in self.ranks:
                if rank.runs is not None and not rank.runs.dead:
                    rank.runs.throw()  # ends it quietly
        return [rank.result for rank in self.ranks]

    def _start(self, rank, function):
        def body():
            reached = _Rendezvous(self, self.links)
            here = World(rank.number, len(self.ranks), reached, self.per_instance,
                         self.places[rank.number])  # fmt: skip
            with world(here):
                rank.result = function(rank.number)

        rank.runs = greenlet(body)
        rank.runs.gr_context = contextvars.copy_context()
        rank.random = np.random.MT19937(0)
        self._go_on(rank)

    def _go_on(self, rank, *value):
        """Let one rank run to its next meeting, or its end."""
        before, ours = np.random.get_bit_generator(), os.environ.copy()
        np.random.set_bit_generator(rank.random)
        os.environ.update(RANK=str(rank.number), WORLD_SIZE=str(len(self.ranks)),
                          LOCAL_RANK=str(rank.number % self.per_instance))  # fmt: skip
        try:
            rank.request = rank.runs.switch(*value)
        except Exception as problem:
            problem.add_note(f"raised on rank {rank.number} of {len(self.ranks)}")
            raise
        finally:
            np.random.set_bit_generator(before)
        if rank.runs.dead:
            rank.request = None

    def _meet(self) -> list:
        """Return what each rank asked for."""
        requests = [rank.request for rank in self.ranks]
        first = requests[0]
        self._check_alike(requests)
        if first.kind == "rendezvous":
            payloads = [r.brings for r in requests]
            return [list(payloads) for _ in requests]
        found = self._found.get(first.what)
        if found is None:
            found = self._found[first.what] = cut(*first.what)
        graph, numbers = found
        executable = self.device.compiler.get(graph, self.device.step)
        feeds = [_stacked([r.brings[n] for r in requests]) for n in numbers]
        self.device.step += first.is_cut
        values = self.device._execute(executable, feeds)
        types = [node.type for node in first.what[0]]
        rows = [value if value.ndim > type.rank else [value] * len(requests)
                for value, type in zip(values, types, strict=True)]  # fmt: skip
        return [[row[i] for row in rows] for i in range(len(requests))]

    def _check_alike(self, requests):
        """Raise unless all ranks are here and ask for the same; say what differs first."""
        first = requests[0]
        for rank, other in enumerate(requests):
            if other is None or first is None or other.kind != first.kind:
                raise RanksDisagree(
                    f"rank 0 {_doing(first)}, and rank {rank} {_doing(other)}; on the machine they "
                    "would wait for each other for ever: let all ranks take the same steps"
                )
            if other.what != first.what:
                if first.kind == "rendezvous":
                    told = f"rank 0 is at {first.what[0]!r}, and rank {rank} at {other.what[0]!r}"
                else:
                    told = difference(cut(*first.what)[0], cut(*other.what)[0])
                    told = f"rank {rank} recorded another graph than rank 0: {told}"
                raise RanksDisagree(f"{told}; let all ranks do the same")


def _doing(request) -> str:
    if request is None:
        return "has ended"
    if request.kind == "rendezvous":
        return f"waits at rendezvous {request.what[0]!r}"
    return "marks a step" if request.is_cut else "asks for a value"


def _stacked(arrays: Sequence[np.ndarray]) -> np.ndarray:
    """Return what ranks feed as one array: itself if it is shared, or their common base."""
    first = arrays[0]
    if all(one is first for one in arrays):
        return first
    base = first.base
    if base is not None and base.shape == (len(arrays), *first.shape) and base.dtype == first.dtype:
        begin, step = base.__array_interface__["data"][0], base.strides[0]
        if all(
            one.base is base and one.__array_interface__["data"][0] == begin + i * step
            for i, one in enumerate(arrays)
        ):
            return base
    if first.size == 1 and all(one == first for one in arrays):
        return first
    return np.stack(arrays)


@checked
def launch(function: Callable, ranks: int = 32, *, args: Sequence = (),
           instance: str = "trn1.32xlarge", reached: Links | None = None,
           setting: Setting | None = None) -> list:  # fmt: skip
    """Call a function on every rank, in lockstep, and return what each returned.

    Parameters
    ----------
    function : callable (index, *args)
        Written as for one NeuronCore: ``xm.xla_device()``, ``xm.optimizer_step``, ``mark_step``.
    ranks : int
    args : sequence
    instance : str
    reached : Links, optional
        How ranks reach each other; default the instance's links and the ring.
    setting : Setting, optional
        Rounding and seed.

    Examples
    --------
    >>> from trainium_edu.xla import xm
    >>> launch(lambda index: xm.get_ordinal() * 10, 2)
    [0, 10]
    """
    whole(ranks, "ranks", 1, 512)
    reached = links(ranks, instance) if reached is None else reached
    hub = Hub(ranks, reached, Setting() if setting is None else setting, 32)
    return hub.run(lambda index: function(index, *args))
