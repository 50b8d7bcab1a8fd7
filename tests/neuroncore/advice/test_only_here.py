"""What runs here and not on the chip is said, with its source, and the values stay.

Judges: AWS's release notes ("Known Issues" of NKI 0.4.0, carried on by 0.6.0), its page on logical
NeuronCores, NumPy, and for overlapping addresses which bytes the output then shows.
"""

import functools
import warnings

import numpy as np

import trainium_edu.nki as nki
import trainium_edu.nki.isa as nisa
import trainium_edu.nki.language as nl
from tests.for_each import for_each, for_rows, raises
from trainium_edu.specs import NKI_KNOWN_ISSUES, SOURCES

X = np.linspace(0.5, 4.0, 128 * 64, dtype=np.float32).reshape(128, 64)


def by(function):
    def kernel(x):
        out = nl.ndarray(x.shape, nl.float32, buffer=nl.shared_hbm)
        result = function(nl.load(x))
        if result.buffer == nl.psum:
            moved = nl.ndarray(result.shape, nl.float32)
            nisa.tensor_copy(dst=moved, src=result)
            result = moved
        nl.store(out, result)
        return out

    return kernel


def issues(run):
    return [w for w in run.advice if w.kind == "known issue"]


def in_psum(t):
    tile = nl.ndarray(t.shape, nl.float32, buffer=nl.psum)
    nisa.tensor_copy(dst=tile, src=t)
    return tile


def stored(t):
    out = nl.ndarray(t.shape, nl.float32, buffer=nl.hbm)
    nl.store(out, in_psum(t))
    return nl.load(out)


LISTED = {
    "divide": (lambda t: nl.divide(t, t), lambda x: x / x),
    "divide by a number": (lambda t: nl.divide(t, 3.0), lambda x: x / 3),
    "mod": (lambda t: nl.mod(t, 2.0), lambda x: np.mod(x, 2)),
    "fmod": (lambda t: nl.fmod(t, nl.add(t, 1.0)), lambda x: x),
    "power by a number": (lambda t: nl.power(t, 2.0), lambda x: x**2),
    "broadcasting in add": (lambda t: nl.add(t, t[:, 0:1]), lambda x: x + x[:, :1]),
    "broadcasting in maximum": (lambda t: nl.maximum(t[0:1], t), lambda x: np.maximum(x[:1], x)),
    "matmul as it stands": (lambda t: nl.matmul(t, t[0:64]), lambda x: x @ x[:64]),
    "copy from PSUM": (lambda t: nl.copy(in_psum(t)), lambda x: x),
    "store from PSUM": (stored, lambda x: x),
}


@for_each("name", LISTED)
def test_what_aws_lists_is_warned_of_once_and_gives_its_numbers(name):
    function, wanted = LISTED[name]
    run = nki.run(by(lambda t: (function(t), function(t))[1]), X)
    [warning] = issues(run)
    fact = getattr(NKI_KNOWN_ISSUES, name.split()[0])
    assert fact.value in warning.text
    assert "(nki-release-notes, NKI 0." in warning.text
    assert "Known Issues" in warning.text
    assert SOURCES[fact.source].url.endswith("release-notes/components/nki.rst")
    assert (warning.remedy, warning.line.file) == (fact.note, __file__)
    np.testing.assert_allclose(run.outputs, wanted(X), rtol=1e-5, atol=1e-5)
    assert len(issues(nki.run(by(function), X, values=False))) == 1


NOT_LISTED = {
    "a reciprocal": lambda t: nl.multiply(t, nl.reciprocal(t)),
    "power of tiles": lambda t: nl.power(t, nl.full(t.shape, 2.0, nl.float32)),
    "power of a number by a tile": lambda t: nl.power(2.0, t),
    "equal shapes and numbers": lambda t: nl.add(nl.add(t, t), 1.0),
    "matmul with transpose_x": lambda t: nl.matmul(
        nl.shared_identity_matrix(128, nl.float32), t, transpose_x=True
    ),
    "copy from SBUF": nl.copy,
    "what the package calls itself": lambda t: nl.add(nl.softmax(t, axis=1), nl.tan(t)),
}


@for_each("name", NOT_LISTED)
def test_the_ways_around_are_not_warned_of(name):
    assert not issues(nki.run(by(NOT_LISTED[name]), X))


def test_gathering_from_reinterpreted_rows_is_warned_of():
    """NKI 0.5.0: "reinterpret_cast + vector_select: Combined usage is not yet supported"."""

    def kernel(x, rows, first):
        out = nl.ndarray((4, 64), nl.int32, buffer=nl.shared_hbm)
        index = nl.load(rows)
        if first:
            tile = nl.load(x.view(nl.int32).vector_select(0, index))
        else:
            tile = nl.load(x.vector_select(0, index)).view(nl.int32)
        nl.store(out, tile)
        return out

    rows = np.int32([[5], [3], [90], [3]])
    for first in (True, False):
        run = nki.run(kernel, X, rows, first)
        np.testing.assert_array_equal(run.outputs, X[rows[:, 0]].view(np.int32))
        assert len(issues(run)) is int(first)


