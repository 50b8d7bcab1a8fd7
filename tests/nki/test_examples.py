"""Judges: NumPy's sums and products, SciPy's softmax; bytes counted by hand from the loops."""

import ml_dtypes
import numpy as np
from scipy.special import softmax as scipy_softmax

import trainium_edu.nki as nki
from tests.for_each import for_each, for_rows
from trainium_edu.nki.examples import attention, matmul, softmax, suspects, vector_add


def _draw(*shape, seed=0, dtype=np.float32):
    return np.random.default_rng(seed).standard_normal(shape).astype(dtype)


@for_rows("width", 64, 512)
def test_both_ways_of_adding_give_numpys_sum(width):
    x, y = _draw(256, 512), _draw(256, 512, seed=1)
    np.testing.assert_array_equal(nki.simulate(vector_add.add_rows)(x, y), x + y)
    np.testing.assert_array_equal(nki.simulate(vector_add.add_tiles)(x, y, width), x + y)


@for_each("stage", matmul.STAGES, ids=lambda k: k.__name__)
@for_rows("dtype", ml_dtypes.bfloat16, np.float32)
def test_every_stage_of_the_matmul_gives_numpys_product(stage, dtype):
    rng = np.random.default_rng(2)
    lhsT, rhs = (rng.integers(-3, 4, (1024, n)).astype(dtype) for n in (2048, 1024))
    exact = lhsT.astype(np.float32).T @ rhs.astype(np.float32)  # whole numbers: any order is exact
    np.testing.assert_array_equal(nki.simulate(stage)(lhsT, rhs), exact.astype(dtype))


def test_the_basic_matmul_is_one_tile():
    lhsT, rhs = _draw(96, 64), _draw(96, 300, seed=1)
    np.testing.assert_allclose(nki.simulate(matmul.basic)(lhsT, rhs), lhsT.T @ rhs, atol=1e-4)


def test_stages_read_the_bytes_that_their_loops_say():
    k, m, n = 1024, 2048, 1024
    lhsT, rhs = (_draw(k, side, dtype=ml_dtypes.bfloat16) for side in (m, n))
    result = 2 * m * n
    expected = {
        "tiled": 2 * k * (m * (n // 512) + n * (m // 128)) + result,
        "hoisted": 2 * k * (m + n * (m // 128)) + result,
        "blocked": 2 * k * (m + n * (m // 512)) + result,
        "fully_blocked": 2 * k * (m + n) + result,
    }
    found = {
        s.__name__: nki.run(s, lhsT, rhs, values=False).timeline.hbm_bytes for s in matmul.STAGES
    }
    assert found == expected


@for_rows("kernel", softmax.softmax_in_steps, softmax.softmax_fused)
def test_softmax_is_scipys(kernel):
    x = 4 * _draw(256, 384)
    np.testing.assert_allclose(nki.simulate(kernel)(x), scipy_softmax(x, axis=1), atol=2e-6)


def test_fused_attention_equals_three_kernels_and_numpy():
    q, k, v = _draw(64, 256), _draw(64, 512, seed=1), _draw(512, 64, seed=2)
    wanted = scipy_softmax(0.125 * q.T @ k, axis=1) @ v
    np.testing.assert_allclose(
        nki.simulate(attention.fused_attention)(q, k, v, 0.125), wanted, atol=1e-5
    )
    weights = nki.simulate(softmax.softmax_fused)(nki.simulate(attention.scores)(q, k, 0.125))
    np.testing.assert_allclose(nki.simulate(attention.weighted_sum)(weights, v), wanted, atol=1e-5)


@for_each("name", suspects.NAMES)
def test_only_the_faulty_version_reads_what_nobody_wrote(name):
    x = _draw(128, 64)
    sound = nki.run(suspects.kernel(name, sound=True), x, 8)
    faulty = nki.run(suspects.kernel(name, sound=False), x, 8)
    assert not np.isnan(sound.outputs).any()
    assert np.isnan(faulty.outputs).any()
    assert "uninitialised" not in {w.kind for w in sound.advice}
    assert "uninitialised" in {w.kind for w in faulty.advice}
    assert suspects.listing(name).count("def ") == 4
    assert "_faulty" not in suspects.listing(name)
