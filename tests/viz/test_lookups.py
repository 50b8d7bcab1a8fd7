"""Judge: the scene's shapes hold the paces given, and the facts that it marks."""

import numpy as np

from tests.for_each import for_rows
from trainium_edu.specs import TRN1
from trainium_edu.training.lookups import Pace
from trainium_edu.viz.lookups import describe_paces, draw_paces

PACES = [Pace(w, 2 * w, max(12.0, w / 60), w / 5000, (w / 6000, w / 4500, w / 4000))
         for w in (64, 128, 1024, 2048, 4096)]  # fmt: skip


@for_rows("width", 320.0, 560.0, 890.0)
def test_both_curves_hold_what_was_given_and_documented_sizes_are_marked(width):
    scene = draw_paces(PACES, width=width)
    texts = {
        shape[3]: np.array(shape[1:3]) - (0, 4) for shape in scene.shapes if shape[0] == "text"
    }
    curves = [(shape[-1], np.array(shape[1:3])) for shape in scene.shapes if shape[0] == "path"]
    (ns, percent), drawn = (
        [ys for name, (_, ys) in curves if name == "a lookup on our clock"],
        dict(curves),
    )
    decade = texts["10"][1] - texts["1"][1]
    for ys, given in (
        (ns, [p.ns_per_row for p in PACES]),
        (drawn["its bytes at the documented rate"][1], [p.row_bytes / 272 for p in PACES]),
    ):
        np.testing.assert_allclose(ys, texts["1"][1] + decade * np.log10(given), atol=0.2)
    zero, pixels = texts["0"][1], (texts["80"][1] - texts["0"][1]) / 80
    shares = {"descriptors": [100 * p.descriptors_alone[1] for p in PACES],
              "lookup": [100 * p.share for p in PACES]}  # fmt: skip
    ys = drawn["descriptors alone, from the facts"][1]
    np.testing.assert_allclose(ys, zero + pixels * np.array(shares["descriptors"]), atol=0.2)
    np.testing.assert_allclose(percent, zero + pixels * np.array(shares["lookup"]), atol=0.2)
    marks = {"very poor below": "very_poor_below_bytes", "good": "good_from_bytes",
             "best": "saturated_from_bytes"}  # fmt: skip
    xs = drawn["descriptors alone, from the facts"][0]
    for words, fact in marks.items():
        at = np.log2(float(getattr(TRN1.dma, fact)) / PACES[0].row_bytes) / 6
        assert abs(drawn[words][0][0] - (xs[0] + at * (xs[-1] - xs[0]))) < 0.2
    assert {"128 B", "2 KiB"} <= set(texts)
    assert min(shape[6] for shape in scene.shapes if shape[0] == "text") >= 11


def test_the_table_has_the_numbers():
    row = describe_paces(PACES).splitlines()[3].split()
    assert row == ["1,024", "2,048", "17.1", "20.5%"]
