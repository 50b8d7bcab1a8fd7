"""What stochastic rounding costs in software: time per number with and without it, measured.

``python -m trainium_edu.training.rounding_cost`` measures on this machine and rewrites
``rounding_cost.json`` beside this file, with the machine's name; `stored_rounding_cost` reads it.
Times change from run to run and from machine to machine, so a lesson shows the stored table; the
command measures again.
"""

import functools
import json
import platform
import timeit
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from trainium_edu.numerics import cast, draw_bits
from trainium_edu.training import stored
from trainium_edu.training.reference import train

__all__ = ["Cost", "RoundingCost", "measure_rounding_cost", "stored_rounding_cost"]

_ELEMENTS = 1_000_000
_REPEATS = 15


@dataclass(frozen=True, slots=True)
class Cost:
    """One way to round, and its time per number."""

    what: str
    ns_per_number: float


@dataclass(frozen=True, slots=True)
class RoundingCost:
    """The table, and the machine it was measured on."""

    machine: str
    rows: tuple[Cost, ...]

    def table(self) -> str:
        """Return the table as text, each time beside its ratio to nearest-even."""
        base = next(row.ns_per_number for row in self.rows if "nearest" in row.what)
        lines = [f"{'':58}{'ns per number':>14}{'ratio':>8}"]
        lines += [
            f"{row.what:58}{row.ns_per_number:14.2f}{row.ns_per_number / base:8.1f}"
            for row in self.rows
        ]
        return "\n".join([*lines, f"measured on {self.machine}"])


def measure_rounding_cost() -> RoundingCost:
    """Measure on this machine; takes a few seconds.

    Returns
    -------
    RoundingCost
    """
    rng = np.random.default_rng(0)
    x = rng.standard_normal(_ELEMENTS, dtype=np.float32)

    def by_hand():
        words = x.view(np.uint32) + rng.integers(0, 0x10000, _ELEMENTS, dtype=np.uint32)
        return (words >> np.uint32(16)).astype(np.uint16)

    routines = (
        ("nearest-even to BF16", lambda: cast(x, "bf16")),
        ("the random bits alone (Philox4x32-10)", lambda: draw_bits(_ELEMENTS)),
        ("stochastic to BF16, random bits included", lambda: cast(x, "bf16", "stochastic")),
        ("stochastic, plain NumPy (PCG64 and an addition)", by_hand),
    )
    rows = [Cost(what, _best(work) / _ELEMENTS * 1e9) for what, work in routines]
    for arm, words in (("nearest", ", per weight and step"), ("stochastic", "")):
        took = _best(lambda arm=arm: train(arm, epochs=2, seeds=[0]), repeats=7)
        rows.append(Cost(f"for scale: all of training, {arm}{words}", took / (2 * 44 * 4810) * 1e9))
    return RoundingCost(_machine(), tuple(rows))


@functools.cache
def stored_rounding_cost() -> RoundingCost:
    """Return the stored table.

    Examples
    --------
    >>> len(stored_rounding_cost().rows)
    6
    """
    table = json.loads(stored.path_of("rounding_cost").read_text(encoding="utf-8"))
    return RoundingCost(table["machine"], stored.read("rounding_cost", Cost))


def _best(work, repeats=_REPEATS) -> float:
    """Return the shortest of several times: the least disturbed one."""
    work()
    return min(timeit.repeat(work, number=1, repeat=repeats))


def _machine() -> str:
    """Name the processor, one thread."""
    known = Path("/proc/cpuinfo")  # on Linux
    lines = known.read_text(encoding="utf-8").splitlines() if known.exists() else ()
    names = [line.partition(":")[2] for line in lines if line.startswith("model name")]
    name = " ".join([*names, platform.processor() or platform.machine()][0].split())
    return f"{name}, one thread for rounding"


if __name__ == "__main__":
    cost = measure_rounding_cost()
    rows = [Cost(row.what, round(row.ns_per_number, 3)) for row in cost.rows]
    stored.write("rounding_cost", rows, machine=cost.machine)
    print(cost.table())
