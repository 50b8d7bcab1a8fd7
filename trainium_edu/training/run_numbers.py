"""The numbers of one run: how long a step is and why, what broke the graph, what to improve.

``numbers`` returns plain data, which the report draws and writes.  All of it is the executable's
own; only of a very large graph advice and band are asked for the sections that weigh most.
"""

import re
from collections import Counter, deque
from collections.abc import Container, Iterable, Mapping, Sequence
from dataclasses import replace
from itertools import pairwise
from math import isfinite
from statistics import median
from typing import Any

import numpy as np

from trainium_edu.files import tables
from trainium_edu.neuroncore.advice.evidence import several
from trainium_edu.neuroncore.timing.bands import Band
from trainium_edu.specs import PRICES
from trainium_edu.specs.signatures import checked
from trainium_edu.training.parallel.step import TRACK_OF, engine_shares, link_shares, products_of
from trainium_edu.training.run_record import RunRecord, StepRecord
from trainium_edu.xla.compiler import Event, why_new
from trainium_edu.xla.executable import Advice, Executable, Placed
from trainium_edu.xla.executable.sections import Body
from trainium_edu.xla.executable.summary import advice
from trainium_edu.xla.executable.times import Spent, Times, effects_of, with_advice, with_band
from trainium_edu.xla.executable.tracks import ENGINES, LINKS, critical, exposed_ns
from trainium_edu.xla.graph import Node
from trainium_edu.xla.metrics import ASKED

__all__ = ["MOST_INSTRUCTIONS", "band_of", "numbers", "summary_lines"]

#: Instructions of distinct sections of which advice and band are asked for, some 0.1 ms each.
MOST_INSTRUCTIONS = 24_000
BINS = 240  #: in which a step's engines are drawn
_MOST_ROWS = 12  #: rows of a table
_MOST_COMPARED = 16  #: graphs with which a new one is compared


# -- steps ------------------------------------------------------------------------------------


def _periods(record: RunRecord) -> list[float]:
    """Return the ns of each marked step, from the end of the one before to its own.

    What ran early, fell back or was waited for is in them.
    """
    return [end - begin for begin, end in pairwise((0.0, *(one.end_ns for one in record.marked)))]


def main_graph(record: RunRecord) -> Executable | None:
    """Return the executable in which marked steps spend most time."""
    spent: Counter[Executable] = Counter()
    for one in record.marked:
        if one.executable is not None:
            spent[one.executable] += one.end_ns - one.begin_ns  # type: ignore[assignment]
    return max(spent, key=spent.__getitem__, default=None)


def _step(record: RunRecord, main: Executable | None) -> dict[str, Any] | None:
    """Return how long a step is: the median of all but the first, with the graph's range."""
    periods = _periods(record)
    if not periods:
        return None
    ns = periods[1:] or periods
    middle = median(ns)
    row: dict[str, Any] = {
        "count": len(periods), "median_ns": middle, "low_ns": middle, "high_ns": middle,
        "least_ns": min(ns), "most_ns": max(ns), "moved_most_by": "", "band_share": 1.0,
        "samples_per_s": record.samples / middle * 1e9 if middle else 0.0,
    }  # fmt: skip
    if main is not None:
        band, share = band_of(main)
        part = min(1.0, middle / band.nominal_ns) if band.nominal_ns else 1.0  # of shorter steps
        row["low_ns"] += part * (band.low_ns - band.nominal_ns)
        row["high_ns"] += part * (band.high_ns - band.nominal_ns)
        row |= {"moved_most_by": band.most, "band_share": share}
    return row


def _price(record: RunRecord, step) -> dict[str, Any]:
    fact = PRICES[record.instance].on_demand_usd_per_hour
    hour = float(fact) * record.nodes
    return {
        "usd_per_hour": float(fact), "instances": record.nodes, "as_of": fact.as_of,
        "source": fact.source, "kind": str(fact.kind),
        "usd_per_step": hour * step["median_ns"] / 3.6e12 if step else 0.0,
        "usd_of_run": hour * _end(record) / 3.6e12,
    }  # fmt: skip


