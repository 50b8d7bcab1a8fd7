"""How long things take.  Judges: documented formulas by hand, measured figures, published kernels.

Tests called *calibration* hold the model to a figure from which one of its rules was inferred.
"""

import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.for_each import for_each, for_rows, raises
from tests.neuroncore import mamba
from tests.neuroncore.streams import PARTS
from tests.texts import rows_beside
from trainium_edu.neuroncore import NeuronCore, measure, parameters, place, schedule
from trainium_edu.neuroncore.timing import durations as rules
from trainium_edu.neuroncore.timing import expansion as expanded
from trainium_edu.specs import INF2, TRN1, Record

TABLES = rows_beside(__file__, "tables.toml")

VECTOR_HZ, SCALAR_HZ, TENSOR_HZ = 1.12e9, 1.4e9, 2.8e9


def time(core, **options):
    return schedule(core.program, place(core.program, **options))


def single(columns, dtype="float32"):
    """Return the makespan of one tensor_tensor and nothing else."""
    core = NeuronCore(values=False)
    a, b, out = (core.sbuf((128, columns), dtype) for _ in range(3))
    core.tensor_tensor(dst=out, data1=a, data2=b, op="add")
    return time(core).makespan_ns


# -- against what was measured -----------------------------------------------------------------


def test_slope_of_tensor_tensor_is_the_measured_one_within_a_percent_and_a_half():
    slope = (single(2048) - single(512)) / 1536
    assert slope == pytest.approx(2 / VECTOR_HZ * 1e9, rel=1e-6)  # the documented 2N
    assert slope == pytest.approx(TRN1.measured.tensor_tensor_ns_per_element.value, rel=0.015)


def test_calibration_fixed_part_of_a_single_tensor_tensor():
    fixed = single(512) - 512 * (single(2048) - single(512)) / 1536
    assert fixed == pytest.approx(210, rel=0.01)


def test_calibration_dependent_chain_of_small_scalar_instructions(timed):
    tile = timed.sbuf((128, 1))
    for _ in range(20):
        timed.activation(dst=tile, op="copy", data=tile)
    assert np.diff(time(timed).start_ns) == pytest.approx(189, rel=0.005)


def test_a_dependent_instruction_on_a_long_tile_waits_for_nothing_but_its_engine(timed):
    """Published busy times of dependent chains leave about 100 cycles per instruction."""
    tile = timed.sbuf((128, 512))
    for _ in range(4):
        timed.tensor_tensor(dst=tile, data1=tile, data2=tile, op="add")
    assert np.diff(time(timed).start_ns) == pytest.approx((1024 + 100) / VECTOR_HZ * 1e9)


def test_what_needs_a_whole_reduction_waits_for_all_of_it(timed):
    tile, total = timed.sbuf((128, 512)), timed.sbuf((128, 1))
    timed.tensor_reduce(dst=total, op="add", data=tile, axis=1)
    timed.tensor_scalar(dst=total, data=total, op0="multiply", operand0=2.0)
    assert np.diff(time(timed).start_ns) == pytest.approx((512 + 100 + 135) / VECTOR_HZ * 1e9)


@for_rows("version, length, published_us", (1, 512, 4.21), (2, 512, 3.13), (3, 8192, 3.22))
def test_calibration_vector_busy_time_per_step_of_published_mamba_kernels(
    version, length, published_us
):
    tiles = 8 if length == 512 else 1
    core, _ = mamba.record(version, tiles=tiles, length=length)
    tl = measure(core.program)
    steps = tiles * mamba.STATES * length // 512
    assert tl.busy_ns("vector") / steps / 1e3 == pytest.approx(published_us, rel=0.10)


@for_rows("version", 1, 2)
def test_without_passes_the_two_first_mamba_kernels_take_the_same_vector_time(version):
    """The formulas alone cannot tell v2 from v1; value numbering is what the compiler does."""
    core, _ = mamba.record(version, tiles=2)
    busy = measure(core.program, optimise=False).busy_ns("vector") / 32 / 1e3
    assert busy == pytest.approx(4.21, rel=0.10)


# -- DMA ---------------------------------------------------------------------------------------


