"""Device times that AWS published for three kernels on this generation, beside our predictions.

The kernels are ``examples.selective_scan``'s, which issue what the tutorial's issue.  Rows whose
figures helped to choose a rule of the model are *calibration*: that they agree proves nothing.
The tutorial's pictures show what its figures mean, and ours are formed alike: the device time has
a kernel's start and stop in it (18 to 19 us in others' traces), and Vector's busy share is that of
the *core execution period*, from its first instruction on data to its last.
"""

from dataclasses import dataclass

import numpy as np

from trainium_edu.specs import TRN1

__all__ = ["ROWS", "Row", "device_ns", "mamba_table", "predict", "vector_share"]


@dataclass(frozen=True, slots=True)
class Row:
    """One published time."""

    version: str  #: "v1", "v2" or "v3" of the tutorial
    channels: int
    length: int  #: of the sequence
    published_ns: float
    vector_busy: float | None = None  #: published share of the core execution period
    calibration: bool = False  #: it helped to choose a rule

    def __str__(self):
        return f"{self.version}, {self.channels} x {self.length}"


def _rows():
    seen = TRN1.measured
    small = float(seen.mamba_v1_small_vector_busy)
    yield Row("v1", 256, 512, float(seen.mamba_v1_small_ns), small, True)
    yield Row("v1", 4096, 512, float(seen.mamba_v1_ns), float(seen.mamba_v1_vector_busy), True)
    yield Row("v2", 4096, 512, float(seen.mamba_v2_ns), float(seen.mamba_v2_vector_busy), True)
    for length, ns in seen.mamba_v3_ns.value:
        last = length == 8192
        busy = float(seen.mamba_v3_8192_vector_busy) if last else None
        yield Row("v3", 4096, length, float(ns), busy, last)


#: The twelve rows that do not spill; batch 1, state size 16.
ROWS = tuple(_rows())


def predict(row: Row, *, buffers=None):
    """Run a row's kernel without values and return its CoreTimeline."""
    from trainium_edu.nki.examples import selective_scan
    from trainium_edu.nki.kernel import run

    kernel = {
        "v1": selective_scan.reload, "v2": selective_scan.hoisted, "v3": selective_scan.tiled,
    }[row.version]  # fmt: skip
    states = 16
    wide, deep = (1, row.channels, row.length), (1, states, row.length)
    arrays = [np.zeros(s, np.float32) for s in (wide, wide, (row.channels, states), deep, deep)]
    return run(kernel, *arrays, values=False, buffers=buffers).timeline


def device_ns(makespan_ns: float) -> float:
    """Return a device time: a kernel's makespan with its start and stop, in ns."""
    return makespan_ns + sum(TRN1.measured.start_and_stop_ns.value) / 2


def vector_share(timeline) -> float:
    """Return the share of the core execution period in which the Vector Engine was busy.

    Parameters
    ----------
    timeline : CoreTimeline
        The period goes from Vector's first instruction that reads something (clearing a tile
        needs no data) to the end of its last.
    """
    rows = timeline.rows_on("vector")
    names = [timeline.instruction(row).name for row in rows]
    first = next(i for i, name in enumerate(names) if name != "memset")
    start, end = timeline.start_ns[rows[first:]], timeline.end_ns[rows[first:]]
    return float((end - start).sum() / (end.max() - start[0]))


def mamba_table(rows=None) -> str:
    """Return published and predicted times as text.

    Parameters
    ----------
    rows : iterable of Row, optional
        Default: the four with the fewest instructions; ``ROWS`` for all twelve (half a minute).

    Returns
    -------
    str
    """
    rows = [r for r in ROWS if r.length == 512] if rows is None else list(rows)
    lines = [
        f"{'kernel, channels x length':<26} {'published':>10} {'predicted':>10} {'':>7}"
        f" {'Vector busy':>18}"
    ]
    for row in rows:
        found = predict(row)
        ours, busy = device_ns(found.makespan_ns), vector_share(found)
        printed = f"{row.vector_busy:.1%}" if row.vector_busy else "-"
        lines.append(
            f"{row!s:<26} {row.published_ns / 1e3:>7.0f} us {ours / 1e3:>7.0f} us"
            f" {ours / row.published_ns - 1:>+7.1%} {printed:>8} / {busy:<7.1%}"
            + (" calibration" if row.calibration else "")
        )
    return "\n".join(lines)
