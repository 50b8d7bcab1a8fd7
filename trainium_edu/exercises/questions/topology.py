"""Questions of lesson 07: hops, addresses, what a bandwidth counts, a broken cable, blocking."""

from trainium_edu import fabric
from trainium_edu.exercises.predict import Answer, Misconception, question
from trainium_edu.widgets.topology import topology_picture


def way(topology, a, b):
    """Return the chips on a shortest way."""
    return [a, *(int(topology.dst[i]) for i in fabric.route(topology, a, b))]


@question(
    "07/hops-0-to-10",
    "How many hops is chip 10 from chip 0, on the shortest way?",
    unit="hops",
    whole=True,
    above=-1,
    wrong=[
        Misconception("one hop a number", lambda machine: 10, "Chips are not in one line: each"
                      " is cabled to four others, and a step down is a step of four numbers."),
        Misconception("chips visited, not hops", lambda machine: len(way(machine, 0, 10)), "That"
                      " counts the chips on the way, the first included; hops are the cables"
                      " between them."),
        Misconception("diagonals", lambda machine: 2, "There are no diagonal cables: two rows"
                      " down and two columns over are taken one at a time."),
    ],
)  # fmt: skip
def hops(machine):
    """Return the distance on the machine's torus."""
    far = machine.hops(0)
    counts = [int((far == d).sum()) for d in range(5)]
    return Answer(
        int(far[10]),
        "Two rows down and two columns over, and going the other way round is no shorter.",
        lambda guess: [
            f"chips at distance 0, 1, 2, 3, 4: {counts}; mean to the others {far.sum() / 15:.3f}"
            " hops",
            topology_picture(machine, path=way(machine, 0, 10)),
        ],
    )


def _cables(machine):
    return [(int(a), int(b)) for a, b in zip(machine.src, machine.dst, strict=True) if a < b]


def _one_bit(pairs):
    return sum((a ^ b).bit_count() == 1 for a, b in pairs)


@question(
    "07/plain-number-links",
    "Of the 32 cables, how many join chips whose plain numbers differ in exactly one bit?",
    unit="cables",
    whole=True,
    above=-1,
    wrong=[
        Misconception("plain numbers as addresses", lambda machine: len(_cables(machine)), "That"
                      " would be so if plain numbers were hypercube addresses. Look at chips 1"
                      " and 2: neighbours, 0001 and 0010, two bits apart."),
        Misconception("rows only", lambda machine: _one_bit(
                          (a, b) for a, b in _cables(machine) if a // 4 == b // 4),
                      "Those are the cables along rows. Along columns it is the same once more."),
    ],
)  # fmt: skip
def plain_links(machine):
    """Return how many cables join plain numbers that are one bit apart."""
    far = machine.hops(0)
    return Answer(
        _one_bit(_cables(machine)),
        "Half of them. Chip 1 and chip 2 are neighbours, but 0001 and 0010 differ in two bits.",
        lambda guess: [
            f"one bit apart: chip 0 to 2, {far[2]} hops; chip 0 to 8, {far[8]} hops",
            topology_picture(machine, path=way(machine, 0, 2),
                             title="0 and 2 differ in one bit, and are two hops apart"),
        ],
    )  # fmt: skip
