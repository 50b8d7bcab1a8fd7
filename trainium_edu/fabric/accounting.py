"""What a schedule costs, step by step: bytes on each link, touches of each memory, nanoseconds.

A step lasts as long as its slowest message takes to arrive without the bytes (latency), and as its
busiest directed link needs for all its bytes.  Memory works at the same time, and where it needs
longer than the links the step waits for it.
"""

from dataclasses import dataclass, field
from enum import StrEnum
from functools import lru_cache

import numpy as np

from trainium_edu.fabric.arguments import choice, made, real_number, real_numbers
from trainium_edu.fabric.machines import HOP_LATENCY_NS
from trainium_edu.fabric.routing import Ties, routes
from trainium_edu.fabric.schedule import (
    Collective,
    Op,
    Schedule,
    a_schedule,
    expected,
    item_sizes,
)
from trainium_edu.fabric.topology import FabricError, Topology, known, whole_number
from trainium_edu.fabric.touches import count_touches
from trainium_edu.timeline import Span, Timeline

__all__ = [
    "Account", "Costs", "Hbm", "Latency", "account", "busiest_link_chunks", "hbm_touches",
    "link_loads", "memory_loads", "timeline",
]  # fmt: skip

_MOST_SPANS = 50_000
_FEW_MOVES = 20_000  #: as plain Python some 50 ms; loading the compiled loop takes 500


class Latency(StrEnum):
    """The rule by which the latencies of the links on a path add up."""

    ONCE = "once"  #: the slowest link counts once: a message is a DMA, routed by the hardware
    EACH = "each"  #: every link counts, as in ASTRA-sim and SimGrid


class Hbm(StrEnum):
    """The rule by which memory traffic joins the time of a step."""

    OVERLAPPED = "overlapped"  #: the longer of links and memory
    ADDED = "added"  #: first one, then the other
    IGNORED = "ignored"  #: links only


@dataclass(frozen=True, slots=True)
class Costs:
    """The rules by which a step is timed; the rates belong to the topology."""

    latency: Latency = Latency.ONCE
    hbm: Hbm = Hbm.OVERLAPPED
    ties: Ties = Ties.BALANCED
    on_chip_latency_ns: float = HOP_LATENCY_NS  #: of a step in which no link is used

    def __post_init__(self):
        for name, names, what in (
            ("latency", Latency, "rule for latencies"), ("hbm", Hbm, "rule for memory"),
            ("ties", Ties, "rule for ties"),
        ):  # fmt: skip
            object.__setattr__(self, name, choice(getattr(self, name), names, what))
        real_number(self.on_chip_latency_ns, "on_chip_latency_ns")


def rules(costs) -> Costs:
    """Return the costs, or the usual ones for None."""
    return Costs() if costs is None else made(costs, Costs, "try Costs(hbm='ignored')")


@dataclass(frozen=True, slots=True)
class Account:
    """The bill of one collective: one row per step."""

    latency_ns: np.ndarray  #: float64[steps]
    link_ns: np.ndarray  #: float64[steps], what the busiest link needs for its bytes
    hbm_ns: np.ndarray  #: float64[steps], what the busiest memory needs
    moving_ns: np.ndarray  #: float64[steps], of links and memory together
    time_ns: np.ndarray  #: float64[steps], latency and moving
    link_bytes: np.ndarray = field(repr=False)  #: float64[steps, links]
    hbm_bytes: np.ndarray = field(repr=False)  #: float64[steps, chips]
    busiest_link: np.ndarray = field(repr=False)  #: int64[steps], -1 where no link is used

    @property
    def total_ns(self) -> float:
        """Nanoseconds for the whole collective."""
        return float(self.time_ns.sum())

    @property
    def steps(self) -> int:
        """Number of steps."""
        return len(self.time_ns)

    @property
    def utilisation(self) -> np.ndarray:
        """Share of the whole time in which each directed link is busy (float64[links])."""
        if not self.steps or not self.link_bytes.shape[1]:
            return np.zeros(self.link_bytes.shape[1])
        at_busiest = self.link_bytes[np.arange(self.steps), np.maximum(self.busiest_link, 0)]
        rate = np.divide(self.link_ns, at_busiest, where=at_busiest > 0, out=np.zeros(self.steps))
        return (self.link_bytes * rate[:, None]).sum(axis=0) / max(self.total_ns, 1e-300)

    def __str__(self):
        return (
            f"{self.steps} steps, {self.total_ns / 1e3:.2f} us: latency"
            f" {self.latency_ns.sum() / 1e3:.2f}, busiest links {self.link_ns.sum() / 1e3:.2f},"
            f" memory {self.hbm_ns.sum() / 1e3:.2f}"
        )


