"""A collective frame by frame: all that a player needs, worked out once from a schedule.

The schedule is executed (on ones, so that a place's value counts the ranks whose part it holds) and
timed; what the player draws is those states, those messages and those links, and nothing else.
"""

from dataclasses import dataclass

import numpy as np
from matplotlib import colormaps
from matplotlib.colors import to_hex, to_rgb

from trainium_edu.fabric import FabricError, account, execute, item_sizes, route
from trainium_edu.fabric.schedule import Schedule
from trainium_edu.fabric.topology import Topology
from trainium_edu.files import tables
from trainium_edu.viz.colours import COLOURS
from trainium_edu.viz.packing import pack
from trainium_edu.viz.topology import Layout, layouts, links_of, machine_of, missing_wires, wires_of
from trainium_edu.viz.units import size_text

__all__ = ["CollectiveFrames", "frames_of_schedule"]

#: More ranks than these are too small to see.
MOST_RANKS = 64
_ENDINGS = tables(__file__)["endings"]
_FIRST_COLOURS = ("blue", "orange", "green", "pink", "sky", "red", "yellow", "grey")


@dataclass(frozen=True, slots=True)
class CollectiveFrames:
    """The frames of one collective: position k is the state after k steps.

    Its arrays, as the page takes them: ``step_ns`` [steps + 1], when each step begins, and the end;
    ``wires`` [wires, 2], cables as pairs of vertices; ``links`` [links, 3]: from, to, wire;
    ``have`` [steps + 1, ranks, chunks], parts of the sum that a rank holds; ``link_bytes`` and
    ``link_busy`` [steps, links], the latter a share of the step's time; maybe ``values``, of the
    shape of ``have``, the numbers themselves.  One entry for each message have ``msg_step msg_src
    msg_dst msg_adds msg_bytes msg_begins msg_ends``; its chunks, and the links that it crosses
    (none on one chip), are stretches of ``msg_chunks`` and ``msg_path``.
    """

    title: str
    schedule: Schedule
    topology: Topology
    down: tuple[int, ...]  #: wires that are drawn as broken
    full: int  #: what ``have`` reaches when a chunk is finished
    arrays: dict[str, np.ndarray]

    @property
    def steps(self) -> int:
        """Number of steps."""
        return self.schedule.steps

    @property
    def layouts(self) -> dict[str, Layout]:
        """The ways to draw the topology."""
        return layouts(self.topology, self.arrays["wires"])

    def __repr__(self):
        messages = len(self.arrays["msg_step"])
        return f"CollectiveFrames({self.title!r}, {self.steps} steps, {messages} messages)"

    def palette(self) -> list[str]:
        """Return one colour per chunk."""
        chunks = self.schedule.chunks
        if chunks <= len(_FIRST_COLOURS):
            return [COLOURS[name] for name in _FIRST_COLOURS[:chunks]]
        # neither as dark as a dark page nor as light as a light one
        return [to_hex(c) for c in colormaps["viridis"](np.linspace(0.3, 0.78, chunks))]

    def to_bytes(self) -> bytes:
        """Pack header and arrays into one run of bytes; ``collective_player.js`` reads them."""
        colours, topology, schedule = self.palette(), self.topology, self.schedule
        header = machine_of(topology) | {
            "title": self.title,
            "ranks": schedule.ranks,
            "chunks": schedule.chunks,
            "steps": schedule.steps,
            "full": self.full,
            "step_notes": _step_notes(schedule),
            "down": self.down,
            "ending": _ENDINGS[str(schedule.collective)],
            "palette": colours,
            "letters": ["#000" if _lightness(c) > 0.42 else "#fff" for c in colours],
            "layouts": {name: one.data() for name, one in self.layouts.items()},
        }
        return pack(header, self.arrays)


def _lightness(colour):
    """Return the relative lightness of a colour, for the ink of letters on it."""
    return float(np.dot(to_rgb(colour), (0.2126, 0.7152, 0.0722)))


def frames_of_schedule(schedule, topology, nbytes, *, values=None) -> CollectiveFrames:
    """Return the frames of a collective: execute and time its schedule, and keep every state.

    Parameters
    ----------
    schedule : fabric.Schedule
    topology : fabric.Topology
        With at most 64 ranks.
    nbytes : int
        Bytes of the whole buffer.
    values : array [ranks, chunks], optional
        Small whole numbers to show in the buffers, one per chunk; only where a chunk travels whole
        (one lane).

    Returns
    -------
    CollectiveFrames

    Raises
    ------
    FabricError
        If there are too many ranks to see, or the schedule is broken.

    Examples
    --------
    >>> from trainium_edu.fabric import plan, ring
    >>> frames_of_schedule(plan(ring(4), "all_reduce", "ring", cycles=1), ring(4), 4096)
    CollectiveFrames('all-reduce by ring on ring of 4: 4 ranks, 4 KiB', 6 steps, 24 messages)
    """
    if schedule.ranks > MOST_RANKS:
        raise FabricError(
            f"{schedule.ranks} ranks are too many to see one by one; the player takes up to"
            f" {MOST_RANKS}. Time larger groups with account or hierarchical_time"
        )
    bill = account(schedule, topology, nbytes)
    there = wires_of(topology)
    wires = np.concatenate([there, missing_wires(topology)])
    have, full = _parts(schedule)
    busy_ns = bill.link_bytes / topology.bandwidth_bytes_per_s * 1e9
    arrays = {
        "step_ns": np.cumsum([0.0, *bill.time_ns]),
        "wires": wires,
        "links": links_of(topology, wires),
        "link_bytes": bill.link_bytes,
        "link_busy": busy_ns / np.maximum(bill.time_ns, 1e-9)[:, None],
        "have": have,
    }
    if values is not None:
        arrays["values"] = _values(schedule, values)
    arrays |= _messages(schedule, topology, nbytes)
    title, down = _title(schedule, topology, nbytes), tuple(range(len(there), len(wires)))
    return CollectiveFrames(title, schedule, topology, down, full, arrays)


