"""A number does not enter the project without its unit, its source, its date and its kind."""

from collections.abc import Callable
from dataclasses import dataclass, field
from enum import StrEnum
from typing import Any

from trainium_edu.specs.signatures import checked

__all__ = ["Fact", "Kind", "derive"]


class Kind(StrEnum):
    """The kinds of evidence for a fact, from best to worst."""

    DOCUMENTED = "documented"  #: a document of the maker states it
    DERIVED = "derived"  #: arithmetic on other facts
    MEASURED = "measured"  #: somebody measured it, and published the figure
    ASSUMED = "assumed"  #: our own choice, or memory; the note says why


_SHORT = {"FLOP/s": "FLOP/s", "operations/s": "OP/s", "Hz": "Hz", "bits/s": "bit/s",
          "bytes": "B", "bytes/s": "B/s"}  # fmt: skip


def _is_number(value):
    return isinstance(value, int | float) and not isinstance(value, bool)


def _is_range(value):
    return isinstance(value, tuple) and len(value) == 2 and all(map(_is_number, value))


def _written(value, unit, digits=6) -> str:
    """Write one value with its unit, scaled where a prefix helps."""
    head, _, tail = unit.partition(" ")
    if not _is_number(value):
        return f"{value} {unit}".strip()
    if head not in _SHORT:
        text = f"{value:,}" if isinstance(value, int) else f"{value:.{digits}g}"
        return f"{text} {unit}".strip()
    decimal = _scaled(value, 1000, "kMGTPE")
    binary = _scaled(value, 1024, ("Ki", "Mi", "Gi", "Ti")) if head.startswith("bytes") else decimal
    number, prefix = binary if float(f"{binary[0]:.4g}") == binary[0] else decimal
    return f"{number:.4g} {prefix}{_SHORT[head]} {tail}".strip()


def _scaled(value, step, prefixes):
    """Return (number, prefix) with the largest prefix that leaves at least 1."""
    power = 0
    while abs(value) >= step and power < len(prefixes):
        value, power = value / step, power + 1
    return value, prefixes[power - 1] if power else ""


@dataclass(frozen=True, slots=True)
class Fact:
    """One sourced value.

    ``fact.value`` is the number (or text) in ``fact.unit``; ``float(fact)`` and ``int(fact)`` work
    too, so that arithmetic reads plainly where a fact is used.
    """

    value: Any
    unit: str  #: "" for pure numbers and text
    source: str  #: a key of :data:`trainium_edu.specs.SOURCES`
    locator: str  #: section, table or figure inside the source
    kind: Kind = Kind.DOCUMENTED
    as_of: str = ""  #: ISO date (or year, or year-month) of the source's state
    note: str = ""
    inputs: tuple["Fact", ...] = ()  #: what a derived fact was computed from
    formula: Callable[..., Any] | None = field(default=None, repr=False, compare=False)

    def __post_init__(self):
        object.__setattr__(self, "kind", Kind(self.kind))
        if (self.kind is Kind.DERIVED) != (self.formula is not None):
            raise ValueError("a derived fact has a formula, and no other kind has: use derive(...)")

    def __float__(self):
        return float(self.value)

    def __int__(self):
        return int(self.value)

    def __index__(self):
        if not isinstance(self.value, int):
            raise TypeError(f"{self.value!r} {self.unit} is not an integer")
        return self.value

    def __str__(self):
        return f"{self.pretty} ({self.kind}: {self.source}, {self.locator}, {self.as_of})"

    @property
    def pretty(self) -> str:
        """The value with a unit that people read: "91.75 TFLOP/s", "192 KiB per partition"."""
        values = self.value if _is_range(self.value) else (self.value,)
        is_time = self.kind is Kind.DERIVED and self.unit.startswith(("ns", "times"))
        digits = 4 if is_time and values[0] < 1000 else 6
        return " to ".join(_written(v, self.unit, digits) for v in values)

    def recompute(self):
        """Return a derived fact's value recomputed from its inputs (other kinds: the value)."""
        return self.formula(*(f.value for f in self.inputs)) if self.formula else self.value


@checked
def derive(unit: str, formula: Callable[..., Any], *inputs: Fact, locator: str, note: str = ""):
    """Compute a derived fact from others; its date is the newest of theirs.

    Parameters
    ----------
    unit : str
    formula : callable
        Takes the inputs' values in order.
    inputs : Fact
    locator : str
        The formula in words, as a reader would check it: ``"128 * 128 * 2 * clock"``.

    Returns
    -------
    Fact of kind ``derived``
    """
    return Fact(
        formula(*(f.value for f in inputs)),
        unit,
        source="derived",
        locator=locator,
        kind=Kind.DERIVED,
        as_of=max(f.as_of for f in inputs),
        note=note,
        inputs=inputs,
        formula=formula,
    )