#: What a script waits for → how the report calls it.
_WAITS = {"loader": "waiting for the loader", "transfer": "copies to and from the chip",
          "sleep": "sleep"}  # fmt: skip


def _spent(record: RunRecord, main: Executable | None) -> dict[str, float]:
    """Return what the run's emulated time went to; the parts add up to it."""
    spent = dict.fromkeys(("the step's graph", "other graphs", "early runs", "fall-backs",
                           *_WAITS.values(), "the host"), 0.0)  # fmt: skip
    waits, at = deque(sorted(record.waits)), 0.0
    for step in sorted(record.steps, key=lambda step: step.begin_ns):
        gap = max(0.0, step.begin_ns - at)
        while waits and waits[0][0] < step.begin_ns:
            begin, end, what = waits.popleft()
            waited = max(0.0, min(end, step.begin_ns) - max(begin, at))
            if end > step.begin_ns:
                waits.appendleft((step.begin_ns, end, what))
            name = _WAITS.get(what, "the host")
            spent[name] += waited
            gap -= waited
        spent["the host"] += max(0.0, gap)
        name = {"value": "early runs", "fallback": "fall-backs"}.get(step.kind) or (
            "the step's graph" if step.executable is main else "other graphs"
        )
        spent[name] += max(0.0, step.end_ns - max(at, step.begin_ns))
        at = max(at, step.end_ns)
    return spent


# -- what a large graph is asked ----------------------------------------------------------------


def weightiest(executable: Executable) -> tuple[list[Body], float]:
    """Return the distinct sections that are looked into, and which share of the step they take.

    Those that take longest for their number of instructions, as long as all have no more than
    ``MOST_INSTRUCTIONS`` together; more only if they are not half of the time.
    """
    sizes: dict[Body, int] = {}
    spent: dict[Body, float] = {}
    for section, times in executable.timed():
        body = section.body
        spent[body] = spent.get(body, 0.0) + times.makespan_ns
        sizes[body] = sum(each.instructions for each in times.spent)
    room, looked, total_ns = MOST_INSTRUCTIONS, [], sum(spent.values())
    for body in sorted(spent, key=lambda body: -spent[body] / max(sizes[body], 1)):
        if sizes[body] <= room:
            room -= sizes[body]
            looked.append(body)
    for body in sorted(spent.keys() - set(looked), key=lambda body: -spent[body]):
        is_little = sum(spent[other] for other in looked) < total_ns / 2
        if is_little or not any(sizes[other] for other in looked):  # no engine's section among them
            looked.append(body)
    return looked, sum(spent[body] for body in looked) / total_ns if total_ns else 1.0


def band_of(executable: Executable) -> tuple[Band, float]:
    """Return the range of an executable's makespan, and which share of the step was looked into.

    Where that is not all, the ranges of the others follow: data on their way (DMA) and all else
    vary as they do, by least squares, in the sections that were looked into.
    """
    looked, share = weightiest(executable)
    of = {section.body: times for section, times in executable.timed()}
    if len(looked) == len(of) or all(times.band is not None for times in of.values()):
        return executable.band, 1.0
    placed = executable.tracks()
    path = [placed[i].section.body for i in critical(placed)]
    ranges = {body: band for body, times in of.items() if (band := times.band)}
    count = Counter(section.body for section in executable.sections)
    rows = []
    for body in looked:
        band = ranges.get(body) or executable.times_of(body, with_band).band
        assert band is not None  # it was filled in
        ranges[body] = band
        if not body.is_collective:
            ns = *_parts(of[body]), band.low_ns, band.high_ns
            rows.append([count[body] * one for one in ns])
    parts, both = np.array(rows)[:, :2], np.array(rows)[:, 2:]
    bands = [ranges[body] for body in path if body in ranges]
    unseen = np.array([_parts(of[body]) for body in path if body not in ranges]).reshape(-1, 2)
    ends = []
    for end, ns, limits in zip(("low_ns", "high_ns"), both.T, ((0, 1), (1, np.inf)), strict=True):
        alike = ns.sum() / parts.sum()  # of both parts; what the sections leave open stays so
        apart = np.linalg.lstsq(parts, ns - alike * parts.sum(1), rcond=None)[0]
        stretch = np.clip(alike + apart, *limits)
        ends.append(sum(getattr(band, end) for band in bands) + float((unseen @ stretch).sum()))
    effects = effects_of(bands, sum)
    return Band(ends[0], executable.makespan_ns, ends[1], effects), share


