"""Warnings that teach: there with the fault, gone without it; costs against closed forms.

Judges: counts of bytes and cycles by hand, and the time of the repaired kernel.
"""

import ml_dtypes
import numpy as np
import pytest

import trainium_edu.nki as nki
import trainium_edu.nki.isa as nisa
import trainium_edu.nki.language as nl
from tests.for_each import for_rows
from tests.nki.cases import stored
from trainium_edu.nki.examples import matmul
from trainium_edu.specs import TRN1


def kinds(run):
    return {warning.kind for warning in run.advice}


def saved_by(run, buffers):
    """Return the time that other numbers of buffers save."""
    return run.timeline.makespan_ns - run.with_buffers(buffers).timeline.makespan_ns


def the(run, kind):
    found = [warning for warning in run.advice if warning.kind == kind]
    assert found, f"{kind} is not among {kinds(run)}"
    return found[0]


@nki.jit
def copy_pieces(x, columns):
    """Double a [128, n] array in pieces of so many columns."""
    out = nl.ndarray(x.shape, x.dtype, buffer=nl.shared_hbm)
    for start in range(0, x.shape[1], columns):
        part = nl.ds(start, columns)
        nl.store(out[:, part], nl.multiply(nl.load(x[:, part]), 2.0))
    return out


WIDE = np.ones((128, 4096), np.float32)


def test_small_transfers_are_found_with_their_line_and_gone_when_wide():
    warning = the(nki.run(copy_pieces, WIDE, 64), "small transfers")
    assert "rows of 256 bytes" in warning.text
    assert warning.line.function == "copy_pieces"
    assert warning.cost.low_ns <= warning.cost.nominal_ns <= warning.cost.high_ns
    assert "small transfers" not in kinds(nki.run(copy_pieces, WIDE, 1024))


def test_rows_of_different_lengths_on_one_line_are_all_named():
    """Judge: 64 and 16 columns of 4 bytes, by hand."""

    @nki.jit
    def kernel(x):
        out = nl.ndarray(x.shape, x.dtype, buffer=nl.shared_hbm)
        for part in (nl.ds(0, 64), nl.ds(64, 16)):
            nl.store(out[:, part], nl.load(x[:, part]))
        return out

    run = nki.run(kernel, WIDE[:, :80])
    assert "4 transfers in rows of 64 to 256 bytes" in the(run, "small transfers").text


def test_the_cost_of_small_transfers_is_about_what_wide_ones_save():
    narrow, wide = (nki.run(copy_pieces, WIDE, n) for n in (128, 1024))
    saved = narrow.timeline.makespan_ns - wide.timeline.makespan_ns
    named = sum(w.cost.nominal_ns for w in narrow.advice if w.kind == "small transfers")
    assert 0.5 * saved < named < 2 * saved


@nki.jit
def narrow_work(x):
    """Work on 16 partitions although there are 128."""
    tile = nl.load(x)
    for _ in range(20):
        nisa.tensor_scalar(dst=tile, data=tile, op0=nl.multiply, operand0=1.5)
    return stored(tile, x.dtype)


def test_few_partitions_cost_the_lanes_that_stand_still():
    warning = the(nki.run(narrow_work, np.ones((16, 2048), np.float32)), "few partitions")
    assert "16 of 128 partitions" in warning.text
    clock = float(TRN1.vector_engine.clock_hz)
    assert warning.cost.nominal_ns == pytest.approx(20 * 2048 / clock * 1e9 * (1 - 16 / 128))
    assert "few partitions" not in kinds(nki.run(narrow_work, np.ones((128, 256), np.float32)))


@nki.jit
def strided_work(x, step):
    """Walk over a tile with a stride of `step` elements."""
    tile = nl.load(x)
    part = tile[:, 0 : 512 * step : step]
    for _ in range(10):
        nisa.tensor_scalar(dst=part, data=part, op0=nl.multiply, operand0=1.5)
    return stored(tile, x.dtype)


