"""Published device times, measured on this generation, one row each.

``nki.published`` has a kernel for every row and predicts it with its source *left out*: with what
the other sources and documents say of the numbers that it helped to choose (``WITHOUT``).  How far
those predictions are off makes the bands of all others (``RESIDUALS``, :func:`spread`).
``PROFILES`` says more of seven rows: what ``neuron-profile`` counted while a kernel of the older
interface ran as its compiler had made it.
"""

from collections import Counter
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np

__all__ = ["PROFILES", "RESIDUALS", "TIMES", "TIMES_TRN2", "WITHOUT", "MeasuredTime", "Profile",
           "Residual", "residuals", "spread"]  # fmt: skip


@dataclass(frozen=True, slots=True)
class MeasuredTime:
    """One published time; where several were reported for the same work, all of them."""

    kernel: str  #: a name of ``nki.published.KERNELS``
    sizes: tuple[int, ...]  #: what that kernel is called with
    us: tuple[float, ...]  #: microseconds, start and stop included
    source: str  #: a key of ``SOURCES``
    instance: str
    statistic: str  #: "mean of 10", "reported once", ...
    note: str = ""  #: what the compiler did, as far as the publication shows it
    sdk: str = ""  #: "" where the publication does not say
    vector_busy: float | None = None  #: share of the time, or of the core execution period
    scalar_busy: float | None = None
    rounding_us: float = 0.0  #: half of the last digit printed
    is_as_written: bool = False  #: the kernel here is as written: the older compiler's passes run
    dge: bool = True  #: whether the chip, if it can, made descriptors
    around_ns: tuple[int, ...] = ()  #: what start and stop took, if not the chip's usual time

    @property
    def printed_sizes(self) -> str:
        """The sizes as tables print them."""
        return " x ".join(str(int(size)) for size in self.sizes)

    def __str__(self):
        return f"{self.kernel} {self.printed_sizes}"


def _mamba(kernel, channels, length, us, vector_busy=None, rounding_us=50.0):
    return MeasuredTime(
        kernel, (channels, length), (us,), "nki-mamba-tutorial", "trn1", "reported once",
        vector_busy=vector_busy, rounding_us=rounding_us,
    )  # fmt: skip


def _course(kernel, sizes, us, note=""):
    return MeasuredTime(kernel, sizes, us, "course-traces", "trn1.2xlarge",
                        "mean, each report", note, rounding_us=0.5)  # fmt: skip


def _bench(kernel, sizes, us, vector, scalar, note=""):
    return MeasuredTime(kernel, sizes, (us,), "accelopt-nkibench", "trn1.32xlarge", "mean of 10",
                        note, vector_busy=vector, scalar_busy=scalar)  # fmt: skip


def _matmul(ms, *sizes, kernel="matmul in groups"):
    return MeasuredTime(
        kernel, (8192, 4096, 8192, *sizes), (1000 * ms,), "nki-matmul-tutorial-2.26",
        "trn1.32xlarge", "p99 of 10", "BF16", rounding_us=5.0, is_as_written=True,
    )  # fmt: skip


def _trace(kernel, sizes, ms, note="", rounding_us=0.5):
    return MeasuredTime(kernel, sizes, (1000 * ms,), "autocomp-traces", "trn1.2xlarge",
                        "p99 of 10", note, rounding_us=rounding_us, is_as_written=True)  # fmt: skip


def _gemm(ms, *groups):
    return _trace("matmul in groups", (8192, 4096, 8192, *groups), ms, "BF16", 5.0)


