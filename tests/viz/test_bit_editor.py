"""Judge: the bits themselves."""

import pytest

from trainium_edu.numerics.anatomy import dissect
from trainium_edu.viz.bit_editor import plot_bits


@pytest.mark.parametrize(("code", "name"), [(0x4150, "bf16"), (200, "int8"), (7, "uint8")])
def test_one_box_per_bit_in_order(code, name):
    parts = dissect(code, name)
    (ax,) = plot_bits(parts).axes
    boxes = sorted(ax.patches, key=lambda box: box.get_x())
    assert "".join("1" if box.get_facecolor()[3] else "0" for box in boxes) == (
        f"{code:0{parts.fmt.bits}b}"
    )
    digits = "".join(t.get_text() for t in ax.texts if t.get_text() in "01")
    assert digits == f"{code:0{parts.fmt.bits}b}"
