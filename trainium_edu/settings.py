"""The only file that reads environment variables.

AWS documents some of its switches as variables, and users expect them to work: the outermost call
(a trainer, ``nki.simulate``, ``mark_step``) reads them here once; everything below takes
plain arguments.  The project's own two variables start with ``TRAINIUM_EDU_``.
"""

import os
import re
import shlex
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

from trainium_edu.specs.instances import GENERATIONS, TARGETS
from trainium_edu.specs.signatures import checked

__all__ = ["LazySettings", "LessonSettings", "ParallelCompileSettings", "RoundingSettings",
           "data_folder", "lazy", "lesson", "nki_simulator", "of_child", "parallel_compile",
           "platform_target", "precise_fp", "rounding", "variable"]  # fmt: skip


@dataclass(frozen=True, slots=True)
class RoundingSettings:
    """How the Neuron runtime is told to round FP32 to narrower formats."""

    rounding: str  #: "nearest" or "stochastic"
    seed: int


@dataclass(frozen=True, slots=True)
class LazySettings:
    """How lazy tensors are recorded, compiled and run."""

    use_bf16: bool  #: ``XLA_USE_BF16``: float32 and float64 become bfloat16
    downcast_bf16: bool  #: ``XLA_DOWNCAST_BF16``: float32 becomes bfloat16, float64 float32
    compiler_flags: str  #: ``NEURON_CC_FLAGS``, which ``xla.flags`` parses
    cache_url: str | None  #: ``NEURON_COMPILE_CACHE_URL``; ``--cache_dir`` wins over it
    eager_debug: bool  #: ``NEURON_USE_EAGER_DEBUG_MODE``: each operation by itself
    extract_graphs_only: bool  #: ``NEURON_EXTRACT_GRAPHS_ONLY``: collect graphs, hand out zeros
    models_to_keep: int | None  #: ``NEURON_NUM_RECENT_MODELS_TO_KEEP``; None keeps all
    bucket_bytes: int  #: ``ALLREDUCE_GRADIENTS_BUCKET_SIZE_MB``, default 50; 0: one bucket
    rounding: RoundingSettings  #: stochastic too where one of the first two is set
    debug_level: int = 0  #: ``PT_XLA_DEBUG_LEVEL``: 1 explains compiles, 2 executions too
    debug_file: str | None = None  #: ``PT_XLA_DEBUG_FILE``, which gets that; None: standard error

    @property
    def casts(self) -> dict[str, str]:
        """What the dtypes of new tensors become: ``{"float32": "bfloat16", ...}``."""
        if self.use_bf16:
            return {"float32": "bfloat16", "float64": "bfloat16"}
        return {"float32": "bfloat16", "float64": "float32"} if self.downcast_bf16 else {}


@dataclass(frozen=True, slots=True)
class ParallelCompileSettings:
    """How ``neuron_parallel_compile`` treats failures, and what it reports."""

    retries: int  #: ``NEURON_PARALLEL_COMPILE_MAX_RETRIES``: tries after the first one
    ignore_script_error: bool  #: ``NEURON_IGNORE_TRAINING_SCRIPT_ERROR_AND_COMPILE``
    times: bool  #: ``NEURON_PARALLEL_COMPILE_DUMP_RESULTS``: compile times in the report


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
    return _rounding("0")


def _in_job(flags: str) -> str:
    """Return flags with a training job's folder for ``/opt/ml``, where the service has it."""
    job = os.path.dirname(os.environ.get("SM_MODEL_DIR", "/opt/ml/model"))
    return re.sub(r"(?<![^\s=])/opt/ml(?=/|\s|$)", lambda _: shlex.quote(job), flags)


def _rounding(default) -> RoundingSettings:
    """Read how to round; `default` is "0" or "1", for where the environment says nothing."""
    enabled = _flag("NEURON_RT_STOCHASTIC_ROUNDING_EN", default)
    seed = _integer("NEURON_RT_STOCHASTIC_ROUNDING_SEED", 0, 2**64 - 1, "0")
    return RoundingSettings("stochastic" if enabled else "nearest", seed)


