"""NeuronCore-v2, the core of Trainium and Inferentia2: engines, memories, limits, costs, formats.

``cycles`` always belong to the engine that runs the instruction.  Formulas are Python expressions
in the names that their note explains, so that a test can evaluate what a document printed.
"""

from trainium_edu.specs.custom_operators import CUSTOM_OPERATORS
from trainium_edu.specs.fact import Kind, derive
from trainium_edu.specs.record import Record
from trainium_edu.specs.sources import SOURCES

__all__ = ["CYCLES", "FORMATS", "NEURONCORE_V2"]

_arch = SOURCES["nki-trn1-arch"].says
_nc2 = SOURCES["aws-neuroncore-v2"].says
_old = SOURCES["nki-isa-2.26"].says
_perf = SOURCES["nki-perf-guide"].says
_allocation = SOURCES["nki-allocation-2.26"].says
_dma = SOURCES["nki-dma-guide"].says
_overview = SOURCES["nki-dma-overview"].says
_THROUGHPUT = "Performance Considerations, figure of throughput against bytes per partition"
_traces = SOURCES["course-traces"].says
_bench = SOURCES["accelopt-nkibench"].says
_pooling = SOURCES["nki-samples-tests"].says
_POOLING = "test/unit/test_adaptive_avg_pool2d.py, latency"
_own = SOURCES["emulator"].says

_TABLE = "NeuronCore-v2 Compute Engines, table of widths and frequencies"
_ENGINES = "NeuronCore-v2 Compute Engines"
_TILE = "Tensor Engine, Tile Size"
_COST = "Tensor Engine, Performance Consideration, Cost Model"
_ACCESS = "Accessing SBUF/PSUM tensors using compute engines"
_PSUM = "Near-memory accumulation in PSUM"
_NC2 = "NeuronCore-v2 Architecture"
_WHY, _PAYLOAD = "Why Large Contiguous DMA Payloads Are Required", "Bandwidth vs. Payload Size"
_ADVICE = f"{_ACCESS}, Performance Consideration"

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
_min_mm = _arch(64, "Tensor Engine cycles", _COST)

TENSOR_ENGINE = Record(
    "Tensor Engine",
    rows=_rows,
    columns=_columns,
    clock_hz=_tensor_clock,
    peak_flops=_arch(92e12, "FLOP/s", "Tensor Engine, Data Types",
                     note="BF16, FP16, TF32, cFP8 inputs"),
    peak_flops_fp32=_arch(23e12, "FLOP/s", "Tensor Engine, Data Types"),
    peak_flops_from_array=_peak,
    peak_flops_over=_nc2(90e12, "FLOP/s", f"{_NC2}, TensorEngine paragraph",
                         note='"over 90 TFLOPS"'),
    accumulates_in=_arch("fp32", "", "Tensor Engine, Data Types", note="output always FP32"),
    stationary_free_max=_arch(128, "elements", _TILE),
    moving_free_max=_mm_free,
    initiation_cycles=_arch("max(moving_free, 64)", "Tensor Engine cycles", _COST),
    min_initiation_cycles=_min_mm,
    fp32_factor=_arch(4, "", _COST, note="an FP32 matmul costs 4 times a BF16 one"),
    load_stationary_speedup=_arch(
        4, "", "Tensor Engine, Performance Consideration, Fast LoadStationary",
        note='"up to"; against a MultiplyMoving of the same free size'),
    load_stationary_in_background=_arch(
        True, "", "Tensor Engine, Performance Consideration, Background LoadStationary"),
    load_stationary_128_cycles=_perf(
        32, "Tensor Engine cycles", "Opt #7: TensorE only: Leverage fast weight load",
        note='"~= 128/4 = 32 cycles"'),
    multiply_moving_512_ns=derive(
        "ns", lambda n, hz: n / hz * 1e9, _mm_free, _tensor_clock,
        locator="512 columns / clock, the initiation interval of the largest MultiplyMoving"),
    ridge_flop_per_byte=SOURCES["nki-matmul-tutorial"].says(
        222, "FLOP/byte", "Optimization 1: Removing Redundant Loads, text at the roofline figure",
        note="BF16 matmul, against HBM"),
)  # fmt: skip


def _lanes(name, clock_hz, **more):
    return Record(
        name,
        lanes=_arch(128, "lanes", _TABLE),
        clock_hz=_arch(clock_hz, "Hz", _TABLE),
        **more,
    )


