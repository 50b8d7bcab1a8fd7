"""Questions of lesson 02: carrying tosses, the quick test, long sums, who falls behind."""

import functools
import math

import numpy as np

from trainium_edu.exercises.predict import Answer, Misconception, question
from trainium_edu.numerics.gaps import gap, round_repeatedly
from trainium_edu.specs import SOFTWARE
from trainium_edu.widgets.accumulation import long_sums_explorer, quick_test_explorer

_N_DRAWS = 2**16


def _spaced(n) -> str:
    return f"{n:_}".replace("_", " ")


@question(
    "02/carrying-tosses",
    "How many of the 65 536 tosses send x up?",
    unit="tosses",
    whole=True,
    above=-1,
    wrong=[
        Misconception("a fair coin", lambda x: _N_DRAWS // 2, "That is a fair coin. A toss sends"
                      " x up only if it and the dropped bits overflow sixteen bits together."),
        Misconception("the tosses that do not carry",
                      lambda x: _N_DRAWS - int(_N_DRAWS * gap(x, "bf16").p_up), "Those are the"
                      " tosses too small to carry: they leave x down."),
        Misconception("nearest-even", lambda x: _N_DRAWS * (gap(x, "bf16").nearest > x),
                      "That is nearest-even, which always takes the closer end. With dice a"
                      " large toss carries even here."),
        Misconception("the distance as a share of 1", lambda x: int(_N_DRAWS * (x % 1)), "That"
                      " takes the distance from 1 as a share of 1. What counts is its share of"
                      " the gap, which is 1/128 wide."),
    ],
)  # fmt: skip
def carrying_tosses(x):
    """Return how many tosses carry: the dropped bits, read as a number."""
    between = gap(x, "bf16")
    up = int(_N_DRAWS * between.p_up)
    counts = [(n, round_repeatedly(between, n, seed=3).up) for n in (10, 10_000, 1_000_000)]
    return Answer(
        up,
        f"The dropped bits are worth {_spaced(up)}, so the {_spaced(up)} largest tosses carry: "
        f"{between.p_up} of all. That is how far x lies from the lower neighbour, in gaps.",
        lambda guess: "Went up: " + "; ".join(
            f"{_spaced(up)} of {_spaced(n)} throws" for n, up in counts
        ),
    )  # fmt: skip


@question(
    "02/quick-test-nearest",
    "Where does the sum end with nearest-even?",
    whole=True,
    wrong=[
        Misconception("the sum on paper", lambda test: 1024 + int(test.terms_added[-1]) // 2, "That"
                      " is the sum on paper, rounded once at the end. Here every single sum is"
                      " rounded, and the next addition starts from what is left."),
        Misconception("every second term is lost",
                      lambda test: 1024 + int(test.terms_added[-1]) // 4, "Even does not mean"
                      " every second one. A tie goes to the neighbour whose last bit is 0; where"
                      " did it go the first time, and from where does the second start?"),
        Misconception("the result with dice",
                      lambda test: SOFTWARE.quick_test_stochastic.value,
                      "That is what AWS's page prints with stochastic rounding."),
    ],
)  # fmt: skip
def quick_test_nearest(test):
    """Return the last sum of the run with nearest-even."""
    table = test.table().splitlines()
    return Answer(
        int(test.nearest[-1]),
        "1024.5 is a tie, and 1024 is the even neighbour: the sum never leaves its place. Two "
        "thousand additions, and not one of them arrived.",
        lambda guess: [quick_test_explorer(guess=guess), "\n".join(table[3:])],
    )


_TIMES = {10.0: "about ten times larger", 10**0.5: "about √10 ≈ 3 times larger",
          1.0: "about the same", 10**-0.5: "much smaller"}  # fmt: skip


def _option(ratio) -> str:
    """Return the option that a ratio of errors comes nearest to."""
    return min(_TIMES.items(), key=lambda item: abs(math.log(item[0] / ratio)))[1]


def _lengths(sums):
    return [int(np.abs(sums.n - n).argmin()) for n in (1_000, 10_000)]


def _more_terms(sums) -> float:
    first, second = _lengths(sums)
    return sums.n[second] / sums.n[first]


