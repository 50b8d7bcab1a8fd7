"""Questions of lesson 02: carrying tosses, the quick test, long sums, who falls behind."""

import functools
import math

import numpy as np

from trainium_edu.exercises.predict import Answer, question
from trainium_edu.numerics.gaps import gap, round_repeatedly
from trainium_edu.specs import SOFTWARE
from trainium_edu.widgets.accumulation import long_sums_explorer, quick_test_explorer

_N_DRAWS = 2**16


@question("02/carrying-tosses")
def carrying_tosses(x):
    """Return how many tosses carry: the dropped bits, read as a number."""
    between = gap(x, "bf16")
    up = int(_N_DRAWS * between.p_up)
    counts = [(n, round_repeatedly(between, n, seed=3).up) for n in (10, 10_000, 1_000_000)]
    return Answer(
        up,
        wrong={
            "a fair coin": _N_DRAWS // 2,
            "the tosses that do not carry": _N_DRAWS - up,
            "the last one not counted": up - 1,
            "one too many": up + 1,
            "nearest-even": _N_DRAWS * (between.nearest > x),
            "the distance as a share of 1": int(_N_DRAWS * (x % 1)),
        },
        terms={"up": f"{up:,}", "p_up": between.p_up},
        show=lambda guess: "Went up: " + "; ".join(f"{up:,} of {n:,} throws" for n, up in counts),
    )


@question("02/quick-test-nearest")
def quick_test_nearest(test):
    """Return the last sum of the run with nearest-even."""
    table, terms = test.table().splitlines(), int(test.terms_added[-1])
    return Answer(
        int(test.nearest[-1]),
        wrong={
            "the sum on paper": 1024 + terms // 2,
            "every second term is lost": 1024 + terms // 4,
            "whole steps": 1024 + terms,
            "the result with dice": SOFTWARE.quick_test_stochastic.value,
        },
        show=lambda guess: [quick_test_explorer(guess=guess), "\n".join(table[3:])],
    )


_TIMES = (10.0, 10**0.5, 1.0, 10**-0.5)  # as the options tell of them


def _option(ratio) -> int:
    """Return the place of the option that a ratio of errors comes nearest to."""
    return int(np.argmin([abs(math.log(times / ratio)) for times in _TIMES]))


@question("02/long-sums")
def long_sums_grow(sums):
    """Return how the median relative error of the stochastic sums changes."""
    first, second = (int(np.abs(sums.n - n).argmin()) for n in (1_000, 10_000))
    ratio, terms = sums.stochastic[second] / sums.stochastic[first], sums.n[second] / sums.n[first]
    times = dict(zip(long_sums_grow.options, _TIMES, strict=True))
    return Answer(
        _option(ratio),
        wrong={
            "n, the law of a bias": _option(terms),
            "√n, not divided by the sum": _option(terms**0.5),
            "√n over n": _option(terms**-0.5),
        },
        terms={"percent": 100 * sums.nearest[-1]},
        show=lambda guess: [
            long_sums_explorer(guess=times.get(guess)),
            sums.table(),
        ],
    )


@functools.cache
def _accuracies(learning_rate, epochs) -> dict:
    from trainium_edu.training import ARMS, train  # compiled loops: only when asked

    options = {"learning_rate": learning_rate, "epochs": epochs, "seeds": [0], "rounding_seed": 0}
    runs = {arm: train(arm, **options) for arm in ARMS}
    return {arm: float(run.final_accuracy[0]) for arm, run in runs.items()}


def _ends(learning_rate, epochs, nearest=None) -> int:
    """Return the option for an accuracy of nearest-even beside the others'."""
    found = _accuracies(learning_rate, epochs)
    mine = found["nearest"] if nearest is None else nearest
    behind = min(found[arm] for arm in found if arm != "nearest") - mine
    if mine < 0.2:
        return 0
    return 1 if behind >= 0.05 else 2


@question("02/who-falls-behind")
def who_falls_behind(learning_rate, epochs):
    """Return how nearest-even ends beside the other arms."""
    from trainium_edu.training import frozen_weights
    from trainium_edu.widgets.training import training_explorer

    frozen = [frozen_weights(rate) for rate in (learning_rate, 0.01, 0.003)]
    moved = 1 - frozen[0].share
    return Answer(
        _ends(learning_rate, epochs),
        wrong={
            "no update arrives": _ends(learning_rate, epochs, nearest=0.1),
            "as with ten times shorter steps": _ends(learning_rate / 10, epochs),
        },
        terms={"moved": 100 * moved},
        show=lambda guess: [
            training_explorer(learning_rate, epochs=epochs),
            "\n".join(["One update of one network, nearest-even:", *map(repr, frozen)]),
        ],
    )
