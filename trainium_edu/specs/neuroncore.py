"""NeuronCore-v2, the core of Trainium and Inferentia2: engines, memories, limits, costs, formats.

``cycles`` always belong to the engine that runs the instruction.  Formulas are Python expressions
in the names that their note explains, so that a test can evaluate what a document printed.
"""

from trainium_edu.specs.custom_operators import CUSTOM_OPERATORS
from trainium_edu.specs.fact import Kind, derive
from trainium_edu.specs.record import Record
from trainium_edu.specs.sources import SOURCES, stated

__all__ = ["CYCLES", "FORMATS", "NEURONCORE_V2"]

_arch = SOURCES["nki-trn1-arch"].says
_dma = SOURCES["nki-dma-guide"].says
_overview = SOURCES["nki-dma-overview"].says
_THROUGHPUT = "Performance Considerations, figure of throughput against bytes per partition"
_traces = SOURCES["course-traces"].says
_pooling = SOURCES["nki-samples-tests"].says
_POOLING = "test/unit/test_adaptive_avg_pool2d.py, latency"
_own = SOURCES["emulator"].says

_TABLE = "NeuronCore-v2 Compute Engines, table of widths and frequencies"
_ENGINES = "NeuronCore-v2 Compute Engines"
_TILE = "Tensor Engine, Tile Size"
_PSUM = "Near-memory accumulation in PSUM"
_WHY = "Why Large Contiguous DMA Payloads Are Required"

_rows = _arch(128, "processing elements", "Tensor Engine")
_columns = _arch(128, "processing elements", "Tensor Engine")
_tensor_clock = _arch(
    2.8e9, "Hz", _TABLE,
    note="one moving column per cycle; 1.4 GHz, named in some places, would give 45.9 TFLOPS and is"
    " refuted by published matmul times",
)  # fmt: skip
_peak = derive(
    "FLOP/s", lambda r, c, hz: r * c * 2 * hz, _rows, _columns, _tensor_clock,
    locator="rows * columns * 2 (multiply and add) * clock",
)  # fmt: skip
_mm_free = _arch(512, "elements", _TILE, note="what one PSUM bank holds in FP32")

TENSOR_ENGINE = stated(
    "Tensor Engine",
    rows=_rows,
    columns=_columns,
    clock_hz=_tensor_clock,
    peak_flops_from_array=_peak,
    moving_free_max=_mm_free,
    multiply_moving_512_ns=derive(
        "ns", lambda n, hz: n / hz * 1e9, _mm_free, _tensor_clock,
        locator="512 columns / clock, the initiation interval of the largest MultiplyMoving"),
)  # fmt: skip


VECTOR_ENGINE = stated("Vector Engine")
SCALAR_ENGINE = stated("Scalar Engine")
GPSIMD_ENGINE = stated("GpSimd Engine")

_partitions = _arch(128, "partitions", _ENGINES)
_sbuf_per_partition = _arch(192 * 1024, "bytes per partition", _ENGINES)
_psum_per_partition = _arch(16 * 1024, "bytes per partition", _ENGINES)
_psum_banks = _arch(8, "banks per partition", _PSUM)


def _product(unit, locator, *inputs):
    return derive(unit, lambda a, b: a * b, *inputs, locator=locator)


SBUF = stated(
    "SBUF (state buffer)",
    partitions=_partitions,
    bytes_per_partition=_sbuf_per_partition,
    capacity_bytes=_product(
        "bytes", "partitions * bytes per partition", _partitions, _sbuf_per_partition
    ),
)
PSUM = stated(
    "PSUM (partial sum buffer)",
    partitions=_partitions,
    bytes_per_partition=_psum_per_partition,
    banks=_psum_banks,
    bank_bytes=derive("bytes per partition", lambda a, b: a // b, _psum_per_partition, _psum_banks,
                      locator="bytes per partition / banks"),
    capacity_bytes=_product("bytes", "partitions * bytes per partition", _partitions,
                            _psum_per_partition),
)  # fmt: skip

