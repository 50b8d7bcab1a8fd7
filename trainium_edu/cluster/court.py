"""How a headline is judged: what its formula gives for all inputs in their ranges.

The inputs of a claim span a box, and a continuous formula takes on it every value from its least
to its greatest.  A headline allows a range as well: its printed digits and a little more.  If all
values are allowed, the claim is consistent; if none is, conflicting; if some are, it holds only
under conditions on single inputs, which are found by bisection.  A claim with an input that no
source has is untestable.  No verdict is written down anywhere.

Headlines are round numbers: besides what rounds to the print, 5 % either side are allowed.  With
any share from 1 to 10 % all but five of the verdicts are the same; ``judge(key, slack=...)`` tells.
"""

import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from enum import StrEnum
from itertools import pairwise
from math import inf, isclose, isfinite, isnan, nan
from typing import Any, Literal

import numpy as np

from trainium_edu.cluster.cost import Input, written
from trainium_edu.specs import CLAIMS, SOURCES, Fact
from trainium_edu.specs.arguments import number
from trainium_edu.specs.signatures import checked_after

__all__ = ["Claim", "Condition", "Ruling", "Verdict", "known", "reach", "rule", "solve"]

#: Points per input where one, two, three or more inputs have ranges.
_POINTS = {1: 1025, 2: 65, 3: 17}
_EPSILON = 1e-9
PLAY = 1.5  #: a number that is not opened may be so many times as large, or as small
#: What nobody would take another number of.
_COUNTED = ("NeuronCores", "chips", "processing elements")


class Verdict(StrEnum):
    """The value that a claim comes to."""

    CONSISTENT = "consistent"  #: whatever the inputs are within their ranges
    DEPENDS = "depends"  #: right for some of them, and `Ruling.conditions` says which
    CONFLICTING = "conflicting"  #: none of them
    UNTESTABLE = "untestable"  #: nobody published one of them


@dataclass(frozen=True, slots=True)
class Claim:
    """A headline as an executable row.

    Attributes
    ----------
    key, text : str
        A short name; what is claimed, in our words.
    fact : Fact
        Where it stands.
    claimed : float
    unit : str
    relation : {"about", "at least", "at most"}
    digit : float
        One in the last printed place: 0.1 for "1.4".  About means that it rounds to the print.
    slack : float
        Or that it lies so near, as a share of the claimed number.
    arithmetic, worked : str
        The formula in words; with the inputs' names, for their numbers to take their places.
    inputs : tuple of Input
    formula : callable
        Takes the inputs' values in order, numbers or arrays.
    also : tuple of (str, Fact)
        Further evidence.
    """

    key: str
    text: str
    fact: Fact
    claimed: float
    unit: str
    arithmetic: str
    inputs: tuple[Input, ...]
    formula: Callable[..., Any]
    worked: str
    relation: Literal["about", "at least", "at most"] = "about"
    digit: float = 0.0
    slack: float = float(CLAIMS.headline_slack)
    also: tuple[tuple[str, Fact], ...] = ()

    @property
    def source(self) -> str:
        """A key of ``specs.SOURCES``."""
        return self.fact.source

    @property
    def when(self) -> str:
        """The source's date."""
        return SOURCES[self.source].date

    @property
    def allowed(self) -> tuple[float, float]:
        """The range that the arithmetic must give for the headline to be right."""
        if self.relation == "at least":
            return self.claimed, inf
        if self.relation == "at most":
            return -inf, self.claimed
        off = max(self.digit / 2, self.slack * abs(self.claimed))
        return self.claimed - off, self.claimed + off

    @property
    def ruling(self) -> "Ruling":
        """The verdict with its inputs as they are."""
        return rule(self, self.inputs)

    @property
    def verdict(self) -> Verdict:
        """The value with its inputs as they are."""
        return self.ruling.verdict

    @checked_after
    def allows(self, value: float) -> bool:
        """Return whether a value agrees with the headline."""
        low, high = self.allowed
        near = _EPSILON * abs(self.claimed)
        return low - near <= value <= high + near

    def written(self, value: float) -> str:
        """Return a value in the claim's unit as people read it."""
        return written(number(value, "value"), self.unit, 5)

    def spell(self, value: float) -> str:
        """Return a value in the claim's unit, in three digits."""
        return written(value, self.unit, 3)

    def tick(self, value: float) -> str:
        """Return a value as an axis has it."""
        return self.spell(value).removesuffix(f" {self.unit}")

    def __str__(self):
        return f"{self.text} [{self.source}, {self.when}]"


