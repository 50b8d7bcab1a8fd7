"""Ahead of time: compile all graphs that a trial run left in the cache, several at once.

A trial run with ``NEURON_EXTRACT_GRAPHS_ONLY=1`` writes every graph it meets into the cache and
hands out zeros.  Here the graphs are compiled by a few processes, so that the real run finds them
all; what ``analyze`` reports is which of their operations the compiler knows.

Read first: :func:`compile_collected`.  The command around it is ``python -m trainium_edu
neuron_parallel_compile``.  The caller passes the compiler, as a function of a graph's JSON and its
flags.

References: `aws-parallel-compile`.
"""

import json
import multiprocessing
import signal
import time
from collections import Counter
from collections.abc import Callable, Collection
from concurrent.futures import Future, ProcessPoolExecutor
from concurrent.futures.process import BrokenProcessPool
from dataclasses import dataclass

from trainium_edu.specs.arguments import whole
from trainium_edu.specs.signatures import checked
from trainium_edu.xla.cache import CompileCache, CompileFailed, Entry
from trainium_edu.xla.graph import Graph, inner_graphs

__all__ = ["Compiled", "Report", "analyze", "compile_collected", "counts", "processes"]

CompileBytes = Callable[[str, str], bytes]


@dataclass(frozen=True, slots=True)
class Compiled:
    """The outcome of one graph."""

    graph: str  #: its file in the cache
    status: bool  #: whether it compiled
    retry: int  #: how often it was tried again
    seconds: float  #: on this computer
    reason: str = ""  #: why it failed


@dataclass(frozen=True, slots=True)
class Report:
    """The outcome of all graphs; as text, the summary that AWS's tool prints."""

    compiled: tuple[Compiled, ...]
    seconds: float
    times: bool = False  #: whether the text has times

    @property
    def failed(self) -> int:
        """How many graphs did not compile."""
        return sum(not one.status for one in self.compiled)

    def __str__(self):
        summary = Counter(str(one.status).lower() for one in self.compiled)
        rows = {}
        for one in self.compiled:
            rows[one.graph] = {"status": one.status, "retry": one.retry}
            if self.times:
                rows[one.graph]["compile_time"] = one.seconds
        report = {"compilation_summary": summary, "compilation_report": rows}
        if self.times:
            report["compilation_time"] = self.seconds
        return json.dumps(report, indent=4)


@checked
def counts(cache: CompileCache) -> str:
    """Return the line that says how far the entries of a cache have come.

    Examples
    --------
    >>> counts(CompileCache("an empty folder", "1.0"))
    'Current remaining items are 0, locked are 0, failed are 0, done are 0, total is 0'
    """
    found = Counter(entry.status for entry in cache.entries())
    said = [f"{name} are {found[name]}" for name in ("locked", "failed", "done")]
    return (
        f"Current remaining items are {found['remaining']}, {', '.join(said)}, "
        f"total is {found.total()}"
    )


@checked
def compile_collected(cache: CompileCache, compile_bytes: CompileBytes, *, workers: int = 2,
                      retries: int = 0, times: bool = False) -> Report:  # fmt: skip
    """Compile every graph in a cache that has no program yet, and keep the programs there.

    Parameters
    ----------
    cache : CompileCache
        One that retries failed compiles has those compiled, too.
    compile_bytes : callable (graph as JSON, flags as text) -> bytes
        A function of some module: other processes import it by its name.
    workers : int
        Processes.
    retries : int
        How often a graph that fails is tried again before the failure is remembered.
    times : bool
        Whether the report's text has compile times.

    Returns
    -------
    Report
        Without the graphs that another process compiled meanwhile.

    Raises
    ------
    ValueError
        If `workers` is not from 1 to 64.
    """
    workers, retries = whole(workers, "workers", 1, 64), whole(retries, "retries", 0)
    started = time.monotonic()
    wanted = ("remaining", "failed") if cache.retry_failed else ("remaining",)
    entries = [entry for entry in cache.entries() if entry.status in wanted]
    given = (str(cache.root), cache.version, cache.retry_failed, compile_bytes, retries)
    with processes(min(workers, len(entries)) or 1) as pool:
        running = [pool.submit(_compile, entry, *given) for entry in entries]
        try:
            done = [_result(entry, one) for entry, one in zip(entries, running, strict=True)]
        except BaseException:
            pool.shutdown(cancel_futures=True)  # what is under way is waited for, and kept
            raise
    compiled = tuple(one for one in done if one is not None)
    return Report(compiled, time.monotonic() - started, times)


