"""A topology on paper: where each chip stands as torus, hypercube or ring, and the picture of it.

A layout is plain data (places in the unit square, one bend per wire), so that the browser's player
and the stored picture stand on the same numbers.
"""

from collections.abc import Sequence
from dataclasses import asdict, dataclass
from itertools import pairwise

import numpy as np

from trainium_edu.fabric import FabricError, cube_addresses, hamiltonian_cycles, product, route
from trainium_edu.fabric.topology import Topology
from trainium_edu.numerics.widen import as_numbers
from trainium_edu.specs.signatures import Numbers, checked
from trainium_edu.viz.colours import COLOURS, looks
from trainium_edu.viz.scene import Scene

__all__ = ["Layout", "draw_topology", "layouts", "links_of", "missing_wires", "way", "wires_of"]


@dataclass(frozen=True, slots=True)
class Layout:
    """Where chips stand, in the unit square with y downwards, and how wires bend."""

    label: str
    xy: np.ndarray  #: float[vertices, 2], chips first, then switches
    bend: np.ndarray  #: float[wires, 2], how far the middle of a wire leaves the straight line
    notes: tuple[str, ...] = ()  #: a second label per chip: an address, a place in the ring
    room: float = 0.15  #: side of a chip's box, as a share of the picture

    def data(self) -> dict:
        """Return it as plain data for the page."""
        xy, bend = (np.round(places, 4).tolist() for places in (self.xy, self.bend))
        return asdict(self) | {"xy": xy, "bend": bend}


def wires_of(topology) -> np.ndarray:
    """Return the cables: pairs of vertices with a link in either direction, int[wires, 2]."""
    pairs = np.stack([topology.src, topology.dst], axis=1)
    return np.unique(np.sort(pairs, axis=1), axis=0) if len(pairs) else np.zeros((0, 2), int)


def links_of(topology, wires) -> np.ndarray:
    """Return each directed link as its two ends and its cable's number, int[links, 3]."""
    ends = np.stack([topology.src, topology.dst], axis=1)
    number = {tuple(pair): k for k, pair in enumerate(wires.tolist())}
    return np.column_stack([ends, [number[tuple(sorted(pair))] for pair in ends.tolist()]])


@checked
def way(topology: Topology, start: int, end: int) -> list[int]:
    """Return the chips on the shortest way that a message takes, both ends included.

    Examples
    --------
    >>> from trainium_edu.fabric import trn1_32xlarge
    >>> way(trn1_32xlarge(), 0, 2)
    [0, 1, 2]
    """
    return [start, *(int(topology.dst[link]) for link in route(topology, start, end))]


def machine_of(topology) -> dict:
    """Return what the page knows of a machine besides its cables."""
    return {name: getattr(topology, name) for name in ("chips", "switches", "ranks_per_chip")}


def missing_wires(topology) -> np.ndarray:
    """Return the cables that the topology's regular shape has and this one lacks, int[n, 2]."""
    if topology.instances > 1 or topology.switches or topology.links > 4 * topology.chips:
        return np.zeros((0, 2), int)
    whole = wires_of(product(topology.shape, topology.wrap))
    there = {tuple(w) for w in wires_of(topology).tolist()}
    return np.array([w for w in whole.tolist() if tuple(w) not in there], int).reshape(-1, 2)


def layouts(topology, wires=None) -> dict[str, Layout]:
    """Return the ways to draw a topology: as torus, hypercube, ring, or cluster, where they apply.

    Parameters
    ----------
    topology : fabric.Topology
    wires : int[wires, 2], optional
        Cables to give bends to; those of the topology unless said otherwise.

    Returns
    -------
    dict of Layout
        Keys among ``torus``, ``hypercube``, ``ring``, ``ring2``, ``cluster``; the first is the
        natural one.

    Examples
    --------
    >>> from trainium_edu.fabric import trn1_32xlarge
    >>> list(layouts(trn1_32xlarge()))
    ['torus', 'hypercube', 'ring', 'ring2']
    """
    wires = wires_of(topology) if wires is None else wires
    chips = topology.chips
    if topology.switches or topology.instances > 1:
        return {"cluster": _cluster_layout(topology, wires)}
    found = {}
    live = [n for n in topology.shape if n > 1]
    if len(live) == 2:
        rows, cols = live
        notes = ranks_of(topology) if topology.ranks_per_chip == 2 else ()
        found["torus"] = _torus_layout(rows, cols, wires, notes=notes)
    if 1 < chips <= 64 and chips & (chips - 1) == 0:
        addresses = cube_addresses(topology)
        if all(int(addresses[a] ^ addresses[b]).bit_count() == 1 for a, b in wires) and 2 * len(
            wires
        ) == chips * (chips.bit_length() - 1):
            found["hypercube"] = _hypercube_layout(addresses, wires)
    cycles = hamiltonian_cycles(topology) if chips > 2 else ()
    for name, order in zip(("ring", "ring2"), cycles, strict=False):
        label = "ring" if len(cycles) == 1 else f"ring {1 + (name == 'ring2')}"
        found[name] = _ring_layout(order, wires, label)
    if len(cycles) and len(live) == 1:  # a ring is a ring first of all
        return {"ring": found["ring"], **found}
    return found or {"line": _torus_layout(1, chips, wires, label="line")}


