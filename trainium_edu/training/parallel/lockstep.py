"""Every rank runs a function of its own; where ranks need each other, they meet.

Ranks are greenlets of one process.  Ranks that ask for equal graphs, which are the same nodes
(``xla.graph`` keeps each once), are served by one run whose values have an axis of ranks; so all
share one compile.  A value that only some ask for is computed for each of them alone, as in
processes of their own, unless it needs the others.  Nothing runs at the same time, and ranks go in
order, so a run is repeatable.

Decisions
---------
*Greenlets of one process, and not a process per rank*: 32 ranks of ``notebooks/train_digits.py``
take 4.5 s of processor time and 0.24 GB here; to import this package in 32 processes takes 43 s
and 3.9 GB before anything runs, and where there is no fork a function of a notebook cannot be
sent to them.
*Different graphs at a cut stop the launch*, also where no collective would have waited: on the
machine each rank would compile its own, and this course wants that seen.
*Replicas that drift apart are a warning*, and not an error: to step alone for a while and average
weights later is a method, too.
"""

import contextvars
import warnings
from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field, replace
from functools import lru_cache
from typing import Any, NamedTuple, NoReturn

import numpy as np
from greenlet import GreenletExit, getcurrent, greenlet

from trainium_edu.fabric import ALGORITHMS
from trainium_edu.fabric.executor import RanksDisagree
from trainium_edu.fabric.topology import FabricError
from trainium_edu.neuroncore.recording.source import SourceLine, source_line
from trainium_edu.specs import INSTANCES
from trainium_edu.specs.arguments import choice, whole
from trainium_edu.specs.instances import with_cores
from trainium_edu.specs.signatures import checked
from trainium_edu.training.parallel.agreement import check_replicas
from trainium_edu.training.parallel.collectives import Links, compiler_for, reach
from trainium_edu.training.parallel.process import Process
from trainium_edu.training.refusals import sentence
from trainium_edu.xla.compiler import difference, recorded
from trainium_edu.xla.device import Device, World, apart, world
from trainium_edu.xla.executable import Executable
from trainium_edu.xla.executable.sections import COLLECTIVES
from trainium_edu.xla.executor import Setting
from trainium_edu.xla.graph import Graph, Node

__all__ = ["Ranks", "RanksDisagree", "ReplicasDrift", "launch"]

_ALONE = 2**40  #: executions of one rank alone count from here, and draw bits of their own
_DOING = {"cut": "marks a step", "value": "asks for a value", "rendezvous": "waits at rendezvous"}


class ReplicasDrift(UserWarning):
    """Ranks train, and their weights are not the same; the sentence says why."""


class Ranks(list):
    """The result of each rank, and what they ran on.

    Attributes
    ----------
    device : Device
        All ranks' together; ``device.compiler.history`` tells of their graphs.
    executable : Executable or None
        The newest graph that was cut and in which ranks took part together; else the newest one.
    links : Links or None
    """

    def __init__(self, results, device: Device, executable: Executable | None, links: Links | None):
        super().__init__(results)
        self.device, self.executable, self.links = device, executable, links


class Cut(NamedTuple):
    """The end of a recording, by which ``xla.compiler.recorded`` finds its graph."""

    roots: tuple[Node, ...]
    replaced: tuple[Node | None, ...]  #: the leaf whose bytes each root takes


@dataclass(frozen=True, slots=True)
class Request:
    """A rank's part in a meeting: its data, and what it waits for."""

    kind: str  #: a key of ``_DOING``
    subject: tuple  #: a Cut, or (tag,); equal on ranks that meet
    brings: Any  #: feeds, or a payload
    trained: tuple = ()  #: (position among the roots, name) of weights that are updated


class RankDevice(Device):
    """A NeuronCore whose graphs run together with those of the other ranks."""

    def __init__(self, number: int, hub: "Hub"):
        self.number, self._hub = number, hub
        values = hub.device.setting.values
        super().__init__(f"xla:{number % hub.per_instance}", compiler=hub.device.compiler,
                         setting=Setting(values=values))  # fmt: skip

    def follow_switches(self) -> None:
        """Follow the environment of rank 0."""
        together = self._hub.device
        if self.number == 0:
            together.follow_switches()
        self.narrowed, self.eager = together.narrowed, together.eager

    def evaluate(self, tensor) -> None:
        """Run what one tensor needs: with the other ranks, or alone if they do not ask for it.

        Alone, it changes nothing but that the value is known: what is pending stays what the other
        ranks have pending.
        """
        values, is_alone = self._ask("value", [tensor])
        if is_alone:
            node, _, of, leaf, _ = tensor.state
            tensor.state = node, values[0], of, leaf, -1
        else:
            tensor.hold(values[0])

    def _run(self, tensors) -> None:
        values, _ = self._ask("cut", tensors)
        for tensor, value in zip(tensors, values, strict=True):
            tensor.hold(value)

    def _ask(self, kind: str, tensors) -> tuple[list, bool]:
        """Return the values of tensors, and whether this rank ran alone for them."""
        cut = Cut(tuple(t.node for t in tensors), tuple(t.replaces for t in tensors))
        trained = tuple((i, t.name) for i, t in enumerate(tensors) if t.requires_grad)
        values, is_alone = self._hub.ask(Request(kind, cut, self.pending.feeds, trained))
        if not is_alone:
            together = self._hub.device
            self.executions, self.newest_run = together.executions, together.newest_run
        return values, is_alone