def _parts(times: Times) -> tuple[float, float]:
    """Return the ns in which a section waits for data on their way, and the rest."""
    moving = sum(piece.ns for piece in times.why if piece.cause.startswith("DMA"))
    return moving, times.makespan_ns - moving


def advice_of(executable: Executable) -> tuple[list[Advice], float]:
    """Return what to improve, the costliest first, and which share of the step was looked into."""
    looked, share = weightiest(executable)
    if len(looked) == len({section.body for section in executable.sections}):
        return executable.advice, 1.0
    of = {body: executable.times_of(body, with_advice) for body in looked}
    return advice((s, of[s.body]) for s in executable.sections if s.body in of), share


def _advised(executable: Executable, usd_per_ns: float) -> dict[str, Any]:
    """Return what to improve with its price; of those with one remedy the costliest comes first.

    They are about the same time more often than not, so they are not added up.
    """
    found, share = advice_of(executable)
    groups: dict[str, list[Advice]] = {}
    for one in found:
        groups.setdefault(one.found.remedy, []).append(one)
    rows = [
        {
            "text": first.text, "lines": [str(line) for line in first.lines[:3]],
            "ns": first.ns, "share": first.ns / (executable.makespan_ns or 1.0),
            "usd_per_1000_steps": 1000 * usd_per_ns * first.ns, "is_most": first.found.is_most,
            "is_hidden": first.found.is_hidden, "alike": len(same) - 1,
        }
        for same in groups.values()
        for first in same[:1]
    ]  # fmt: skip
    return {"rows": rows[:_MOST_ROWS], "more": max(0, len(rows) - _MOST_ROWS), "share": share}


# -- the step's graph ---------------------------------------------------------------------------


def _graph(executable: Executable) -> dict[str, Any]:
    """Return where the time of one step's graph goes."""
    step_ns = executable.makespan_ns or 1.0
    why, placed = executable.why(), executable.tracks()
    done = executable.operations()
    flops, ideal, peak = products_of(executable)
    moved = sum(one.bytes for one in done)
    rate = float(executable.spec.hbm_bytes_per_s_per_core)
    return {
        "name": executable.name, "makespan_ns": executable.makespan_ns,
        "recorded": len(executable.graph.nodes), "operations": len(executable.final.nodes),
        "sections": len(executable.sections),
        "distinct": len({section.body for section in executable.sections}),
        "causes": why.share_by_cause(), "kinds": why.share_by_kind(),
        "by_operation": _top(why.share_by_operation()),
        "by_line": _top({k: ns / step_ns for k, ns in why.ns_by(_line).items()}),
        "engines": engine_shares(executable, step_ns, weightiest(executable)[0]),
        "mfu": ideal / step_ns, "flops": flops, "peak": peak,
        "hbm_bytes": executable.hbm_bytes,
        "hbm_limit_bytes": int(executable.spec.hbm_bytes_per_core),
        "moved_bytes": moved, "hbm_share": moved / rate / step_ns * 1e9,
        "slowest": _slowest(executable, step_ns), "profile": _profile(done, placed, step_ns),
    }  # fmt: skip