#: Every row; groups of a matmul: tiles [128, 512] of m and n, and how many of them a load brings.
TIMES = (
    _mamba("mamba v1", 256, 512, 172.93, 0.9871, 0.005),
    _mamba("mamba v1", 4096, 512, 2340.0, 0.9216, 5.0),
    _mamba("mamba v2", 4096, 512, 1610.0, 0.9963, 5.0),
    _mamba("mamba v3", 4096, 512, 1600.0),
    _mamba("mamba v3", 4096, 1024, 3300.0),
    _mamba("mamba v3", 4096, 2048, 6600.0),
    _mamba("mamba v3", 4096, 3072, 10100.0),
    _mamba("mamba v3", 4096, 4096, 13300.0),
    _mamba("mamba v3", 4096, 5120, 17300.0),
    _mamba("mamba v3", 4096, 6144, 19600.0),
    _mamba("mamba v3", 4096, 7168, 24200.0),
    _mamba("mamba v3", 4096, 8192, 27800.0, 0.9485),
    _matmul(51.80, 1, 1),
    _matmul(42.96, 1, 1, 1, 1, True),
    _matmul(22.07, 2, 2, 1, 1, True),
    _matmul(6.97, kernel="blocked matmul"),
    _course("add", (25600, 1, 1), (27404.0, 33554.0)),
    _course("add", (25600, 128, 1), (206.0, 144.0)),
    _course("add", (25600, 128, 2), (53.0, 52.0)),
    _course("add", (25600, 128, 200), (19.0,), "two reports of 19"),
    _course("add", (256000, 128, 2000), (34.0, 33.2)),
    _course("add", (256000, 128, 1000), (29.0, 29.6)),
    _course("convolution", (256, 256, 224), (3681.0,), "FP32 loads are seen"),
    _bench("silu", (4096, 7168), 1333.232, 0.7388, 0.3148,
           "1 + x on Scalar, as the busy shares say"),
    _bench("adamw", (10944, 2048), 1999.829, 0.9002, 0.6162,
           "products with constants on Scalar, as the busy shares say"),
    _bench("rope", (128, 64 * 4096), 4333.010, 0.7164, 0.1411,
           "that packets far apart cost more was seen here and in silu; how much, in silu"),
    _bench("bmm", (16, 4096, 64, 4096), 4610.889, 0.0, 0.3726,
           "lhs is loaded and turned once, as the bytes say; spills of 46 MB left out"),
    _bench("matmul", (4096, 5120, 12288), 35199.742, 0.0, 0.0680,
           "rhs is read again for each of 32 row blocks, as the bytes say"),
    _bench("transpose_matmul", (4096, 2048, 10944), 9610.311, 0.0, 0.0379),
    _bench("matmul_add_rmsnorm", (4096, 2048, 2048), 2666.580, 0.1242, 0.1679,
           "weights are loaded once; x is turned for each n, as nl.matmul documents"),
    _trace("mamba v1", (256, 2048), 0.636),
    _trace("scan of products", (256, 2048), 0.539),
    _trace("scan in pieces", (256, 2048), 0.359),
    _gemm(20.99, 1, 1),
    _gemm(28.68, 1, 2),
    _gemm(11.80, 2, 2),
    _gemm(8.07, 4, 2),
    _gemm(7.62, 4, 2, 2, 1),
    _gemm(6.96, 4, 2, 4, 2),
    _trace("depthwise convolution", (8, 512, 2048, 2048, False), 8.007),
    _trace("depthwise convolution", (8, 512, 2048, 2048, True), 4.955),
    _trace("depthwise convolution", (8, 512, 2048, 64, True), 0.461),
)  # fmt: skip


def _trn2(kernel, sizes, us, source, statistic, **more):
    return MeasuredTime(kernel, sizes, us, source, "trn2.3xlarge", statistic, rounding_us=0.5,
                        **more)  # fmt: skip


def _report(kernel, sizes, us, **more):
    return _trn2(kernel, sizes, (us,), "course-2025", "reported once", **more)


def _study(kernel, sizes, *us):
    return _trn2(kernel, sizes, us, "kernel-fusion-study", "median of 20", sdk="2.28")


