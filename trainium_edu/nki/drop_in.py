"""``nki.activate()``: let code that says ``import nki`` find this package, unmodified."""

import importlib
import importlib.util
import sys
from typing import Any

from trainium_edu.nki.objects.dtypes import DType

__all__ = ["activate", "deactivate"]

_HERE = "trainium_edu.nki"
_MODULES = (".language", ".isa", ".isa.constants", ".typing", ".collectives")


def activate(*, replace: bool = False) -> bool:
    """Make ``import nki`` mean ``import trainium_edu.nki`` in this process.

    Parameters
    ----------
    replace : bool
        True also where AWS's own ``nki`` is installed or imported; otherwise that machine is left
        alone.

    Returns
    -------
    bool
        Whether ``import nki`` now finds this package.
    """
    if _is_active():
        return True
    if not replace and _another_is_there():
        return False
    names: dict[str, Any] = {"nki": sys.modules[_HERE], "nki.dtype": DType}  # a type, imported so
    for part in _MODULES:
        names["nki" + part] = importlib.import_module(_HERE + part)
    for name in [n for n in sys.modules if n == "nki" or n.startswith("nki.")]:
        del sys.modules[name]
    sys.modules.update(names)
    return True


def deactivate() -> None:
    """Take ``nki`` back out of this process."""
    if _is_active():
        for name in [n for n in sys.modules if n == "nki" or n.startswith("nki.")]:
            del sys.modules[name]


def _is_active():
    return sys.modules.get("nki") is sys.modules[_HERE]


def _another_is_there() -> bool:
    if "nki" in sys.modules:
        return True
    try:
        return importlib.util.find_spec("nki") is not None
    except (ImportError, ValueError):
        return False
