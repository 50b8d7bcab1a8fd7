"""Judge: the places of the scene's shapes, and the facts that it quotes."""

import numpy as np

from tests.for_each import for_rows
from trainium_edu.specs import TRN1
from trainium_edu.viz.payload import describe_payload, draw_payload
from trainium_edu.widgets.payload import PayloadCurve

SIZES = [4 << k for k in range(15)]


@for_rows("width", 320.0, 560.0, 890.0)
def test_every_rate_is_drawn_with_what_is_published(width):
    stream = np.linspace(1, 272, len(SIZES))
    curve = PayloadCurve(SIZES, stream / 2, stream, stream * 0.9, stream * 1.1)
    scene = draw_payload(curve, width=width)
    texts = {shape[3]: shape[2] for shape in scene.shapes if shape[0] == "text"}
    curves = {shape[-1]: shape[2] for shape in scene.shapes if shape[0] == "path"}
    for name, rates in (("many in flight", stream), ("one alone", stream / 2)):
        drawn = (texts["0"] - 4 - np.array(curves[name])) / (texts["0"] - texts["200"]) * 200
        np.testing.assert_allclose(drawn, rates, atol=0.2)
    (band,) = (shape[2] for shape in scene.shapes if shape[0] == "area")
    np.testing.assert_allclose(
        np.subtract(band[: len(SIZES)], band[: len(SIZES) - 1 : -1]),
        stream * 0.2 * (texts["0"] - texts["200"]) / 200,
        atol=0.2,
    )
    marks = [shape[2] + 5.5 for shape in scene.shapes if shape[0] == "rect" and shape[3] == 11]
    rates = (texts["0"] - 4 - np.array(marks)) / (texts["0"] - texts["200"]) * 200
    np.testing.assert_allclose(rates, [100, 256.5], atol=0.3)  # 250 to 263 in profiled kernels
    said = " ".join(texts)
    assert f"{float(TRN1.dma.bytes_per_s) / 1e9:.0f} GB/s sustained" in said
    assert "about 100" in said
    assert "about 256" in said
    assert min(shape[6] for shape in scene.shapes if shape[0] == "text") >= 11


def test_the_description_has_the_numbers():
    curve = PayloadCurve([64, 4096], [], [6.5, 271.6], [], [])
    assert describe_payload(curve).endswith("64 B: 6, 4 KiB: 272")
