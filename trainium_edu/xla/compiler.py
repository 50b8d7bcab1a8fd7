"""From a graph to what runs it: looked up in memory, then on disk, compiled if it is in neither."""

from dataclasses import dataclass, field

from trainium_edu.xla.executor import Plan
from trainium_edu.xla.graph import Graph

__all__ = ["Compiler", "Event", "difference"]


@dataclass(frozen=True, slots=True)
class Event:
    """What happened to one graph that was asked for."""

    step: int
    kind: str  #: "compiled", "memory", "disk", "extracted"
    graph: int  #: its fingerprint
    why: str  #: what differs from the graph before; "" for a hit


@dataclass
class Compiler:
    """Executables by fingerprint and flags, with a history."""

    flags: object = None
    history: list[Event] = field(default_factory=list)
    _known: dict = field(default_factory=dict, repr=False)
    _newest: Graph | None = field(default=None, repr=False)

    def get(self, graph: Graph, step: int):
        """Return the executable of a graph."""
        key = graph.fingerprint, self.flags
        found, kind, why = self._known.get(key), "memory", ""
        if found is None:
            kind = "compiled"
            why = difference(self._newest, graph) if self._newest else "the first graph"
            found = self._known[key] = Plan(graph)
        self.history.append(Event(step, kind, graph.fingerprint, why))
        self._newest = graph
        return found

    def hit(self, step: int, executable) -> None:
        """Note that a graph was found by its roots alone."""
        self.history.append(Event(step, "memory", executable.graph.fingerprint, ""))
        self._newest = executable.graph


def difference(before: Graph, after: Graph) -> str:
    """Say in one sentence where two graphs first differ; "" if they are equal.

    Parameters
    ----------
    before, after : Graph
    """
    if before.fingerprint == after.fingerprint:
        return ""
    for old, new in zip(before._all, after._all, strict=False):
        where = f" at {new.line}" if new.line else ""
        if old.operation != new.operation:
            return f"{new.operation}{where} in place of {old.operation}"
        if old.type != new.type:
            return f"{new.operation}{where} is {new.type}, and was {old.type}"
        if old.attributes != new.attributes:
            return f"{new.operation}{where} has other attributes"
    count = len(after.nodes) - len(before.nodes)
    if count:
        return f"{abs(count)} operations {'more' if count > 0 else 'fewer'}"
    return "other results are asked for"
