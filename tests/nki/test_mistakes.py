"""Mistakes of beginners are answered at their line, by what to write.  Judge: Python's traceback.

A kernel of mistakes.toml ends in its mistake, so the traceback's last line is the kernel's last.
"""

import copy
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
from tests.nki.cases import from_source
from tests.texts import table_beside
from trainium_edu.nki import mistakes
from trainium_edu.specs import NkiValidationError

X = np.arange(128 * 8, dtype=np.float32).reshape(128, 8)


SOURCE = """def kernel(x):
    t = nl.load(x)
    {}
"""


@for_each("line, words", table_beside(__file__, "mistakes.toml")["mistakes"])
def test_a_mistake_is_answered_at_its_line_by_what_to_write(line, words):
    kernel = from_source(SOURCE.format(line), nl=nl, nisa=nisa, np=np, math=math, X=X)
    refused = (TypeError, AttributeError, NkiValidationError)
    caught = raises(refused, words, nki.run, kernel, X.copy(), limit=1000)
    assert len(str(caught)) < 500
    last = traceback.extract_tb(caught.__traceback__)[-1]
    assert (last.filename, last.lineno) == (kernel.__code__.co_filename, 3)


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
    (np.full((2, 2), 2**40), "x is int64 and holds.*64-bit integers become int32"),
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
    assert (run.advice, run.timeline.makespan_ns) == ([], 0)


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
