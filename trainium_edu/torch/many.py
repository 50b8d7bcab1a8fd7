"""Run a script on several ranks, and put together what each of them knows of the run."""

import sys
from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from functools import partial

from trainium_edu import settings
from trainium_edu.torch import core as cores
from trainium_edu.torch.clock import Clock, emulated, is_shown
from trainium_edu.torch.core import Core, Step
from trainium_edu.torch.ranks import choose
from trainium_edu.torch.ranks.apart import Outcome, run_apart
from trainium_edu.torch.ranks.run_together import RankAsked, run_together, tried_together
from trainium_edu.training.parallel.collectives import Links, compiler_for, links
from trainium_edu.training.run_record import RunRecord, StepRecord
from trainium_edu.xla.cache import open_cache
from trainium_edu.xla.compiler import Event
from trainium_edu.xla.executable import Executable
from trainium_edu.xla.flags import Flags
from trainium_edu.xla.graph import Graph
from trainium_edu.xla.operations.custom import calls

__all__ = ["MASTER", "Place", "on_ranks", "record_of", "spawn"]

MASTER = "127.0.0.1", 29500
_MOST_GRAPHS = 8  #: of a run whose ranks are processes, that are compiled again here


def record_of(core: Core, script: str = "this session", **more) -> RunRecord:
    """Return what a core did, as plain data.

    Parameters
    ----------
    core : Core
    script : str
    **more
        Fields of ``RunRecord``.
    """
    if core.spawned is not None:  # its ranks did it
        return replace(core.spawned, script=script)
    steps = [_recorded(one) for one in core.steps]
    return RunRecord(
        script, instance=core.instance, ranks=core.world.size, values=str(core.values), steps=steps,
        history=list(core.compiler.history), counters=_counters(core), waits=list(core.clock.waits),
        **more,
    )  # fmt: skip


def _recorded(step: Step) -> StepRecord:
    """Return a step as plain data; a graph that was only written down has no executable."""
    found = step.executable if isinstance(step.executable, Executable) else None
    return StepRecord(step.number, step.begin_ns, step.end_ns, step.kind, found, step.line,
                      step.why, step.operation)  # fmt: skip


def _silent(level, text) -> None:
    """Say nothing: the ranks have said it."""


def _counters(core: Core) -> dict[str, int]:
    metrics = core.compiler.metrics
    return {name: metrics.counter_value(name) or 0 for name in metrics.counter_names()}


@dataclass
class _Told:
    """What a rank that is a process tells in the end; it can be pickled."""

    steps: list[tuple[StepRecord, int]]  #: with the fingerprint of each one's graph
    graphs: dict[int, Graph | bytes]  #: or programs, where custom calls are in them
    history: list[Event]
    counters: Mapping[str, int]
    waits: list[tuple[float, float, str]]
    flags: Flags
    cache_url: str | None


def _told(core: Core) -> _Told:
    steps, graphs = [], {}
    for one in core.steps:
        graph = getattr(one.executable, "graph", one.executable)
        if isinstance(one.executable, Executable):
            is_known_here = calls(graph.nodes)
            graphs[graph.fingerprint] = one.executable.to_bytes() if is_known_here else graph
        steps.append((replace(_recorded(one), executable=None), graph.fingerprint))
    return _Told(steps, graphs, list(core.compiler.history), _counters(core),
                 list(core.clock.waits), core.compiler.flags,
                 settings.lazy().cache_url)  # fmt: skip


@dataclass(frozen=True)
class Place:
    """Where ranks run: the options of ``run_script`` that say so."""

    ranks: int
    nodes: int
    instance: str
    values: str | int
    algorithm: str
    master: tuple[str, int]


def on_ranks(main: Callable[[], int], place: Place, script: str,
             how: str | None) -> tuple[int, RunRecord]:  # fmt: skip
    """Run a script's function on several ranks.

    Parameters
    ----------
    main : callable () -> int
        Runs the script with the current core, and returns its exit code.
    place : Place
    script : str
        Its file, which tells whether it asks for its rank.
    how : {"together", "apart"}, optional
        Default: together if nothing in the script's text speaks against it; a script that asks
        for its rank all the same, and printed nothing before, begins again apart.

    Returns
    -------
    code : int
    record : RunRecord
    """
    wanted = how or choose.how(script).how
    if how == "together":
        try:
            return _together(main, place)
        except RankAsked as asked:
            print(f"{asked}; run it with --ranks apart", file=sys.stderr)
            return 1, _empty(place, how, str(asked))
    if wanted == "together":
        found = _in_processes(main, place, tried_together, wanted)
        if found is not None:
            return found
    runner = partial(run_apart, modules=choose.loaded_first(script))
    return _in_processes(main, place, runner, "apart")


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
    code, core.spawned = _in_processes(main, place, run_apart, "apart")
    if code:
        raise RuntimeError(core.spawned.problem)


def _empty(place: Place, how: str, problem: str) -> RunRecord:
    return RunRecord("", instance=place.instance, nodes=place.nodes, how=how, problem=problem,
                     ranks=place.ranks * place.nodes, values=str(place.values))  # fmt: skip


def _begin(main: Callable[[], int], place: Place, runner: Callable, result: Callable):
    """Run a script's function by one of the two ways, and tell what went wrong."""
    found = runner(lambda: sys.exit(main()), clock=Clock, result=result, **dict(vars(place)))
    if isinstance(found, Outcome) and found.told:
        print(found.told, file=sys.stderr)
    return found


def _together(main: Callable[[], int], place: Place) -> tuple[int, RunRecord]:
    found = _begin(main, place, run_together,
                   lambda core: record_of(core, how="together", links=core.links))  # fmt: skip
    return found.code, next(iter(found.results), None) or _empty(place, "together", found.told)


def _in_processes(main: Callable[[], int], place: Place, runner: Callable, how: str):
    """Return code and record of what other processes did; None if they have to run another way."""
    reached = links(place.ranks * place.nodes, place.instance, algorithm=place.algorithm)
    found = _begin(main, place, runner, _told)
    if not isinstance(found, Outcome):
        return None
    record = replace(_empty(place, how, found.told), links=reached)
    told = [one for one in found.results if one is not None]
    return found.code, _joined(record, told, reached) if told else record


def _joined(record: RunRecord, told: list[_Told], reached: Links | None) -> RunRecord:
    """Return the first rank's record with executables, which each were one rank's to compile."""
    first = told[0]
    graphs = {print_: graph for one in told for print_, graph in one.graphs.items()}
    made = {e.graph: e for one in told for e in one.history if e.kind == "compiled"}
    spent: dict[int, float] = {}
    for step, print_ in first.steps:
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
    steps = [replace(step, executable=executables.get(print_)) for step, print_ in first.steps]
    seen: set[int] = set()
    history = []
    for event in first.history:
        is_new = event.graph not in seen
        seen.add(event.graph)
        history.append(made.get(event.graph, event) if is_new else event)
    return replace(record, steps=steps, history=history, counters=first.counters, waits=first.waits)
