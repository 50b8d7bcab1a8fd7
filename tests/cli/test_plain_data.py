"""What may come back from a submission's process.

Judge: pickle itself, which would run the code that is refused here.
"""

import enum
import fractions
import os
import pickle

import ml_dtypes
import numpy as np
import pytest

from trainium_edu.cli import plain_data
from trainium_edu.specs.fact import Fact, Kind


@pytest.mark.parametrize(
    "value",
    [None, True, 3, 2**99, 1.5, 2j, "text", b"bytes", [1, [2]], (1,), {"a": {1, 2}}, frozenset({3}),
     fractions.Fraction(1, 3), range(4), Kind.ASSUMED],
)  # fmt: skip
def test_plain_values_come_back(value):
    assert plain_data.loads(pickle.dumps(value, protocol=5)) == value


@pytest.mark.parametrize(
    "dtype", ["f4", "i8", "?", "c16", "U3", ml_dtypes.bfloat16, ml_dtypes.float8_e4m3]
)
def test_arrays_and_scalars_come_back_bit_for_bit(dtype):
    array = np.arange(6).reshape(2, 3).astype(dtype)
    for order in (array, array.T, array[:, ::2]):
        back = plain_data.loads(pickle.dumps(order, protocol=5))
        assert back.dtype == array.dtype
        assert back.tobytes() == order.tobytes()
    assert plain_data.loads(pickle.dumps(array[0, 1], protocol=5)) == array[0, 1]


class Evil:
    def __reduce__(self):
        return os.system, ("echo should never run > /tmp/evil-was-here",)


class EvilEval:
    def __reduce__(self):
        return eval, ("1 + 1",)


class Own(enum.Enum):
    A = 1


@pytest.mark.parametrize("value", [Evil(), EvilEval(), [Evil()], Own.A, os.system, Fact, np.load])
def test_what_could_run_code_is_refused(value, tmp_path):
    data = pickle.dumps(value, protocol=5)
    if value is Fact:
        assert plain_data.loads(data) is Fact  # a record's class runs nothing
        return
    with pytest.raises(plain_data.NotPlain):
        plain_data.loads(data)
    assert not os.path.exists("/tmp/evil-was-here")


@pytest.mark.parametrize("data", [b"", b"garbage", b"\x80\x05", b"\x80\x05X\xff\xff\xff\xff"])
def test_damage_is_named(data):
    with pytest.raises(plain_data.NotPlain, match="damaged data"):
        plain_data.loads(data)