class _Reached:
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
    process: Process
    place: RankDevice
    runs: greenlet
    request: Any = None  #: a Request, or None once it has ended
    result: Any = None  #: what its function returned

    @property
    def line(self) -> SourceLine | None:
        """The user's line at which it waits."""
        return self.runs.gr_frame and source_line({}, self.runs.gr_frame)

    def __str__(self):
        if self.request is None:
            return f"rank {self.number} has ended"
        tag = f" {self.request.subject[0]!r}" if self.request.kind == "rendezvous" else ""
        where = f" at {self.line}" if self.line else ""
        return f"rank {self.number} {_DOING[self.request.kind]}{tag}{where}"


@dataclass
class Hub:
    """Runs ranks from meeting to meeting."""

    count: int
    links: Links | None
    setting: Setting | None
    instance: str
    per_instance: int
    ranks: list[_Rank] = field(default_factory=list)
    executable: Executable | None = None  #: the newest that was cut and had collectives

    def __post_init__(self):
        compiler = compiler_for(self.instance, self.links)
        self.device = Device(setting=self.setting, compiler=compiler, follows_switches=True)
        self.device.setting = replace(self.device.setting, replicas=self.count,
                                      collectives=self.links)  # fmt: skip
        self._has_ended = False
        self._alone = _ALONE
        self._updates = 0  #: cuts that updated weights
        self._looks_at = 1  #: the next update whose weights are compared; -1: none any more

    # -- what a rank calls, from inside its greenlet ---------------------------------------------

    def ask(self, request: Request):
        """Wait for the others, and return what the meeting has for this rank."""
        here = getcurrent()
        if not any(here is rank.runs for rank in self.ranks):
            raise RuntimeError(sentence("lockstep.other_launch"))
        if self._has_ended:
            raise GreenletExit
        answer = here.parent.switch(request)
        if isinstance(answer, Exception):
            raise answer
        return answer

    # -- the loop ---------------------------------------------------------------------------------

    def run(self, function: Callable[[int], Any], variables: Mapping[str, str]) -> Ranks:
        """Call a function with each rank's number, and return what each returned."""
        self._home = Process()
        try:
            for number in range(self.count):
                self.ranks.append(self._made(number, function, variables))
            for rank in self.ranks:
                self._go_on(rank)
            while any(rank.request for rank in self.ranks):
                for rank, answer in self._meet():
                    self._go_on(rank, answer)
        finally:
            self._end()
            self._home.show()
            self._home.take_back(rank.process for rank in self.ranks)
        newest = self.executable or self.device.executable
        return Ranks([r.result for r in self.ranks], self.device, newest, self.links)

    def _made(self, number, function, variables):
        local = number % self.per_instance
        own = {"RANK": number, "WORLD_SIZE": self.count, "LOCAL_RANK": local,
               "LOCAL_WORLD_SIZE": min(self.count, self.per_instance)}  # fmt: skip
        process = Process.started(number, {**variables, **{k: str(v) for k, v in own.items()}})
        place = RankDevice(number, self)
        here = World(number, self.count, _Reached(self, self.links), self.per_instance, place)

        def body():
            with apart(), world(here):
                try:
                    rank.result = function(number)
                except SystemExit as stop:
                    if stop.code:  # 0 or None: this process has ended well
                        raise

        rank = _Rank(number, process, place, greenlet(body))
        rank.runs.gr_context = contextvars.copy_context()
        return rank

    def _go_on(self, rank, answer=None):
        """Run one rank to its next meeting, or its end."""
        given = () if answer is None else (answer,)
        try:
            rank.request = self._inside(rank, rank.runs.switch, *given)
        except (Exception, SystemExit) as problem:
            rank.request = None
            problem.add_note(f"raised on rank {rank.number} of {self.count}")
            raise
        if rank.runs.dead:
            rank.request = None

    def _inside(self, rank, call, *given):
        """Call a rank's greenlet, which sees its own process."""
        rank.process.show()
        try:
            return call(*given)
        finally:
            rank.process.keep()
            self._home.show()

    def _end(self):
        """End the ranks that are left, quietly; their ``finally`` blocks run."""
        self._has_ended = True
        for rank in self.ranks:
            while rank.runs and not rank.runs.dead:  # one that was never started is neither
                with suppress(Exception, SystemExit):
                    self._inside(rank, rank.runs.throw)

    # -- a meeting ------------------------------------------------------------------------------

    def _meet(self) -> list[tuple[_Rank, Any]]:
        """Return (rank, what it gets) of those that need not wait longer."""
        first = self.ranks[0].request
        if first is not None and all(self._are_alike(first, rank.request) for rank in self.ranks):
            return list(zip(self.ranks, self._together(), strict=True))
        waiting = [rank for rank in self.ranks if rank.request is not None]
        alone = [rank for rank in waiting if rank.request.kind != "rendezvous"
                 and not _with_others(_graph(rank.request))]  # fmt: skip
        kinds = {rank.request.kind for rank in waiting}
        if not alone or (len(alone) == self.count and kinds == {"cut"}):
            self._stop(waiting)
        return [(rank, self._tried(self._by_itself, rank.request)) for rank in alone]

    def _tried(self, function, *given):
        """Return what a function returns, or its error, which ranks raise at their own line."""
        try:
            return function(*given)
        except Exception as problem:
            return problem

    def _are_alike(self, one: Request, other: Request | None) -> bool:
        """Return whether one meeting serves both."""
        if other is None or other.kind != one.kind:
            return False
        if other.subject == one.subject:
            return True
        if one.kind == "rendezvous":
            return False
        # leaves may have other numbers
        return _graph(one).fingerprint == _graph(other).fingerprint

    def _together(self) -> list:
        """Return each rank's answer where all want the same."""
        requests = [rank.request for rank in self.ranks]
        if requests[0].kind == "rendezvous":
            payloads = [request.brings for request in requests]
            return [list(payloads) for _ in requests]
        rows = self._tried(self._run, requests)
        if isinstance(rows, Exception):
            return [rows] * len(requests)
        return [([row[i] for row in rows], False) for i in range(len(requests))]

    def _run(self, requests) -> list:
        """Return, for each root, a list of each rank's value."""
        first, device = requests[0], self.device
        graph, numbers = recorded(*first.subject)
        with_others = _with_others(graph)
        own_feeds = [_feeds(request) for request in requests]
        feeds = [stacked(row) for row in zip(*own_feeds, strict=True)]
        if device.eager:
            device.pending.feeds = dict(zip(numbers, feeds, strict=True))
            values = device._each_alone(first.subject.roots)
        else:
            executable = device.compiler.get(graph, device.step)
            values = device._execute(executable, feeds)
            if first.kind == "cut" and with_others:
                self.executable = executable
        if first.kind == "cut":
            device.step += 1
            self._look_for_drift(first, values, with_others)
        types = [node.type for node in first.subject.roots]
        return [value if value.ndim > type.rank else [value] * len(requests)
                for value, type in zip(values, types, strict=True)]  # fmt: skip

    def _by_itself(self, request) -> tuple[list, bool]:
        """Return the values that one rank asks for, with no other."""
        graph, _ = recorded(*request.subject)
        executable = self.device.compiler.get(graph, self.device.step)
        self._alone += 1
        setting = replace(self.device.setting, replicas=None, collectives=None, step=self._alone)
        return self.device.compiler.run(executable, _feeds(request), setting), True

    # -- what may be wrong ----------------------------------------------------------------------

    def _stop(self, waiting) -> NoReturn:
        """Raise what keeps ranks from meeting, at the line of the first that is not like others."""
        first = waiting[0]
        odd = next((r for r in self.ranks if not self._are_alike(first.request, r.request)), first)
        problem = RanksDisagree(self._told(first, odd))
        self._go_on(odd if odd.request else first, problem)
        raise problem  # a rank has caught it; still nobody can go on

    def _told(self, first, odd) -> str:
        """Return in a sentence what keeps two ranks from meeting."""
        if odd.request is None or {odd.request.kind, first.request.kind} != {"cut"}:
            return waits_for_ever(first, odd)
        differs = difference(_graph(first.request), _graph(odd.request))
        differs = differs.replace(", and was ", f", and on rank {first.number} ")
        key = (
            "lockstep.another_size" if differs.startswith("parameter") else "lockstep.another_graph"
        )
        return sentence(key, first=first, odd=odd, told=differs)

    def _look_for_drift(self, request, values, with_others):
        """Warn once if ranks train, and their weights differ."""
        trained = [(name or f"number {i}", values[i]) for i, name in request.trained
                   if values[i].ndim > request.subject.roots[i].type.rank]  # fmt: skip
        if not trained or self.device.compiler.extracting:
            return
        self._updates += 1
        if self._updates != self._looks_at:
            return
        self._looks_at *= 2
        try:
            check_replicas(trained)
        except RanksDisagree as problem:
            self._looks_at = -1
            line = self.ranks[0].line
            key = "lockstep.began_apart" if with_others else "lockstep.never_summed"
            text = sentence(key, hub=self, problem=problem)
            where = (line.file, line.line) if line else (__file__, 1)
            warnings.warn_explicit(text, ReplicasDrift, *where)


