"""Questions of lesson 09: same gradient, thirty-two ranks' time, buckets, rounding, batch size."""

from bisect import bisect

import numpy as np

from trainium_edu.exercises.predict import Answer, question, words_of
from trainium_edu.exercises.questions.tables import numbers, table
from trainium_edu.training.accuracy_sweep import accuracy_table, stored_digits_accuracy
from trainium_edu.training.digits_on_ranks import in_us, one_sum
from trainium_edu.training.tasks import TASKS
from trainium_edu.viz.data_parallel import step_bars, step_scene
from trainium_edu.widgets.sketch import Page, Sketch
from trainium_edu.widgets.training_cost import step_panel

_SHOWN = words_of(__file__)["shown"]

# --- the same gradient ----------------------------------------------------------------------------


@question("09/same-update")
def same_update(weights):
    """Return how equal the weights are after a step on one rank, and on several."""
    apart = {n: float(np.abs(w - weights[1]).max()) for n, w in weights.items() if n > 1}
    sums = {name: one_sum(name) for name in ("ring", "mesh")}
    is_same, is_close = (max(apart.values()) <= limit for limit in (0, 1e-6))
    return Answer(
        [(True, True), (False, True), (False, False)].index((is_same, is_close)),
        show=lambda guess: [
            table(_SHOWN["same"], [(n, d < 1e-6) for n, d in apart.items()]),
            table(_SHOWN["sums"], sums.items()),
        ],
    )


# --- the time of a step ---------------------------------------------------------------------------


def _of_ranks(reports):
    return step_bars({f"{n} ranks": report for n, report in reports.items()})


def _straight(reports, ranks):
    few, more = sorted(n for n in reports if n < ranks)[-2:]
    slope = (reports[more].step_ns - reports[few].step_ns) / (more - few)
    return reports[more].step_ns + slope * (ranks - more)


@question("09/thirty-two")
def thirty_two(reports, ranks):
    """Return the microseconds of a step on so many ranks."""
    most, few = reports[ranks], reports[min(reports)]
    band = most.band
    images, wanted = most.samples_per_s / few.samples_per_s, ranks / few.ranks
    return Answer(
        round(most.step_ns / 1e3),
        wrong={
            "the sum is free": most.compute_ns / 1e3,
            "a straight line": _straight(reports, ranks) / 1e3,
            "nothing is hidden": (most.compute_ns + most.communication_ns) / 1e3,
            "one after the other": most.compute_ns * ranks / 1e3,
        },
        terms={
            "steps": 2 * (ranks - 1),
            "communication_us": in_us(most.communication_ns),
            "exposed_us": in_us(most.exposed_ns),
        },
        show=lambda guess: [
            _of_ranks(reports),
            _SHOWN["band"].format(
                wanted, images, ranks, in_us(band.low_ns), in_us(band.high_ns), band.most
            ),
        ],
    )


@question("09/strong")
def strong(reports):
    """Return on how many ranks a step of the same images is shortest."""
    best = min(reports, key=lambda n: reports[n].step_ns)
    return Answer(f"{best} ranks", show=lambda guess: _of_ranks(reports))


# --- overlap --------------------------------------------------------------------------------------


@question("09/exposed")
def exposed(one, apart, more):
    """Return the microseconds of communication that show with several buckets."""
    both = {"with overlap": more, "without": apart}
    steps = {"one bucket": one, "three buckets": more, "three, apart": apart}

    def page(values) -> Page:
        return Page(step_scene(both, width=values["width"]))

    return Answer(
        round(more.exposed_ns / 1e3, 1),
        wrong={
            "nothing overlaps": apart.exposed_ns / 1e3,
            "the same share": apart.communication_ns * one.exposed_ns / one.communication_ns / 1e3,
            "a third": apart.communication_ns / 3e3,
            "one bucket's sum": one.communication_ns / 1e3,
            "as much as one bucket shows": one.exposed_ns / 1e3,
        },
        terms={
            f"{name}{part}_us": in_us(getattr(report, f"{part}_ns"))
            for name, report in (("", more), ("one_", one))
            for part in ("communication", "exposed", "step")
        },
        show=lambda guess: [Sketch([], page, "With and without overlap"), step_bars(steps)],
    )


# --- buckets --------------------------------------------------------------------------------------


@question("09/buckets")
def buckets(one, three):
    """Return how the exposed communication of three buckets compares with that of one."""
    return Answer(
        bisect((0.5, 2), three.exposed_ns / one.exposed_ns),
        terms={"one_us": in_us(one.exposed_ns), "three_us": in_us(three.exposed_ns)},
        show=lambda guess: step_bars({"one bucket": one, "three buckets": three}),
    )


# --- rounding -------------------------------------------------------------------------------------


def _behind(runs):
    """Return by what share each BF16 run's last losses exceed FP32's."""
    last = {name: float(np.mean(run.loss[-5:])) for name, run in runs.items()}
    return {name: loss / last["FP32"] - 1 for name, loss in last.items() if name != "FP32"}


@question("09/rounding")
def rounding(runs):
    """Return which BF16 run is behind FP32 by more than two per cent of its loss."""
    behind = {name: share > 0.02 for name, share in _behind(runs).items()}
    nearest, dice = behind.values()
    told = [(name, "clearly more" if worse else "the same") for name, worse in behind.items()]
    return Answer(
        [(True, False), (False, True), (True, True), (False, False)].index((nearest, dice)),
        terms={"note": TASKS["digits-cnn"].note},
        show=lambda guess: [
            table(_SHOWN["loss"], told),
            accuracy_table(stored_digits_accuracy(), optimizer="adam"),
        ],
    )


# --- batch size and learning rate -----------------------------------------------------------------

_RIGHT = ((0.9, "over 9 of 10 right"), (0.5, "5 to 9 of 10 right"), (0, "less than half right"))


def _learnt(run) -> bool:
    return run.accuracy[-1][1] >= 0.9


@question("09/linear-rule")
def linear_rule(runs):
    """Return which runs with a learning rate that grows with the ranks have learnt."""
    rows = []
    for (ranks, _), run in runs.items():
        share = run.accuracy[-1][1]
        told = next(words for least, words in _RIGHT if share >= least)
        rows.append((ranks, run.job, len(run.steps), told))
    eight, most = _learnt(runs[8, True]), _learnt(runs[32, True])
    return Answer(
        [(True, True), (True, False), (False, True), (False, False)].index((eight, most)),
        terms={"lr": runs[32, True].job.lr},
        show=lambda guess: table(_SHOWN["learnt"], rows),
    )


# --- where weak scaling bends ---------------------------------------------------------------------

_RANKS = 128


@question("09/bend")
def bend(weak, remedies):
    """Return the per cent of samples per second and rank that are left on four instances."""
    at = {p.ranks: p for p in weak}
    report = at[_RANKS].report
    rows = [(p.ranks, p.instances, p.efficiency) for p in weak]
    bars = {f"{p.ranks} ranks": 100 * p.efficiency for p in weak}
    return Answer(
        round(100 * at[_RANKS].efficiency, 1),
        wrong={
            "as on one instance": 100 * at[32].efficiency,
            "four take turns": 25 * at[32].efficiency,
            "nothing hidden": 100 * at[2].step_ns / (report.compute_ns + report.communication_ns),
        },
        terms={
            "here_us": in_us(report.communication_ns),
            "instance_us": in_us(at[32].report.communication_ns),
        },
        show=lambda guess: [
            numbers(_SHOWN["bend"], rows, bars),
            step_panel(),
            table(_SHOWN["remedies"], [(name, p.efficiency) for name, p in remedies.items()]),
        ],
    )