def rate(row_bytes):
    """Bytes/s of a core's 16 queues with rows of that length."""
    return 16 * row_bytes / rules.dma_row_ns(row_bytes, rules.settle(TRN1)) * 1e9


#: Heights in pixels of the points in the DMA overview's figure of throughput against bytes per
#: partition (it prints no numbers on that axis); the highest is taken as the documented 272 GB/s.
FIGURE = {64: 10.5, 128: 21, 256: 43, 512: 86, 1024: 176, 2048: 339, 4096: 403, 8192: 410,
          16384: 413, 32768: 417}  # fmt: skip


@for_each("row_bytes", FIGURE)
def test_payload_curve_is_the_documented_figure(row_bytes):
    documented = FIGURE[row_bytes] / FIGURE[32768] * 272e9
    assert rate(row_bytes) == pytest.approx(documented, rel=0.06)


def test_long_streams_of_4_kib_rows_are_as_fast_as_in_profiled_kernels():
    """Judge: bytes over latency of two profiled kernels whose transfers are the busiest."""
    low, high = TRN1.dma.rate_sustained.value
    assert low <= rate(4096) <= high * 1.01


def copies(rows, columns, width, count):
    """Time `count` loads of [rows, columns] FP32 from a matrix of `width` columns."""
    core = NeuronCore(values=False)
    part = core.hbm((rows, width)).sliced(slice(0, rows), slice(0, columns))
    for _ in range(count):
        core.dma_copy(dst=core.sbuf((rows, columns)), src=part)
    return schedule(core.program, place(core.program, endless=True))


@for_rows("columns", 1024, 2000)
def test_bursts_reach_what_traces_show(columns):
    """Judge: 385 to 400 GB/s in the bodies of kernels with 3 to 6 transfers."""
    tl = copies(128, columns, columns, 6)
    low, high = TRN1.dma.rate_in_bursts.value
    assert 0.97 * low <= tl.hbm_bytes / (tl.makespan_ns - 1300) * 1e9 <= 1.03 * high


def test_a_burst_ends_and_the_queues_go_on_at_their_sustained_rate():
    one, two = (copies(128, 1024, 1024, n) for n in (1000, 2000))
    more = two.hbm_bytes - one.hbm_bytes
    assert more / (two.makespan_ns - one.makespan_ns) * 1e9 == pytest.approx(rate(4096), rel=1e-6)


def test_neighbours_in_hbm_travel_together_and_rows_of_a_wide_matrix_do_not():
    """Judge: 14 to 40 ns per row of 4 to 8 bytes in traces, and the documented packet rate."""
    low, high = TRN1.dma.short_rows_in_bursts.value
    per_row = [(copies(128, n, n, 300).makespan_ns - 1300) / (300 * 8) for n in (1, 2)]
    assert all(low <= ns <= high for ns in per_row)
    apart = (copies(128, 1, 4096, 2000).makespan_ns - 1300) / (2000 * 8)
    assert apart == pytest.approx(float(TRN1.timing.dma_packet_ns), rel=0.05)


def windows(partitions, high, wide, image, dtype, count):
    """Time loads of `count` windows of an image in each partition, with start and stop; in us."""
    core = NeuronCore(values=False)
    images = core.hbm((partitions, image, image), dtype)
    for _ in range(count):
        part = images.sliced(slice(0, partitions), slice(0, high), slice(0, wide))
        core.dma_copy(dst=core.sbuf((partitions, high, wide), dtype), src=part)
    ns = schedule(core.program, place(core.program, endless=True)).makespan_ns
    return (ns + sum(TRN1.measured.start_and_stop_ns.value) / 2) / 1e3


