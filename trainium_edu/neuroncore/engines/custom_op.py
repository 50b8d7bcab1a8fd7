"""GpSimd: an operator in C++, with what it did counted and priced.

What an operator computes is decided by its program (``gpsimd_cpp`` runs it); here it is one
instruction that reads tensors in HBM, writes one, and holds the GpSimd Engine for as long as the
slowest of its processors works.  A processor does one thing after the other: it names an element
(a trip to HBM), copies between HBM and TCM, runs code, fills or copies a whole tensor.
"""

from collections.abc import Mapping
from typing import NamedTuple

from trainium_edu.neuroncore.engines.checks import limits
from trainium_edu.neuroncore.recording.engine import Engine
from trainium_edu.neuroncore.recording.instruction_set import define

__all__ = ["PRICES", "Work", "custom_op_ns", "facts_of", "label_of", "parts_ns"]


class Work(NamedTuple):
    """The counts of one processor's work."""

    elements: int = 0  #: named through element accessors, or read by a stream beyond the fourth
    copies: int = 0  #: between HBM and TCM; a stream copies 4 KB at a time
    copied_bytes: int = 0
    bulks: int = 0  #: fills of tensors, and copies of results
    bulk_bytes: int = 0
    library_elements: int = 0  #: computed by the tensor library
    library_curves: int = 0
    blocks: int = 0  #: basic blocks of the program's own code


#: parameter → (its fact, "" or the fact of its range), by which a processor's work is priced
PRICES = {
    "element_ns": ("custom_operators.element_ns", "custom_operators.element_ns_range"),
    "copy_start_ns": ("custom_operators.copy_start_ns", "custom_operators.copy_start_ns_range"),
    "copy_bytes_per_s": ("custom_operators.copy_bytes_per_s", ""),
    "block_ns": ("custom_operators.block_ns", "custom_operators.block_ns_range"),
    "library_ns": ("custom_operators.library_ns", "custom_operators.library_ns_range"),
    "curve_ns": ("custom_operators.curve_ns", "custom_operators.curve_ns_range"),
    "bulk_bytes_per_s": ("dma.bytes_per_s", ""),
}


def parts_ns(work: Work, prices: Mapping[str, float]) -> dict[str, float]:
    """Return where one processor's time goes, in ns: elements, copies, code, library, bulks."""
    copied = work.copied_bytes / prices["copy_bytes_per_s"] * 1e9
    moved = work.bulk_bytes / prices["bulk_bytes_per_s"] * 1e9
    curves = work.library_curves * prices["curve_ns"]
    return {
        "elements": work.elements * prices["element_ns"],
        "copies": work.copies * prices["copy_start_ns"] + copied,
        "code": work.blocks * prices["block_ns"],
        "library": work.library_elements * prices["library_ns"] + curves,
        "bulks": work.bulks * prices["copy_start_ns"] + moved,
    }


def custom_op_ns(works, prices: Mapping[str, float]) -> float:
    """Return for how long the slowest processor works.

    Parameters
    ----------
    works : sequence of Work
        One per processor.
    prices : mapping
        The names of :data:`PRICES` → value.
    """
    return max(sum(parts_ns(Work(*work), prices).values()) for work in works)


_RESTS_ON = {"elements": ("element_ns",), "copies": ("copy_start_ns", "copy_bytes_per_s"),
             "code": ("block_ns",), "library": ("library_ns",),
             "bulks": ("copy_start_ns", "bulk_bytes_per_s")}  # fmt: skip
_PLACE = "an operator's tensors are in HBM"
_WORTH_NAMING = 0.01  # of the time


def facts_of(chip, *works) -> tuple[str, ...]:
    """Return the facts on which an operator's time rests, those of what takes most of it."""
    parts: dict[str, float] = {}
    for work in works:
        for part, ns in parts_ns(Work(*work), _prices(chip)).items():
            parts[part] = parts.get(part, 0.0) + ns
    least = _WORTH_NAMING * sum(parts.values())
    names = [name for part, ns in parts.items() if ns >= least for name in _RESTS_ON[part]]
    return tuple(dict.fromkeys(PRICES[name][0] for name in names))


def label_of(chip, operator: str, sites, hot=()) -> str:
    """Return the name of an operator's span: with the line of C++ that takes most of its time.

    Parameters
    ----------
    chip : specs.Record
    operator : str
    sites : sequence of (file, line, elements, streamed, copies, copied bytes)
    hot : sequence of (file, line, basic blocks), optional
        Where its code runs.

    Returns
    -------
    str
        "relu (relu.cpp:9)"; without a line if none is known.
    """
    prices = _prices(chip)
    spent: dict[tuple[str, int], float] = {}
    for file, line, elements, _, copies, copied_bytes in sites:
        spent[file, line] = custom_op_ns([Work(elements, copies, copied_bytes)], prices)
    for file, line, blocks in hot:
        code = custom_op_ns([Work(blocks=blocks)], prices)
        spent[file, line] = spent.get((file, line), 0.0) + code
    if not spent:
        return operator
    file, line = max(spent, key=lambda at: spent[at])
    return f"{operator} ({file}:{line})"


def _prices(chip):
    return {name: float(chip.find(fact)) for name, (fact, _) in PRICES.items()}


def _cycles(chip, engine, *works):
    return custom_op_ns(works, _prices(chip)) * 1e-9 * chip.gpsimd_engine.clock_hz.value


define(
    "custom_op", Engine.GPSIMD, reads=("srcs",), options=("operator", "works"),
    defaults={"sites": (), "stack_bytes": 0, "said": "", "hot": ()}, pure=False,
    check=limits(dst=f"in HBM: {_PLACE}", srcs=f"each in HBM: {_PLACE}"),
    execute=lambda call: None, work=lambda call: tuple(map(tuple, call.works)), cycles=_cycles,
    facts=tuple(fact for fact, _ in PRICES.values()), facts_by=facts_of,
)  # fmt: skip
