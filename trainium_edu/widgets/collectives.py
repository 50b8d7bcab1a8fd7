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
_WIDE = {"description_width": "initial"}
_SIZES = np.geomspace(2**10, 2**31, 128)
_COUNTS = (("one direction", "one_way"), ("both together", "both_ways"))
_MEMORY = (("beside the links", "overlapped"), ("after the links", "added"), ("free", "ignored"))
_AXES = (("one each", "rotated"), ("one each, cut chunks", "spread"), ("all the same", "same"))
_MACHINES = {
    "trn1.32xlarge": fabric.trn1_32xlarge,
    "trn2.48xlarge": fabric.trn2_48xlarge,
    "Trn2 UltraServer": fabric.ultraserver,
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
    controls = {
        "machine": _menu("machine", list(_MACHINES), value=machine),
        "counts": _menu("a link's figure counts", list(_COUNTS)),
        "hop": ipywidgets.FloatSlider(
            description="latency of a hop (µs)", min=0.5, max=3, step=0.1, value=1.5, style=_WIDE
        ),
        "memory": _menu("memory traffic", list(_MEMORY)),
        "axes": _menu("axes of RDH's ranks", list(_AXES)),
        "show": ipywidgets.ToggleButtons(
            description="show", options=["time", "bus bandwidth"], style={"button_width": "130px"}
        ),
    }
    told, layered = ipywidgets.HTML(), Layered()

    def found():
        where = (controls[name].value for name in ("machine", "counts", "memory", "axes"))
        topology, base = _at_one_hop(*where)
        return topology, _rescaled(base, 1000 * controls["hop"].value / fabric.HOP_LATENCY_NS)

    def draw():
        topology, selection = found()
        if controls["show"].value == "time":
            return _draw(selection, f"all-reduce on {topology.name}", layered)
        return plot_bus_bandwidth(
            selection.sizes,
            selection.times_ns,
            [line.name for line in selection.lines],
            2 * (topology.ranks - 1) / topology.ranks,
            limit=topology.links / topology.chips * topology.bandwidth_bytes_per_s[0] / 1e9,
            title=f"all-reduce on {topology.name}, as nccom-test counts",
        )

    def update(_change=None):
        _, selection = found()
        told.value = f"{'; '.join(crossover_text(selection))}. {_excuses(selection)}"
        picture.redraw()

    picture = Picture(draw, alt=lambda: f"All-reduce, {controls['show'].value}: {told.value}")
    update()
    for control in controls.values():
        control.observe(update, "value")
    where, counts, hop, memory, axes, shown = controls.values()
    wrap = {"flex_flow": "row wrap"}
    rows = [ipywidgets.HBox(row, layout=wrap) for row in ([where, counts], [hop, memory], [axes])]
    panel = Panel([*rows, shown, picture, told], "selection explorer")
    panel.controls, panel.told = controls, told
    return panel


def _menu(name, options, **more):
    return ipywidgets.Dropdown(description=name, options=options, style=_WIDE, **more)


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
