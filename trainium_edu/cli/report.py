"""``--report DIR``: one page about a run, its numbers as JSON, and a trace that Perfetto opens.

The page needs nothing but itself: pictures are SVG inside it, colours follow the reader's theme.
Every number is one of ``training.run_numbers``, which ``report.json`` holds too.
"""

import json
import os
from collections.abc import Mapping
from pathlib import Path

from trainium_edu import files
from trainium_edu.cli.page import rendered
from trainium_edu.cli.refusals import sentence
from trainium_edu.specs.signatures import checked
from trainium_edu.timeline import Span, Timeline
from trainium_edu.tools import perfetto
from trainium_edu.training.parallel.step import step_spans
from trainium_edu.training.run_numbers import cleaned, duration, main_graph, numbers
from trainium_edu.training.run_record import RunRecord
from trainium_edu.viz import run, units
from trainium_edu.viz.svg import to_svg

__all__ = ["write_report"]

MOST_SPANS = 10_000  #: of a trace; Perfetto opens more, and a page beside it need not weigh more


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
        raise NotADirectoryError(sentence("report.file", name=folder.name))
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
    for one in record.steps:
        label = one.operation or f"{one.kind} {one.number}"
        info = {"line": cleaned(str(one.line or "")), "why": cleaned(one.why)}
        spans.append(Span(tracks[one.kind], label, one.begin_ns, one.end_ns, info))
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


# -- the page -----------------------------------------------------------------------------------


def _page(told: Mapping) -> str:
    """Return the page; ``pages/report.html`` has its words, and writes its numbers."""
    whole = sum(told["spent"].values()) or 1.0
    return rendered(
        "report.html",
        **told,
        title=f"{told['script']} on {told['instance']}",
        spent_shares={name: ns / whole for name, ns in told["spent"].items() if ns},
        broke=lambda what: sum(row["count"] for row in told["breaks"] if row["what"] == what),
        duration=duration,
        units=units,
        scenes=run,
        svg=to_svg,
    )
