"""Curves of collectives behind sliders: which algorithm wins at which size, and on what terms."""

from dataclasses import replace
from functools import lru_cache

import ipywidgets
import numpy as np

from trainium_edu import fabric
from trainium_edu.fabric.selection import Selection
from trainium_edu.specs import FABRIC
from trainium_edu.specs.arguments import choice
from trainium_edu.specs.signatures import checked
from trainium_edu.viz.collectives import plot_bus_bandwidth, plot_times
from trainium_edu.viz.layered import Layered
from trainium_edu.widgets.picture import Panel, Picture

__all__ = ["PUBLISHED", "crossover_text", "selection_explorer", "selection_picture"]

#: The boundaries that AWS's document on intra-node collectives names, in bytes.
PUBLISHED = tuple(
    (int(fact), f"published: {int(fact) // 10**6} MB")
    for fact in (FABRIC.mesh_below_bytes, FABRIC.kangaring_above_bytes)
)
_SIZES = np.geomspace(2**10, 2**31, 128)
_MEMORY = (("beside the links", "overlapped"), ("after the links", "added"), ("free", "ignored"))
_AXES = (
    ("one each", "rotated"),
    ("one each, cut chunks", "spread"),
    ("all the same", "same"),
)
_MACHINES = {
    "trn1.32xlarge": fabric.trn1_32xlarge,
    "Trn2-like": fabric.trn2_like,
    "inf2.48xlarge": fabric.inf2_48xlarge,
}


@checked
def crossover_text(selection: Selection) -> list[str]:
    """Say in lines where the fastest algorithm changes."""
    lines = [
        f"{before} → {after} at {nbytes / 1e6:.1f} MB"
        for nbytes, before, after in selection.crossovers
    ]
    return lines or [f"{selection.order[0]} at every size"]


@checked
def selection_picture(selection: Selection, *, title: str = ""):
    """Return a picture of time against size with crossovers and the published marks."""
    told = f"{title}: {'; '.join(crossover_text(selection))}."
    return Picture(lambda: _draw(selection, title), alt=told)


def _draw(selection, title, layered=None):
    names = [line.name for line in selection.lines]
    return plot_times(
        selection.sizes, selection.times_ns, names, crossovers=selection.crossovers,
        published=PUBLISHED, title=title, layered=layered,
    )  # fmt: skip


@checked
def selection_explorer(machine: str = "trn1.32xlarge"):
    """Build a panel: machine, what a link's figure counts, hop latency, memory, RDH's axes; sweep.

    Returns
    -------
    panel : Panel
        ``panel.controls`` by name; ``panel.told`` names the crossovers.
    """
    choice(machine, "machine", list(_MACHINES))
    wide = {"description_width": "initial"}
    where = ipywidgets.Dropdown(
        description="machine", options=list(_MACHINES), value=machine, style=wide
    )
    counts = ipywidgets.Dropdown(
        description="a link's figure counts",
        style=wide,
        options=[("one direction", "one_way"), ("both together", "both_ways")],
    )
    hop = ipywidgets.FloatSlider(
        description="latency of a hop (µs)", min=0.5, max=3, step=0.1, value=1.5, style=wide
    )
    memory = ipywidgets.Dropdown(
        description="memory traffic",
        style=wide,
        options=list(_MEMORY),
    )
    axes = ipywidgets.Dropdown(
        description="axes of RDH's ranks",
        style=wide,
        options=list(_AXES),
    )
    shown = ipywidgets.ToggleButtons(
        description="show", options=["time", "bus bandwidth"], style={"button_width": "130px"}
    )
    told = ipywidgets.HTML()
    state, layered = {}, Layered()

    def update(_change=None):
        topology, base = _at_one_hop(where.value, counts.value, memory.value, axes.value)
        found = _rescaled(base, 1000 * hop.value / fabric.HOP_LATENCY_NS)
        state.update(topology=topology, found=found)
        told.value = f"{'; '.join(crossover_text(found))}. {_excuses(found)}"
        if "picture" in state:
            state["picture"].redraw()

    def draw():
        topology, found = state["topology"], state["found"]
        if shown.value == "time":
            return _draw(found, f"all-reduce on {topology.name}", layered)
        names = [line.name for line in found.lines]
        factor = 2 * (topology.ranks - 1) / topology.ranks
        limit = topology.links / topology.chips * topology.bandwidth_bytes_per_s[0] / 1e9
        return plot_bus_bandwidth(
            found.sizes, found.times_ns, names, factor, limit=limit,
            title=f"all-reduce on {topology.name}, as nccom-test counts",
        )  # fmt: skip

    update()
    state["picture"] = picture = Picture(
        draw, alt=lambda: f"All-reduce, {shown.value}: {told.value}"
    )
    for control in (where, counts, hop, memory, axes):
        control.observe(update, "value")
    shown.observe(picture.redraw, "value")
    wrap = {"flex_flow": "row wrap"}
    rows = [
        ipywidgets.HBox([where, counts], layout=wrap),
        ipywidgets.HBox([hop, memory], layout=wrap),
        ipywidgets.HBox([axes], layout=wrap),
    ]
    panel = Panel([*rows, shown, picture, told], "selection explorer")
    panel.controls = {
        "machine": where,
        "counts": counts,
        "hop": hop,
        "memory": memory,
        "axes": axes,
        "show": shown,
    }
    panel.told = told
    return panel


@lru_cache(maxsize=32)
def _at_one_hop(machine, counts, memory, axes):
    """Return a machine and its selection at the documents' middle latency."""
    topology = _MACHINES[machine](direction=counts)
    found = fabric.select(
        topology, "all_reduce", (*fabric.DOCUMENTED, "ring"), sizes=_SIZES,
        costs=fabric.Costs(hbm=memory), options={"rdh": {"axis_order": axes}},
    )  # fmt: skip
    return topology, found


def _rescaled(selection, factor):
    """Return the selection with every latency, on a chip and between chips, times a factor."""
    lines = tuple(replace(k, alpha_ns=k.alpha_ns * factor) for k in selection.lines)
    times, best = fabric.sweep(lines, selection.sizes)
    edges = tuple(fabric.crossovers(lines))
    return replace(selection, lines=lines, times_ns=times, best=best, crossovers=edges)


def _excuses(found):
    """Name the algorithms that cannot run here."""
    if not found.left_out:
        return ""
    return f"Not possible here: {', '.join(name for name, _ in found.left_out)}."
