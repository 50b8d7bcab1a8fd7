"""Judges: arithmetic on the printed figures, and the artists of the figure."""

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
    raises(ValueError, "logarithmic", roofline.Point, "x", bad, 1e9)


def test_points_bands_and_ridges_are_drawn():
    points = [roofline.Point("a", 0.1, 1e10, 8e9, 1.2e10), roofline.Point("b", 500.0, 6e13)]
    ax = roofline.plot_roofline(points).axes[0]
    assert (ax.get_xscale(), ax.get_yscale()) == ("log", "log")
    drawn = {(round(float(x), 6), round(float(y), 3)) for line in ax.lines
             for x, y in zip(line.get_xdata(), line.get_ydata(), strict=True)}  # fmt: skip
    for p in points:
        assert (round(p.flop_per_byte, 6), round(p.flop_per_s, 3)) in drawn
    assert (0.1, 8e9) in drawn
    assert any(np.allclose(line.get_xdata(), 222) for line in ax.lines)
    texts = " ".join(t.get_text() for t in ax.texts)
    assert "AWS prints 222" in texts
    assert "ours 223.8" in texts
    assert {"a", "b"} <= {t.get_text() for t in ax.texts}


def test_the_description_says_how_near_the_roof_each_is():
    said = roofline.describe_roofline([roofline.Point("a", 1.0, 2.05e11)])
    assert "a: 1 FLOP/byte, 0.205 TFLOP/s, 50 % of its roof (memory)" in said
    assert "printed 222" in said
