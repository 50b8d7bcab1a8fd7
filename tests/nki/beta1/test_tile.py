"""Tensors, blocks and waiting results of the older interface.  Judge: NumPy's indexing; for what
is recorded, the statements of AWS's developer guide (SDK 2.26) on accumulation and masks."""

import numpy as np

import trainium_edu.nki as nki
import trainium_edu.nki.beta1.isa as nisa
import trainium_edu.nki.beta1.language as nl
from tests.for_each import for_each, for_rows, raises
from tests.nki.beta1.cases import refusals, stored
from trainium_edu.nki.beta1.kernel import jit

F = np.float32


def floats(*shape):
    return np.random.default_rng(0).standard_normal(shape, dtype=F)


def run(function, *arrays):
    """Return what a kernel returns, and the names of its instructions."""
    found = nki.run(jit(function), *arrays)
    return found.outputs, [i.name for i in found.program.instructions]


P, J = nl.arange(32)[:, None], nl.arange(24)[None, :]
K = nl.arange(32)[:, None, None], nl.arange(3)[None, :, None], nl.arange(4)[None, None, :]
PARTS = {
    "slices": lambda t: t[0:32, 4:20:2], "a number": lambda t: t[:, 3],
    "two indices": lambda t: t[P, J],
    "a step": lambda t: t[P, 2 * nl.arange(12)[None, :] + 1], "an offset": lambda t: t[P + 32, J],
    "three axes": lambda t: t[K[0], 8 * K[1] + K[2]], "ds": lambda t: t[nl.ds(32, 32), nl.ds(4, 8)],
    "a grid": lambda t: t[nl.mgrid[0:32, 0:24]], "repeated": lambda t: t[P, 0 * J + 5],
    "an ellipsis": lambda t: t[..., 2:4], "from behind": lambda t: t[32:, -4:],
}  # fmt: skip


def _numpys(part, array):
    """Return the same part of an array."""

    class Array(np.ndarray):
        def __getitem__(self, key):
            parts = key if isinstance(key, tuple) else (key,)
            found = []
            for p in parts:
                if hasattr(p, "start") and hasattr(p, "size") and not isinstance(p, slice):
                    p = slice(p.start, p.start + p.size)
                if isinstance(p, tuple):
                    found += [np.array(q) for q in p]
                else:
                    found.append(np.array(p) if hasattr(p, "numbers") else p)
            return np.asarray(self)[tuple(found)]

    return part(array.view(Array))


@for_each("name", PARTS)
def test_a_part_of_a_tile_or_of_a_tensor_in_hbm_is_numpys(name):
    def of_tile(x):
        return stored(nl.copy(PARTS[name](nl.load(x))))

    def of_hbm(x):
        return stored(nl.load(PARTS[name](x)))

    x = floats(64, 24)
    for kernel, copies in ((of_tile, ["tensor_copy"]), (of_hbm, [])):
        found, names = run(kernel, x)
        np.testing.assert_array_equal(found, _numpys(PARTS[name], x).reshape(found.shape))
        assert names == ["dma_copy", *copies, "dma_copy"]


def test_blocks_are_tiles_of_their_own():
    def kernel(x):
        t = nl.ndarray((2, 3, nl.par_dim(64), 8), F)
        out = nl.ndarray((2, 3, 64, 8), F, buffer=nl.shared_hbm)
        assert (t.shape, t[1].shape, t[1, 2].shape) == ((2, 3, 64, 8), (3, 64, 8), (64, 8))
        for i in nl.affine_range(2):
            row = t[i]
            for j in nl.affine_range(3):
                row[j] = nl.load(x[i, j])
                t[i, j, 0:32, 0:4] = nl.multiply(t[i, j, 0:32, 0:4], 2.0)
                nl.store(out[i, j], t[i, j])
        return out

    x = floats(2, 3, 64, 8)
    expected = x.copy()
    expected[:, :, :32, :4] *= 2
    found, _ = run(kernel, x)
    np.testing.assert_array_equal(found, expected)


def test_a_result_is_written_where_it_is_assigned():
    def kernel(x):
        t = nl.ndarray((64, 48), F)
        t[:, 0:24] = nl.load(x)
        t[:, 24:48] = nl.exp(t[:, 0:24])
        y = nl.add(t[:, 0:24], 1.0)
        t[:, 0:24] = y
        return stored(t)

    x = floats(64, 24)
    found, names = run(kernel, x)
    np.testing.assert_allclose(found, np.concatenate([x + 1, np.exp(x)], 1), rtol=1e-6)
    assert names == ["dma_copy", "activation", "tensor_scalar", "dma_copy"]


