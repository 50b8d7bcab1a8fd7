"""``--report DIR``: one page about a run, its numbers as JSON, and a trace that Perfetto opens.

The page needs nothing but itself: pictures are SVG inside it, colours follow the reader's theme.
Every number is one of ``training.run_numbers``, which ``report.json`` holds too.
"""

import json
import os
from collections.abc import Iterable, Mapping
from html import escape
from pathlib import Path

from trainium_edu import files
from trainium_edu.cli.page import code as _code
from trainium_edu.cli.page import paragraph as _p
from trainium_edu.cli.page import section as _section
from trainium_edu.cli.page import strong as _strong
from trainium_edu.cli.page import table as _table
from trainium_edu.cli.page import whole
from trainium_edu.cli.page import words as _words
from trainium_edu.specs.signatures import checked
from trainium_edu.timeline import Span, Timeline
from trainium_edu.tools import perfetto
from trainium_edu.training.parallel.clock import step_spans
from trainium_edu.training.run_numbers import (
    cleaned,
    duration,
    main_graph,
    numbers,
    summary_lines,
)
from trainium_edu.training.run_record import RunRecord
from trainium_edu.viz.run import engines_scene, losses_scene, steps_scene
from trainium_edu.viz.scene import Scene
from trainium_edu.viz.svg import to_svg
from trainium_edu.viz.units import raised, size_text

__all__ = ["summary_lines", "write_report"]

MOST_SPANS = 10_000  #: of a trace; Perfetto opens more, and a page beside it need not weigh more
_MOST_BREAKS = 60  #: rows of the table of what breaks the graph
_SMALL = 0.001  #: share of a bar that nobody sees
_BOUND = {
    "DMA": "data on their way between HBM and the core (DMA)", "collective": "sums over links",
    "waiting for the loader": "waiting for the loader", "the host": "the host",
    "copies to and from the chip": "copies between host and chip", "sleep": "sleeping",
    "early runs": "early runs", "fall-backs": "operations that fall back to the CPU",
    "other graphs": "graphs other than the step's",
}  # fmt: skip


@checked
def write_report(folder: str | os.PathLike, record: RunRecord) -> Path:
    """Write ``index.html``, ``report.json`` and ``trace.json`` about a run.

    Parameters
    ----------
    folder : str or Path
        Made if it is not there; the three files in it are replaced.
    record : RunRecord

    Returns
    -------
    Path
        Of the page.

    Raises
    ------
    NotADirectoryError
        If a file has the folder's name.

    Examples
    --------
    >>> import tempfile
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     page = write_report(folder, RunRecord("train.py"))
    ...     sorted(path.name for path in Path(folder).iterdir())
    ['index.html', 'report.json', 'trace.json']
    """
    folder = Path(folder)
    if folder.exists() and not folder.is_dir():
        raise NotADirectoryError(f"{folder.name} is a file, and a report is a folder of three; "
                                 "name another one")  # fmt: skip
    folder.mkdir(parents=True, exist_ok=True)
    told = numbers(record)
    timeline, told["trace"] = _trace(record)
    perfetto.write(timeline, folder / "trace.json")
    text = json.dumps(told, allow_nan=False, indent=1, ensure_ascii=False)
    files.write(folder / "report.json", text + "\n")
    files.write(folder / "index.html", _page(told))
    return folder / "index.html"


# -- the trace ----------------------------------------------------------------------------------


