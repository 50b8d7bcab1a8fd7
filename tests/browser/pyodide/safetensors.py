"""Names of safetensors, which Pyodide has and the wheel that carries it lacks: nothing is kept."""

import sys
from types import ModuleType


class SafetensorError(Exception):
    pass


def deserialize(data):
    raise SafetensorError("nothing was saved")


numpy = ModuleType("safetensors.numpy")
numpy.save = deserialize
sys.modules[numpy.__name__] = numpy
