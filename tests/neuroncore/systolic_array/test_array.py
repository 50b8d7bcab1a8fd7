"""The array's record: judged by the documented sizes."""

import dataclasses

import pytest

from tests.for_each import for_rows, raises
from trainium_edu.neuroncore.systolic_array import TRN1_ARRAY, SystolicArray
from trainium_edu.specs import TRN1, NkiValidationError


def test_peak_of_the_array_is_the_documented_peak():
    assert TRN1_ARRAY.peak_flops == 128 * 128 * 2 * 2.8e9
    assert TRN1_ARRAY.peak_flops == pytest.approx(
        TRN1.tensor_engine.peak_flops.value, rel=0.005
    )  # 91.75 and "92"


def test_array_follows_the_facts():
    assert (TRN1_ARRAY.rows, TRN1_ARRAY.columns, TRN1_ARRAY.load_speed) == (128, 128, 4)
    assert TRN1_ARRAY.background_load


@for_rows(
    "change, error, says", ({"rows": 129}, NkiValidationError, "128"),
    ({"columns": 200}, NkiValidationError, "128"), ({"rows": 0}, ValueError, "from 1 to"),
    ({"columns": -4}, ValueError, "from 1 to"), ({"rows": 4.0}, TypeError, "must be an integer"),
    ({"rows": True}, TypeError, "must be an integer"), ({"load_speed": 10**9}, ValueError, "128"),
    ({"min_issue_cycles": 10**9}, ValueError, "cycles"),
    ({"background_load": 1}, TypeError, "True or False"),
    ({"clock_hz": float("nan")}, ValueError, "positive"),
    ({"clock_hz": -1.0}, ValueError, "positive"),
)  # fmt: skip
def test_impossible_arrays_are_refused(change, error, says):
    raises(error, says, dataclasses.replace, SystolicArray(4, 4), **change)
