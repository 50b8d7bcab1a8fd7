"""A graph cut into programs, each distinct one lowered once.

Operations that follow each other share a program while it is short; at the end of one the engines
meet, and the next begins.  Two sections are the same if they do the same operations on the same
types with the same dataflow: the twelve layers of a model are lowered and timed as one.

A collective is a section of its own.  Where there are some, the graph is reordered before it is
cut: see :func:`in_order`.
"""

from collections import Counter, defaultdict
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property

from trainium_edu.neuroncore.advice.remedies import Words, sentences
from trainium_edu.neuroncore.recording.core import NeuronCore
from trainium_edu.neuroncore.run import Run
from trainium_edu.specs.record import Record
from trainium_edu.xla.graph import Graph, Node
from trainium_edu.xla.lowering import Lowering, casts_on_load, line_of, lower_all
from trainium_edu.xla.operations.custom import is_alone, run_alone

__all__ = ["COLLECTIVES", "LONG", "MOST", "Body", "Section", "cut", "in_order", "sections_of"]

#: Operations of all ranks together.
COLLECTIVES = frozenset({"all_gather", "all_reduce", "all_to_all", "collective_permute",
                         "reduce_scatter"})  # fmt: skip

#: Instructions of an operation that gets a section of its own.  Assumed: at some 100 ns each it
#: lasts 50 us, beside which the 2 us of a transfer's start that an overlap hides are small.
LONG = 512
#: Instructions of a section.  Assumed: a compiler's scheduler looks at a part of a long program
#: at a time, and so does a reader of its timeline.
MOST = 4096


_WORDS = Words("graph", sentences(2))  # the remedies in the words of graphs


@dataclass(frozen=True, eq=False)
class Body:
    """The work of one distinct section: its operations, where the graph has them first.

    Attributes
    ----------
    order : tuple of Node
        Operations, and in front of each the views and constants that it reads.
    outside : tuple of Node
        Values that other sections, or the user, left in HBM.
    own : tuple of Node
        Those of `order` that issue instructions.
    on_load : frozenset of Node
        Casts of `order` that happen as a DMA loads.
    spec : specs.Record
    """

    order: tuple[Node, ...]
    outside: tuple[Node, ...]
    own: tuple[Node, ...]
    on_load: frozenset[Node]
    spec: Record
    is_collective: bool = False

    @property
    def name(self) -> str:
        """Its first operation, and how many follow."""
        more = f"+{len(self.own) - 1}" if len(self.own) > 1 else ""
        return f"{self.own[0].title}{more}"

    @cached_property
    def key(self) -> tuple:
        """Equal for sections that take the same time."""
        position = {node: ("outside", i) for i, node in enumerate(self.outside)}
        position |= {node: ("inside", i) for i, node in enumerate(self.order)}
        own = set(self.own)
        steps = tuple(
            (node.operation, node.attributes, tuple(position[i] for i in node.inputs), node in own)
            for node in self.order
        )
        return tuple(node.type for node in self.outside), steps, self.spec.name

    @cached_property
    def lowered(self) -> Lowering:
        """Its instructions, issued on a core without values."""
        core = NeuronCore(self.spec, values=False, name=self.name)
        lowering = Lowering(core, on_load=self.on_load)
        for node in self.outside:
            lowering.out(node)
        lower_all(lowering, self.order)
        return lowering

    @cached_property
    def run(self) -> Run:
        """Its program, timeline, why and advice, as a kernel's; made when first asked for."""
        if is_alone(self.own[0]):
            return run_alone(self.own[0], self.spec)
        return Run.of(self.name, None, [self.lowered.core], words=_WORDS)

    @cached_property
    def lines(self) -> dict:
        """Each line of an instruction → the place in `own` of the operation that issued it.

        A view copies what does not lie as it is seen; that is its reader's.
        """
        if is_alone(self.own[0]):
            return defaultdict(int)
        own_position = {node: i for i, node in enumerate(self.own)}
        lines, reader = {}, len(own_position) - 1
        for i, node in reversed(list(enumerate(self.order))):
            reader = own_position.get(node, reader)
            lines[line_of(node, i)] = reader
        return lines


@dataclass(frozen=True, slots=True)
class Section:
    """One stretch of the graph.

    Attributes
    ----------
    nodes : tuple of Node
        Operations that issue instructions; their places are those in ``body.own``.
    body : Body
        Shared by sections that are the same.
    """

    nodes: tuple[Node, ...]
    body: Body


