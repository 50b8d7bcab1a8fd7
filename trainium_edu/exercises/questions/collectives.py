"""Questions of lesson 08: the ring's first step, idle cables, a crossover, ring against torus."""

import numpy as np

from trainium_edu import fabric
from trainium_edu.exercises.predict import Answer, Misconception, question
from trainium_edu.widgets.card import Prose
from trainium_edu.widgets.collective_player import CollectivePlayer
from trainium_edu.widgets.collectives import crossover_text, selection_picture
from trainium_edu.widgets.topology import cycles_picture

_CHUNKS = ("chunk 0", "chunk 1", "chunk 2", "chunk 3")
_RANK = 2  # the one that is asked about


@question(
    "08/first-chunk",
    "Which chunk must rank 2 send in the first step?",
    options=_CHUNKS,
    wrong=[
        Misconception("two steps away", lambda schedule, topology, numbers: _CHUNKS[0],
                      "It would reach its chief, rank 0, after two steps: without what rank 1"
                      " adds, and with one step left."),
        Misconception("its own chunk first", lambda schedule, topology, numbers: _CHUNKS[_RANK],
                      "Rank 2 is the chief of that chunk: it has to come in last, after it has"
                      " been everywhere else. Sent now, it would take four steps to come back."),
        Misconception("to the neighbour's chief", lambda schedule, topology, numbers: _CHUNKS[3],
                      "It would be with its chief, rank 3, after one step: without what ranks 0"
                      " and 1 have to add."),
    ],
)  # fmt: skip
def first_chunk(schedule, topology, numbers):
    """Return what rank 2 sends in step 0 of the ring, and the ring to step through."""
    sent = (schedule.step == 0) & (schedule.src == _RANK)
    chunk = int(schedule.item[sent][0] % schedule.items // schedule.lanes)
    way = [(_RANK + k) % topology.ranks for k in range(topology.ranks)]
    parts = " + ".join(str(numbers[rank, chunk]) for rank in way)
    return Answer(
        _CHUNKS[chunk],
        f"It goes from rank 2 over 3 and 0 to rank {way[-1]}, collecting on the way: three steps,"
        " the longest way round. What starts at rank 2 must be the chunk whose chief is farthest.",
        lambda guess: [
            f"chunk {chunk}: rank {' → '.join(map(str, way))}, {parts} = {numbers[:, chunk].sum()}",
            CollectivePlayer(schedule, topology, 2**20, values=numbers),
        ],
    )


@question(
    "08/busy-channels",
    "How many of the 64 one-way channels does the single ring use?",
    unit="channels",
    whole=True,
    above=-1,
    wrong=[
        Misconception("both directions", lambda schedule, torus: 2 * torus.chips,
                      "Each cable of the ring is used one way only: nothing ever runs back."),
        Misconception("steps for channels", lambda schedule, torus: torus.chips - 1,
                      "The reduce-scatter takes that many steps. A ring is closed: the last rank"
                      " sends to the first, too."),
        Misconception("all of them", lambda schedule, torus: torus.links,
                      "Every chip has four ways out, but in a single ring it has one right-hand"
                      " neighbour, and sends to nobody else."),
    ],
)  # fmt: skip
def busy_channels(schedule, torus):
    """Return how many directed links carry anything."""
    used = int((fabric.link_loads(schedule, torus).sum(axis=0) > 0).sum())
    return Answer(
        used,
        f"One outgoing channel per chip. {1 - used / torus.links:.0%} of what was paid for stands"
        " idle.",
        lambda guess: [
            "\n".join(" ".join(map(str, c)) for c in fabric.hamiltonian_cycles(torus)),
            cycles_picture(torus),
        ],
    )


def _meet_mb(a, b):
    """Return where two lines cost the same, in MB."""
    return (b.alpha_ns - a.alpha_ns) / (a.ns_per_byte - b.ns_per_byte) / 1e6


_AXES = {"rotated": "each starts at its own axis", "same": "all walk the same axes",
         "spread": "own axis, and chunks are cut"}  # fmt: skip


def _edges(four_ranks, trn1):
    for name, machine, orders in (
        ("4 ranks a chip", four_ranks, ("rotated", "same")),
        ("2 ranks (trn1)", trn1, _AXES),
    ):
        for order in orders:
            found = fabric.select(machine, options={"rdh": {"axis_order": order}})
            yield f"{name}, {_AXES[order]:29}{'; '.join(crossover_text(found))}"


@question(
    "08/mesh-until-these-lines",
    "Up to which size is mesh the fastest of these three lines?",
    unit="MB",
    wrong=[
        Misconception("the page's boundary", lambda found, four_ranks, trn1: 1.0,
                      "That is what AWS's page says of its machine. The three lines printed above"
                      " are a model's, and say something else."),
        Misconception("against the last line", lambda found, four_ranks, trn1:
                      _meet_mb(found.lines[0], found.lines[2]),
                      "There KangaRing overtakes mesh. But RDH has overtaken it before."),
        Misconception("the faster one's bytes for free", lambda found, four_ranks, trn1:
                      (found.lines[1].alpha_ns - found.lines[0].alpha_ns)
                      / found.lines[0].ns_per_byte / 1e6,
                      "That is how much mesh moves while RDH is still starting. Then RDH has its"
                      " own bytes to move: what counts is the difference of the times per byte."),
        Misconception("RDH's latency times its rate", lambda found, four_ranks, trn1:
                      found.lines[1].alpha_ns / found.lines[1].ns_per_byte / 1e6,
                      "There RDH's latency takes as long as its bytes. Where mesh is slower than"
                      " RDH is a question about both lines."),
    ],
)  # fmt: skip
def mesh_until(found, four_ranks, trn1):
    """Return where mesh and the next algorithm cost the same."""
    mesh, rdh = found.lines[:2]
    latency_us = (rdh.alpha_ns - mesh.alpha_ns) / 1e3
    rates = [f"1/{1 / line.ns_per_byte:.1f}" for line in (mesh, rdh)]
    ends = [f"{at / 1e6:.1f}" for at, *_ in found.crossovers]
    return Answer(
        round(found.crossovers[0][0] / 1e6, 1),
        f"Mesh and RDH meet where {latency_us:.0f} µs of latency are as long as the bytes that RDH"
        f" saves: {latency_us:.0f} µs ÷ ({' − '.join(rates)}). Nothing is fitted, and the"
        f" published order comes out: mesh, RDH, KangaRing, with boundaries at"
        f" {' and '.join(ends)} MB instead of 1 and 56.",
        lambda guess: [
            "\n".join(_edges(four_ranks, trn1)),
            selection_picture(found, title="all-reduce on 16 chips with 4 ranks each"),
        ],
    )


def _best_us(machine, nbytes, hbm="overlapped"):
    costs = fabric.Costs(hbm=hbm)
    return fabric.select(machine, sizes=[nbytes], costs=costs).times_ns.min() / 1e3


def _ratio(torus, ring, nbytes, hbm="overlapped"):
    return _best_us(ring, nbytes, hbm) / _best_us(torus, nbytes, hbm)


def _beside(torus, ring):
    """Compare ring and torus, one line for each size and assumption."""
    both = [make(direction="both_ways") for make in (fabric.trn1_32xlarge, fabric.inf2_48xlarge)]
    for what, machines, nbytes, hbm in (
        ("64 MiB, as modelled", (torus, ring), 2**26, "overlapped"),
        ("64 MiB, memory free", (torus, ring), 2**26, "ignored"),
        ("64 MiB, 96 GiB/s both ways", both, 2**26, "overlapped"),
        ("1 GiB, memory free", (torus, ring), 2**30, "ignored"),
        ("1 MiB, as modelled", (torus, ring), 2**20, "overlapped"),
        ("8 KiB, as modelled", (torus, ring), 2**13, "overlapped"),
    ):
        t, r = (_best_us(machine, nbytes, hbm) for machine in machines)
        yield f"{what:28} torus {t:6.1f} us, ring {r:6.1f} us, ratio {r / t:.2f}"


def _mean_hops(machine):
    return float(np.mean(machine.hops(0)[1:]))


@question(
    "08/inf2-factor",
    "How many times longer does the all-reduce of 64 MiB take on the ring?",
    unit="times",
    wrong=[
        Misconception("half the cables, twice the time", lambda torus, ring, nbytes:
                      len(torus.neighbours(0)) / len(ring.neighbours(0)),
                      "That holds where cables set the pace. Each chunk is also read and written"
                      " in memory, and both machines have the same memory."),
        Misconception("memory for free", lambda torus, ring, nbytes:
                      _ratio(torus, ring, nbytes, "ignored"),
                      "The cables alone would give that. But they wait: reading and writing the"
                      " chunks in memory takes longer."),
        Misconception("distance", lambda torus, ring, nbytes: _mean_hops(ring) / _mean_hops(torus),
                      "Two chips are that much farther apart on average. The algorithms that win"
                      " here send only to neighbours: distance costs them nothing."),
    ],
)  # fmt: skip
def inf2_factor(torus, ring, nbytes):
    """Return how much longer the ring's best algorithm takes."""
    return Answer(
        round(float(_ratio(torus, ring, nbytes)), 2),
        "Half the cables, and hardly slower: in this model memory is the brake on both machines."
        " Make memory free, and a chip with half the cables takes nearly twice as long.",
        lambda guess: [
            "\n".join(_beside(torus, ring)),
            Prose(
                "So the answer to the post is: **it depends on which resource you run out of.**"
                " Read the lines above beside each other: cables decide, or memory does. (If cables"
                " do, the ratio goes towards 1.96 for long lists, since with 12 chips 11/12 travel"
                " instead of 15/16.) Which of them it is on the machine needs a measurement that"
                " nobody has published.",
            ),
        ],
    )