VECTOR_ENGINE = _lanes(
    "Vector Engine", 1.12e9,
    peak_flops_fp32=_nc2(2.3e12, "FLOP/s", f"{_NC2}, VectorEngine paragraph"),
    arithmetic_in=_arch("fp32", "", "Vector Engine, Data Types", note="casts in and out are free"),
    transpose_block=_arch(32, "partitions", "Vector Engine, Cross-partition Data Movement"),
    shuffle_group=_arch(32, "partitions", "Vector Engine, Cross-partition Data Movement"),
    bn_stats_free_max=_arch(512, "elements", "Vector Engine, Layout & Tile Size"),
    random_generator=SOURCES["nki-trn3-arch"].says(
        "LFSR", "", "XORWOW-based PRNG", note="before NeuronCore-v4, which has XORWOW"),
)  # fmt: skip
SCALAR_ENGINE = _lanes(
    "Scalar Engine", 1.4e9,
    peak_flops_fp32=_nc2(2.9e12, "FLOP/s", f"{_NC2}, ScalarEngine paragraph"),
    arithmetic_in=_arch("fp32", "", "Scalar Engine, Data Types", note="casts in and out are free"),
    computes=_arch("func(scale * x + bias)", "", "Scalar Engine, Pipelined Multiply-Add",
                   note="same cost with or without scale and bias"),
    read_accumulator_cycles=_arch(64, "Scalar Engine cycles",
                                  "Scalar Engine, Pipelined Reduction"),
    dependent_chain_ns=_perf(
        189, "ns", "Opt #5a: Use sufficiently large input tiles in free dimension",
        note="between starts of small instructions, each of which reads what the one before wrote;"
        " 264 cycles at 1.4 GHz", kind=Kind.MEASURED),
)  # fmt: skip
GPSIMD_ENGINE = _lanes(
    "GpSimd Engine", 1.4e9,
    processors=_arch(8, "processors", "GpSimd Engine"),
    simd_bits=_arch(512, "bits", "GpSimd Engine", note="16 x 32, 32 x 16 or 64 x 8 bits"),
    local_memory_bytes=_arch(64 * 1024, "bytes per processor", "GpSimd Engine, Memory Hierarchy",
                             note='printed as "64KB"'),
    partitions_per_processor=_arch(16, "partitions", "GpSimd Engine, Memory Hierarchy",
                                   note="processor i sees partitions 16i to 16i + 15"),
    elementwise_cycles=_own(
        "the Vector Engine's formulas", "GpSimd Engine cycles", "neuroncore",
        note="for the instructions that both engines run; no figure of its own is published"),
)  # fmt: skip

_partitions = _arch(128, "partitions", _ENGINES)
_sbuf_per_partition = _arch(192 * 1024, "bytes per partition", _ENGINES)
_psum_per_partition = _arch(16 * 1024, "bytes per partition", _ENGINES)
_psum_banks = _arch(8, "banks per partition", _PSUM)


def _product(unit, locator, *inputs):
    return derive(unit, lambda a, b: a * b, *inputs, locator=locator)


SBUF = Record(
    "SBUF (state buffer)",
    partitions=_partitions,
    bytes_per_partition=_sbuf_per_partition,
    capacity_bytes=_product(
        "bytes", "partitions * bytes per partition", _partitions, _sbuf_per_partition
    ),
    capacity_printed=_arch(24 * 2**20, "bytes", _ENGINES, note='printed as "24MiB"'),
    compiler_bytes=_allocation(
        16 * 2**10,
        "bytes per partition",
        "``ncc.sbuf.alloc()``",
        note="the older compiler's own, at the end of each partition",
    ),
)
PSUM = Record(
    "PSUM (partial sum buffer)",
    partitions=_partitions,
    bytes_per_partition=_psum_per_partition,
    banks=_psum_banks,
    bank_bytes=derive("bytes per partition", lambda a, b: a // b, _psum_per_partition, _psum_banks,
                      locator="bytes per partition / banks"),
    bank_fp32=_arch(512, "elements", _PSUM, note="32-bit values per bank and partition"),
    capacity_bytes=_product("bytes", "partitions * bytes per partition", _partitions,
                            _psum_per_partition),
    capacity_printed=_arch(2 * 2**20, "bytes", _ENGINES, note='printed as "2MiB"'),
    accumulates_in=_arch("fp32", "", _PSUM),
)  # fmt: skip

