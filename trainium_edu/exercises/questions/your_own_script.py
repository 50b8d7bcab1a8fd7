"""Questions of lesson 10: a loop's graphs; what cuts, compiles again, falls back, starves it."""

import difflib
import re
from bisect import bisect
from collections import Counter
from itertools import pairwise
from operator import attrgetter
from pathlib import Path
from statistics import median

from trainium_edu.exercises.predict import Answer, question, words_of
from trainium_edu.exercises.questions.tables import numbers, table
from trainium_edu.training.run_numbers import main_graph, summary_lines
from trainium_edu.widgets.script_film import script_film

_WORDS = words_of(__file__)
_SHOWN = _WORDS["shown"]


def changed(before: str | Path, after: str | Path) -> str:
    """Return the lines by which two scripts differ, the docstring left out."""
    old, new = (Path(one).read_text(encoding="utf-8").splitlines()[1:] for one in (before, after))
    return "\n".join(line for line in difflib.ndiff(old, new) if line[0] in "+-")


def report(outcome) -> str:
    """Return three lines of a run's report: time of a step, graphs, what ran early."""
    lines = "\n".join(summary_lines(outcome.record)[1:4])
    return re.sub(r"(\d+\.\d) us", lambda us: f"{float(us[1]):.3g} µs", lines)


def compiled(record) -> int:
    """Return how many graphs a run compiled."""
    return sum(event.kind == "compiled" for event in record.history)


def step_us(record) -> float:
    """Return how long a step takes, from one mark's execution to the next, the middle one."""
    ends = [one.end_ns for one in record.steps if one.kind == "step"]
    return median(b - a for a, b in pairwise(ends)) / 1e3


def _film(path, outcome):
    return lambda guess: [report(outcome), script_film(path, outcome.record)]


# --- three lines ----------------------------------------------------------------------------------


@question("10/graphs")
def graphs(path, outcome):
    """Return how many graphs the loop compiles."""
    why = [event.why for event in outcome.record.history if event.why][-1]
    steps = outcome.record.history[-1].step + 1
    return Answer(
        compiled(outcome.record),
        wrong={"one a step": steps, "one a batch": steps // 2},
        terms={"why": why},
        show=_film(path, outcome),
    )


# --- a print --------------------------------------------------------------------------------------


@question("10/print")
def printed(path, usual, outcome):
    """Return by how much a print lengthens a step."""
    before, now = step_us(usual.record), step_us(outcome.record)
    (line,) = {one.line.line for one in outcome.record.steps if one.kind == "value"}
    return Answer(
        bisect((1.05, 1.5), now / before),
        terms={"before": before, "now": now, "line": line},
        show=_film(path, outcome),
    )


# --- another shape --------------------------------------------------------------------------------


@question("10/short-batch")
def short_batch(outcome, epochs):
    """Return how many graphs a loop with a short last batch compiles."""
    event = [event for event in outcome.record.history if event.why][-1]
    graphs = compiled(outcome.record)
    return Answer(
        graphs,
        wrong={
            "a shape is data": graphs - 1,
            "again each epoch": graphs - 1 + epochs,
            "one a step": outcome.record.history[-1].step + 1,
        },
        terms={"step": event.step, "why": event.why},
        show=lambda guess: report(outcome),
    )


# --- an operation without row ---------------------------------------------------------------------


def rows_of(operations) -> str:
    """Return which of some well-known operations have a row here, and which run on the CPU."""
    known = {name.removeprefix("aten::").partition(".")[0] for name in operations}
    usual = _WORDS["operations"]
    has = [name for name, row in usual.items() if row in known]
    lacks = [name for name in usual if name not in has]
    return _SHOWN["rows"].format(", ".join(has), ", ".join(lacks))


@question("10/falls-back")
def falls_back(path, outcome, operations):
    """Return what becomes of an operation without a row."""
    fell = Counter(one.operation for one in outcome.record.steps if one.kind == "fallback")
    counters = {k: n for k, n in outcome.record.counters.items() if k.startswith("aten::")}
    name, count = fell.most_common(1)[0]
    return Answer(
        count > 1,
        terms={"name": name, "calls": counters[name]},
        show=lambda guess: [*_film(path, outcome)(guess), rows_of(operations)],
    )


# --- a loader -------------------------------------------------------------------------------------


@question("10/starved")
def starved(path, outcome, batch, sample_us, copy_us):
    """Return how far apart the steps of a starved chip are."""
    chip, apart = main_graph(outcome.record).makespan_ns / 1e3, step_us(outcome.record)
    load = batch * sample_us
    return Answer(
        round(apart),
        wrong={
            "one after the other": load + copy_us + chip,
            "the chip's time": chip,
            "the copies are free": load,
        },
        terms={"waits": apart, "chip": chip, "idle": 1 - chip / apart, "half": load / 2},
        show=_film(path, outcome),
    )


# --- Trn1 and Inf2 --------------------------------------------------------------------------------

PUBLISHED = 0.39  #: better price-performance of Inf2, as the comparison of 2023 states it


_cost = attrgetter("usd_per_million_samples")


def instances_table(rows):
    """Return sizes with their steps, prices and what a million samples cost."""
    ranked = sorted(rows, key=_cost)
    costs = {row.instance: _cost(row) for row in ranked}
    return numbers(_SHOWN["instances"], ((row, row.step_ns / 1e6) for row in ranked), costs)


def prices_table(rows) -> str:
    """Return the two smallest sizes with their ranks and prices."""
    return table(_SHOWN["prices"], ((row,) for row in _pair(rows)))


def _pair(rows):
    by = {one.instance: one for one in rows}
    return by["inf2.xlarge"], by["trn1.2xlarge"]


@question("10/per-dollar")
def per_dollar(rows):
    """Return what the cheaper instance gives for a dollar, relative to the other."""
    inf2, trn1 = _pair(rows)
    more = inf2.against(trn1) - 1
    speed = (1 + PUBLISHED) / (trn1.usd_per_hour / inf2.usd_per_hour)
    low, high = trn1.band.low_ns / trn1.step_ns, trn1.band.high_ns / trn1.step_ns
    return Answer(
        round(100 * more),
        wrong={
            "as published": 100 * PUBLISHED,
            "what is saved": 100 * (1 - inf2.usd_per_hour / trn1.usd_per_hour),
        },
        terms={
            "PUBLISHED": PUBLISHED,
            "speed": speed,
            "slower": 1 / speed,
            "low": low,
            "high": high,
            "allows": "has room for" if low <= 1 / speed <= high else "excludes",
            "cheaper": trn1.usd_per_hour / inf2.usd_per_hour * (1 - PUBLISHED),
        },
        show=lambda guess: instances_table(rows),
    )


# --- the machine ----------------------------------------------------------------------------------

MLP_PER_S = 95.07  #: iterations per second that AWS's MLP tutorial prints, one worker


@question("10/host")
def host(outcome):
    """Return which part of an iteration the chip computes."""
    chip_ms = main_graph(outcome.record).makespan_ns / 1e6
    share = chip_ms * MLP_PER_S / 1e3
    here, alone = (float(f"{n:.3g}") for n in (1e6 / step_us(outcome.record), 1e3 / chip_ms))
    return Answer(
        2 - bisect((0.3, 0.7), share),
        terms={"chip_ms": chip_ms, "share": share, "here": here},
        show=lambda guess: _SHOWN["host"].format(MLP_PER_S, alone),
    )
