"""Who gains from one more slot, where not everybody can have one: a price for every wait, by bytes.

A slot is free again when its owner's last reader is done, and then its next writer may go.  Nobody
has been scheduled yet, so both are read from an *ideal clock*: every engine takes its instructions
in order as soon as their operands are there, transfers share the queues, and everybody has bytes.
A tile that a transfer or another engine writes than reads it is made ahead of that clock for as
long as it has a free slot; where it comes late, everything behind it is late, too.  What an engine
writes and reads itself is made in order, and waits only for readers elsewhere (a store).
"""

from dataclasses import dataclass
from typing import NamedTuple

import numpy as np

from trainium_edu.neuroncore.recording.engine import Engine, Memory
from trainium_edu.neuroncore.timing import _loops
from trainium_edu.neuroncore.timing.durations import durations, settle
from trainium_edu.neuroncore.timing.expansion import ENGINES, MEMORIES, Expanded
from trainium_edu.numerics.launch import launch
from trainium_edu.specs.record import Record

__all__ = ["Step", "steps"]

_DMA = ENGINES.index(Engine.DMA)
_HBM = MEMORIES.index(Memory.HBM)
_MOST_LEVELS = 24  # numbers of slots that are tried for one site


class Lives(NamedTuple):
    """When instances are written and read by the ideal clock, in ns."""

    writer: np.ndarray  #: the engine that writes it first, index into ``ENGINES``
    write_ns: np.ndarray  #: its first access may begin
    lead_ns: np.ndarray  #: from a free slot to the first byte: a transfer's start
    make_ns: np.ndarray  #: for how long its writer is at it before somebody else reads
    need_ns: np.ndarray  #: that reader begins (its own writer, where nobody else reads)
    dead_ns: np.ndarray  #: how far the engines are when it is touched for the last time
    end_ns: np.ndarray  #: [instances, engines]: that engine is done with it; -inf if it never came


@dataclass(frozen=True, slots=True)
class Step:
    """One site's next slots, and what they are worth."""

    site: int
    slots: int  #: that it has afterwards; of its own, not lent
    gain_ns: float  #: by how much less others wait for its tiles, over the whole run
    cost_bytes: int  #: of each partition


def lives(run: Expanded, spec: Record) -> tuple[Lives, bool]:
    """Return every instance's life by the ideal clock, and whether the queues have most to do."""
    pieces = durations(run, spec, settle(spec))
    moved = pieces.descriptors > 0
    lead = np.where(moved, pieces.lead, 0.0)
    hold = pieces.hold * np.where(moved, pieces.descriptors / int(spec.dma.queues), 1.0)
    lead, hold, result = lead[run.kind], hold[run.kind], pieces.result[run.kind]
    n, engines = run.allocation.size, len(ENGINES)
    write, start, make, need, dead = np.zeros((5, n))
    end = np.full((n, engines), -np.inf)
    found = Lives(np.full(n, -1), write, start, make, need, dead, end)
    is_transfer, on_chip = run.engine == _DMA, run.memory != _HBM
    queued = np.cumsum(np.where(is_transfer, hold, 0.0))
    reads = run.access_row[on_chip[run.access_instance] & ~run.is_write]
    stores = np.unique(reads[is_transfer[reads]])  # behind what is loaded for the next turn
    queued[stores] = np.append((queued - hold)[stores[1:]], queued[-1:])[: stores.size]
    launch(_loops.lives, run.row_access, run.access_instance, run.is_write, run.engine, on_chip,
           lead, hold, result, queued, np.zeros(engines), np.full(n, -1), np.full(n, -1),
           np.zeros(n, np.bool_), np.zeros(n), *found)  # fmt: skip
    busy = np.bincount(run.engine, hold, engines)
    return found, int(busy.argmax()) == _DMA


def steps(run, spec, members, site_start, last, alive, wanted, row_bytes, *, lending):
    """List every site's steps from as few slots as will do to as many as it wants.

    Parameters
    ----------
    run : Expanded
    spec : Record
    members, last : int64[members]
        Instances by site, in order of first access, and their last rows.
    site_start : int64[sites + 1]
    alive, wanted, row_bytes : int64[sites]
        Slots that a site cannot do without, those that it wants, bytes of one.
    lending : bool
        Whether sites lend their bytes to each other; then keeping them is a step, too.

    Returns
    -------
    list of Step
        By gain for each byte, the most first; a site's own in their order.
    """
    found, moves_most = lives(run, spec)
    arrays = [array[members] for array in found]
    listed = []
    for s in range(alive.size):
        least, most = int(alive[s]), int(wanted[s])
        a, b = site_start[s], site_start[s + 1]
        if b - a <= least or not row_bytes[s]:
            continue
        levels = np.unique(np.linspace(least, most, min(most - least + 1, _MOST_LEVELS)).round())
        levels = levels.astype(np.int64)
        if lending:
            levels = np.concatenate(([0], levels))
        if levels.size < 2:
            continue
        late = np.zeros(levels.size)
        launch(_loops.lateness, last[a:b], *(x[a:b] for x in arrays), levels, least,
               late)  # fmt: skip
        late = np.minimum.accumulate(late)
        size = np.maximum(levels, 0) * int(row_bytes[s])
        at = 0
        while at + 1 < levels.size:  # the best price first: the lower hull of lateness over bytes
            gain, cost = late[at] - late[at + 1 :], size[at + 1 :] - size[at]
            best = at + 1 + int(np.argmax(gain / cost))
            for k in range(at + 1, best + 1):
                price = gain[best - at - 1] / cost[best - at - 1]
                bytes_ = int(size[k] - size[k - 1])
                listed.append(Step(s, int(levels[k]), float(price * bytes_), bytes_))
            at = best
    # of equals who has fewest buffers; where the queues have most to do, loads that run ahead for
    # nothing only stand in the way of stores, and come last
    loaded = moves_most & (arrays[0][site_start[:-1]] == _DMA)
    return sorted(listed, key=lambda step: (
        -step.gain_ns / step.cost_bytes, -(-step.slots // alive[step.site]), loaded[step.site],
    ))  # fmt: skip