def _trace(record: RunRecord) -> tuple[Timeline, str]:
    """Return the run as spans, one of its steps in detail, and what is in it in a sentence."""
    tracks = {"step": "steps", "value": "early runs", "fallback": "fall-backs"}
    spans = [Span("host", what, begin, end) for begin, end, what in record.waits]
    spans += [
        Span(tracks[one.kind], one.operation or f"{one.kind} {one.number}", one.begin_ns,
             one.end_ns, {"line": cleaned(str(one.line or "")), "why": cleaned(one.why)})
        for one in record.steps
    ]  # fmt: skip
    told = "all steps"
    if len(spans) > MOST_SPANS:
        told = f"the first {MOST_SPANS} pieces of {len(spans)}"
        spans = sorted(spans, key=lambda span: span.start_ns)[:MOST_SPANS]
    main = main_graph(record)
    if main is None:
        return Timeline(spans), told
    inside = step_spans(main, main.tracks()).spans
    if len(inside) > MOST_SPANS:
        return Timeline(spans), f"{told}; a step has {len(inside)} parts, too many to write"
    shown = [one for one in record.steps if one.kind == "step" and one.executable is main][:2][-1]
    begin = shown.begin_ns
    spans += [Span(s.track, s.label, begin + s.start_ns, begin + s.end_ns, s.info) for s in inside]
    return Timeline(spans), f"{told}; step {shown.number} with its engines"


# -- pieces of HTML -----------------------------------------------------------------------------


def _figure(scene: Scene, caption: str) -> str:
    return f"<figure>{to_svg(scene)}<figcaption>{_words(caption)}</figcaption></figure>"


def _bars(caption: str, head: str, shares: Mapping[str, float]) -> str:
    """Return shares as a table with a bar each; what is next to nothing, together."""
    small = [name for name, share in shares.items() if share < _SMALL]
    if len(small) > 1:
        rest = {f"{len(small)} others": sum(shares[name] for name in small)}
        shares = {name: share for name, share in shares.items() if share >= _SMALL} | rest
    longest = max([*shares.values(), 1e-9])
    rows = "".join(
        f'<tr><th scope="row">{escape(name)}</th><td class="n">{share:.1%}</td>'
        f'<td><span class="bar" style="width:{100 * share / longest:.1f}%"></span></td></tr>\n'
        for name, share in shares.items()
    )
    return (f'<table class="bars"><caption>{escape(caption)}</caption><thead><tr>'
            f'<th scope="col">{escape(head)}</th><th scope="col" class="n">share</th>'
            f'<th scope="col"><span class="unseen">as a bar</span></th></tr></thead>\n'
            f"<tbody>{rows}</tbody></table>")  # fmt: skip


def _tiles(facts: Iterable[tuple[str, str, str]]) -> str:
    rows = "".join(f"<div><dt>{escape(name)}</dt><dd>{escape(value)}<small>{escape(more)}</small>"
                   "</dd></div>\n" for name, value, more in facts)  # fmt: skip
    return f"<dl>{rows}</dl>"


def _time(ns: float) -> str:
    return duration(ns).replace(" us", " µs")


def _usd(amount: float) -> str:
    if not 0 < amount < 1e-4:
        return f"{amount:.3g} USD"
    figures, _, power = f"{amount:.2e}".partition("e")
    return f"{figures} × 10{raised(int(power))} USD"


def _figures(number: float) -> str:
    return f"{number:,.0f}" if number >= 1000 else f"{number:.4g}"


def _flops(number: float) -> str:
    unit, scale = next((u, s) for u, s in (("T", 1e12), ("G", 1e9), ("M", 1e6), ("", 1.0))
                       if number >= s or not u)  # fmt: skip
    return f"{number / scale:.4g} {unit}FLOP"


def _percent(share: float) -> str:
    return f"{share:.1%}" if share >= 0.01 or not share else f"{100 * share:.2g}%"


def _count(number: int, noun: str) -> str:
    return f"{number:,} {noun}{'s' * (number != 1)}"


# -- the page -----------------------------------------------------------------------------------


