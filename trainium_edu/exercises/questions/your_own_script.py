"""Questions of lesson 10: a loop's graphs; what cuts, compiles again, falls back, starves it."""

import difflib
from collections import Counter
from itertools import pairwise
from pathlib import Path
from statistics import median

from trainium_edu.exercises.predict import Answer, Misconception, question
from trainium_edu.training.run_numbers import main_graph, summary_lines
from trainium_edu.widgets.card import Prose
from trainium_edu.widgets.script_film import script_film


def changed(before: str | Path, after: str | Path) -> str:
    """Return the lines by which two scripts differ, the docstring left out."""
    old, new = (Path(one).read_text(encoding="utf-8").splitlines()[1:] for one in (before, after))
    return "\n".join(line for line in difflib.ndiff(old, new) if line[0] in "+-")


def report(outcome) -> str:
    """Return three lines of a run's report: time of a step, graphs, what ran early."""
    return "\n".join(summary_lines(outcome.record)[1:4])


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


@question(
    "10/graphs",
    "The loop takes twenty steps. How many graphs are compiled?",
    unit="graphs",
    whole=True,
    wrong=[
        Misconception("one a step", lambda path, outcome: outcome.record.history[-1].step + 1,
                      "Each step records a graph, but a graph that is known is not compiled"
                      " again: weights and batches are its inputs, not part of it."),
        Misconception("one for the loop", lambda path, outcome: 1,
                      "Nearly. But are the first step and the second really alike, with this"
                      " optimiser?"),
    ],
)  # fmt: skip
def graphs(path, outcome):
    """Return how many graphs the loop compiles."""
    why = [event.why for event in outcome.record.history if event.why][-1]
    return Answer(
        compiled(outcome.record),
        "The first step, and all others. Adam's two means do not exist before the first step: it"
        " makes them; from then on they come in, as inputs of another shape. In the report's words:"
        f" {why}.",
        _film(path, outcome),
    )


# --- a print --------------------------------------------------------------------------------------

_PRINTS = ("as long as before", "longer, by less than half", "about twice as long")


def _kind_of(ratio) -> str:
    return _PRINTS[0] if ratio < 1.05 else _PRINTS[1] if ratio < 1.5 else _PRINTS[2]


@question(
    "10/print",
    "A print of loss.item() in each step, before the mark. A step now takes",
    options=_PRINTS,
    wrong=[
        Misconception("it is only a number", lambda path, usual, outcome: _PRINTS[0],
                      "It is four bytes, but they have to be computed first: what is recorded so"
                      " far runs at once, as a graph of its own."),
        Misconception("all is run twice", lambda path, usual, outcome: _PRINTS[2],
                      "The forward pass runs for the print, but what is computed is kept: the graph"
                      " of the mark has only the rest, and some of the forward pass again."),
    ],
)  # fmt: skip
def printed(path, usual, outcome):
    """Return by how much a print lengthens a step."""
    before, now = step_us(usual.record), step_us(outcome.record)
    (line,) = {one.line.line for one in outcome.record.steps if one.kind == "value"}
    return Answer(
        _kind_of(now / before),
        f"{before:.0f} µs become {now:.0f}. Line {line} needs a value, so the forward pass runs as"
        " a graph of its own and hands over through HBM what backward needs; then the number is"
        " copied to the host, which cannot go on before. On the machine Python's time comes on"
        " top.",
        _film(path, outcome),
    )


# --- another shape --------------------------------------------------------------------------------


@question(
    "10/short-batch",
    "660 samples in batches of 64, two epochs. How many graphs are compiled in all?",
    unit="graphs",
    whole=True,
    wrong=[
        Misconception("a shape is data", lambda outcome, epochs: compiled(outcome.record) - 1,
                      "That many without the twenty samples more. The last batch of an epoch has 20"
                      " rows, and a graph is made for its shapes."),
        Misconception("again each epoch",
                      lambda outcome, epochs: compiled(outcome.record) - 1 + epochs,
                      "The second epoch's short batch has the shape of the first one's: that graph"
                      " is known by then."),
        Misconception("one a step", lambda outcome, epochs: outcome.record.history[-1].step + 1,
                      "Only what was never seen is compiled; most steps find their graph."),
    ],
)  # fmt: skip
def short_batch(outcome, epochs):
    """Return how many graphs a loop with a short last batch compiles."""
    event = [event for event in outcome.record.history if event.why][-1]
    return Answer(
        compiled(outcome.record),
        f"One more, in step {event.step}: {event.why}. On the machine that takes minutes. Where"
        " each batch has a length of its own, as sentences do, a script compiles all the time.",
        lambda guess: report(outcome),
    )


