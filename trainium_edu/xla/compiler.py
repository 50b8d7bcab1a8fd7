"""From what was recorded to what runs it: looked up in memory, then on disk, else compiled.

A step that is recorded again ends at the same roots (see ``graph.intern``), by which its graph is
found.  An executable is found by the graph's fingerprint (structure, shapes, dtypes) and the flags.
Each level finds its repetitions by one look-up with its own key.  The calls of a PyTorch script end
at a place of the trie (``torch.tape.Place.cuts``), lazy tensors at roots (:data:`recorded`); equal
layers of a graph share a body (``Executable.times_of``).  One table here would need all these keys
and keep paths alive that the trie forgets, and it would replace one line per level by a call.

Every question is an *event*, which says why a graph was not found: what differs, and at which line,
from the most similar graph known.
"""

import time
from collections import Counter, OrderedDict
from collections.abc import Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from functools import lru_cache
from typing import Any

import numpy as np

from trainium_edu.neuroncore.advice.evidence import several
from trainium_edu.specs.signatures import checked
from trainium_edu.xla.cache import CompileCache
from trainium_edu.xla.executable import CollectiveTimes, Executable
from trainium_edu.xla.executor import Setting, hollow
from trainium_edu.xla.flags import Flags, parse
from trainium_edu.xla.graph import Graph, Node, walk
from trainium_edu.xla.metrics import PROCESS, Metrics
from trainium_edu.xla.operations.custom import calls
from trainium_edu.xla.operations.table import parameter
from trainium_edu.xla.passes.rewrite import on_inputs

__all__ = ["Compiler", "Event", "compile_bytes", "cut", "difference", "recorded", "why_new"]

#: graph, and the number that each of its parameters had in the recording
Recording = tuple[Graph, list[int]]

_MOST_COMPARED = 16  #: graphs among which the most similar one is sought
_MOST_RECORDED = 256  #: recordings whose graph is found by their roots
_ALIKE = 0.5  #: share of equal operations from which two graphs are versions of one


@dataclass(frozen=True, slots=True)
class Event:
    """One look-up of a graph, and its outcome."""

    step: int
    kind: str  #: "compiled", "memory", "disk", "failed", "extracted"
    graph: int  #: its fingerprint
    why: str  #: what differs from the most similar graph, or why it failed; "" for a hit


@dataclass(slots=True, eq=False)
class Entry:
    """The outcome of compiling one graph under one set of flags."""

    graph: Any = None  #: as it was recorded last; None if it failed
    executable: Any = None  #: None if it failed, or had to make room
    problem: Exception | None = None  #: why it failed
    counts: dict[str, int] | None = None  #: how often each operation occurs