def _page(told: Mapping) -> str:
    parts = [("result", "Result", _result), ("steps", "Steps over time", _steps),
             ("goes", "Where a step goes", _goes), ("links", "Links", _links),
             ("breaks", "What breaks the graph", _breaks), ("advice", "Advice", _advice),
             ("out", "What this leaves out", _left_out)]  # fmt: skip
    made = [(name, title, found) for name, title, make in parts if (found := make(told))]
    nav = "".join(f'<li><a href="#{name}">{title}</a></li>' for name, title, _ in made)
    title = f"{told['script']} on {told['instance']}"
    command = f" Started with {_code(told['command'])}." if told["command"] else ""
    about = (
        f"Emulated by trainium_edu.{command} The same numbers are in {_code('report.json')}; "
        f"{_code('trace.json')} opens at ui.perfetto.dev."
    )
    body = "\n".join(_section(name, title, *found) for name, title, found in made)
    nav = f'<nav aria-label="Sections"><ul>{nav}</ul></nav>'
    return whole(title, f"{_p(about, 'about')}\n{nav}", body)


def _between(low: float, high: float) -> str:
    return f"{_time(low)} to {_time(high)}"


def _result(told) -> list[str]:
    step, price, (cause, share) = told["step"], told["price"], told["bound"]
    found = [_p(f"The run ended early: {told['problem']}", "problem")] if told["problem"] else []
    where = f"{_count(told['ranks'], 'rank')} of {told['instance']}"
    if step is None:
        why = (f"No step was marked: the script never called {_code('mark_step')} (or "
               f"{_code('sync')}), so there is no step to time. Call it once at the end of every "
               f"step, or take batches from {_code('MpDeviceLoader')}, which does.")  # fmt: skip
        return [*found, _p(why, "lead")]
    several = f" for each of {price['instances']} instances" * (price["instances"] > 1)
    lead = (
        f"One step takes {_strong(_time(step['median_ns']))} on {where} "
        f"({_between(step['low_ns'], step['high_ns'])} is what the facts leave open); it costs "
        f"{_strong(_usd(price['usd_per_step']))} at {price['usd_per_hour']:g} USD an hour on "
        f"demand{several} (as of {price['as_of']}), and is bound by "
        f"{_strong(_BOUND.get(cause, f'the {cause}'))}, which takes {share:.0%} of the time."
    )
    graph, tiles = told["graph"], []
    tiles.append(("step, median", _time(step["median_ns"]),
                  f"{_time(step['least_ns'])} to {_time(step['most_ns'])} in "
                  f"{_count(step['count'], 'step')}"))  # fmt: skip
    if told["samples"]:
        tiles.append(("throughput", _figures(step["samples_per_s"]) + " /s", f"samples, {where}"))
    tiles.append(("price", f"{_usd(1000 * price['usd_per_step'])}", "per 1,000 steps, on demand"))
    if graph:
        tiles.append(("MFU", _percent(graph["mfu"]), f"of {graph['peak']}"))
        limit = graph["hbm_limit_bytes"]
        held = f"{_percent(graph['hbm_bytes'] / limit)} of a NeuronCore's {size_text(limit)}"
        tiles.append(("HBM, high water", size_text(graph["hbm_bytes"]), held))
    whole = f"emulated, {_usd(price['usd_of_run'])}; {told['wall_s']:.1f} s here"
    tiles.append(("run", _time(told["emulated_ns"]), whole))
    return [*found, _p(lead, "lead"), _tiles(tiles)]


def _steps(told) -> list[str]:
    step, steps, compiler = told["step"], told["steps"], told["compiler"]
    if step is None:
        return []
    caption = ("Each step from the end of the one before to its own. The pale band is what the "
               "facts leave open; marks below are steps with a new graph, an early run or an "
               "operation that fell back.")  # fmt: skip
    found = [_figure(steps_scene(steps, (step["low_ns"], step["high_ns"])), caption)]
    asked = sum(compiler.values())
    found.append(_p(
        f"{_count(asked, 'graph')} {'was' if asked == 1 else 'were'} asked for: "
        f"{compiler['compiled'] + compiler['extracted']} compiled, {compiler['memory']} found in "
        f"memory, {compiler['disk']} on disk, {compiler['failed']} failed. Compile time is not "
        "part of the emulated time."))  # fmt: skip
    whole = sum(told["spent"].values()) or 1.0
    spent = {name: ns / whole for name, ns in told["spent"].items() if ns}
    found.append(_bars(f"What {_time(told['emulated_ns'])} of emulated time went to", "part",
                       spent))  # fmt: skip
    if any(isinstance(one, int | float) for one in told["losses"]):
        found.append(_figure(losses_scene(told["losses"]), "The losses that the script noted."))
    return found