_engines = _arch(16, "engines", "Data movement between HBM and SBUF using DMAs")
_per_engine = _dma(17e9, "bytes/s", f"{_WHY}, table of generations, TRN1", note="17 B/ns")
DMA = Record(
    "DMA engines of one NeuronCore",
    engines=_engines,
    queues=_own(
        16, "queues", "neuroncore.timing", note="one on each DMA engine: a transfer may be"
        " submitted to one queue ID across all 16 engines; in what order an engine serves its 16"
        " queues (round robin) is not modelled"),
    queues_per_engine=_overview(16, "queues per engine", "DMA Queues"),
    queues_per_core=_product("queues", "engines * queues per engine", _engines,
                             _overview(16, "queues per engine", "DMA Queues")),
    bytes_per_s_per_engine=_per_engine,
    bytes_per_s=_dma(272e9, "bytes/s", f"{_WHY}, table of generations, TRN1"),
    bytes_per_s_derived=_product("bytes/s", "engines * bytes/s per engine", _engines, _per_engine),
    peak_bytes_per_s_per_engine=_arch(
        27 * 2**30, "bytes/s", "Data movement between HBM and SBUF using DMAs", note="27 GiB/s"),
    theoretical_bytes_per_s_per_engine=_overview(
        27.2e9, "bytes/s", "Basic DMA Capabilities", note="27.2 GB/s, NeuronCore-v2 and -v3"),
    start_ns=_dma(1300, "ns", _WHY, note="about, cross-engine, from semaphore to start"),
    first_data_4kib_rows_ns=_traces((1200, 1400), "ns", "first data after the descriptor is read"),
    very_poor_below_bytes=_dma(256, "bytes per partition", _PAYLOAD,
                               note='"a small fraction of peak"'),
    good_from_bytes=_dma(2048, "bytes per partition", _PAYLOAD),
    saturated_from_bytes=_dma(4096, "bytes per partition", _PAYLOAD),
    one_32kib_transfer_ns=_overview(
        1416, "ns", "Example 1: Move A[4,4096] HBM → SBUF, Profile", kind=Kind.MEASURED,
        note="one engine of NeuronCore-v3, the next generation"),
    rate_1kib_rows=_own(
        100e9, "bytes/s", "from published runs of large BF16 matmuls",
        note="about, per core over 16 queues; inferred by us, so not called derived"),
    rate_in_bursts=_traces(
        (385e9, 400e9), "bytes/s", "bodies of kernels with 3 to 6 transfers, rows of 4 to 8 KiB",
        note="per core over 16 queues"),
    rate_sustained=_bench(
        (250e9, 263e9), "bytes/s", "bmm and matmul: bytes over latency",
        note="rows of 4 KiB, over milliseconds, with nothing else busier"),
    short_rows_in_bursts=_traces(
        (14, 40), "ns per row on one queue", "additions in tiles of 128 x 1 and 128 x 2",
        note="rows of 4 and 8 bytes, whose neighbours in HBM go to the neighbouring partitions"),
)  # fmt: skip

LIMITS = Record(
    "layout rules",
    tile_partitions_max=_arch(128, "partitions", "Vector Engine, Layout & Tile Size"),
    sbuf_free_max=_arch(64 * 1024, "elements", "Vector Engine, Layout & Tile Size"),
    psum_free_max=_arch(4 * 1024, "elements", "Vector Engine, Layout & Tile Size"),
    start_partitions=_arch(
        ((128, (0,)), (64, (0, 64)), (32, (0, 32, 64, 96))), "(up to, allowed starts)", _ACCESS,
        note="over 64 partitions start at 0, 33 to 64 at 0 or 64, up to 32 at any quarter"),
    free_dimensions_max=_arch(4, "dimensions", _ACCESS),
    stride_type=_arch("int16", "", _ACCESS, note="stride of each free dimension, in elements"),
    full_rate_stride_bytes=_arch(16, "bytes", f"{_ADVICE}, Access pattern",
                                 note="a longer innermost stride halves the port's bandwidth"),
    long_stride_factor=_arch(0.5, "", f"{_ADVICE}, Access pattern"),
    port_clock_hz=_arch(1.4e9, "Hz", f"{_ADVICE}, Access pattern",
                        note="128 elements per cycle for each read or write interface"),
    reads=_arch((("tensor", "sbuf"), ("vector", "sbuf psum"), ("scalar", "sbuf psum"),
                 ("gpsimd", "sbuf"), ("dma", "hbm sbuf")), "(engine, memories)",
                "NeuronCore-v2 Compute Engines, figure of NeuronCore-v2"),
    writes=_arch((("tensor", "psum"), ("vector", "sbuf psum"), ("scalar", "sbuf psum"),
                  ("gpsimd", "sbuf"), ("dma", "hbm sbuf")), "(engine, memories)",
                 "NeuronCore-v2 Compute Engines, figure of NeuronCore-v2"),
    fresh_memory=SOURCES["nki-simulator"].says(
        (("float", "NaN"), ("integer", 4)), "", "Uninitialized Memory Detection"),
)  # fmt: skip


