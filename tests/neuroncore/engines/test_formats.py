"""Casts are free: every instruction, in and out of every dtype, against its own FP32 result.

Judge of the casts: ml_dtypes and NumPy; of values, the other files of this folder.
"""

import numpy as np
import pytest

from tests.for_each import for_each
from tests.texts import table_beside
from trainium_edu.neuroncore.recording.dtypes import DTYPES

DTYPE_NAMES = list(DTYPES)
P = 4
CALLS = table_beside(__file__, "formats.toml")
VALUES = np.array([[1, 2, 3, 5, 7, 6, 4, 2, 1, 3]] * P) * np.array([[1], [1], [2], [3]])


def _tf32(values):
    """Round float32 to 10 mantissa bits, ties to even, on its words."""
    words = np.ascontiguousarray(values, np.float32).view(np.uint32)
    words = words + np.uint32(0xFFF) + ((words >> 13) & np.uint32(1))
    return (words & np.uint32(0xFFFFE000)).view(np.float32)


def _issue(bench, name, values, dtype, out):
    bench, (role, more, elements) = type(bench)(), CALLS[name]  # a fresh core
    tile = bench.tile(values, dtype)
    given = {"same": tile, "eight": tile.sliced(slice(0, P), slice(0, 8))}
    operands = {k: given.get(v, v) if isinstance(v, str) else v for k, v in more.items()}
    return bench.issue(name, dst=bench.empty(P, elements, dtype=out), **{role: tile}, **operands)


@for_each("out", DTYPE_NAMES)
@for_each("name", CALLS)
def test_results_are_rounded_once_into_every_dtype(bench, name, out):
    if name == "tensor_scalar_cumulative" and out in ("int32", "uint32"):
        return  # a limit of the instruction: no 32-bit integers
    wide = _issue(bench, name, VALUES, "float32", "float32")
    found = _issue(bench, name, VALUES, "float32", out)
    storage = DTYPES[out].storage
    wide = _tf32(wide) if out == "tfloat32" else wide
    wanted = np.rint(wide) if DTYPES[out].fmt.is_integer else wide
    if DTYPES[out].fmt.is_integer:
        wanted = np.clip(wanted, int(DTYPES[out].fmt.min), int(DTYPES[out].fmt.max))
    with np.errstate(over="ignore"):
        assert np.array_equal(found, wanted.astype(storage), equal_nan=True)


@for_each("dtype", DTYPE_NAMES)
@for_each("name", CALLS)
def test_inputs_of_every_dtype_are_widened_exactly(bench, name, dtype):
    if name == "tensor_scalar_cumulative" and dtype in ("int32", "uint32"):
        return  # a limit of the instruction: no 32-bit integers
    stored = VALUES.astype(DTYPES[dtype].storage)
    found = _issue(bench, name, stored, dtype, "float32")
    wanted = _issue(bench, name, stored.astype(np.float32), "float32", "float32")
    assert np.array_equal(found, wanted, equal_nan=True)


def test_stochastic_rounding_falls_between_the_neighbours_and_means_the_value():
    from trainium_edu.neuroncore import NeuronCore

    core = NeuronCore(rounding="stochastic", seed=3)
    x, y = core.sbuf((128, 512)), core.sbuf((128, 512), "bfloat16")
    core.memset(dst=x, value=1.001953125)  # a quarter of the way from 1 to 1.0078125
    core.tensor_copy(dst=y, src=x)
    found = core.value(y).astype(np.float64)
    assert set(np.unique(found)) == {1.0, 1.0078125}
    assert found.mean() == pytest.approx(1.001953125, abs=5e-5)
    core.tensor_copy(dst=y, src=x)
    assert not np.array_equal(core.value(y).astype(np.float64), found)  # fresh dice
