"""Run a script on several ranks, and put together what each of them knows of the run."""

import sys
from collections.abc import Callable
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from trainium_edu import settings
from trainium_edu.torch import core as cores
from trainium_edu.torch.clock import Clock, emulated, is_shown
from trainium_edu.torch.core import Core
from trainium_edu.torch.ranks.processes import run_ranks
from trainium_edu.torch.script import slow_imports
from trainium_edu.training.parallel.collectives import Links, compiler_for, links
from trainium_edu.training.run_record import RunRecord
from trainium_edu.xla.cache import open_cache
from trainium_edu.xla.executable import Executable
from trainium_edu.xla.flags import Flags
from trainium_edu.xla.graph import Graph
from trainium_edu.xla.operations.custom import calls

__all__ = ["MASTER", "Place", "on_ranks", "record_of", "spawn"]

MASTER = "127.0.0.1", 29500
_MOST_GRAPHS = 8  #: of a run whose ranks are processes, that are compiled again here


def record_of(core: Core, script: str = "this session") -> RunRecord:
    """Return what a core did, as plain data.

    Parameters
    ----------
    core : Core
    script : str
    """
    if core.spawned is not None:  # its ranks did it
        return replace(core.spawned, script=script)
    metrics = core.compiler.metrics
    steps = [one if isinstance(one.executable, Executable)
             else replace(one, executable=None)  # of a graph that was only written down
             for one in core.steps]  # fmt: skip
    return RunRecord(
        script, instance=core.instance, ranks=core.world.size, values=str(core.values), steps=steps,
        history=list(core.compiler.history), waits=list(core.clock.waits),
        counters={name: metrics.counter_value(name) or 0 for name in metrics.counter_names()},
    )  # fmt: skip


def _silent(level, text) -> None:
    """Print nothing: the ranks have printed it."""


@dataclass
class _Told:
    """The report of a rank's process at its end; it can be pickled."""

    record: RunRecord  #: without executables
    fingerprints: list[int]  #: fingerprint of each step's graph
    graphs: dict[int, Graph | bytes]  #: or programs, where custom calls are in them
    flags: Flags
    cache_url: str | None


def _told(core: Core) -> _Told:
    graphs, fingerprints = dict[int, Graph | bytes](), []
    for step in core.steps:
        graph: Any = getattr(step.executable, "graph", step.executable)
        if isinstance(step.executable, Executable):
            is_known_here = calls(graph.nodes)
            graphs[graph.fingerprint] = step.executable.to_bytes() if is_known_here else graph
        fingerprints.append(graph.fingerprint)
    record = record_of(core)
    record = replace(record, steps=[replace(step, executable=None) for step in record.steps])
    return _Told(record, fingerprints, graphs, core.compiler.flags, settings.lazy().cache_url)


@dataclass(frozen=True)
class Place:
    """The options of ``run_script`` that say where ranks run."""

    ranks: int
    nodes: int
    instance: str
    values: str | int
    algorithm: str
    master: tuple[str, int]


def on_ranks(main: Callable[[], int], place: Place, script: str = "") -> tuple[int, RunRecord]:
    """Run a script's function on several ranks.

    Parameters
    ----------
    main : callable () -> int
        Runs the script with the current core, and returns its exit code.
    place : Place
    script : str
        Its file; libraries that it imports at once are loaded before there are ranks.

    Returns
    -------
    code : int
    record : RunRecord
    """
    reached = links(place.ranks * place.nodes, place.instance, algorithm=place.algorithm)
    outcome = run_ranks(lambda: sys.exit(main()), clock=Clock, result=_told,
                      modules=slow_imports(Path(script)) if script else (),
                      **dict(vars(place)))  # fmt: skip
    if outcome.problem:
        print(outcome.problem, file=sys.stderr)
    record = RunRecord("", instance=place.instance, nodes=place.nodes, links=reached,
                       ranks=place.ranks * place.nodes, values=str(place.values),
                       problem=outcome.problem)  # fmt: skip
    told = [one for one in outcome.results if one is not None]
    return outcome.code, _joined(record, told, reached) if told else record


def spawn(function: Callable[[int], object], count: int, core: Core) -> None:
    """Call a function with each rank's number, on ranks that are processes.

    Parameters
    ----------
    function : callable (int)
    count : int
    core : Core
        Of this process; ``core.spawned`` becomes the ranks' record.

    Raises
    ------
    RuntimeError
        If a rank fails, or ranks would wait for each other for ever.
    """
    shown = is_shown()

    def main():
        here = cores.current()
        with emulated(here.clock if shown else None):
            function(here.world.ordinal)

    place = Place(count, 1, core.instance, core.values, "ring", MASTER)
    code, core.spawned = on_ranks(main, place)
    if code:
        raise RuntimeError(core.spawned.problem)


def _joined(record: RunRecord, told: list[_Told], reached: Links | None) -> RunRecord:
    """Return the first rank's record with executables, which each were one rank's to compile."""
    first = told[0]
    graphs = {print_: graph for one in told for print_, graph in one.graphs.items()}
    compile_events = {event.graph: event for one in told for event in one.record.history
                      if event.kind == "compiled"}  # fmt: skip
    spent: dict[int, float] = {}
    steps = [*zip(first.record.steps, first.fingerprints, strict=True)]
    for step, print_ in steps:
        spent[print_] = spent.get(print_, 0.0) + step.end_ns - step.begin_ns
    longest = sorted(spent, key=lambda print_: -spent[print_])[:_MOST_GRAPHS]
    compiler = compiler_for(record.instance, reached)
    compiler.flags = first.flags
    if not first.flags.no_cache:
        compiler.cache = open_cache(first.flags.cache_dir, first.cache_url, log=_silent)

    def opened(graph):
        if isinstance(graph, Graph):
            return compiler.get(graph, 0)
        return Executable.from_bytes(graph, flags=first.flags, times=compiler.times,
                                     overlaps=compiler.overlaps)  # fmt: skip

    executables = {p: opened(graphs[p]) for p in longest if p in graphs}
    seen: set[int] = set()
    history = []
    for event in first.record.history:
        is_new = event.graph not in seen
        seen.add(event.graph)
        history.append(compile_events.get(event.graph, event) if is_new else event)
    return replace(record, history=history, counters=first.record.counters,
                   steps=[replace(step, executable=executables.get(print_))
                          for step, print_ in steps], waits=first.record.waits)  # fmt: skip
