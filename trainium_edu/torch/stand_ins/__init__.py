"""``torch_xla`` and what belongs to it while a script runs: the names of 1.13 to 2.9 together.

``install`` puts modules into ``sys.modules``, and ``remove`` takes them out.  ``MODULES`` says
which there are and where their names come from; ``not_built.toml`` names what the real ones have
besides: it can be imported, and says what to take instead when it is called.

Sources: pytorch/xla, tags 1.13.0, 2.1.0, 2.5.0 and 2.9.0; `aws-torch-guide`.
"""

import importlib.util
import sys
import tomllib
from importlib.machinery import ModuleSpec, PathFinder
from pathlib import Path
from types import ModuleType

from trainium_edu.names import near
from trainium_edu.torch import loading
from trainium_edu.torch.stand_ins import (
    amp,
    checkpoint,
    custom_op,
    functions,
    host,
    multiprocessing,
    neuronx,
    runtime,
    top,
    xla_model,
    zero,
)
from trainium_edu.xla import metrics

__all__ = ["MODULES", "NOT_BUILT", "install", "is_installed", "remove"]

_LOADERS = ["MpDeviceLoader", "ParallelLoader", "PerDeviceLoader"]
_TORCH_NEURONX = ["DataParallel", "__version__", "async_load", "dynamic_batch", "lazy_load",
                  "move_trace_to_device", "nki_jit", "trace"]  # fmt: skip
_METRICS = [name for name in metrics.__all__ if name.islower()]
_HOST = {
    "utils.utils": "SampleGenerator eprint getenv_as",
    "test.test_utils": """close_summary_writer get_summary_writer now print_test_update
        print_training_update write_to_summary""",
    "utils.serialization": "load save",
    "debug.profiler": "StepTrace Trace start_server start_trace stop_trace trace trace_detached",
}

#: Module → (where its names come from, the names).
MODULES: dict[str, tuple[ModuleType | None, list[str]]] = {
    "torch_xla": (top, top.__all__),
    "torch_xla.torch_xla": (top, top.__all__),
    "torch_xla._XLAC": (xla_model, ["_xla_get_tensor_id", "_xla_metrics_report"]),
    "torch_xla.core": (None, []),
    "torch_xla.core.xla_model": (xla_model, xla_model.__all__),
    "torch_xla.core.functions": (functions, functions.__all__),
    "torch_xla.runtime": (runtime, runtime.__all__),
    "torch_xla.experimental": (None, []),
    "torch_xla.experimental.pjrt": (runtime, [*runtime.__all__, "broadcast_master_param"]),
    "torch_xla.experimental.pjrt_backend": (None, []),
    "torch_xla.distributed": (None, []),
    "torch_xla.distributed.parallel_loader": (loading, _LOADERS),
    **{f"torch_xla.distributed.{name}": (None, []) for name in ("fsdp", "fsdp.wrap", "spmd")},
    "torch_xla.distributed.zero_redundancy_optimizer": (zero, zero.__all__),
    "torch_xla.distributed.xla_backend": (xla_model, ["ProcessGroupXla"]),
    "torch_xla.distributed.xla_multiprocessing": (multiprocessing, multiprocessing.__all__),
    "torch_xla.debug": (None, []),
    "torch_xla.debug.metrics": (metrics, _METRICS),
    "torch_xla.utils": (None, []),
    "torch_xla.utils.checkpoint": (checkpoint, ["checkpoint"]),
    "torch_xla.test": (None, []),
    **{f"torch_xla.{name}": (host, names.split()) for name, names in _HOST.items()},
    "torch_xla.amp": (amp, ["autocast", "GradScaler"]),
    "torch_xla.amp.syncfree": (amp, ["SGD", "Adam", "AdamW"]),
    **{f"torch_xla.amp.syncfree.{one.lower()}": (amp, [one]) for one in ("SGD", "Adam", "AdamW")},
    "torch_neuronx": (neuronx, _TORCH_NEURONX),
    "torch_neuronx.utils": (neuronx, ["get_platform_target"]),
    "torch_neuronx.experimental": (None, []),
    "torch_neuronx.experimental.profiler": (neuronx, ["profile"]),
    "libneuronxla": (neuronx, ["__version__", "register_hlo_snapshot_callback"]),
    "torch_neuronx.xla_impl": (None, []),
    "torch_neuronx.xla_impl.ops": (neuronx, ["nki_jit"]),
    "torch_neuronx.xla_impl.custom_op": (custom_op, custom_op.__all__),
}
#: What to take instead, by what is not built: a name with its module; the beginning of a module.
NOT_BUILT, _ELSEWHERE = (
    {name: sentence for sentence, names in table.items() for name in names.split()}
    for table in tomllib.loads(
        Path(__file__).with_name("not_built.toml").read_text(encoding="utf-8")
    ).values()
)
_FACES = ("torch_xla", "torch_neuronx", "libneuronxla")