def processes(count: int) -> ProcessPoolExecutor:
    """Return a pool of processes that leave Ctrl-C to this one.

    They are spawned: forks of a process with threads may hang.
    """
    spawn = multiprocessing.get_context("spawn")
    return ProcessPoolExecutor(count, spawn, signal.signal, (signal.SIGINT, signal.SIG_IGN))


def _result(entry: Entry, future: Future) -> Compiled | None:
    try:
        return future.result()
    except BrokenProcessPool:
        reason = "a compiling process was killed, perhaps for want of memory; run it again"
        return Compiled(str(entry.graph), False, 0, 0.0, reason)


def _compile(entry, root, version, retry_failed, compile_bytes, retries) -> Compiled | None:
    """Compile one entry, in a process of its own; None if another one has done it."""
    cache = CompileCache(root, version, retry_failed=retry_failed)
    started, tried = time.monotonic(), 0
    kept = cache.graph_of(entry)
    if kept is None:
        return Compiled(str(entry.graph), False, 0, 0.0, "the graph is damaged")

    def compile():
        nonlocal tried
        while True:
            try:
                return compile_bytes(*kept)
            except Exception:
                if tried == retries:
                    raise
                tried += 1

    graph_hash, _, flags_hash = entry.folder.name.removeprefix("MODULE_").partition("+")
    reason = ""
    try:
        _, hit = cache.get_or_compile(graph_hash, flags_hash, compile)
        if hit:
            return None
    except CompileFailed:
        return None
    except Exception as problem:
        reason = f"{type(problem).__name__}: {problem}"
    return Compiled(str(entry.graph), not reason, tried, time.monotonic() - started, reason)


@checked
def analyze(cache: CompileCache, lowered: Collection[str]) -> dict:
    """Report which operations of the graphs in a cache the compiler knows.

    Parameters
    ----------
    cache : CompileCache
    lowered : collection of str
        The operations that become instructions.

    Returns
    -------
    dict
        As the file ``result.json`` of AWS's tool holds it: ``support_percentage``, and
        operations with how often they occur, or for unknown ones the lines that asked for them.
        Operations are the graph's own (``xla``); AWS's tool counts PyTorch's, too.
    """
    supported: Counter[str] = Counter()
    unsupported: dict[tuple[str, str], int] = {}
    for entry in cache.entries():
        kept = cache.graph_of(entry) if entry.graph.exists() else None
        recorded = [Graph.from_json(kept[0])] if kept else []
        graphs = recorded + [inner for graph in recorded for inner in inner_graphs(graph)]
        for node in (node for graph in graphs for node in graph.nodes):
            if node.operation in lowered or not node.inputs:
                supported[f"xla::{node.operation}"] += 1
            else:
                call = (f"xla::{node.operation}", str(node.line or ""))
                unsupported[call] = unsupported.get(call, 0) + 1
    total = supported.total() + sum(unsupported.values())
    return {
        "neuronx_cc_version": cache.version,
        "support_percentage": f"{100 * supported.total() / total if total else 100:.2f}%",
        "supported_operators": {"xla": dict(sorted(supported.items()))},
        "unsupported_operators": {"xla": [
            {"kind": kind, "failureAt": "neuronx-cc", "call": call, "count": count}
            for (kind, call), count in sorted(unsupported.items())
        ]},
    }  # fmt: skip
