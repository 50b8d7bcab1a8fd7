"""Questions of lesson 09: same gradient, thirty-two ranks' time, buckets, rounding, batch size."""

import numpy as np

from trainium_edu.exercises.predict import Answer, Misconception, question
from trainium_edu.training.accuracy_sweep import accuracy_table
from trainium_edu.training.digits_accuracy import stored_digits_accuracy
from trainium_edu.training.digits_on_ranks import one_sum, step_table
from trainium_edu.training.tasks import TASKS
from trainium_edu.viz.data_parallel import plot_scaling, plot_step
from trainium_edu.widgets.card import Prose
from trainium_edu.widgets.picture import Picture


def _us(ns) -> str:
    return f"{ns / 1e3:.1f} µs"


# --- the same gradient ----------------------------------------------------------------------------

_SAME = ("the same bits", "the same up to the last digits", "other weights: each saw other images")


def _difference(weights):
    """Return the largest difference from a single rank's weights, by number of ranks."""
    return {n: float(np.abs(w - weights[1]).max()) for n, w in weights.items() if n > 1}


@question(
    "09/same-update",
    "32 ranks, 8 images each, or one rank with all 256. After one step in FP32, their weights are",
    options=_SAME,
    wrong=[
        Misconception("sums have no order", lambda weights: _SAME[0], "Mathematics says so. But an"
                      " FP32 addition rounds, and 32 partial sums are added up in another order"
                      " than 256 images in a row."),
        Misconception("other images, other model", lambda weights: _SAME[2], "Each rank's own"
                      " gradient is another, yes. But each applies the mean of all 32, and that is"
                      " the gradient of all 256 images."),
    ],
)  # fmt: skip
def same_update(weights):
    """Return how equal the weights are after a step on one rank, and on several."""
    apart = _difference(weights)
    most, sums = max(apart.values()), {name: one_sum(name) for name in ("ring", "mesh")}
    return Answer(
        _SAME[0] if not most else _SAME[1] if most < 1e-6 else _SAME[2],
        "The mean of the ranks' means is the mean of all images, so the mathematics is the same;"
        " the order of the additions is not, and each addition rounds.",
        lambda guess: [
            "\n".join(f"{n:2} ranks: largest difference from one rank less than 1e-6: {d < 1e-6}"
                      for n, d in apart.items()),
            "one number of each of 32 ranks, added\n"
            + "\n".join(f"  as the {name:5}does: {total:.6f}" for name, total in sums.items()),
        ],
    )  # fmt: skip


# --- the time of a step ---------------------------------------------------------------------------


def _of(function):
    return lambda reports, ranks: function(reports, ranks) / 1e3


def _straight(reports, ranks):
    few, more = sorted(n for n in reports if n < ranks)[-2:]
    slope = (reports[more].step_ns - reports[few].step_ns) / (more - few)
    return reports[more].step_ns + slope * (ranks - more)


@question(
    "09/thirty-two",
    "And 32 ranks, with 32 images each as before: how long is a step?",
    unit="µs",
    wrong=[
        Misconception("the sum is free", _of(lambda reports, ranks: reports[ranks].compute_ns),
                      "That is the computing alone: each rank has as many images as before. But"
                      " now there are sums that do not fit beside it."),
        Misconception("a straight line", _of(_straight), "You drew a straight line through the two"
                      " steps. On two ranks the whole sum was hidden; once it shows, each rank more"
                      " costs two more steps of the ring."),
        Misconception("nothing is hidden", _of(lambda reports, ranks: reports[ranks].compute_ns
                      + reports[ranks].communication_ns), "Computing plus the whole sum: nearly."
                      " A part of the sum travels while the engines are still at work."),
        Misconception("one after the other", _of(lambda reports, ranks: reports[ranks].compute_ns
                      * ranks), "That is one rank doing the work of all. They work at the same"
                      " time, each on its own images."),
    ],
)  # fmt: skip
def thirty_two(reports, ranks):
    """Return the microseconds of a step on so many ranks."""
    most, few = reports[ranks], reports[min(reports)]
    images, wanted = most.samples_per_s / few.samples_per_s, ranks / few.ranks
    return Answer(
        round(most.step_ns / 1e3, 1),
        f"A ring of {ranks} ranks takes {2 * (ranks - 1)} steps of 1.5 µs, however little it"
        f" carries: the sum takes {_us(most.communication_ns)}, and {_us(most.exposed_ns)} of them"
        " show.",
        lambda guess: [
            step_table({f"{n} ranks": r for n, r in reports.items()}),
            f"{wanted:.0f} times the ranks and the images, {images:.1f} times the images per"
            f" second. The model's band for {ranks} ranks: {_us(most.band.low_ns)} to"
            f" {_us(most.band.high_ns)}; what moves it most: {most.band.most}.",
        ],
    )