def lazy() -> LazySettings:
    """Read all switches of lazy execution: once, at the outermost call.

    ``XLA_USE_BF16`` and ``XLA_DOWNCAST_BF16`` turn stochastic rounding on unless
    ``NEURON_RT_STOCHASTIC_ROUNDING_EN=0`` turns it off; with both, the first one holds.

    Raises
    ------
    ValueError
        If a variable holds what it cannot.

    References
    ----------
    `aws-torch-variables`, `aws-caching`, `aws-torch-debug` and, for ``PT_XLA_DEBUG``,
    `pytorch-xla` in :data:`trainium_edu.specs.SOURCES`.
    """
    global _lazy_known
    raw = vars(os.environ)["_data"]  # every step asks; mostly, nothing has changed
    if _lazy_known is None or _lazy_known[0] != raw:
        _lazy_known = dict(raw), _lazy()
    return _lazy_known[1]


_lazy_known: tuple[dict, LazySettings] | None = None


def _lazy() -> LazySettings:
    use, downcast = _flag("XLA_USE_BF16"), _flag("XLA_DOWNCAST_BF16")
    keep = "NEURON_NUM_RECENT_MODELS_TO_KEEP"
    return LazySettings(
        use_bf16=use,
        downcast_bf16=downcast,
        compiler_flags=_in_job(os.environ.get("NEURON_CC_FLAGS", "").strip()),
        cache_url=os.environ.get("NEURON_COMPILE_CACHE_URL", "").strip() or None,
        eager_debug=_flag("NEURON_USE_EAGER_DEBUG_MODE"),
        extract_graphs_only=_flag("NEURON_EXTRACT_GRAPHS_ONLY"),
        models_to_keep=_integer(keep, 1, 2**31 - 1) if keep in os.environ else None,
        bucket_bytes=_integer("ALLREDUCE_GRADIENTS_BUCKET_SIZE_MB", 0, 2**20, "50") * 2**20,
        debug_level=_integer("PT_XLA_DEBUG_LEVEL", 0, 100, "100" if _flag("PT_XLA_DEBUG") else "0"),
        debug_file=os.environ.get("PT_XLA_DEBUG_FILE") or None,
        rounding=_rounding("1" if use or downcast else "0"),
    )


def parallel_compile() -> ParallelCompileSettings:
    """Read the switches of ``neuron_parallel_compile``.

    Raises
    ------
    ValueError
        If a variable holds what it cannot.

    References
    ----------
    `aws-parallel-compile` and `aws-torch-variables` in :data:`trainium_edu.specs.SOURCES`.
    """
    return ParallelCompileSettings(
        retries=_integer("NEURON_PARALLEL_COMPILE_MAX_RETRIES", 0, 100, "0"),
        ignore_script_error=_flag("NEURON_IGNORE_TRAINING_SCRIPT_ERROR_AND_COMPILE"),
        times=_flag("NEURON_PARALLEL_COMPILE_DUMP_RESULTS"),
    )


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


_TARGETS = (*TARGETS, *GENERATIONS, "trn3", "gen4")


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


@checked
def variable(name: str) -> str | None:
    """Read a variable that a script asks for by its name; None if it is not set."""
    return os.environ.get(name)


def data_folder() -> Path:
    """Return the folder for progress and settings: ``TRAINIUM_EDU_HOME``, or one in the home."""
    given = os.environ.get("TRAINIUM_EDU_HOME")
    return Path(given) if given else Path.home() / ".trainium_edu"


@checked
def of_child(variables: Mapping[str, str], *folders: Path) -> dict[str, str]:
    """Return the environment of a process to start: this one's, with more variables.

    Its Python finds modules in `folders`, and prints each line at once.
    """
    paths = [*map(str, folders), os.environ.get("PYTHONPATH", "")]
    ours = {"PYTHONPATH": os.pathsep.join(filter(None, paths)), "PYTHONUNBUFFERED": "1"}
    return {**os.environ, **ours, **variables}


def _flag(name: str, default: str = "0") -> bool:
    text = os.environ.get(name, default)
    if text not in ("0", "1"):
        raise ValueError(f"{name} is {text!r}; it must be 0 or 1")
    return text == "1"


def _integer(name: str, low: int, high: int, default: str = "") -> int:
    text = os.environ.get(name, default)
    try:
        value = int(text)
    except ValueError:
        raise ValueError(f"{name} is {text!r}; it must be an integer such as {low}") from None
    if not low <= value <= high:
        raise ValueError(f"{name} is {value}; it must be an integer from {low} to {high}")
    return value