def _goes(told) -> list[str]:
    graph = told["graph"]
    if graph is None:
        return []
    about = (
        f"The step's graph was recorded with {_count(graph['recorded'], 'operation')}; "
        f"{graph['operations']:,} are left after fusion, in "
        f"{_count(graph['sections'], 'section')} ({graph['distinct']} distinct). By itself it "
        f"takes {_time(graph['makespan_ns'])}."
    )
    caption = (
        "When each engine works, as a share of each moment; an operation's work is spread evenly "
        "over its time. The figure beside is the share of the whole step"
    ) + ("; that of DMA is an upper bound." if told["advice"]["share"] < 1 else ".")
    engines = engines_scene(graph["profile"], graph["engines"], graph["makespan_ns"])
    memory = (f"It moves {size_text(graph['moved_bytes'])} to and from HBM, at least "
              f"{graph['hbm_share']:.0%} of the step at a NeuronCore's part of the HBM's rate, and "
              f"holds {size_text(graph['hbm_bytes'])} at once at most. Its products are "
              f"{_flops(graph['flops'])} on each rank.")  # fmt: skip
    slowest = _table(
        "Sections that take longest",
        ("section", "operations (result of the longest)", "times", "each", "share", "busiest",
         "script"),
        ([row["name"], f"{row['operations']} ({row['type']})", f"{row['count']:,}",
          _time(row["ns"]), f"{row['share']:.1%}", row["busiest"], ", ".join(row["lines"])]
         for row in graph["slowest"]), (2, 3, 4))  # fmt: skip
    return [
        _p(about), _figure(engines, caption), _p(memory),
        _bars("What the critical path waits for", "cause", graph["causes"]),
        '<div class="pair">', _bars("By operation", "operation", graph["by_operation"]),
        _bars("By line of the script", "line", graph["by_line"]), "</div>", slowest,
    ]  # fmt: skip


def _links(told) -> list[str]:
    links, ranks = told["links"], told["ranks"]
    if links is None:
        return []
    hidden = links["communication_ns"] - links["exposed_ns"]
    wires = _count(links["links"], "directed link") if links["links"] else "through a chip's HBM"
    about = (
        f"{_count(ranks, 'rank')} sum, on the links of {links['topology']} ({wires}) and by the "
        f"algorithm {links['algorithm']!r}. A step's collectives take "
        f"{_time(links['communication_ns'])}, of which {_time(hidden)} pass beside the engines and "
        f"{_strong(_time(links['exposed_ns']) + ' are exposed')}."
    )
    if links["links"]:
        about += (
            f" Links are busy {links['mean_share']:.1%} of the step on average, the busiest "
            f"{links['busiest_share']:.1%}."
        )
    more = f" ({len(links['rows'])} of {links['kinds']} kinds)" * (
        links["kinds"] > len(links["rows"])
    )
    table = _table(
        f"Collectives of one step{more}",
        ("collective", "buffer", "times", "each", "low to high", "exposed, all"),
        ([row["operation"], size_text(row["bytes"]), f"{row['count']:,}", _time(row["ns"]),
          _between(row["low_ns"], row["high_ns"]), _time(row["exposed_ns"])]
         for row in links["rows"]), (1, 2, 3, 4, 5))  # fmt: skip
    return [_p(about), table]


