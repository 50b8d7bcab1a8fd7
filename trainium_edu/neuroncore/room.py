"""Who gains from one more slot, where not everybody can have one: a price for every wait, by bytes.

A slot is free again when its owner's last reader is done, and then its next writer may go.  Nobody
has been scheduled yet, so both are read from an *ideal clock*: every engine takes its instructions
in order as soon as their operands are there, transfers share the queues, and everybody has bytes.
A tile that a transfer or another engine writes than reads it is made ahead of that clock for as
long as it has a free slot; where it comes late, everything behind it is late, too.  What an engine
writes and reads itself is made in order, and waits only for readers elsewhere (a store).
"""

from dataclasses import dataclass

import numpy as np

from trainium_edu.neuroncore import _loops
from trainium_edu.neuroncore.engine import Memory
from trainium_edu.neuroncore.expanded import ENGINES, MEMORIES, Expanded
from trainium_edu.neuroncore.timing import durations, settle
from trainium_edu.numerics.launch import launch
from trainium_edu.specs.record import Record

__all__ = ["Lives", "Step", "lives", "steps"]

_HBM = MEMORIES.index(Memory.HBM)
_MOST_LEVELS = 24  # numbers of slots that are tried for one site


@dataclass(frozen=True, slots=True)
class Lives:
    """When instances are written and read by the ideal clock, in ns."""

    write_ns: np.ndarray  #: its first access begins
    lead_ns: np.ndarray  #: from a free slot to the first byte: a transfer's start
    make_ns: np.ndarray  #: for how long its writer is at it before somebody else reads
    need_ns: np.ndarray  #: that reader begins (its own writer, where nobody else reads)
    end_ns: np.ndarray  #: its last reader is done


@dataclass(frozen=True, slots=True)
class Step:
    """One site's next slots, and what they are worth."""

    site: int
    slots: int  #: that it has afterwards; of its own, not lent
    gain_ns: float  #: by how much less others wait for its tiles, over the whole run
    cost_bytes: int  #: of each partition


def lives(run: Expanded, spec: Record) -> Lives:
    """Read every instance's life from the ideal clock."""
    pieces = durations(run, spec, settle(spec))
    moved = pieces.descriptors > 0
    lead = np.where(moved, pieces.lead, 0.0)
    hold = pieces.hold * np.where(moved, pieces.descriptors / int(spec.dma.queues), 1.0)
    n = run.allocation.size
    out = [np.zeros(n) for _ in range(5)]
    launch(
        _loops.lives, run.row_access, run.access_instance, run.is_write, run.engine,
        run.memory != _HBM, lead[run.kind], hold[run.kind], pieces.result[run.kind],
        np.zeros(len(ENGINES)), np.full(n, -1), np.full(n, -1), np.full(n, -1),
        np.zeros(n, np.bool_), np.zeros(n), *out,
    )  # fmt: skip
    return Lives(*out)


def steps(of: Lives, members, site_start, first, last, alive, wanted, row_bytes, *, lending):
    """List every site's steps from as few slots as will do to as many as it wants.

    Parameters
    ----------
    of : Lives
    members, first, last : int64[members]
        Instances by site, in order of first access, and their first and last rows.
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
    arrays = [getattr(of, name)[members] for name in Lives.__slots__]
    found = []
    for s in range(alive.size):
        least, most = int(alive[s]), int(wanted[s])
        a, b = site_start[s], site_start[s + 1]
        levels = np.unique(np.linspace(least, most, min(most - least + 1, _MOST_LEVELS)).round())
        levels = levels.astype(np.int64)
        if lending:
            levels = np.concatenate(([0], levels))
        if levels.size < 2 or b - a <= least:
            continue
        late = np.zeros(levels.size)
        launch(_loops.lateness, first[a:b], last[a:b], *(x[a:b] for x in arrays), levels, least,
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
                found.append(Step(s, int(levels[k]), float(price * bytes_), bytes_))
            at = best
    # of equals who has fewest, so that nobody is left behind
    return sorted(found, key=lambda x: (-x.gain_ns / x.cost_bytes, x.slots / alive[x.site]))