def pick(ways: dict, name: str) -> str:
    """Return the name of a way to draw a topology: the first unless said otherwise."""
    if name and name not in ways:
        raise FabricError(f"{name!r} is not a way to draw this topology; it has {', '.join(ways)}")
    return name or next(iter(ways))


def ranks_of(topology) -> tuple[str, ...]:
    """Name the ranks on each chip: "10 11"."""
    ranks = np.arange(topology.ranks).reshape(topology.chips, -1)
    return tuple(" ".join(map(str, row)) for row in ranks)


def around(order) -> np.ndarray:
    """Return a place on the unit circle for each number of a cycle that starts at the top."""
    angle = np.empty(len(order))
    angle[list(order)] = 2 * np.pi * np.arange(len(order)) / len(order)
    return np.stack([np.sin(angle), -np.cos(angle)], axis=1)


def _torus_layout(rows, cols, wires, *, label="torus", notes=(), count=1):
    """Place chips row by row; a wire that wraps around bends out past the chips on its way.

    Of several tori, all lie on one another.
    """
    row, col = np.divmod(np.arange(count * rows * cols) % (rows * cols), cols)
    step_x, step_y = 0.88 / max(1, cols - 1), 0.88 / max(1, rows - 1)
    xy = np.stack([0.12 + col * step_x, 0.12 + row * step_y], axis=1)
    if rows == 1:
        xy[:, 1] = 0.5
    if cols == 1:
        xy[:, 0] = 0.5
    out = -0.5 * np.where([cols > 1, rows > 1], [step_x, step_y], 0.6)
    bend, room = np.zeros((len(wires), 2)), min(0.165, 0.6 / max(rows, cols))
    for k, (a, b) in enumerate(wires):
        if max(a, b) < len(row):  # not to the network
            down, across = abs(row[a] - row[b]), abs(col[a] - col[b])
            bend[k] = out * [across == 0 and down > 1, down == 0 and across > 1]
    return Layout(label, xy, bend, tuple(notes), room)


#: Steps along the address bits of a hypercube, for the outer cube and for the cube inside it;
#: such that no cable passes under a chip that is not at one of its ends.
_OUTER = np.array([[0.94, 0.0], [0.0, -0.77], [0.06, -0.16]])
_INNER = np.array([[0.37, 0.0], [0.0, -0.31], [-0.07, -0.16]])


def _hypercube_layout(addresses, wires):
    """Place chips by their address bits: a cube, and for the fourth bit a small cube inside it."""
    bits = int(addresses.max()).bit_length()
    digit = (addresses[:, None] >> np.arange(bits)) & 1
    flat = min(bits, 3)
    axes = _OUTER[:flat] if bits != 3 else np.array([[0.62, 0.0], [0.0, -0.64], [0.38, -0.36]])
    xy = digit[:, :flat] @ axes
    xy += (1 - np.ptp(xy, axis=0)) / 2 - xy.min(axis=0)
    inner = (digit[:, :flat] - 0.5) @ _INNER[:flat] + 0.5
    for axis in range(3, bits):
        chosen = digit[:, axis] == 1
        xy[chosen] = inner[chosen] if axis == 3 else 0.5 + (xy[chosen] - 0.5) * 0.8
    notes = tuple(format(int(a), f"0{bits}b") for a in addresses)
    return Layout("hypercube", xy, np.zeros((len(wires), 2)), notes, 0.1 if bits > 3 else 0.15)


def _ring_layout(order, wires, label):
    """Place chips on a circle, in the order of a cycle that starts at the top."""
    count = len(order)
    notes = np.empty(count, dtype=object)
    notes[list(order)] = [f"#{i}" for i in range(count)]
    room = min(0.14, 1.25 / count)
    xy = 0.5 + 0.5 * around(order)
    return Layout(label, xy, np.zeros((len(wires), 2)), tuple(notes), room)