def test_a_result_outlives_the_place_that_it_was_written_to():
    def kernel(x):
        t = nl.ndarray((64, 24), F)
        y = nl.add(nl.load(x), 1.0)
        t[...] = y
        t[...] = nl.multiply(y, 3.0)  # y is needed after this
        return stored(t), stored(y)

    x = floats(64, 24)
    (tripled, kept), _ = run(kernel, x)
    np.testing.assert_allclose(tripled, (x + 1) * 3)
    np.testing.assert_array_equal(kept, x + 1)


def test_sums_in_psum_need_no_zeros():
    def kernel(a, b):
        p = nl.zeros((32, 24), nl.float32, buffer=nl.psum)
        q = nl.ndarray((32, 24), nl.float32, buffer=nl.psum)
        for k in nl.affine_range(2):
            p += nisa.nc_matmul(nl.load(a[k]), nl.load(b[k]))
            q[P, J] += nl.matmul(nl.load(a[k]), nl.load(b[k]), transpose_x=True)
        q[P, J] = nisa.nc_matmul(nl.load(a[1]), nl.load(b[1]))  # begins anew
        return stored(nl.copy(p)), stored(nl.copy(q))

    a, b = floats(2, 64, 32), floats(2, 64, 24)
    (found, anew), names = run(kernel, a, b)
    np.testing.assert_allclose(found, np.einsum("kpm,kpn->mn", a, b), rtol=1e-4, atol=1e-4)
    np.testing.assert_allclose(anew, a[1].T @ b[1], rtol=1e-4, atol=1e-4)
    assert "memset" not in names


def test_what_no_matmul_wrote_of_zeros_reads_zero():
    def kernel(a, b):
        p = nl.zeros((32, 24), nl.float32, buffer=nl.psum)
        p[:, 0:8] += nisa.nc_matmul(nl.load(a), nl.load(b))
        return stored(nl.copy(p))

    a, b = floats(64, 32), floats(64, 8)
    found, names = run(kernel, a, b)
    np.testing.assert_allclose(found[:, :8], a.T @ b, rtol=1e-4, atol=1e-4)
    assert not found[:, 8:].any()
    assert names.count("memset") == 1


def test_tiles_compute_in_place_and_with_operators():
    def kernel(x, y):
        a, b = nl.load(x), nl.load(y)
        a += b
        a *= 2.0
        c = (a - b) / 4.0 + -b * 1.5
        return stored(c), stored(2.0 - a), stored(abs(b)), stored(np.float32(3) * a + np.exp(b))

    x, y = floats(32, 24), floats(32, 24)[::-1].copy()
    (c, d, e, f), _ = run(kernel, x, y)
    a = (x + y) * 2
    np.testing.assert_allclose(c, (a - y) / 4 - y * 1.5, rtol=1e-5, atol=1e-6)
    np.testing.assert_allclose(d, 2 - a, rtol=1e-6)
    np.testing.assert_array_equal(e, abs(y))
    np.testing.assert_allclose(f, 3 * a + np.exp(y), rtol=1e-5)


def test_a_mask_cuts_all_operands_to_one_box():
    def kernel(x, y):
        out = nl.ndarray((40, 24), F, buffer=nl.shared_hbm)
        for p in nl.affine_range(2):
            i, j = nl.mgrid[0:32, 0:24]
            mask = (p * 32 + i < 40) & (j < 20)
            a = nl.load(x[p * 32 + i, j], mask=p * 32 + i < 40)
            bias = nl.load(y[p * 32 : p * 32 + 32], mask=p * 32 + nl.arange(32)[:, None] < 40)
            b = nl.add(a, bias, mask=mask)
            nl.store(out[p * 32 + i, j], b, mask=mask)
            nl.store(out[p * 32 : (p + 1) * 32, 20:24], a[:, 20:24], mask=p * 32 + P < 40)
        return out

    x, y = floats(40, 24), floats(40)
    found, _ = run(kernel, x, y)
    expected = x.copy()
    expected[:, :20] += y[:, None]
    np.testing.assert_array_equal(found, expected)


