"""A NeuronCore with short ways to put numbers in and take them out."""

import numpy as np

from trainium_edu.neuroncore import NeuronCore
from trainium_edu.neuroncore.recording.dtypes import DTYPES
from trainium_edu.neuroncore.recording.instruction_set import cycles_of
from trainium_edu.specs import TRN1

MEMORIES = ("sbuf", "psum", "hbm")
NUMBERS = ("axis", "axes", "tile_position", "tile_size")


class Bench:
    """An operand that is an array becomes a tile of its dtype (float64: float32); a tuple, as in
    ``dst=(4, 8, "int32", "psum")``, becomes one that was never written."""

    def __init__(self, **options):
        self.core = NeuronCore(**options)

    def tile(self, values, dtype="float32", memory="sbuf"):
        """Return a tile that holds `values`, stored in `dtype` by ml_dtypes' or NumPy's cast."""
        values = np.asarray(values)
        view = getattr(self.core, memory)(values.shape, dtype)
        with np.errstate(all="ignore"):
            view.write_bits(values.astype(view.dtype.storage))
        return view

    def empty(self, *shape, dtype="float32", memory="sbuf"):
        """Return a tile that was never written."""
        return getattr(self.core, memory)(shape, dtype)

    def _operand(self, role, value):
        if isinstance(value, np.ndarray):
            name = "float32" if value.dtype == np.float64 else value.dtype.name
            assert name in DTYPES, f"{role}: say which dtype these {name} are to have"
            return self.tile(value, name)
        if isinstance(value, tuple) and role not in NUMBERS:
            words = [v for v in value if isinstance(v, str)]
            memory = next((w for w in words if w in MEMORIES), "sbuf")
            dtype = next((w for w in words if w not in MEMORIES), "float32")
            shape = [v for v in value if not isinstance(v, str)]
            return self.empty(*shape, dtype=dtype, memory=memory)
        return value

    def issue(self, name, **operands):
        """Issue an instruction and return what its dst holds."""
        operands = {role: self._operand(role, value) for role, value in operands.items()}
        self.core.issue(name, **operands)
        return self.core.value(operands["dst"]) if "dst" in operands else None

    @property
    def last(self):
        """The last recorded instruction."""
        return self.core.program.instructions[-1]

    @property
    def cycles(self):
        """What the last recorded instruction takes."""
        return cycles_of(self.last.name, self.last.work, self.last.engine, TRN1)


def printed(name, **names):
    """Return a formula of the reference, evaluated."""
    names = {"MIN": 64, "max": max, "min": min, **names}
    return eval(getattr(TRN1.cycles, name).value, {"__builtins__": {}}, names)
