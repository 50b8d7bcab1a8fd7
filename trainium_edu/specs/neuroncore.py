"""NeuronCore-v2, the core of Trainium and Inferentia2: engines, memories, limits, costs, formats.

``cycles`` always belong to the engine that runs the instruction.  Formulas are Python expressions
in the names that their note explains, so that a test can evaluate what a document printed.
"""

from trainium_edu.specs.custom_operators import CUSTOM_OPERATORS
from trainium_edu.specs.fact import derive
from trainium_edu.specs.record import Record
from trainium_edu.specs.sources import SOURCES, stated

__all__ = ["CYCLES", "FORMATS", "NEURONCORE_V2"]

_arch = SOURCES["nki-trn1-arch"].says
_dma = SOURCES["nki-dma-guide"].says
_overview = SOURCES["nki-dma-overview"].says
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

MEASURED = stated("published times on this generation")
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
TIMING = stated(
    "what a time is made of where formulas end, with the ranges of what is uncertain",
    scalar_result_cycles=derive(
        "Scalar Engine cycles", lambda ns, hz, least, fixed: round(ns * hz / 1e9) - least - fixed,
        SCALAR_ENGINE.dependent_chain_ns, SCALAR_ENGINE.clock_hz, _min, _fixed,
        locator="measured interval of a dependent chain - MIN - fixed overhead",
        note="from the last element to a result that others can read"),
    vector_result_cycles=derive(
        "Vector Engine cycles", lambda ns, hz, fixed: round(ns * hz / 1e9) - fixed,
        MEASURED.tensor_tensor_fixed_ns, VECTOR_ENGINE.clock_hz, _fixed,
        locator="measured fixed part of a single tensor_tensor - fixed overhead"),
    tensor_result_cycles=derive(
        "Tensor Engine cycles", lambda r, c: r + c, _rows, _columns,
        locator="rows + columns: the last moving column crosses the array"),
    dma_burst_speedup=derive(
        "times the sustained rate", lambda burst, rate: sum(burst) / 2 / rate, DMA.rate_in_bursts,
        DMA.bytes_per_s, locator="middle of the rates in bursts / documented rate",
        note="documented ceiling 16 x 27.2 GB/s = 1.6 times"),
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
