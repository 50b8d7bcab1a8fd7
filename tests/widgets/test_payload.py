"""Judge: rates worked out by hand from given times, and the published points of the curve."""

from types import SimpleNamespace

import pytest

from trainium_edu.neuroncore import NeuronCore, measure
from trainium_edu.specs import TRN1
from trainium_edu.widgets import payload
from trainium_edu.widgets.payload import payload_curve


def test_rates_are_bytes_over_time(monkeypatch):
    monkeypatch.setattr(payload, "band_of", lambda timeline: timeline.band)

    def transfers(row_bytes, count):
        ns = 128 * count * row_bytes / 10 + 1000  # 10 GB/s and a microsecond
        return SimpleNamespace(
            makespan_ns=ns, band=SimpleNamespace(nominal_ns=ns, low_ns=ns / 2, high_ns=2 * ns)
        )

    curve = payload_curve(transfers, (1000, 100_000), count=10)
    assert curve.alone == pytest.approx((128_000 / 13_800, 12.8e6 / 1.281e6))
    assert curve.stream == pytest.approx((1.28e6 / 129e3, 128e6 / 12.801e6))
    assert curve.low == pytest.approx([r / 2 for r in curve.stream])
    assert (curve.high, curve.knee()) == (pytest.approx([r * 2 for r in curve.stream]), 1000)
    assert curve.knee(0.999) == 100_000
    assert "9.3      9.9   (5.0 and 19.8)" in str(curve)


def test_the_model_runs_through_what_is_published():
    def transfers(row_bytes, count):
        core = NeuronCore(values=False)
        for _ in range(count):
            part = core.hbm((128, 32768), "uint8").sliced(slice(0, 128), slice(0, row_bytes))
            core.dma_copy(dst=core.sbuf((128, row_bytes), "uint8"), src=part)
        return measure(core.program, buffers=8)

    curve = payload_curve(transfers, (256, 1024, 4096), count=3000)  # much longer than a burst
    low, high = (end / 1e9 for end in TRN1.dma.rate_sustained.value)
    assert curve.stream[1] == pytest.approx(176 / 403 * curve.stream[2], rel=0.05)  # the figure
    assert low <= curve.stream[2] <= high * 1.03
    width = [h / low for h, low in zip(curve.high, curve.low, strict=True)]
    assert width[0] > width[2]  # widest where no figure exists
    assert "1 KiB" in repr(curve.picture())