_engines = _arch(16, "engines", "Data movement between HBM and SBUF using DMAs")
_per_engine = _dma(17e9, "bytes/s", f"{_WHY}, table of generations, TRN1", note="17 B/ns")
DMA = stated(
    "DMA engines of one NeuronCore",
    engines=_engines,
    queues_per_core=_product("queues", "engines * queues per engine", _engines,
                             _overview(16, "queues per engine", "DMA Queues")),
    bytes_per_s_per_engine=_per_engine,
    bytes_per_s_derived=_product("bytes/s", "engines * bytes/s per engine", _engines, _per_engine),
)  # fmt: skip

LIMITS = stated("layout rules")


CYCLES = stated("instruction costs (N: free elements per partition, MIN: min_initiation_cycles)")

_PERIOD = "of the core execution period"
_CHECK, _CHANNELS = "Performance Check", "Increasing input ``channels`` size"
_ORDER = "Minimizing data reloading by loop reordering"
_TILING = "Mitigate spilling by tiling ``seq_len``"
MEASURED = Record(
    "published times on this generation",
    tensor_tensor_ns_per_element=_traces(1.804, "ns", "Vector Engine, FP32 tensor_tensor, 128 x N"),
    tensor_tensor_fixed_ns=_traces(210, "ns", "Vector Engine, FP32 tensor_tensor, 128 x N"),
    start_and_stop_ns=_traces((18_000, 19_000), "ns", "start-up and tear-down around a kernel"),
    **{
        name: SOURCES["nki-mamba-tutorial"].says(value, unit, where, kind=Kind.MEASURED)
        for name, value, unit, where in (
            ("mamba_v1_small_ns", 172_930, "ns", f"{_CHECK}, text: v1, 256 x 512"),
            ("mamba_v1_ns", 2_340_000, "ns", f"{_CHANNELS}, text: v1, 4 096 x 512"),
            ("mamba_v1_vector_busy", 0.9216, _PERIOD, f"{_CHANNELS}, text: v1, 4 096 x 512"),
            ("mamba_v2_ns", 1_610_000, "ns", f"{_ORDER}, text: v2"),
            ("mamba_v2_vector_busy", 0.9963, _PERIOD, f"{_ORDER}, text: v2"),
            ("mamba_v3_8192_vector_busy", 0.9485, _PERIOD, f"{_TILING}, text: v3"),
            ("mamba_v3_ns", ((512, 1_600_000), (1024, 3_300_000), (2048, 6_600_000),
                             (3072, 10_100_000), (4096, 13_300_000), (5120, 17_300_000),
                             (6144, 19_600_000), (7168, 24_200_000), (8192, 27_800_000)),
             "(sequence length, ns)", f"{_TILING}, table"),
        )
    },
)  # fmt: skip
_steps = _own(512, "(channel tile, state) steps", "4 096 / 128 channel tiles x 16 states")
MEASURED = MEASURED.replace(
    mamba_v1_step_ns=derive("ns", lambda t, busy, n: t * busy / n, MEASURED.mamba_v1_ns,
                            MEASURED.mamba_v1_vector_busy, _steps,
                            locator="time * Vector busy / 512 steps"),
    mamba_v2_step_ns=derive("ns", lambda t, busy, n: t * busy / n, MEASURED.mamba_v2_ns,
                            MEASURED.mamba_v2_vector_busy, _steps,
                            locator="time * Vector busy / 512 steps"),
    mamba_v3_step_ns=derive("ns", lambda t, busy, n: dict(t)[8192] * busy / (n * 16),
                            MEASURED.mamba_v3_ns, MEASURED.mamba_v3_8192_vector_busy, _steps,
                            locator="time at 8 192 * Vector busy / (512 steps * 16 pieces)"),
)  # fmt: skip