def _cluster_layout(topology, wires):
    """Place instances side by side, each as its torus, around the network in the middle."""
    count, size = topology.instances, topology.chips_per_instance
    across = int(np.ceil(np.sqrt(count)))
    down = -(-count // across)
    rows, cols = topology.shape if len(topology.shape) == 2 else (1, size)
    one = _torus_layout(rows, cols, wires, count=count)
    box_row, box_col = np.divmod(np.arange(topology.chips) // size, across)
    box = np.array([0.88 / across, (0.88 if down > 1 else 0.7) / down])
    step = (1 - box) / np.maximum([across - 1, down - 1], 1)
    xy = np.stack([box_col, box_row], axis=1) * step + box * one.xy
    hub = [[0.5, 0.5 if down > 1 else 0.94]] * topology.switches
    notes = ("",) * topology.chips + ("network",) * topology.switches
    room = min(0.1, *0.5 * box / [cols, rows])
    return Layout("cluster", np.array([*xy, *hub]), box * one.bend, notes, room)


@checked
def draw_topology(
    topology: Topology,
    *,
    layout: str = "",
    path: Sequence[int] = (),
    colour_by: Numbers | None = None,
    loads: Numbers | None = None,
    title: str = "",
    width: float = 890.0,
) -> Scene:
    """Draw chips and cables, one path along them, and cables that are missing.

    Parameters
    ----------
    topology : fabric.Topology
        With at most 64 chips.
    layout : str
        A key of :func:`layouts`; the natural one unless said otherwise.
    path : sequence of int
        Chips to mark, and the cables between neighbours in it.
    colour_by : int array [wires], optional
        Group of each cable of :func:`wires_of`: 0 drawn plain, 1 in blue, 2 in orange.
    loads : array [links], optional
        What each link carries, as ``fabric.link_loads`` says it: a cable is as wide as the busier
        of its two links; the busiest is orange.
    title : str
    width : float, CSS pixels

    Returns
    -------
    Scene

    Raises
    ------
    FabricError
        For too many chips to draw, or an unknown layout.
    """
    if topology.chips > 64:
        raise FabricError(f"{topology.chips} chips are too many to draw; the limit is 64")
    there, down = wires_of(topology), missing_wires(topology)
    wires = np.concatenate([there, down])
    ways = layouts(topology, wires)
    chosen = ways[pick(ways, layout)]
    groups = np.zeros(len(there), int) if colour_by is None else np.asarray(colour_by)
    if groups.shape != (len(there),):
        raise ValueError(
            f"colour_by has shape {groups.shape}; {len(there)} wires have a group each"
        )
    wide = np.ones(len(wires))
    if loads is not None:
        links, busy = as_numbers(loads, "loads"), np.zeros(len(there))
        if links.shape != topology.src.shape:
            raise ValueError(
                f"loads has shape {links.shape}; {topology.name} has {topology.links} links"
            )
        np.maximum.at(busy, links_of(topology, there)[:, 2], links / links.max())
        wide[: len(there)], groups = 2.4 * busy**2, 1 + (busy > 0.99)
    kinds = [_GROUPS[int(group)] for group in groups] + ["missing"] * len(down)
    steps = {frozenset(p) for p in pairwise(path)}
    pad = chosen.room / 2 + 0.02
    scale = np.array([1, _HIGH]) * min(width, _WIDEST) / (1 + 2 * pad)
    xy, bends = chosen.xy * scale + [pad * scale[0], 26 + pad * scale[0]], 2 * chosen.bend * scale
    scene = Scene(width, 26 + (_HIGH + 2 * pad) * scale[0])
    scene.text(4, 16, title or f"{topology.name}, drawn as {chosen.label}", bold=True, size=13)
    for k, wire in enumerate(wires.tolist()):
        kinds[k] = "path" if frozenset(wire) in steps else kinds[k]
    for k in sorted(range(len(wires)), key=lambda k: list(_LOOKS).index(kinds[k])):
        (a, b), kind = wires[k], kinds[k]
        t = np.linspace(0, 1, 13)[:, None]
        middle = (xy[a] + xy[b]) / 2 + bends[k]
        curve = (1 - t) ** 2 * xy[a] + 2 * t * (1 - t) * middle + t**2 * xy[b]
        colour, thick, dash = _LOOKS[kind]
        (xs, ys), words = curve.T, f"{'missing cable' if kind == 'missing' else 'cable'} {a} - {b}"
        scene.path(xs, ys, colour, width=round(thick * wide[k], 1), dash=dash, words=words)
    _draw_chips(scene, xy, chosen.room * 0.42 * scale[0], chosen.notes, set(path), topology.chips)
    return scene


_HIGH, _WIDEST = 0.86, 540.0  # of a picture: height as a share of the width, CSS pixels
_GROUPS = ("plain", "blue", "orange")
_LOOKS = looks("cable")  # in the order of drawing


def _draw_chips(scene, xy, half, notes, marked, chips):
    """Draw each chip as a box with its number and its note, and the network as a box."""
    for chip, (x, y) in enumerate(xy):
        is_marked, note = chip in marked, notes[chip] if notes else ""
        box = (x - half, y - half, 2 * half, 2 * half)
        scene.rect(*box, COLOURS["red"] if is_marked else "paper")
        scene.rect(*box, "muted", outline=True)
        if chip < chips:
            ink = "#fff" if is_marked else "ink"
            up = 2 if note else -4
            scene.text(x, y - up, chip, anchor="middle", bold=True, colour=ink, size=13)
        if note:
            muted = "#fff" if is_marked else "muted"
            down = 13 if chip < chips else 4
            scene.text(x, y + down, note, anchor="middle", colour=muted, size=11)