@dataclass
class Compiler:
    """Executables by fingerprint and flags, with a history.

    Parameters
    ----------
    flags : Flags
        What ``NEURON_CC_FLAGS`` says.
    cache : CompileCache, optional
        On disk; None keeps executables in memory only.
    extracting : bool
        Write graphs to the cache and compile nothing: results are zeros.
    most : int, optional
        How many executables stay in memory; the longest unused one goes first.
    times : CollectiveTimes, optional
        Knows the ns that a collective takes; ``training`` passes it.
    timed : bool
        Lower and time every graph as it is compiled, so that ``ExecuteTime`` is known; the cache on
        disk always has times.
    overlaps : bool
        Collectives run beside the engines; changes times only.
    metrics : Metrics
    counts_operations : bool
        Count the operations of each graph; a PyTorch script counts its calls instead.
    """

    flags: Flags = field(default_factory=Flags)
    cache: CompileCache | None = None
    extracting: bool = False
    most: int | None = None
    times: CollectiveTimes | None = None
    timed: bool = False
    overlaps: bool = True
    metrics: Metrics = PROCESS
    counts_operations: bool = True
    history: list[Event] = field(default_factory=list)
    _entries: OrderedDict = field(default_factory=OrderedDict, repr=False)  # used last at the end

    @property
    def graphs(self) -> list[Graph]:
        """The graphs asked for of late, each once, the newest last."""
        good = [entry.graph for entry in self._entries.values() if entry.graph is not None]
        newest = {graph.fingerprint: graph for graph in reversed(good)}
        return [*newest.values()][_MOST_COMPARED - 1 :: -1]

    @checked
    def get(self, graph: Graph, step: int):
        """Return the executable of a graph; while graphs are extracted, an entry with its graph.

        Raises
        ------
        GraphError, NkiValidationError, ...
            The errors of compiling; they are remembered and raised again.
        """
        key = graph.fingerprint, self.flags, self.extracting
        entry, kind, why = self._entries.get(key) or Entry(), "memory", ""
        try:
            if entry.problem is not None:
                raise type(entry.problem)(*entry.problem.args)
            if entry.executable is None:
                kind, why, entry.executable = self._missed(graph)
            else:
                self.metrics.count("CachedCompile")
        except Exception as problem:
            if not self.flags.retry_failed_compilation:
                self._entries[key] = Entry(problem=problem)
            self.history.append(Event(step, "failed", graph.fingerprint, str(problem)))
            raise
        entry.graph = graph  # with the lines of this recording
        self._entries[key] = entry
        self._entries.move_to_end(key)
        if self.counts_operations:
            entry.counts = entry.counts or Counter(
                f"xla::{node.operation}" for node in graph.nodes
                if node.operation not in ("parameter", "constant")
            )  # fmt: skip
            self.metrics.count_all(entry.counts)
        self.metrics.add("TensorsGraphSize", len(graph.nodes))
        if self.most is not None:
            held = [filled for filled in self._entries.values() if filled.executable is not None]
            for filled in held[: -self.most]:
                filled.executable = None
        self.history.append(Event(step, kind, graph.fingerprint, why))
        return entry.executable

    @property
    def newest(self):
        """The executable that was asked for last; None before the first."""
        return (self.executables or [None])[-1]

    @property
    def executables(self) -> list:
        """The executables in memory, the one used last at the end."""
        return [e.executable for e in self._entries.values() if e.executable is not None]

    def _missed(self, graph):
        """Return (kind of event, why, executable) of a graph that is not in memory."""
        why = why_new(graph, self.graphs)
        if self.extracting:
            if self.cache is not None and calls(graph.nodes):
                self._compiled(graph)  # another process does not know what is called
            elif self.cache is not None:
                self.cache.put_graph(graph.fingerprint, self.flags.hash, graph.to_json(),
                                     self.flags.json)  # fmt: skip
            return "extracted", why, Entry(graph)
        start = time.perf_counter_ns()
        executable, was_there = self._compiled(graph)
        self.metrics.add("InputOutputAliasCount", len(graph.donated))
        self.count_compile(start, was_there)
        return ("disk", "", executable) if was_there else ("compiled", why, executable)

    @checked
    def count_compile(self, start_ns: int, was_there: bool) -> None:
        """Count a graph that was not in memory; for PyTorch/XLA one from the disk is compiled."""
        if was_there:
            self.metrics.count("PersistentCacheHit")
        self.metrics.count("UncachedCompile")
        self.metrics.add("CompileTime", time.perf_counter_ns() - start_ns)

    def _time(self, executable) -> None:
        """Keep what one execution takes, unless it waits for ranks that nobody can time."""
        with suppress(ValueError):
            executable.reported_ns = executable.makespan_ns

    def _compiled(self, graph: Graph):
        """Return an executable and whether it was on disk."""
        how: dict[str, Any] = {"times": self.times, "overlaps": self.overlaps}
        executables: list[Executable] = []

        def compile_it() -> bytes:
            executables.append(Executable(graph, self.flags, **how))
            return executables[0].to_bytes()

        if self.cache is None or self.flags.no_cache:
            executable = Executable(graph, self.flags, **how)
            if self.timed:
                self._time(executable)
            return executable, False
        program, was_there = self.cache.get_or_compile(
            graph.fingerprint, self.flags.hash, compile_it, graph=graph.to_json(),
            flags_json=self.flags.json,
        )  # fmt: skip
        if was_there:
            executables.append(Executable.from_bytes(program, graph=graph, flags=self.flags, **how))
        self._time(executables[-1])
        return executables[-1], was_there

    @checked
    def run(self, executable: Executable | Entry, feeds: Sequence,
            setting: Setting) -> list[np.ndarray]:  # fmt: skip
        """Compute the outputs of what :meth:`get` returned; of an extracted graph, zeros."""
        if isinstance(executable, Entry):
            return [np.array(hollow(node.type)) for node in executable.graph.outputs]
        if not setting.values:
            return [hollow(node.type) for node in executable.graph.outputs]
        values = executable.plan.run(feeds, setting)
        if executable.reported_ns is not None:
            self.metrics.add("ExecuteTime", executable.reported_ns)
        return values


