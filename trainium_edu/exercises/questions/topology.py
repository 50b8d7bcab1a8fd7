"""Questions of lesson 07: hops, addresses, what a bandwidth counts, a broken cable, blocking."""

from bisect import bisect

from trainium_edu import fabric
from trainium_edu.exercises.predict import Answer, question, words_of
from trainium_edu.exercises.questions.tables import numbers
from trainium_edu.viz.numbers import Numbers
from trainium_edu.widgets.topology import topology_picture, way

_SHOWN = words_of(__file__)["shown"]


@question("07/hops-0-to-10")
def hops(machine):
    """Return the distance on the machine's torus."""
    far = machine.hops(0)
    counts = [int((far == d).sum()) for d in range(5)]

    def reached(guess):
        if guess is None or guess == answer:
            return []
        there = ", ".join(str(chip) for chip in range(16) if far[chip] == guess)
        return [f"{guess:g} hops lead to " + (f"chips {there}" if there else "no chip at all")]

    answer = int(far[10])
    return Answer(
        answer,
        wrong={"chips visited, not hops": answer + 1, "diagonals": answer // 2},
        show=lambda guess: [
            *reached(guess),
            _SHOWN["distances"].format(counts, far.sum() / 15),
            topology_picture(machine, path=way(machine, 0, 10)),
        ],
    )


def _cables(machine):
    return [(int(a), int(b)) for a, b in zip(machine.src, machine.dst, strict=True) if a < b]


def _one_bit(pairs):
    return sum((a ^ b).bit_count() == 1 for a, b in pairs)


@question("07/plain-number-links")
def plain_links(machine):
    """Return how many cables join plain numbers that are one bit apart."""
    far, title = machine.hops(0), "0 and 2 differ in one bit, and are two hops apart"
    return Answer(
        _one_bit(_cables(machine)),
        wrong={
            "plain numbers as addresses": len(_cables(machine)),
            "all but the wrap-around": machine.links // 2 - 8,
            "rows only": _one_bit((a, b) for a, b in _cables(machine) if a // 4 == b // 4),
        },
        show=lambda guess: [
            f"one bit apart: chip 0 to 2, {far[2]} hops; chip 0 to 8, {far[8]} hops",
            topology_picture(machine, path=way(machine, 0, 2), title=title),
        ],
    )


def _readings():
    rows, bars = [], {}
    for machine in (fabric.trn1_32xlarge(), fabric.inf2_48xlarge(), fabric.trn1n_32xlarge()):
        ports = len(machine.neighbours(0))
        rate = machine.bandwidth_bytes_per_s[0] / 2**30
        rows.append((machine.name, ports, rate, ports * rate))
        bars[machine.name] = {f"cable {number}": rate for number in range(1, ports + 1)}
    yield numbers(_SHOWN["cables"], rows, bars)
    for convention, name in (("one_way", "one direction"), ("both_ways", "both together")):
        one = fabric.trn1_32xlarge(direction=convention).bandwidth_bytes_per_s[0]
        yield f"if the 96 counts {name}: 1 GiB over one cable in {2**30 / one * 1e3:.1f} ms"


@question("07/what-384-counts")
def counts(machine, gib_per_s):
    """Return what the published figure counts."""
    cables = round(gib_per_s * 2**30 / machine.bandwidth_bytes_per_s[0])
    place = {1: 0, len(machine.neighbours(0)): 1, machine.links // 2: 2}[cables]
    return Answer(place, show=lambda guess: list(_readings()))


@question("07/detour")
def detour(machine, broken):
    """Return the distance that a missing cable leaves."""
    path, answer = way(broken, 0, 1), int(broken.hops(0)[1])
    return Answer(
        answer,
        wrong={
            "as if nothing broke": int(machine.hops(0)[1]),
            "one chip in between": answer - 1,
            "chips visited, not hops": answer + 1,
        },
        show=lambda guess: [" → ".join(map(str, path)), topology_picture(broken, path=path)],
    )


@question("07/nonblocking")
def nonblocking(machine):
    """Return how the busiest channel compares with a chip's own limit."""
    everyone = fabric.plan(machine, "all_to_all", "mesh")
    limit = (machine.chips - 1) / len(machine.neighbours(0))
    even = fabric.busiest_link_chunks(everyone, machine)
    odd = fabric.busiest_link_chunks(everyone, machine, ties="one_way")
    hops = sum(int(machine.hops(chip).sum()) for chip in range(machine.chips))
    messages = machine.chips * (machine.chips - 1)
    loads = {"nonblocking": limit, "the torus, both ways round": even}
    loads |= {"the torus, one way round": odd}
    text = _SHOWN["busiest"].format(even, even / limit, odd, odd / limit)
    return Answer(
        bisect((1.5, 4), even / limit),
        terms={"messages": messages, "hops": hops, "crossings": hops / machine.links},
        show=lambda guess: Numbers(text, "Messages on the busiest channel", loads),
    )