@lru_cache(maxsize=64)
def _paths(schedule, topology, ties):
    """Return, for every move, which links it crosses: (move of each crossing, link)."""
    for what in ("ranks", "ranks_per_chip"):
        planned, has = getattr(schedule, what), getattr(topology, what)
        if planned != has:
            raise FabricError(
                f"the schedule has {planned} {what} and {topology.name} has {has};"
                " plan it for this topology"
            )
    src, dst = topology.chip_of(schedule.src), topology.chip_of(schedule.dst)
    start, links = routes(topology, src, dst, ties)
    return np.repeat(np.arange(len(schedule)), np.diff(start)), links, np.diff(start)


def move_weights(schedule, sizes):
    """Return the weight of each move, from the weight of each item."""
    if schedule.collective is Collective.ALL_TO_ALL:
        sizes = np.concatenate((sizes, sizes))
    elif schedule.collective is Collective.PERMUTE:
        sizes = np.tile(sizes, 2)
    return sizes[schedule.item]


def _item_weights(schedule, sizes):
    """Return the weight of each item: as given, or so that a whole chunk weighs 1."""
    if sizes is None:
        return np.full(schedule.items, 1.0 / schedule.lanes)
    weights = real_numbers(sizes, "sizes")
    if weights.shape != (schedule.items,):
        raise FabricError(f"sizes has shape {weights.shape}; there are {schedule.items} items")
    return weights


def link_loads(schedule: Schedule, topology: Topology, sizes=None, *, ties=Ties.BALANCED):
    """Return what crosses each directed link in each step.

    Parameters
    ----------
    schedule : Schedule
    topology : Topology
    sizes : array [items], optional
        Weight of each item; by default a whole chunk weighs 1.
    ties : {"balanced", "one_way"}

    Returns
    -------
    float64[steps, links]

    Examples
    --------
    >>> from trainium_edu.fabric import plan, ring
    >>> loads = link_loads(plan(ring(4), "all_gather", "ring", cycles=1), ring(4))
    >>> loads.sum(axis=0).tolist()
    [0.0, 3.0, 0.0, 3.0, 0.0, 3.0, 0.0, 3.0]
    """
    a_schedule(schedule), known(topology)
    sizes = _item_weights(schedule, sizes)
    move, link, _ = _paths(schedule, topology, choice(ties, Ties, "rule for ties"))
    cells = schedule.step[move].astype(np.intp) * topology.links + link
    flat = np.bincount(
        cells, move_weights(schedule, sizes)[move],
        minlength=schedule.steps * topology.links,
    )  # fmt: skip
    return flat.reshape(schedule.steps, topology.links)


def memory_loads(schedule: Schedule, sizes=None):
    """Return what is read from and written to each chip's memory in each step.

    Parameters
    ----------
    schedule : Schedule
    sizes : array [items], optional
        Weight of each item; by default a whole chunk weighs 1.

    Returns
    -------
    float64[steps, chips]
        Reads and writes together.  A sum that is written back after the last step counts there.

    Notes
    -----
    A copy is one read and one write.  A partial that is sent on is read together with what arrived
    for it since it was last sent (added in passing), and written at the receiver.  That is two
    reads and one write, and one read the first time.  Arrivals of one step lie side by side; a
    later one is added to them by the DMA that writes it.  A fused addition reads the neighbour's
    memory in passing, a fused copy shares the read of the move beside it.  What must be right in
    the end is settled: read with all that arrived, and written.
    """
    weight = _item_weights(a_schedule(schedule), sizes)
    chips = schedule.ranks // schedule.ranks_per_chip
    reads_and_writes = _touches(schedule)
    if schedule.places > schedule.items:
        weight = np.tile(weight, 2)
    step, chip, item, count = reads_and_writes
    flat = np.bincount(
        step.astype(np.intp) * chips + chip, count * weight[item], minlength=schedule.steps * chips
    )
    return flat.reshape(max(schedule.steps, 0), chips)


