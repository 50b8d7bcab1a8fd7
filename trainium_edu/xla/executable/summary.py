"""A whole graph's time: where it goes, what to improve first, what each operation takes."""

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, replace

from trainium_edu.neuroncore.advice.costs import Cost
from trainium_edu.neuroncore.recording.source import SourceLine
from trainium_edu.neuroncore.timing.durations import parameters
from trainium_edu.neuroncore.timing.roofline import Roofline
from trainium_edu.xla.executable.sections import Section
from trainium_edu.xla.executable.times import ENGINE_NAMES, Advised, Piece, Times
from trainium_edu.xla.executable.tracks import LINKS, critical, exposed_ns
from trainium_edu.xla.graph import Node
from trainium_edu.xla.operations.table import OPERATIONS

__all__ = ["Advice", "Operation", "Why", "advice", "operations", "why"]


@dataclass(frozen=True, slots=True)
class Operation:
    """One node of the final graph, in time."""

    node: Node
    section: int | None  #: None for what issues no instructions: views, constants, parameters
    start_ns: float
    end_ns: float
    engine_ns: Mapping[str, float]
    bytes: int  #: moved to and from HBM
    flops: int
    roofline_ns: float  #: no machine with this peak and this HBM does it sooner


def operations(executable) -> list[Operation]:
    """Return one record per node, in the graph's order; views and constants are at their reader."""
    records: dict[Node, Operation] = {}
    spec, placed = executable.spec, executable.tracks()
    engine, clock_hz = spec.tensor_engine, parameters(spec)["tensor_clock_hz"].nominal
    hbm = float(spec.hbm_bytes_per_s_per_core)
    roofs = Roofline(0, 0, 0.0, int(engine.rows) * int(engine.columns) * 2 * clock_hz, hbm, hbm)
    for section_number, (section, times) in enumerate(executable.timed()):
        begin = placed[section_number].start_ns
        for node, spent in zip(section.nodes, times.spent, strict=True):
            flops = OPERATIONS[node.operation].flops(node)
            roof = replace(roofs, flops=flops, hbm_bytes=spent.bytes)
            records[node] = Operation(
                node, section_number, begin + spent.start_ns, begin + spent.end_ns, spent.engine_ns,
                spent.bytes, flops, max(roof.compute_ns, roof.memory_ns),
            )  # fmt: skip
    none = dict.fromkeys(ENGINE_NAMES, 0.0)
    for node in executable.final.nodes:
        if node not in records:
            ready = max((records[i].end_ns for i in node.inputs), default=0.0)
            records[node] = Operation(node, None, ready, ready, none, 0, 0, 0.0)
    return [records[node] for node in executable.final.nodes]


@dataclass(frozen=True, slots=True)
class Why:
    """A graph's time by cause; its pieces add up to the makespan."""

    name: str
    makespan_ns: float
    pieces: tuple[tuple[Node, Piece], ...]  #: each operation's parts of the critical paths

    def __repr__(self):
        return f"Why({self.name!r}, {len(self.pieces)} pieces, {self.makespan_ns:.1f} ns)"

    @property
    def total_ns(self) -> float:
        """The pieces added up."""
        return sum(piece.ns for _, piece in self.pieces)

    def ns_by(self, key: Callable[[Node, Piece], object]) -> dict:
        """Add up by ``key(node, piece)``, the longest first."""
        found: dict = {}
        for node, piece in self.pieces:
            k = key(node, piece)
            found[k] = found.get(k, 0.0) + piece.ns
        return dict(sorted(found.items(), key=lambda item: -item[1]))

    def _shares(self, key):
        whole = self.makespan_ns or 1.0
        return {k: ns / whole for k, ns in self.ns_by(key).items()}

    def share_by_cause(self) -> dict[str, float]:
        """Return how much of the time each engine's work, overhead, ... takes on the paths."""
        return self._shares(lambda node, piece: piece.cause)

    def share_by_kind(self) -> dict[str, float]:
        """Return how much rests on documented, derived, measured, assumed facts."""
        return self._shares(lambda node, piece: piece.kind)

    def share_by_operation(self) -> dict[str, float]:
        """Return how much of the time each kind of operation, each kernel takes on the paths."""
        return self._shares(lambda node, piece: node.title)

    def __str__(self):
        lines = [f"{self.name}: {self.makespan_ns:.1f} ns on the critical paths of its sections"]
        for title, shares in (("", self.share_by_cause()), ("by ", self.share_by_operation())):
            lines += [f"  {part:>6.1%}  {title}{cause}" for cause, part in shares.items()]
        return "\n".join(lines)


def why(executable) -> Why:
    """Add up the critical paths of the sections that lie on the graph's own."""
    pieces: list[tuple[Node, Piece]] = []
    placed, times = executable.tracks(), [times for _, times in executable.timed()]
    path = critical(placed)
    for section_number in path:
        at, parts_of_path = placed[section_number], times[section_number].why
        if at.track == LINKS:
            alone = exposed_ns(placed, at)
            parts = (("exposed", alone), ("beside the engines", at.end_ns - at.start_ns - alone))
            parts_of_path = tuple(replace(parts_of_path[0], cause=f"collective: {name}", ns=ns)
                          for name, ns in parts if ns > 0)  # fmt: skip
        pieces += [(at.section.nodes[piece.place], piece) for piece in parts_of_path]
    return Why(executable.name, placed[path[-1]].end_ns if path else 0.0, tuple(pieces))


@dataclass(frozen=True, slots=True)
class Advice:
    """One thing to improve, everywhere where it holds.

    Attributes
    ----------
    found : Advised
        In the first of its sections.
    nodes : tuple of Node
        All operations that it concerns.
    """

    found: Advised
    nodes: tuple[Node, ...]

    @property
    def ns(self) -> float:
        """By how much the graph would be shorter: what one costs times how many there are.

        Less, where collectives run beside and take longer.
        """
        return self.found.ns * len(self.nodes)

    @property
    def lines(self) -> tuple[SourceLine, ...]:
        """The lines that asked for these operations."""
        return tuple(dict.fromkeys(node.line for node in self.nodes if node.line))

    @property
    def text(self) -> str:
        """One finding, what it costs and what to do."""
        end = "" if self.found.remedy.endswith("?") else "."
        return f"{self.found.found}.{self._cost()} {self.found.remedy}{end}"

    def _cost(self):
        count = len(self.nodes)
        if self.found.is_hidden:
            return " It passes beside other work: alone it costs next to nothing."
        if not self.found.ns:
            return ""
        cost = Cost(self.ns, count * self.found.low_ns, count * self.found.high_ns)
        each = f", {count} operations together" if count > 1 else ""
        return f" Costs {'at most ' * self.found.is_most}{cost}{each}."

    def __str__(self):
        return f"{self.lines[0]}: {self.text}" if self.lines else self.text


def advice(timed: Iterable[tuple[Section, Times]]) -> list[Advice]:
    """Return the sections' advice, each once for all places where it holds, by what it costs."""
    places: dict[int, tuple[Advised, list[Node]]] = {}
    for section, times in timed:
        for one in times.advice or ():
            places.setdefault(id(one), (one, []))[1].append(section.nodes[one.place])
    found = [Advice(one, tuple(nodes)) for one, nodes in places.values()]
    return sorted(found, key=lambda a: (a.found.is_hidden, -a.ns))
