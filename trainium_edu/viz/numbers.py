"""Numbers as a reader of a lesson meets them: bars that grow row by row, the table folded below."""

import html
import itertools
import re
from collections.abc import Iterable, Mapping
from functools import partial

from trainium_edu.files import tables
from trainium_edu.neuroncore.scoreboard import advice, scoreboard
from trainium_edu.neuroncore.timing.why import differing_facts, why
from trainium_edu.viz.bars import draw_rows
from trainium_edu.viz.svg import to_svg
from trainium_edu.viz.units import aligned, letters

__all__ = ["HTML", "Numbers", "Paragraphs", "Table", "advised", "between_chips", "board", "spent"]

#: What stands on a page around pictures, tables and paragraphs.
HTML = tables(__file__)["html"]
_WIDTH = 560.0  # CSS pixels: on a narrow page, letters are not much smaller


class Numbers:
    """A table of numbers, folded below the picture of them that grows row by row.

    Parameters
    ----------
    table : str, or iterable of str
        Text, or its lines.
    title, rows, **look
        Those of ``viz.bars.draw_rows``, where a row may be a number alone; without rows there is
        the table alone.
    folded : bool
        Unfolded, lines of any length stay whole: letters are as small as the page asks for.
    fold : str
        What stands on the fold.
    draw : callable, optional
        Takes ``width`` and returns another picture's scene.
    """

    def __init__(
        self,
        table: str | Iterable[str],
        title="",
        rows=(),
        *,
        folded=True,
        fold="The numbers",
        draw=None,
        **look,
    ):
        self.table = table if isinstance(table, str) else "\n".join(table)
        self.svg, self.folded, self.fold, turn = "", folded, fold, itertools.count()
        rows = {n: p if isinstance(p, Mapping) else {"": p} for n, p in dict(rows).items()}
        draw = draw or (rows and partial(draw_rows, title, rows, **look))
        if draw:
            drawn = to_svg(draw(width=_WIDTH))
            delay = lambda rect: f"{rect[0]}animation-delay:{next(turn) / 9:.1f}s;"  # noqa: E731
            drawn = re.sub(r'<rect [^>]*style="', delay, drawn)
            self.svg = HTML["picture"].format(drawn)

    def __repr__(self):
        return self.table

    def _repr_html_(self):
        table = HTML["table"].format(letters(self.table), html.escape(self.table))
        return HTML["folded" if self.folded else "whole"].format(self.svg, table, self.fold)


class Paragraphs:
    """Paragraphs of filled text that a page breaks where it ends.

    Parameters
    ----------
    text : str
        Lines that begin with a blank go on with the paragraph before.
    """

    def __init__(self, text: str):
        self.text = text

    def __repr__(self):
        return self.text

    def _repr_html_(self):
        said = (html.escape(re.sub(r"\n +", " ", part)) for part in re.split(r"\n(?! )", self.text))
        return "".join(map(HTML["paragraph"].format, said))


class Table(Paragraphs):
    """A text whose columns are two spaces apart, as a table whose cells wrap on a narrow page."""

    def _repr_html_(self):
        lines = [re.split("  +", line.strip()) for line in html.escape(self.text).split("\n")]
        rows = ("".join(map(HTML["cell"].format, line)) for line in lines)
        return f"<table>{''.join(map('<tr>{}</tr>'.format, rows))}</table>"


def advised(runs: Mapping) -> Paragraphs:
    """Return each run's costliest advice, a paragraph for each run.

    Parameters
    ----------
    runs : dict of str to Run
    """
    return Paragraphs(advice(runs))


def board(runs: Mapping) -> Numbers:
    """Return the scoreboard's numbers, below bars of the times where there are several runs.

    Parameters
    ----------
    runs : dict of str to Run, or to a tuple of Runs
    """
    times = {
        name: sum(r.timeline.makespan_ns for r in (run if isinstance(run, tuple) else (run,)))
        for name, run in runs.items()
    }
    bars = {name: {"": ns / 1e3} for name, ns in times.items() if len(times) > 1}
    return Numbers(scoreboard(runs), "Time, in µs", bars, folded=bool(bars))


def between_chips(before, after) -> Numbers:
    """Return two chips' critical paths of one program, and the facts that differ on them.

    Parameters
    ----------
    before, after : CoreTimeline
    """
    bars, lines = {}, []
    for timeline in (before, after):
        ns_by_engine = why(timeline).ns_by(lambda piece: piece.instruction.engine.title)
        parts = bars[timeline.spec.name] = {one: ns / 1e3 for one, ns in ns_by_engine.items()}
        told = ", ".join(f"{engine} {us:.1f}" for engine, us in parts.items())
        lines.append(f"{timeline.spec.name}: {told}")
    for name, (fact, other) in differing_facts(before, after).items():
        lines.append(f"{name}: {fact.pretty} -> {other.pretty} ({other.kind})")
    return Numbers("\n".join(lines), "The critical path on each chip, in µs", bars)


def spent(runs: Mapping) -> Numbers:
    """Return operators' runs: time, band, and where the slowest processor's time goes.

    Parameters
    ----------
    runs : dict of str to OperatorRun
    """
    parts = ("elements", "copies", "code", "bulks")
    bars = {}
    table = [["", "time µs", "band µs", *parts]]
    for name, run in runs.items():
        where = run.parts_ns()
        share, band = [where[part] / sum(where.values()) for part in parts], run.band
        low, us, high = (f"{ns / 1e3:.1f}" for ns in (band.low_ns, band.nominal_ns, band.high_ns))
        table.append([name, us, f"{low}-{high}", *map("{:.0%}".format, share)])
        bars[name] = {p: s * band.nominal_ns / 1e3 for p, s in zip(parts, share, strict=True)}
    return Numbers(aligned(table, "<" + ">" * 6), "Where the time goes, in µs", bars)