def _line(node, piece) -> str:
    return str(node.line) if node.line else "no line: the compiler's own"


def _top(shares: Mapping[str, float]) -> dict[str, float]:
    """Return the largest shares, and the rest as one."""
    largest = dict(list(shares.items())[:_MOST_ROWS])
    if more := len(shares) - len(largest):
        largest[several(more, "other")] = sum(shares.values()) - sum(largest.values())
    return largest


def _slowest(executable: Executable, whole: float) -> list[dict[str, Any]]:
    """Return the distinct sections that take longest together."""
    rows: dict[Body, dict[str, Any]] = {}
    for section, times in executable.timed():
        if section.body.is_collective:
            continue
        row = rows.get(section.body)
        if row is None:
            lines = dict.fromkeys(str(node.line) for node in section.nodes if node.line)
            engine = {name: sum(s.engine_ns[name] for s in times.spent) for name in TRACK_OF}
            node, _ = max(zip(section.nodes, times.spent, strict=True), key=_length)
            row = rows[section.body] = {
                "name": section.body.name, "count": 0, "ns": times.makespan_ns,
                "lines": list(lines)[:3], "busiest": TRACK_OF[max(engine, key=engine.__getitem__)],
                "operations": _words(Counter(node.title for node in section.nodes)),
                "type": str(node.type),
            }  # fmt: skip
        row["count"] += 1
    for row in rows.values():
        row["share"] = row["count"] * row["ns"] / whole
    return sorted(rows.values(), key=lambda row: -row["share"])[:_MOST_ROWS]


def _length(both: tuple[Node, Spent]) -> float:
    return both[1].end_ns - both[1].start_ns


def _words(counted: Counter) -> str:
    names = [f"{count} × {name}" if count > 1 else name for name, count in counted.most_common(4)]
    more = len(counted) - len(names)
    return ", ".join(names) + (f" and {several(more, 'other')}" if more else "")


def _profile(done, placed: Sequence[Placed], whole: float) -> dict[str, list[float]]:
    """Return, for parts of the step, the share in which each engine and the links work.

    An operation's work is spread evenly from its first instruction to its last.
    """
    edges = np.linspace(0.0, whole, BINS + 1)

    def busy(rows: Iterable[tuple[float, float, float]]) -> list[float]:
        start, end, ns = np.array([row for row in rows if row[1] > row[0]], float).reshape(-1, 3).T
        total = np.zeros(BINS + 1)
        for one in range(0, len(start), 4096):
            a, b, n = start[one : one + 4096], end[one : one + 4096], ns[one : one + 4096]
            total += (np.clip((edges[:, None] - a) / (b - a), 0, 1) * n).sum(1)
        return [round(min(1.0, share), 3) for share in np.diff(total) / (whole / BINS)]

    ran = [one for one in done if one.section is not None and placed[one.section].track == ENGINES]
    found = {track: busy((o.start_ns, o.end_ns, o.engine_ns[name]) for o in ran)
             for name, track in TRACK_OF.items()}  # fmt: skip
    beside = [one for one in placed if one.track == LINKS and one.end_ns > one.start_ns]
    if beside:
        found[LINKS] = busy((o.start_ns, o.end_ns, o.end_ns - o.start_ns) for o in beside)
    return found


# -- links --------------------------------------------------------------------------------------


