"""Device times that AWS published for three kernels on this generation, beside our predictions.

The kernels are ``examples.selective_scan``'s, which issue what the tutorial's issue.  Rows whose
busy times helped to choose a rule of the model are *calibration*: that they agree proves nothing.
The start and stop of a kernel (18 to 19 us, measured by others) is not in the predictions; whether
it is in the published times is not said.
"""

from dataclasses import dataclass

import numpy as np

from trainium_edu.specs import TRN1

__all__ = ["ROWS", "Row", "mamba_table", "predict"]


@dataclass(frozen=True, slots=True)
class Row:
    """One published time."""

    version: str  #: "v1", "v2" or "v3" of the tutorial
    channels: int
    length: int  #: of the sequence
    published_ns: float
    vector_busy: float | None = None  #: published share of the time in which Vector was busy
    calibration: bool = False  #: it helped to choose a rule

    def __str__(self):
        return f"{self.version}, {self.channels} x {self.length}"


def _rows():
    seen = TRN1.measured
    yield Row("v1", 256, 512, float(seen.mamba_v1_small_ns), float(seen.mamba_v1_small_vector_busy))
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
        ours, busy = found.makespan_ns, found.busy_ns("vector") / found.makespan_ns
        printed = f"{row.vector_busy:.1%}" if row.vector_busy else "-"
        lines.append(
            f"{row!s:<26} {row.published_ns / 1e3:>7.0f} us {ours / 1e3:>7.0f} us"
            f" {ours / row.published_ns - 1:>+7.1%} {printed:>8} / {busy:<7.1%}"
            + (" calibration" if row.calibration else "")
        )
    return "\n".join(lines)