_STRONG = ("2 ranks", "8 ranks", "32 ranks")


@question(
    "09/strong",
    "Now always 1024 images a step, shared by all ranks. On how many is a step shortest?",
    options=_STRONG,
    wrong=[
        Misconception("no sum, no loss", lambda reports: _STRONG[0], "Its sum is short and hidden."
                      " But it has 512 images to each rank, and that takes longer than what a few"
                      " more ranks need to sum."),
        Misconception("more is faster", lambda reports: _STRONG[2], "It computes least: 32 images"
                      " each. But a small batch saves little, for the chip mostly waits for"
                      " transfers to begin, and the sum is the longest of all."),
    ],
)  # fmt: skip
def strong(reports):
    """Return on how many ranks a step of the same images is shortest."""
    best = min(reports, key=lambda n: reports[n].step_ns)
    return Answer(
        f"{best} ranks",
        "More ranks share the work, and more ranks take longer to sum. Somewhere in between it is"
        " shortest.",
        lambda guess: step_table({f"{n} ranks": r for n, r in reports.items()}),
    )


# --- overlap --------------------------------------------------------------------------------------


def _shown(function):
    return lambda one, apart, more: function(one, apart, more) / 1e3


@question(
    "09/exposed",
    "Three buckets, with overlap: how much of the communication shows?",
    unit="µs",
    above=-1,
    wrong=[
        Misconception("nothing overlaps", _shown(lambda one, apart, more: apart.exposed_ns),
                      "That is all of it, as if no bucket left before backward has ended."),
        Misconception("the same share", _shown(lambda one, apart, more: apart.communication_ns
                      * one.exposed_ns / one.communication_ns), "You took the share that shows with"
                      " one bucket. But one bucket is full only when backward has ended; of three,"
                      " two are full before."),
        Misconception("all hidden", lambda one, apart, more: 0, "There is computing enough to hide"
                      " it all. But the last bucket is full only when backward has ended, and only"
                      " the update is left to hide it."),
        Misconception("a third", _shown(lambda one, apart, more: apart.communication_ns / 3),
                      "The last of three always ends after backward. The update of other weights"
                      " goes on beside it, and buckets are not of equal size."),
    ],
)  # fmt: skip
def exposed(one, apart, more):
    """Return the microseconds of communication that show with several buckets."""
    return Answer(
        round(more.exposed_ns / 1e3, 1),
        f"{_us(more.communication_ns)} of communication in place of {_us(one.communication_ns)},"
        f" and {_us(more.exposed_ns)} that show in place of {_us(one.exposed_ns)}: the step takes"
        f" {_us(more.step_ns)} in place of {_us(one.step_ns)}.",
        lambda guess: [
            Picture(lambda: plot_step(more, apart), alt="One step with three buckets: with overlap"
                    f" {_us(more.step_ns)}, without {_us(apart.step_ns)}."),
            step_table({"one bucket": one, "three buckets": more, "three, apart": apart}),
        ],
    )  # fmt: skip


# --- buckets --------------------------------------------------------------------------------------

