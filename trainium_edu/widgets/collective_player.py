"""The collective player: one schedule to step through, and a panel that chooses it."""

from contextlib import suppress
from functools import cache

import ipywidgets
import numpy as np
import traitlets

from trainium_edu import fabric
from trainium_edu.viz.collective_frames import frames_of_schedule
from trainium_edu.viz.topology import pick
from trainium_edu.widgets.page_widget import PageWidget
from trainium_edu.widgets.picture import Panel

__all__ = ["MACHINES", "CollectivePlayer", "collective_explorer"]


class CollectivePlayer(PageWidget, page="collective_player"):
    """Play a collective: chunks on links, buffers filling, links warming up.

    Parameters
    ----------
    schedule : fabric.Schedule
    topology : fabric.Topology
        Up to 64 ranks.
    nbytes : int
        Bytes of the whole buffer on each rank.
    layout : str, optional
        ``"torus"``, ``"hypercube"``, ``"ring"``, ``"ring2"`` or ``"cluster"``, where it applies.
    begins : bool
        Whether it plays unasked, for readers who want motion.
    values : array [ranks, chunks], optional
        Small whole numbers to show in the buffers.

    Raises
    ------
    fabric.FabricError
        If the schedule is broken, or there are too many ranks to see.

    Examples
    --------
    >>> from trainium_edu.fabric import plan, ring
    >>> CollectivePlayer(plan(ring(4), "all_gather", "ring"), ring(4), 4096)
    CollectivePlayer('all-gather by ring on ring of 4: 4 ranks, 4 KiB', 3 steps)
    """

    film = traitlets.Bytes().tag(sync=True)
    layout_name = traitlets.Unicode().tag(sync=True)  # how the topology is drawn
    step = traitlets.Int(0).tag(sync=True)  # where the player rests
    begins = traitlets.Bool(False).tag(sync=True)
    picked = traitlets.Unicode("").tag(sync=True)  # "chip 5" or "wire 3", set by the page

    def __init__(self, schedule, topology, nbytes, *, layout="", begins=False, values=None):
        self.frames = frames_of_schedule(schedule, topology, nbytes, values=values)
        film, layout = self.frames.to_bytes(), pick(self.frames.layouts, layout)
        super().__init__(film=film, layout_name=layout, begins=begins)

    def play(self, schedule, topology, nbytes):
        """Put in another schedule and go to its beginning."""
        self.frames = frames_of_schedule(schedule, topology, nbytes)
        with self.hold_sync():
            self.step, self.picked = 0, ""
            kept = self.layout_name if self.layout_name in self.frames.layouts else ""
            self.layout_name = pick(self.frames.layouts, kept)
            self.film = self.frames.to_bytes()

    def __repr__(self):
        return f"CollectivePlayer({self.frames.title!r}, {self.frames.steps} steps)"


#: What the explorer offers.
MACHINES = {
    "Trn1 (16 chips, 32 ranks)": fabric.trn1_32xlarge,
    "16 chips, one rank each": lambda: fabric.torus(4, 4),
    "Inf2.48 (12 chips, 24 ranks)": fabric.inf2_48xlarge,
    "2 × Trn1 (64 ranks)": lambda: fabric.ultracluster(32),
    "Trn2 (16 chips, 64 ranks)": fabric.trn2_48xlarge,
}
_ALGORITHMS = (
    "kangaring",
    "ring",
    "mesh",
    "rdh",
    "ring_by_dimension",
    "halving_doubling",
    "hierarchical",
)
_COLLECTIVES = ["all_reduce", "reduce_scatter", "all_gather"]
_SIZES = {"64 KiB": 2**16, "1 MiB": 2**20, "16 MiB": 2**24, "256 MiB": 2**28}


def collective_explorer() -> Panel:
    """Build a panel: choose machine, collective, algorithm and size, and play the result.

    Returns
    -------
    panel : Panel
        Its ``player`` is the :class:`CollectivePlayer`.
    """
    offers: dict = {"machine": list(MACHINES), "collective": _COLLECTIVES}
    offers |= {"algorithm": _able(*(names[0] for names in offers.values())), "buffer": list(_SIZES)}
    look = {"style": {"description_width": "initial"}, "layout": {"width": "auto"}}
    menus = {
        name: ipywidgets.Dropdown(options=options, description=name, **look)
        for name, options in offers.items()
    }
    menus["buffer"].value = "16 MiB"

    def planned():
        machine, collective, algorithm, size = (menu.value for menu in menus.values())
        topology = MACHINES[machine]()
        return fabric.plan(topology, collective, algorithm), topology, _SIZES[size]

    def update(_change):
        how = menus["algorithm"]
        options = _able(menus["machine"].value, menus["collective"].value)
        if how.options != options:
            kept = how.value if how.value in options else options[0]
            how.unobserve(update, "value")  # one schedule for one choice
            how.options, how.value = options, kept
            how.observe(update, "value")
        player.play(*planned())
        note.value = _bill(player.frames)

    player = CollectivePlayer(*planned())
    note = ipywidgets.HTML(_bill(player.frames))
    for menu in menus.values():
        menu.observe(update, "value")
    controls = ipywidgets.HBox(list(menus.values()), layout={"flex_flow": "row wrap"})
    panel = Panel([controls, player, note], "collective explorer")
    panel.player, panel.menus = player, menus
    return panel


@cache
def _able(machine, collective) -> tuple[str, ...]:
    """Return the algorithms that can do this collective on this machine."""
    topology, found = MACHINES[machine](), []
    for name in _ALGORITHMS:
        with suppress(fabric.FabricError):
            fabric.plan(topology, collective, name)
            found.append(name)
    return tuple(found)


def _bill(frames):
    """Return in one line what the collective costs."""
    step_ns, link_busy = frames.arrays["step_ns"], frames.arrays["link_busy"]
    total = step_ns[-1]
    busy = link_busy.mean(axis=1) @ np.diff(step_ns) / total
    return (
        f"{frames.steps} steps, {total / 1e3:.1f} µs;"
        f" the links are busy {100 * busy:.0f} % of the time on average."
    )
