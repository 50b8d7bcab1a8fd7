"""The instruction set, a file per engine; importing this package fills ``INSTRUCTIONS``."""

import importlib
import pkgutil

for _module in pkgutil.iter_modules(__path__):  # each file adds its rows
    if _module.name != "_loops":  # which loads Numba
        importlib.import_module(f"{__name__}.{_module.name}")
