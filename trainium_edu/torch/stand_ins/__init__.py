"""``torch_xla`` and what belongs to it while a script runs: the names of 1.13 to 2.9 together.

``install`` puts modules into ``sys.modules``, and ``remove`` takes them out.  ``names.toml`` says
which there are, where their names come from, and which further names the real ones have.  These can
be imported; when one is called, its error says what to take instead.

Sources: pytorch/xla, tags 1.13.0, 2.1.0, 2.5.0 and 2.9.0; `aws-torch-guide`.
"""

import importlib.util
import sys
from importlib.machinery import ModuleSpec, PathFinder
from types import ModuleType
from typing import Any

from trainium_edu.files import tables
from trainium_edu.names import near
from trainium_edu.torch import custom_operators, loading
from trainium_edu.torch.stand_ins import (
    amp,
    checkpoint,
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

_TABLES = tables(__file__, "names.toml")
_SOURCES = {source.__name__.rpartition(".")[2]: source for source in (
    amp, checkpoint, custom_operators, functions, host, loading, metrics, multiprocessing, neuronx,
    runtime, top, xla_model, zero,
)}  # fmt: skip


def _listed(text: str) -> tuple[ModuleType | None, list[str]]:
    """Return what an entry of the table says: where names come from, and the names."""
    name, *names = text.split() or [""]
    source: Any = _SOURCES.get(name)
    return source, [one for name in names for one in (source.__all__ if name == "*" else [name])]


#: Module → (where its names come from, the names).
MODULES = {name: _listed(text) for name, text in _TABLES["built"].items()}
#: What to take instead, by what is not built: a name with its module; the beginning of a module.
NOT_BUILT, _ELSEWHERE = (
    {name: sentence for sentence, names in _TABLES[kind].items() for name in names.split()}
    for kind in ("names", "modules")
)
_FACES = ("torch_xla", "torch_neuronx", "libneuronxla")


def is_installed() -> bool:
    """Return whether ``torch_xla`` means the stand-in now."""
    return isinstance(sys.modules.get("torch_xla"), _StandIn)


def install(*, replace: bool = False) -> bool:
    """Install the stand-ins, which ``import torch_xla`` and ``import torch_neuronx`` then find.

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
        hint = f"; {_ELSEWHERE[near]}" if near else ""
        raise ModuleNotFoundError(f"{name} is not emulated{hint}", name=name)


_FINDER = _Finder()
