"""Messages as fluid in pipes: links shared fairly, with or without waiting for each other.

Where the account asks only for the busiest link of a step, this model lets every message flow at
the rate that max-min fairness gives it, and starts the next as soon as its two ranks are free.
"""

from dataclasses import dataclass, field

import numpy as np

from trainium_edu.fabric.accounting import (
    Costs,
    buffer_bytes,
    message_latencies,
    move_weights,
    rules,
)
from trainium_edu.fabric.arguments import flag, real_numbers, whole_numbers
from trainium_edu.fabric.failures import lateness
from trainium_edu.fabric.routing import routes
from trainium_edu.fabric.schedule import Op, Schedule, a_schedule, item_sizes
from trainium_edu.fabric.topology import FabricError, Topology, known

__all__ = ["FlowResult", "flow_level", "max_min_rates"]

_MOST_MESSAGES = 20_000


@dataclass(frozen=True, slots=True)
class FlowResult:
    """When every message started and arrived."""

    total_ns: float
    step: np.ndarray = field(repr=False)  #: int64[messages]
    src: np.ndarray = field(repr=False)  #: int64[messages], rank
    dst: np.ndarray = field(repr=False)  #: int64[messages], rank
    nbytes: np.ndarray = field(repr=False)  #: float64[messages]
    start_ns: np.ndarray = field(repr=False)  #: float64[messages]
    end_ns: np.ndarray = field(repr=False)  #: float64[messages]


def max_min_rates(start, links, capacity) -> np.ndarray:
    """Share links fairly: raise all rates together, and fix those that meet a full link.

    Parameters
    ----------
    start : int[flows + 1]
        Flow i crosses ``links[start[i]:start[i+1]]``.
    links : int[total]
    capacity : float[links]
        Bytes per second.

    Returns
    -------
    float64[flows]
        Infinite for a flow that crosses no link.

    Examples
    --------
    >>> max_min_rates([0, 1, 3, 4], [0, 0, 1, 1], [10.0, 4.0]).tolist()
    [8.0, 2.0, 2.0]

    Notes
    -----
    Progressive filling: the link with the smallest fair share is full first; its flows keep that
    share, and the rest of the network is shared anew.
    """
    left = real_numbers(capacity, "capacity", least=1e-9).copy()
    links = whole_numbers(links, "links", most=left.size - 1)
    start = whole_numbers(start, "start", most=links.size)
    if left.ndim != 1 or not len(start) or start[0] or start[-1] < len(links) or (
        np.diff(start) < 0
    ).any():  # fmt: skip
        raise FabricError(
            f"start rises from 0 to the {len(links)} links that are crossed, and capacity is one"
            f" list; got {len(start)} starts and capacity of shape {left.shape}"
        )
    flow = np.repeat(np.arange(len(start) - 1), np.diff(start))
    rate = np.full(len(start) - 1, np.inf)
    open_ = np.ones(len(flow), bool)
    while open_.any():
        users = np.bincount(links[open_], minlength=len(left))
        used = users > 0
        share = np.where(used, left / np.maximum(users, 1), np.inf)
        least = share.min()
        full = used & (share <= least * (1 + 1e-12))
        fixed = np.unique(flow[open_ & full[links]])
        rate[fixed] = least
        now = open_ & np.isin(flow, fixed)
        left -= np.bincount(links[now], minlength=len(left)) * least
        np.maximum(left, 0.0, out=left)
        open_ &= ~now
    return rate