@for_rows("dtype", F, np.int32)
def test_a_masked_load_leaves_the_rest_of_fresh_zeros(dtype):
    def kernel(x):
        t = nl.zeros((2, nl.par_dim(32), 24), dtype)
        for b in nl.affine_range(2):
            t[b, P, J] = nl.load(x[32 * b + P, J], mask=32 * b + P < 40)
        out = nl.ndarray((64, 24), dtype, buffer=nl.shared_hbm)
        for b in nl.affine_range(2):
            nl.store(out[32 * b + P, J], t[b])
        return out

    x = (100 * floats(40, 24)).astype(dtype)
    found, names = run(kernel, x)
    np.testing.assert_array_equal(found, np.pad(x, ((0, 24), (0, 0))))
    assert names.count("memset") == 2
    assert "tensor_copy" not in names  # loaded where it belongs


def test_a_mask_that_holds_nowhere_issues_nothing():
    def kernel(x):
        t = nl.ndarray((32, 24), F)
        t[...] = nl.load(x)
        t[...] = nl.exp(t, mask=P > 99)
        return stored(t)

    x = floats(32, 24)
    found, names = run(kernel, x)
    np.testing.assert_array_equal(found, x)
    assert names == ["dma_copy", "dma_copy"]


def test_one_dimension_goes_onto_partitions():
    def kernel(x):
        t = nl.ndarray((nl.par_dim(16),), F)
        assert t.shape == (16,)
        t[...] = nl.load(x[16:32])
        out = nl.ndarray((16,), F, buffer=nl.shared_hbm)
        nl.store(out, t + nl.load(x[0:16]))
        return out

    x = floats(32)
    found, _ = run(kernel, x)
    np.testing.assert_array_equal(found, x[:16] + x[16:])


def test_scalars_go_into_tiles_and_single_elements():
    def kernel():
        t = nl.zeros((4, 3), np.int32)
        for i in nl.static_range(4):
            for j in nl.static_range(3):
                t[i, j] = j * 5 + i
        out = nl.ndarray((4, 3), np.int32, buffer=nl.shared_hbm)
        nl.store(out, 100)
        return stored(t), out

    (found, hundred), _ = run(kernel)
    np.testing.assert_array_equal(found, np.arange(3) * 5 + np.arange(4)[:, None])
    assert (hundred == 100).all()


def test_assignment_repeats_dimensions_of_size_one():
    def kernel(x):
        t = nl.ndarray((32, 24), F)
        t[...] = nl.load(x)
        return stored(t), stored(nl.load(x).broadcast_to((32, 5)))

    x = floats(32, 1)
    (found, five), _ = run(kernel, x)
    np.testing.assert_array_equal(found, np.broadcast_to(x, (32, 24)))
    np.testing.assert_array_equal(five, np.broadcast_to(x, (32, 5)))


def test_where_tensors_are():
    def kernel(x):
        assert nl.ndarray((4, 4), F).buffer is nl.load(x).buffer is nl.sbuf
        assert nl.ndarray((4, 4), F, buffer=nl.sbuf).region is nl.sbuf
        assert nl.ndarray((4, 4), F, buffer=nl.psum).buffer is nl.psum
        assert nl.matmul(nl.load(x), nl.load(x), transpose_x=True).buffer is nl.psum
        spill = nl.ndarray(x.shape, F, buffer=nl.hbm)
        assert spill.buffer is nl.private_hbm
        nl.store(spill, nl.load(x))
        return stored(nl.load(spill))

    x = floats(32, 24)
    np.testing.assert_array_equal(run(kernel, x)[0], x)


def test_what_a_tile_is():
    def kernel(x):
        t = nl.load(x)
        assert (t.shape, t.shape, t.ndim, len(t)) == ((32, 24), [32, 24], 2, 32)
        assert t.dtype == np.float32
        assert t.dtype.itemsize == t.itemsize == 4
        assert t.reshape((32, 4, 6)).shape == (32, 4, 6) == t.reshape([32, 4, 12 / 2]).shape
        assert (t.expand_dims(1).shape, t.view(nl.bfloat16).shape) == ((32, 1, 24), (32, 48))
        assert t.view(nl.bfloat16).dtype == nl.bfloat16
        assert t.assert_shape((32, 24)) is t
        assert t.astype(np.int32).dtype == np.int32
        raises(TypeError, "cannot be iterated", iter, t)
        return stored(t.reshape((32, 4, 6))[:, 1, 2:4])

    x = floats(32, 24)
    np.testing.assert_array_equal(run(kernel, x)[0], x.reshape(32, 4, 6)[:, 1, 2:4])


test_it_is_refused_in_one_sentence = refusals("tile", globals(), floats(64, 24))
