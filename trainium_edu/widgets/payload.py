"""The payload curve of a DMA, measured with the learner's own program."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import partial

import numpy as np

from trainium_edu.neuroncore.timing.bands import band_of
from trainium_edu.specs.signatures import checked
from trainium_edu.viz.payload import describe_payload, draw_payload
from trainium_edu.widgets.picture import Picture

__all__ = ["PayloadCurve", "payload_curve"]

_SIZES = tuple(4 << k for k in range(13))  # 4 B to 16 KiB
_ROWS = 128


@dataclass(frozen=True)
class PayloadCurve:
    """Rates against row length, in GB/s.

    Attributes
    ----------
    row_bytes : tuple of int
    alone, stream : tuple of float    one transfer, and many in flight
    low, high : tuple of float        the band of `stream`
    """

    row_bytes: tuple
    alone: tuple
    stream: tuple
    low: tuple
    high: tuple

    def knee(self, share: float = 0.9) -> int:
        """Return the shortest row from which the stream reaches that share of its best rate."""
        best = max(self.stream)
        rows = zip(self.row_bytes, self.stream, strict=True)
        return next(nbytes for nbytes, rate in rows if rate >= share * best)

    def __str__(self):
        head = f"{'bytes per row':>13} {'alone':>8} {'stream':>8}   GB/s (stream between)"
        rows = zip(self.row_bytes, self.alone, self.stream, self.low, self.high, strict=True)
        lines = [f"{b:13,} {a:8.1f} {s:8.1f}   ({x:.1f} and {y:.1f})" for b, a, s, x, y in rows]
        return "\n".join([head, *lines])

    def picture(self) -> Picture:
        """Return the curve with what is published beside it."""
        return Picture(partial(draw_payload, self), describe_payload(self))


@checked
def payload_curve(
    transfers: Callable, row_bytes: Sequence[int] = _SIZES, count: int = 64
) -> PayloadCurve:
    """Measure rates with a function that times transfers.

    Parameters
    ----------
    transfers : callable
        ``transfers(row_bytes, count)`` times `count` transfers of 128 rows: a CoreTimeline.
    row_bytes : sequence of int
    count : int
        How many are in flight in the stream.

    Returns
    -------
    PayloadCurve
    """
    alone = tuple(_ROWS * b / transfers(b, 1).makespan_ns for b in row_bytes)
    bands = [band_of(transfers(b, count)) for b in row_bytes]
    moved, ends = count * _ROWS * np.array(row_bytes), ("nominal_ns", "high_ns", "low_ns")
    rates = [tuple((moved / [getattr(band, e) for band in bands]).tolist()) for e in ends]
    return PayloadCurve(tuple(row_bytes), alone, *rates)