@for_rows(
    "window, us",
    ((128, 8, 8, 56, "float32", 98), 152),
    ((128, 8, 8, 32, "float16", 64), 103),
    ((128, 34 // 3, 34 // 3, 32, "float32", 288), 564),
)
def test_calibration_windows_of_images_take_as_long_as_aws_allows_its_pooling(window, us):
    assert windows(*window) == pytest.approx(us, rel=0.06)


@for_each("window, us", TABLES["pooling"])
def test_other_windows_stay_within_aws_limits_for_its_pooling(window, us):
    """Judge: limits 5 % above these times for the whole kernels, of which this is what is loaded.

    The packets of runs of 512 bytes would take 600 us and more.
    """
    assert 0.8 * us <= windows(*window) <= 1.05 * us


@given(st.integers(1, 300), st.integers(1, 63))
def test_more_runs_in_each_partition_never_load_faster(wide, high):
    shorter, longer = (windows(128, n, wide, 301, "float32", 2) for n in (high, high + 1))
    assert shorter <= longer


def test_a_transposed_load_reads_whole_rows_and_hands_out_elements():
    """Judge: at most the 40 ns per row of 4 bytes in traces, as for neighbours; "much lower DMA
    bandwidth" than a plain load in AWS's performance guide; AWS's limit for its attention kernel
    for Stable Diffusion, 675 us with 32 such loads and 32 such stores."""

    def ns(turned, to_hbm=False):
        core = NeuronCore(values=False)
        source = core.hbm((128, 128))
        for _ in range(64):
            tile = core.hbm((128, 128)) if to_hbm else core.sbuf((128, 128))
            core.dma_copy(dst=tile, src=source.permuted(1, 0) if turned else source)
        return time(core).makespan_ns - 1300

    _, high = TRN1.dma.short_rows_in_bursts.value
    assert ns(True) / 64 / (128 * 8) < high
    assert ns(True) > 5 * ns(False)
    assert ns(True) < 675e3
    assert ns(True, to_hbm=True) > 10 * ns(True)  # one side jumps, whichever is read in order


def test_one_element_holds_its_queue_for_as_long_as_a_published_loop_says():
    """Judge: 27 404 and 33 554 us for 25 600 turns of three transfers of one element."""
    ns = (copies(1, 1, 1, 3000).makespan_ns - copies(1, 1, 1, 1500).makespan_ns) / 1500
    assert 27_404_000 / 76_800 <= ns <= 33_554_000 / 76_800


def test_small_transfers_take_the_queues_of_their_partitions(timed):
    """Judge: the DMA overview's first example, 4 partitions and one of 16 engines at work."""
    tile, source = timed.sbuf((128, 4096), "bfloat16"), timed.hbm((4, 4096), "bfloat16")
    for first in (0, 124):
        timed.dma_copy(dst=tile.sliced(slice(first, first + 4)), src=source)
    timed.dma_copy(dst=tile, src=timed.hbm((128, 4096), "bfloat16"))
    tl = schedule(timed.program, place(timed.program))
    used = [np.flatnonzero(row >= 0).tolist() for row in tl.queue_start_ns]
    assert used == [[0], [15], list(range(16))]


def test_packets_far_apart_cost_more():
    """Judge: 372 ns per row in a profiled silu whose rows lie 896 KiB apart."""
    near, far = (
        copies(128, 1024, width, 2000).makespan_ns - copies(128, 1024, width, 1000).makespan_ns
        for width in (12288, 7 * 2**15)
    )
    assert far / 8000 == pytest.approx(372, rel=0.02)
    assert near / 8000 == pytest.approx(16 * 4096 / rate(4096) * 1e9, rel=0.01)


@given(st.integers(1, 1 << 20), st.integers(1, 1 << 20))
def test_payload_curve_never_falls_and_longer_rows_never_take_less_time(a, b):
    a, b = sorted((a, b))
    assert rate(a) <= rate(b) * (1 + 1e-12)
    values = rules.settle(TRN1)
    assert rules.dma_row_ns(a, values) <= rules.dma_row_ns(b, values)


@given(st.floats(1e6, 1e15), st.floats(0, 1e4), st.floats(0, 1e4), st.integers(0, 20_000))
def test_payload_curve_stays_sane_wherever_sliders_stand(bytes_per_s, packet, row, size):
    values = rules.settle(TRN1) | {"dma_bytes_per_s": bytes_per_s, "dma_packet_ns": packet,
                             "dma_row_ns": row}  # fmt: skip
    ns = float(rules.dma_row_ns(size, values))
    assert math.isfinite(ns)
    assert ns >= 0


def test_a_full_load_of_4_kib_rows_by_hand(timed):
    timed.dma_copy(dst=timed.sbuf((128, 1024)), src=timed.hbm((128, 1024)))
    burst = sum(TRN1.dma.rate_in_bursts.value) / 2 / 272e9
    by_hand = 1300 + 8 * (8 + 4096 / 17) / burst  # 8 of 128 rows on each of 16 queues
    assert time(timed).makespan_ns == pytest.approx(by_hand, abs=1e-4)


def test_start_up_lies_in_the_measured_range_of_first_data():
    low, high = TRN1.dma.first_data_4kib_rows_ns.value
    assert low <= rules.settle(TRN1)["dma_start_ns"] <= high


# -- Tensor Engine -----------------------------------------------------------------------------


@for_each("dtype, columns, stationary, cycles", TABLES["matmuls"])
def test_matmuls_issue_back_to_back_every_documented_interval(dtype, columns, stationary, cycles):
    core = NeuronCore(values=False)
    w, x = core.sbuf((128, 128), dtype), core.sbuf((128, 512), dtype)
    for _ in range(6):
        core.nc_matmul(
            dst=core.psum((stationary, columns)),
            stationary=w.sliced(PARTS, slice(0, stationary)),
            moving=x.sliced(PARTS, slice(0, columns)),
        )
    assert np.diff(time(core).start_ns) == pytest.approx(cycles / TENSOR_HZ * 1e9, abs=1e-5)


def changing(dtype, columns=512, times=6):
    """Time matmuls that take turns with two stationary matrices; return ns from start to start."""
    core = NeuronCore(values=False)
    held = [core.sbuf((128, 128), dtype) for _ in range(2)]
    x = core.sbuf((128, columns), dtype)
    for k in range(times):
        core.nc_matmul(dst=core.psum((128, columns)), stationary=held[k % 2], moving=x)
    return np.diff(time(core).start_ns)


def test_fp32_stationary_loads_are_seen_and_narrow_ones_hide():
    """Judges: 92 to 143 ns more per FP32 matmul than its passes in three published kernels.

    A convolution, 143 ns, from which it is inferred; a profiled transpose_matmul and matmul with
    rmsnorm (NKIBench).
    """
    assert changing("bfloat16")[2:] == pytest.approx(512 / TENSOR_HZ * 1e9, abs=1e-5)
    for columns in (222, 512):
        more = changing("float32", columns)[2:] - 4 * columns / TENSOR_HZ * 1e9
        assert (more >= 90).all()
        assert (more <= 143).all()


def test_only_a_waiting_matmul_shows_its_load_stationary(timed):
    w, x = timed.sbuf((128, 128), "bfloat16"), timed.sbuf((128, 512), "bfloat16")
    for _ in range(2):
        timed.nc_matmul(dst=timed.psum((128, 512)), stationary=w, moving=x)
    tl = time(timed)
    load = TRN1.tensor_engine.load_stationary_128_cycles.value / TENSOR_HZ * 1e9
    assert tl.start_ns[0] == pytest.approx(load, abs=1e-5)
    assert tl.start_ns[1] == tl.release_ns[0]  # the second loaded in the background


def test_a_matmuls_result_crosses_the_array_before_others_read_it(timed):
    w, out = timed.sbuf((128, 128), "bfloat16"), timed.sbuf((128, 128))
    bank = timed.psum((128, 128))
    timed.nc_matmul(dst=bank, stationary=w, moving=w)
    timed.tensor_copy(dst=out, src=bank)
    tl = time(timed)
    assert tl.start_ns[1] - tl.release_ns[0] == pytest.approx(256 / TENSOR_HZ * 1e9, abs=1e-5)


def test_formulas_with_a_constant_of_their_own_get_no_second_one(timed):
    timed.iota(dst=timed.sbuf((128, 64), "int32"), pattern=[[1, 64]], offset=0)
    tl = time(timed)
    hold = tl.release_ns[0] - tl.start_ns[0]
    assert hold == pytest.approx((150 + 64) / 1.4e9 * 1e9, abs=1e-5)


# -- parameters --------------------------------------------------------------------------------


@for_each("chip", [TRN1, INF2], ids=str)
def test_every_parameter_names_facts_and_lies_between_its_bounds(chip):
    for p in parameters(chip).values():
        for path in p.facts:
            assert chip.find(path).source
        assert min(p.fast, p.slow) <= p.nominal <= max(p.fast, p.slow)


def test_fast_ends_make_no_piece_longer_and_slow_ends_none_shorter():
    core, _ = mamba.record(3, tiles=1, length=1024)
    run = expanded.expand(core.program)
    known = parameters(TRN1)

    def pieces(end):
        d = rules.durations(
            run, TRN1, rules.settle(TRN1, {n: getattr(p, end) for n, p in known.items()})
        )
        return np.stack([d.lead, d.fixed, d.work, d.result, d.chain])

    assert (pieces("fast") <= pieces("nominal")).all()
    assert (pieces("nominal") <= pieces("slow")).all()


@given(st.floats(0, 1e9))
def test_durations_are_whole_ticks_so_that_sums_are_exact(ns):
    ticks = rules.quantise(ns) / rules.TICK_NS
    assert ticks == int(ticks)
    assert abs(rules.quantise(ns) - ns) <= rules.TICK_NS / 2


@for_rows(
    "changes, message", ({"speed": 1}, "no parameter 'speed'"), ({"dma_start_ns": -1}, ">= 0"),
    ({"dma_start_ns": math.nan}, "finite"), ({"dma_bytes_per_s": 0}, "> 0"),
    ({"dma_bytes_per_s": math.inf}, "finite"), ({"tensor_clock_hz": True}, "a number of Hz"),
    ({"tensor_clock_hz": "fast"}, "a number of Hz"),
    ([("dma_start_ns", 1)], "a dict such as"),
)  # fmt: skip
def test_strange_parameters_raise(changes, message):
    raises((TypeError, ValueError), message, rules.settle, TRN1, changes)


def test_a_chip_without_these_facts_raises(timed):
    other = Record("some other chip", sbuf=TRN1.sbuf)
    raises(ValueError, "has the facts of TRN1, INF2 and TRN2", place, timed.program, other)
    with pytest.raises(ValueError, match="has the facts of TRN1, INF2 and TRN2"):
        schedule(timed.program, place(timed.program), other)


def test_halving_a_clock_doubles_its_engines_pieces(timed):
    tile = timed.sbuf((128, 512))
    timed.tensor_tensor(dst=tile, data1=tile, data2=tile, op="add")
    placement = place(timed.program)
    whole = schedule(timed.program, placement).makespan_ns
    half = schedule(timed.program, placement, parameters={"vector_clock_hz": VECTOR_HZ / 2})
    assert half.makespan_ns == pytest.approx(2 * whole, rel=1e-6)


def test_another_chip_record_is_another_time(timed):
    spec = TRN1.replace(dma=TRN1.dma.replace(start_ns=TRN1.dma.very_poor_below_bytes))  # 256
    timed.dma_copy(dst=timed.sbuf((128, 1024)), src=timed.hbm((128, 1024)))
    placement = place(timed.program)
    usual = schedule(timed.program, placement).makespan_ns
    assert usual - schedule(timed.program, placement, spec).makespan_ns == 1300 - 256


def test_a_copy_inside_hbm_is_read_and_written_at_hbms_bandwidth():
    """Judge: the documented 820 GB/s of a chip, half of them for a core."""
    core = NeuronCore(values=False)
    src, dst = core.hbm((4096, 1024)), core.hbm((4096, 1024))
    for k in range(32):
        rows = slice(128 * k, 128 * k + 128)
        core.dma_copy(dst=dst.sliced(rows), src=src.sliced(rows))
    least = 2 * 4096 * 4096 / (820e9 / 2) * 1e9
    assert least <= measure(core.program).makespan_ns < 1.05 * least
    core = NeuronCore(values=False)
    core.dma_copy(dst=core.sbuf((128, 1024)), src=core.hbm((128, 1024)))
    assert measure(core.program).makespan_ns < 2 * 128 * 4096 / (820e9 / 2) * 1e9 + 1500