_BUCKETS = ("less than half as much shows", "about as much shows", "more than twice as much shows")


@question(
    "09/buckets",
    "Three buckets in place of one, so that the last layer's can leave early. On 32 ranks in a"
    " ring,",
    options=_BUCKETS,
    wrong=[
        Misconception("overlap is free", lambda one, three: _BUCKETS[0], "Two of three do leave"
                      " early. But each bucket is a sum of its own with all of a ring's steps, and"
                      " links carry one after the other."),
        Misconception("same bytes, same time", lambda one, three: _BUCKETS[1], "The same bytes"
                      " travel. But here nearly all of a sum's time is latency, and each bucket"
                      " pays it."),
    ],
)  # fmt: skip
def buckets(one, three):
    """Return how the exposed communication of three buckets compares with that of one."""
    ratio = three.exposed_ns / one.exposed_ns
    place = 0 if ratio < 0.5 else 2 if ratio > 2 else 1
    return Answer(
        _BUCKETS[place],
        f"{_us(one.exposed_ns)} become {_us(three.exposed_ns)}. This gradient is small, so a sum"
        " is nearly all latency, and three sums are three times the latency.",
        lambda guess: step_table({"one bucket": one, "three buckets": three}),
    )


# --- rounding -------------------------------------------------------------------------------------

_BEHIND = ("BF16 to nearest", "BF16 with dice", "both, about equally", "neither")


def _behind(runs):
    """Return by what share each BF16 run's last losses exceed FP32's."""
    last = {name: float(np.mean(run.loss[-5:])) for name, run in runs.items()}
    return {name: loss / last["FP32"] - 1 for name, loss in last.items() if name != "FP32"}


@question(
    "09/rounding",
    "After 60 steps, which of the two BF16 runs has clearly more loss than FP32?",
    options=_BEHIND,
    wrong=[
        Misconception("dice are noise", lambda runs: _BEHIND[1], "Each toss is an error, yes. But"
                      " their mean is zero, and over many weights and steps they cancel."),
        Misconception("BF16 is BF16", lambda runs: _BEHIND[2], "The numbers that can be stored are"
                      " the same. What happens to an update too small for them is not."),
        Misconception("eight bits are enough", lambda runs: _BEHIND[3], "For activations, nearly."
                      " For a weight that should move by a thousandth of itself, nothing moves."),
    ],
)  # fmt: skip
def rounding(runs):
    """Return which BF16 run is behind FP32 by more than two per cent of its loss."""
    nearest, dice = (share > 0.02 for share in _behind(runs).values())
    told = "\n".join(
        f"{name:18}{'clearly more' if share > 0.02 else 'the same'} loss"
        for name, share in _behind(runs).items()
    )
    return Answer(
        _BEHIND[2 if nearest and dice else 0 if nearest else 1 if dice else 3],
        "Rounded to nearest, small updates vanish, all in the same direction: towards standing"
        " still. With dice as many go through as should.",
        lambda guess: [
            told,
            Prose(
                "And over seeds: a small convolutional network on the digits, 32 ranks, Adam,"
                " trained beforehand; mean ± standard deviation. *At"
                " the larger rate* updates are large enough for any rounding; *at the smaller*"
                " they are not."
            ),
            accuracy_table(stored_digits_accuracy(), optimizer="adam"),
            Prose(
                "FP32 master weights beside BF16 ones do as well as dice, and keep more: the last"
                " columns count bytes per weight, what is kept and what an update moves.",
                TASKS["digits-cnn"].note,
            ),
        ],
    )


# --- batch size and learning rate -----------------------------------------------------------------

_RULE = ("8 and 32 ranks learn as 2 do", "8 ranks do, 32 do not", "32 ranks do, 8 do not",
         "neither 8 nor 32 do")  # fmt: skip


def _learnt(run) -> bool:
    return run.accuracy[-1][1] >= 0.9


