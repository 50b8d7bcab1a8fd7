"""``nki.activate()``: let code that says ``import nki`` find this package, unmodified.

``import neuronxcc.nki``, the older interface, finds ``nki/beta1`` then.
"""

import importlib
import importlib.util
import logging
import sys
from functools import partial
from pathlib import Path
from types import ModuleType
from typing import Any

import numpy as np

from trainium_edu.nki.objects.dtypes import DType

__all__ = ["activate", "deactivate"]

_HERE = "trainium_edu.nki"
_MODULES = (".language", ".isa", ".isa.constants", ".typing", ".collectives")
_OLDER = (".language", ".isa", ".typing", ".nccl", ".compiler", ".compiler.sbuf", ".compiler.psum")
_ROOTS = ("nki", "neuronxcc")
#: A level that AWS's compiler adds: course scripts say ``logging.disable(logging.OFF)``.
_OFF = logging.CRITICAL + 10


def activate(*, replace: bool = False) -> bool:
    """Make ``import nki`` mean ``import trainium_edu.nki`` in this process.

    ``import neuronxcc.nki`` means the older interface, ``trainium_edu.nki.beta1``.

    Parameters
    ----------
    replace : bool
        True also where AWS's own packages are installed or imported; otherwise each that is there
        is left alone.

    Returns
    -------
    bool
        Whether ``import nki`` now finds this package.
    """
    is_ours = False
    for root, modules in (("neuronxcc", _older), ("nki", _current)):
        is_ours = _is_active(root) or replace or not _another_is_there(root)
        if is_ours and not _is_active(root):
            names = modules()
            _forget(root)
            sys.modules.update(names)
    return is_ours


def _current() -> dict[str, Any]:
    names: dict[str, Any] = {"nki": sys.modules[_HERE], "nki.dtype": DType}  # a type, imported so
    for part in _MODULES:
        names["nki" + part] = importlib.import_module(_HERE + part)
    return names


def _older() -> dict[str, Any]:
    root: Any = ModuleType("neuronxcc", "AWS's compiler package; of it, the kernel interface.")
    root.__path__ = []
    root.nki = importlib.import_module(_HERE + ".beta1")
    names = {"neuronxcc": root, "neuronxcc.nki": root.nki}
    for part in _OLDER:
        names["neuronxcc.nki" + part] = importlib.import_module(_HERE + ".beta1" + part)
    names["neuronxcc.nki.isa.constants"] = importlib.import_module(_HERE + ".beta1.isa.constants")
    for name, contents in _inner().items():
        names["neuronxcc." + name] = module = ModuleType("neuronxcc." + name)
        vars(module).update(contents)
        parent, _, child = ("neuronxcc." + name).rpartition(".")
        if parent in names:  # ``import a.b as c`` looks for it there
            setattr(names[parent], child, module)
    if not hasattr(logging, "OFF"):
        logging.OFF = _OFF  # type: ignore[attr-defined]
    return names


def _inner() -> dict[str, dict[str, Any]]:
    """Return what AWS's own kernels and tests import from inside its compiler, by module.

    ``kernels`` held attention and vision kernels that AWS also published, in a folder
    ``reference``: it is looked for where modules are.  ``docs`` held the folder ``examples`` of the
    documentation, in which its scripts lie.
    """
    of = partial(importlib.import_module, package=_HERE + ".beta1")
    as_dtype = of(".promotion").as_dtype
    nl, inner = of(".language"), "nki.compiler.backends.neuron."
    return {
        "nki.docs": {"__path__": _Folders(_documented)},
        "nki.nccl.collectives": vars(of(".nccl")),
        "nki.kernels": {"__path__": _Folders(_published)},
        "nki.language.constants": {"sizeinbytes": lambda dtype: as_dtype(dtype).itemsize},
        "nki.compile": {"GenericKernel": of(".kernel").Kernel},
        inner + "tensor": {"local_tile": of(".tile").Tile},
        inner + "tensors": {"KernelHBMTensor": of(".tile").Tile},
        inner + "indexing": {"TileIndex": of(".index").Expression},
        inner + "dimensions": {"VNC": nl.nc},
        "starfish.penguin.targets.nki.private_api": {"vnc": nl.nc},
        "starfish.support.dtype": {"bfloat16": nl.bfloat16, "static_cast": nl.static_cast},
        "starfish.support.util": {"allclose": _allclose},
    }


def _allclose(actual, expected, *, verbose=0, **tolerances):
    """Compare as numpy.allclose does; AWS's scripts ask for its compiler's, which also prints."""
    found = np.allclose(actual, expected, **tolerances)
    if verbose and not found:
        print(f"allclose: the largest error is {np.max(np.abs(actual - expected)):.6g}")
    return found


class _Folders:
    """A package's path that is looked for when something is imported: a script's folder counts."""

    def __init__(self, find):
        self._find = find

    def __iter__(self):
        return iter(self._find())


def _published() -> list[str]:
    places = [Path(p, *rest, "reference") for p in (*sys.path, "src")
              for rest in ((), ("nki_samples",))]  # fmt: skip
    return [str(place) for place in places if place.is_dir()]


def _documented() -> list[str]:
    return [str(Path(p).parents[1]) for p in sys.path if Path(p).parent.name == "examples"]


def deactivate() -> None:
    """Take ``nki`` and ``neuronxcc`` back out of this process."""
    if _is_active("neuronxcc") and getattr(logging, "OFF", None) == _OFF:
        del logging.OFF  # type: ignore[attr-defined]
    for root in filter(_is_active, _ROOTS):
        _forget(root)


def _forget(root):
    for name in [n for n in sys.modules if n == root or n.startswith(root + ".")]:
        del sys.modules[name]


def _is_active(root):
    if root == "nki":
        return sys.modules.get("nki") is sys.modules[_HERE]
    ours = sys.modules.get(_HERE + ".beta1")
    return ours is not None and sys.modules.get("neuronxcc.nki") is ours


def _another_is_there(root) -> bool:
    if root in sys.modules:
        return True
    try:
        return importlib.util.find_spec(root) is not None
    except (ImportError, ValueError):
        return False
