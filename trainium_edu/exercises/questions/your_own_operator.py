"""Questions of lesson 13: one ReLU, element by element, streamed, in TCM, on eight processors."""

from collections.abc import Callable
from textwrap import fill

import numpy as np

from trainium_edu.exercises.predict import Answer, Misconception, question
from trainium_edu.neuroncore.gpsimd_cpp import OperatorError
from trainium_edu.specs import SOURCES, TRN1
from trainium_edu.widgets.card import Prose
from trainium_edu.widgets.timeline_explorer import timeline_explorer

FACTS = TRN1.custom_operators
OTHER_NS = float(FACTS.other_ns)
#: What AWS's tutorial prints, iterations per second, by the version of its operator.
PUBLISHED = {
    "element": FACTS.element_iterations_per_s, "TCM": FACTS.tcm_iterations_per_s,
    "eight": FACTS.eight_iterations_per_s,
}  # fmt: skip


def spent(runs) -> str:
    """Return a table of operators' runs: time, band, and where the slowest processor's time goes.

    Parameters
    ----------
    runs : dict of str to OperatorRun
    """
    parts = ("elements", "copies", "code", "bulks")
    lines = [f"{'':<12} {'time µs':>9} {'band µs':>19}   "
             + " ".join(f"{part:>9}" for part in parts)]  # fmt: skip
    for name, run in runs.items():
        band, where = run.band, run.parts_ns()
        share = [where[part] / sum(where.values()) for part in parts]
        lines.append(
            f"{name:<12} {band.nominal_ns / 1e3:>9.1f}"
            f" {band.low_ns / 1e3:>9.1f}-{band.high_ns / 1e3:<9.1f}   "
            + " ".join(f"{part:>9.0%}" for part in share)
        )
    return "\n".join(lines)


def by_line(run) -> str:
    """Return which line of C++ named, streamed or copied how much, as its processors counted."""
    lines = [f"{'line':<16} {'named':>9} {'streamed':>9} {'copies':>7} {'bytes':>9}"]
    lines += [f"{line:<16} {named:>9} {streamed:>9} {copies:>7} {nbytes:>9}"
              for line, named, streamed, copies, nbytes in run.sites]  # fmt: skip
    return "\n".join(lines)


def refusal(ask: Callable) -> str:
    """Return the sentence by which an operator is refused, and its line; "" if it is not."""
    try:
        ask()
    except OperatorError as mistake:
        said, *line = str(mistake).split("\n")
        return "\n".join([fill(said, 100), *line])
    return ""


def _ns(run):
    return run.timeline.makespan_ns


def _times(slow, fast):
    """Return how many times as fast, in two or three digits."""
    ratio = _ns(slow) / _ns(fast)
    return round(ratio, 1 if ratio < 20 else 0)


# --- element by element ---------------------------------------------------------------------------


@question(
    "13/trips",
    "Half of the numbers are positive. How many trips to HBM does the program make for one number,"
    " on average?",
    unit="trips",
    wrong=[
        Misconception("there and back", lambda run, x: 2.0, "It is read once and written once, says"
                      " the result. The program says something else: count how often it names an"
                      " element of in."),
        Misconception("as it is written", lambda run, x: 3.0, "in[i][j] is written twice and"
                      " out[i][j] once; but the second is only reached for a positive number."),
        Misconception("one a round", lambda run, x: 1.0, "Each round has one number, but names it"
                      " more than once."),
    ],
)  # fmt: skip
def trips(run, x):
    """Return the trips to HBM for an element."""
    (work,) = run.works
    return Answer(
        round(work.elements / x.size, 2),
        "One to compare, one to write, and for every positive number one more to read it again. An"
        " accessor is no pointer: each name is a trip, and no cache keeps what was read.",
        lambda guess: [
            by_line(run),
            spent({"element": run}),
            str(run.why()),
            Prose(f"{run.advice[0]}"),
        ],
    )


# --- streamed -------------------------------------------------------------------------------------


@question(
    "13/stream",
    "How many times as fast is the streamed program?",
    unit="times",
    wrong=[
        Misconception("fewer trips", lambda element, stream: round(
                          element.works[0].elements / stream.works[0].copies), "That many fewer"
                      " times it goes to HBM. But then it carries 4 KB, and read() and write() run"
                      " code for each number, which now takes most of the time."),
        Misconception("one trip for two and a half", lambda element, stream: 2.5, "As if a stream"
                      " went to HBM for each number, once. It goes for 1 024 at a time."),
        Misconception("the same bytes", lambda element, stream: 1.0, "The bytes are the same. It is"
                      " the trips that take time, whatever they carry."),
    ],
)  # fmt: skip
def streamed(element, stream):
    """Return how many times as fast a stream is."""
    return Answer(
        _times(element, stream),
        f"{element.works[0].elements:,} trips became {stream.works[0].copies} copies of 4 KB"
        " between HBM and TCM. What is left is the code behind read() and write().",
        lambda guess: spent({"element": element, "stream": stream}),
    )


