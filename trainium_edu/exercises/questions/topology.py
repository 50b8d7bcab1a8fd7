"""Questions of lesson 07: hops, addresses, what a bandwidth counts, a broken cable, blocking."""

from trainium_edu import fabric
from trainium_edu.exercises.predict import Answer, Misconception, question
from trainium_edu.widgets.card import Prose
from trainium_edu.widgets.topology import topology_picture, way


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

    def reached(guess):
        if guess is None or guess == far[10]:
            return []
        there = ", ".join(str(chip) for chip in range(16) if far[chip] == guess)
        return [f"{guess:g} hops lead to " + (f"chips {there}" if there else "no chip at all")]

    return Answer(
        int(far[10]),
        "Two rows down and two columns over, and going the other way round is no shorter.",
        lambda guess: [
            *reached(guess),
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


_COUNTS = ("one cable", "one chip, all its cables together", "the whole instance")


def _counted(machine, gib_per_s):
    """Say what a bandwidth counts, from how many cables' worth it is."""
    cables = round(gib_per_s * 2**30 / machine.bandwidth_bytes_per_s[0])
    return _COUNTS[{1: 0, len(machine.neighbours(0)): 1, machine.links // 2: 2}[cables]]


def _readings():
    for machine in (fabric.trn1_32xlarge(), fabric.inf2_48xlarge(), fabric.trn1n_32xlarge()):
        ports = len(machine.neighbours(0))
        rate = machine.bandwidth_bytes_per_s[0] / 2**30
        yield f"{machine.name}: {ports} cables x {rate:.0f} = {ports * rate:.0f} GiB/s per chip"
    for convention in ("one_way", "both_ways"):
        one = fabric.trn1_32xlarge(direction=convention).bandwidth_bytes_per_s[0]
        yield f"if 96 counts {convention}: 1 GiB over one cable in {2**30 / one * 1e3:.1f} ms"


@question(
    "07/what-384-counts",
    "384 GiB/s is the bandwidth of ...",
    options=_COUNTS,
    wrong=[
        Misconception("per cable", lambda machine, gib_per_s: _COUNTS[0],
                      "A chip would then have 4 x 384 = 1536 GiB/s. The heading says"
                      ' "per device", and a device has four cables.'),
        Misconception("per instance", lambda machine, gib_per_s: _COUNTS[2],
                      "32 cables would then share 384 GiB/s, 12 each. The heading says"
                      ' "per device": a device is one chip.'),
    ],
)  # fmt: skip
def counts(machine, gib_per_s):
    """Return what the published figure counts."""
    return Answer(
        _counted(machine, gib_per_s),
        "A drawing of Inferentia2's ring prints 96 GiB/s on one cable, and 4 x 96 = 384. The same"
        " 96 fits Inferentia2's own entry (two cables), and twice that fits trn1n: three figures,"
        " one explanation.",
        lambda guess: ["\n".join(_readings())],
    )


@question(
    "07/detour",
    "The cable between chips 0 and 1 breaks. How many hops is it from 0 to 1 now?",
    unit="hops",
    whole=True,
    wrong=[
        Misconception("as if nothing broke", lambda machine, broken: int(machine.hops(0)[1]),
                      "One hop needs the very cable that is gone."),
        Misconception("one chip in between", lambda machine, broken: int(machine.hops(0)[1]) + 1,
                      "That needs a chip cabled to both 0 and 1. Each hop flips one bit of the"
                      " address, so two hops end at 0 again or two bits away."),
        Misconception("chips visited, not hops", lambda machine, broken: len(way(broken, 0, 1)),
                      "That counts the chips on the way, the first included; hops are the cables"
                      " between them."),
    ],
)  # fmt: skip
def detour(machine, broken):
    """Return the distance that a missing cable leaves."""
    path = way(broken, 0, 1)
    return Answer(
        int(broken.hops(0)[1]),
        "Around a square, three sides instead of one. Two hops are impossible: each hop flips one"
        " bit of the address, and two flips never make one.",
        lambda guess: [" → ".join(map(str, path)), topology_picture(broken, path=path)],
    )


_BLOCKS = ("yes: 3.75 messages on a cable", "no: about twice that", "no: about ten times that")


@question(
    "07/nonblocking",
    "Is the 4 x 4 torus nonblocking for everybody-to-everybody?",
    options=_BLOCKS,
    wrong=[
        Misconception("only what leaves a chip", lambda machine: _BLOCKS[0],
                      "That counts the messages that begin at a chip. Its cables also carry those"
                      " that only pass through: a message crosses 2.13 cables on average."),
        Misconception("every cable for every message", lambda machine: _BLOCKS[2],
                      "That would be so if a message used most cables of the machine. It uses"
                      " those on its way: 2.13 on average."),
    ],
)  # fmt: skip
def nonblocking(machine):
    """Return how the busiest channel compares with a chip's own limit."""
    everyone = fabric.plan(machine, "all_to_all", "mesh")
    limit = (machine.chips - 1) / len(machine.neighbours(0))
    even = fabric.busiest_link_chunks(everyone, machine)
    odd = fabric.busiest_link_chunks(everyone, machine, ties="one_way")
    hops = sum(int(machine.hops(chip).sum()) for chip in range(machine.chips))
    messages = machine.chips * (machine.chips - 1)
    return Answer(
        _BLOCKS[0 if even < 1.5 * limit else 1 if even < 4 * limit else 2],
        f"{messages} messages take {hops} hops in all, on only {machine.links} one-way channels:"
        f" {hops} / {machine.links} = {hops / machine.links:g}. A torus is nonblocking for"
        " neighbours, and for rings, which use nothing else; it blocks as soon as messages pass"
        " through chips.",
        lambda guess: [
            f"busiest channel: {even:.0f} messages = {even / limit:.2f} x the chip's own limit",
            f"if all ties go the same way round: {odd:.0f} messages = {odd / limit:.1f} x",
            Prose(
                "The bisection says the same in one line: eight chips on one side have 8 x 4 ends"
                " of cables, and only eight of these lead to the other side.",
            ),
        ],
    )
