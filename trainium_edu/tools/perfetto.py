"""Write a timeline as Chrome trace JSON: open it at ui.perfetto.dev or in chrome://tracing.

Tracks become threads, in three processes (engines, DMA queues, shared ports); spans become complete
events in microseconds; what an instruction waited for becomes an arrow; live bytes of SBUF and PSUM
become counters.  Nothing leaves the machine: the file is opened in the browser.
"""

import json
import math
from os import PathLike
from pathlib import Path

import numpy as np

from trainium_edu import files
from trainium_edu.neuroncore.recording.engine import Memory
from trainium_edu.neuroncore.timing.expansion import ENGINES, MEMORIES
from trainium_edu.neuroncore.timing.lifetimes import lifetimes
from trainium_edu.neuroncore.timing.timeline import levels
from trainium_edu.specs.signatures import checked
from trainium_edu.timeline import Timeline

__all__ = ["to_json", "write"]

_ENGINES, _QUEUES, _PORTS = 1, 2, 3  # process numbers
_PROCESSES = {_ENGINES: "Engines", _QUEUES: "DMA queues", _PORTS: "Shared ports"}
#: How the names of a process's tracks begin.
_BEGIN = {"DMA": _QUEUES, "port": _PORTS, "": _ENGINES}


def to_json(timeline) -> dict:
    """Return a timeline in the Trace Event Format, as plain data.

    Parameters
    ----------
    timeline : Timeline, CoreTimeline or Run
        Of a CoreTimeline (or what has one as ``.timeline``) the memories are counted too.

    Returns
    -------
    dict
        ``traceEvents``, ``displayTimeUnit``, ``otherData``.

    Raises
    ------
    TypeError
        If there is no timeline in it.

    Examples
    --------
    >>> from trainium_edu.timeline import Span
    >>> trace = to_json(Timeline([Span("Vector Engine", "tensor_copy", 100.0, 700.0)]))
    >>> [(e["ph"], e["name"]) for e in trace["traceEvents"]]
    [('M', 'process_name'), ('M', 'process_sort_index'), ('M', 'thread_name'), \
('M', 'thread_sort_index'), ('X', 'tensor_copy')]
    >>> trace["traceEvents"][-1]["ts"], trace["traceEvents"][-1]["dur"]
    (0.1, 0.6)

    References
    ----------
    trace-event-format
    """
    core, spans = _spans(timeline)
    threads = _threads(spans)
    events = list(_names(threads))
    for span in spans:
        more = {"cat": _PROCESSES[threads[span.track][0]], "dur": _us(span.duration_ns)}
        info = {name: _plain(value) for name, value in span.info.items()}
        events.append(_event("X", span.label, threads[span.track], span.start_ns, info, **more))
    other = {"writer": "trainium_edu", "clock": "emulated nanoseconds, shown in microseconds"}
    if core is not None:
        events += _arrows(core, threads)
        events += _counters(core)
        other["program"] = core.program.name
        other["makespan_ns"] = core.makespan_ns
    return {"traceEvents": events, "displayTimeUnit": "ns", "otherData": other}


@checked
def write(timeline, path: str | PathLike) -> Path:
    """Write a timeline to a file that Perfetto opens.

    Parameters
    ----------
    timeline : Timeline, CoreTimeline or Run
    path : str or Path

    Returns
    -------
    Path
    """
    path = Path(path)
    text = json.dumps(to_json(timeline), allow_nan=False, separators=(",", ":"))
    files.write(path, text)
    return path


def _spans(source):
    """Return (core timeline or None, spans)."""
    for _ in range(3):  # a Run has a CoreTimeline, which has a Timeline
        if isinstance(source, Timeline):
            return None, source.spans
        inner = getattr(source, "timeline", None)
        if isinstance(inner, Timeline):
            return source, inner.spans
        source = inner
    raise TypeError("perfetto writes a Timeline, or something that has one as .timeline")


