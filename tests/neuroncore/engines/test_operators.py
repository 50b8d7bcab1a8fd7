"""ALU operators against NumPy and Python's integers."""

import numpy as np

from tests.for_each import for_each, for_rows, raises
from tests.texts import table_beside
from trainium_edu.neuroncore.engines.operators import OPERATORS, get_operator
from trainium_edu.specs.errors import NkiValidationError

A = np.float32([[-2.5, 0.0, 1.0, np.inf, 3.0, np.nan]])
B = np.float32([[1.5, 0.0, 1.0, 2.0, -3.0, 1.0]])
PLAIN = table_beside(__file__, "tables.toml")["plain"]


@for_each("name", PLAIN)
def test_arithmetic_is_numpys_in_fp32(name):
    with np.errstate(all="ignore"):
        found = OPERATORS[name].function(A, B)
        wanted = getattr(np, name)(A, B).astype(np.float32)
    assert found.dtype == np.float32
    assert np.array_equal(found, wanted, equal_nan=True)


def test_magnitude_operators_keep_the_sign_and_break_ties_to_the_right():
    a, b = np.float32([-5, 1, 2]), np.float32([3, -1, -4])
    assert OPERATORS["abs_max"].function(a, b).tolist() == [-5, -1, -4]
    assert OPERATORS["abs_min"].function(a, b).tolist() == [3, -1, 2]


@for_rows("bits", 8, 16, 32)
def test_bits_follow_pythons_integers(bits):
    dtype = np.dtype(f"u{bits // 8}")
    top = (1 << bits) - 1
    a = np.array([0, 1, 5, top, top >> 1], dtype)
    for b in (0, 1, 3, bits - 1, bits, bits + 3):
        b_ = np.full(a.shape, b, dtype)
        left = [(int(x) << b) & top if b < bits else 0 for x in a]
        right = [int(x) >> b for x in a]
        assert OPERATORS["left_shift"].function(a, b_).tolist() == left
        assert OPERATORS["right_shift"].function(a, b_).tolist() == right
        for name, op in (("bitwise_and", int.__and__), ("bitwise_or", int.__or__),
                         ("bitwise_xor", int.__xor__)):  # fmt: skip
            assert OPERATORS[name].function(a, b_).tolist() == [op(int(x), b & top) for x in a]
    assert OPERATORS["invert"].function(a).tolist() == [top - int(x) for x in a]


def test_legal_reductions_are_the_references_table():
    legal = {name for name, row in OPERATORS.items() if row.reduce}
    assert legal == {
        "bitwise_and", "bitwise_or", "bitwise_xor", "add", "subtract", "multiply", "maximum",
        "minimum", "logical_and", "logical_or", "logical_xor",
    }  # fmt: skip


@for_rows("name", "max", "min", "sum", "prod")
def test_reduction_names_of_the_language_are_operators_too(name):
    found = get_operator(name, "op").reduce(np.float32([[3, 1, 2]]))
    assert found.tolist() == [getattr(np, name)([3, 1, 2])]


@for_rows("name", "abs_max", "abs_min", "square", "relu")
def test_operators_of_a_later_chip_name_it(name):
    raises(NkiValidationError, "NeuronCore-v4", get_operator, name, "op0")


@for_rows("wrong", "ad", None, 3, 1.5, np)
def test_no_operator_is_refused(wrong):
    raises(NkiValidationError, "not an ALU operator", get_operator, wrong, "op")
