"""nc_matmul.  Judges: NumPy (exact on small whole numbers), the cycle-level systolic array with its
proven bound, ml_dtypes for the operands, the printed limits and cost formulas of ``specs``."""

import numpy as np
import pytest

from tests.for_each import for_each, for_rows
from tests.texts import rows_beside
from trainium_edu.neuroncore import NeuronCore, systolic_array
from trainium_edu.neuroncore.recording.dtypes import get_dtype
from trainium_edu.neuroncore.recording.engine import Engine
from trainium_edu.neuroncore.recording.instruction_set import cycles_of
from trainium_edu.specs import TRN1, NkiValidationError

SHORT = {"float32": "fp32", "tfloat32": "tf32", "bfloat16": "bf16", "float16": "fp16",
         "float8_e4m3": "fp8_e4m3", "float8_e5m2": "fp8_e5m2",
         "float8_e3m4": "fp8_e3m4"}  # fmt: skip
DTYPES = tuple(SHORT)


def tile(core, values, dtype="float32", **where):
    """Put numbers into SBUF, rounded to the dtype by ml_dtypes (values must be exact for TF32)."""
    values = np.asarray(values)
    view = core.sbuf(values.shape, dtype, **where)
    core.dma_copy(dst=view, src=core.hbm(values.astype(get_dtype(dtype).storage), dtype))
    return view


def multiply(core, stationary, moving, dtype="float32", **options):
    w, x = tile(core, stationary, dtype), tile(core, moving, dtype)
    dst = core.psum((w.free_size, x.free_size))
    core.nc_matmul(dst=dst, stationary=w, moving=x, **options)
    return core.value(dst)


@for_each("dtype", DTYPES)
@for_each("shape", [(1, 1, 1), (3, 2, 5), (128, 128, 512), (64, 128, 1), (128, 1, 7)])
def test_contracts_over_partitions_in_every_format(dtype, shape):
    k, m, n = shape
    draw = np.random.default_rng(1)
    w, x = draw.integers(-2, 3, (k, m)).astype(float), draw.integers(-2, 3, (k, n)).astype(float)
    np.testing.assert_array_equal(multiply(NeuronCore(), w, x, dtype), w.T @ x)


@for_each("dtype", DTYPES)
def test_agrees_with_the_cycle_level_array(dtype):
    """Within the bound of two orders of addition that the array's own tests prove."""
    draw = np.random.default_rng(2)
    fmt = SHORT[dtype]
    w, x = draw.standard_normal((9, 4)), draw.standard_normal((9, 6))
    w, x = (systolic_array.as_operand(a, fmt)[0] for a in (w, x))
    array = systolic_array.SystolicArray(5, 4, load_speed=3)
    expected = systolic_array.run(w, x, fmt=fmt, array=array).result
    bound = systolic_array.reordering_bound(w, x, fmt=fmt)
    assert (np.abs(multiply(NeuronCore(), w, x, dtype) - expected) <= bound).all()
    assert bound.max() < 0.01


def test_dtypes_may_differ_except_for_the_wide_ones(core):
    w, x = tile(core, [[1.5], [2.0]], "bfloat16"), tile(core, [[4.0], [0.5]], "float8_e4m3")
    dst = core.psum((1, 1))
    core.nc_matmul(dst=dst, stationary=w, moving=x)
    assert core.value(dst)[0, 0] == 7.0


def test_several_free_axes_count_as_one(core):
    draw = np.random.default_rng(3)
    w, x = draw.integers(-2, 3, (8, 4)), draw.integers(-2, 3, (8, 3, 5))
    dst = core.psum((4, 3, 5))
    core.nc_matmul(dst=dst, stationary=tile(core, w), moving=tile(core, x))
    np.testing.assert_array_equal(core.value(dst), np.einsum("km,kab->mab", w, x))


