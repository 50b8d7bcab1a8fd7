"""A plan on its cluster: which NeuronCores form a group, and which wires they talk over."""

from functools import lru_cache
from itertools import pairwise

import numpy as np

from trainium_edu.viz.colours import COLOURS
from trainium_edu.viz.scene import Scene
from trainium_edu.viz.topology import way, wires_of

__all__ = ["WIRE", "draw_group"]

#: One colour per kind of wire.
WIRE = {"on chip": COLOURS["green"], "NeuronLink": COLOURS["blue"], "EFA": COLOURS["pink"]}
_MEMBER, _CHOSEN = COLOURS["orange"], COLOURS["red"]
_ACROSS = 4  # chips in a row of an instance
_CORE, _CHIP, _DOWN = (13.0, 20.0), (32.0, 26.0), 36.0  # sizes, and from a chip to the next below
_STUB = (8.0, 6.0)  # of a cable that leads around the torus, at each of its ends
_HEAD, _GAP, _CELL = 26.0, 34.0, 12.0  # above chips; between rows of instances; of the strip


def draw_group(topology, instances: int, members, chosen: int, *, closed=True, width=960.0):
    """Draw the instances with a group's ranks, the wires it uses, and a strip of all instances.

    Parameters
    ----------
    topology : fabric.Topology
        One instance.
    instances : int
    members : int[n]
        The group's ranks in the order of its ring.
    chosen : int
        The rank that is marked.
    closed : bool
        Whether the last member talks to the first.
    width : float, CSS pixels

    Returns
    -------
    Scene
    """
    members, each = np.asarray(members), topology.ranks
    where = members // each
    columns = 2 + sum(width > wide for wide in (600, 800))
    shown = _shown(where, chosen // each, instances, 2 * columns)
    rows = -(-len(shown) // columns)
    chip_rows = -(-topology.chips // _ACROSS)
    tall, wide = _HEAD + chip_rows * _DOWN + 8, (width - 12) / columns
    scene = Scene(width, 1)
    key = {"this NeuronCore": _CHOSEN, "its group": _MEMBER}
    key |= {f"{name} in use": colour for name, colour in WIRE.items()}
    y = scene.key(12, 14, key.items()) + 14
    spine = y + tall + _GAP / 2
    across = len(set(where.tolist())) > 1
    links = _links(topology, members, closed)
    for place, i in enumerate(shown):
        left, top = 6 + wide * (place % columns), y + (tall + _GAP) * (place // columns)
        inside = members[where == i] - i * each
        scene.rect(left + 3, top, wide - 6, tall, "muted", outline=True)
        scene.text(left + 12, top + 16, f"instance {i:,}", bold=i == chosen // each)
        if across and inside.size:
            middle, end = left + wide / 2, top + tall if top < spine else top
            scene.line(middle, end, middle, spine, WIRE["EFA"], width=4)
        at = (left + 20, top + _HEAD, (wide - 40) / _ACROSS)
        _draw_instance(scene, topology, at, inside, chosen - i * each, links.get(i, set()))
    if across:
        scene.line(9, spine, width - 9, spine, WIRE["EFA"], width=4)
        scene.text(width - 9, spine - 5, "EFA", anchor="end", colour="muted", size=11)
    bottom = y + rows * tall + (rows - 1) * _GAP + (_GAP if rows == 1 and across else 12)
    scene.height = bottom
    if instances > len(shown):
        scene.height = _draw_strip(scene, bottom, instances, set(where.tolist()), shown)
    return scene


def _shown(where, home, instances, most) -> list[int]:
    """Return the instances to draw: the chosen rank's, others of its group, then the first ones."""
    order = dict.fromkeys([home, *where.tolist(), *range(min(instances, most))])
    return sorted(list(order)[:most])


def _links(topology, members, closed) -> dict[int, set]:
    """Return per instance the pairs of chips whose cable carries what neighbours in a ring send."""
    ring = [*members.tolist(), *members[: int(closed and members.size > 2)].tolist()]
    found: dict[int, set] = {}
    for a, b in pairwise(ring):
        if a // topology.ranks == b // topology.ranks:
            chips = [int(rank % topology.ranks) // topology.ranks_per_chip for rank in (a, b)]
            used = found.setdefault(a // topology.ranks, set())
            used.update(_way(topology, *chips) if chips[0] != chips[1] else [(chips[0], chips[0])])
    return found


@lru_cache(maxsize=4096)
def _way(topology, start, end) -> tuple:
    """Return the cables of the shortest way between two chips, as pairs in order."""
    return tuple((min(pair), max(pair)) for pair in pairwise(way(topology, start, end)))


def _draw_instance(scene, topology, at, inside, chosen, links):
    """Draw the chips of an instance, two NeuronCores on each, and the cables between them."""
    left, top, pitch = at

    def corner(chip):
        row, column = divmod(chip, _ACROSS)
        return left + pitch * column + (pitch - _CHIP[0]) / 2, top + _DOWN * row

    for a, b in wires_of(topology).tolist():
        one, other = (np.add(corner(chip), np.divide(_CHIP, 2)) for chip in (a, b))
        far = other - one > (1.5 * pitch, 1.5 * _DOWN)
        along = np.array([1, 0] if far[0] or one[1] == other[1] else [0, 1])  # right, or down
        edge, stub = along * _CHIP / 2, along * _STUB
        pairs = [(one + edge, other - edge)]
        if far.any():  # around the torus
            pairs = [(one - edge - stub, one - edge), (other + edge, other + edge + stub)]
        colour, wide = (WIRE["NeuronLink"], 3.4) if (a, b) in links else ("muted", 1.0)
        for start, end in pairs:
            scene.line(*start, *end, colour, width=wide)
    lit = set(inside.tolist())
    for chip in range(topology.chips):
        x, y = corner(chip)
        scene.rect(x, y, *_CHIP, "muted", outline=True)
        for core in range(topology.ranks_per_chip):
            rank = chip * topology.ranks_per_chip + core
            colour = _MEMBER if rank in lit else "grid"
            place = x + 2 + core * (_CORE[0] + 2), y + 3, *_CORE
            scene.rect(*place, _CHOSEN if rank == chosen else colour)
            if rank == chosen:
                scene.rect(*place, "ink", outline=True)
        if (chip, chip) in links:
            scene.line(x + 10, y + 13, x + 22, y + 13, WIRE["on chip"], width=4)


def _draw_strip(scene, y, instances, used, shown) -> float:
    """Draw all instances as cells from y downwards; return where they end."""
    along = int((scene.width - 24) // _CELL)
    many = -(-instances // (4 * along))  # instances in one cell
    cells = -(-instances // many)
    what = "one instance" if many == 1 else f"{many} instances"
    words = f"All {instances:,} instances, {what} per cell; framed: drawn above"
    scene.text(12, y + 14, words, colour="muted", size=11)
    lit, drawn = {i // many for i in used}, {i // many for i in shown}
    for k in range(cells):
        x, top = 12 + _CELL * (k % along), y + 22 + _CELL * (k // along)
        scene.rect(x, top, _CELL - 3, _CELL - 3, _MEMBER if k in lit else "grid")
        if k in drawn:
            scene.rect(x - 1, top - 1, _CELL - 1, _CELL - 1, "ink", outline=True)
    return y + 26 + _CELL * -(-cells // along)