@lru_cache(maxsize=64)
def _touches(schedule):
    """Return touches as columns (step, chip, item, count); two per move, and the settlings."""
    moves = len(schedule)
    ranks, places = schedule.ranks, schedule.places
    reads = np.zeros(moves, np.int64)
    writes = np.zeros(moves, np.int64)
    settles = np.zeros(moves, np.int64)
    pending = np.zeros((ranks, places), np.int32)
    arrived = np.full((ranks, places), -1, np.int32)
    arrays = (
        schedule.step, schedule.src, schedule.dst, schedule.item, schedule.into, schedule.op,
        schedule.fused, pending, arrived, reads, writes, settles,
    )  # fmt: skip
    if moves <= _FEW_MOVES:
        count_touches(*arrays)
    else:
        _count_many(arrays)
    _, must, _ = expected(schedule)
    rank, place = np.nonzero((pending > 0) & must)
    per_chip = schedule.ranks_per_chip
    last = np.maximum(arrived[rank, place], 0)
    step = np.concatenate((schedule.step, schedule.step, schedule.step, last))
    chip = np.concatenate((schedule.src, schedule.dst, schedule.src, rank)) // per_chip
    item = np.concatenate((schedule.item, schedule.into, schedule.item, place))
    count = np.concatenate((reads, writes, settles, pending[rank, place] + 2))
    keep = count > 0
    return step[keep], chip[keep], item[keep], count[keep]


def _count_many(arrays):
    """Count touches with the compiled loop, which is loaded only now."""
    from trainium_edu.fabric import _loops
    from trainium_edu.numerics.launch import launch

    launch(_loops.count_touches, *arrays)


def hbm_touches(schedule: Schedule) -> float:
    """Return chunk reads and writes of the busiest chip over the whole collective."""
    return float(memory_loads(schedule).sum(axis=0).max(initial=0.0))


def busiest_link_chunks(schedule: Schedule, topology: Topology, *, ties=Ties.BALANCED) -> float:
    """Return the sum over steps of the chunks on the busiest directed link.

    The bandwidth term of the time is this number times the bytes of a chunk over the link's rate.
    """
    return float(link_loads(schedule, topology, ties=ties).max(axis=1, initial=0.0).sum())


def message_latencies(topology, move, link, count, rule) -> np.ndarray:
    """Return what each of ``count`` messages waits for the links that it crosses (float64)."""
    latency = np.zeros(count)
    if rule is Latency.EACH:
        np.add.at(latency, move, topology.latency_ns[link])
        return latency
    # a path through the network counts the network's two links, and no cable besides
    np.maximum.at(latency, move, topology.latency_ns[link])
    outside = np.maximum(topology.src[link], topology.dst[link]) >= topology.chips
    through = np.zeros(count)
    np.add.at(through, move[outside], topology.latency_ns[link[outside]])
    return np.maximum(latency, through)


@lru_cache(maxsize=64)
def _latencies(schedule, topology, costs):
    move, link, hops = _paths(schedule, topology, costs.ties)
    latency = message_latencies(topology, move, link, len(schedule), costs.latency)
    latency[hops == 0] = costs.on_chip_latency_ns
    works = schedule.phase == 1
    per_step = np.zeros(schedule.steps)
    np.maximum.at(per_step, schedule.step[works], latency[works])
    silent = np.bincount(schedule.step[works], minlength=schedule.steps) == 0
    per_step[silent] = costs.on_chip_latency_ns
    return per_step


def buffer_bytes(nbytes) -> int:
    """Return a checked number of bytes per rank."""
    return whole_number(nbytes, "the number of bytes", least=0, most=2**50)