def _cost(formula, engine, locator, note=""):
    return _old(formula, f"{engine} cycles", f"{locator}, Estimated instruction cost", note)


_N = "max(MIN, N)"
CYCLES = Record(
    "instruction costs (N: free elements per partition, MIN: min_initiation_cycles)",
    min_initiation_cycles=_old(64, "cycles", "activation, Estimated instruction cost",
                                note="MIN_II, roughly, of the engine that runs it"),
    fixed_overhead_cycles=_arch(100, "cycles", "Vector Engine, Cost Model",
                                note="when N is small or each instruction waits for the last"),
    activation=_cost(_N, "Scalar Engine", "activation"),
    activation_reduce=_cost("max(MIN, N) + MIN", "Scalar Engine", "activation_reduce"),
    tensor_copy=_cost(_N, "engine", "tensor_copy"),
    tensor_scalar=_cost(_N, "Vector or Scalar Engine", "tensor_scalar"),
    tensor_scalar_rsqrt=SOURCES["nki-isa-shared"].says(
        "max(MIN, 4 * N)", "GpSimd Engine cycles",
        "NKI Engine Selection for Operators Supported on Multiple Engines",
        note="a quarter of the Scalar Engine's throughput, at higher precision"),
    tensor_scalar_cumulative=_own(_N, "Vector Engine cycles", "neuroncore",
                                  note="like tensor_scalar; no figure is published"),
    select_reduce=_own("max(MIN, 2 * N)", "Vector Engine cycles", "neuroncore",
                       note="like tensor_copy_predicated; no figure is published"),
    select_reduce_psum=_own(_N, "Vector Engine cycles", "neuroncore",
                            note="one operand in PSUM, like tensor_copy_predicated"),
    tensor_scalar_reduce=_cost("max(MIN, N) + MIN", "Vector Engine", "tensor_scalar_reduce"),
    nc_stream_shuffle=_cost(_N, "Vector Engine", "nc_stream_shuffle"),
    bn_stats=_cost(_N, "Vector Engine", "bn_stats"),
    bn_aggr=_cost("max(MIN, 13 * (N / 3))", "Vector Engine", "bn_aggr"),
    range_select=_cost(_N, "Vector Engine", "range_select"),
    dropout=_cost(_N, "Vector Engine", "dropout"),
    iota=_cost("150 + N", "GpSimd Engine", "iota"),
    affine_select=_cost("150 + N", "GpSimd Engine", "affine_select"),
    local_gather=_cost(
        "150 + valid_indices * per_index"
        " / (((28 + 4 * per_index) / (4 * per_index)) / min(4 / dtype_bytes, per_index))",
        "GpSimd Engine", "local_gather", note="per_index: elements per index"),
    max8=_cost("N", "engine", "max8"),
    nc_find_index8=_cost("N", "engine", "nc_find_index8"),
    nc_match_replace8=_own("N", "engine cycles", "neuroncore", note="like its two siblings"),
    nc_match_replace8_printed=_cost("min(MIN, N)", "engine", "nc_match_replace8"),
    memset=_cost(_N, "Vector Engine", "memset"),
    memset_16bit_zero=_cost("max(MIN, N / 2)", "Vector Engine", "memset",
                            note="BF16 or FP16 zero"),
    nc_matmul=_cost("max(min(64, stationary_free), moving_free)", "Tensor Engine", "nc_matmul"),
    nc_matmul_fp32=_cost("4 * max(min(64, stationary_free), moving_free)", "Tensor Engine",
                         "nc_matmul"),
    nc_transpose_vector=_cost(_N, "Vector Engine", "nc_transpose"),
    nc_transpose_tensor=_cost("max(P, min(64, F))", "Tensor Engine", "nc_transpose",
                              note="P partitions, F free elements"),
    reciprocal=_cost("max(MIN, 8 * N)", "Vector Engine", "reciprocal"),
    reciprocal_profiled=_bench(
        "max(MIN, 2.4 * N)", "Vector Engine cycles", "silu_M4096_N7168, Vector's busy time",
        note="0.985 ms in all for 448 blocks of 512 columns: less the tensor_tensor and the fixed"
        " overheads, 2.4 N are left for each reciprocal; 8 N alone would be 1.64 ms"),
    scalar_tensor_tensor=_cost("2 * N", "Vector Engine", "scalar_tensor_tensor"),
    scalar_tensor_tensor_bf16=_cost("N", "Vector Engine", "scalar_tensor_tensor",
                                    note="BF16 subtract then multiply, N even"),
    tensor_tensor=_cost("max(MIN, 2 * N)", "Vector Engine", "tensor_tensor"),
    tensor_tensor_fast=_cost(
        _N, "Vector Engine", "tensor_tensor",
        note="one operand in PSUM, or all BF16, contiguous, in SBUF: add, multiply, subtract"),
    tensor_tensor_scan=_cost("max(MIN, 2 * N)", "Vector Engine", "tensor_tensor_scan"),
    tensor_reduce=_cost("N", "Vector Engine", "tensor_reduce"),
    tensor_reduce_bf16=_cost("N / 2", "Vector Engine", "tensor_reduce",
                             note="BF16 in and out, add or max"),
    tensor_copy_predicated=_cost("max(MIN, 2 * N)", "Vector Engine", "tensor_copy_predicated"),
    tensor_copy_predicated_psum=_cost(_N, "Vector Engine", "tensor_copy_predicated",
                                      note="one operand in PSUM"),
    tensor_copy_dynamic=_cost("max(600, N)", "engine", "tensor_copy_dynamic_src"),
    nc_n_gather=_own("150 * -(-N // 512) + N", "GpSimd Engine cycles", "neuroncore",
                     note="one group of instructions for every 512 elements, each priced as iota"),
    tensor_partition_reduce=_own("150 + N", "GpSimd Engine cycles", "neuroncore",
                                 note="like iota; no figure is published"),
    sequence_bounds=_own("150 + N", "GpSimd Engine cycles", "neuroncore",
                         note="like iota; no figure is published"),
    rng=_own(_N, "Vector Engine cycles", "neuroncore", note="like dropout"),
    topk=SOURCES["nki-isa"].says("4 * n + K", "GpSimd Engine cycles per partition", "topk"),
)  # fmt: skip

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

