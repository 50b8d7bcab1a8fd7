"""A topology to turn: where chips and cables stand in four dimensions, and every way between chips.

All that the page shows is worked out here, once: the page only turns it, and looks ways up.  The
4 x 4 torus needs no trick: two circles of four chips each, at right angles in four dimensions
(a Clifford torus), have their chips exactly on the corners of a hypercube.
"""

from dataclasses import dataclass

import numpy as np

from trainium_edu.fabric import cube_addresses, hamiltonian_cycles, without_link
from trainium_edu.fabric.routing import routes
from trainium_edu.viz.topology import around, ranks_of, wires_of

__all__ = ["POINTS", "TurnLayout", "all_ways", "turn_layouts"]

#: Points along a cable, its two ends included.
POINTS = 13
#: Places where a torus is drawn: a little off the axes, so that no chip hides another at first.
_OFF = np.radians(66.0)


@dataclass(frozen=True, slots=True)
class TurnLayout:
    """Chips and cables in four dimensions, and how they are looked at first."""

    label: str
    chips: np.ndarray  #: float[chips, 4]
    cables: np.ndarray  #: float[cables, POINTS, 4]
    view: tuple[float, float]  #: turned about the upright axis, tilted; in radians
    notes: tuple[str, ...] = ()  #: a second label per chip: its ranks, or its address


def turn_layouts(topology) -> dict[str, TurnLayout]:
    """Return the ways to draw a torus or a ring in space.

    Parameters
    ----------
    topology : fabric.Topology
        A 4 x 4 torus, or a ring.

    Returns
    -------
    dict of TurnLayout
        ``flat``, ``torus``, ``hypercube`` and ``ring`` for the torus; ``ring`` for a ring.

    Examples
    --------
    >>> from trainium_edu.fabric import trn1_32xlarge
    >>> list(turn_layouts(trn1_32xlarge()))
    ['flat', 'torus', 'hypercube', 'ring']
    """
    wires, ranks, found = wires_of(topology), ranks_of(topology), {}
    if topology.shape == (4, 4):
        row, col = np.divmod(np.arange(16), 4)
        found = {
            "flat": _flat(row, col, wires, ranks),
            "torus": _rolled(row, col, wires, ranks),
            "hypercube": _hypercube(topology, wires),
        }
    chips = 1.5 * np.pad(around(hamiltonian_cycles(topology)[0]), ((0, 0), (0, 2)))
    label = "ring 1" if found else "ring"
    found["ring"] = TurnLayout(label, chips, _straight(chips, wires), (0.0, 0.0), ranks)
    return found


def _straight(chips, wires):
    t = np.linspace(0, 1, POINTS)[None, :, None]
    return chips[wires[:, 0], None] * (1 - t) + chips[wires[:, 1], None] * t


def _flat(row, col, wires, ranks):
    """Place chips row by row; a cable around the edge rises above the chips on its way."""
    chips = np.stack([0.92 * (col - 1.5), 0.92 * (row - 1.5), 0 * row, 0 * col], axis=1)
    cables = _straight(chips, wires)
    arch = 4 * np.linspace(0, 1, POINTS) * np.linspace(1, 0, POINTS)
    for k, (a, b) in enumerate(wires):
        across = abs(col[a] - col[b]) > 1
        if across or abs(row[a] - row[b]) > 1:
            cables[k, :, 1 if across else 0] -= 0.46 * arch
            cables[k, :, 2] += 0.5 * arch
    return TurnLayout("flat", chips, cables, (0.0, 0.35), ranks)


def _rolled(row, col, wires, ranks):
    """Roll rows and columns up, each to a circle of its own: a Clifford torus."""
    quarter = np.pi / 2

    def circles(around, along):
        return np.stack([np.cos(around), np.sin(around), np.sin(along), np.cos(along)], axis=-1)

    t = np.linspace(0, 1, POINTS)
    a, b = wires.T
    steps = [((x[b] - x[a] + 1) % 4 - 1)[:, None] for x in (row, col)]  # 3 forward is 1 back
    places = [x[a][:, None] + step * t for x, step in zip((row, col), steps, strict=True)]
    chips = circles(quarter * row + _OFF, quarter * col + _OFF)
    cables = circles(quarter * places[0] + _OFF, quarter * places[1] + _OFF)
    return TurnLayout("torus", chips, cables, (-0.48, 0.18), ranks)


def _hypercube(topology, wires):
    """Place chips by the bits of their addresses; the corners of the rolled-up torus, turned."""
    addresses = cube_addresses(topology)
    sign = 1 - 2 * ((addresses[:, None] >> np.array([2, 3, 1, 0])) & 1)
    chips = sign / np.sqrt(2)
    notes = tuple(f"{a:04b}" for a in addresses)
    return TurnLayout("hypercube", chips, _straight(chips, wires), (0.56, 0.26), notes)


def all_ways(topology) -> np.ndarray:
    """Return the way between any two chips, with all cables whole and with each one cut.

    Parameters
    ----------
    topology : fabric.Topology

    Returns
    -------
    uint8[1 + cables, chips, chips, most]
        Chips in order, 255 behind the last; entry k + 1 has cable k of ``wires_of`` cut.
    """
    chips, wires = topology.chips, wires_of(topology).tolist()
    start, end = np.divmod(np.arange(chips**2), chips)
    every = [topology, *(without_link(topology, *wire) for wire in wires)]
    found = [routes(one, start, end) for one in every]
    most = 1 + max(np.diff(begin).max() for begin, _ in found)
    table = np.full((len(every), chips**2, most), 255, np.uint8)
    table[:, :, 0] = start
    for ways, one, (begin, links) in zip(table, every, found, strict=True):
        way = np.repeat(np.arange(chips**2), np.diff(begin))
        ways[way, 1 + np.arange(links.size) - begin[way]] = one.dst[links]
    return table.reshape(-1, chips, chips, most)
