"""Judges: ml_dtypes.finfo, counts on the arrays themselves."""

import json

import ml_dtypes
import numpy as np

from tests.for_each import for_each, for_rows, raises
from trainium_edu.numerics import all_values
from trainium_edu.training.samples import sample
from trainium_edu.widgets.formats import cfp8, cfp8_explorer, range_explorer


def _row(sketch, name):
    table = sketch.page["table"]
    row = next(r["cells"] for r in table["rows"] if r["cells"][0].startswith(name))
    return dict(zip(table["head"], row, strict=True))


def test_losses_of_real_gradients_are_those_of_numpy():
    explorer = range_explorer("gradients")
    x = sample("gradients")
    for power in (0, 10, -10):
        explorer.set(power=power)
        half = np.ldexp(x, power).astype(np.float16)
        row = _row(explorer, "FP16")
        assert int(row["become zero"]) == ((x != 0) & (half == 0)).sum()
        tiny = (half != 0) & (np.abs(half) < np.finfo(np.float16).smallest_normal)
        assert int(row["subnormal"]) == tiny.sum()
        json.dumps(explorer.page, allow_nan=False)


def test_every_data_set_can_be_shown():
    explorer = range_explorer("none")
    assert explorer.page["said"] == []
    for data in ("weights", "activations", "photo"):
        explorer.set(data=data)
        assert data in explorer.page["said"][0]


@for_each("exponent", range(1, 7))
@for_each("shift", [-16, 0, 16])
@for_each(("infinities", "nan"), [(True, True), (False, True), (False, False)])
def test_every_position_of_the_sliders_is_a_format(exponent, shift, infinities, nan):
    explorer = cfp8_explorer("none")
    explorer.set(exponent=exponent, shift=shift, infinities=infinities, nan=nan)
    fmt = cfp8(exponent, shift, infinities=infinities, nan=nan)
    assert int(_row(explorer, "1-")["finite numbers"]) == all_values(fmt).size
    json.dumps(explorer.page, allow_nan=False)


def test_the_standard_split_is_ml_dtypes_e4m3():
    info = ml_dtypes.finfo(ml_dtypes.float8_e4m3)
    fmt = cfp8(4)
    assert (fmt.max, fmt.smallest_normal) == (float(info.max), float(info.smallest_normal))
    row = _row(cfp8_explorer(), "1-4-3")
    assert (row["largest"], row["ulp at 1"]) == ("240", "0.125")
    assert row["other codes"] == "2 ∞, 14 NaN"


@for_rows("bad", 0, 7, True, "4", 2.5)
def test_impossible_splits_are_refused(bad):
    raises((TypeError, ValueError), "exponent_bits is", cfp8, bad)
    for explorer in (range_explorer, cfp8_explorer):
        raises(ValueError, "data is", explorer, "cats")
