"""Questions of lesson 13: one ReLU, element by element, streamed, in TCM, on eight processors."""

from bisect import bisect
from collections.abc import Callable, Mapping
from textwrap import fill

import numpy as np

from trainium_edu.exercises.cpp import stored
from trainium_edu.exercises.predict import Answer, question, words_of
from trainium_edu.exercises.questions.runs import ns
from trainium_edu.exercises.questions.tables import numbers, table
from trainium_edu.neuroncore.gpsimd_cpp import OperatorError
from trainium_edu.specs import CUSTOM_OPERATORS as FACTS
from trainium_edu.viz.numbers import Numbers, spent
from trainium_edu.viz.race import race_scenes
from trainium_edu.widgets.sketch import Page, Sketch
from trainium_edu.widgets.timeline_explorer import timeline_explorer

_SHOWN = words_of(__file__)["shown"]
OTHER_NS = float(FACTS.other_ns)
#: What AWS's tutorial prints, iterations per second, by the version of its operator.
PUBLISHED = {
    "element": FACTS.element_iterations_per_s,
    "TCM": FACTS.tcm_iterations_per_s,
    "eight": FACTS.eight_iterations_per_s,
}


def by_line(run) -> str:
    """Return which line of C++ named, streamed or copied how much, as its processors counted."""
    return table(_SHOWN["lines"], run.sites)


def refusal(ask: Callable) -> str:
    """Return the sentence by which an operator is refused, and its line; "" if it is not."""
    try:
        ask()
    except OperatorError as mistake:
        said, *line = str(mistake).split("\n")
        return "\n".join([fill(said, 58), *line])
    return ""


def _times(slow, fast):
    """Return how many times as fast, in two or three digits."""
    ratio = ns(slow) / ns(fast)
    return round(ratio, 1 if ratio < 20 else 0)


# --- four programs, started together --------------------------------------------------------------

_RACED = (32, 4096)  #: the shape of the lesson's numbers


def _raced(times: Mapping, clock: bool, said: str) -> Sketch:
    def draw(values) -> Page:
        film = race_scenes(times, clock=clock, width=values["width"])
        return Page(film[-1], [said], film=film)

    return Sketch([], draw, "Four ReLUs, started together", words=[said])


def start() -> Sketch:
    """Show the race of the lesson's ReLUs as recorded, without their names and times."""
    last, *others = map(ns, stored().recorded(_RACED))
    names = ("program B", "program C", "program D")
    times = {"program A, below": last} | dict(zip(names, others[1:] + others, strict=False))
    factor = float(f"{last / min(others):.2g}")
    return _raced(times, False, _SHOWN["race"].format(factor))


# --- element by element ---------------------------------------------------------------------------


@question("13/trips")
def trips(run, x):
    """Return the trips to HBM for an element."""
    (work,) = run.works
    return Answer(
        round(work.elements / x.size, 2),
        show=lambda guess: [
            spent({"element": run}),
            Numbers(f"{by_line(run)}\n{run.why()}", fold="Line by line, and why"),
        ],
    )


# --- streamed -------------------------------------------------------------------------------------


@question("13/stream")
def streamed(element, stream):
    """Return how many times as fast a stream is."""
    return Answer(
        _times(element, stream),
        wrong={"fewer trips": round(element.works[0].elements / stream.works[0].copies)},
        show=lambda guess: spent({"element": element, "stream": stream}),
    )


# --- through TCM ----------------------------------------------------------------------------------


@question("13/tcm")
def tcm(stream, tcm):
    """Return how much faster copies by hand are."""
    ratio = ns(stream) / ns(tcm)
    return Answer(
        bisect((1.5, 5), ratio),
        terms={"ratio": ratio, "factor": stream.works[0].blocks / tcm.works[0].blocks},
        show=lambda guess: spent({"stream": stream, "TCM": tcm}),
    )


# --- eight processors -----------------------------------------------------------------------------


def _rate(taken_ns) -> float:
    """Return iterations per second of the tutorial, whose two operators take `taken_ns`."""
    return 1e9 / (taken_ns + OTHER_NS)