def _graph(request: Request) -> Graph:
    return recorded(*request.subject)[0]


def _feeds(request: Request) -> list[np.ndarray]:
    """Return a rank's data, one array for each parameter of its graph."""
    return [request.brings[number] for number in recorded(*request.subject)[1]]


@lru_cache
def _with_others(graph: Graph) -> bool:
    """Return whether ranks take part in a graph together."""
    inside = (value for node in graph.nodes for _, value in node.attributes)
    return any(node.operation in COLLECTIVES for node in graph.nodes) or any(
        isinstance(value, Graph) and _with_others(value) for value in inside
    )


def stacked(arrays: Sequence[np.ndarray]) -> np.ndarray:
    """Return what ranks feed as one array; rows of one array are not copied.

    Examples
    --------
    >>> whole = np.zeros((3, 2))
    >>> np.shares_memory(stacked(list(whole)), whole)
    True
    """
    first, whole = arrays[0], arrays[0].base
    if all(one is first for one in arrays):
        return first
    if isinstance(whole, np.ndarray) and whole.size == len(arrays) * first.size:
        rows = whole.reshape(len(arrays), *first.shape)
        places = zip(arrays, rows, strict=True)
        if all(one.__array_interface__ == row.__array_interface__ for one, row in places):
            return rows
    if first.size == 1 and all(one == first for one in arrays):
        return first
    return np.stack(arrays)