def _title(schedule, topology, nbytes):
    what = str(schedule.collective).replace("_", "-")
    name = schedule.algorithm.replace("_", " ")
    return f"{what} by {name} on {topology.name}: {schedule.ranks} ranks, {size_text(nbytes)}"


def _step_notes(schedule):
    """Say for each step whether it adds up or hands out."""
    if str(schedule.collective) not in ("all_reduce", "reduce_scatter"):
        return ("",) * schedule.steps
    adds = set(schedule.step[(schedule.src != schedule.dst) & (schedule.op == 1)].tolist())
    return tuple("adding up" if k in adds else "handing out" for k in range(schedule.steps))


def _run(schedule, numbers):
    """Execute on one whole number per chunk, in all its lanes; return states [step, rank, item]."""
    spread = np.repeat(numbers.astype(np.int32), schedule.lanes, axis=1)
    if str(schedule.collective) == "all_gather":
        owner = schedule.owner
        spread = [spread[r][owner == r] for r in range(schedule.ranks)]
    _, states = execute(schedule, spread, keep_states=True)
    values = states.values[:, :, -schedule.items :, 0]
    missing = schedule.steps + 1 - len(values)  # a last step may only settle what has arrived
    return np.concatenate([values, np.repeat(values[-1:], missing, axis=0)])


def _parts(schedule):
    """Count, after every step, how many ranks' parts each rank holds of each chunk."""
    ones = np.ones((schedule.ranks, schedule.chunks), np.int32)
    held = _run(schedule, ones).reshape(schedule.steps + 1, schedule.ranks, schedule.chunks, -1)
    sums = str(schedule.collective) in ("all_reduce", "reduce_scatter")
    return held.sum(axis=3), schedule.lanes * (schedule.ranks if sums else 1)


def _values(schedule, values):
    """Run the numbers that the learner shall see."""
    values = np.asarray(values)
    if schedule.lanes != 1 or values.shape != (schedule.ranks, schedule.chunks):
        raise FabricError(
            f"values have shape {values.shape}; to be seen in the buffers they need one number per"
            f" rank and chunk, ({schedule.ranks}, {schedule.chunks}), and one lane (cycles=1)"
        )
    return _run(schedule, values)


def _messages(schedule, topology, nbytes):
    """Gather the moves of one step between the same two ranks into messages, as arrays."""
    sizes = item_sizes(schedule, nbytes)
    weight = np.resize(sizes, schedule.places)[schedule.item]
    rows = np.flatnonzero((schedule.src != schedule.dst) & (schedule.op != 3))
    names = ("step", "phase", "src", "dst")
    key = np.stack([getattr(schedule, n)[rows].astype(np.int64) for n in names], axis=1)
    lane = schedule.item[rows] % schedule.lanes  # two lanes between one pair may go different ways
    found, which = np.unique(np.column_stack([key, lane]), axis=0, return_inverse=True)
    which = which.ravel()
    order = np.argsort(which, kind="stable")
    members = np.split(rows[order], np.cumsum(np.bincount(which, minlength=len(found)))[:-1])
    begins, ends = _windows(schedule, found[:, 0], found[:, 1])
    arrays = {
        "msg_step": found[:, 0],
        "msg_src": found[:, 2],
        "msg_dst": found[:, 3],
        "msg_adds": np.array([schedule.op[m[0]] == 1 for m in members], int),
        "msg_bytes": np.array([weight[m].sum() for m in members], float),
        "msg_begins": begins,
        "msg_ends": ends,
    }
    chunks = [np.unique(schedule.into[m] % schedule.items // schedule.lanes) for m in members]
    paths = [route(topology, int(a), int(b)) for a, b in topology.chip_of(found[:, 2:4])]
    for name, lists in (("msg_chunks", chunks), ("msg_path", paths)):
        arrays[f"{name}_start"] = np.cumsum([0, *map(len, lists)])
        arrays[name] = np.array([x for part in lists for x in part], int)
    return arrays


def _windows(schedule, step, phase):
    """Return the share of a step in which each message moves: phases follow one another."""
    has = np.zeros((schedule.steps, 4), bool)
    moves = (schedule.src != schedule.dst) & (schedule.op != 3)
    has[schedule.step[moves], schedule.phase[moves]] = True
    weight = has * np.array([1.0, 3.0, 1.0, 1.0])
    share = weight / np.maximum(weight.sum(axis=1, keepdims=True), 1)
    end = np.cumsum(share, axis=1)
    return (end - share)[step, phase], end[step, phase]