def account(schedule: Schedule, topology: Topology, nbytes: int, costs: Costs | None = None):
    """Time a schedule step by step.

    Parameters
    ----------
    schedule : Schedule
    topology : Topology
    nbytes : int
        Bytes of the whole buffer: the sum of all chunks.
    costs : Costs, optional

    Returns
    -------
    Account

    Examples
    --------
    >>> from trainium_edu.fabric import plan, trn1_32xlarge
    >>> t = trn1_32xlarge()
    >>> print(account(plan(t, "all_reduce", "kangaring"), t, 2**20))
    30 steps, 53.87 us: latency 45.00, busiest links 4.77, memory 8.87
    """
    costs, nbytes = rules(costs), buffer_bytes(nbytes)
    return bill(schedule, topology, item_sizes(schedule, nbytes), costs)


def bill(schedule, topology, sizes, costs) -> Account:
    """Return the account of a schedule whose items have these sizes in bytes."""
    loads = link_loads(schedule, topology, sizes, ties=costs.ties)
    memory = memory_loads(schedule, sizes)
    need = loads / topology.bandwidth_bytes_per_s * 1e9
    steps = schedule.steps
    busiest = need.argmax(axis=1) if need.size else np.full(steps, -1)
    link_ns = need.max(axis=1, initial=0.0)
    busiest[link_ns == 0] = -1
    hbm_ns = memory.max(axis=1, initial=0.0) / topology.hbm_bytes_per_s * 1e9
    latency = _latencies(schedule, topology, costs)
    moving = _together(link_ns, hbm_ns, costs.hbm)
    return Account(latency, link_ns, hbm_ns, moving, latency + moving, loads, memory, busiest)


def _together(link_ns, hbm_ns, rule):
    match rule:
        case Hbm.OVERLAPPED:
            return np.maximum(link_ns, hbm_ns)
        case Hbm.ADDED:
            return link_ns + hbm_ns
    return link_ns


def timeline(
    schedule: Schedule, topology: Topology, nbytes: int, costs: Costs | None = None
) -> Timeline:
    """Return one span per transfer, on a track per directed link ("link 0→1") or chip ("chip 3").

    Transfers that share a link in a step follow each other in table order; the step's latency
    comes first.

    Raises
    ------
    FabricError
        If there would be more than 50,000 spans.

    Examples
    --------
    >>> from trainium_edu.fabric import plan, ring
    >>> timeline(plan(ring(4), "all_reduce", "ring", cycles=1), ring(4), 4096)
    Timeline(24 spans, 4 tracks, 7559.6 ns)
    """
    costs = rules(costs)
    times = account(schedule, topology, nbytes, costs)
    move, link, hops = _paths(schedule, topology, costs.ties)
    real = schedule.op != Op.SETTLE
    count = int(real[move].sum() + (real & (hops == 0)).sum())
    if count > _MOST_SPANS:
        raise FabricError(
            f"{count} transfers are too many to draw (the limit is {_MOST_SPANS}); take fewer ranks"
        )
    weight = move_weights(schedule, item_sizes(schedule, nbytes).astype(float))
    begins = np.concatenate(([0.0], np.cumsum(times.time_ns)))
    local = np.flatnonzero(real & (hops == 0))
    crossings = [(int(m), int(k)) for m, k in zip(move, link, strict=True) if real[m]]
    crossings += [(int(m), -1) for m in local]
    crossings.sort(key=lambda c: c[0])
    spans, free = [], {}
    for m, k in crossings:
        step = int(schedule.step[m])
        if k < 0:
            chip = int(schedule.src[m]) // schedule.ranks_per_chip
            track, lasts = f"chip {chip}", weight[m] / topology.hbm_bytes_per_s * 1e9
        else:
            track = f"link {topology.src[k]}→{topology.dst[k]}"
            lasts = weight[m] / topology.bandwidth_bytes_per_s[k] * 1e9
        start = max(free.get(track, 0.0), begins[step] + times.latency_ns[step])
        end = min(start + lasts, begins[step + 1]) if k < 0 else start + lasts
        free[track] = max(start, end)
        spans.append(
            Span(
                track,
                f"chunk {schedule.item[m] // schedule.lanes}",
                start,
                max(start, end),
                {
                    "step": step,
                    "src": int(schedule.src[m]),
                    "dst": int(schedule.dst[m]),
                    "chunk": int(schedule.item[m] // schedule.lanes),
                    "lane": int(schedule.item[m] % schedule.lanes),
                    "op": Op(schedule.op[m]).name.lower(),
                    "bytes": int(weight[m]),
                },
            )
        )
    return Timeline(spans)
