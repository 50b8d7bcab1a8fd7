"""Judges: arithmetic on the printed figures, and the shapes of the scene."""

import numpy as np
import pytest

from tests.for_each import for_rows, raises
from tests.viz.programs import timed
from trainium_edu.neuroncore import NeuronCore, measure
from trainium_edu.viz import roofline


def test_roofs_are_those_of_the_data_sheet():
    found = {name: fact.value for name, fact in roofline.roofs().items()}
    assert found["HBM, a NeuronCore's share"] == 820e9 / 2
    assert found["DMA, sustained"] == 16 * 17e9
    assert found["Tensor Engine, BF16"] == 128 * 128 * 2 * 2.8e9
    assert found["Tensor Engine, FP32"] == 128 * 128 * 2 * 2.8e9 / 4
    assert found["Vector Engine"] == 128 * 1.12e9


def test_the_printed_ridge_is_kept_beside_what_follows_from_other_figures():
    found = {name: fact.value for name, fact in roofline.ridges().items()}
    assert found["printed"] == 222
    assert found["array and HBM"] == pytest.approx(91.75e12 / 410e9, rel=1e-3)
    assert found["chip peak and HBM"] == pytest.approx(190e12 / 820e9)
    assert found["array and DMA"] == pytest.approx(91.75e12 / 272e9, rel=1e-3)
    assert [str(f.kind) for f in roofline.ridges().values()] == ["documented", *["derived"] * 3]


def test_a_program_stands_at_its_work_per_byte_and_per_second():
    core = timed()
    point = roofline.point_of(core)
    flops = 6 * 2 * 128 * 128 * 512
    moved = 2 * (128 * 128 + 2 * 6 * 128 * 512)
    assert point.flop_per_byte == pytest.approx(flops / moved)
    assert point.flop_per_s == pytest.approx(flops / core.makespan_ns * 1e9)
    assert point.low_flop_per_s < point.flop_per_s < point.high_flop_per_s
    assert point.name == "gelu_linear"


def test_without_a_matmul_the_elements_written_count():
    core = NeuronCore(values=False, name="add")
    x, y = core.hbm((128, 256)), core.hbm((128, 256))
    tile = core.sbuf((128, 256))
    core.dma_copy(dst=tile, src=x)
    core.tensor_tensor(dst=tile, data1=tile, data2=tile, op="add")
    core.dma_copy(dst=y, src=tile)
    assert roofline.point_of(measure(core.program)).flop_per_byte == pytest.approx(
        128 * 256 / (2 * 4 * 128 * 256)
    )


def test_a_program_that_moves_nothing_has_no_place():
    core = NeuronCore(values=False, name="still")
    core.memset(dst=core.sbuf((128, 8)), value=0.0)
    raises(ValueError, "no place on a roofline", roofline.point_of, measure(core.program))


@for_rows("bad", 0.0, -1.0, float("nan"), float("inf"), True)
def test_a_point_needs_numbers_above_zero(bad):
    raises(TypeError if bad is True else ValueError, "logarithmic", roofline.Point, "x", bad, 1e9)


@for_rows("width", 320.0, 560.0, 890.0)
def test_points_bands_and_ridges_are_drawn(width):
    points = [
        roofline.Point("a", 0.1, 1e10, 8e9, 1.2e10),
        roofline.Point("b", 500.0, 6e13),
        roofline.Point("c", 480.0, 6e13),
    ]
    scene = roofline.draw_roofline(points, width=width)
    curves = {shape[-1]: shape[1:3] for shape in scene.shapes if shape[0] == "path"}
    roof, top = curves["HBM, a NeuronCore's share: 410 GB/s"], curves["Vector Engine"]
    (low, high), (y_low, y_high) = (roof[0][0], roof[0][-1]), (roof[1][0], top[1][0])
    climbed = 128 * 1.12e9 / (410e9 * 0.1 / 3)  # the axis begins at 0.1 / 3
    decade = (y_low - y_high) / np.log10(climbed)
    along = (high - low) / np.log10(6000 / (0.1 / 3))
    for p in points:
        x = low + along * np.log10(p.flop_per_byte / (0.1 / 3))
        y = y_high - decade * np.log10(p.flop_per_s / (128 * 1.12e9))
        assert any(
            kind == "rect" and np.allclose((left + 4, up + 4), (x, y), atol=1)
            for kind, left, up, *_ in scene.shapes
        ), p.name
    xs, ys = curves["a: from the band"]
    assert (ys[0] - ys[1], xs[0]) == pytest.approx((decade * np.log10(1.5), xs[1]), abs=0.3)
    ridge = next(s for s in scene.shapes if s[0] == "path" and s[-1] == "ridge")
    assert ridge[1][0] == pytest.approx(low + along * np.log10(222 / (0.1 / 3)), abs=0.3)
    texts = [shape[1:] for shape in scene.shapes if shape[0] == "text"]
    assert {"AWS prints 222;", "ours 223.8", "a", "b", "c"} <= {text[2] for text in texts}
    assert min(text[5] for text in texts) >= 11
    (x, y), (x2, y2) = (text[:2] for text in texts if text[2] in ("b", "c"))
    assert abs(x - x2) > 8 or abs(y - y2) > 12  # neither name stands on the other


def test_the_description_says_how_near_the_roof_each_is():
    said = roofline.describe_roofline([roofline.Point("a", 1.0, 2.05e11)])
    assert "a: 1 FLOP/byte, 0.205 TFLOP/s, 50 % of its roof (memory)" in said
    assert "printed 222" in said