@dataclass(frozen=True, slots=True)
class Condition:
    """The part of one input's range that makes a headline right, the others as used."""

    input: Input
    low: float
    high: float

    def __str__(self):
        return self._said(self.input.name, 4, "at most {0}", "at least {1}")

    @property
    def words(self) -> str:
        """It as people say it, in three digits: "the peak of a chip at 202 TFLOP/s or more"."""
        return self._said(f"the {self.input.words}", 3, "at {0} or less", "at {1} or more")

    def _said(self, name: str, digits: int, most: str, least: str) -> str:
        low, high = (self.input.written(end, digits) for end in (self.low, self.high))
        is_most, is_least = self.low <= self.input.low, self.high >= self.input.high
        how = most if is_most else least if is_least else "from {1} to {0}"
        return f"{name} {how.format(high, low)}"


@dataclass(frozen=True, slots=True)
class Ruling:
    """A verdict and what it rests on.

    Attributes
    ----------
    claim : Claim
    inputs : tuple of Input
        Those that were judged: the claim's, or moved ones.
    verdict : Verdict
    value : float
        What the formula gives for the inputs as used.
    low, high : float
        Over all inputs in their ranges.
    conditions : tuple of Condition
        Each alone turns the verdict; none if it takes several inputs, or cannot turn.
    together : tuple of (Input, float)
        Where no input alone does it: values that do.
    """

    claim: Claim
    inputs: tuple[Input, ...]
    verdict: Verdict
    value: float
    low: float
    high: float
    conditions: tuple[Condition, ...] = ()
    together: tuple[tuple[Input, float], ...] = ()

    @property
    def holds(self) -> bool:
        """Whether the headline is right for the inputs as used."""
        return self.claim.allows(self.value)

    @property
    def margin(self) -> float:
        """How far the value lies inside what is allowed (outside: negative), over the claim."""
        low, high = self.claim.allowed
        return min(self.value - low, high - self.value) / abs(self.claim.claimed)

    @property
    def condition(self) -> str:
        """The inputs that the verdict depends on, in words; empty if there are none."""
        if self.together:
            return " with ".join(f"{i.name} {i.written(v)}" for i, v in self.together)
        return " or ".join(map(str, self.conditions))

    @property
    def because(self) -> str:
        """What the verdict depends on or lacks, as people say it and in three digits."""
        missing = [each.words for each in self.inputs if not each.fact]
        if missing:
            return f"nobody published the {' and '.join(missing)}"
        said = [each.words for each in self.conditions]
        said += [" and ".join(f"the {i.words} at {i.written(v, 3)}" for i, v in self.together)]
        return f"right only with {' or '.join(filter(None, said))}" if any(said) else ""

    @property
    def worked(self) -> str:
        """The arithmetic with its numbers: "2 NeuronCores × 8 processors = 16 processors"."""
        formula = self.claim.worked
        for each in self.inputs:
            value = each.words if isnan(each.used) else each.written(each.used, 3)
            formula = re.sub(rf"\b{each.name}\b", value, formula)
        formula = formula.replace("*", "×").replace(" - ", " − ").replace("e+", "e")
        return f"{formula} = {'?' if isnan(self.value) else self.claim.spell(self.value)}"

    @property
    def sentence(self) -> str:
        """The arithmetic with its numbers, and what the verdict depends on."""
        return "; ".join(filter(None, [self.worked, self.because])) + "."

    @property
    def evidence(self) -> tuple[str, ...]:
        """The numbers behind the verdict and their sources, one a line."""
        claim, (low, high) = self.claim, self.claim.allowed
        ends = [claim.written(end) for end in (low, high) if isfinite(end)]
        lines = [f"says {claim.relation} {claim.written(claim.claimed)}"
                 + f", which allows {' to '.join(ends)}" * (claim.relation == "about")
                 + f" ({claim.fact.locator})",
                 f"arithmetic: {claim.arithmetic}", *map(str, self.inputs)]  # fmt: skip
        if not isnan(self.value):
            between = f", {claim.written(self.low)} to {claim.written(self.high)} over all ranges"
            lines.append(f"gives {claim.written(self.value)}{between * (self.low < self.high)}")
        open_ones = [i for i in self.inputs if i.is_range]
        lines += [line for i in open_ones for line in self._at_the_ends(i)]
        if self.condition:
            lines.append(f"right only with {self.condition}")
        fails = self.verdict is Verdict.CONFLICTING
        for each in open_ones or [i for i in self.inputs if fails and i.unit not in _COUNTED]:
            exactly = solve(claim, self.inputs, each.name)
            if not isnan(exactly) and not isclose(exactly, each.used, rel_tol=1e-6):
                outside = "" if each.low <= exactly <= each.high else ", which no source has"
                lines.append(f"exactly {claim.written(claim.claimed)} at {each.name} = "
                             f"{written(exactly, each.unit, 5)}{outside}")  # fmt: skip
        return (*lines, *(f"also: {words}: {fact}" for words, fact in claim.also))

    def _at_the_ends(self, moved):
        """Yield what the formula gives at the ends of one input's range, the others as used."""
        i = self.inputs.index(moved)
        for end in (moved.low, moved.high):
            value = _value(self.claim, self.inputs, i, end)
            if isfinite(value) and end != moved.used:
                yield f"  {self.claim.written(value)} at {moved.name} = {moved.written(end)}"

    def __str__(self):
        under = f" on {self.condition}" if self.verdict is Verdict.DEPENDS else ""
        return "\n  ".join([f"{self.claim}\n  {self.verdict.upper()}{under}", *self.evidence])


