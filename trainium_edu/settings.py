"""The only file that reads environment variables.

AWS documents some of its switches as variables, and users expect them to work: the outermost call
(a trainer, ``nki.simulate``, later ``mark_step``) reads them here once; everything below takes
plain arguments.  The project's own two variables start with ``TRAINIUM_EDU_``.
"""

import os
from dataclasses import dataclass
from pathlib import Path

__all__ = ["LessonSettings", "RoundingSettings", "data_folder", "lesson", "nki_simulator",
           "platform_target", "precise_fp", "rounding"]  # fmt: skip


@dataclass(frozen=True, slots=True)
class RoundingSettings:
    """How the Neuron runtime is told to round FP32 to narrower formats."""

    rounding: str  #: "nearest" or "stochastic"
    seed: int


@dataclass(frozen=True, slots=True)
class LessonSettings:
    """How lessons behave under a machine that reads along (nbval, CI)."""

    predictions_committed: bool  #: every prediction counts as committed, so that answers show
    quiet: bool  #: no progress or compile lines


def rounding() -> RoundingSettings:
    """Read ``NEURON_RT_STOCHASTIC_ROUNDING_EN`` (0 or 1, default 0) and ``..._SEED`` (default 0).

    Raises
    ------
    ValueError
        If a variable holds something else.

    References
    ----------
    `aws-rounding-modes` in :data:`trainium_edu.specs.SOURCES`.
    """
    enabled = _flag("NEURON_RT_STOCHASTIC_ROUNDING_EN")
    name = "NEURON_RT_STOCHASTIC_ROUNDING_SEED"
    text = os.environ.get(name, "0")
    try:
        seed = int(text)
    except ValueError:
        raise ValueError(f"{name} is {text!r}; it must be an integer such as 0") from None
    if not 0 <= seed < 2**64:
        raise ValueError(f"{name} is {seed}; it must be an integer from 0 to 2**64 - 1")
    return RoundingSettings("stochastic" if enabled else "nearest", seed)


def platform_target() -> str | None:
    """Read ``NEURON_PLATFORM_TARGET_OVERRIDE``: the chip that kernels are for, or None.

    Raises
    ------
    ValueError
        If it names no chip.

    References
    ----------
    `nki-simulator` in :data:`trainium_edu.specs.SOURCES`.
    """
    text = os.environ.get("NEURON_PLATFORM_TARGET_OVERRIDE", "").strip().lower()
    if not text:
        return None
    if text not in _TARGETS:
        raise ValueError(
            f"NEURON_PLATFORM_TARGET_OVERRIDE is {text!r}; it must be one of {', '.join(_TARGETS)}"
        )
    return text


_TARGETS = ("trn1", "inf2", "gen2", "trn2", "gen3", "trn3", "gen4")


def precise_fp() -> bool:
    """Read ``NKI_PRECISE_FP`` (0 or 1, default 1): 0 keeps low-precision tensors as float32."""
    return _flag("NKI_PRECISE_FP", "1")


def nki_simulator() -> bool:
    """Read ``NKI_SIMULATOR`` (0 or 1): kernels run on the CPU, which here they always do."""
    return _flag("NKI_SIMULATOR")


def lesson() -> LessonSettings:
    """Read ``TRAINIUM_EDU_COMMITTED`` (0 or 1, default 0): set to 1 by ``make test`` and CI."""
    committed = _flag("TRAINIUM_EDU_COMMITTED")
    return LessonSettings(predictions_committed=committed, quiet=committed)


def data_folder() -> Path:
    """Return the folder for progress and settings: ``TRAINIUM_EDU_HOME``, or one in the home."""
    given = os.environ.get("TRAINIUM_EDU_HOME")
    return Path(given) if given else Path.home() / ".trainium_edu"


def _flag(name: str, default: str = "0") -> bool:
    text = os.environ.get(name, default)
    if text not in ("0", "1"):
        raise ValueError(f"{name} is {text!r}; it must be 0 or 1")
    return text == "1"
