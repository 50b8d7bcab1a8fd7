"""What happened, counted: the report of ``torch_xla.debug.metrics``.

A *metric* collects samples (times in ns, sizes); a *counter* counts.  The names are PyTorch/XLA's:
``xla::addmm`` counts an operation that was recorded, ``aten::nonzero`` one that fell back to the
host, ``UncachedCompile`` and ``CachedCompile`` the look-ups of graphs in memory.

Two clocks meet in one report: ``ExecuteTime`` is the time on the *emulated* chip, while
``CompileTime`` and the transfers are what they took *here*, on this computer.

One thing differs from the original, which rounds every part of a time instead of cutting it off:
it writes 3.948602 ms as ``004ms948.602us``, as the sums on AWS's own page show.  Here it is
``003ms948.602us``.

References: `aws-torch-debug`.
"""

import threading
import time
from collections import deque
from collections.abc import Callable, Collection, Mapping

from trainium_edu.specs.arguments import whole
from trainium_edu.specs.signatures import checked, checked_after

__all__ = [
    "PROCESS", "Metrics", "clear_all", "clear_counters", "clear_metrics", "counter_names",
    "counter_value", "metric_data", "metric_names", "metrics_report", "short_metrics_report",
]  # fmt: skip

#: how many samples a metric keeps; totals are of all
SAMPLES = 1024
PERCENTILES = (1, 5, 10, 20, 50, 80, 90, 95, 99)
#: metrics in bytes; those whose name ends in "Time" are in ns, the others plain numbers
BYTES = ("InboundData", "OutboundData")
SHORT_COUNTERS = ("CachedCompile", "MarkStep")
SHORT_METRICS = ("CompileTime", "ExecuteTime", "ExecuteReplicatedTime", "TransferToServerTime",
                 "TransferFromServerTime")  # fmt: skip


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
        """Count something."""
        with self._lock:
            self._counters[name] = self._counters.get(name, 0) + whole(by, "by")

    def count_all(self, counts: Mapping[str, int]) -> None:
        """Count several things, each so many times."""
        with self._lock:
            for name, by in counts.items():
                self._counters[name] = self._counters.get(name, 0) + by

    def counter_names(self) -> list[str]:
        """Return the counters that have counted."""
        return sorted(self._counters)

    @checked
    def counter_value(self, name: str) -> int | None:
        """Return a counter's value, or None if it never counted."""
        return self._counters.get(name)

    def metric_names(self) -> list[str]:
        """Return the metrics that have samples."""
        return sorted(self._metrics)

    @checked
    def metric_data(self, name: str) -> tuple[int, float, tuple[tuple[int, float], ...]] | None:
        """Return a metric's samples.

        Returns
        -------
        total : int
            Of all samples ever taken.
        accumulator : float
            Their sum.
        samples : tuple of (time in ns, value)
            The latest 1024.
        """
        metric = self._metrics.get(name)
        if metric is None:
            return None
        return metric.total, metric.accumulator, tuple(metric.samples)

    def clear_metrics(self) -> None:
        """Forget all samples."""
        with self._lock:
            self._metrics.clear()

    def clear_counters(self) -> None:
        """Forget all counts."""
        with self._lock:
            self._counters.clear()

    @checked
    def report(
        self, counters: Collection[str] | None = None, metrics: Collection[str] | None = None
    ) -> str:
        """Return the report as text; only of the names given that there are, if some are given."""
        with self._lock:
            lines: list[str] = []
            for name in sorted(self._metrics):
                if metrics is None or name in metrics:
                    lines += _metric_lines(name, self._metrics[name])
            for name in sorted(self._counters):
                if counters is None or name in counters:
                    lines += [f"Counter: {name}", f"  Value: {self._counters[name]}"]
        return "".join(f"{line}\n" for line in lines)


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


def clear_all() -> None:
    """Forget samples and counts of this process."""
    clear_metrics()
    clear_counters()