@question(
    "02/long-sums",
    "Dice, and ten times more terms (10 000 instead of 1 000). The sum's relative error becomes …",
    options=list(_TIMES.values()),
    wrong=[
        Misconception("n, the law of a bias", lambda sums: _option(_more_terms(sums)), "That is"
                      " how a bias grows, each error pointing the same way. Dice err to both"
                      " sides; and the sum grows tenfold too."),
        Misconception("√n, not divided by the sum",
                      lambda sums: _option(_more_terms(sums) ** 0.5), "√n is the law of the"
                      " error itself while the gaps stay equal. Here the gaps grow with the sum;"
                      " and the error is to be divided by the sum."),
        Misconception("√n over n", lambda sums: _option(_more_terms(sums) ** -0.5), "√n over n"
                      " would be right if the gap stayed as it is. It doubles each time the sum"
                      " does, and so does what one toss can spoil."),
    ],
)  # fmt: skip
def long_sums_grow(sums):
    """Return how the median relative error of the stochastic sums changes."""
    first, second = _lengths(sums)
    ratio = sums.stochastic[second] / sums.stochastic[first]
    return Answer(
        _option(ratio),
        "The sum grows, and its scatter grows as fast: a few per cent in BF16, to both sides. Not "
        f"good, but better than the {100 * sums.nearest[-1]:.0f} % of nearest-even, which stands "
        "still.",
        lambda guess: [
            long_sums_explorer(guess=next((t for t, o in _TIMES.items() if o == guess), None)),
            sums.table(),
        ],
    )


_BEHIND = ("hopeless, near 10 %", "well behind the others", "about as good as the others")


def _standing(nearest, others) -> str:
    """Return the option for an accuracy of nearest-even beside the others'."""
    return _BEHIND[0 if nearest < 0.2 else 1 if min(others) - nearest >= 0.05 else 2]


@functools.cache
def _accuracies(learning_rate, epochs) -> dict:
    from trainium_edu.training import ARMS, train  # compiled loops: only when asked

    options = {"learning_rate": learning_rate, "epochs": epochs, "seeds": [0], "rounding_seed": 0}
    runs = {arm: train(arm, **options) for arm in ARMS}
    return {arm: float(run.final_accuracy[0]) for arm, run in runs.items()}


def _ends(learning_rate, epochs, nearest=None) -> str:
    found = _accuracies(learning_rate, epochs)
    mine = found["nearest"] if nearest is None else nearest
    return _standing(mine, [found[arm] for arm in found if arm != "nearest"])


@question(
    "02/who-falls-behind",
    "Learning rate 0.1, a usual one for this network. After 20 epochs, BF16 nearest is …",
    options=_BEHIND,
    wrong=[
        Misconception("no update arrives", lambda learning_rate, epochs: _ends(
                          learning_rate, epochs, nearest=0.1), "That is guessing, one digit in"
                      " ten: it would be like this if no update arrived. But an update is as long"
                      " as the learning rate makes it, and this rate is large."),
        Misconception("as with ten times shorter steps", lambda learning_rate, epochs: _ends(
                          learning_rate / 10, epochs), "That is what happens with steps ten"
                      " times shorter, as you can see below when you lower the rate. Terms get lost"
                      " if they are small beside the gap."),
    ],
)  # fmt: skip
def who_falls_behind(learning_rate, epochs):
    """Return how nearest-even ends beside the other arms."""
    from trainium_edu.training import frozen_weights
    from trainium_edu.widgets.training import training_explorer

    frozen = [frozen_weights(rate) for rate in (learning_rate, 0.01, 0.003)]
    moved = 1 - frozen[0].share
    return Answer(
        _ends(learning_rate, epochs),
        f"At {learning_rate:g} an update is long enough to move {100 * moved:.0f} % of the weights "
        "in one batch, and other batches move others: enough to learn. Now lower the rate.",
        lambda guess: [
            training_explorer(learning_rate, epochs=epochs),
            "\n".join(["One update of one network, nearest-even:", *map(repr, frozen)]),
            "BF16's numbers near 0.1 lie 1/2048 apart. An update shorter than half of that is "
            "rounded back to where it came from. So nearest-even gets worse as the learning rate "
            "falls, which is the wrong way round: lowering the rate is how one finishes "
            "training.",
        ],
    )
