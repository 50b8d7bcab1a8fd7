"""The topology explorer: turn a machine, draw it as torus, hypercube or ring; cut a cable."""

import json
from collections.abc import Sequence
from dataclasses import asdict
from functools import cache, partial
from itertools import pairwise

import numpy as np
import traitlets

from trainium_edu import fabric
from trainium_edu.fabric.topology import Topology
from trainium_edu.specs.arguments import choice
from trainium_edu.specs.signatures import checked
from trainium_edu.viz.topology import draw_topology, way, wires_of
from trainium_edu.viz.topology_scene import all_ways, turn_layouts
from trainium_edu.viz.units import counted
from trainium_edu.widgets.page_widget import PageWidget
from trainium_edu.widgets.picture import Picture

__all__ = ["TopologyExplorer", "cycles_picture", "topology_explorer", "topology_picture"]

#: What the explorer offers.
MACHINES = {
    "trn1.32xlarge: 16 chips": fabric.trn1_32xlarge,
    "inf2.48xlarge: 12 chips": fabric.inf2_48xlarge,
    "inf2.24xlarge: 6 chips": partial(fabric.machine, "inf2.24xlarge"),
    "trn2.48xlarge: 16 chips": fabric.trn2_48xlarge,
}


@checked
def topology_picture(
    topology: Topology, *, path: Sequence[int] = (), title: str = "", **look
) -> Picture:
    """Return a picture of a topology, with its links and path in words.

    Parameters
    ----------
    topology, path, title, **look
        As for :func:`trainium_edu.viz.topology.draw_topology`.

    Returns
    -------
    picture : Picture
    """
    told = f"{title or topology.name}: {topology.chips} chips, {len(wires_of(topology))} cables"
    if len(path):
        told += f", path {' → '.join(map(str, path))}"
    draw = partial(draw_topology, topology, path=path, title=title, **look)
    return Picture(draw, alt=f"{told}.")


@checked
def cycles_picture(topology: Topology, *, layout: str = "") -> Picture:
    """Return a picture of the two edge-disjoint Hamiltonian cycles, in two colours."""
    wires = [frozenset(wire) for wire in wires_of(topology).tolist()]
    groups = np.zeros(len(wires), int)
    for which, cycle in enumerate(fabric.hamiltonian_cycles(topology), start=1):
        used = set(map(frozenset, pairwise([*cycle, cycle[0]])))
        groups[[wire in used for wire in wires]] = which
    counts = np.bincount(groups, minlength=3)
    title = f"two cycles: {counts[1]} cables (solid), {counts[2]} cables (dashed)"
    return topology_picture(topology, layout=layout, colour_by=groups, title=title)


class TopologyExplorer(PageWidget, page="topology"):
    """Turn a machine in space, cut a cable, point at a chip to see the way there.

    Parameters
    ----------
    machine : str
        One of ``MACHINES``.
    start, end : int
        Chips: the way shown leads from one to the other.
    cut : str
        A cable, "a - b", or nothing.
    drawn_as : str
        ``"flat"``, ``"torus"``, ``"hypercube"`` or ``"ring"``, where it applies.
    """

    scenes = traitlets.Unicode().tag(sync=True)  # every machine's chips, cables and drawings
    ways = traitlets.Bytes().tag(sync=True)  # every way on every machine, behind one another
    machine = traitlets.Unicode().tag(sync=True)
    drawn_as = traitlets.Unicode().tag(sync=True)
    start = traitlets.Int().tag(sync=True)
    end = traitlets.Int().tag(sync=True)
    cut = traitlets.Unicode("").tag(sync=True)

    def __init__(self, machine, start=0, end=10, cut="", drawn_as=""):
        whole = MACHINES[machine]()
        fabric.topology.known(whole, start, end)
        cables = [f"{a} - {b}" for a, b in wires_of(whole)]
        drawings = list(turn_layouts(whole))
        for what, value, known in (("cable", cut, cables), ("drawing", drawn_as, drawings)):
            if value and value not in known:
                raise fabric.FabricError(f"no {what} {value!r} here; there are {', '.join(known)}")
        scenes, ways = _everything()
        state = {"machine": machine, "start": start, "end": end, "cut": cut}
        super().__init__(scenes=scenes, ways=ways, drawn_as=drawn_as or drawings[0], **state)

    @property
    def path(self) -> list[int]:
        """The chips on the way that is shown."""
        return way(self._topology(), self.start, self.end)

    @property
    def told(self) -> str:
        """The way and its hops; drawn as a hypercube, also the addresses of its ends."""
        path = self.path
        text = f"{' → '.join(map(str, path))}: {counted(len(path) - 1, 'hop')}."
        if self.drawn_as == "hypercube":
            address = fabric.cube_addresses(self._topology())
            p, q = int(address[path[0]]), int(address[path[-1]])
            bits = counted((p ^ q).bit_count(), "bit")
            text += f" Hypercube addresses {p:04b} and {q:04b} differ in {bits}."
        return text

    def _topology(self):
        whole = MACHINES[self.machine]()
        return fabric.without_link(whole, *map(int, self.cut.split(" - "))) if self.cut else whole

    def __repr__(self):
        return f"TopologyExplorer({self.machine!r}: {self.told!r})"


@checked
def topology_explorer(machine: str = "trn1.32xlarge: 16 chips", *, start: int = 0, end: int = 10):
    """Return a :class:`TopologyExplorer` of a machine; the others are in its menu."""
    choice(machine, "machine", list(MACHINES))
    return TopologyExplorer(machine, start, end)


@cache
def _everything():
    """Return all machines as the page takes them: a description in JSON, and the ways' bytes."""
    scenes, tables, begin = {}, [], 0
    for name, make in MACHINES.items():
        topology, table = make(), all_ways(make())
        layouts = {key: asdict(layout) for key, layout in turn_layouts(topology).items()}
        machine = {"chips": topology.chips, "ranks": topology.ranks_per_chip, "layouts": layouts}
        ways = {"most": table.shape[-1], "begin": begin}
        scenes[name] = machine | ways | {"wires": wires_of(topology)}
        tables.append(table.tobytes())
        begin += table.size
    numbers = json.dumps(scenes, default=lambda array: np.round(array, 4).tolist())
    return numbers, b"".join(tables)