# --- through TCM ----------------------------------------------------------------------------------

_FACTORS = ("as fast as the stream", "two to three times as fast", "more than ten times as fast")


def _factor(ratio) -> str:
    return _FACTORS[0] if ratio < 1.5 else _FACTORS[1] if ratio < 5 else _FACTORS[2]


@question(
    "13/tcm",
    "The same 4 KB at a time, now copied by the program itself. It is",
    options=_FACTORS,
    wrong=[
        Misconception("a copy is a copy", lambda stream, tcm: _FACTORS[0], "The copies are the"
                      " same. But a stream checks at every number whether its 4 KB are used up; a"
                      " loop over a buffer does not."),
        Misconception("memory is all", lambda stream, tcm: _FACTORS[2], "Against element accessors"
                      " it is. The stream went through TCM already: what is saved is code."),
    ],
)  # fmt: skip
def tcm(stream, tcm):
    """Return how much faster copies by hand are."""
    ratio = _ns(stream) / _ns(tcm)
    return Answer(
        _factor(ratio),
        f"{ratio:.1f} times: the copies are the same, {tcm.works[0].copies} of them, and the code"
        f" is {stream.works[0].blocks / tcm.works[0].blocks:.0f} times shorter. AWS documents the"
        " order of the three, not the factor between the last two; both bands are wide.",
        lambda guess: [spent({"stream": stream, "TCM": tcm}), Prose(str(tcm.advice[0]))],
    )


# --- eight processors -----------------------------------------------------------------------------


def _rate(ns) -> float:
    """Return iterations per second of the tutorial, whose two operators take `ns`."""
    return 1e9 / (ns + OTHER_NS)


def published_table(versions) -> str:
    """Return what AWS's tutorial printed beside what two runs of each version add up to here.

    Parameters
    ----------
    versions : dict of str to (run, run)
        The tutorial's two layers, by the names in :data:`PUBLISHED`.
    """
    lines = [f"{'version':<10} {'operators ms':>12} {'published it/s':>15} {'predicted':>10}"
             f" {'band':>15}  label"]  # fmt: skip
    for name, runs in versions.items():
        ns = sum(map(_ns, runs))
        low, high = (sum(getattr(run.band, end) for run in runs) for end in ("low_ns", "high_ns"))
        lines.append(
            f"{name:<10} {ns / 1e6:>12.3f} {float(PUBLISHED[name]):>15.1f} {_rate(ns):>10.1f}"
            f" {_rate(high):>7.1f}-{_rate(low):<7.1f}  calibration"
        )
    return "\n".join(lines)


@question(
    "13/iteration",
    "AWS's tutorial runs a network of three layers, with this ReLU behind two of them. With one"
    " processor and TCM it prints 220.7 iterations per second. And with eight processors?",
    unit="iterations/s",
    wrong=[
        Misconception("eight times all", lambda versions: 8 * float(PUBLISHED["TCM"]), "Eight"
                      " processors share the two operators. An iteration has more in it: the"
                      " layers, transfers, the host."),
        Misconception("no change", lambda versions: float(PUBLISHED["TCM"]), "The operators were"
                      " still a fifth of an iteration; seven eighths of that are saved."),
        Misconception("the operators were all", lambda versions: 1e9 / sum(map(_ns,
                      versions["eight"])), "That is how often the two operators alone would fit"
                      " into a second."),
    ],
)  # fmt: skip
def iteration(versions):
    """Return what the tutorial prints with eight processors."""
    one, eight = (sum(map(_ns, versions[name])) for name in ("TCM", "eight"))
    low, high = FACTS.element_ns_range.value
    short, long = FACTS.block_ns_range.value
    return Answer(
        round(float(PUBLISHED["eight"]), 1),
        f"The operators became {one / eight:.1f} times as fast, {one / 1e6:.2f} ms to"
        f" {eight / 1e6:.2f}; in this reading the other {OTHER_NS / 1e6:.2f} ms of an iteration"
        " stayed. What is left to gain in the operator is hardly worth a day's work.",
        lambda guess: [
            published_table(versions),
            Prose(
                "The rows are **calibration**: the prices of an element, of a stretch of code and"
                " of everything else were derived from just these three figures, so that they agree"
                " proves nothing. A fourth figure, the tutorial's training step, fixed no price:"
                f" {float(FACTS.training_iterations_per_s):.0f} iterations/s, and it lies in the"
                " band of what is predicted for its operators.",
                "Another reading: with eight processors the host has become the slower side, since"
                f" such a loop takes it {float(FACTS.host_step_ns) / 1e6:.1f} ms an iteration, and"
                " the operators took more of the time before. The bands leave room for it: an"
                f" element takes {low} to {high} ns, a stretch of code without a jump {short} to"
                f" {long}. Published in"
                f" [AWS's tutorial]({SOURCES['aws-customop-perf'].url}).",
            ),
        ],
    )