def published_table(versions) -> Numbers:
    """Return what AWS's tutorial printed beside what two runs of each version add up to here.

    Parameters
    ----------
    versions : dict of str to (run, run)
        The tutorial's two layers, by the names in :data:`PUBLISHED`.
    """
    rows, bars = [], {}
    for name, runs in versions.items():
        taken_ns = ns(runs)
        low, high = (sum(getattr(run.band, end) for run in runs) for end in ("low_ns", "high_ns"))
        rates = map(_rate, (taken_ns, high, low))
        rows.append((name, taken_ns / 1e6, float(PUBLISHED[name]), *rates))
        bars[name] = {"operators": taken_ns / 1e6, "everything else": OTHER_NS / 1e6}
    return numbers(_SHOWN["published"], rows, bars)


@question("13/iteration")
def iteration(versions, stream):
    """Return what the tutorial prints with eight processors."""
    runs = {"element": None, "stream": stream} | {n: runs[0] for n, runs in versions.items()}
    one, eight = (ns(versions[name]) for name in ("TCM", "eight"))
    return Answer(
        round(float(PUBLISHED["eight"]), 1),
        wrong={
            "eight times all": 8 * float(PUBLISHED["TCM"]),
            "no change": float(PUBLISHED["TCM"]),
            "the operators were all": 1e9 / ns(versions["eight"]),
        },
        terms={
            "factor": one / eight,
            "one_ms": one / 1e6,
            "eight_ms": eight / 1e6,
            "other_ms": OTHER_NS / 1e6,
            "host_ms": float(FACTS.host_step_ns) / 1e6,
        },
        show=lambda guess: [
            _raced({n: ns(r) for n, r in runs.items()}, True, "The four programs, once more."),
            published_table(versions),
        ],
    )


# --- a race ---------------------------------------------------------------------------------------


@question("13/race")
def race(said, ratio):
    """Return what becomes of shares that overlap."""
    return Answer(
        "race" in said,
        show=lambda guess: [
            said,
            f"right shares, eight processors: {ratio:.1f} times as fast as one",
        ],
    )


# --- another engine -------------------------------------------------------------------------------


@question("13/scalar")
def scalar(eight, kernel):
    """Return how many times as fast the Scalar Engine is."""
    both = {"operator": ns(eight) / 1e3, "Scalar": ns(kernel) / 1e3}
    names = "operator on eight processors", "kernel on Scalar"
    rows = [*zip(names, both.values(), strict=True)]
    return Answer(
        _times(eight, kernel),
        wrong={"the instruction alone": round(ns(eight) / kernel.timeline.busy_ns("scalar"))},
        terms={"kernel_us": both["Scalar"], "busy_us": kernel.timeline.busy_ns("scalar") / 1e3},
        show=lambda guess: [
            numbers(_SHOWN["scalar"], rows, both),
            timeline_explorer(kernel, memory=False, sliders=False),
        ],
    )


# --- stochastic rounding --------------------------------------------------------------------------


def upper_share(rounded) -> str:
    """Return the share of numbers that were rounded up, and how far their mean is off."""
    values = np.asarray(rounded, np.float64)
    return f"{(values > values.min()).mean():6.1%}   mean {values.mean():.6f}"


def _longer(run, than) -> int:
    """Return by how many per cent one run is longer."""
    return round(100 * (ns(run) / ns(than) - 1))


@question("13/cast")
def cast(operator, nearest, stochastic, x):
    """Return by how much stochastic rounding lengthens a kernel."""
    wanted = float(np.mean(x, dtype=np.float64))
    runs = {"operator": operator, "chip, nearest": nearest, "chip, stochastic": stochastic}
    rows = [(name, ns(run) / 1e3, upper_share(run.outputs)) for name, run in runs.items()]
    return Answer(
        _longer(stochastic, nearest),
        wrong={"as in C++": _longer(operator, nearest)},
        terms={"wanted": wanted},
        show=lambda guess: table(_SHOWN["cast"], rows),
    )
