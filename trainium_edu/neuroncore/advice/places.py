"""What waits for bytes that something else still uses, or for the port to them."""

from collections import Counter, defaultdict

import numpy as np

from trainium_edu.neuroncore.advice.costs import WhatIf
from trainium_edu.neuroncore.advice.evidence import called, engine_called, several
from trainium_edu.neuroncore.advice.remedies import Remedy
from trainium_edu.neuroncore.recording.engine import Engine, Memory
from trainium_edu.neuroncore.recording.source import SourceLine
from trainium_edu.neuroncore.timing.expansion import ENGINES
from trainium_edu.neuroncore.timing.placement import place
from trainium_edu.neuroncore.timing.scheduler import reschedule
from trainium_edu.neuroncore.timing.waits import Wait
from trainium_edu.neuroncore.timing.why import why

__all__ = ["bank_conflicts", "high_water", "serialising_buffers", "slow_stores"]

_SERIAL = 0.05  # of the makespan
_PLACES = Wait.PLACE, Wait.OVERWRITES
_BOUNDS = Remedy.NO_ROOM, Remedy.NO_ROOM_TO_SPARE  # what they save is a bound


def _held(run, kinds, memory):
    """Return {line: (rows, {allocation: ns})}: who waited, for a place in `memory` or a port to it.

    The port to PSUM is the one that Scalar shares, whatever memory it writes.
    """
    timeline, waits_by_line = run.timeline, {}
    row, ns, wait, by = timeline.waits
    for k in np.flatnonzero(np.isin(wait, kinds)):
        instruction = timeline.instruction(int(row[k]))
        out = next((a for a in instruction.accesses if a.is_write), None)
        if out is None:
            continue
        where = run.tile(out).memory
        if wait[k] == Wait.PORT:
            both = {ENGINES[timeline.engine[r]] for r in (row[k], by[k])}
            where = Memory.PSUM if Engine.SCALAR in both else Memory.SBUF
        if where is memory:
            rows, by_tile = waits_by_line.setdefault(instruction.line, ([], defaultdict(float)))
            rows.append(int(row[k]))
            by_tile[out.allocation] += float(ns[k])
    return waits_by_line


def _waited(run, rows, wanted):
    mine = run.mask(rows)
    return run.costing.waited(lambda row, wait, by: mine[row] & np.isin(wait, wanted))


def _longest(run, by_tile):
    """Name the tile that waited longest, and count the others that waited."""
    name = called(run.program.allocations[max(by_tile, key=by_tile.get)])
    others = len(by_tile) - 1
    return f"{name} (and {several(others, 'other tile')})" if others else name


def bank_conflicts(run):
    """Find results that wait for a PSUM bank, or its port, that another engine still uses."""
    timeline = run.timeline
    for line, (rows, by_tile) in _held(run, _PLACES, Memory.PSUM).items():
        free = [row for row in rows if _store_behind(timeline, row) is None]
        if not free:
            continue
        _, remedy, gaps, change = _one_place(run, free[0])
        yield from run.judged(
            "bank conflict", line,
            f"a result for {_longest(run, by_tile)} waits until the PSUM bank that it goes to has "
            "been read", Remedy.SEVERAL_BANKS, change or WhatIf(placeless=run.on_line(line)),
            engine_called(ENGINES[timeline.engine[rows[0]]]), _waited(run, rows, _PLACES),
            gaps={"then": remedy, **gaps}, is_most=remedy in _BOUNDS,
        )  # fmt: skip
    for memory, pair in ((Memory.SBUF, "Vector and GpSimd"), (Memory.PSUM, "Vector and Scalar")):
        for line, (rows, by_tile) in _held(run, (Wait.PORT,), memory).items():
            where = memory.upper()
            yield from run.judged(
                "port conflict", line,
                f"the {timeline.instruction(rows[0]).name} to {_longest(run, by_tile)} waits for "
                f"the port to {where}, which {pair} share",
                Remedy.OTHER_PORT, WhatIf(portless=run.on_line(line)),
                engine_called(ENGINES[timeline.engine[rows[0]]]), _waited(run, rows, (Wait.PORT,)),
                gaps={"memory": where},
            )  # fmt: skip


def _store_behind(timeline, row):
    """Return the store that the copy out of a PSUM bank waits for, or None if it waits for none.

    The copy needs the place of an earlier copy, which is still being stored.
    """
    for _ in range(4):
        if timeline.wait[row] != Wait.PLACE:
            return None
        row = int(timeline.predecessor[row])
        if row < 0:
            return None
        if ENGINES[timeline.engine[row]] is Engine.DMA:
            return row
    return None


def slow_stores(run):
    """Find results that wait in PSUM because the copies out of it wait for stores."""
    timeline = run.timeline
    behind = {row: _store_behind(timeline, row)
              for rows, _ in _held(run, (Wait.PLACE,), Memory.PSUM).values()
              for row in rows}  # fmt: skip
    behind = {row: store for row, store in behind.items() if store is not None}
    if not behind:
        return
    lines = Counter(timeline.instruction(store).line for store in behind.values())
    for advice in run.judged(
        "slow stores", lines.most_common(1)[0][0],
        "results wait in PSUM: the copies that empty it need the places of earlier copies, which "
        "are still being stored",
        Remedy.STORE_WIDER, run.long_rows(run.on_line(*lines)), engine_called(Engine.TENSOR),
        _waited(run, list(behind), (Wait.PLACE,)),
    ):  # fmt: skip
        if not advice.is_hidden:
            yield advice


