"""From a timed program to the trace that the page draws: nothing is computed here but sums."""

import numpy as np

from trainium_edu.files import tables
from trainium_edu.neuroncore.recording.engine import Engine, Memory
from trainium_edu.neuroncore.timing.expansion import ENGINES
from trainium_edu.neuroncore.timing.lifetimes import lifetimes
from trainium_edu.neuroncore.timing.waits import Wait
from trainium_edu.neuroncore.timing.why import why
from trainium_edu.specs.fact import Kind
from trainium_edu.viz.colours import ENGINE
from trainium_edu.viz.core_trace import CoreTrace, Track, columns_of
from trainium_edu.viz.documents import source_of, url_of
from trainium_edu.viz.packing import Numbered
from trainium_edu.viz.units import size_text

__all__ = ["trace_of_core"]

_DMA = ENGINES.index(Engine.DMA)
_SAYS = tables(__file__)
_MOST_CAUSES = 7
_FACT = ("value", "name", "kind", "source", "url", "note")  # as the page calls it
KINDS = list(map(str, Kind))


def trace_of_core(core, *, band=None) -> CoreTrace:
    """Make the trace of a timed program, with its critical path.

    Parameters
    ----------
    core : CoreTimeline
    band : (low, high) in ns, optional

    Returns
    -------
    CoreTrace
    """
    tracks, number, spans = _tracks(core)
    engine, lane = core.placement.run.engine, np.array([number.get(e, 0) for e in ENGINES])
    pieces, path = _pieces(core, why(core))
    end = np.where(engine == _DMA, core.done_ns, core.end_ns)
    critical = np.isin(np.arange(core.rows), pieces["row"]).astype(int)
    rows = core.start_ns, end, core.instruction_index, lane[engine], critical
    words = path | {"kinds": KINDS, "band": list(band) if band else None}
    words |= {"memories": _memories(core), "sites": _sites(core), "summary": _summary(core)}
    words["reasons"] = [_reason(wait.words, _SAYS["waits"][wait.name]) for wait in Wait]
    words["busy"] = [core.busy_ns(t.key) if t.kind == "engine" else 0.0 for t in tracks]
    title = f"{core.program.name}: {core.rows} instruction{'s' * (core.rows != 1)}"
    groups = spans, columns_of("rows", rows), _waits(core), pieces, _tiles(core)
    return CoreTrace(title, core.makespan_ns, tuple(tracks), *groups, words)


def _reason(text, style):
    return {"style": style, "text": text, "legend": _SAYS["legends"][style]}


def _tracks(core):
    """Return the tracks, the number of each engine's (DMA: of its first queue), and all spans."""
    tracks, number, parts = [], {}, []

    def add(track, rows, until_ns):
        parts.append((core.start_ns[rows], until_ns[rows], np.full(rows.size, len(tracks)), rows))
        tracks.append(track)

    for engine in ENGINES[:_DMA]:
        rows = core.rows_on(engine)
        if engine is not Engine.SYNC or rows.size:
            number[engine] = len(tracks)
            add(Track(engine.title, str(engine), "engine"), rows, core.end_ns)
    rows = core.rows_on(Engine.DMA)
    if rows.size:
        number[Engine.DMA] = first = len(tracks)
        transfer, queue = np.nonzero(core.queue_start_ns[core.transfer[rows]] >= 0)
        which = core.transfer[rows][transfer]
        begin, end = core.queue_start_ns[which, queue], core.queue_end_ns[which, queue]
        parts.append((begin, end, first + queue, rows[transfer]))
        queues = range(core.queue_start_ns.shape[1])
        tracks += [Track(f"DMA queue {q}", "dma", "queue") for q in queues]
    for name, users in core.port_users.items():
        add(Track(name, "sync", "port"), np.concatenate([*users.values()]), core.release_ns)
    return tracks, number, columns_of("spans", map(np.concatenate, zip(*parts, strict=True)))


def _waits(core):
    """Return how long engines stood still before a row, and why; -1 ns: nobody stood still."""
    parts = [core.waits]
    rows = core.rows_on(Engine.DMA)
    if rows.size:
        held = rows[core.predecessor[rows] >= 0]
        parts.append((held, np.full(held.size, -1.0), core.wait[held], core.predecessor[held]))
        queue = np.where(core.queue_start_ns >= 0, core.queue_start_ns, np.inf).min(axis=1)
        ready = core.start_ns[rows] + core.pieces.lead[core.placement.run.kind[rows]]
        late = queue[core.transfer[rows]] - ready
        slow = np.isfinite(late) & (late > 1e-6)
        parts.append(
            (rows[slow], late[slow], np.full(slow.sum(), int(Wait.QUEUE)), np.full(slow.sum(), -1))
        )
    return columns_of("waits", map(np.concatenate, zip(*parts, strict=True)))


