"""What happened, counted: the report of ``torch_xla.debug.metrics``.

A *metric* collects samples (times in ns, sizes); a *counter* counts.  The names are PyTorch/XLA's:

- ``xla::addmm`` counts an operation that was recorded, ``aten::nonzero`` one that fell back to the
  host, ``aten::_local_scalar_dense`` a value that Python asked for (``.item()``, ``if loss > 1``);
- ``UncachedCompile`` and ``CachedCompile`` count look-ups of graphs in memory. ``CompileTime`` has
  a sample of each of the former, also where a program came from disk (``PersistentCacheHit``);
- ``TransferToDeviceTime`` and ``OutboundData`` are of copies to the chip,
  ``TransferFromDeviceTime`` and ``InboundData`` of copies back (older: ``TransferToServerTime``);
- ``CreateXlaTensor`` and ``DestroyXlaTensor`` count tensors of a PyTorch script,
  ``DeviceDataCacheMiss`` Python's numbers that were sent for the first time,
  ``InputOutputAliasCount`` inputs whose bytes outputs take.

Two clocks meet in one report: ``ExecuteTime``, and transfers of a PyTorch script, are times of the
*emulated* machine. ``CompileTime``, and transfers of ``trainium_edu.xla``, are measured *here*.

One thing differs from the original, which rounds every part of a time instead of cutting it off:
it writes 3.948602 ms as ``004ms948.602us``, as the sums on AWS's own page show.  Here it is
``003ms948.602us``.  Left out are times of its own machinery, such as ``DeviceLockWait``.

References: `aws-torch-debug`, `pytorch-xla`.
"""

import threading
import time
from collections import deque
from collections.abc import Callable, Collection, Iterator, Mapping

from trainium_edu.specs.arguments import whole
from trainium_edu.specs.signatures import checked, checked_after

__all__ = [
    "ASKED", "PROCESS", "Metrics", "clear_all", "clear_counters", "clear_metrics", "counter_names",
    "counter_value", "executed_fallback_ops", "metric_data", "metric_names", "metrics_report",
    "short_metrics_report",
]  # fmt: skip

#: how many samples a metric keeps; totals are of all
SAMPLES = 1024
PERCENTILES = (1, 5, 10, 20, 50, 80, 90, 95, 99)
#: metrics in bytes; those whose name ends in "Time" are in ns, the others plain numbers
BYTES = ("InboundData", "OutboundData")
SHORT_COUNTERS = ("CachedCompile", "MarkStep")
SHORT_METRICS = ("CompileTime", "ExecuteTime", "ExecuteReplicatedTime", "TransferToDeviceTime",
                 "TransferFromDeviceTime")  # fmt: skip
#: values that Python asked for: counted as what ran on the host, and no operation without a row
ASKED = ("aten::_local_scalar_dense", "aten::equal")
#: metrics of which PyTorch/XLA's debugging tool tells: most samples a step, first steps left out
_MOST_A_STEP = {"CompileTime": (0.5, 10), "TransferFromDeviceTime": (0.5, 0)}
_MOST_NS = {"CompileTime": 300e9, "ExecuteTime": 30e9}


class _Metric:
    """The samples of one name."""

    def __init__(self):
        self.total, self.accumulator = 0, 0.0
        self.samples: deque[tuple[int, float]] = deque(maxlen=SAMPLES)


