"""The claims court: every headline of the sources as an executable row, and how it is judged.

``docket()`` prints all verdicts, ``judge(key)`` one with its evidence, and the same again with an
input moved: ``judge("petaflops", chip_flops=190e12)``.  The rows are in ``claims.toml``, what they
rest on is in ``specs.CLAIMS``; what a headline allows and how a verdict follows, in ``court.py``.

References: `aws-news-trn1-launch`, `nextplatform-reinvent-2021`, `aws-ml-blog-sagemaker`,
`inferentia2-training-post`, `aws-trn1-page-early`, `aws-trainium-page` (specs.SOURCES).
"""

from collections import Counter
from collections.abc import Mapping
from dataclasses import replace
from difflib import get_close_matches
from math import nan
from typing import Any

import numpy as np

from trainium_edu.cluster.cost import Input, as_input
from trainium_edu.cluster.court import Claim, Ruling, Verdict, rule, solve
from trainium_edu.files import tables
from trainium_edu.specs import Fact
from trainium_edu.specs.arguments import number, short
from trainium_edu.specs.claims import RECORDS
from trainium_edu.specs.signatures import checked

__all__ = ["COURT", "Docket", "docket", "judge", "needed", "overturned"]


def _input(name, *, words, fact="", low=None, high=None, about_low="", about_high="") -> Input:
    """Return an input of a row: a fact as used, and facts or numbers as the ends of its range."""
    name = name.partition(" ")[0]
    if not fact:
        return Input(name, low, nan, high, "", None, "our choice", "our choice", words)
    used = RECORDS.find(fact)

    def end(value, about):
        found = RECORDS.find(value) if isinstance(value, str) else value
        if isinstance(found, Fact) and found != used:
            about = about or f"{found.source}, {found.as_of}"
        return (float(used) if found is None else float(found)), about

    (low, about_low), (high, about_high) = end(low, about_low), end(high, about_high)
    return Input(name, low, float(used), high, used.unit, used, about_low, about_high, words)


def _overhead(share, computing, network):
    """Return communication's share of the time, if peaks and networks alone decide it."""
    ratio = share / (1 - share) * network / computing
    return ratio / (1 + ratio)


def _worst_miss(chip_flops):
    """Return the worst of three misses at one peak, each over what its headline allows."""
    misses = []
    for key, share in (("bf16_over_p4d", 1), ("tf32_over_p4d", 1), ("fp32_over_p4d", 4)):
        claim = COURT[key]
        ratio = float(RECORDS.trn1.chips) * chip_flops / share / claim.inputs[1].used
        misses.append(abs(ratio - claim.claimed) / (claim.allowed[1] - claim.claimed))
    return np.maximum.reduce(misses)


_FUNCTIONS = {"log2": np.log2, "overhead": _overhead, "worst_miss": _worst_miss}


def _claims() -> dict[str, Claim]:
    """Return the claims of ``claims.toml`` by their keys."""
    rows = tables(__file__, "claims.toml")
    known = {name: _input(name, **row) for name, row in rows["inputs"].items()}
    claims = {}
    for key, row in rows["claims"].items():
        inputs = tuple(known[name] for name in row.pop("inputs"))
        arguments = ", ".join(each.name for each in inputs)
        written = row.pop("formula")
        formula = eval(f"lambda {arguments}: {written}", _FUNCTIONS)
        also = tuple((words, RECORDS.find(fact)) for words, fact in row.pop("also", {}).items())
        fact = RECORDS.find(row.pop("fact"))
        claims[key] = Claim(key, fact=fact, inputs=inputs, formula=formula, also=also,
                            **{"unit": "", "worked": written, **row})  # fmt: skip
    return claims


#: Every headline by its key.
COURT: dict[str, Claim] = _claims()


# --- asking the court -----------------------------------------------------------------------------


@checked
def judge(key: str, *, slack: float | None = None, **inputs: Any) -> Ruling:
    """Judge a headline, with some of its inputs moved.

    Parameters
    ----------
    key : str
        A key of :data:`COURT`.
    slack : float, optional
        How far a right number may lie from the headline, as a share of it, in place of 5 % (0 for
        tables).
    **inputs
        By name: a number, a Fact or (low, used, high).  All others keep their ranges.

    Returns
    -------
    Ruling

    Raises
    ------
    ValueError
        If there is no such claim, or it has no such input.

    Examples
    --------
    >>> print(judge("petaflops").verdict, judge("petaflops", chip_flops=190e12).verdict, sep=", ")
    depends, conflicting
    >>> judge("petaflops").condition
    'chip_flops at least 201.9 TFLOP/s'
    """
    claim = _claim(key)
    if slack is not None:
        claim = replace(claim, slack=number(slack, "slack", 0, 1))
    return rule(claim, _moved(claim, inputs))