def _threads(spans) -> dict[str, tuple[int, int]]:
    """Give every track a process and a thread number, engines in the usual order."""

    def place(track):
        process = next(pid for start, pid in _BEGIN.items() if track.startswith(start))
        number = "".join(c for c in track if c.isdigit()) or "0"
        titles = [engine.title for engine in ENGINES]
        known = titles.index(track) if track in titles else len(titles)
        return process, known, int(number), track

    tracks = sorted({s.track for s in spans}, key=place)
    return {track: (place(track)[0], i + 1) for i, track in enumerate(tracks)}


def _names(threads):
    """Yield metadata: what processes and threads are called and in which order they stand."""
    for pid in dict.fromkeys(pid for pid, _ in threads.values()):
        yield _event("M", "process_name", (pid, 0), 0, {"name": _PROCESSES[pid]})
        yield _event("M", "process_sort_index", (pid, 0), 0, {"sort_index": pid})
    for track, thread in threads.items():
        yield _event("M", "thread_name", thread, 0, {"name": track})
        yield _event("M", "thread_sort_index", thread, 0, {"sort_index": thread[1]})


def _event(phase, name, thread, ns, args=None, **more):
    """Return an event of a process and thread."""
    pid, tid = thread
    more |= {} if args is None else {"args": args}
    return {"ph": phase, "name": name, "pid": pid, "tid": tid, "ts": _us(ns), **more}


def _us(ns) -> float:
    """Return nanoseconds as microseconds, to the femtosecond."""
    return round(float(ns) / 1000, 9)


def _plain(value):
    """Return something that JSON can hold."""
    if isinstance(value, np.generic):
        return _plain(value.item())
    if isinstance(value, dict):
        return {str(k): _plain(v) for k, v in value.items()}
    if type(value) in (list, tuple):
        return [_plain(v) for v in value]
    is_plain = value is None or isinstance(value, int | str)
    return value if is_plain or (isinstance(value, float) and math.isfinite(value)) else str(value)


def _arrows(core, threads):
    """Yield an arrow from what an engine waited for to what it then ran: flow events."""
    number = 0
    for row in np.flatnonzero((core.predecessor >= 0) & (core.engine != core.dma)).tolist():
        before = int(core.predecessor[row])
        ends = [_place(core, threads, at, is_end=at == before) for at in (before, row)]
        if core.engine[before] == core.engine[row] or None in ends or ends[0][1] > ends[1][1]:
            continue
        number += 1
        for phase, more, (thread, ns) in zip("sf", ({}, {"bp": "e"}), ends, strict=True):
            yield _event(phase, "waited for", thread, ns, id=number, cat="wait", **more)


def _place(core, threads, row, *, is_end):
    """Return (process and thread, time) inside the span of a row, for an arrow to be tied to it."""
    track, start, end = ENGINES[core.engine[row]].title, core.start_ns[row], core.end_ns[row]
    if core.engine[row] == core.dma:
        transfer = int(core.transfer[row])
        queue = int(core.critical_queue[transfer])
        track = f"DMA queue {queue}"
        start, end = core.queue_start_ns[transfer, queue], core.queue_end_ns[transfer, queue]
    ns = end - min(1.0, (end - start) / 2) if is_end else start
    return (threads[track], float(ns)) if track in threads else None


def _counters(core):
    """Yield the bytes of each partition that live tiles take, whenever they change."""
    run = core.placement.run
    row_bytes = np.array([a.row_bytes for a in core.program.allocations], np.int64)
    which, start, end = lifetimes(core)
    for memory in (Memory.SBUF, Memory.PSUM):
        here = run.memory[which] == MEMORIES.index(memory)
        sizes = row_bytes[run.allocation[which[here]]]
        name = f"{memory.upper()}, bytes of each partition"
        for ns, level in zip(*levels(start[here], end[here], sizes), strict=True):
            yield _event("C", name, (_ENGINES, 0), ns, {"bytes": int(level)})