def rule(claim: Claim, inputs: tuple[Input, ...]) -> Ruling:
    """Judge a claim with some inputs in place of its own.

    Parameters
    ----------
    claim : Claim
    inputs : tuple of Input
        One for each of the claim's, in order.

    Returns
    -------
    Ruling
    """
    if any(i.fact is None for i in inputs):
        ruling = Ruling(claim, inputs, Verdict.UNTESTABLE, nan, nan, nan)
        return replace(ruling, conditions=_conditions(claim, inputs))
    with np.errstate(all="ignore"):
        value = float(claim.formula(*(np.float64(i.used) for i in inputs)))
        at, values = _over_the_box(claim, inputs)
    if not (isfinite(value) and np.isfinite(values).all()):
        given = ", ".join(f"{i.name} = {i.written(i.used)}" for i in inputs)
        raise ValueError(f"the arithmetic of {claim.key} gives no number at {given}; "
                         "move an input back")  # fmt: skip
    low, high = min(value, float(values.min())), max(value, float(values.max()))
    ruling = Ruling(claim, inputs, Verdict.CONFLICTING, value, low, high)
    if claim.allows(low) and claim.allows(high):
        return replace(ruling, verdict=Verdict.CONSISTENT)
    near = _EPSILON * abs(claim.claimed)
    if high < claim.allowed[0] - near or low > claim.allowed[1] + near:
        return ruling
    conditions = _conditions(claim, inputs)
    return replace(ruling, verdict=Verdict.DEPENDS, conditions=conditions,
                   together=() if conditions else _together(claim, inputs, at, values))  # fmt: skip


def reach(claim: Claim, inputs: Sequence[Input]) -> tuple[float, float]:
    """Return the least and the greatest value of a claim's formula, all inputs in their ranges."""
    _, values = _over_the_box(claim, inputs)
    return float(values.min()), float(values.max())


def known(each: Input, is_open: bool, has_range: bool) -> Input:
    """Return an input as far as somebody knows it who has opened its number, and its range."""
    if not each.fact or has_range:
        return each
    play = 1.0 if is_open else PLAY
    return replace(each, low=each.used / play, high=each.used * play)