def waits_for_ever(one, other) -> str:
    """Return the sentence about two ranks, which tell what they do, that never meet."""
    return sentence("lockstep.wait", one=one, other=other)


def check_place(ranks: int, nodes: int, instance: str) -> int:
    """Return how many ranks an instance holds; raise if there are more on each."""
    cores = int(INSTANCES[choice(instance, "instance", with_cores())].cores.value)
    if ranks > cores:
        raise FabricError(sentence("lockstep.too_many", ranks=ranks, name=instance, cores=cores))
    if nodes > 1 and ranks != cores:
        raise FabricError(sentence("lockstep.parts", nodes=nodes, ranks=ranks, cores=cores))
    return cores


@checked
def launch(function: Callable, ranks: int = 32, *, args: Sequence = (),
           instance: str = "trn1.32xlarge", algorithm: str = "ring", reached: Links | None = None,
           setting: Setting | None = None,
           master: tuple[str, int] = ("127.0.0.1", 29500)) -> Ranks:  # fmt: skip
    """Call a function on every rank, in lockstep, and return what each returned.

    Each rank looks like a process that ``torchrun`` has started (see ``process.py``); names of
    modules, and what functions close over, are shared.

    Parameters
    ----------
    function : callable (index, ...)
        Written as for one NeuronCore: ``xm.xla_device()``, ``xm.optimizer_step``, ``mark_step``.
    ranks : int
    args : sequence
        Further arguments of the function.
    instance, algorithm : str
        Over which links, and in which order, ranks sum.
    reached : Links, optional
        How ranks reach each other, in place of the two.
    setting : Setting, optional
        Rounding and seed; default what the environment's switches say.
    master : (str, int)
        ``MASTER_ADDR`` and ``MASTER_PORT``.

    Returns
    -------
    Ranks
        A list of results, with the device and the executable that all ranks shared.

    Raises
    ------
    RanksDisagree
        If ranks would wait for each other for ever, or cut different graphs.
    FabricError
        If the ranks have no place on the instance.
    Exception
        What a rank raises, with a note which rank; the others are ended.

    Warns
    -----
    ReplicasDrift
        If ranks train and their weights are not the same.

    Examples
    --------
    >>> from trainium_edu.xla import xm
    >>> launch(lambda index: xm.get_ordinal() * 10, 2)
    [0, 10]
    """
    whole(ranks, "ranks", 1, 2**15)
    per_instance = check_place(1, 1, instance)
    choice(algorithm, "algorithm", tuple(ALGORITHMS))
    reached = reach(reached, ranks, instance, algorithm=algorithm)
    variables = {"MASTER_ADDR": master[0], "MASTER_PORT": str(master[1])}
    hub = Hub(ranks, reached, setting, instance, per_instance)
    return hub.run(lambda index: function(index, *args), variables)