@dataclass
class _Cutter:
    graph: Graph
    spec: Record
    on_load: frozenset[Node]
    free: set[Node] = field(default_factory=set)  #: views and constants: no instructions
    alone: dict[tuple, tuple[int, bool]] = field(default_factory=dict)
    bodies: dict[tuple, Body] = field(default_factory=dict)

    def cut(self) -> list[Section]:
        sections: list[Section] = []
        group: list[Node] = []
        length = waited = 0
        order, waits = in_order(self.graph)
        for node in order:
            if node.operation == "parameter":
                continue
            count, is_collective = self.size(node)
            if not count and not is_collective:
                self.free.add(node)
                continue
            is_alone = count > LONG or is_collective
            is_later = waits.get(node, 0) > waited  # engines need not wait before
            if group and (is_alone or is_later or length + count > MOST):
                sections.append(self.section(group))
                group, length = [], 0
            if not is_collective:
                waited = max(waited, waits.get(node, 0))
            group.append(node)
            length += count
            if is_alone:
                sections.append(self.section(group, is_collective))
                group, length = [], 0
        if group:
            sections.append(self.section(group))
        return sections

    def size(self, node) -> tuple[int, bool]:
        """Return how many instructions an operation has, and whether other ranks take part."""
        if node in self.on_load:
            return 0, False
        if is_alone(node):
            return LONG + 1, False
        body = self.body((node,))
        if body.key not in self.alone:
            count, is_collective = len(body.lowered.core.program), bool(body.lowered.collectives)
            self.alone[body.key] = count, is_collective
            if count > LONG:
                self.bodies[body.key] = body  # a section as it is
        return self.alone[body.key]

    def section(self, nodes: Iterable[Node], is_collective=False) -> Section:
        body = self.body(tuple(nodes), is_collective)
        return Section(body.own, self.bodies.setdefault(body.key, body))

    def body(self, nodes: tuple[Node, ...], is_collective=False) -> Body:
        """Collect what nodes need that has no instructions, and what has to lie in HBM."""
        order: dict[Node, None] = {}
        outside: dict[Node, None] = {}

        def bring(node):
            if node in order or node in outside:
                return
            if node not in self.free and node not in self.on_load:
                outside[node] = None
                return
            for one in node.inputs:
                bring(one)
            order[node] = None

        for node in nodes:
            for one in node.inputs:
                bring(one)
            order[node] = None
        used = frozenset(node for node in order if node in self.on_load)
        return Body(tuple(order), tuple(outside), nodes, used, self.spec, is_collective)


def in_order(graph: Graph) -> tuple[Sequence[Node], Mapping[Node, int]]:
    """Return nodes in the order of work, so that collectives have something beside them.

    Parameters
    ----------
    graph : Graph
        After its passes.

    Returns
    -------
    nodes : sequence of Node
        What the first collective needs, that collective, what the second needs, ..., then the rest,
        by the last collective that it waits for; each after its inputs.
    waits : dict of Node to int
        How many collectives must have ended before an operation can begin.

    Notes
    -----
    Collectives that wait for fewer others come first, and among those the one that needs the
    fewest operations: the gradients of the last layer.  A walk from the outputs leaves all of them
    to the end.
    """
    queue = [node for node in graph.nodes if node.operation in COLLECTIVES]
    if not queue:
        return graph.nodes, {}
    itself = {node: {node} for node in queue}
    before: dict[Node, set[Node]] = {}  # by node: itself, if it is one, and those it waits for
    after: dict[Node, set[Node]] = {}  # by node: itself, if it is one, and those that need it
    depth: dict[Node, int] = {}
    for node in graph.nodes:
        before[node] = itself.get(node, set()).union(*(before[i] for i in node.inputs))
        depth[node] = max((depth[i] for i in node.inputs), default=0) + (node in itself)
    for node in reversed(graph.nodes):
        after[node] = itself.get(node, set()).union(*(after[user] for user in graph.users[node]))
    load = Counter(one for needed in after.values() for one in needed)
    queue.sort(key=lambda node: (depth[node], load[node]))
    turn_of = {node: number for number, node in enumerate(queue, 1)}
    waits = {node: max((turn_of[one] for one in before[node]), default=0) for node in graph.nodes}

    def turn(node):
        rest = len(queue) + 1 + waits[node]
        return min((turn_of[one] for one in after[node]), default=rest)

    return sorted(graph.nodes, key=turn), waits


def sections_of(graph: Graph, spec: Record, members, body_of, collective) -> list[Section]:
    """Return sections that were cut before.

    Parameters
    ----------
    graph : Graph
    spec : specs.Record
    members : list of tuple of Node
    body_of : sequence of int
        By section: the number of its body.
    collective : sequence of bool
        By body.
    """
    cutter = _Cutter(graph, spec, casts_on_load(graph))
    own = {node for nodes in members for node in nodes}
    cutter.free = {n for n in graph.nodes if n not in own and n.operation != "parameter"}
    bodies: dict[int, Body] = {}
    for nodes, body_number in zip(members, body_of, strict=True):
        if body_number not in bodies:
            bodies[body_number] = cutter.body(nodes, collective[body_number])
    return [Section(n, bodies[number]) for n, number in zip(members, body_of, strict=True)]


def cut(graph: Graph, spec: Record) -> list[Section]:
    """Cut a graph into sections.

    Parameters
    ----------
    graph : Graph
        After its passes.
    spec : specs.Record
        The chip.
    """
    return _Cutter(graph, spec, casts_on_load(graph)).cut()
