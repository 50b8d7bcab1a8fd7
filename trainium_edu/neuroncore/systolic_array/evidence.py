"""What is known about this array, and how: documented of a chip, or a textbook's guess."""

from types import MappingProxyType

from trainium_edu.specs import TRN1, Fact, Record
from trainium_edu.specs.sources import stated

__all__ = ["EVIDENCE", "evidence"]

_DOCUMENTED = {
    "size": "rows", "clock": "clock_hz", "accumulation": "accumulates_in",
    "fast load": "load_stationary_speedup", "background load": "load_stationary_in_background",
    "issue interval": "initiation_cycles", "FP32 at a quarter": "fp32_factor",
    "longest moving tile": "moving_free_max",
}  # fmt: skip
_GUESSED = stated("the inside of a systolic array, as textbooks have it")


def evidence(spec: Record = TRN1) -> dict[str, Fact]:
    """Return one fact per inner detail; its ``kind`` says whether a document states it."""
    documented = {name: spec.tensor_engine.find(fact) for name, fact in _DOCUMENTED.items()}
    return documented | {name.replace("_", " "): fact for name, fact in _GUESSED.items()}


#: Those of Trainium.
EVIDENCE = MappingProxyType(evidence())
