"""Programs as people write them after reading the guide and its tutorials; judge: NumPy.

One library of ten functions on one processor, one of four on eight.
"""

import ml_dtypes
import numpy as np
import pytest

from tests.for_each import raises
from tests.neuroncore.gpsimd_cpp.sources import program
from tests.texts import rows_beside
from trainium_edu.neuroncore.gpsimd_cpp import OperatorError

ONE = program("one_processor.cpp")
EIGHT = program("eight_processors.cpp")
SHAPES = program("shapes.cpp")
REGISTER = "NEURON_LIBRARY({}, m) {{ {} }}"
FUNCTIONS = rows_beside(__file__, "programs.toml")["functions"]
rng = np.random.default_rng(0)
X = rng.standard_normal((33, 70)).astype(np.float32)
BF16 = X.astype(ml_dtypes.bfloat16)
BYTES = rng.integers(0, 256, 1000).astype(np.uint8)
CODES = rng.integers(-128, 128, (5, 77)).astype(np.int8)
TABLE = rng.standard_normal(256).astype(np.float32)
ROWS = rng.integers(0, 33, 9).astype(np.int32)
E = np.exp(X - X.max(1, keepdims=True))


def _dropped(x, p, seed):
    """Return what the program's dice leave of x, with Python's whole numbers."""
    kept = np.empty(x.size, bool)
    for i in range(x.size):
        seed = (seed * 6364136223846793005 + 1442695040888963407) % 2**64
        kept[i] = (seed >> 40) / 2**24 >= p
    return np.where(kept.reshape(x.shape), x / (1 - p), 0)


CASES = {
    "gelu": ((X,), 0.5 * X * (1 + np.tanh(0.7978845608 * (X + 0.044715 * X**3)))),
    "row_sum": ((X,), X.sum(1)),
    "hist": ((BYTES, 16), np.bincount(BYTES.astype(int) * 16 // 256, minlength=16)),
    "scan": ((X,), np.cumsum(X).reshape(X.shape)),
    "ordered": ((X,), np.sort(X.ravel()).reshape(X.shape)),
    "topk": ((X, 5), -np.sort(-X, 1)[:, :5]),
    "lut": ((CODES, TABLE), TABLE[CODES.astype(int) + 128]),
    "gather": ((X, ROWS), X[ROWS]),
    "dropout": ((X, 0.3, 42), _dropped(X, 0.3, 42)),
    "turned": ((BF16,), BF16.T),
    "leaky": ((X,), np.maximum(X, 0.1 * X)),
    "softmax_rows": ((X,), E / E.sum(1, keepdims=True)),
    "quant": ((X, 40.0), np.clip(np.trunc(X * 40 + np.copysign(0.5, X)), -128, 127)),
    "axpy": ((BF16, BF16, 0.5), (1.5 * BF16.astype(np.float32)).astype(ml_dtypes.bfloat16)),
}
WRONG = {
    "topk": ((X, 17), "index 16 is outside an array of type 'float"),
    "gather": ((X, np.array([40], np.int32)), "index 40 is outside axis 0, which has 33 elements"),
    "lut": ((CODES, TABLE[:200]), "of a TCM buffer of 800 bytes (tcm_malloc at line"),
    "row_sum": ((BF16,), "an accessor of torch::kFloat data, and the tensor is of"),
    "hist": ((BYTES.astype(np.int32), 16), "a stream of torch::kByte data, and the tensor is of"),
}


@pytest.fixture
def operators(build):
    """Return a function that builds the library of an operator, and returns the operator."""

    def made(name):
        which = "one" if name in FUNCTIONS["one"] else "eight"
        lines = " ".join(f'm.def("{n}", &{s}, "{n}");' for n, s in FUNCTIONS[which].items())
        library = build(
            ONE if which == "one" else EIGHT,
            shape=SHAPES + REGISTER.format(which, lines),
            multicore=which == "eight",
        )
        return getattr(library, name)

    return made


@pytest.mark.parametrize("name", CASES)
def test_it_gives_what_numpy_gives(operators, name):
    given, wanted = CASES[name]
    run = operators(name).run(*given)
    assert run.outputs.shape == wanted.shape
    got, wanted = (np.asarray(a, np.float64) for a in (run.outputs, wanted))
    np.testing.assert_allclose(got, wanted, rtol=1e-4, atol=1e-4)
    assert run.timeline.timeline.spans[0].label.startswith(f"{name} (kernel.cpp:")


@pytest.mark.parametrize("name", WRONG)
def test_what_is_given_wrong_is_one_sentence_at_a_line(operators, name):
    given, text = WRONG[name]
    told = raises(OperatorError, "", operators(name), *given)
    assert text in str(told), str(told)
    assert str(told).startswith("kernel.cpp:")
