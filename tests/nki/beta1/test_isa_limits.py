"""What the older ``nki.isa`` refuses, each in one sentence.

Judge: the limits that AWS's reference of SDK 2.26 states for each instruction ("must", "only",
"up to").
"""

from functools import partial

import numpy as np

import trainium_edu.nki as nki
import trainium_edu.nki.beta1.isa as nisa
import trainium_edu.nki.beta1.language as nl
from tests.for_each import for_each, raises
from tests.texts import table_beside
from trainium_edu.nki.beta1.kernel import jit
from trainium_edu.specs.errors import NkiValidationError

F = np.float32
TILES = {
    "a": np.ones((64, 96), F), "wide": np.ones((64, 1024), F), "words": np.ones((64, 96), np.int32),
    "whole": np.ones((64, 96), np.uint8), "places": np.ones((64, 2), np.uint16),
}  # fmt: skip


def _moved(a):
    out = nl.ndarray(a.shape, a.dtype, buffer=nl.psum)
    out[...] = nisa.tensor_copy(a)
    return out


def _column(dtype=np.float32):
    return nl.ndarray((64, 1), dtype, buffer=nl.sbuf)


def _hbm(a):
    return nl.ndarray(a.shape, a.dtype, buffer=nl.shared_hbm)


def _new(a, dtype=None):
    return nl.ndarray(a.shape, dtype or a.dtype, buffer=nl.sbuf)


def _index(n=64, m=96):
    return nl.mgrid[0:n, 0:m]


def _triangle(a):
    i, j = _index()
    return nisa.tensor_copy(a, mask=j <= i)


def _mask_of_another_shape(a):
    i, _ = _index(32, 96)
    return nisa.tensor_copy(a, mask=i < 7)


def _two_comparisons(a):
    i, j = _index()
    return nisa.affine_select((j <= i) & (j > 3), a, 0.0)


def _every_third(a):
    i, j = _index()
    return nisa.affine_select(j % 3 == i, a, 0.0)


def _copied(dst_dtype):
    def build(a, b):
        nisa.tensor_copy_predicated(src=a, dst=_new(a, dst_dtype), predicate=b)

    return build


def _selected(**more):
    def build(a, b):
        nisa.select_reduce(dst=_new(a), predicate=b, on_true=a, on_false=0.0, **more)

    return build


def _shuffled(mask):
    return lambda a: nisa.nc_stream_shuffle(a, _new(a), mask)


def _sent(**more):
    return lambda a: nisa.dma_copy(dst=_hbm(a), src=a, **more)


LIMITS = table_beside(__file__, "isa_limits.toml")


@for_each("name", LIMITS)
def test_it_is_refused_in_one_sentence(name):
    call, words = LIMITS[name]
    code = compile(call, "isa_limits.toml", "eval")
    used = [tile for tile in TILES if tile in code.co_names]

    def kernel(*tensors):
        eval(code, globals() | {tile: nl.load(x) for tile, x in zip(used, tensors, strict=True)})

    run = partial(nki.run, jit(kernel), optimise=False)
    error = raises((NkiValidationError, TypeError), words, run, *(TILES[tile] for tile in used))
    assert "\n" not in str(error)
