"""What numerics refuses, each in one sentence.  Judge: the sentences of refused.toml."""

import builtins
from math import inf, nan

import numpy as np

from tests.for_each import for_each, raises
from tests.texts import table_beside
from trainium_edu import numerics
from trainium_edu.numerics import codes, formats, gaps, quantisation, random_bits, rounding

ONE, BAD = np.float32([1.0]), np.float32([1.0, 2.0])
SPACE = {"np": np, "inf": inf, "nan": nan, "ONE": ONE, "BAD": BAD,
         "MASKED": np.ma.array([1.0, 2.0], mask=[False, True])}  # fmt: skip
for module in (codes, formats, gaps, quantisation, random_bits, rounding, numerics):
    SPACE |= {name: getattr(module, name) for name in module.__all__}


@for_each(
    "call, error, sentence",
    [r for rows in table_beside(__file__, "refused.toml").values() for r in rows],
)
def test_bad_input_is_refused_in_one_sentence_and_left_alone(call, error, sentence):
    caught = raises(getattr(builtins, error), sentence, eval, call, SPACE)
    assert "\n" not in str(caught)
    assert len(str(caught)) < 300
    assert (ONE.tolist(), BAD.tolist()) == ([1.0], [1.0, 2.0])