def _over_the_box(claim, inputs):
    """Return points of the box of inputs (one array each) and what the formula gives there.

    A formula of several ranged inputs rises or falls with each, so its extremes are at corners.
    """
    ranged = sum(i.is_range for i in inputs)
    points = _POINTS.get(ranged, 5)
    axes = [np.linspace(i.low, i.high, points) if i.is_range else np.array([i.used])
            for i in inputs]  # fmt: skip
    if ranged == 1:  # there may be a kink: look closer around both extremes
        i = next(k for k, each in enumerate(inputs) if each.is_range)
        xs, values = axes[i], np.asarray(claim.formula(*axes), float)
        for k in (int(values.argmin()), int(values.argmax())):
            closer = np.linspace(xs[max(k - 1, 0)], xs[min(k + 1, points - 1)], points)
            axes[i] = np.concatenate([axes[i], closer])
    at = [grid.ravel() for grid in np.meshgrid(*axes, indexing="ij")]
    return at, _values(claim, at)


def _values(claim, at):
    """Return what the formula gives at points, one value each."""
    return np.broadcast_to(np.asarray(claim.formula(*at), float), at[0].shape)


def _conditions(claim, inputs) -> tuple[Condition, ...]:
    """Return for each input that turns the verdict alone where it makes the headline right."""
    conditions = []
    for i, moved in enumerate(inputs):
        others = [k for k in range(len(inputs)) if k != i]
        if not moved.is_range or any(inputs[k].fact is None for k in others):
            continue
        spans = _spans(claim, inputs, i)
        if spans and spans != [(moved.low, moved.high)]:
            conditions += [Condition(moved, low, high) for low, high in spans]
    return tuple(conditions)


def _spans(claim, inputs, i) -> list[tuple[float, float]]:
    """Return the parts of an input's range where the headline is right, the others as used."""

    def value(x):
        return _value(claim, inputs, i, x)

    xs = np.linspace(inputs[i].low, inputs[i].high, _POINTS[1])
    values = np.array([value(x) for x in xs])
    edges = [xs[0], xs[-1]]
    for bound in filter(isfinite, claim.allowed):
        over = values > bound
        edges += [_bisected(lambda x, b=bound: value(x) - b, xs[k], xs[k + 1])
                  for k in np.flatnonzero(over[1:] != over[:-1])]  # fmt: skip
    spans: list[tuple[float, float]] = []
    for low, high in pairwise(sorted(map(float, edges))):
        if low == high or not claim.allows(value((low + high) / 2)):
            continue
        if spans and spans[-1][1] == low:
            low, _ = spans.pop()
        spans.append((low, high))
    return spans


def _value(claim, inputs, i, x) -> float:
    """Return what the formula gives with one input at x, the others as used."""
    return float(claim.formula(*(x if k == i else j.used for k, j in enumerate(inputs))))


def _bisected(f, low, high):
    """Return where a function that changes its sign between two places does so."""
    begins_over = f(low) > 0
    for _ in range(60):
        middle = (low + high) / 2
        if (f(middle) > 0) == begins_over:
            low = middle
        else:
            high = middle
    return (low + high) / 2


def _together(claim, inputs, at, values):
    """Return ranged inputs and values of theirs at which the headline is most right."""
    low, high = claim.allowed
    best = int(np.argmax(np.minimum(values - low, high - values)))
    return tuple((i, float(x[best])) for i, x in zip(inputs, at, strict=True) if i.is_range)


def solve(claim: Claim, inputs: tuple[Input, ...], name: str) -> float:
    """Return the value of one input that gives exactly what is claimed, the others as used.

    Parameters
    ----------
    claim : Claim
    inputs : tuple of Input
    name : str
        Of the input to be found.

    Returns
    -------
    float
        The solution nearest to what is used, from a thousandth to a thousand times of it; NaN
        where there is none, or where another input has no fact.
    """
    i = next(k for k, each in enumerate(inputs) if each.name == name)
    if any(each.fact is None for k, each in enumerate(inputs) if k != i):
        return nan

    def off(x):
        return _value(claim, inputs, i, x) - claim.claimed

    used = inputs[i].used
    start = (inputs[i].low + inputs[i].high) / 2 if isnan(used) else used
    xs = start * np.geomspace(0.001, 1000, 1201)
    with np.errstate(all="ignore"):
        offs = np.array([off(x) for x in xs])
        found = [_bisected(off, xs[k], xs[k + 1])
                 for k in np.flatnonzero((offs[1:] > 0) != (offs[:-1] > 0))]  # fmt: skip
        real = [x for x in found if abs(off(x)) <= 1e-6 * abs(claim.claimed)]
    return float(min(real, key=lambda x: abs(np.log(x / start)), default=nan))