@checked
def needed(key: str, name: str, **inputs: Any) -> float:
    """Return the value of one input that gives exactly what a headline says.

    Parameters
    ----------
    key : str
        A key of :data:`COURT`.
    name : str
        The input to find; the others are as used.
    **inputs
        Other inputs, moved, as for :func:`judge`.

    Returns
    -------
    float

    Raises
    ------
    ValueError
        If no value from a thousandth to a thousand times of what is used gives it.

    Examples
    --------
    >>> round(needed("sagemaker_cost_trn1", "seconds"))
    6038
    """
    claim = _claim(key)
    moved = _moved(claim, inputs)
    _known(claim, name)
    found = solve(claim, moved, name)
    if np.isnan(found):
        raise ValueError(f"no {name} gives {claim.written(claim.claimed)} in {key} while the other "
                         "inputs are as they are; move another one")  # fmt: skip
    return found


@checked
def overturned(key: str, inputs: Mapping[str, Any]) -> bool:
    """Return whether inputs inside their ranges make right what was wrong, or wrong what was right.

    Parameters
    ----------
    key : str
        A key of :data:`COURT`.
    inputs : dict of str to float
        The inputs to move; the others stay as used.

    Returns
    -------
    bool

    Raises
    ------
    ValueError
        If there is no such claim or input, a value is outside its range, or nobody published it.

    Examples
    --------
    >>> overturned("bf16_over_p4d", {"trn1_flops": 16 * 210e12})
    True
    >>> overturned("bf16_over_p4d", {"trn1_flops": 16 * 250e12})
    Traceback (most recent call last):
    ValueError: trn1_flops is 4 PFLOP/s; the sources have it from 2.936 PFLOP/s to 3.36 PFLOP/s
    """
    claim = _claim(key)
    values = {each.name: each.used for each in claim.inputs}
    for name, value in inputs.items():
        used = _known(claim, name)
        moved = number(value, name)
        if used.fact is None:
            raise ValueError(f"nobody published {name}, so no value of it overturns {key}; "
                             "choose a claim that can be tested")  # fmt: skip
        if not used.low <= moved <= used.high:
            has = f"{used.written(used.low)} to {used.written(used.high)}"
            raise ValueError(f"{name} is {used.written(moved)}; the sources have it from {has}"
                             if used.is_range else f"{name} is {used.written(used.used)} in all "
                             "sources; move an input that has a range")  # fmt: skip
        values[name] = moved
    before = claim.ruling
    if before.verdict is Verdict.UNTESTABLE:
        return False
    return claim.allows(float(claim.formula(*values.values()))) != before.holds


class Docket(tuple):
    """All rulings in the order of the sources; ``print`` shows them as a table."""

    __slots__ = ()

    @property
    def counts(self) -> dict[Verdict, int]:
        """How many claims came to each verdict."""
        found = Counter(ruling.verdict for ruling in self)
        return {verdict: found[verdict] for verdict in Verdict}

    def __str__(self):
        lines = []
        for ruling in self:
            lines += [f"{ruling.verdict.upper():<12}{ruling.claim.text} [{ruling.claim.key}]",
                      f"{'':<12}{ruling.worked}"]  # fmt: skip
            if ruling.condition:
                lines.append(f"{'':<12}right only with {ruling.condition}")
        return "\n".join([*lines, ", ".join(f"{n} {v}" for v, n in self.counts.items())])

    def __repr__(self):
        return f"Docket({len(self)} claims)"


def docket() -> Docket:
    """Judge every headline with its inputs as the sources have them.

    Returns
    -------
    Docket

    Examples
    --------
    >>> print(docket().counts[Verdict.UNTESTABLE], "are untestable")
    3 are untestable
    """
    return Docket(claim.ruling for claim in COURT.values())


def _claim(key) -> Claim:
    """Return a claim by its key, or raise and name the nearest ones."""
    if key not in COURT:
        near = get_close_matches(key, COURT, 3, 0.3) or list(COURT)[:3]
        raise ValueError(f"no claim {key!r}; docket() lists all {len(COURT)}, such as "
                         f"{', '.join(near)}")  # fmt: skip
    return COURT[key]


def _known(claim, name) -> Input:
    """Return one of a claim's inputs, or raise and list them."""
    for each in claim.inputs:
        if each.name == name:
            return each
    raise ValueError(f"{claim.key} has no input {short(name)}; it has "
                     f"{', '.join(each.name for each in claim.inputs)}")  # fmt: skip


def _moved(claim, values) -> tuple[Input, ...]:
    """Return a claim's inputs with those replaced that are given."""
    replaced = {}
    for name, value in values.items():
        each = _known(claim, name)
        bounds = {"low": 0} if each.low == 0 else {"above": 0}
        bounds |= {"high": 1} if each.unit.startswith("of ") else {}
        replaced[name] = replace(as_input(value, name, each.unit, **bounds), name=name,
                                 words=each.words)  # fmt: skip
    return tuple(replaced.get(each.name, each) for each in claim.inputs)
