"""A kernel's program measured by somebody who does not trust it.

Judge: ``nki.run`` of the same kernel, NumPy, threadpoolctl, and programs forged by hand.
"""

import ml_dtypes
import numpy as np
import pytest
import threadpoolctl

import trainium_edu.nki as nki
import trainium_edu.nki.isa as nisa
import trainium_edu.nki.language as nl
from tests.for_each import for_rows, raises
from tests.nki.cases import stored
from trainium_edu.exercises.request import Request, measured
from trainium_edu.nki.examples.matmul import hoisted
from trainium_edu.nki.examples.vector_add import add_tiles

X = np.arange(256 * 512, dtype=np.float32).reshape(256, 512) / 7
Y = X[::-1].copy()


def test_a_measured_program_gives_the_values_times_and_counts_of_its_run():
    found = measured(add_tiles(Request((X, Y), (("width", 256),))), X, Y)
    run = nki.run(add_tiles, X, Y, width=256)
    for name in ("makespan_ns", "hbm_bytes", "mfu"):
        assert getattr(found.timeline, name) == getattr(run.timeline, name)
    assert sum(i.name == "dma_copy" for i in found.program.instructions) == 12
    np.testing.assert_array_equal(found.outputs[0], X + Y)


def test_the_values_are_those_of_the_checkers_arrays():
    recorded = add_tiles(Request((X, X), (("width", 512),)))
    np.testing.assert_array_equal(measured(recorded, Y, Y).outputs[0], Y + Y)


def test_a_measured_program_multiplies_on_one_blas_thread(monkeypatch):
    """Judge: threadpoolctl.  Beside other work BLAS's own threads only wait for each other."""
    pool, seen = threadpoolctl.ThreadpoolController().select(user_api="blas"), []
    (blas,) = (found for found in pool.lib_controllers if "numpy" in found.filepath)
    multiply = np.matmul

    def matmul(*arguments, **options):
        seen.append(blas.num_threads)
        return multiply(*arguments, **options)

    monkeypatch.setattr(np, "matmul", matmul)
    recorded = hoisted(Request((X[:, :256], X)))
    ones = np.ones_like(X)
    seen.clear()
    with pool.limit(limits=2):
        found = measured(recorded, ones[:, :256], ones)
    assert set(seen) == {1}
    assert (found.outputs[0] == 256).all()


def test_an_identity_matrix_comes_back():
    @nki.jit
    def turned(x):
        eye = nl.shared_identity_matrix(128, nl.float32)
        tile = nl.load(x)
        place = nl.ndarray((128, 128), nl.float32, nl.psum)
        nisa.nc_matmul(place, stationary=tile, moving=eye)
        copy = nl.ndarray((128, 128), nl.float32)
        nisa.tensor_copy(copy, place)
        return stored(copy, nl.float32)

    x = X[:128, :128].copy()
    np.testing.assert_array_equal(measured(turned(Request((x,))), x).outputs[0], x.T)


def test_an_unfinished_kernel_has_no_program():
    @nki.jit
    def unfinished(x): ...

    assert unfinished(Request((X,))) is None


def test_constants_computed_outside_the_chip_do_not_count():
    @nki.jit
    def knows(x):
        return stored(nl.load(nl.shared_constant(np.ones((128, 512), np.float32))), nl.float32)

    x = X[:128]
    raises(ValueError, "constants of its own", measured, knows(Request((x,))), x)


def test_numbers_that_a_kernel_was_given_elsewhere_are_not_in_its_program():
    """A copy of the answer in an argument's place is refused; unwritten memory is NaN."""

    @nki.jit
    def adds_nothing(x, y):
        out = nl.ndarray(x.shape, nl.float32, nl.shared_hbm)
        out._view.buffer.adopt((X + Y).reshape(-1).view(np.uint8))  # what no instruction wrote
        return out

    assert np.isnan(measured(adds_nothing(Request((X, Y))), X, Y).outputs[0]).all()
    with pytest.raises(ValueError, match="argument 2 of the program"):
        measured(adds_nothing(Request((X, Y))), X, Y[:128])


def test_an_argument_of_a_narrower_dtype_than_its_array_is_refused():
    """A forged program could claim that it loads half of the bytes that there are."""
    half = X.astype(ml_dtypes.bfloat16)
    recorded = add_tiles(Request((half, half)))
    assert measured(recorded, half, half).timeline.hbm_bytes == 3 * half.nbytes
    with pytest.raises(ValueError, match="argument 1 of the program holds bfloat16, and its array"):
        measured(recorded, X, X)


@for_rows("forged", b"", b"junk", {"makespan_ns": 1.0}, b"\x00" * (33 << 20))
def test_what_is_no_program_is_one_sentence(forged):
    raises(ValueError, "program", measured, forged, X)