def _links(record: RunRecord, executable: Executable) -> dict[str, Any] | None:
    """Return what ranks sum, how long that takes, and how busy links are."""
    if record.links is None:
        return None
    placed, whole = executable.tracks(), executable.makespan_ns or 1.0
    shares = link_shares(record.links, placed, whole)
    rows: dict[tuple, dict[str, Any]] = {}
    for collective in placed:
        if collective.track != LINKS:
            continue
        node = collective.section.nodes[0]
        nbytes = sum(one.type.nbytes for one in node.inputs)
        row = rows.get((node.operation, nbytes))
        if row is None:
            band = record.links.collective(node)
            row = rows[node.operation, nbytes] = {
                "operation": node.operation, "bytes": nbytes, "count": 0, "ns": band.nominal_ns,
                "low_ns": band.low_ns, "high_ns": band.high_ns, "exposed_ns": 0.0,
            }  # fmt: skip
        row["count"] += 1
        row["exposed_ns"] += exposed_ns(placed, collective)
    return {
        "topology": record.links.topology.name, "algorithm": record.links.algorithm,
        "links": int(record.links.topology.links),
        "mean_share": float(shares.mean()) if shares.size else 0.0,
        "busiest_share": float(shares.max()) if shares.size else 0.0,
        "communication_ns": sum(row["count"] * row["ns"] for row in rows.values()),
        "exposed_ns": sum(row["exposed_ns"] for row in rows.values()),
        "rows": sorted(rows.values(), key=lambda row: -row["count"] * row["ns"])[:_MOST_ROWS],
        "kinds": len(rows),
    }  # fmt: skip


# -- what breaks the graph ------------------------------------------------------------------------

_SAYS = tables(__file__)
_DO = _SAYS["do"]


def _row(what: str, line: str, why: str, do: str, count: int, first: int) -> dict[str, Any]:
    return {"what": what, "line": line, "why": why, "do": do, "count": count, "ns": 0.0,
            "first": first}  # fmt: skip


def _cut_short(record: RunRecord) -> list[dict[str, Any]]:
    """Return early runs, then fall-backs, the most frequent first.

    Last come fall-backs that were counted and whose lines nobody noted.
    """
    rows: dict[tuple, dict[str, Any]] = {}
    for step in record.steps:
        if step.kind == "step":
            continue
        is_early = step.kind == "value"
        what, why = ("early run", "") if is_early else ("fall-back", step.operation or step.why)
        key = what, str(step.line or ""), why
        row = rows.setdefault(key, _row(*key, _DO[what], 0, step.number))
        row["count"] += 1
        row["ns"] += step.end_ns - step.begin_ns
    known = {why for _, _, why in rows}
    counted = [
        _row("fall-back", "", name, _DO["fall-back"], count, 0)
        for name, count in _fallbacks(record).most_common()
        if name not in known
    ]
    return [*sorted(rows.values(), key=lambda row: (row["what"], -row["count"])), *counted]


def _fallbacks(record: RunRecord) -> Counter:
    """Return how often each operation ran on the host, but for values that were asked for."""
    return Counter({name: count for name, count in record.counters.items()
                    if name.startswith("aten::") and name not in ASKED})  # fmt: skip


def _compiled(record: RunRecord) -> list[dict[str, Any]]:
    """Return the graphs that were compiled, read from disk, or failed, each with its reason."""
    first: dict[int, StepRecord] = {}
    for one in record.steps:
        if one.executable is not None:
            first.setdefault(one.executable.graph.fingerprint, one)
    cut_short = {one.number for one in record.steps if one.kind != "step"}
    rows: list[dict[str, Any]] = []
    before = []
    for event in record.history:
        if event.kind not in _NEW:
            continue
        at = first.get(event.graph)
        graph = at.executable.graph if at and at.executable else None
        if event.kind == "disk" and graph is not None:
            event = replace(event, why=why_new(graph, before[-_MOST_COMPARED:]))
        if graph is not None:
            before.append(graph)
        line, number = (str(at.line or ""), at.number) if at else ("", event.step)
        do = _change(event, at, cut_short)
        rows.append(_row(_NEW[event.kind], line, event.why, do, 1, number))
    return rows


#: Events of which a script hears something → how the report calls them.
_NEW = {"compiled": "new graph", "extracted": "new graph", "disk": "graph from disk",
        "failed": "no graph"}  # fmt: skip