def is_installed() -> bool:
    """Return whether ``torch_xla`` means the stand-in now."""
    return isinstance(sys.modules.get("torch_xla"), _StandIn)


def install(*, replace: bool = False) -> bool:
    """Let ``import torch_xla`` and ``import torch_neuronx`` find the stand-ins.

    Parameters
    ----------
    replace : bool
        Also where the real ones are installed or imported.

    Returns
    -------
    bool
        Whether they are found now.
    """
    if is_installed():
        return True
    if not replace and any(map(_another_is_there, _FACES)):
        return False
    _take_out()
    for name, (source, names) in MODULES.items():
        made = sys.modules[name] = _StandIn(name, source, names)
        above, _, last = name.rpartition(".")
        if above and not hasattr(sys.modules[above], last):
            setattr(sys.modules[above], last, made)
    sys.meta_path.insert(0, _FINDER)
    return True


def remove() -> None:
    """Take the stand-ins out again."""
    if is_installed():
        _take_out()
        sys.meta_path.remove(_FINDER)


def _take_out() -> None:
    for name in [n for n in sys.modules if n.partition(".")[0] in _FACES]:
        del sys.modules[name]


def _another_is_there(name: str) -> bool:
    if name in sys.modules:
        return True
    try:
        return importlib.util.find_spec(name) is not None
    except (ImportError, ValueError):
        return False


class _StandIn(ModuleType):
    """A module of one of the two packages."""

    def __init__(self, name: str, source: ModuleType | None, names: list[str]):
        super().__init__(name, f"The emulation's {name}; see {__name__}.")
        is_package = source is None or any(other.startswith(f"{name}.") for other in MODULES)
        self.__spec__ = ModuleSpec(name, None, origin="trainium_edu", is_package=is_package)
        if is_package:
            self.__path__: list[str] = []
        self.__dict__.update({one: getattr(source, one) for one in names})

    def __getattr__(self, name: str):
        instead = NOT_BUILT.get(f"{self.__name__}.{name}")
        if instead is not None:
            return _refusing(f"{self.__name__}.{name}", instead)
        public = [other for other in vars(self) if other[0] != "_"]
        raise AttributeError(
            f"module {self.__name__!r} has no attribute {name!r}{near(name, public)}"
        )


def _refusing(name: str, instead: str):
    """Return what can be imported, and says when it is called that it is not built."""

    class Refusing:
        def __init__(self, *args, **kwargs):
            raise NotImplementedError(f"{name} is not emulated; {instead}")

    Refusing.__name__ = Refusing.__qualname__ = name.rpartition(".")[2]
    return Refusing


class _Finder:
    """Says of modules that are not built what to take instead."""

    @staticmethod
    def find_spec(name, path=None, target=None):
        if name.partition(".")[0] not in _FACES and (
            name not in _ELSEWHERE or PathFinder.find_spec(name, path) is not None
        ):
            return None
        near = max((one for one in _ELSEWHERE if name.startswith(one)), key=len, default="")
        raise ModuleNotFoundError(
            f"{name} is not emulated{'; ' * bool(near)}{_ELSEWHERE.get(near, '')}", name=name
        )


_FINDER = _Finder()
