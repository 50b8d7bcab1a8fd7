"""The topology explorer: draw a machine as torus, hypercube or ring; count hops; cut a cable."""

import ipywidgets
import numpy as np

from trainium_edu import fabric
from trainium_edu.viz.topology import layouts, plot_topology, wires_of
from trainium_edu.widgets.picture import Panel, Picture

__all__ = ["cycles_picture", "topology_explorer", "topology_picture", "way"]

_MACHINES = {
    "trn1.32xlarge: 16 chips": fabric.trn1_32xlarge,
    "inf2.48xlarge: 12 chips": fabric.inf2_48xlarge,
    "inf2.24xlarge: 6 chips": fabric.inf2_24xlarge,
}


def way(topology, start, end) -> list[int]:
    """Return the chips on the shortest way that a message takes, both ends included.

    Examples
    --------
    >>> way(fabric.trn1_32xlarge(), 0, 2)
    [0, 1, 2]
    """
    return [start, *(int(topology.dst[i]) for i in fabric.route(topology, start, end))]


def topology_picture(topology, *, layout="", path=(), colour_by=None, title="", width=5.4):
    """Return a picture of a topology, with its links and path in words.

    Parameters
    ----------
    topology, layout, path, colour_by, title, width
        As for :func:`trainium_edu.viz.topology.plot_topology`.

    Returns
    -------
    picture : Picture
    """
    told = f"{title or topology.name}: {topology.chips} chips, {len(wires_of(topology))} cables"
    if len(path):
        told += f", path {' → '.join(map(str, path))}"
    return Picture(
        lambda: plot_topology(
            topology, layout=layout, path=path, colour_by=colour_by, title=title, width=width
        ),
        alt=f"{told}.",
    )


def cycles_picture(topology, *, layout=""):
    """Return a picture of the two edge-disjoint Hamiltonian cycles, in two colours."""
    groups = np.zeros(len(wires_of(topology)), int)
    number = {tuple(w): k for k, w in enumerate(wires_of(topology).tolist())}
    for which, cycle in enumerate(fabric.hamiltonian_cycles(topology), start=1):
        for a, b in zip(cycle, (*cycle[1:], cycle[0]), strict=True):
            groups[number[min(a, b), max(a, b)]] = which
    counts = np.bincount(groups, minlength=3)
    title = f"two cycles: {counts[1]} cables (solid), {counts[2]} cables (dashed)"
    return topology_picture(topology, layout=layout, colour_by=groups, title=title)


def topology_explorer(machine="trn1.32xlarge: 16 chips", *, start=0, end=10, cut=""):
    """Build a panel: machine, drawing, two chips, and a cable to cut; shows the way and its hops.

    Parameters
    ----------
    machine : str
    start, end : int
        Chips.
    cut : str
        "a - b", or nothing.

    Returns
    -------
    panel : Panel
        ``panel.controls`` holds the controls by name; ``panel.told`` the text below.
    """
    wide = {"description_width": "initial"}
    drawing = ipywidgets.ToggleButtons(
        description="drawn as", options=["torus"], style={"button_width": "90px"}
    )
    machines = ipywidgets.Dropdown(
        description="machine", options=list(_MACHINES), value=machine, style=wide
    )
    a = ipywidgets.IntSlider(description="from chip", min=0, max=15, value=start, style=wide)
    b = ipywidgets.IntSlider(description="to chip", min=0, max=15, value=end, style=wide)
    cable = ipywidgets.Dropdown(description="cut cable", options=["none"], style=wide)
    told = ipywidgets.HTML()
    state = {}

    def whole():
        return _MACHINES[machines.value]()

    def set_machine(_change=None):
        topology = whole()
        state["busy"] = True
        drawing.options = [(way.label, key) for key, way in layouts(topology).items()]
        drawing.value = drawing.options[0][1]
        cable.options = ["none", *(f"{p} - {q}" for p, q in wires_of(topology))]
        cable.value = cut if cut in cable.options else "none"
        for slider in (a, b):
            slider.max = topology.chips - 1
        state["busy"] = False
        update()

    def update(_change=None):
        if state.get("busy"):
            return
        topology = whole()
        if cable.value != "none":
            topology = fabric.without_link(topology, *map(int, cable.value.split(" - ")))
        path = way(topology, a.value, b.value)
        state.update(topology=topology, path=path)
        told.value = _tell(topology, path)
        if "picture" in state:
            state["picture"].redraw()

    def draw():
        return plot_topology(state["topology"], layout=drawing.value, path=state["path"])

    def alt():
        topology = state["topology"]
        return f"{topology.name} drawn as {drawing.value}. {_tell(topology, state['path'])}"

    set_machine()
    state["picture"] = picture = Picture(draw, alt=alt)
    machines.observe(set_machine, "value")
    for control in (drawing, a, b, cable):
        control.observe(update, "value")
    rows = [
        ipywidgets.HBox(r, layout={"flex_flow": "row wrap"}) for r in ([machines, cable], [a, b])
    ]
    panel = Panel([*rows, drawing, picture, told], "topology explorer")
    panel.controls = {"machine": machines, "drawn as": drawing, "from": a, "to": b, "cut": cable}
    panel.told = told
    return panel


def _tell(topology, path):
    """Say the way, its hops, and what the addresses have to do with them."""
    hops = len(path) - 1
    text = f"{' → '.join(map(str, path))}: {hops} hop{'s' if hops != 1 else ''}."
    if topology.chips == 16 and topology.shape == (4, 4):
        address = fabric.cube_addresses(topology)
        p, q = int(address[path[0]]), int(address[path[-1]])
        flips = (p ^ q).bit_count()
        bits = f"{flips} bit{'s' if flips != 1 else ''}"
        text += f" Hypercube addresses {p:04b} and {q:04b} differ in {bits}."
    return text