def _is_resized(why: str) -> bool:
    """Return whether a parameter is as it was but for one axis: a short batch, a longer text."""
    found = re.search(r"^parameter .* is (\w+)\[([\d,]+)\], and was (\w+)\[([\d,]+)\]$", why)
    if found is None or found[1] != found[3]:
        return False
    now, before = found[2].split(","), found[4].split(",")
    if {"1"} in (set(now), set(before)):  # a number of the script
        return False
    return len(now) == len(before) and sum(map(str.__ne__, now, before)) == 1


def _change(event: Event, at: StepRecord | None, cut_short: Container[int]) -> str:
    """Return what to change so that a graph need not be compiled."""
    if event.kind == "failed":
        return ""
    if at is not None and at.kind == "value":
        return _DO["of_early"]
    if _is_resized(event.why):
        return _DO["resized"]
    if at is not None and at.number in cut_short:
        return _DO["rest"]
    known = (do for sign, do in _SAYS["changes"].items() if re.search(sign, event.why))
    return next(known, _DO["otherwise"])


# -- all of it ------------------------------------------------------------------------------------


@checked
def numbers(record: RunRecord) -> dict:
    """Return the numbers of a run.

    Parameters
    ----------
    record : RunRecord

    Returns
    -------
    dict
        As JSON takes it; times in ns, no path of this machine: ``step`` (None if none was
        marked), ``price``, ``spent``, ``graph`` and ``advice`` of the step's graph, ``links``,
        ``breaks``, ``compiler``, ``steps``.

    Examples
    --------
    >>> told = numbers(RunRecord("train.py"))
    >>> told["step"], told["breaks"], told["price"]["usd_per_hour"]
    (None, [], 1.34)
    """
    main = main_graph(record)
    step = _step(record, main)
    price = _price(record, step)
    kinds = Counter(event.kind for event in record.history)
    breaks = [*_cut_short(record), *_compiled(record)]
    report: dict[str, Any] = {
        "script": _name(record.script), "command": record.command.replace(
            record.script, _name(record.script)) if record.script else record.command,
        "instance": record.instance, "instances": record.nodes, "ranks": record.ranks,
        "values": record.values, "problem": record.problem,
        "wall_s": record.wall_s, "samples": record.samples, "losses": list(record.losses),
        "emulated_ns": _end(record), "step": step, "price": price, "spent": _spent(record, main),
        "compiler": {kind: kinds[kind] for kind in _KINDS},
        "steps": {
            "number": [one.number for one in record.marked], "ns": _periods(record),
            "new_graphs": sorted({(row["first"], row["line"]) for row in breaks
                                  if row["what"] in ("new graph", "graph from disk")}),
            **{name: sorted({(one.number, str(one.line or "")) for one in record.steps
                             if one.kind == kind})
               for name, kind in (("early_runs", "value"), ("fall_backs", "fallback"))},
        },
        "breaks": breaks, "graph": None, "advice": None, "links": None,
    }  # fmt: skip
    if main is not None:
        report["graph"] = _graph(main)
        report["advice"] = _advised(main, price["usd_per_hour"] * record.nodes / 3.6e12)
        report["links"] = _links(record, main)
    report["bound"] = bound(report)
    return cleaned(report)


_KINDS = ("compiled", "memory", "disk", "extracted", "failed")  #: kinds of a compiler's events


def _name(path: str) -> str:
    return re.split(r"[/\\]", path)[-1]


def _end(record: RunRecord) -> float:
    return max((one.end_ns for one in record.steps), default=0.0)


def bound(report: Mapping[str, Any]) -> tuple[str, float]:
    """Return what takes most of the run's time, and its share."""
    spent, run_ns = report["spent"], sum(report["spent"].values())
    if not run_ns:
        return "", 0.0
    parts = Counter({name: ns / run_ns for name, ns in spent.items() if name != "the step's graph"})
    if report["graph"]:
        for cause, share in report["graph"]["causes"].items():
            who = re.split(r":| transfer| start", cause)[0]
            parts[who] += share * spent["the step's graph"] / run_ns  # type: ignore[assignment]
    return max(parts.items(), key=lambda item: item[1])