# --- an operation without row ---------------------------------------------------------------------

_FALLS = ("it is left out, since nobody reads its result", "the chip stops there, and the CPU"
          " computes it, in each step", "the script ends with an error")  # fmt: skip
#: Operations that training scripts use, by the line in which they are written.
ASKED_FOR = {
    "argmax": "argmax", "topk": "topk", "cumsum": "cumsum", "one_hot": "one_hot",
    "embedding": "embedding", "sort": "sort", "unique": "_unique2", "nonzero": "nonzero",
    "bincount": "bincount", "masked_select": "masked_select", "median": "median",
    "multinomial": "multinomial",
}  # fmt: skip


def rows_of(operations) -> str:
    """Return which of some well-known operations have a row here, and which run on the CPU."""
    known = {name.removeprefix("aten::").partition(".")[0] for name in operations}
    has = [name for name, row in ASKED_FOR.items() if row in known]
    lacks = [name for name in ASKED_FOR if name not in has]
    return f"have a row here: {', '.join(has)}\nrun on the CPU: {', '.join(lacks)}"


@question(
    "10/falls-back",
    "The chip has no operation that finds unique values, and nobody reads the result. What becomes"
    " of the line?",
    options=_FALLS,
    wrong=[
        Misconception("the compiler sees it", lambda path, outcome, operations: _FALLS[0],
                      "A compiler would leave it out. But it has to be recorded first, and how many"
                      " unique values there are nobody knows before they are computed."),
        Misconception("it is refused", lambda path, outcome, operations: _FALLS[2],
                      "That would be kinder to you. It goes on, slower, and says so only in a"
                      " counter."),
    ],
)  # fmt: skip
def falls_back(path, outcome, operations):
    """Return what becomes of an operation without a row."""
    fell = Counter(one.operation for one in outcome.record.steps if one.kind == "fallback")
    counters = {k: n for k, n in outcome.record.counters.items() if k.startswith("aten::")}
    name, count = fell.most_common(1)[0]
    return Answer(
        _FALLS[1] if count > 1 else _FALLS[0],
        f"The counter {name} says {counters[name]}: one for each step. Metrics whose names begin"
        " with aten are what to look for in met.metrics_report(); those with xla ran on the chip.",
        lambda guess: [report(outcome), script_film(path, outcome.record), rows_of(operations)],
    )


# --- a loader -------------------------------------------------------------------------------------


def _chip_us(outcome):
    return main_graph(outcome.record).makespan_ns / 1e3


@question(
    "10/starved",
    "The script itself loads each batch of 64, 2.24 µs a sample, then copies it to the chip in 22"
    " µs. The chip takes 101 µs for a step. How far apart are two steps?",
    unit="µs",
    wrong=[
        Misconception("one after the other",
                      lambda path, outcome, batch, sample_us, copy_us:
                      batch * sample_us + copy_us + _chip_us(outcome),
                      "That is load, copy, run, load. But the host goes on when it has marked a"
                      " step: it loads the next batch while the chip works."),
        Misconception("the chip's time",
                      lambda path, outcome, batch, sample_us, copy_us: _chip_us(outcome),
                      "So long the chip works. But then the next batch is not there yet."),
        Misconception("the copies are free",
                      lambda path, outcome, batch, sample_us, copy_us: batch * sample_us,
                      "Nearly: the same host makes the copies, when it has loaded."),
    ],
)  # fmt: skip
def starved(path, outcome, batch, sample_us, copy_us):
    """Return how far apart the steps of a starved chip are."""
    chip, apart = _chip_us(outcome), step_us(outcome.record)
    load = batch * sample_us
    return Answer(
        round(apart, 1),
        f"The slower side sets the pace: {load + copy_us:.0f} µs for the host, {chip:.0f} for the"
        f" chip, which stands still for {1 - chip / apart:.0%} of the time. Two workers load a"
        f" batch in {load / 2:.0f} µs, beside the script, and the chip never waits.",
        _film(path, outcome),
    )


# --- Trn1 and Inf2 --------------------------------------------------------------------------------

PUBLISHED = 0.39  #: better price-performance of Inf2, as the comparison of 2023 states it


def instances_table(rows) -> str:
    """Return sizes with their steps, prices and what a million samples cost."""
    lines = ["instance        ranks     step   USD an hour   USD for a million samples"]
    return "\n".join(lines + [
        f"{one.instance:14}{one.ranks:7}{one.step_ns / 1e6:6.0f} ms{one.usd_per_hour:14.2f}"
        f"{one.usd_per_million_samples:15.2f}"
        for one in sorted(rows, key=lambda one: one.usd_per_million_samples)
    ])  # fmt: skip


