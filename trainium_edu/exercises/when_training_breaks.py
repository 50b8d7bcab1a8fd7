"""Exercises of lesson 09b: the line that lets replicas drift apart; ranks for a deadline."""

import contextlib
import io
import math
import warnings
from functools import partial

import numpy as np

from trainium_edu.exercises.exercise import exercise, words_of
from trainium_edu.exercises.judge import compare
from trainium_edu.exercises.scripts import Script, draw_scripts, find_the_lines
from trainium_edu.specs import PRICES

# --- the line that lets replicas drift apart ------------------------------------------------------

_RANKS = 4
_WORDS = words_of(__file__)["scripts"]


def drift(script: str) -> float:
    """Run a script on four ranks; return how far apart any weight of two replicas is at the end.

    Parameters
    ----------
    script : str
        Lines as :func:`scripts` has them.
    """
    from trainium_edu.training.parallel.lockstep import ReplicasDrift, launch
    from trainium_edu.xla.tensor import EarlyRun

    def run(rank):
        names = _names(rank)
        exec(compile(script, "script", "exec"), names)
        return np.concatenate([p.numpy().reshape(-1) for p in names["model"].parameters()])

    with warnings.catch_warnings(), contextlib.redirect_stdout(io.StringIO()):
        warnings.simplefilter("ignore", EarlyRun)
        warnings.simplefilter("ignore", ReplicasDrift)  # it is what the learner looks for
        return float(np.ptp(np.stack(launch(run, _RANKS)), axis=0).max())


def _names(rank):
    """Return the names that the scripts use."""
    from trainium_edu import numerics
    from trainium_edu.training import nn, optim
    from trainium_edu.xla import xm
    from trainium_edu.xla.tensor import as_tensor

    device, rng = xm.xla_device(), np.random.default_rng(rank)

    def batch(size):
        x, y = rng.normal(0, 1, (size, 8)), rng.integers(0, 3, size)
        return as_tensor(x, device), as_tensor(y, device)

    def to_bf16(p, seed):
        return as_tensor(numerics.cast(p.numpy(), "bf16", "stochastic", seed=seed), device)

    def noise(shape):
        return as_tensor(rng.normal(0, 0.05, shape), device)

    functions = {function.__name__: function for function in (batch, noise, to_bf16)}
    return functions | {"rank": rank, "device": device, "nn": nn, "optim": optim, "xm": xm}


def scripts(student: str = "") -> list[Script]:
    """Return the three scripts of a student."""
    return drifting.numbers(student).scripts


@exercise("09b/drift", numbers=lambda draw: {"scripts": draw_scripts(draw, _WORDS)})
def drifting(answer, numbers):
    """Compare with the line by which ranks end with other weights."""
    find_the_lines(answer, numbers.scripts, _WORDS)


# --- ranks for a deadline -------------------------------------------------------------------------


def _offer(draw, i, name, ranks, instances, share):
    """Draw an offer; the more instances, the more of a step is communication."""
    rate = draw.integer("rate", 20, 60) * ranks * (1 - share)
    rate *= draw.integer(f"rate {i}", 97, 103) / 100
    usd = PRICES[name].on_demand_usd_per_hour.value
    return name, instances, round(rate, 1), usd


def offers(draw) -> list[tuple]:
    """Draw (instance, how many, samples per second of all, USD per hour of one) at list prices."""
    loss = draw.integer("communication", 9, 13) / 100
    rows = [("trn1.2xlarge", 2, 1, 0.02)]
    for name, part in (("trn1.32xlarge", 1), ("trn1n.32xlarge", 0.4)):  # trn1n has more network
        rows += [(name, 32 * n, n, part * loss * (1 + n.bit_length())) for n in (1, 4, 8)]
    made = [_offer(draw, i, *row) for i, row in enumerate(rows)]
    return draw.shuffled("order", made)


def _hours(offer, samples):
    return samples / offer[2] / 3600


def _usd(offer, samples):
    return _hours(offer, samples) * offer[1] * offer[3]


def _best(offers, samples, hours, usd, by=_usd, late=False):
    """Return the offer that is least by some measure among those in time; the cheapest is right."""
    inside = [o for o in offers if late or _hours(o, samples) <= hours]
    inside = [o for o in inside if _usd(o, samples) <= usd]
    return min(inside, key=lambda o: by(o, samples))[:2] if inside else "none"


#: What chooses: the right way, and the wrong ones by name.
CHOICES = {
    "right": _best,
    "the fastest": partial(_best, by=_hours),
    "the fewest instances": partial(_best, by=lambda o, samples: o[1] * o[3]),
    "no deadline": partial(_best, late=True),
    "one instance's price": lambda offers, *rest: _best(
        [(*o[:3], o[3] / o[1]) for o in offers], *rest
    ),
    "no budget": lambda o, n, hours, usd: _best(o, n, hours, math.inf),
    "minutes": lambda o, n, hours, usd: _best(o, n, 60 * hours, usd),
}


def _drawn(draw):
    made = offers(draw)
    samples = draw.integer("samples", 40, 400) * 10**5
    times = sorted(_hours(o, samples) for o in made)
    bills = sorted(_usd(o, samples) for o in made)
    cases = [
        (made, samples, round(1.05 * times[k], 2), round(1.05 * bills[j], 2))
        for k in range(7)
        for j in (2, 6)
    ]
    return {"cases": cases}


@exercise("09b/deadline", numbers=_drawn)
def deadline(answer, numbers):
    """Try deadlines and budgets between the offers; recognise the usual short cuts."""
    known = [(name, n) for name, n, *_ in numbers.cases[0][0]]  # all cases have these offers
    form = "no offer", lambda got: got == "none" or got in known

    def told(*case):
        got = answer(*case)
        return tuple(got) if isinstance(got, list) else got

    beliefs = {name: choose for name, choose in CHOICES.items() if name != "right"}
    compare(told, numbers.cases, _best, beliefs, form)
