"""Device times that somebody measured on this generation and published, one row each.

``PROFILES`` says more of seven of them: what ``neuron-profile`` counted while a kernel of the older
interface ran as its compiler had made it, for ``neuroncore.timing.rewrites``.

A row says what was run, what was measured, where and how, and whether its figure helped to choose
a rule of the model (*calibration*: that it agrees proves nothing) or not (*validation*).
``nki.published`` has a kernel for every row and prints the table; CONTRIBUTING says how to add one.
"""

from dataclasses import dataclass

__all__ = ["PROFILES", "TIMES", "MeasuredTime", "Profile"]


@dataclass(frozen=True, slots=True)
class MeasuredTime:
    """One published time; where several were reported for the same work, all of them."""

    kernel: str  #: a name of ``nki.published.KERNELS``
    sizes: tuple[int, ...]  #: what that kernel is called with
    us: tuple[float, ...]  #: microseconds, start and stop included
    source: str  #: a key of ``SOURCES``
    instance: str
    statistic: str  #: "mean of 10", "reported once", ...
    calibration: bool
    note: str = ""  #: what the compiler did, as far as the publication shows it
    sdk: str = ""  #: "" where the publication does not say
    vector_busy: float | None = None  #: share of the time, or of the core execution period
    scalar_busy: float | None = None
    rounding_us: float = 0.0  #: half of the last digit printed

    def __str__(self):
        return f"{self.kernel} {' x '.join(map(str, self.sizes))}"


def _mamba(kernel, channels, length, us, calibration=False, vector_busy=None, rounding_us=50.0):
    return MeasuredTime(
        kernel, (channels, length), (us,), "nki-mamba-tutorial", "trn1", "reported once",
        calibration, vector_busy=vector_busy, rounding_us=rounding_us,
    )  # fmt: skip


def _course(kernel, sizes, us, calibration, note=""):
    return MeasuredTime(kernel, sizes, us, "course-traces", "trn1.2xlarge",
                        "mean, each report", calibration, note, rounding_us=0.5)  # fmt: skip


def _bench(kernel, sizes, us, calibration, vector, scalar, note=""):
    return MeasuredTime(kernel, sizes, (us,), "accelopt-nkibench", "trn1.32xlarge", "mean of 10",
                        calibration, note, vector_busy=vector, scalar_busy=scalar)  # fmt: skip


#: Every row.  The labels of the rows after Mamba's were fixed before any rule was chosen.  Changed
#: since: the length of a burst of transfers was taken from the addition in tiles of 128 x 2; that
#: FP32 matrices are seen to load, from the convolution; and adamw chose a pass of the older
#: interface's compiler.  Those three had been set aside and calibrate now.  Transpose_matmul, whose
#: loads were looked at first, validates: the number rests on documents and lies in a range whose
#: ends are the convolution's and a document's (at its ends this row is 2 % over and 8 % under).
TIMES = (
    _mamba("mamba v1", 256, 512, 172.93, True, 0.9871, 0.005),
    _mamba("mamba v1", 4096, 512, 2340.0, True, 0.9216, 5.0),
    _mamba("mamba v2", 4096, 512, 1610.0, True, 0.9963, 5.0),
    _mamba("mamba v3", 4096, 512, 1600.0),
    _mamba("mamba v3", 4096, 1024, 3300.0),
    _mamba("mamba v3", 4096, 2048, 6600.0),
    _mamba("mamba v3", 4096, 3072, 10100.0),
    _mamba("mamba v3", 4096, 4096, 13300.0),
    _mamba("mamba v3", 4096, 5120, 17300.0),
    _mamba("mamba v3", 4096, 6144, 19600.0),
    _mamba("mamba v3", 4096, 7168, 24200.0),
    _mamba("mamba v3", 4096, 8192, 27800.0, True, 0.9485),
    _course("add", (25600, 1, 1), (27404.0, 33554.0), True),
    _course("add", (25600, 128, 1), (206.0, 144.0), True),
    _course("add", (25600, 128, 2), (53.0, 52.0), True),
    _course("add", (25600, 128, 200), (19.0,), False, "two reports of 19"),
    _course("add", (256000, 128, 2000), (34.0, 33.2), True),
    _course("add", (256000, 128, 1000), (29.0, 29.6), False),
    _course("convolution", (256, 256, 224), (3681.0,), True, "FP32 loads are seen"),
    _bench("silu", (4096, 7168), 1333.232, True, 0.7388, 0.3148,
           "1 + x on Scalar, as the busy shares say"),
    _bench("adamw", (10944, 2048), 1999.829, True, 0.9002, 0.6162,
           "products with constants on Scalar, as the busy shares say; chose a pass, no time"),
    _bench("rope", (128, 64 * 4096), 4333.010, False, 0.7164, 0.1411,
           "that packets far apart cost more was seen here and in silu; how much, in silu"),
    _bench("bmm", (16, 4096, 64, 4096), 4610.889, True, 0.0, 0.3726,
           "lhs is loaded and turned once, as the bytes say; spills of 46 MB left out"),
    _bench("matmul", (4096, 5120, 12288), 35199.742, True, 0.0, 0.0680,
           "rhs is read again for each of 32 row blocks, as the bytes say"),
    _bench("transpose_matmul", (4096, 2048, 10944), 9610.311, False, 0.0, 0.0379),
    _bench("matmul_add_rmsnorm", (4096, 2048, 2048), 2666.580, False, 0.1242, 0.1679,
           "weights are loaded once; x is turned for each n, as nl.matmul documents"),
)  # fmt: skip


@dataclass(frozen=True, slots=True)
class Profile:
    """What ``neuron-profile`` says of one kernel in the older interface, unmodified.

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
            "loads and algebra: lhs loaded and transposed once, copies of two banks",
            12582912, 33816576),
    Profile("matmul", {"M": 4096, "K": 5120, "N": 12288}, 35199.742, 0.0, 0.0680, 9059762176,
            201326592, 390070272, 9069199360, 9437184, 141557760, True,
            "reloads: rhs is loaded again for each of 32 row blocks"),
    Profile("transpose_matmul", {"M": 4096, "K": 2048, "N": 10944}, 9610.311, 0.0, 0.0379,
            392167424, 179306496, 236978176, 393568256, 1400832, 46137344, False,
            "chose nothing: that FP32 matrices are seen to load is inferred from a convolution"),
    Profile("matmul_add_rmsnorm", {"M": 4096, "K": 2048, "N": 2048}, 2666.580, 0.1242, 0.1679,
            98115584, 33554432, 49029888, 99959168, 1318912, 10493952, False,
            "118 loads of weight tiles where 2 048 are written; 64 predicted (timing.rewrites)"),
)  # fmt: skip
