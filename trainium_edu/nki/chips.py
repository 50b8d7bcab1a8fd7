"""Which chip a launch runs on: the one that a call names, or the environment's choice."""

from trainium_edu import settings
from trainium_edu.specs.errors import NkiValidationError
from trainium_edu.specs.instances import GENERATIONS, TARGETS

__all__ = ["chip", "chip_for_all", "chip_named"]

_LATER = {"trn3": "NeuronCore-v4 (Trainium3)", "gen4": "NeuronCore-v4 (Trainium3)"}
_for_all = None


def chip_for_all(target: str | None) -> str | None:
    """Make every kernel run on one chip, whatever the environment says; return the one before."""
    global _for_all
    before, _for_all = _for_all, target
    return before


def chip(spec):
    """Return the chip's record: the one given, or the environment's choice."""
    if spec is not None:
        return spec
    target = _for_all or settings.platform_target()
    if target in _LATER:
        raise NkiValidationError(
            f"NEURON_PLATFORM_TARGET_OVERRIDE={target} asks for {_LATER[target]}, whose facts "
            f"are missing: this emulator knows {', '.join(TARGETS)}. Kernels that do without "
            "later features run with nki.run(kernel, ..., spec=TRN1), or a script with "
            "`python -m trainium_edu run --platform trn1 script.py`"
        )
    return chip_named(target or "trn1")


def chip_named(name: str):
    """Return the record of a chip: "trn1", "inf2", "trn2"."""
    return (TARGETS | GENERATIONS)[name]