def flow_level(
    schedule: Schedule,
    topology: Topology,
    nbytes: int,
    costs: Costs | None = None,
    *,
    barrier: bool = True,
    late_ns: dict[int, float] | None = None,
    slow_ns: dict[int, float] | None = None,
) -> FlowResult:
    """Let the messages of a schedule flow, links shared max-min fairly.

    Parameters
    ----------
    schedule, topology, nbytes, costs
        As for :func:`account`; memory is not modelled here.
    barrier : bool
        Whether a step starts when all messages of the one before have arrived; else a message
        starts when its two ranks are through with their earlier steps.
    late_ns : dict of rank to ns, optional
        Ranks that join late.
    slow_ns : dict of rank to ns, optional
        Stragglers: every message of theirs takes so much longer to start.

    Returns
    -------
    FlowResult

    Examples
    --------
    >>> from trainium_edu.fabric import Costs, plan, trn1_32xlarge
    >>> t = trn1_32xlarge()
    >>> flow_level(plan(t, "all_gather", "mesh"), t, 2**20).total_ns > 0
    True
    """
    a_schedule(schedule), known(topology), flag(barrier, "barrier")
    costs, nbytes = rules(costs), buffer_bytes(nbytes)
    late, slow = (
        lateness(schedule, ns, name) for ns, name in ((late_ns, "late_ns"), (slow_ns, "slow_ns"))
    )
    sizes = item_sizes(schedule, nbytes).astype(np.float64)
    step, src, dst, size = messages(schedule, move_weights(schedule, sizes))
    if len(step) > _MOST_MESSAGES:
        raise FabricError(
            f"{len(step)} messages are too many to let flow (the limit is {_MOST_MESSAGES}); take"
            " fewer ranks, or account()"
        )
    start, links = routes(topology, topology.chip_of(src), topology.chip_of(dst), costs.ties)
    hops = np.diff(start)
    move = np.repeat(np.arange(len(step)), hops)
    latency = message_latencies(topology, move, links, len(step), costs.latency)
    latency[hops == 0] = costs.on_chip_latency_ns
    for rank, extra in slow.items():
        latency[(src == rank) | (dst == rank)] += extra
    begun, ended = _run(
        step,
        src,
        dst,
        size,
        latency,
        start,
        links,
        topology,
        schedule.ranks,
        barrier,
        late,
    )
    return FlowResult(float(ended.max(initial=0.0)), step, src, dst, size, begun, ended)


def messages(schedule, weights):
    """Join the moves of one step between the same two ranks to one message."""
    keep = (schedule.op != Op.SETTLE) & (schedule.src != schedule.dst) & (schedule.phase == 1)
    key = schedule.step[keep].astype(np.int64) * schedule.ranks + schedule.src[keep]
    key = key * schedule.ranks + schedule.dst[keep]
    unique, which = np.unique(key, return_inverse=True)
    size = np.bincount(which, weights[keep], minlength=len(unique))
    pair, dst = np.divmod(unique, schedule.ranks)
    step, src = np.divmod(pair, schedule.ranks)
    return step, src, dst, size


def _run(step, src, dst, size, latency, start, links, topology, ranks, barrier, late_ns):
    """Advance from event to event: a message starts, or the first of those flowing arrives."""
    count = len(step)
    begun, ended = np.full(count, np.inf), np.full(count, np.inf)
    opens = np.full(count, np.inf)  # when its bytes start to flow
    left = size.copy()
    waiting, flowing = np.ones(count, bool), np.zeros(count, bool)
    joins = np.array([float(late_ns.get(r, 0.0)) for r in range(ranks)])
    clock, now = joins.copy(), 0.0
    while True:
        todo = np.flatnonzero(waiting)
        if len(todo):
            busy = np.isinf(ended)
            if barrier:
                ready = todo[step[todo] == step[busy].min()]
            else:
                first = np.full(ranks, np.iinfo(np.int64).max)
                np.minimum.at(first, src[busy], step[busy])
                np.minimum.at(first, dst[busy], step[busy])
                ready = todo[(step[todo] <= first[src[todo]]) & (step[todo] <= first[dst[todo]])]
            free = np.maximum(clock[src[ready]], clock[dst[ready]])
            begun[ready] = np.maximum(free, now) if barrier else free
            opens[ready] = begun[ready] + latency[ready]
            waiting[ready] = False
        pending = ~waiting & ~flowing & np.isinf(ended)
        if not pending.any() and not flowing.any():
            if not waiting.any():
                return begun, ended
            continue
        active = np.flatnonzero(flowing)
        arrives = np.inf
        if len(active):
            lengths = start[active + 1] - start[active]
            first = np.concatenate(([0], np.cumsum(lengths)))
            inside = np.arange(first[-1]) - np.repeat(first[:-1], lengths)
            mine = links[np.repeat(start[active], lengths) + inside]
            rate = max_min_rates(first, mine, topology.bandwidth_bytes_per_s)
            needs = np.where(left[active] > 0, left[active] / rate * 1e9, 0.0)
            arrives = now + needs.min()
        until = min(arrives, opens[pending].min() if pending.any() else np.inf)
        if len(active):
            done = now + needs <= until * (1 + 1e-12) + 1e-9
            with np.errstate(invalid="ignore"):
                flown = np.where(np.isinf(rate), left[active], rate * (until - now) / 1e9)
            left[active] = np.maximum(left[active] - flown, 0.0)
            over = active[done]
            flowing[over] = False
            ended[over] = until
            np.maximum.at(clock, src[over], until)
            np.maximum.at(clock, dst[over], until)
        now = until
        opening = np.flatnonzero(pending & (opens <= now))
        flowing[opening] = True
