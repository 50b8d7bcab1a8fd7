"""Curves of collectives behind sliders: which algorithm wins at which size, and on what terms."""

from dataclasses import replace
from functools import lru_cache, partial

import numpy as np

from trainium_edu import fabric
from trainium_edu.fabric.selection import Selection
from trainium_edu.specs import FABRIC
from trainium_edu.specs.signatures import checked
from trainium_edu.viz import collectives as picture
from trainium_edu.widgets.picture import Panel, Picture
from trainium_edu.widgets.sketch import Page, sketch

__all__ = ["PUBLISHED", "crossover_text", "selection_explorer", "selection_picture"]

#: The boundaries that AWS's document on intra-node collectives names, in bytes.
PUBLISHED = tuple(
    (int(fact), f"published: {int(fact) // 10**6} MB")
    for fact in (FABRIC.mesh_below_bytes, FABRIC.kangaring_above_bytes)
)
_SIZES = np.geomspace(2**10, 2**31, 128)
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
def selection_picture(selection: Selection, *, title: str = "") -> Picture:
    """Return a picture of time against size with crossovers and the published marks."""
    told = f"{title}: {'; '.join(crossover_text(selection))}."
    draw = partial(picture.draw_times, selection, published=PUBLISHED, title=title)
    return Picture(draw, alt=told)


def selection_explorer() -> Panel:
    """Build a panel: machine, what a link's figure counts, hop latency, memory, RDH's axes; sweep.

    Returns
    -------
    panel : Panel
        ``panel.sketch`` has the controls, and names the crossovers.
    """
    shown = sketch("selection", _selection_page)
    panel = Panel([shown], "selection explorer")
    panel.sketch = shown
    return panel


def _selection_page(values) -> Page:
    topology, base = _at_one_hop(*(values[k] for k in ("machine", "counts", "memory", "axes")))
    hop = values["hop"] / 10  # µs
    selection = _rescaled(base, 1000 * hop / fabric.HOP_LATENCY_NS)
    title = f"all-reduce on {topology.name}"
    look = {"title": title, "width": values["width"]}
    if values["show"] == "time":
        scene = picture.draw_times(selection, published=PUBLISHED, **look)
    else:
        look["title"] += ", as nccom-test counts"
        limit = topology.links / topology.chips * topology.bandwidth_bytes_per_s[0] / 1e9
        factor = 2 * (topology.ranks - 1) / topology.ranks
        scene = picture.draw_bus_bandwidth(selection, factor, limit, **look)
    told = f"{'; '.join(crossover_text(selection))}. {_excuses(selection)}"
    return Page(scene, [told], {"hop": f"{hop:g} µs"})


@lru_cache(maxsize=32)
def _at_one_hop(machine, counts, memory, axes):
    """Return a machine and its selection at the documents' middle latency."""
    topology = _MACHINES[machine](direction=counts)
    algorithms, terms = (*fabric.DOCUMENTED, "ring"), {"rdh": {"axis_order": axes}}
    more = {"sizes": _SIZES, "costs": fabric.Costs(hbm=memory), "options": terms}
    return topology, fabric.select(topology, "all_reduce", algorithms, **more)


def _rescaled(selection, factor):
    """Return the selection with every latency, on a chip and between chips, times a factor."""
    lines = tuple(replace(k, alpha_ns=k.alpha_ns * factor) for k in selection.lines)
    times, best = fabric.sweep(lines, selection.sizes)
    edges = tuple(fabric.crossovers(lines))
    return replace(selection, lines=lines, times_ns=times, best=best, crossovers=edges)


def _excuses(found):
    """Name the algorithms that cannot run here."""
    names = ", ".join(name for name, _ in found.left_out)
    return f"Not possible here: {names}." if names else ""
