"""Judges: ml_dtypes.finfo for where bars end, the list of all values for code points."""

import ml_dtypes
import numpy as np
import pytest

from tests.for_each import for_rows
from trainium_edu.numerics import all_values, configure
from trainium_edu.viz.formats import (
    colour_of,
    draw_code_points,
    draw_range_precision,
    label_of,
    raised,
)
from trainium_edu.viz.scene import linear


def test_bars_reach_from_the_smallest_to_the_largest_number():
    scene = draw_range_precision(["bf16", "fp16", "fp8_e4m3"], width=960)
    to_x = linear(-48, 42, 46, 946)
    for name, dtype in (("bf16", ml_dtypes.bfloat16), ("fp16", np.float16)):
        info = ml_dtypes.finfo(dtype)
        solid, outline = (
            [s for s in scene.shapes if s[0] == "rect" and s[5] == colour_of(name) and s[7] is o]
            for o in (False, True)
        )
        ((_, x, _y, width, *_),) = solid
        assert x == pytest.approx(to_x(np.log10(float(info.smallest_normal))), abs=0.2)
        assert x + width == pytest.approx(to_x(np.log10(float(info.max))), abs=0.2)
        assert outline[0][1] == pytest.approx(
            to_x(np.log10(float(info.smallest_subnormal))), abs=0.2
        )


def test_more_precision_stands_higher():
    scene = draw_range_precision(["fp32", "bf16", "fp8_e5m2"])
    tops = {s[5]: s[2] for s in scene.shapes if s[0] == "rect" and not s[7]}
    assert tops[colour_of("fp32")] < tops[colour_of("bf16")] < tops[colour_of("fp8_e5m2")]
    assert "FP32: 24 significant bits" in scene.alt


def test_the_histogram_counts_every_value_once():
    values = np.array([1e-3, 1e-3, 1.0, 0.0])
    scene = draw_range_precision(["bf16"], values=values, label="four")
    bars = [s for s in scene.shapes if s[0] == "rect" and s[5] == "muted"]
    assert (len(bars), bars[0][4]) == (2, pytest.approx(2 * bars[1][4], abs=0.2))
    assert any("1 zeros not drawn" in str(s[3]) for s in scene.shapes if s[0] == "text")


@for_rows(
    "fmt", "fp8_e5m2", "fp8_e4m3fn", configure(1, 6), configure(6, 1, bias=40, infinities=False)
)
def test_every_positive_number_is_one_line(fmt):
    scene = draw_code_points(fmt)
    lines = [x for s in scene.shapes if s[0] == "ticks" and s[4] == "#0072B2" for x in s[1]]
    assert len(lines) == (all_values(fmt) > 0).sum()
    assert max(lines) <= scene.width


def test_names_as_people_write_them():
    assert [label_of(n) for n in ("bf16", "fp8_e4m3fn", "int8")] == ["BF16", "FP8 E4M3 FN", "INT8"]
    assert label_of(configure(4, 3, bias=9)) == "cfp8_e4m3_bias9"
    assert raised(-12) == "⁻¹²"