def serialising_buffers(run):
    """Find tiles whose few buffers make the next turn wait for the last one."""
    timeline, in_sbuf = run.timeline, run.writes_sbuf
    waits = np.isin(timeline.ready_wait, _PLACES) & in_sbuf
    late = [row for row in dict.fromkeys(piece.row for piece in why(timeline)) if waits[row]]
    if not late:
        return
    line, _ = Counter(timeline.instruction(row).line for row in late).most_common(1)[0]
    row = next(row for row in late if timeline.instruction(row).line == line)
    text, remedy, gaps, change = _one_place(run, row)
    cost = run.costing.saved(change or WhatIf(placeless=in_sbuf))
    if cost.nominal_ns > _SERIAL * run.makespan_ns:
        yield run.advice("serialising buffers", line, text, remedy, gaps, cost,
                         is_most=remedy in _BOUNDS)  # fmt: skip


def _one_place(run, row):
    """Return why a row waits for the place that another still uses: (text, remedy, gaps, what-if).

    Without a what-if every result would need bytes of its own.
    """
    expanded = run.placement.run

    def accesses(row):
        return slice(*expanded.row_access[row : row + 2].tolist())

    instance = expanded.access_instance[accesses(row)]
    instance = int(instance[np.argmax(expanded.is_write[accesses(row)])])
    before = expanded.access_instance[accesses(int(run.timeline.ready_predecessor[row]))]
    info = run.program.allocations[expanded.allocation[instance]]
    name = called(info)
    if info.address is not None:
        sites = {run.program.allocations[expanded.allocation[i]].site for i in before}
        turns = "in every turn" if info.site in sites else f"in {info.memory.upper()}"
        text = (
            f"{name} has address {info.address} {turns}: it waits until what lay there before is "
            "used up"
        )
        return text, Remedy.SEVERAL_ADDRESSES, {}, None
    if instance in before:
        text = f"{name} is one tile for all turns: the next waits until the last has used it up"
        return text, Remedy.ALLOCATE_INSIDE, {}, None
    site = run.placement.site_of(instance)
    text = (
        f"{name} waits until the tile before it in the same place is used up (it has "
        f"{several(site.buffers, 'buffer')})"
    )
    return text, *_more_buffers(run, site)


def _more_buffers(run, site):
    """Return how a site gets more slots: (remedy, gaps, the what-if that makes it shorter).

    Without such a placement the remedy says why not.
    """
    asked, twice = run.placement.buffers, 2 * site.buffers
    alone = {**(asked if isinstance(asked, dict) else {}), site.name: twice}
    trials = [alone]
    if site.slots == site.wanted and not isinstance(asked, dict):
        trials.insert(0, twice)  # everybody has what was asked for: ask for more
    remedy = Remedy.NO_ROOM
    for buffers in trials:
        sites = place(run.program, run.placement.spec, buffers=buffers).sites
        found = next(s for s in sites if (s.name, s.line) == (site.name, site.line))
        if found.slots <= site.slots:
            continue
        remedy = Remedy.NO_ROOM_TO_SPARE
        number = max(found.buffers, -(-found.slots // found.alive))  # part of a set is one, too
        said = {**buffers, site.name: number} if buffers is alone else number
        more = place(run.program, run.placement.spec, buffers=said)
        if reschedule(run.timeline, more).makespan_ns < run.makespan_ns:
            whom = _named(run, site) if buffers is alone else "the loop"
            return Remedy.MORE_BUFFERS, {"whom": whom, "buffers": said}, WhatIf(placement=more)
    return remedy, {}, None


def _named(run, site):
    """Name a site by its first tile."""
    first = next((a for a in run.program.allocations if a.name == site.name), None)
    return called(first) if first else site.name


def high_water(run):
    """Find out whether SBUF is nearly full, and with what."""
    used = run.placement.high_water_bytes.get(Memory.SBUF, 0)
    most = int(run.timeline.spec.sbuf.bytes_per_partition)
    if used <= 0.9 * most:
        return
    sites = [s for s in run.placement.sites if s.memory is Memory.SBUF]
    if sites:
        largest = max(sites, key=lambda s: s.slots * s.row_bytes)
        place_of, contents = largest.line, (
            f"most is {_named(run, largest)}, {largest.slots} slots of {largest.row_bytes} bytes"
        )  # fmt: skip
    else:
        placed = [a for a in run.program.allocations if a.address is not None]
        top = max(placed, key=lambda a: (a.memory is Memory.SBUF, a.address + a.row_bytes))
        place_of = top.site[:2] if isinstance(top.site[0], str) else None
        contents = "all of them placed by address"
    short = sum(s.memory is Memory.SBUF for s in run.placement.short)
    yield run.advice(
        "SBUF nearly full", SourceLine(*place_of[:2], "") if place_of else None,
        f"tiles reach byte {used} of {most} in each partition, "
        f"{run.placement.alive_bytes[Memory.SBUF]} are needed at once (the rest lets turns "
        f"overlap); {contents}",
        Remedy.LEAVE_ROOM if short else Remedy.NOTHING, {"sites": several(short, "line")},
    )  # fmt: skip
