"""Kernels of one instruction, in a line: ``of(nisa.reciprocal, dst=tile, data=tile)(data=h())``.

``tile``, ``hbm`` and ``psum`` make a tensor of 4 rows of 8 (or the given shape) inside the kernel;
``t`` and ``h`` put that off until the kernel runs.
"""

import linecache

import trainium_edu.nki as nki
import trainium_edu.nki.isa as nisa
import trainium_edu.nki.language as nl
from tests.for_each import raises
from trainium_edu.specs import NkiValidationError


def refused(kernel, words):
    """Assert that a kernel is refused by one clear sentence that holds `words`."""
    text = str(raises(NkiValidationError, words, nki.simulate(kernel)))
    assert 30 < len(text) < 500
    assert " at 0x" not in text
    assert "Traceback" not in text


def from_source(source, **names):
    """Return the function that a text defines, whose lines are known to tracebacks."""
    file = f"<{abs(hash(source))}>"
    linecache.cache[file] = (len(source), None, source.splitlines(keepends=True), file)
    exec(compile(source, file, "exec"), names)
    return names["kernel"]


def tile(*shape, dtype=nl.float32, buffer=nl.sbuf, value=0):
    """Return a tile of one value (4 rows of 8 unless said)."""
    made = nl.ndarray(shape or (4, 8), dtype, buffer=buffer)
    nisa.memset(dst=made, value=value)
    return made


def new(instruction, shape, *, dtype=nl.float32, buffer=nl.sbuf, **operands):
    """Return a new tile with the result of an instruction."""
    made = nl.ndarray(shape, dtype, buffer=buffer)
    instruction(dst=made, **operands)
    return made


def hbm(*shape, dtype=nl.float32):
    return nl.ndarray(shape or (4, 8), dtype, buffer=nl.hbm)


def stored(tile, dtype=None):
    """Return a new output of a kernel that `tile` is stored to."""
    out = nl.ndarray(tile.shape, dtype or tile.dtype, buffer=nl.shared_hbm)
    nl.store(out, tile)
    return out


def psum(*shape):
    return tile(*shape, buffer=nl.psum)


def of(function, **usual):
    """Return a maker of kernels: `function` with its usual operands, and the changes of a case."""

    def make(value):
        return value() if value is tile or value is hbm or isinstance(value, Later) else value

    def case(**change):
        def kernel():
            function(**{name: make(value) for name, value in (usual | change).items()})

        return kernel

    return case


class Later:
    """An operand that is made inside the kernel."""

    def __init__(self, function, *args, **kwargs):
        self.make = lambda: function(*args, **kwargs)

    def __call__(self):
        return self.make()


def t(*shape, **more):
    return Later(tile, *shape, **more)


def h(*shape, **more):
    return Later(hbm, *shape, **more)


P = Later(psum)
U32, U16 = {"dtype": nl.uint32}, {"dtype": nl.uint16}
