"""An instruction that was checked before is recorded and computed as if it were new.

Judge: the same calls on a fresh core each, where nothing is known.
"""

import numpy as np
import pytest

from tests.for_each import for_each, raises
from tests.texts import table_beside
from trainium_edu.neuroncore import INSTRUCTIONS, NeuronCore
from trainium_edu.specs.errors import NkiValidationError

CALLS = table_beside(__file__, "calls.toml")
P, N = 8, 24


def _core():
    core = NeuronCore()
    shapes = {"out": N, "x": N, "y": N, "v": 1, "one": 1, "two": 2, "six": 6, "eight": 8,
              "index": 8, "vals": 8, "mask": N}  # fmt: skip
    dtypes = {"mask": "uint8", "index": "uint32"}
    tiles = {k: core.sbuf((P, n), dtypes.get(k, "float32"), name=k) for k, n in shapes.items()}
    tiles["sum"], tiles["turned"] = core.psum((N, N)), core.psum((N, P))
    return core, tiles


def _fill(tiles, seed):
    rng = np.random.default_rng(seed)
    for name in ("x", "y", "v"):
        tiles[name].write_bits(rng.standard_normal(tiles[name].shape).astype(np.float32))
    tiles["mask"].write_bits(rng.integers(0, 2, (P, N)).astype(np.uint8))
    tiles["vals"].write_bits(np.array(tiles["x"].read()[:, :8]))


def test_every_row_that_is_known_by_shape_is_tried_here():
    assert set(CALLS) == {name for name, row in INSTRUCTIONS.items() if row.by_shape}


@for_each("name", CALLS)
def test_known_and_new_agree_in_record_and_value(name):
    core, tiles = _core()
    for seed in range(3):
        _fill(tiles, seed)
        core.issue(name, **eval(f"dict({CALLS[name]})", tiles))
        fresh, others = _core()
        _fill(others, seed)
        fresh.issue(name, **eval(f"dict({CALLS[name]})", others))
        found, wanted = core.program.instructions[-1], fresh.program.instructions[-1]
        for part in ("name", "engine", "accesses", "work", "options", "flops", "loops"):
            assert getattr(found, part) == getattr(wanted, part)
        for tile in ("out", "y", "one", "six", "two", "eight", "index", "sum", "turned"):
            ours, theirs = core.value(tiles[tile]), fresh.value(others[tile])
            assert np.array_equal(ours, theirs, equal_nan=True)


def test_a_known_shape_does_not_excuse_another():
    core, tiles = _core()
    _fill(tiles, 0)
    core.tensor_copy(dst=tiles["out"], src=tiles["x"])
    raises(NkiValidationError, "same number", core.tensor_copy, dst=tiles["out"], src=tiles["v"])
    with pytest.raises(NkiValidationError, match="on the Scalar Engine needs NeuronCore-v3"):
        core.tensor_copy(dst=tiles["out"], src=tiles["x"], engine="scalar")
    core.memset(dst=tiles["mask"], value=1)
    with pytest.raises(NkiValidationError, match="integer tile cannot hold a float"):
        core.memset(dst=tiles["mask"], value=1.0)
    raises(TypeError, "one number", core.memset, dst=tiles["mask"], value=True)
    with pytest.raises(TypeError, match="no operand 'mask'"):
        core.tensor_copy(dst=tiles["out"], src=tiles["x"], mask=None)


def test_a_known_shape_still_has_to_start_where_it_may(core):
    tile, out = core.sbuf((128, 4)), core.sbuf((40, 4))
    core.memset(dst=tile, value=0.0)
    core.tensor_copy(dst=out, src=tile.sliced(slice(64, 104)))
    with pytest.raises(NkiValidationError, match="starts on partition 32"):
        core.tensor_copy(dst=out, src=tile.sliced(slice(32, 72)))


def test_a_known_shape_still_has_to_lie_in_one_bank(core):
    x = core.sbuf((128, 128))
    core.memset(dst=x, value=1.0)
    wide = core.psum((128, 1024))
    for start in (0, 128, 512):
        part = wide.sliced(slice(0, 128), slice(start, start + 128))
        core.nc_matmul(dst=part, stationary=x, moving=x)
        assert core.value(part).max() == 128
    part = wide.sliced(slice(0, 128), slice(448, 576))
    raises(NkiValidationError, "one PSUM bank", core.nc_matmul, dst=part, stationary=x, moving=x)


def test_a_known_shape_still_notes_what_was_never_written(core):
    a, b = core.sbuf((4, 4)), core.sbuf((4, 4))
    core.memset(dst=a, value=0.0)
    core.tensor_copy(dst=core.sbuf((4, 4)), src=a)
    core.tensor_copy(dst=core.sbuf((4, 4)), src=b)
    assert [(kind, i) for kind, i, *_ in core.notes] == [("uninitialised", 2)]


def test_zeros_of_both_signs_are_two_values(core):
    tile = core.sbuf((1, 1))
    for zero in (0.0, -0.0, 0.0):
        core.memset(dst=tile, value=zero)
        assert np.signbit(core.value(tile)[0, 0]) == np.signbit(zero)
        assert np.signbit(dict(core.program.instructions[-1].options)["value"]) == np.signbit(zero)


def test_numpy_stays_quiet_inside_and_as_it_was_outside(core):
    tile = core.sbuf((1, 2))
    core.memset(dst=tile, value=0.0)
    before = np.geterr()
    with np.errstate(all="raise"):
        core.reciprocal(dst=tile, data=tile)
        core.tensor_tensor(dst=tile, data1=tile, data2=tile, op="subtract")
    assert np.isnan(core.value(tile)).all()
    assert np.geterr() == before