def _rule(runs):
    eight, most = _learnt(runs[8, True]), _learnt(runs[32, True])
    return _RULE[0 if eight and most else 1 if eight else 2 if most else 3]


def _said(name, text):
    return Misconception(text, lambda runs: name, text)


@question(
    "09/linear-rule",
    "Twenty passes over the digits, learning rate times ranks:",
    options=_RULE,
    wrong=[
        Misconception("the rule holds", lambda runs: _RULE[0], "It does for a while. But a step"
                      " can be as long as the loss stays smooth under it, and no batch, however"
                      " large, changes that."),
        Misconception("larger is better", lambda runs: _RULE[2], "Nothing helps 32 ranks that 8 do"
                      " not have: they have the same mean gradient with less noise, and four times"
                      " the step."),
        Misconception("fewer steps learn less", lambda runs: _RULE[3], "They take a quarter of the"
                      " steps, and each is four times as long: where the gradient hardly changes"
                      " on the way, that is the same way."),
    ],
)  # fmt: skip
def linear_rule(runs):
    """Return which runs with a learning rate that grows with the ranks have learnt."""

    def line(ranks, grows):
        run = runs[ranks, grows]
        share = run.accuracy[-1][1]
        told = "over 9 of 10 right" if share >= 0.9 else "5 to 9 of 10 right" if share >= 0.5 else \
            "less than half right"  # fmt: skip
        return f"{ranks:5}{run.job.global_batch:10}{len(run.steps):8}{run.job.lr:9.1f}   {told}"

    return Answer(
        _rule(runs),
        "Four times the batch, four times the step: as long as the gradient hardly changes along"
        " a step, that is four small steps at once. At"
        f" {runs[32, True].job.lr:g} the steps are too long for this network.",
        lambda guess: [
            "ranks    images   steps     rate   after 20 passes, of the test digits\n"
            + "\n".join(line(*key) for key in runs),
            Prose(
                "With the rate left as it was, more ranks take fewer steps of the same length, and"
                " get less far. Neither is a law of nature: the rule's authors warm the rate up"
                " slowly, and claim it for their network and up to 8192 images a step."
            ),
        ],
    )


# --- where weak scaling bends ---------------------------------------------------------------------

_RANKS = 128


def _percent(function):
    return lambda weak, remedies: 100 * function({p.ranks: p for p in weak})


@question(
    "09/bend",
    "128 ranks, on four instances: how many per cent are left?",
    unit="%",
    most=100,
    wrong=[
        Misconception("as on one instance", _percent(lambda at: at[32].efficiency), "As on one"
                      " instance. But from here on each sum also crosses the network, and no bucket"
                      " is done before it has."),
        Misconception("four take turns", _percent(lambda at: at[32].efficiency / 4), "As if the"
                      " instances took turns. They compute at the same time; only the sums grow."),
        Misconception("nothing hidden", _percent(lambda at: at[2].step_ns / (
                      at[_RANKS].report.compute_ns + at[_RANKS].report.communication_ns)),
                      "Computing plus all communication: nearly. A part still travels beside the"
                      " backward pass."),
    ],
)  # fmt: skip
def bend(weak, remedies):
    """Return the per cent of samples per second and rank that are left on four instances."""
    at = {p.ranks: p for p in weak}
    here = at[_RANKS]
    return Answer(
        round(100 * here.efficiency, 1),
        f"The sums take {_us(here.report.communication_ns)} in place of"
        f" {_us(at[32].report.communication_ns)}: each bucket pays the network's latency.",
        lambda guess: [
            Picture(lambda: plot_scaling(weak, []), alt="Images per second by ranks: straight up"
                    " to 32, then bending down."),
            "\n".join(f"{p.ranks:5} ranks, {p.instances:2} instances: {p.efficiency:.0%}"
                      for p in weak),
            f"on {_RANKS} ranks, with\n"
            + "\n".join(f"  {name:20}{p.efficiency:.0%}" for name, p in remedies.items()),
        ],
    )  # fmt: skip
