"""Mistakes of beginners are answered at their line, by what to write.  Judge: Python's traceback.

Each kernel ends in its mistake, so the traceback's last line of this file is the kernel's last.
"""

import copy
import inspect
import math
import pickle
import traceback
import warnings
from functools import partial

import numpy as np
import pytest

import trainium_edu.nki as nki
import trainium_edu.nki.isa as nisa
import trainium_edu.nki.language as nl
from tests.for_each import for_each, for_rows, raises
from trainium_edu.nki import mistakes
from trainium_edu.specs import NkiValidationError

X = np.arange(128 * 8, dtype=np.float32).reshape(128, 8)


def forgotten_dst(t):
    nisa.tensor_tensor(t, t, nl.add)


def forgotten_dst_by_name(t):
    nisa.activation(op=nl.exp, data=t)


def earlier_interface(t):
    nisa.nc_matmul(t)


def unknown_keyword(x):
    nl.load(x, mask=None)


def no_dtype(x):
    nl.zeros((4, 4))


def sizes_one_by_one(t):
    t.reshape(128, 2, 4)


def number_of_a_tile(t):
    float(t)


def function_of_python(t):
    math.exp(t)


def tile_as_a_bound(t):
    range(t)


def number_in_a_tile(t):
    _ = 0 in t


def formatted(x):
    t = nl.load(x)
    f"{t:.2f}"


def assigned_dtype(t):
    t.dtype = nl.bfloat16


def handle_as_a_tile(x):
    t = nl.load(x)
    nl.store(x, nisa.activation(dst=t, op=nl.exp, data=t))


def handle_as_an_operand(t):
    nisa.tensor_copy(dst=t, src=nisa.tensor_copy(dst=t, src=t))


def part_of_a_handle(t):
    nisa.tensor_copy(dst=t, src=t)[0]


def number_for_a_tile(t):
    nisa.tensor_tensor(dst=t, data1=t, data2=2.0, op=nl.add)


def vector_for_a_tile(t):
    nisa.tensor_tensor(dst=t, data1=t, data2=t[:, 0:1], op=nl.add)


def array_of_the_host(t):
    nisa.tensor_tensor(dst=t, data1=t, data2=X, op=nl.add)


def mask_as_an_index(t):
    t[:, np.arange(8) % 2 == 0]


def added_axis(t):
    t[:, None]


def half_a_size(x):
    nl.affine_range(x.shape[0] / 64)


def exchanged_arguments(x):
    nl.ndarray((4, 4), nl.sbuf, nl.float32)


def stored_the_wrong_way(x):
    t = nl.load(x)
    nl.store(t, x)


def slice_beyond(t):
    t[:, 5:9]


def endless_tiles(x):
    while True:
        nl.ndarray((128, 8), nl.float32)


MISTAKES = [(forgotten_dst, r"nisa\.tensor_tensor\(dst, data1, data2, op.*result goes comes first"),
            (forgotten_dst_by_name, r"nisa\.activation\(dst, op, data"),
            (earlier_interface, r"nisa\.nc_matmul\(dst, stationary, moving"),
            (unknown_keyword, r"nl\.load\(src, dtype=\.\.\.\)"),
            (no_dtype, r"nl\.zeros\(shape, dtype"), (sizes_one_by_one, r"t\.reshape\(shape\)"),
            (number_of_a_tile, "numbers are on the chip"),
            (function_of_python, "numbers are on the chip"),
            (tile_as_a_bound, "numbers are on the chip"),
            (number_in_a_tile, "numbers are on the chip"), (formatted, "numbers are on the chip"),
            (assigned_dtype, r"t\.view\(dtype\)"), (handle_as_a_tile,
    "activation returned.*not a tile: the result is in the tile given as dst"),
            (handle_as_an_operand, "tensor_copy returned.*the result is in the tile given as dst"),
            (part_of_a_handle, "the result is in the tile given as dst"),
            (number_for_a_tile, "tensor_scalar combines a tile with a number"),
            (vector_for_a_tile, "tensor_scalar takes one number per partition"),
            (array_of_the_host, r"data2 is a host array, float32\[128, 8\]"),
            (mask_as_an_index, r"a host array, bool\[8\].*nl\.where"),
            (added_axis, r"t\.expand_dim inserts"), (half_a_size, "a // b"),
            (exchanged_arguments, r"nl\.ndarray\(shape, dtype, buffer\)"),
            (stored_the_wrong_way, r"nl\.store\(dst, value\)"),
            (slice_beyond, r"slice 5:9 on axis 1 is out of bounds"),
            (endless_tiles, "stopped after 1000 allocations")]  # fmt: skip


@for_each("kernel, words", MISTAKES, ids=[k.__name__ for k, _ in MISTAKES])
def test_a_mistake_is_answered_at_its_line_by_what_to_write(kernel, words):
    def run(x):
        kernel(nl.load(x) if [*inspect.signature(kernel).parameters] == ["t"] else x)

    with pytest.raises((TypeError, AttributeError, NkiValidationError), match=words) as caught:
        nki.run(run, X.copy(), limit=1000)
    assert len(str(caught.value)) < 500
    lines, start = inspect.getsourcelines(kernel)
    last = traceback.extract_tb(caught.tb)[-1]
    assert (last.filename, last.lineno) == (__file__, start + len(lines) - 1)


@for_rows(
    "result, words",
    (lambda x: nisa.register_alloc and nisa.memset(dst=nl.ndarray((4, 4), "int32"), value=0),
     "memset returned"),
    (lambda x: np.array(x) * 2, "Python computed, not the chip"),
    (lambda x: (x, [np.zeros(3)]), "Python computed, not the chip"),
    (lambda x: (row for row in range(3)), "Python computed, not the chip"),
    (lambda x: nl.load(x), "of line .* on-chip tile"),
)  # fmt: skip
def test_what_no_chip_can_return_is_refused(result, words):
    raises(NkiValidationError, words, nki.simulate(result), X.copy())