class Metrics:
    """The metrics and counters of one device, or of one process.

    Parameters
    ----------
    clock : callable () -> int
        When a sample was taken, in ns; rates per second are by this clock.

    Examples
    --------
    >>> metrics = Metrics(clock=lambda: 0)
    >>> metrics.add("TensorsGraphSize", 9)
    >>> metrics.count("xla::addmm")
    >>> metrics.counter_value("xla::addmm")
    1
    >>> print(metrics.report().splitlines()[2])
      Accumulator: 9.00
    """

    def __init__(self, clock: Callable[[], int] = time.monotonic_ns):
        self._clock, self._lock = clock, threading.Lock()
        self._metrics: dict[str, _Metric] = {}
        self._counters: dict[str, int] = {}
        self.gather: Callable[[], None] = lambda: None  #: adds, before a reading, what is uncounted

    def __repr__(self):
        return f"Metrics({len(self._metrics)} metrics, {len(self._counters)} counters)"

    @checked_after
    def add(self, name: str, value: float) -> None:
        """Add a sample to a metric, in ns if its name ends in "Time"."""
        with self._lock:
            metric = self._metrics.setdefault(name, _Metric())
            metric.total += 1
            metric.accumulator += value
            metric.samples.append((self._clock(), value))

    @checked_after
    def count(self, name: str, by: int = 1) -> None:
        """Add to a counter."""
        with self._lock:
            self._counters[name] = self._counters.get(name, 0) + whole(by, "by")

    def tick(self, name: str, by: int = 1) -> None:
        """Count without the lock, for what happens many times a step, and while it is held."""
        self._counters[name] = self._counters.get(name, 0) + whole(by, "by")

    def transferred(self, direction: str, ns: float, nbytes: int) -> None:
        """Count a copy "to" the chip or "from" it."""
        self.add(f"Transfer{direction.title()}DeviceTime", ns)
        self.add("OutboundData" if direction == "to" else "InboundData", nbytes)

    def count_all(self, counts: Mapping[str, int]) -> None:
        """Add to several counters at once."""
        with self._lock:
            for name, by in counts.items():
                self._counters[name] = self._counters.get(name, 0) + by

    def counter_names(self) -> list[str]:
        """Return the counters that have counted."""
        self.gather()
        return sorted(self._counters)

    @checked
    def counter_value(self, name: str) -> int | None:
        """Return a counter's value, or None if it never counted."""
        self.gather()
        return self._counters.get(name)

    def metric_names(self) -> list[str]:
        """Return the metrics that have samples."""
        return sorted(self._metrics)

    @checked
    def metric_data(self, name: str) -> tuple[int, float, tuple[tuple[float, float], ...]] | None:
        """Return a metric's samples.

        Returns
        -------
        total : int
            Of all samples ever taken.
        accumulator : float
            Their sum.
        samples : tuple of (time in seconds, value)
            The latest 1024.
        """
        metric = self._metrics.get(_newer(name))
        if metric is None:
            return None
        samples = tuple((when / 1e9, value) for when, value in metric.samples)
        return metric.total, metric.accumulator, samples

    def clear_metrics(self) -> None:
        """Forget all samples."""
        with self._lock:
            self._metrics.clear()

    def clear_counters(self) -> None:
        """Forget all counts."""
        self.gather()
        with self._lock:
            self._counters.clear()

    @checked
    def report(
        self, counters: Collection[str] | None = None, metrics: Collection[str] | None = None
    ) -> str:
        """Return the report as text: of all, or of the names given and of what fell back."""
        self.gather()
        with self._lock:
            lines: list[str] = []
            wanted = None if metrics is None else {_newer(name) for name in metrics}
            for name in sorted(self._metrics):
                if wanted is None or name in wanted:
                    lines += _metric_lines(name, self._metrics[name])
            for name in sorted(self._counters):
                if counters is None or name in counters or name.startswith("aten::"):
                    lines += [f"Counter: {name}", f"  Value: {self._counters[name]}"]
        return "".join(f"{line}\n" for line in lines)

    def fallbacks(self) -> list[str]:
        """Return the operations that ran on the host, ``aten::_local_scalar_dense`` among them."""
        return [name for name in sorted(self._counters) if name.startswith("aten::")]

    def analysis(self) -> Iterator[str]:
        """Yield what PyTorch/XLA's debugging tool says of these numbers (``PT_XLA_DEBUG=1``)."""
        steps = self._counters.get("MarkStep", 0)
        for name, (most, first) in _MOST_A_STEP.items():
            count = self._metrics[name].total if name in self._metrics else 0
            if steps > first and count / steps > most:
                yield f"pt-xla-profiler: {name} too frequent: {count} counts during {steps} steps"
        for name, most in _MOST_NS.items():
            samples = self._metrics[name].samples if name in self._metrics else ()
            slowest = max((value for _, value in samples), default=0.0)
            if slowest > most:
                took = time_text(slowest)
                yield f"pt-xla-profiler: {name} too slow: longest instance took {took}"
        missing = [name for name in self.fallbacks() if name not in ASKED]
        if missing:
            yield f"pt-xla-profiler: Op(s) not lowered: {', '.join(missing)}"


def _newer(name: str) -> str:
    """Return a metric's name in PyTorch/XLA since 2.3, which names no server."""
    return name.replace("ServerTime", "DeviceTime")


def _metric_lines(name, metric) -> list[str]:
    """Return the lines of one metric, as PyTorch/XLA lays them out."""
    write = _writer(name)
    values = sorted(value for _, value in metric.samples)
    lines = [
        f"Metric: {name}",
        f"  TotalSamples: {metric.total}",
        f"  Accumulator: {write(metric.accumulator)}",
    ]
    seconds = (metric.samples[-1][0] - metric.samples[0][0]) / 1e9
    if seconds > 0:
        lines += [
            f"  ValueRate: {write(sum(values) / seconds)} / second",
            f"  Rate: {len(values) / seconds:g} / second",
        ]
    shown = [f"{p}%={write(values[p * len(values) // 100])}" for p in PERCENTILES]
    return [*lines, f"  Percentiles: {'; '.join(shown)}"]


def _writer(name) -> Callable[[float], str]:
    if name.endswith("Time"):
        return time_text
    return _bytes_text if name in BYTES else "{:.2f}".format


def time_text(ns: float) -> str:
    """Write a time as PyTorch/XLA does.

    Examples
    --------
    >>> time_text(9_969_486_408), time_text(62_970)
    ('09s969ms486.408us', '062.970us')
    """
    rest, text = round(ns), ""
    for name, size, width in (
        ("d", 86_400 * 10**9, 2), ("h", 3_600 * 10**9, 2), ("m", 60 * 10**9, 2),
        ("s", 10**9, 2), ("ms", 10**6, 3),
    ):  # fmt: skip
        part, rest = divmod(rest, size)
        if part or text:
            text += f"{part:0{width}}{name}"
    return f"{text}{rest / 1000:07.3f}us"


def _bytes_text(value: float) -> str:
    for suffix in ("B", "KB", "MB", "GB", "TB"):
        if value < 1024:
            return f"{value:.2f}{suffix}"
        value /= 1024
    return f"{value:.2f}PB"


#: of this process: what the functions below report, as those of ``torch_xla.debug.metrics`` do
PROCESS = Metrics()


def metrics_report() -> str:
    """Return the report of this process."""
    return PROCESS.report()


def short_metrics_report(
    counter_names: Collection[str] | None = None, metric_names: Collection[str] | None = None
) -> str:
    """Return the report of a few names: by default compiles, executions, transfers, steps."""
    return PROCESS.report(counter_names or SHORT_COUNTERS, metric_names or SHORT_METRICS)


counter_names, counter_value = PROCESS.counter_names, PROCESS.counter_value
metric_names, metric_data = PROCESS.metric_names, PROCESS.metric_data
clear_counters, clear_metrics = PROCESS.clear_counters, PROCESS.clear_metrics
executed_fallback_ops = PROCESS.fallbacks


def clear_all() -> None:
    """Forget samples and counts of this process."""
    clear_metrics()
    clear_counters()