def test_strided_and_broadcast_operands(core):
    draw = np.random.default_rng(4)
    w, x = draw.integers(-2, 3, (8, 6)), draw.integers(-2, 3, (8, 10))
    ws, xs = tile(core, w, "bfloat16"), tile(core, x, "bfloat16")
    dst = core.psum((3, 5))
    core.nc_matmul(
        dst=dst,
        stationary=ws.sliced(slice(None), slice(0, 6, 2)),
        moving=xs.sliced(slice(None), slice(1, None, 2)),
    )
    np.testing.assert_array_equal(core.value(dst), w[:, ::2].T @ x[:, 1::2])
    repeated = xs.sliced(slice(None), slice(0, 1)).broadcast(8, 5)
    core.nc_matmul(
        dst=dst, stationary=ws.sliced(slice(None), slice(0, 3)), moving=repeated, accumulate=False
    )
    np.testing.assert_array_equal(core.value(dst), np.repeat(w[:, :3].T @ x[:, :1], 5, axis=1))


def test_ones_broadcast_a_row_over_partitions(core):
    row = np.float32([[1.5, np.inf, -2.0]])
    np.testing.assert_array_equal(multiply(core, np.ones((1, 128)), row), np.repeat(row, 128, 0))


# -- accumulation -----------------------------------------------------------------------------


@pytest.fixture
def pair():
    core = NeuronCore()
    return core, tile(core, np.eye(4)), tile(core, np.arange(32.0).reshape(4, 8))


def test_first_write_overwrites_and_later_ones_add(pair):
    core, w, x = pair
    dst = core.psum((4, 8))
    for times in (1, 2, 3):
        core.nc_matmul(dst=dst, stationary=w, moving=x)
        np.testing.assert_array_equal(core.value(dst), times * core.value(x))
    core.nc_matmul(dst=dst, stationary=w, moving=x, accumulate=False)
    np.testing.assert_array_equal(core.value(dst), core.value(x))
    core.nc_matmul(dst=dst, stationary=w, moving=x, accumulate=True)
    np.testing.assert_array_equal(core.value(dst), 2 * core.value(x))


@pytest.mark.parametrize("address", [None, 2048])
def test_overlapping_writes_are_told_apart_location_by_location(pair, address):
    """The convolution pattern: windows that overlap add where they overlap."""
    core, w, x = pair
    dst, expected = core.psum((4, 20), address=address), np.zeros((4, 20))
    for start in (0, 6, 12, 3):
        window = dst.sliced(slice(None), slice(start, start + 8))
        core.nc_matmul(dst=window, stationary=w, moving=x)
        expected[:, start : start + 8] += core.value(x)
    np.testing.assert_array_equal(core.value(dst), expected)


def test_partitions_of_one_tile_are_told_apart(pair):
    core, w, x = pair
    dst = core.psum((64, 8))
    for start in (0, 32, 32):
        core.nc_matmul(dst=dst.sliced(slice(start, start + 4)), stationary=w, moving=x)
    got = core.value(dst)
    np.testing.assert_array_equal(got[32:36], 2 * got[:4])
    assert np.isnan(got[4:32]).all()


def test_a_new_tile_at_an_old_address_starts_over(pair):
    core, w, x = pair
    for _ in range(2):
        dst = core.psum((4, 8), address=0)
        core.nc_matmul(dst=dst, stationary=w, moving=x)
        np.testing.assert_array_equal(core.value(dst), core.value(x))


def test_adding_to_nothing_is_noted_and_reads_nan(pair):
    core, w, x = pair
    dst = core.psum((4, 8))
    core.nc_matmul(dst=dst, stationary=w, moving=x, accumulate=True)
    assert np.isnan(core.value(dst)).all()
    assert [note[0] for note in core.notes] == ["accumulate-unwritten"]


@pytest.mark.parametrize("accumulate", [None, True])
def test_adding_to_a_value_is_noted(pair, accumulate):
    core, w, x = pair
    dst = core.psum((4, 8))
    dst.write_fp32(np.full((4, 8), 5.0, np.float32), core.rounding)
    core.nc_matmul(dst=dst, stationary=w, moving=x, accumulate=accumulate)
    np.testing.assert_array_equal(core.value(dst), core.value(x) + 5)
    assert [note[0] for note in core.notes] == ["accumulate-on-value"]


def test_accumulates_in_fp32_and_rounds_operands_only():
    w, x = np.ones((128, 1)), np.full((128, 1), 2.0**-9)
    x[0] = 1
    assert multiply(NeuronCore(), w, x, "bfloat16")[0, 0] == 1 + 127 * 2.0**-9


