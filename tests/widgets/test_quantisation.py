"""Judges: ml_dtypes' casts on the same arrays."""

import json

import ml_dtypes
import numpy as np

from tests.for_each import for_each, raises
from tests.widgets.page import send
from trainium_edu.training.samples import SAMPLES, sample
from trainium_edu.widgets.quantisation import quantise_explorer


def _row(explorer, name):
    table = explorer.page["table"]
    row = next(r["cells"] for r in table["rows"] if r["cells"][0] == name)
    return dict(zip(table["head"], row, strict=True))


def test_the_error_of_real_weights_is_that_of_another_library():
    explorer = quantise_explorer("weights", "bf16")
    x = sample("weights").astype(np.float64)
    kept = sample("weights").astype(ml_dtypes.bfloat16).astype(np.float64)
    ratio = 10 * np.log10((x**2).sum() / ((x - kept) ** 2).sum())
    assert _row(explorer, "BF16")["SNR in dB"] == f"{ratio:.1f}"
    assert f"**{ratio:.1f} dB**" in explorer.page["said"][0]


@for_each("data", list(SAMPLES))
def test_every_array_in_every_format_can_be_shown(data):
    explorer = quantise_explorer(data)
    for fmt in ("tf32", "int8", "fp8_e3m4"):
        for power, infinity in ((-20, False), (20, True)):
            explorer.set(format=fmt, power=power, infinity=infinity)
            json.dumps(explorer.page, allow_nan=False)
            assert len(explorer.page["scene"]["images"]) == 3


def test_fit_leaves_nothing_too_large_and_one_more_step_does():
    explorer = quantise_explorer("weights", "fp8_e4m3")
    send(explorer, {"press": "fit"})
    assert _row(explorer, "FP8 E4M3")["too large"] == "0"
    explorer.set(power=explorer.values["power"] + 1)
    assert _row(explorer, "FP8 E4M3")["too large"] != "0"


def test_no_such_data():
    raises(ValueError, "data is", quantise_explorer, "cats")