def test_loops_that_the_next_release_removes_are_said():
    """`nki-migration-0.7`: "removes the dynamic loop constructs deprecated in NKI 0.6.0"."""

    def older(t):
        for _ in nl.dynamic_range(2):
            nisa.tensor_scalar(dst=t, data=t, op0=nl.add, operand0=1.0)
        register = nisa.register_alloc(2)
        while register:
            nisa.tensor_scalar(dst=t, data=t, op0=nl.add, operand0=1.0)
            nisa.register_move(register, register - 1)
        return t

    def newer(t):
        def body(_):
            nisa.tensor_scalar(dst=t, data=t, op0=nl.add, operand0=1.0)

        nl.fori_loop(0, 2, body)
        nl.while_loop(nisa.register_alloc(2), lambda r: (body(r), r - 1)[1])
        return t

    runs = [nki.run(by(kernel), X) for kernel in (older, newer)]
    said = ": removed in NKI 0.7.0 (nki-migration-0.7"
    found = sorted(w.text.split(said)[0] for w in issues(runs[0]))
    assert found == ["nl.dynamic_range", "while over a register"]
    assert not issues(runs[1])
    for run in runs:
        np.testing.assert_allclose(run.outputs, X + 4, rtol=1e-6)


def test_a_known_issue_survives_saving(tmp_path):
    run = nki.run(by(lambda t: nl.add(nl.divide(t, t), t[:, 0:1])), X)
    run.save(tmp_path / "run.zip")
    assert [str(w) for w in nki.load(tmp_path / "run.zip").advice] == [str(w) for w in run.advice]


# -- grids and functions ----------------------------------------------------------------------


@for_rows("grid", 2, 8, 64, (2, 3))
def test_a_grid_on_a_chip_without_logical_cores_is_said(grid):
    """`aws-lnc`: "LNC applies only to Trn2 and Trn3"; `nki-lnc`: 1 or 2, kernel[8] an error."""

    @nki.jit
    def kernel(x):
        out = nl.ndarray((64, *x.shape), x.dtype, buffer=nl.shared_hbm)
        nl.store(out[nl.program_id(0)], nl.load(x))
        return out

    count = int(np.prod(grid))
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        kernel[grid](X)
        [warning] = [w for w in nki.run(kernel[grid], X).advice if w.kind == "grid"]
    said = [str(w.message).split(" are launched")[0] for w in caught]
    assert [text for text in said if "only a part is written" not in text] == (
        [f"{count} programs"] * 2 if count > 2 else []
    )
    assert warning.text.startswith(f"{count} programs")
    assert "aws-lnc" in warning.text
    assert ("an error on all" in warning.text) is (count > 2)
    for alone in (kernel, kernel[1]):
        assert not [w for w in nki.run(alone, X).advice if w.kind == "grid"]


@for_each(
    "given",
    [len, print, sum, str, list, np.exp, X.sum, type, functools.partial(len)],
    ids=lambda given: getattr(given, "__name__", "partial"),
)
def test_what_has_no_python_body_is_no_kernel(given):
    for call in (nki.run, lambda f, x: nki.simulate(f)(x), lambda f, x: nki.jit(f)(x)):
        raises(TypeError, "of your own that calls nl and nisa", call, given, X)


# -- overlapping addresses --------------------------------------------------------------------


def two_tiles(second_address, *, store_first=False, rows=slice(0, 128), refill=False):
    @nki.jit
    def kernel(x, y):
        out = nl.ndarray((2, 128, 64), x.dtype, buffer=nl.shared_hbm)
        a = nl.ndarray((128, 64), x.dtype, buffer=nl.sbuf, address=(0, 0), name="a")
        b = nl.ndarray((128, 64), x.dtype, buffer=nl.sbuf, address=(0, second_address), name="b")
        nisa.dma_copy(dst=a, src=x)
        if store_first:
            nisa.dma_copy(dst=out[0], src=a)
        nisa.dma_copy(dst=b, src=y)
        if refill:
            nisa.dma_copy(dst=a, src=x)
        if not store_first:
            nisa.dma_copy(dst=out[0, rows], src=a[rows])
        if not refill:
            nisa.dma_copy(dst=out[1], src=b)
        return out

    return nki.run(kernel, X, -X)


def overlaps(run):
    return [w for w in run.advice if w.kind == "overlapping addresses"]


@for_rows("address", 0, 4, 128, 252)
def test_a_tile_read_after_another_overwrote_it_is_warned_of(address):
    """Judge: the output itself, whose columns from `address` on are the other tile's."""
    run = two_tiles(address)
    assert (run.outputs[0][:, address // 4 :] < 0).all()
    [warning] = overlaps(run)
    assert "reads a, of which b has overwritten a part" in warning.text
    assert f"0 and {address}" in warning.text
    assert run.advice[0] is warning  # what is wrong comes first


@for_each(
    "run",
    [
        lambda: two_tiles(256),
        lambda: two_tiles(128, store_first=True),
        lambda: two_tiles(128, refill=True),
    ],
    ids=["side by side", "one after the other", "filled again"],
)
def test_sharing_bytes_in_turns_is_no_fault(run):
    found = run()
    assert (found.outputs[0] == X).all()
    assert not overlaps(found)
