"""Watch a script on the chip: its loop's lines, and what host and chip do, moment by moment."""

from itertools import pairwise
from pathlib import Path

import traitlets

from trainium_edu.files import tables
from trainium_edu.specs.arguments import whole
from trainium_edu.specs.signatures import checked
from trainium_edu.training.run_record import RunRecord
from trainium_edu.viz.chart import round_steps
from trainium_edu.viz.units import counted
from trainium_edu.widgets.page_widget import PageWidget

__all__ = ["ScriptFilm", "script_film"]

_FRAMES = 241
_SAYS = tables(__file__)


@checked
def script_film(script: str | Path, record: RunRecord, steps: int = 5, *, graphs: bool = True):
    """Show how the first steps of a script went.

    Parameters
    ----------
    script : str or Path
        Its file; shown is what begins with its first ``for``.
    record : RunRecord
        Of a run of it, on the emulated clock.
    steps : int
        That are shown, from 1.
    graphs : bool
        Name each graph, and say why it is new; without, the film plays by itself.

    Returns
    -------
    ScriptFilm

    Raises
    ------
    ValueError
        If no step of it ran.
    """
    return ScriptFilm(film=film_of(Path(script), record, whole(steps, "steps", 1), graphs))


class ScriptFilm(PageWidget, page="script_film"):
    """State: none; the page plays what it was given."""

    film = traitlets.Dict().tag(sync=True)

    def __repr__(self):
        kinds = [span["kind"] for span in self.film["spans"] if span["track"] == "chip"]
        counts = ", ".join(counted(kinds.count(kind), kind) for kind in dict.fromkeys(kinds))
        return f"ScriptFilm({self.film['name']}: {counts} in {self.film['end_us']:.1f} µs)"


def film_of(script: Path, record: RunRecord, steps: int, graphs: bool) -> dict:
    """Return what the page shows: lines of the loop, and spans of host and chip in microseconds."""
    lines = script.read_text(encoding="utf-8").splitlines()
    first = next((k for k, text in enumerate(lines) if text.startswith("for ")), 0)
    lines = lines[first:]
    numbers = list(dict.fromkeys(one.number for one in record.steps))[:steps]
    shown = [one for one in record.steps if one.number in numbers]
    if not shown:
        raise ValueError(f"{record.script}: no step ran, so there is nothing to show")
    spans = _on_chip(shown, graphs) + _on_host(record, shown)
    end = max(one.end_ns for one in shown) / 1e3
    film = {"name": script.name, "lines": lines, "first": first + 1, "plays": not graphs}
    film |= {"label": f"the first {len(numbers)} steps of {script.name}", "frames": _FRAMES}
    film |= {"end_us": end, "ticks": list(map(float, round_steps(0, end, 6)))}
    return film | {"spans": sorted(spans, key=lambda span: span["begin_us"])}


def _on_chip(shown, graphs) -> list[dict]:
    """Return what the chip runs: its kind, the letter of its graph, and why."""
    letters: dict[int, str] = {}
    known: dict = {}  # a graph that was found has no line of its own: it is the first one's
    found = []
    for one in shown:
        graph = one.executable.graph.fingerprint if one.executable else 0
        letter = letters.setdefault(graph, chr(ord("A") + len(letters) % 26))
        line = known.setdefault((one.kind, graph), one.line)
        number = getattr(line, "line", None)
        asks = _SAYS["chip"][one.kind].format(number=number, operation=one.operation)
        is_new = f" New: {one.why}." if one.why else " The graph is known."
        words = f"Step {one.number}: {asks}." + f" Graph {letter}.{is_new}" * graphs
        letter = letter if graphs else ""
        found.append(_span(one.begin_ns, one.end_ns, "chip", one.kind, words, number, letter))
    return found


def _on_host(record, shown) -> list[dict]:
    """Return what the host waits for: batches, values, the execution before its own."""
    end, says = shown[-1].end_ns, _SAYS["host"]
    found = [
        _span(begin, min(stop, end), "host", what, says[what])
        for begin, stop, what in record.waits
        if what in ("loader", "transfer") and begin < end
    ]
    asked = [one for one in shown if one.kind != "step"]
    found += [_span(one.begin_ns, one.end_ns, "host", "waits", says["value"]) for one in asked]
    busy = [span["end_us"] * 1e3 for span in found]
    for one, after in pairwise(shown):
        if one.kind == "step":
            begin = max([one.begin_ns, *(ns for ns in busy if ns <= after.begin_ns)])
            if begin < after.begin_ns:
                found.append(_span(begin, after.begin_ns, "host", "waits", says["step"]))
    return found


def _span(begin_ns, end_ns, track, kind, words, line=None, letter="") -> dict:
    times = {"begin_us": begin_ns / 1e3, "end_us": end_ns / 1e3}
    return times | {"track": track, "kind": kind, "words": words, "line": line, "letter": letter}