#: Rows of Trainium2, which no band rests on; the first five and profiles of others chose its facts.
TIMES_TRN2 = (
    _report("add", (25600, 1, 1), 37318.0),
    _report("add", (25600, 128, 1), 378.0),
    _report("add", (25600, 128, 200), 15.0),
    _trn2("add", (256000, 128, 2000), (28.0, 28.36, 28.90), "course-2025", "profiles", dge=False,
          around_ns=(15_000, 16_000)),
    _report("convolution", (256, 256, 224), 3832.0, dge=False),
    _study("attention", (512,), 52.0), _study("fused attention", (512,), 31.0, 32.0),
    _study("attention", (1024,), 107.0), _study("fused attention", (1024,), 69.0),
    _study("attention BF16", (512,), 47.0, 48.0), _study("fused attention BF16", (512,), 28.0),
    _study("attention BF16", (1024,), 96.0), _study("fused attention BF16", (1024,), 60.0),
    _study("gelu", (256, 512, 1024), 40.0), _study("gelu by hand", (256, 512, 1024), 53.0),
    _study("gelu BF16", (256, 512, 1024), 28.0),
    _study("gelu by hand BF16", (256, 512, 1024), 40.0),
)  # fmt: skip

#: Parameters of time that a source helped to choose → what is left without it: documents alone.
WITHOUT: dict[str, dict[str, float]] = {
    "course-traces": {"dma_burst_speedup": 1.0, "dma_burst_ns": 0.0, "fp32_load_speedup": 4.0},
    "accelopt-nkibench": {"dma_far_packet_ns": 147.0},
}

#: What bounds a prediction → source → published / predicted with that source left out, in the order
#: of ``TIMES``; ``python -m trainium_edu.nki.published --all --residuals`` prints it.
RESIDUALS: dict[str, dict[str, tuple[float, ...]]] = {
    "the Vector Engine": {
        "nki-mamba-tutorial": (
            1.1, 1.09, 0.97, 0.96, 0.96, 0.96, 0.98, 0.97, 1.01, 0.94, 1.0, 1.0,
        ),
        "accelopt-nkibench": (1.33, 0.92, 1.39),
        "autocomp-traces": (1.01, 1.04, 0.952, 0.595),
    },
    "DMA in short rows": {
        "nki-matmul-tutorial-2.26": (1.25, 1.04, 0.99),
        "course-traces": (0.85, 0.4),
        "autocomp-traces": (0.51, 0.69, 0.53, 0.64, 0.67),
    },
    "the Tensor Engine": {
        "nki-matmul-tutorial-2.26": (0.94,),
        "course-traces": (1.25,),
        "accelopt-nkibench": (1.05, 1.15),
        "autocomp-traces": (1.12,),
    },
    "several engines": {"course-traces": (0.96, 0.83, 0.93)},
    "DMA in long rows": {"course-traces": (0.9,), "accelopt-nkibench": (1.08, 1.0)},
    "short instructions": {"autocomp-traces": (0.506, 0.313)},
}  # fmt: skip

_SHARE = 0.8  # of published times that a band shall hold
_SOURCES = 2  # at least that have rows of a kind


class Residual(NamedTuple):
    """One published time over its prediction, its source left out."""

    kind: str  #: what bounds the prediction
    source: str
    ratio: float


def residuals() -> list[Residual]:
    """Return every row's residual."""
    return [
        Residual(kind, source, ratio)
        for kind, rows in RESIDUALS.items()
        for source, ratios in rows.items()
        for ratio in ratios
    ]


