"""Questions of lesson 08: the ring's first step, idle cables, a crossover, ring against torus."""

import numpy as np

from trainium_edu import fabric
from trainium_edu.exercises.predict import Answer, question, words_of
from trainium_edu.exercises.questions.tables import numbers, table
from trainium_edu.viz.numbers import Numbers
from trainium_edu.widgets.collective_player import CollectivePlayer
from trainium_edu.widgets.collectives import crossover_text, selection_picture
from trainium_edu.widgets.topology import cycles_picture

_SHOWN = words_of(__file__)["shown"]
_RANK = 2  # the one that is asked about


@question("08/first-chunk")
def first_chunk(schedule, topology, numbers):
    """Return what rank 2 sends in step 0 of the ring, and the ring to step through."""
    sent = (schedule.step == 0) & (schedule.src == _RANK)
    chunk = int(schedule.item[sent][0] % schedule.items // schedule.lanes)
    way = [(_RANK + k) % topology.ranks for k in range(topology.ranks)]
    parts = " + ".join(str(numbers[rank, chunk]) for rank in way)
    return Answer(
        chunk,
        terms={"last": way[-1]},
        show=lambda guess: [
            f"chunk {chunk}: rank {' → '.join(map(str, way))}, {parts} = {numbers[:, chunk].sum()}",
            CollectivePlayer(schedule, topology, 2**20, values=numbers),
        ],
    )


@question("08/busy-channels")
def busy_channels(schedule, torus):
    """Return how many directed links carry anything."""
    cycles = list(enumerate(fabric.hamiltonian_cycles(torus), start=1))
    used = int((fabric.link_loads(schedule, torus).sum(axis=0) > 0).sum())
    return Answer(
        used,
        wrong={
            "both directions": 2 * torus.chips,
            "steps for channels": torus.chips - 1,
            "all of them": torus.links,
            "steps of both phases": 2 * (torus.chips - 1),
        },
        terms={"idle": 1 - used / torus.links},
        show=lambda guess: [
            table(_SHOWN["cycles"], ((n, " ".join(map(str, way))) for n, way in cycles)),
            cycles_picture(torus),
        ],
    )


def _meet_mb(a, b):
    """Return where two lines cost the same, in MB."""
    return (b.alpha_ns - a.alpha_ns) / (a.ns_per_byte - b.ns_per_byte) / 1e6


def _edges(four_ranks, trn1):
    axes = _SHOWN["axes"]
    for name, machine, orders in (
        ("4 ranks a chip", four_ranks, ("rotated", "same")),
        ("2 ranks (trn1)", trn1, axes),
    ):
        for order in orders:
            found = fabric.select(machine, options={"rdh": {"axis_order": order}})
            yield f"{name}, {axes[order]:29}{'; '.join(crossover_text(found))}"


@question("08/mesh-until-these-lines")
def mesh_until(found, four_ranks, trn1):
    """Return where mesh and the next algorithm cost the same."""
    mesh, rdh = found.lines[:2]
    latency_us = (rdh.alpha_ns - mesh.alpha_ns) / 1e3
    rates = [1 / line.ns_per_byte for line in (mesh, rdh)]
    ends = [f"{at / 1e6:.1f}" for at, *_ in found.crossovers]
    return Answer(
        round(found.crossovers[0][0] / 1e6, 1),
        wrong={
            "against the last line": _meet_mb(mesh, found.lines[2]),
            "the faster one's bytes for free": latency_us / mesh.ns_per_byte / 1e3,
            "the slower one's bytes for free": latency_us / rdh.ns_per_byte / 1e3,
            "difference of the rates": latency_us * (rates[1] - rates[0]) / 1e3,
            "mesh's latency times its rate": mesh.alpha_ns / mesh.ns_per_byte / 1e6,
            "RDH's latency times its rate": rdh.alpha_ns / rdh.ns_per_byte / 1e6,
        },
        terms={
            "latency_us": latency_us,
            "rates": " − ".join(f"1/{rate:.1f}" for rate in rates),
            "boundaries": " and ".join(ends),
        },
        show=lambda guess: [
            selection_picture(found, title="all-reduce on 16 chips with 4 ranks each"),
            Numbers(_edges(four_ranks, trn1)),
        ],
    )


def _best_us(machine, nbytes, hbm="overlapped"):
    costs = fabric.Costs(hbm=hbm)
    return fabric.select(machine, sizes=[nbytes], costs=costs).times_ns.min() / 1e3


def _ratio(torus, ring, nbytes, hbm="overlapped"):
    return _best_us(ring, nbytes, hbm) / _best_us(torus, nbytes, hbm)


def _beside(torus, ring):
    """Compare ring and torus, a row for each size and assumption."""
    both = [make(direction="both_ways") for make in (fabric.trn1_32xlarge, fabric.inf2_48xlarge)]
    machines = {"as is": (torus, ring), "both ways": both}
    for name, which, nbytes, hbm in _SHOWN["beside"]["cases"]:
        t, r = (_best_us(machine, nbytes, hbm) for machine in machines[which])
        yield name, t, r, float(r / t)


def _busy_us(machine, nbytes):
    """Return how long the fastest algorithm's cables, and its memory, are busy."""
    fastest = fabric.plan(machine, "all_reduce", fabric.choose(machine, "all_reduce", nbytes))
    bill = fabric.account(fastest, machine, nbytes)
    return bill.link_ns.sum() / 1e3, bill.hbm_ns.sum() / 1e3


def _mean_hops(machine):
    return float(np.mean(machine.hops(0)[1:]))


@question("08/inf2-factor")
def inf2_factor(torus, ring, nbytes):
    """Return how much longer the ring's best algorithm takes."""
    beside = list(_beside(torus, ring))
    return Answer(
        round(float(_ratio(torus, ring, nbytes)), 2),
        wrong={
            "half the cables, twice the time": len(torus.neighbours(0)) / len(ring.neighbours(0)),
            "memory for free": _ratio(torus, ring, nbytes, "ignored"),
            "distance": _mean_hops(ring) / _mean_hops(torus),
            "fewer chips": torus.chips / ring.chips,
        },
        terms={
            f"{name}_{part}_us": us
            for name, machine in (("torus", torus), ("ring", ring))
            for part, us in zip(("cables", "memory"), _busy_us(machine, nbytes), strict=True)
        },
        show=lambda guess: numbers(_SHOWN["beside"], beside, {row[0]: row[-1] for row in beside}),
    )
