"""The array's record: judged by the documented sizes."""

import dataclasses

import numpy as np
import pytest

from tests.for_each import for_each, raises
from tests.texts import table_beside
from trainium_edu.neuroncore import systolic_array
from trainium_edu.neuroncore.systolic_array import TRN1_ARRAY
from trainium_edu.neuroncore.systolic_array.operands import check_operands
from trainium_edu.specs import TRN1, NkiValidationError

SPACE = {name: getattr(systolic_array, name) for name in systolic_array.__all__}
SPACE |= {"np": np, "dataclasses": dataclasses, "NkiValidationError": NkiValidationError}
SPACE["check_operands"] = check_operands


def test_peak_of_the_array_is_the_documented_peak():
    assert TRN1_ARRAY.peak_flops == 128 * 128 * 2 * 2.8e9
    published = TRN1.tensor_engine.peak_flops.value
    assert TRN1_ARRAY.peak_flops == pytest.approx(published, rel=0.005)  # 91.75 and "92"


def test_array_follows_the_facts():
    assert (TRN1_ARRAY.rows, TRN1_ARRAY.columns, TRN1_ARRAY.load_speed) == (128, 128, 4)
    assert TRN1_ARRAY.background_load


@for_each("call, error, words", table_beside(__file__, "refused.toml")["calls"])
def test_what_cannot_be_is_refused(call, error, words):
    raises(eval(error, SPACE), words, eval, call, SPACE)