_min, _fixed = CYCLES.min_initiation_cycles, CYCLES.fixed_overhead_cycles
TIMING = Record(
    "what a time is made of where formulas end, with the ranges of what is uncertain",
    default_buffers=_own(
        4, "buffers per allocation site", "neuroncore.timing.placement",
        note="at most, as many as fit; the compiler's choice is not published"),
    buffers_range=_own(
        (2, 8), "buffers per allocation site", "neuroncore.timing.placement",
        note="one is refuted by published Mamba times (v1 of 2.34 ms would take 2.83), "
        "unless there is no room for two"),
    order_window=_own(
        32, "instructions ahead of the oldest that waits", "neuroncore.timing.ordering",
        note="how far the older compiler's scheduler looks is not published; from 16 to 64 the"
        " predictions of seven profiled kernels change by up to 8 %. A convolution in FP16 with"
        " pooling, 1275 us by a report, is predicted at 1826, with 64 at 1621, from 128 on at 1429;"
        " with 1024 a profiled matmul_add_rmsnorm is 20 % too slow instead of 15 % too fast"),
    scalar_result_cycles=derive(
        "Scalar Engine cycles", lambda ns, hz, least, fixed: round(ns * hz / 1e9) - least - fixed,
        SCALAR_ENGINE.dependent_chain_ns, SCALAR_ENGINE.clock_hz, _min, _fixed,
        locator="measured interval of a dependent chain - MIN - fixed overhead",
        note="from the last element to a result that others can read"),
    vector_result_cycles=derive(
        "Vector Engine cycles", lambda ns, hz, fixed: round(ns * hz / 1e9) - fixed,
        MEASURED.tensor_tensor_fixed_ns, VECTOR_ENGINE.clock_hz, _fixed,
        locator="measured fixed part of a single tensor_tensor - fixed overhead"),
    gpsimd_result_cycles=_own(
        100, "GpSimd Engine cycles", "neuroncore.timing", note="as measured on the Scalar Engine,"
        " which has the same clock; nobody published one"),
    tensor_result_cycles=derive(
        "Tensor Engine cycles", lambda r, c: r + c, _rows, _columns,
        locator="rows + columns: the last moving column crosses the array"),
    tensor_fixed_cycles=_own(
        0, "Tensor Engine cycles", "neuroncore.timing", note="back to back, the initiation interval"
        " is documented to be max(N, 64) alone"),
    dma_packet_ns=_overview(
        147, "ns per packet on one queue", _THROUGHPUT, kind=Kind.MEASURED,
        note="read off: up to 2 KiB the throughput grows with the bytes, at 2 KiB it is 339/417 of"
        " what it is at 32 KiB, which is taken as the 17 B/ns of a queue"),
    dma_packet_ns_tutorial=_own(
        164, "ns per packet on one queue", "from 42.96 ms of AWS's matmul tutorial, SDK 2.26",
        note="32 768 loads of 8 rows of 1 KiB on each queue; the other two versions whose time is"
        " their loads give 168 and, with rows of 256 B, 197; inferred, so not called derived"),
    dma_packet_ns_traces=SOURCES["autocomp-traces"].says(
        70, "ns per packet on one queue", "trn-tutorial/2_gemm_trace.py, steps 0 to 2",
        note="rows of 1 KiB and 256 B of the same matmul: 40, 73 and 45 if all"
        " that is written is loaded, 80, 109 and 90 if stationary tiles are loaded once"),
    dma_far_packet_ns=_own(
        370, "ns per packet on one queue", "neuroncore.timing", note="at least 512 KiB apart in"
        " HBM: a profiled silu with rows of 4 KiB at steps of 896 KiB takes 372 ns a row with no"
        " engine busy, and steps of 48 KiB cost nothing; no document says why"),
    dma_far_packet_ns_range=_own((147, 420), "ns per packet", "neuroncore.timing"),
    dma_buffer_ns=_pooling(
        19, "ns per DMA buffer on one queue", _POOLING, note="several runs of one partition, beside"
        " their bytes at 17 B/ns: less start and stop, 103, 152 and 564 us leave 19.7, 19.4 and"
        " 18.2 for each of the 64 to 96 runs of 16 to 48 bytes that a transfer has on each queue."
        " The limits are 1.05 times these times; the chip is not named"),
    dma_buffer_ns_range=_pooling(
        (12, 28), "ns per DMA buffer", _POOLING, note="what 48 runs more take; all of the time of"
        " transfers with 32"),
    dma_row_ns=_overview(
        8, "ns per row on one queue", _THROUGHPUT, kind=Kind.MEASURED,
        note="read off: 403/417 of the most at 4 KiB and 410/417 at 8 KiB, beside the bytes at 17"
        " B/ns; gives 263 GB/s for rows of 4 KiB, as profiled kernels sustain (250 to 263)"),
    dma_turnaround_ns=_own(
        370, "ns per transfer and queue", "neuroncore.timing", note="least time between two"
        " transfers of one queue in a long stream: a published loop of 25 600 x 3 transfers of one"
        " element took 357 to 437 ns for each; about 1300 ns of start-up, four under way at once"),
    dma_burst_turnaround_ns=_own(
        113, "ns per transfer and queue", "neuroncore.timing", note="in a burst: 300 transfers of"
        " 1 KiB in 34 us"),
    dma_burst_speedup=derive(
        "times the sustained rate", lambda burst, rate: sum(burst) / 2 / rate, DMA.rate_in_bursts,
        DMA.bytes_per_s, locator="middle of the rates in bursts / documented rate",
        note="documented ceiling 16 x 27.2 GB/s = 1.6 times"),
    dma_burst_ns=_own(
        77_000, "ns ahead of the sustained rate", "neuroncore.timing", note="how long a burst may"
        " be is not published: 300 small transfers are fast, 600 take five times as long"),
    fp32_load_speedup=_own(
        2, "times a MultiplyMoving of the same free size", "neuroncore.timing", note="up to 4 is"
        " documented; FP32 elements are twice as wide as the 16-bit ones. Not hidden behind the"
        " pass before: each of four loads another part of the matrix. A published convolution's"
        " matmuls take up to 143 ns more than their passes, which would be a speed-up of 1.3"),
    dma_packet_ns_range=_own(
        (100, 205), "ns per packet", "neuroncore.timing", note="80 to 130 GB/s at 1 KiB from large"
        " BF16 matmuls is 125 to 205; a quarter less where nothing was measured"),
    dma_row_ns_range=_own((0, 20), "ns per row", "neuroncore.timing", note="the figure's pixels"),
    dma_turnaround_ns_range=_own(
        (300, 440), "ns per transfer and queue", "neuroncore.timing", note="both reports"),
    dma_burst_turnaround_ns_range=_own(
        (60, 300), "ns per transfer and queue", "neuroncore.timing"),
    dma_burst_speedup_range=_own(
        (1.2, 1.6), "times the sustained rate", "neuroncore.timing", note="27.2/17 = 1.6"),
    dma_burst_ns_range=_own(
        (20_000, 200_000), "ns ahead of the sustained rate", "neuroncore.timing"),
    fp32_load_speedup_range=_own(
        (1.3, 4), "times a MultiplyMoving", "neuroncore.timing", note="a convolution; documents"),
    dma_start_range_ns=_own(
        (1200, 2400), "ns", "neuroncore.timing", note="first data came after 1.2 to 1.4 us with"
        " rows of 4 KiB and after 2.3 to 2.5 us with rows of 8 KiB"),
    dma_rate_range=_own(
        (255e9, 285e9), "bytes/s", "neuroncore.timing", note="250 to 263 in profiled kernels with"
        " rows of 4 KiB, 272 documented"),
    fixed_overhead_range=_own(
        (80, 125), "cycles", "neuroncore.timing", note='"about 100"; published busy times of the'
        " Mamba kernels leave 94 to 124 per instruction, and copies from PSUM by profiled Scalar"
        " Engines 50 to 75"),
    result_share_range=_own(
        (0.6, 1.2), "of the nominal latency", "neuroncore.timing", note="between the documented 60"
        " cycles of an access and a little above what was measured"),
    formula_range=_own(
        (0.98, 1.02), "of the printed cycles", "neuroncore.timing", note="printed as estimates; the"
        " one slope that was measured is 1 % above its formula"),
)  # fmt: skip


FORMATS = stated("number formats of NeuronCore-v2")

NEURONCORE_V2 = Record(
    "NeuronCore-v2",
    tensor_engine=TENSOR_ENGINE,
    vector_engine=VECTOR_ENGINE,
    scalar_engine=SCALAR_ENGINE,
    gpsimd_engine=GPSIMD_ENGINE,
    sbuf=SBUF,
    psum=PSUM,
    dma=DMA,
    limits=LIMITS,
    cycles=CYCLES,
    formats=FORMATS,
    measured=MEASURED,
    timing=TIMING,
    custom_operators=CUSTOM_OPERATORS,
)