#: A path that begins at a root, and what follows its last slash.
_PATH = re.compile(r"(?<![\w.:/\\])(?:[A-Za-z]:)?[/\\][^\s'\":,;()]*[/\\]([^\s'\":,;()/\\]*)")

_UNSEEN = re.compile(r"[\x00-\x08\x0b-\x1f]")  #: what no page shows


def cleaned(value: Any) -> Any:
    """Return plain data without paths of this machine, and as JSON takes it."""
    if isinstance(value, str):
        seen = _UNSEEN.sub("", value).encode("utf-8", "replace").decode()
        return _PATH.sub(r"\1", seen)
    if isinstance(value, Mapping):
        return {str(cleaned(key)): cleaned(one) for key, one in value.items()}
    if isinstance(value, list | tuple):
        return [cleaned(one) for one in value]
    if isinstance(value, float | np.floating):
        return float(value) if isfinite(value) else str(float(value))
    return value


@checked
def summary_lines(record: RunRecord) -> list[str]:
    r"""Return the last lines on the screen: steps, time, compiles, what broke the graph.

    Parameters
    ----------
    record : RunRecord

    Returns
    -------
    list of str

    Examples
    --------
    >>> print("\n".join(summary_lines(RunRecord("train.py", wall_s=1.25))))
    train.py: no step was marked, on 1 rank of trn1.2xlarge
    graphs: 0 compiled, 0 found in memory, 0 on disk
    early runs: none; fall-backs: none
    emulated time 0 ns; wall time 1.2 s
    """
    main = main_graph(record)
    step, kinds = _step(record, main), Counter(event.kind for event in record.history)
    where = f"{several(record.ranks, 'rank')} of {record.instance}"
    marks = several(step["count"], "step") if step else "no step was marked,"
    lines = [f"{_name(record.script)}: {marks} on {where}"]
    if step:
        low, middle, high = (duration(step[f"{name}_ns"]) for name in ("low", "median", "high"))
        most = f"; {step['moved_most_by']} moves it most" if step["moved_most_by"] else ""
        about = "about " if step["band_share"] < 1 else ""
        lines.append(f"step {middle} ({about}{low} to {high}{most})")
    compiled = kinds["compiled"] + kinds["extracted"]
    lines.append(f"graphs: {compiled} compiled, {kinds['memory']} found in memory, "
                 f"{kinds['disk']} on disk")  # fmt: skip
    early = Counter(str(one.line or "") or "no line" for one in record.steps if one.kind == "value")
    fell = _fallbacks(record)
    fell |= Counter(one.operation for one in record.steps if one.kind == "fallback")
    lines.append(f"early runs: {_told(early)}; fall-backs: {_told(fell)}")
    if not step and "MarkStep" in record.counters and any("xla::" in n for n in record.counters):
        lines.append(_SAYS["summary"]["unmarked"])
    lines.append(f"emulated time {duration(_end(record))}; wall time {record.wall_s:.1f} s")
    return [cleaned(line) for line in lines]


def _told(counted: Counter) -> str:
    if not counted:
        return "none"
    named = ", ".join(f"{count} × {name}" for name, count in counted.most_common(3))
    return named + (f" and {len(counted) - 3} more" if len(counted) > 3 else "")


def duration(ns: float) -> str:
    """Return a time of a run as people read it.

    Examples
    --------
    >>> duration(407.5e6), duration(95e9), duration(12.3e3)
    ('407.5 ms', '95.00 s', '12.3 us')
    """
    for unit, scale, digits in (("s", 1e9, 2), ("ms", 1e6, 1 if ns >= 1e7 else 3), ("us", 1e3, 1)):
        if ns >= scale:
            return f"{ns / scale:,.{digits}f} {unit}"
    return f"{ns:.0f} ns"