def test_a_long_stride_costs_half_of_the_port():
    run = nki.run(strided_work, WIDE, 8)
    clock = float(TRN1.vector_engine.clock_hz)
    assert the(run, "long stride").cost.nominal_ns == pytest.approx(10 * 512 / clock * 1e9)
    assert "long stride" not in kinds(nki.run(strided_work, WIDE, 4))  # 16 bytes are still free


def _square(n, dtype):
    rng = np.random.default_rng(0)
    return [rng.standard_normal((n, n)).astype(dtype) for _ in range(2)]


@nki.jit
def sum_of_parts(x, width, whole):
    """Load [128, width] tiles: whole blocks of HBM, or columns of a wide matrix."""
    total = nl.zeros((128, width), nl.float32, buffer=nl.sbuf)
    blocks = x.reshape((x.shape[1] // width, 128, width))
    for k in range(x.shape[1] // width):
        part = blocks[k] if whole else x[:, k * width : (k + 1) * width]
        nisa.tensor_tensor(dst=total, data1=total, data2=nl.load(part), op=nl.add)
    return stored(total, nl.float32)


def test_short_rows_cost_what_their_packets_cost_and_little_where_they_travel_together():
    """Judges: 14 to 40 ns a row in traces of whole blocks; the documented packet rate of others."""
    together, apart = (
        the(nki.run(sum_of_parts, WIDE, 8, whole), "small transfers").held.nominal_ns
        for whole in (True, False)
    )
    rows = WIDE.shape[1] // 8 * 8  # on each queue
    packets = rows * float(TRN1.timing.dma_packet_ns)
    assert 0.9 * packets < apart < packets
    low, high = TRN1.dma.short_rows_in_bursts.value
    assert low <= together / rows <= high


def test_fp32_matmuls_cost_three_of_their_four_passes():
    given = _square(1024, np.float32)
    warning = the(nki.run(matmul.blocked, *given), "FP32 matmul")
    clock = float(TRN1.tensor_engine.clock_hz)
    passes = 8 * 8 * 2 * 512 * 4 / clock * 1e9  # matmuls of 512 columns, four passes each
    loads = 8 * 8 * 2 * 4 * 64 / clock * 1e9  # four stationary loads of 64 cycles each, all seen
    assert warning.held.nominal_ns == pytest.approx(passes * 3 / 4 + loads, rel=0.01)
    assert warning.cost.nominal_ns < warning.held.nominal_ns  # a part of it hides behind loads
    narrow = nki.run(matmul.blocked, *(a.astype(ml_dtypes.bfloat16) for a in given))
    assert "FP32 matmul" not in kinds(narrow)


def test_loading_the_same_bytes_again_is_counted_in_bytes():
    run = nki.run(matmul.tiled, *_square(1024, ml_dtypes.bfloat16))
    found = [w for w in run.advice if w.kind == "repeated loads"]
    assert len(found) == 2
    again = {w.text.split(" of ")[1].split(" come")[0]: w.text for w in found}
    tile_bytes = 1024 * 1024 * 2
    assert f"2 times: {tile_bytes / 1e6:.3g} MB" in again["lhsT"]  # once for each of 2 columns
    assert f"8 times: {7 * tile_bytes / 1e6:.3g} MB" in again["rhs"]
    assert "repeated loads" not in kinds(nki.run(copy_pieces, WIDE, 1024))


def test_an_engine_starved_by_loads_names_the_tensor():
    warning = the(nki.run(matmul.tiled, *_square(1024, ml_dtypes.bfloat16)), "starved engine")
    assert "Tensor Engine" in warning.text
    assert "rhs" in warning.text


def test_few_buffers_that_serialise_cost_what_twice_as_many_save():
    """Judge: the run with the number of buffers that the remedy names."""
    run = nki.run(copy_pieces, WIDE, 256, buffers=1)
    warning = the(run, "serialising buffers")
    assert "buffers=2" in warning.remedy
    assert warning.cost.nominal_ns == pytest.approx(saved_by(run, 2))
    assert "serialising buffers" not in kinds(nki.run(copy_pieces, WIDE, 256, buffers=8))
    name = run.placement.sites[0].name
    named = nki.run(copy_pieces, WIDE, 256, buffers={name: 1})
    cost = the(named, "serialising buffers").cost
    assert cost.nominal_ns == pytest.approx(saved_by(named, {name: 2}))


def test_banks_cost_what_the_remedy_saves_or_say_that_they_are_all_taken():
    """Judge: the run with the number of buffers that the remedy names, and the eight banks."""
    lhsT, rhs = (np.ones((1024, 2048), ml_dtypes.bfloat16) for _ in range(2))
    run = nki.run(matmul.fully_blocked, lhsT, rhs, values=False)
    warning = the(run, "bank conflict")
    more = run.with_buffers(8)
    assert "buffers=8" in warning.remedy
    assert warning.cost.nominal_ns == pytest.approx(saved_by(run, 8))
    assert "no room" in the(more, "bank conflict").remedy
    assert the(more, "bank conflict").is_most


@nki.jit
def products(x, banks):
    """Put eight products into so many PSUM tiles in turn, and read each."""
    operand = nl.load(x)
    out = nl.ndarray((8, 128, 512), nl.float32, buffer=nl.shared_hbm)
    sums = [nl.ndarray((128, 512), nl.float32, buffer=nl.psum) for _ in range(banks)]
    for k in range(8):
        dst = sums[k % banks]
        nisa.nc_matmul(dst=dst, stationary=operand[:, 0:128], moving=operand, accumulate=False)
        nl.store(out[k], nl.copy(dst))
    return out


def test_a_bank_that_is_still_read_holds_the_next_product_back():
    data = np.ones((128, 512), ml_dtypes.bfloat16)
    assert "PSUM bank" in the(nki.run(products, data, 1), "bank conflict").text
    assert "bank conflict" not in kinds(nki.run(products, data, 8))


def test_tiles_of_one_line_are_one_warning():
    """Judge: one warning per kind and line; its cost is the sum of what the tiles waited."""
    lhsT, rhs = (np.ones((1024, n), ml_dtypes.bfloat16) for n in (512, 2048))
    places = [(w.kind, w.line) for w in nki.run(matmul.blocked, lhsT, rhs, buffers=1).advice]
    assert len(set(places)) == len(places)


def test_results_that_wait_for_stores_are_told_from_bank_conflicts():
    """Judge: the same kernel with longer rows to store, and the waits of its timeline."""
    lhsT, rhs = (np.ones((1024, 2048), ml_dtypes.bfloat16) for _ in range(2))
    narrow = nki.run(matmul.blocked, lhsT, rhs)
    warning = the(narrow, "slow stores")
    assert warning.line.callers[0][2] == "blocked"
    assert "bank conflict" not in kinds(narrow)
    waited = narrow.timeline.waiting("tensor")
    behind = sum(ns for why, ns in waited.items() if why.startswith("a place"))
    assert warning.held.nominal_ns == pytest.approx(behind, rel=0.01)
    assert "slow stores" not in kinds(nki.run(matmul.fully_blocked, lhsT, rhs))


def test_a_helper_is_named_with_the_line_that_calls_it():
    """Judge: the two calls stand on two lines of the kernel, next to each other."""
    lhsT, rhs = (np.ones((512, n), ml_dtypes.bfloat16) for n in (256, 512))
    found = nki.run(matmul.tiled, lhsT, rhs).advice
    lines = {w.line.callers for w in found if w.kind == "small transfers" and w.line.callers}
    numbers = sorted(callers[0][1] for callers in lines)
    assert numbers[1] == numbers[0] + 1
    assert all(callers[0][2] == "tiled" for callers in lines)
    text = str(next(w.line for w in found if w.line.callers))
    assert text.startswith("matmul.py:")
    assert ", called from line " in text


def test_a_nearly_full_sbuf_is_said_without_a_cost():
    run = nki.run(copy_pieces, np.ones((128, 2 * 12000), np.float32), 12000)
    assert the(run, "SBUF nearly full").cost is None
    assert "SBUF nearly full" not in kinds(nki.run(copy_pieces, WIDE, 256))


@nki.jit
def reads_what_nobody_wrote(x):
    out = nl.ndarray(x.shape, x.dtype, buffer=nl.shared_hbm)
    tile = nl.ndarray(x.shape, x.dtype)
    nisa.dma_copy(dst=tile[:, 0:8], src=x[:, 0:8])
    nisa.dma_copy(dst=out, src=tile)
    return out


def test_an_uninitialised_read_comes_first_and_names_the_line():
    run = nki.run(reads_what_nobody_wrote, WIDE)
    warning = run.advice[0]
    assert warning.kind == "uninitialised"
    assert warning.cost is None
    lines, first = nki.kernel.inspect.getsourcelines(reads_what_nobody_wrote.function)
    assert lines[warning.line.line - first] == "    nisa.dma_copy(dst=out, src=tile)\n"
    assert np.isnan(run.outputs[:, 8:]).all()


def test_an_output_that_the_loops_do_not_fill_is_named():
    assert "unwritten output" not in kinds(nki.run(copy_pieces, WIDE, 1024))
    given = _square(512, ml_dtypes.bfloat16)  # narrower than one block of the blocked kernel
    found = nki.run(matmul.blocked, *given)
    assert "never written" in the(found, "unwritten output").text
    assert np.isnan(found.outputs.astype(np.float32)).all()


def test_accumulating_onto_nothing_is_warned_of():
    @nki.jit
    def kernel(x):
        operand = nl.load(x)
        sums = nl.ndarray((128, 512), nl.float32, buffer=nl.psum)
        nisa.nc_matmul(dst=sums, stationary=operand[:, 0:128], moving=operand, accumulate=True)

    run = nki.run(kernel, np.ones((128, 512), ml_dtypes.bfloat16))
    assert "accumulate-unwritten" in kinds(run)


def sums_on_top_of_memset(x, banks):
    for _ in range(banks):
        sums = nl.ndarray((64, 64), nl.float32, buffer=nl.psum)
        nisa.memset(sums, 0.0)
        nisa.nc_matmul(dst=sums, stationary=x, moving=x)
        yield nl.copy(sums)


def test_what_is_wrong_in_many_tiles_of_a_line_is_said_once():
    @nki.jit
    def kernel(x_hbm, banks):
        out = nl.ndarray((banks, 64, 64), nl.float32, buffer=nl.shared_hbm)
        for k, product in enumerate(sums_on_top_of_memset(nl.load(x_hbm), banks)):
            nl.store(out[k], product)
        return out

    x = np.eye(64, dtype=np.float32)
    [warning] = [w for w in nki.run(kernel, x, 9).advice if w.kind == "accumulate-on-value"]
    assert "and 8 more tiles of this line" in str(warning)
    assert "more tile" not in str(the(nki.run(kernel, x, 1), "accumulate-on-value"))


@for_rows("engine", nisa.engine.tensor, nisa.engine.vector)
def test_an_infinity_in_a_transpose_by_matmul_is_told(engine):
    """The reference: the Tensor Engine's transpose is not bit-accurate for Inf; Vector's is."""

    @nki.jit
    def kernel(x_hbm):
        x = nl.load(x_hbm)
        turned = nl.ndarray((32, 32), nl.float32, buffer=nl.psum)
        nisa.nc_transpose(dst=turned, data=x, engine=engine)
        return stored(nl.copy(turned), nl.float32)

    x = np.arange(1024, dtype=np.float32).reshape(32, 32)
    x[3, 5] = -np.inf
    run = nki.run(kernel, x)
    if engine is nisa.engine.vector:
        np.testing.assert_array_equal(run.outputs, x.T)
        assert "transposed-infinity" not in kinds(run)
        return
    spoilt = np.isnan(run.outputs)
    assert spoilt[5].sum() == 31
    np.testing.assert_array_equal(run.outputs[~spoilt], x.T[~spoilt])
    assert "-inf" in str(the(run, "transposed-infinity"))


def test_programs_of_a_grid_warn_once_where_it_costs_most():
    """Two programs run the same lines, the second twice the rows: its cost is the one named."""

    @nki.jit
    def kernel(x):
        out = nl.ndarray(x.shape, x.dtype, buffer=nl.shared_hbm)
        for k in range(1) if nl.program_id(0) == 0 else range(1, 3):
            tile = nl.ndarray((128, 16), x.dtype, buffer=nl.sbuf)
            nisa.dma_copy(dst=tile, src=x[nl.ds(128 * k, 128)])
            nisa.dma_copy(dst=out[nl.ds(128 * k, 128)], src=tile)
        return out

    run = nki.run(kernel[2], np.ones((384, 16), np.float32))
    found = [w for w in run.advice if w.kind == "small transfers"]
    assert len(found) == len({w.line for w in found}) == 2
    assert all("2 transfers" in w.text for w in found)
    alone = nki.run(kernel[1], np.ones((128, 16), np.float32))
    once = the(alone, "small transfers").held.nominal_ns
    assert found[0].held.nominal_ns == pytest.approx(2 * once)


def test_warnings_come_with_line_cost_and_remedy_and_the_costliest_first():
    run = nki.run(matmul.tiled, *_square(1024, np.float32))
    costs = [w.cost.nominal_ns for w in run.advice if w.cost]
    assert costs == sorted(costs, reverse=True)
    for warning in run.advice:
        assert str(warning).startswith("matmul.py:")
        assert warning.remedy in str(warning)
        assert " us (" in str(warning)


def test_a_good_kernel_gets_no_warning_about_its_work():
    run = nki.run(matmul.fully_blocked, *_square(2048, ml_dtypes.bfloat16), values=False)
    assert not kinds(run) & {"few partitions", "long stride", "FP32 matmul", "uninitialised"}


# -- remedies that can be followed ------------------------------------------------------------


@nki.jit
def gathers(table, index, function):
    """Load 32 rows that data names, twice, and store a function of them."""
    out = nl.ndarray((2, 32, table.shape[1]), table.dtype, buffer=nl.shared_hbm)
    for k in range(2):
        nl.store(out[k], function(nl.load(table.vector_select(0, nl.load(index[k])))))
    return out


def test_gathers_of_other_rows_are_no_repeated_loads():
    """Judge: the rows that the two indices name have none in common."""
    table = np.arange(64 * 512, dtype=np.float32).reshape(64, 512)
    index = np.random.default_rng(0).permutation(64).astype(np.int32).reshape(2, 32, 1)
    run = nki.run(gathers, table, index, nl.copy)
    np.testing.assert_array_equal(run.outputs, table[index[..., 0]])
    assert "repeated loads" not in kinds(run)
    assert "repeated loads" not in kinds(nki.run(gathers, table, index, nl.copy, values=False))


@nki.jit
def one_column(x):
    return stored(nl.exp(nl.load(x)), x.dtype)


@for_rows("columns", 1, 16)
def test_rows_that_hbm_does_not_have_longer_are_not_to_be_loaded_wider(columns):
    run = nki.run(one_column, np.ones((128, columns), np.float32))
    for warning in run.advice:
        assert "Load wider tiles" not in warning.remedy
        assert "load it in pieces" not in warning.remedy
    assert "rows in HBM are this short" in the(run, "small transfers").remedy
    assert "too short to come in pieces" in the(run, "starved engine").remedy


def test_a_first_tile_of_long_rows_is_to_be_loaded_in_pieces():
    """Judge: the same work in two pieces ends sooner."""
    x = np.ones((128, 8192), np.float32)
    whole, halves = (nki.run(copy_pieces, x, n) for n in (8192, 4096))
    assert "load it in pieces" in the(whole, "starved engine").remedy
    assert halves.timeline.makespan_ns < whole.timeline.makespan_ns


@nki.jit
def adds_to_itself(x):
    tile = nl.load(x)
    for _ in range(20):
        nisa.tensor_tensor(dst=tile, data1=tile, data2=tile, op=nl.add)
    return stored(tile)


@for_rows("shape, remedy", ((32, 512), "longer axis"), ((64, 48), "Spread"))
def test_the_longer_axis_is_named_only_where_it_is_not_on_the_partitions(shape, remedy):
    run = nki.run(adds_to_itself, np.ones(shape, np.float32))
    assert remedy in the(run, "few partitions").remedy


@nki.jit
def computed_operands(x, dtype):
    """Multiply what the Scalar Engine computed with what a DMA brought."""
    moving = nl.load(x, dtype=dtype)
    stationary = nl.exp(moving[:, 0:128], dtype=dtype)
    sums = nl.ndarray((128, 512), nl.float32, buffer=nl.psum)
    for _ in range(8):
        nisa.nc_matmul(dst=sums, stationary=stationary, moving=moving)
    result = nl.ndarray((128, 512), nl.float32)
    nisa.tensor_copy(dst=result, src=sums)
    return stored(result, nl.float32)


def test_bf16_is_asked_of_whoever_writes_the_operand():
    x = np.ones((128, 512), np.float32)
    remedy = the(nki.run(computed_operands, x, nl.float32), "FP32 matmul").remedy
    assert remedy.startswith("Load the operands as BF16")
    assert "let what computes the SBUF tile of line" in remedy
    assert "FP32 matmul" not in kinds(nki.run(computed_operands, x, nl.bfloat16))
    given = _square(1024, np.float32)
    assert "computes" not in the(nki.run(matmul.blocked, *given), "FP32 matmul").remedy


@nki.jit
def repeats_a_row(x, dtype):
    return stored(nl.exp(nl.broadcast_to(nl.load(x[0:1], dtype=dtype), (128, 512))), dtype)


def test_the_matmul_inside_broadcast_to_is_named_and_the_remedy_works():
    x = np.random.default_rng(0).standard_normal((128, 512)).astype(np.float32)
    wide, narrow = (nki.run(repeats_a_row, x, dtype) for dtype in (nl.float32, nl.bfloat16))
    warning = the(wide, "FP32 matmul")
    assert "inside nl.broadcast_to" in warning.text
    assert "Give nl.broadcast_to a BF16 tile" in warning.remedy
    assert "FP32 matmul" not in kinds(narrow)
    assert narrow.timeline.makespan_ns < wide.timeline.makespan_ns


@nki.jit
def scalar_beside_vector(x):
    """Both read PSUM, and write SBUF."""
    tile, out = nl.load(x), nl.ndarray((2, *x.shape), x.dtype, buffer=nl.shared_hbm)
    sums = [nl.ndarray(x.shape, nl.float32, buffer=nl.psum) for _ in range(2)]
    for product in sums:
        nisa.nc_matmul(dst=product, stationary=tile[:, 0:128], moving=tile)
    a, b = (nl.ndarray(x.shape, nl.float32) for _ in range(2))
    for _ in range(10):
        nisa.activation(dst=a, op=nl.exp, data=sums[0])
        nisa.tensor_scalar(dst=b, data=sums[1], op0=nl.multiply, operand0=2.0)
    nl.store(out[0], a)
    nl.store(out[1], b)
    return out


def test_scalar_shares_the_port_to_psum_whatever_it_writes():
    """`nki-trn1-arch`: Vector and GpSimd share SBUF's port, Vector and Scalar PSUM's."""
    run = nki.run(scalar_beside_vector, np.full((128, 512), 0.01, np.float32))
    found = [w.text for w in run.advice if w.kind == "port conflict"]
    assert found
    assert all("port to PSUM, which Vector and Scalar share" in text for text in found)


def test_a_gather_starves_for_its_table_not_for_its_index():
    table = np.ones((64, 4096), np.float32)
    index = np.arange(64, dtype=np.int32).reshape(2, 32, 1)

    run = nki.run(gathers, table, index, nl.exp)
    assert "longest for table" in the(run, "starved engine").text


def test_a_run_at_the_end_of_a_cell_shows_its_warnings():
    """Lesson 05: "`nki.run(...)` shows a kernel's warnings". Judge: what IPython would print."""
    pretty = pytest.importorskip("IPython.lib.pretty").pretty
    run = nki.run(copy_pieces, WIDE, 64)
    assert run.advice
    assert pretty(run).splitlines() == [repr(run), *(f"  advice: {w}" for w in run.advice)]
    assert pretty([run]).count("advice: ") == len(run.advice)
