"""Tiles with numbers in them, for tests of single instructions."""

import numpy as np
import pytest

from trainium_edu.neuroncore import NeuronCore


class Bench:
    """A NeuronCore and short ways to put numbers in and take them out."""

    def __init__(self):
        self.core = NeuronCore()

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

    def issue(self, name, **operands):
        """Issue an instruction and return what its dst holds."""
        self.core.issue(name, **operands)
        return self.core.value(operands["dst"])

    @property
    def last(self):
        """The last recorded instruction."""
        return self.core.program.instructions[-1]


@pytest.fixture
def bench():
    """Return a fresh core."""
    return Bench()


@pytest.fixture
def rng():
    """Return a seeded generator."""
    return np.random.default_rng(7)