def _tiles(core):
    """Return every on-chip tile that is touched, from its first access to the end of its last."""
    run, placement = core.placement.run, core.placement
    pick, begin, until = lifetimes(core)
    allocation = run.allocation[pick]
    allocations = core.program.allocations
    sites = Numbered()
    site = np.array([sites[a.site] for a in allocations], int)[allocation]
    slot = placement.slot[pick].astype(np.int64)
    least = np.full(len(sites) + 1, 2**31)
    np.minimum.at(least, site, np.maximum(slot, 0))
    row_bytes = np.array([a.row_bytes for a in allocations], np.uint32)
    place = np.maximum(placement.address[pick], 0), row_bytes[allocation], begin, until
    slots = np.maximum(slot - least[site], 0)
    columns = run.memory[pick] - 1, *place, allocation, slots, run.first[pick], run.last[pick]
    return columns_of("tiles", columns)


def _memories(core):
    """Return names, capacities and high-water marks in bytes per partition."""
    high, spec, found = core.placement.high_water_bytes, core.spec, []
    for memory, facts in ((Memory.SBUF, spec.sbuf), (Memory.PSUM, spec.psum)):
        row = {"capacity": int(facts.bytes_per_partition), "high": high[memory]}
        found.append({"name": memory.upper(), **row})
    found[1]["banks"] = int(spec.psum.banks)
    return found


def _sites(core):
    """Return what each allocating line takes, as pairs of texts."""
    said = []
    for site in sorted(core.placement.sites, key=lambda s: -s.slots * s.row_bytes)[:10]:
        sizes = map(size_text, (site.row_bytes, site.slots * site.row_bytes))
        said.append(
            [site.name, _told("site", *sizes, site, "s" * (site.slots != 1), site.memory.upper())]
        )
    return said


def _told(sentence, *values):
    return _SAYS["sentences"][sentence].format(*values)


def _summary(core):
    """Return a few numbers about the whole run, as pairs of texts."""
    said = []
    hbm = core.bytes[Memory.HBM]
    if core.hbm_bytes and core.makespan_ns:
        sizes = map(size_text, (hbm.read, hbm.written))
        said.append(("HBM", _told("hbm", *sizes, core.hbm_bytes / core.makespan_ns)))
    if core.flops:
        roof = core.roofline()
        rates = core.flops / 1e9, roof.achieved_flops / 1e12, core.mfu
        said += [("work", _told("work", *rates)), ("roofline", _told("roofline", roof))]
    if slots := [f"{s.name} {s.slots}" for s in core.placement.sites if s.tiles > 1][:6]:
        said.append(("slots", ", ".join(slots)))
    return [list(pair) for pair in said] + [["note", note] for note in core.placement.notes[:3]]


def _pieces(core, path):
    """Return the critical path as arrays, and the texts and facts that they point at."""
    whats, thens, facts, examples = Numbered(), Numbered(), Numbered(), {}
    table = []
    for piece in path.pieces:
        number = facts[id(piece.facts), piece.changed]  # pieces of one kind share the tuple
        if number not in examples:
            examples[number] = (piece, KINDS.index(str(piece.kind)))
        place, words = (piece.start_ns, piece.end_ns, piece.row), thens[piece.then]
        table.append((*place, whats[piece.what], number, examples[number][1], words))
    shares = path.share_by_kind()
    words = {
        "whats": [_what(w) for w in whats],
        "thens": list(thens),
        "causes": _causes(path),
        "facts": [_facts(core, piece.facts, piece.changed) for piece, _ in examples.values()],
        "shares": [{"kind": str(kind), "share": share} for kind, share in shares.items() if share],
    }
    return columns_of("pieces", zip(*table, strict=True)), words


def _what(name):
    style, short, text = _SAYS["pieces"].get(name, ("fixed", name, name))
    return {"style": style, "name": name, "short": short, "text": text}


def _causes(path):
    """Return the largest causes of the critical path, and the rest as one."""
    shares = list(path.share_by_cause().items())
    rest = sum(share for _, share in shares[_MOST_CAUSES:])
    said = []
    for name, share in [*shares[:_MOST_CAUSES], *[("everything else", rest)] * bool(rest)]:
        other = Engine.DMA if name != "everything else" else Engine.SYNC
        colour = ENGINE[next((e for e in ENGINES if name.startswith(e.title)), other)]
        is_work = _what(name.split(": ")[-1])["style"] == "work"
        ns = share * path.makespan_ns
        said.append({"name": name, "share": share, "ns": ns, "colour": colour, "work": is_work})
    return said


def _facts(core, facts, changed):
    """Return what a piece rests on, as texts: value, name, kind, source, note."""
    said = [
        (_value(fact), name, str(fact.kind), source_of(fact), url_of(fact), fact.note)
        for name, fact in facts
    ]
    here = "assumed", "set here, instead of the fact's value", "", ""
    said += [(f"{core.parameters[name]:.6g}", name, *here) for name in changed]
    return [dict(zip(_FACT, one, strict=True)) for one in said]


def _value(fact):
    """Return a fact's value as people read it; of a table its rows."""
    if isinstance(fact.value, tuple) and fact.value and isinstance(fact.value[0], tuple):
        rows = ", ".join(": ".join(str(v) for v in row) for row in fact.value)
        return f"{rows} {fact.unit}"
    return fact.pretty