@for_rows(
    "given, words",
    ([1.0, 2.0], "x is a value of type list.*np.array"),
    (3, "x is a value of type int"),
    (None, "x is a value of type NoneType"),
    (np.ma.masked_array(X, X > 3), r"x is a masked array.*x\.filled"),
    (X.astype(complex), r"x: dtype\('complex128'\) is not a dtype of NKI"),
    (np.array([["a"]]), "x: .* is not a dtype of NKI"),
    (np.full((2, 2), 2**40), "x is int64 and holds"),
)
def test_an_argument_that_is_no_tensor_is_named(given, words):
    def kernel(x):
        nl.zeros(x.shape, nl.float32)

    raises((TypeError, AttributeError, NkiValidationError), words, nki.run, kernel, given)


def test_another_none_is_not_blamed_on_an_argument():
    def kernel(x, bias=None):
        nl.store(x, nl.load(x)).shape  # noqa: B018

    raises(AttributeError, r"has no attribute 'shape'$", nki.run, kernel, X.copy(), None)


@for_rows(
    "module, name, meant",
    (nl, "adds", r"nl\.add\b"), (nl, "Float32", r"nl\.float32"), (nl, "SBUF", r"nl\.sbuf"),
    (nl, "dma_copy", r"nisa\.dma_copy"), (nisa, "load", r"nl\.load"),
    (nisa, "tensor_tensr", r"nisa\.tensor_tensor"), (nki, "simulat", r"nki\.simulate"),
)  # fmt: skip
def test_a_misspelled_name_is_met_by_the_near_one(module, name, meant):
    raises(AttributeError, f"has no attribute '{name}'; is {meant} meant", getattr, module, name)


@for_rows(
    "dtype, meant",
    ("bf16", "bfloat16"),
    (float, "float32"),
    ("flaot32", "float32"),
    ("nl.int8", "int8"),
)
def test_a_misspelled_dtype_is_met_by_the_near_one(dtype, meant):
    caught = raises(TypeError, f"is nl.{meant} meant", nki.run, lambda: nl.ndarray((4, 4), dtype))
    assert "float8_e8m0fnu" not in str(caught)  # of a later chip


def test_looking_at_the_numbers_of_a_tile_is_fine():
    def kernel(x):
        t = nl.load(x)
        assert np.allclose(t, X)
        assert np.shape(t) == t.shape == copy.copy(t).shape
        for take in (copy.deepcopy, pickle.dumps):
            raises(TypeError, "place in the chip's memory", take, t)

    nki.simulate(kernel)(X)


def test_a_grid_inside_a_kernel_is_refused_where_programs_would_be_missing():
    @nki.jit
    def part(x):
        return x

    def kernel(x):
        return part[2](x)

    raises(NkiValidationError, "no new programs start", nki.run, kernel, X)
    assert np.array_equal(nki.run(nki.jit(kernel)[2], X).outputs, X)


def test_lists_of_tiles_are_bounded_by_bytes(monkeypatch):
    from trainium_edu.nki import running

    monkeypatch.setattr(running, "_MOST_HELD_BYTES", 2**20)

    def kept(x):
        tiles = []
        while True:
            tiles.append(nl.load(x))

    def dropped(x):
        for _ in range(1000):
            nl.load(x)

    raises(NkiValidationError, "a list of tiles grows", nki.run, kept, X)
    nki.run(dropped, X)


def test_a_forgotten_return_is_said_where_something_is_lost():
    def forgetful(x):
        out = nl.ndarray(x.shape, x.dtype, buffer=nl.shared_hbm)
        nl.store(out, nl.load(x))

    for start in (nki.run, nki.jit(forgetful), nki.simulate(forgetful)):
        with pytest.warns(UserWarning, match="forgetful returns nothing.*return that tensor"):
            start(*(forgetful, X) if start is nki.run else (X,))

    def in_place(x):
        scratch = nl.ndarray(x.shape, x.dtype, buffer=nl.hbm)
        nl.store(scratch, nl.load(x))
        nl.store(x, nl.load(scratch))

    with warnings.catch_warnings():
        warnings.simplefilter("error")
        nki.run(in_place, X.copy())


def test_a_kernel_that_issues_nothing_has_nothing_to_say():
    run = nki.run(lambda x: x, X)
    assert run.advice == []
    assert run.timeline.makespan_ns == 0


def test_a_traceback_shows_the_call_and_the_kernel_and_hides_nothing_of_others():
    def helper(rows):
        return rows["missing"]

    def kernel(x):
        nl.load(x)
        return helper({})

    for start in (
        partial(nki.simulate(kernel), X),
        partial(nki.jit(kernel)[2], X),
        partial(nki.run, kernel, X),
        partial(nki.run_ranks, kernel, [(X,), (X,)]),
    ):
        with pytest.raises(KeyError) as caught:
            start()
        names = [frame.name for frame in traceback.extract_tb(caught.tb)]
        assert names[-2:] == ["kernel", "helper"]
        assert len(names) < 6


def test_a_fault_of_this_package_shows_its_place():
    def kernel(x):
        nl.load(x)
        mistakes.near(None, [])  # not meant to take None

    with pytest.raises(AttributeError) as caught:
        nki.simulate(kernel)(X)
    names = [frame.name for frame in traceback.extract_tb(caught.tb)]
    assert names[-2:] == ["kernel", "near"]