def prices_table(rows) -> str:
    """Return the two smallest sizes with their ranks and prices."""
    return "\n".join(f"{one.instance:14}{one.ranks} ranks{one.usd_per_hour:9.4f} USD an hour"
                     for one in _pair(rows))  # fmt: skip


def _pair(rows):
    by = {one.instance: one for one in rows}
    return by["inf2.xlarge"], by["trn1.2xlarge"]


@question(
    "10/per-dollar",
    "In our model both NeuronCores take the same time for this step. How many per cent more samples"
    " per dollar does inf2.xlarge give than trn1.2xlarge?",
    unit="%",
    above=-1,
    wrong=[
        Misconception("as published", lambda rows: 100 * PUBLISHED,
                      "That is what the comparison of 2023 states, measured. Here both steps take"
                      " the same time: what is left is the price."),
        Misconception("what is saved",
                      lambda rows: 100 * (1 - _pair(rows)[0].usd_per_hour
                                          / _pair(rows)[1].usd_per_hour),
                      "So much less an hour costs. But for the same dollar you get the inverse of"
                      " that: divide the dearer price by the cheaper one."),
    ],
)  # fmt: skip
def per_dollar(rows):
    """Return what the cheaper instance gives for a dollar, relative to the other."""
    inf2, trn1 = _pair(rows)
    more = inf2.against(trn1) - 1
    speed = (1 + PUBLISHED) / (trn1.usd_per_hour / inf2.usd_per_hour)
    low, high = trn1.band.low_ns / trn1.step_ns, trn1.band.high_ns / trn1.step_ns
    inside = low <= 1 / speed <= high
    cheaper = trn1.usd_per_hour / inf2.usd_per_hour * (1 - PUBLISHED)
    return Answer(
        round(100 * more),
        f"It is the prices' ratio. The published {PUBLISHED:.0%} per dollar means that inf2.xlarge"
        f" ran at {speed:.2f} of the other's speed: its steps took {1 / speed:.2f} times as long."
        f" Our range for a step, {low:.2f} to {high:.2f},"
        f" {'has room for' if inside else 'excludes'} that, but gives no reason for a difference.",
        lambda guess: [
            instances_table(rows),
            Prose(
                "What our model leaves out and the machines have: Inf2 links its chips otherwise,"
                " its host has 4 vCPUs and not 8, and both hosts run Python. If the 39 % mean"
                f" 'cheaper' and not 'more per dollar', Inf2's steps took {cheaper:.2f} times as"
                " long: the source does not say which, and its table is lost."
            ),
        ],
    )


# --- the machine ----------------------------------------------------------------------------------

MLP_PER_S = 95.07  #: iterations per second that AWS's MLP tutorial prints, one worker
_PARTS = ("nearly all of it", "about half", "less than a tenth")


@question(
    "10/host",
    "AWS's tutorial trains a small MLP on a trn1 and prints 95 iterations per second: 10.5 ms each."
    " Of these the chip computes",
    options=_PARTS,
    wrong=[
        Misconception("the chip is the machine", lambda outcome: _PARTS[0],
                      "The tutorial's own CPU run does 287 iterations per second. A chip that is"
                      " slower than its host at three small layers has hardly begun to work."),
        Misconception("half and half", lambda outcome: _PARTS[1],
                      "Its three layers have about a hundred thousand weights, and a batch of 32:"
                      " count the work, and what a chip does in a millisecond."),
    ],
)  # fmt: skip
def host(outcome):
    """Return which part of an iteration the chip computes."""
    chip_ms = main_graph(outcome.record).makespan_ns / 1e6
    share = chip_ms * MLP_PER_S / 1e3
    here = 1e6 / step_us(outcome.record)
    return Answer(
        _PARTS[0] if share > 0.7 else _PARTS[1] if share > 0.3 else _PARTS[2],
        f"Our model gives the chip {chip_ms:.2f} ms, {share:.0%}. The script prints about"
        f" {here:.0f} iterations per second here, which its loader limits. The rest is the"
        " host: Python records some hundred operations in each step, looks the graph up, starts it,"
        " fetches the result. This clock counts none of that, and says so in its first line.",
        lambda guess: (
            f"published, one worker: {MLP_PER_S:.0f} iterations per second; two: 163 each\n"
            f"chip alone, as modelled: {1e3 / chip_ms:,.0f}"
        ),
    )