def test_infinities_flow_through_their_own_row_and_column():
    w, x = np.ones((4, 4)), np.ones((4, 5))
    w[1, 2], x[2, 3] = np.inf, np.nan
    got = multiply(NeuronCore(), w, x, "bfloat16")
    assert np.isnan(got[:, 3]).all()
    assert np.isposinf(np.delete(got[2], 3)).all()
    assert (np.delete(np.delete(got, 2, axis=0), 3, axis=1) == 4).all()


def test_without_values_it_records_the_same():
    programs = []
    for values in (True, False):
        core = NeuronCore(values=values)
        w, x = core.sbuf((128, 128), "bfloat16"), core.sbuf((128, 512), "bfloat16")
        core.nc_matmul(dst=core.psum((128, 512)), stationary=w, moving=x)
        programs.append([(i.name, i.work, i.flops) for i in core.program.instructions])
    assert (programs[0], programs[0][0][2]) == (programs[1], 2 * 128 * 128 * 512)


# -- limits, one by one -----------------------------------------------------------------------


def operands(core):
    stationary, moving = core.sbuf((64, 4)), core.sbuf((64, 8))
    return {"dst": core.psum((4, 8)), "stationary": stationary, "moving": moving}


@for_rows("start, address", (500, None), (0, 2044), (505, 0))
def test_stays_inside_one_bank(start, address):
    core = NeuronCore(values=False)
    big = core.psum((4, 1024), address=address)
    dst = big.sliced(slice(None), slice(start, start + 8))
    if address is None or start:
        dst = big.sliced(slice(None), slice(508, 516))
    with pytest.raises(NkiValidationError, match="one PSUM bank of 2048 bytes"):
        core.nc_matmul(**{**operands(core), "dst": dst})
    core.nc_matmul(
        **{**operands(core), "dst": core.psum((4, 1024)).sliced(slice(None), slice(512, 520))}
    )


def test_a_tile_of_rows_or_none_takes_what_it_holds(timed):
    timed.nc_matmul(**operands(timed), tile_position=(64, 0), tile_size=(64, 128))
    wide = {"dst": timed.psum((65, 8)), "stationary": timed.sbuf((64, 65))}
    timed.nc_matmul(**{**operands(timed), **wide})


# -- time -------------------------------------------------------------------------------------


@for_each("m, n, dtype, formula", rows_beside(__file__, "tables.toml")["matmul_formulas"])
def test_cycles_are_the_printed_formula(m, n, dtype, formula):
    core = NeuronCore(values=False)
    core.nc_matmul(
        dst=core.psum((m, n)),
        stationary=core.sbuf((128, m), dtype),
        moving=core.sbuf((128, n), dtype),
    )
    found = core.program.instructions[-1]
    names = {"stationary_free": m, "moving_free": n, "max": max, "min": min}
    expected = eval(getattr(TRN1.cycles, formula).value, {"__builtins__": {}}, names)
    assert cycles_of("nc_matmul", found.work, found.engine, TRN1) == expected


def test_a_onezero_hint_halves_an_fp32_matmul_only():
    for dtype, factor in (("float32", 2), ("bfloat16", 1)):
        core = NeuronCore(values=False)
        for hint in (False, True):
            core.nc_matmul(
                dst=core.psum((128, 512)), stationary=core.sbuf((128, 128), dtype),
                moving=core.sbuf((128, 512), dtype), is_stationary_onezero=hint,
            )  # fmt: skip
        issued = core.program.instructions
        plain, hinted = (cycles_of("nc_matmul", i.work, i.engine, TRN1) for i in issued)
        assert plain == factor * hinted


def test_a_onezero_hint_is_for_the_float32_operand(core):
    for hint in ("is_stationary_onezero", "is_moving_onezero"):
        core.nc_matmul(
            dst=core.psum((128, 512)), stationary=core.sbuf((128, 128), "tfloat32"),
            moving=core.sbuf((128, 512)), **{hint: True},
        )  # fmt: skip
    without, hinted = (i.work for i in core.program.instructions)
    assert cycles_of("nc_matmul", without, Engine.TENSOR, TRN1) == 4 * 512
    assert cycles_of("nc_matmul", hinted, Engine.TENSOR, TRN1) == 2 * 512
