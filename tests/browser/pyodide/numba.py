"""Numba's names, where it has no wheel: loops stay plain Python."""

import sys
from types import ModuleType, SimpleNamespace

import numpy as np

float32, prange, uintp = np.float32, range, np.uintp
config, types = SimpleNamespace(DISABLE_JIT=True), SimpleNamespace()


def njit(function=None, **options):
    return function if callable(function) else njit


extending = ModuleType("numba.extending")
extending.intrinsic = lambda function: function
extending.overload = lambda function, **options: lambda body: body
for module in (extending, ModuleType("numba.np"), ModuleType("numba.np.arraymath")):
    sys.modules[module.__name__] = module