def spread(kind: str, left_out: str = "") -> tuple[float, float]:
    """Return by which factors published times of one kind of kernel differ from predictions.

    Each source counts alike, however many rows it has.  Where no two sources have rows of that
    kind, all kinds count, and rows of that kind for half as much again.

    Parameters
    ----------
    kind : str
        What bounds the kernel: a key of ``RESIDUALS``, or anything else.
    left_out : str
        A source that has no part in it.

    Returns
    -------
    tuple of float
        The least and the greatest factor; 1 lies between them.
    """
    rows = [row for row in residuals() if row.source != left_out]
    alike = [row for row in rows if row.kind == kind]
    pools = [alike] if len({row.source for row in alike}) >= _SOURCES else [alike, rows, rows]
    weights = []
    for pool in filter(None, pools):
        count = Counter(row.source for row in pool)
        weights += [(row.ratio, 1 / count[row.source] / len(count)) for row in pool]
    if not weights:
        return 1.0, 1.0
    ratios, weight = np.array(sorted(weights)).T
    until = weight.cumsum() / weight.sum()
    low, high = ratios[np.searchsorted(until, ((1 - _SHARE) / 2, (1 + _SHARE) / 2))]
    return min(float(low), 1.0), max(float(high), 1.0)


@dataclass(frozen=True, slots=True)
class Profile:
    """The report of ``neuron-profile`` on one unmodified kernel in the older interface.

    Latency from one run (start and stop included), bytes and shares of time from another.  Bytes of
    instructions in SBUF and PSUM are those of one partition, FP32 matmuls count twice, and those of
    instructions with two tensors are not in them.
    """

    kernel: str
    sizes: dict[str, int]
    latency_us: float
    vector_busy: float
    scalar_busy: float
    hbm_read_bytes: int
    hbm_write_bytes: int
    sbuf_read_bytes: int
    sbuf_write_bytes: int
    psum_read_bytes: int
    psum_write_bytes: int
    calibration: bool
    reason: str  #: what its figures chose, or what they are there to judge
    spill_save_bytes: int = 0
    spill_reload_bytes: int = 0
    source: str = "accelopt-nkibench"
    instance: str = "trn1.32xlarge"


#: The seven profiled kernels; at most four of them calibrate, the same four as in ``TIMES``.
PROFILES = (
    Profile("silu", {"M": 4096, "N": 7168}, 1333.232, 0.7388, 0.3148, 117440512, 117440512,
            120193024, 120193024, 0, 0, True,
            "what packets far apart cost in a transfer, and a reciprocal; no pass"),
    Profile("adamw", {"M": 10944, "N": 2048}, 1999.829, 0.9002, 0.6162, 358612992, 89653248,
            95993856, 362840064, 0, 2113536, True,
            "engine_balance: operands of tensor_tensor go to PSUM, as its counters say"),
    Profile("rope", {"D": 128, "S": 64 * 4096}, 4333.010, 0.7164, 0.1411, 268435456, 134217728,
            136314880, 270532608, 0, 0, False,
            "its counters show one copy more than was written, which is not modelled"),
    Profile("bmm", {"B": 16, "M": 4096, "K": 64, "N": 4096}, 4610.889, 0.0, 0.3726, 67436544,
            1086324736, 1108082688, 76087296, 8650752, 17301504, True,
            "loads and algebra: lhs loaded and transposed once",
            12582912, 33816576),
    Profile("matmul", {"M": 4096, "K": 5120, "N": 12288}, 35199.742, 0.0, 0.0680, 9059762176,
            201326592, 390070272, 9069199360, 9437184, 141557760, True,
            "reloads: rhs is loaded again for each of 32 row blocks"),
    Profile("transpose_matmul", {"M": 4096, "K": 2048, "N": 10944}, 9610.311, 0.0, 0.0379,
            392167424, 179306496, 236978176, 393568256, 1400832, 46137344, False,
            "chose nothing: that FP32 matrices are seen to load is inferred from a convolution"),
    Profile("matmul_add_rmsnorm", {"M": 4096, "K": 2048, "N": 2048}, 2666.580, 0.1242, 0.1679,
            98115584, 33554432, 49029888, 99959168, 1318912, 10493952, False,
            "118 loads of weight tiles where 2,048 are written; 64 predicted (timing.rewrites)"),
)  # fmt: skip
