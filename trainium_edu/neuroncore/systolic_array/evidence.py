"""What is known about this array, and how: documented of Trainium, or a textbook's guess."""

from types import MappingProxyType

from trainium_edu.specs import SOURCES, TRN1

__all__ = ["EVIDENCE"]

_engine = TRN1.tensor_engine
_guess = SOURCES["emulator"].says

#: One fact per inner detail of the model; ``kind`` says whether a document of AWS states it.
EVIDENCE = MappingProxyType({
    "size": _engine.rows,
    "clock": _engine.clock_hz,
    "accumulation": _engine.accumulates_in,
    "fast load": _engine.load_stationary_speedup,
    "background load": _engine.load_stationary_in_background,
    "issue interval": _engine.initiation_cycles,
    "FP32 at a quarter": _engine.fp32_factor,
    "longest moving tile": _engine.moving_free_max,
    "skew": _guess(
        "row k is fed k cycles late, column m works m cycles later", "", "elements.py",
        "the textbook array (Kung 1982); the guide says systolic and no more",
    ),
    "order of additions": _guess(
        "row 0 first, one product per row, FP32 rounded after each", "", "elements.py",
        "the textbook order; hardware may add in a tree, in groups, or with wider sums",
    ),
    "how weights enter": _guess(
        "from the left, load_speed columns per cycle, into a second register", "", "plan.py",
        "documented are the speed (at most) and that it happens in the background, not the wires",
    ),
    "four passes of FP32": _guess(
        "two halves of 12 bits, four products, small ones first", "", "operands.py",
        "documented is the factor four; the halves are the textbook way to get it",
    ),
    "unused rows": _guess(
        "sums pass them without change and leave at the bottom", "", "march.py",
        "no document says whether hardware can leave earlier",
    ),
    "fixed instruction cost": _guess(
        0, "cycles", "plan.py",
        "the bare array has none; the documented 64-cycle minimum is min_issue_cycles=64",
    ),
})  # fmt: skip
