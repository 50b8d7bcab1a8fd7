"""Judge: the figure's own artists, and the facts that it quotes."""

import numpy as np

from trainium_edu.specs import TRN1
from trainium_edu.viz.payload import describe_payload, plot_payload

SIZES = [4 << k for k in range(15)]


def test_every_rate_is_drawn_with_what_is_published():
    stream = np.linspace(1, 272, len(SIZES))
    (ax,) = plot_payload(SIZES, stream / 2, stream, stream * 0.9, stream * 1.1).axes
    drawn = {tuple(np.round(line.get_ydata(), 6)) for line in ax.lines}
    assert tuple(np.round(stream, 6)) in drawn
    assert tuple(np.round(stream / 2, 6)) in drawn
    texts = " ".join(t.get_text() for t in ax.texts)
    assert f"{float(TRN1.dma.bytes_per_s) / 1e9:.0f} GB/s sustained" in texts
    assert "about 100" in texts
    assert "about 256" in texts  # 250 to 263 in profiled kernels
    assert ax.get_ylim()[0] == 0


def test_the_description_has_the_numbers():
    assert describe_payload([64, 4096], [6.5, 271.6]).endswith("64 B: 6, 4 KiB: 272")
