"""Judges: ml_dtypes' and NumPy's own casts, code by code; NumPy's rint and clip for integers."""

import numpy as np

from tests.for_each import for_each, raises
from trainium_edu.neuroncore.recording import dtypes
from trainium_edu.specs import NkiValidationError

NARROW = [d for d in dtypes.DTYPES.values() if d.is_float and d.itemsize < 4]
WHOLE = [d for d in dtypes.DTYPES.values() if not d.is_float]


@for_each("dtype", NARROW, ids=str)
def test_every_code_widens_as_the_judge_widens_it(dtype):
    codes = np.arange(256**dtype.itemsize, dtype=f"u{dtype.itemsize}").view(dtype.storage)
    with np.errstate(invalid="ignore"):
        np.testing.assert_array_equal(dtypes.to_fp32(codes, dtype), codes.astype(np.float32))


@for_each("dtype", NARROW, ids=str)
def test_writing_rounds_as_the_judge_casts(dtype):
    rng = np.random.default_rng(1)
    values = (rng.standard_normal(20_000) * np.exp2(rng.uniform(-20, 8, 20_000))).astype(np.float32)
    values[:4] = np.inf, -np.inf, 0.0, -0.0
    out = np.zeros(values.shape, dtype.storage)
    dtypes.write_fp32(values, dtype, dtypes.Rounding(), out)
    with np.errstate(over="ignore"):
        judge = values.astype(dtype.storage)
    word = f"u{dtype.itemsize}"
    np.testing.assert_array_equal(out.view(word), judge.view(word))


@for_each("dtype", WHOLE, ids=str)
def test_integers_round_to_even_and_saturate(dtype):
    limits = np.iinfo(dtype.storage)
    values = np.float32([0.5, 1.5, 2.5, -0.5, -1.5, 1e20, -1e20, np.inf, -np.inf, 100.4])
    out = np.zeros(values.shape, dtype.storage)
    dtypes.write_fp32(values, dtype, dtypes.Rounding(), out)
    judge = np.clip(np.rint(values.astype(np.float64)), limits.min, limits.max)
    np.testing.assert_array_equal(out.astype(np.float64), judge)


def test_stochastic_writes_replay_and_use_both_neighbours():
    values = np.full(4096, 1.0 + 2**-9, np.float32)
    dtype = dtypes.get_dtype("bfloat16")
    first, again = (np.zeros(4096, dtype.storage) for _ in range(2))
    dtypes.write_fp32(values, dtype, dtypes.Rounding("stochastic", seed=3), first)
    dtypes.write_fp32(values, dtype, dtypes.Rounding("stochastic", seed=3), again)
    np.testing.assert_array_equal(first.view(np.uint16), again.view(np.uint16))
    up = (first.astype(np.float32) > 1).mean()
    assert abs(up - 0.25) < 5 * np.sqrt(0.25 * 0.75 / 4096)  # the odds are the distances


def test_two_writes_throw_different_dice():
    rounding, dtype = dtypes.Rounding("stochastic", seed=3), dtypes.get_dtype("bfloat16")
    values = np.full(4096, 1.0 + 2**-9, np.float32)
    first, second = (np.zeros(4096, dtype.storage) for _ in range(2))
    dtypes.write_fp32(values, dtype, rounding, first)
    dtypes.write_fp32(values, dtype, rounding, second)
    assert (first != second).any()


def test_names_of_numpy_and_ml_dtypes_are_understood():
    assert dtypes.get_dtype(np.float32).name == "float32"
    assert dtypes.get_dtype(np.dtype("int64")).name == "int32"  # 64-bit integers become 32-bit
    assert dtypes.get_dtype(dtypes.DTYPES["bfloat16"].storage).name == "bfloat16"
    for bad in ("complex64", "float7", object, None):
        raises(NkiValidationError, "", dtypes.get_dtype, bad)
