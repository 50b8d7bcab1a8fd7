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
from trainium_edu.viz.topology import Layout, layouts, links_of, missing_wires, wires_of
from trainium_edu.viz.units import size_text

__all__ = ["CollectiveFrames", "frames_of_schedule"]

#: More ranks than these are too small to see.
MOST_RANKS = 64
_ENDINGS = tables(__file__)["endings"]
_FIRST_COLOURS = ("blue", "orange", "green", "pink", "sky", "red", "yellow", "grey")


#: Arrays of the page, and of its messages.
_ARRAYS = {"step_ns": np.float64, "wires": np.uint16, "links": np.uint16,
           "link_bytes": np.float32, "link_busy": np.float32}  # fmt: skip
_MESSAGE = {"step": np.uint16, "src": np.uint16, "dst": np.uint16, "adds": np.uint8,
            "bytes": np.float64, "begins": np.float32, "ends": np.float32}  # fmt: skip


@dataclass(frozen=True, slots=True)
class CollectiveFrames:
    """The frames of one collective: position k is the state after k steps."""

    title: str
    schedule: Schedule
    topology: Topology
    step_ns: np.ndarray  #: float64[steps + 1], when each step begins, and the end
    wires: np.ndarray  #: int[wires, 2], cables as pairs of vertices
    down: tuple[int, ...]  #: wires that are drawn as broken
    links: np.ndarray  #: int[links, 3]: from, to, wire
    have: np.ndarray  #: int[steps + 1, ranks, chunks], parts of the sum that a rank holds
    full: int  #: what ``have`` reaches when a chunk is finished
    values: np.ndarray | None  #: float32 of the same shape, the numbers themselves
    link_bytes: np.ndarray  #: float32[steps, links]
    link_busy: np.ndarray  #: float32[steps, links], share of the step's time
    messages: dict  #: arrays ``step src dst adds bytes begins ends``, one entry per message
    chunks_of: tuple  #: per message, the chunks in it
    path_of: tuple  #: per message, the links that it crosses; empty on one chip

    @property
    def steps(self) -> int:
        """Number of steps."""
        return self.schedule.steps

    @property
    def layouts(self) -> dict[str, Layout]:
        """The ways to draw the topology."""
        return layouts(self.topology, self.wires)

    def __repr__(self):
        return f"CollectiveFrames({self.title!r}, {self.steps} steps, {len(self.path_of)} messages)"

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
        header = {
            "title": self.title, "chips": topology.chips, "switches": topology.switches,
            "ranks": schedule.ranks, "ranks_per_chip": topology.ranks_per_chip,
            "chunks": schedule.chunks, "steps": schedule.steps, "full": self.full,
            "step_notes": _step_notes(schedule), "down": self.down,
            "ending": _ENDINGS[str(schedule.collective)], "palette": colours,
            "letters": ["#000" if _lightness(c) > 0.42 else "#fff" for c in colours],
            "layouts": {name: {"label": one.label} | one.data()
                        for name, one in self.layouts.items()},
        }  # fmt: skip
        small = np.uint8 if self.full < 256 else np.uint16
        arrays = {name: getattr(self, name).astype(kind) for name, kind in _ARRAYS.items()}
        arrays["have"] = self.have.astype(small)
        arrays |= {f"msg_{name}": self.messages[name].astype(k) for name, k in _MESSAGE.items()}
        for name, lists in (("chunks", self.chunks_of), ("path", self.path_of)):
            arrays[f"msg_{name}_start"] = np.cumsum([0, *map(len, lists)]).astype(np.uint32)
            arrays[f"msg_{name}"] = np.array([x for part in lists for x in part], np.uint16)
        if self.values is not None:
            arrays["values"] = self.values.astype(np.float32)
        return pack(header, arrays, prefix=4)


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
    wires, down = wires_of(topology), missing_wires(topology)
    every = np.concatenate([wires, down])
    have, full = _parts(schedule)
    messages, chunks_of, path_of = _messages(schedule, topology, nbytes)
    busy_ns = bill.link_bytes / topology.bandwidth_bytes_per_s * 1e9
    return CollectiveFrames(
        title=_title(schedule, topology, nbytes),
        schedule=schedule,
        topology=topology,
        step_ns=np.concatenate(([0.0], np.cumsum(bill.time_ns))),
        wires=every,
        down=tuple(range(len(wires), len(every))),
        links=links_of(topology, every),
        have=have,
        full=full,
        values=None if values is None else _values(schedule, values),
        link_bytes=bill.link_bytes,
        link_busy=busy_ns / np.maximum(bill.time_ns, 1e-9)[:, None],
        messages=messages,
        chunks_of=chunks_of,
        path_of=path_of,
    )


def _title(schedule, topology, nbytes):
    what = str(schedule.collective).replace("_", "-")
    name = schedule.algorithm.replace("_", " ")
    return f"{what} by {name} on {topology.name}: {schedule.ranks} ranks, {size_text(nbytes)}"


def _step_notes(schedule):
    """Say for each step whether it adds up or hands out."""
    adds = np.zeros(schedule.steps, bool)
    moves = schedule.src != schedule.dst
    np.logical_or.at(adds, schedule.step[moves], schedule.op[moves] == 1)
    if str(schedule.collective) not in ("all_reduce", "reduce_scatter"):
        return ("",) * schedule.steps
    return tuple("adding up" if a else "handing out" for a in adds)


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
    """Gather the moves of one step between the same two ranks into messages with paths."""
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
    chip = topology.chip_of(found[:, 2:4])
    begins, ends = _windows(schedule, found[:, 0], found[:, 1])
    messages = {
        "step": found[:, 0], "src": found[:, 2], "dst": found[:, 3], "begins": begins, "ends": ends,
        "adds": np.array([schedule.op[m[0]] == 1 for m in members], bool),
        "bytes": np.array([weight[m].sum() for m in members], float),
    }  # fmt: skip
    chunks = tuple(np.unique(schedule.into[m] % schedule.items // schedule.lanes) for m in members)
    paths = tuple(route(topology, int(a), int(b)) for a, b in chip)
    return messages, chunks, paths


def _windows(schedule, step, phase):
    """Return the share of a step in which each message moves: phases follow one another."""
    has = np.zeros((schedule.steps, 4), bool)
    moves = (schedule.src != schedule.dst) & (schedule.op != 3)
    has[schedule.step[moves], schedule.phase[moves]] = True
    weight = has * np.array([1.0, 3.0, 1.0, 1.0])
    share = weight / np.maximum(weight.sum(axis=1, keepdims=True), 1)
    end = np.cumsum(share, axis=1)
    return (end - share)[step, phase], end[step, phase]