_types = SOURCES["aws-data-types"].says


def _format(exponent_bits, mantissa_bits, locator="Trn1 / Inf2 (NeuronCore v2)", note=""):
    return _types((1, exponent_bits, mantissa_bits), "(sign, exponent, mantissa) bits", locator,
                  note)  # fmt: skip


_FP8_PAPER = SOURCES["micikevicius-2022"]
FORMATS = Record(
    "number formats of NeuronCore-v2",
    fp32=_format(8, 23),
    tf32=_format(8, 10),
    bf16=_format(8, 7),
    fp16=_format(5, 10),
    fp8_e5m2=_format(5, 2, note="one setting of cFP8"),
    fp8_e4m3=_format(4, 3, note="one setting of cFP8"),
    fp8_e3m4=_format(3, 4, note="one setting of cFP8"),
    fp8_for_weights=_FP8_PAPER.says("E4M3", "", "3 FP8 Binary Interchange Format",
                                    note="and for activations; without infinities, up to 448"),
    fp8_for_gradients=_FP8_PAPER.says("E5M2", "", "3 FP8 Binary Interchange Format"),
    integers=_types(("uint8", "int32", "uint32"), "", "Trn1 / Inf2 (NeuronCore v2)"),
    default_rounding=_types("nearest", "", "Trn1 / Inf2 (NeuronCore v2), Rounding Modes",
                            note="ties to even"),
    stochastic_formats=SOURCES["aws-torch-variables"].says(
        ("fp16", "bf16", "fp8", "tf32"), "", "NEURON_RT_STOCHASTIC_ROUNDING_EN",
        note="all internal rounding from FP32 to these"),
    random_generator=_own(
        "Philox4x32-10", "", "numerics.random_bits",
        note="no document says where the hardware's random bits come from (an LFSR is documented of"
        " the Vector Engine's random numbers); a counter-based generator makes them depend only on"
        " (seed, step, element), so that they can be replayed and tested"),
    random_bits=_own(16, "bits", "numerics.rounding", note="the hardware's number is unpublished;"
                     " ours is a parameter"),
)  # fmt: skip

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