def cut(roots: tuple[Node, ...], replaced: tuple[Node | None, ...] = (),
        name: str = "step") -> Recording:  # fmt: skip
    """Return the graph of what roots need, its parameters numbered from 0.

    Parameters
    ----------
    roots : tuple of Node
    replaced : tuple of (Node or None)
        The leaf whose bytes each root takes.
    name : str
        Of the graph.

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
            new[node] = on_inputs(node, tuple(new[i] for i in node.inputs))
    place = {leaf: i for i, leaf in enumerate(leaves)}
    donated = tuple((i, place[leaf]) for i, leaf in enumerate(replaced) if leaf in place)
    parameters, outputs = (tuple(new[node] for node in nodes) for nodes in (leaves, roots))
    graph = Graph(name, parameters, outputs, donated)
    return graph, [leaf.of["number"] for leaf in leaves]


#: :func:`cut` for steps, which end at the same roots when they are recorded again
recorded = lru_cache(_MOST_RECORDED)(cut)


def compile_bytes(graph_json: str, flags_text: str = "") -> bytes:
    """Compile a saved graph; what ``parallel_compile`` does in each process.

    Parameters
    ----------
    graph_json : str
        Of ``Graph.to_json``.
    flags_text : str
        As in ``NEURON_CC_FLAGS``.

    Returns
    -------
    bytes
        Of ``Executable.to_bytes``.
    """
    return Executable(Graph.from_json(graph_json), parse(flags_text)).to_bytes()


def why_new(graph: Graph, known: Sequence[Graph]) -> str:
    """Return why a graph is another than those known: how it differs from the most similar one."""
    if not known:
        return "the first graph"
    bag = _bag(graph)
    nearest = max(known, key=lambda one: _likeness(bag, _bag(one)))
    if _likeness(bag, _bag(nearest)) < _ALIKE:
        return f"a new graph of {len(graph.nodes)} operations, unlike those before"
    return difference(nearest, graph) or "other flags"


def _bag(graph: Graph) -> Counter:
    return Counter(node.operation for node in graph.nodes)


def _likeness(one: Counter, other: Counter) -> float:
    return (one & other).total() / max(one.total(), other.total(), 1)


@checked
def difference(before: Graph, after: Graph) -> str:
    """Return in one sentence where two graphs first differ; "" if they are equal.

    Operations are compared one by one in the order of recording, inputs by their first reader, for
    that is the line that a reader knows.

    Parameters
    ----------
    before, after : Graph

    Returns
    -------
    str

    Examples
    --------
    >>> from trainium_edu.xla.graph import as_type
    >>> from trainium_edu.xla.operations import apply, parameter
    >>> a, b = (parameter(0, as_type((n, 4), "float32"), "x") for n in (2, 3))
    >>> old, new = (Graph("g", (x,), (apply("exp", x),)) for x in (a, b))
    >>> text = difference(old, new)
    >>> text.partition(",")[0], text.rpartition(" is ")[2]
    ('parameter x', 'f32[3,4], and was f32[2,4]')
    """
    if before.fingerprint == after.fingerprint:
        return ""
    olds, news = list(before._all), list(after._all)
    for old, new in zip(olds, news, strict=False):
        if old.operation != new.operation:
            return f"{_called(after, new)} in place of {old.operation}"
        if old.type != new.type:
            return f"{_called(after, new)} is {new.type}, and was {old.type}"
        if old.attributes != new.attributes and new.operation != "parameter":
            kind = next(k for k, v in new.attributes if old.of.get(k) != v)
            return f"{_called(after, new)}: {_changed(kind, old.of.get(kind), new.of[kind])}"
    count = len(news) - len(olds)
    if count:
        rest = (news if count > 0 else olds)[min(len(news), len(olds))]
        text = f"{several(abs(count), 'operation')} {'more' if count > 0 else 'fewer'}"
        return f"{text}, from {_called(after if count > 0 else before, rest)} on"
    return "other results are asked for, or operations read other inputs"


def _called(graph: Graph, node: Node) -> str:
    if node.operation != "parameter":
        return node.operation + node.at
    name = f"parameter {node.of['name'] or node.of['number']}"
    readers = [n for n in graph.users.get(node, ()) if n.line]
    return f"{name}, first read{readers[0].at}," if readers else name


def _changed(kind, old, new) -> str:
    if isinstance(new, bytes | Graph):
        return f"its {kind} changed, which is part of the graph"
    return f"its {kind} is {new}, and was {old}"