def _breaks(told) -> list[str]:
    rows = told["breaks"]
    if not rows:
        return [_p("Nothing did: no graph was compiled, no value was asked for early, and no "
                   "operation fell back to the CPU.")]  # fmt: skip
    counts = {what: sum(row["count"] for row in rows if row["what"] == what)
              for what in ("early run", "fall-back", "new graph", "graph from disk", "no graph")
              }  # fmt: skip
    about = ", ".join(
        _count(counts[what], what) for what in ("early run", "fall-back", "new graph")
    )
    about += f", {counts['graph from disk']} read from disk" * bool(counts["graph from disk"])
    about += f", {counts['no graph']} failed" * bool(counts["no graph"]) + "."
    table = _table(
        "By line of the script",
        ("line", "what", "times", "first", "emulated", "why", "what to change"),
        ([_code(row["line"]) if row["line"] else "(not noted)", row["what"],
          f"{row['count']:,}", f"step {row['first']}", _time(row["ns"]) if row["ns"] else "",
          row["why"], row["do"]]
         for row in rows[:_MOST_BREAKS]), (2, 3, 4))  # fmt: skip
    more = len(rows) - _MOST_BREAKS
    rest = [_p(f"{more} more are in {_code('report.json')}.", "note")] if more > 0 else []
    return [_p(about), table, *rest]


def _advice(told) -> list[str]:
    advice = told["advice"]
    if advice is None:
        return []
    rows = advice["rows"]
    about = (
        "What costs time in the step's graph, the costliest first. Several may be about the same "
        "time, so they do not add up; each is priced as if it alone were gone."
    )
    if advice["share"] < 1:
        about += (f" This graph is large: sections that take {advice['share']:.0%} of its time "
                  "were looked into.")  # fmt: skip
    if not rows:
        return [_p("Nothing was found that costs time and that the script could change.")]
    table = _table(
        "What to improve",
        ("script", "what, and what to do", "a step", "share", "per 1,000 steps"),
        ([", ".join(row["lines"]) or "(no line)",
          row["text"][:1].upper() + row["text"][1:]
          + f" ({row['alike']} more like it)" * bool(row["alike"]),
          *_priced(row)] for row in rows),
        (2, 3, 4))  # fmt: skip
    more = [_p(f"{advice['more']} remedies that cost less are left out.", "note")] * bool(
        advice["more"]
    )
    return [_p(about), table, *more]


def _priced(row) -> tuple[str, str, str]:
    """Return what one piece of advice saves: time, share, money."""
    if row["is_hidden"] or not row["ns"]:
        return ("hidden" if row["is_hidden"] else "", "", "")
    return ("≤ " * row["is_most"] + _time(row["ns"]), _percent(row["share"]),
            _usd(row["usd_per_1000_steps"]))  # fmt: skip


def _left_out(told) -> list[str]:
    step, graph = told["step"], told["graph"]
    found = [
        f"This page is emulated time. The run took {told['wall_s']:.1f} s here, which says nothing "
        "about the chip.",
        "Between device work the clock adds what is modelled of the loader and nothing for Python; "
        "compile time is not counted.",
        "All ranks are alike: no straggler, no other tenant on the network, no clock that slows "
        "down.",
        "What the real compiler keeps on chip between operations, and layouts other than "
        "row-major, are not modelled; a collective beside a memory-bound section slows neither.",
        f"Values: {told['values']}. They change no time.",
        f"The price is that of {told['price']['instances']} × {told['instance']}, on demand, from "
        f"the source {told['price']['source']} ({told['price']['as_of']}); what an "
        "instance costs while it starts and compiles, storage and traffic are not in it.",
    ]  # fmt: skip
    if graph:
        kinds = ", ".join(f"{share:.0%} on {kind}" for kind, share in graph["kinds"].items())
        found.insert(1, f"The step's critical path rests on facts of four kinds: {kinds} ones; "
                        f"{step['moved_most_by'] or 'none of them'} moves it most.")  # fmt: skip
    if step and step["band_share"] < 1:
        found.append(
            f"The graph is large: its range is that of sections that take "
            f"{step['band_share']:.0%} of its time, and the others are taken to vary as they do."
        )
    found.append(f"{_code('trace.json')} holds {told['trace']}.")
    return ["<ul>" + "".join(f"<li>{_words(text)}</li>\n" for text in found) + "</ul>"]