# --- a race ---------------------------------------------------------------------------------------

_RACES = ("the result is right, only the work is done eight times", "it is refused: two processors"
          " write one element", "only the last processor's part is right")  # fmt: skip


@question(
    "13/race",
    "Each processor's share is taken one number too long: the next one writes that number too, and"
    " the same value. What happens here?",
    options=_RACES,
    wrong=[
        Misconception("the same value anyway", lambda said, ratio: _RACES[0], "True of this value,"
                      " on this day. It stays true until somebody changes the program, say, to work"
                      " in place; then it fails at times. So any race is refused."),
        Misconception("the last one wins all", lambda said, ratio: _RACES[2], "Whoever is last wins"
                      " the elements that two of them write, not all others."),
    ],
)  # fmt: skip
def race(said, ratio):
    """Return what becomes of shares that overlap."""
    return Answer(
        _RACES[1] if "race" in said else _RACES[0],
        "Processors have no way to wait for each other, and TCM copies are not kept coherent. On"
        " the chip such a program runs, and is right most of the time, which is worse.",
        lambda guess: [said, f"right shares, eight processors: {ratio:.1f} times as fast as one"],
    )


# --- another engine -------------------------------------------------------------------------------


@question(
    "13/scalar",
    "The Scalar Engine has ReLU as an instruction. How many times as fast is a kernel that loads"
    " the numbers, runs it, and stores them, as the operator on eight processors?",
    unit="times",
    wrong=[
        Misconception("lanes over processors", lambda eight, kernel: 16.0, "128 lanes, eight"
                      " processors, one clock. But the kernel also waits for load and store,"
                      " which take most of its time; and a processor needs more than a cycle."),
        Misconception("the instruction alone", lambda eight, kernel: round(
                          _ns(eight) / kernel.timeline.busy_ns("scalar")), "That is the"
                      " instruction alone; numbers have to come from HBM, and go back."),
        Misconception("both wait for HBM", lambda eight, kernel: 1.0, "Both do. But sixteen DMA"
                      " queues carry the kernel's tile at once, and each processor carries its 4 KB"
                      " and waits."),
    ],
)  # fmt: skip
def scalar(eight, kernel):
    """Return how many times as fast the Scalar Engine is."""
    return Answer(
        _times(eight, kernel),
        f"{_ns(kernel) / 1e3:.1f} µs, of which the instruction takes"
        f" {kernel.timeline.busy_ns('scalar') / 1e3:.2f}. In a larger kernel load and store vanish"
        " behind other work; the operator is a node of its own and always goes through HBM.",
        lambda guess: [
            f"operator on eight processors {_ns(eight) / 1e3:8.1f} µs\n"
            f"kernel on Scalar             {_ns(kernel) / 1e3:8.1f} µs",
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
    return round(100 * (_ns(run) / _ns(than) - 1))


@question(
    "13/cast",
    "Vector copies numbers into a tile of BF16, rounded to nearest. The chip is then told to round"
    " stochastically. How many per cent longer does the kernel take?",
    unit="%",
    above=-1,
    wrong=[
        Misconception("dice cost a pass", lambda operator, nearest, stochastic, x: 100, "There is"
                      " no second pass: whichever engine writes BF16 rounds on the way out."),
        Misconception("as in C++", lambda operator, nearest, stochastic, x:
                      _longer(operator, nearest), "That is what your own dice cost, on eight"
                      " processors. The chip has its own."),
    ],
)  # fmt: skip
def cast(operator, nearest, stochastic, x):
    """Return by how much stochastic rounding lengthens a kernel."""
    wanted = float(np.mean(x, dtype=np.float64))
    rows = {"operator": operator, "chip, nearest": nearest, "chip, stochastic": stochastic}
    table = "\n".join(
        f"{name:<17} {_ns(run) / 1e3:7.1f} µs   rounded up {upper_share(run.outputs)}"
        for name, run in rows.items()
    )
    return Answer(
        _longer(stochastic, nearest),
        f"The same instruction, the same time (assumed: nobody publishes another). All numbers are"
        f" {wanted:.6f}; your dice and the chip's both keep the mean, and rounding to nearest moves"
        " it.",
        lambda guess: [
            table,
            Prose(
                "The hardware's own rounding is better in three ways. It costs nothing, and the"
                " operator goes through HBM and back. It works in every instruction that writes"
                " BF16, sums and updates of weights too, where an operator only reaches what was"
                " stored. And nobody has to give each processor dice of its own: forget"
                " `get_cpu_id()` in the seed, and eight shares are rounded alike."
            ),
        ],
    )
