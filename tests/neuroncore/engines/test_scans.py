"""Scans against a plain loop over columns, and NumPy's accumulate."""

import numpy as np
import pytest

from tests.for_each import for_each
from trainium_edu.neuroncore.engines import _loops
from trainium_edu.neuroncore.engines.operators import OPERATORS
from trainium_edu.neuroncore.engines.scans import scan, scan_columns
from trainium_edu.specs.errors import NkiValidationError

FAST = ["add", "subtract", "multiply", "maximum", "minimum"]


@for_each("op0", FAST)
@for_each("op1", FAST)
@for_each("reverse", [(False, False), (True, False), (False, True), (True, True)])
def test_the_loop_equals_its_twin_bit_for_bit(rng, op0, op1, reverse):
    a, b = (rng.standard_normal((6, 40)).astype(np.float32) for _ in range(2))
    a[2, 5], b[3, 7], a[4, 0] = np.nan, np.nan, -np.inf
    start = rng.standard_normal(6).astype(np.float32)
    options = {"reverse0": reverse[0], "reverse1": reverse[1]}
    with np.errstate(all="ignore"):
        found = scan(a, b, start, OPERATORS[op0], OPERATORS[op1], **options)
        wanted = scan_columns(a, b, start, OPERATORS[op0], OPERATORS[op1], **options)
    assert np.array_equal(found, wanted, equal_nan=True)


def test_the_loop_as_plain_python_gives_the_same_bits(rng):
    a, b = (rng.standard_normal((3, 9)).astype(np.float32) for _ in range(2))
    start, out = np.zeros(3, np.float32), np.empty((3, 9), np.float32)
    plain = getattr(_loops.scan, "py_func", _loops.scan)
    plain(a, b, start, _loops.MULTIPLY, _loops.ADD, out)
    assert np.array_equal(out, scan(a, b, start, OPERATORS["multiply"], OPERATORS["add"]))


@pytest.mark.parametrize("op", ["add", "multiply", "maximum", "minimum"])
def test_running_reductions_are_numpys_accumulate(bench, rng, op):
    x = rng.uniform(0.5, 1.5, (5, 30)).astype(np.float32)
    found = bench.issue(
        "tensor_scalar_cumulative", dst=bench.empty(5, 30), src=bench.tile(x), op0="multiply",
        op1=op, imm0=1.0,
    )  # fmt: skip
    assert np.array_equal(found, getattr(np, op).accumulate(x, axis=1))


def test_tensor_tensor_scan_is_the_references_loop(bench, rng):
    a, b = (rng.standard_normal((4, 20)).astype(np.float32) for _ in range(2))
    start = rng.standard_normal((4, 1)).astype(np.float32)
    wanted = np.empty_like(a)
    wanted[:, 0] = a[:, 0] * start[:, 0] + b[:, 0]
    for i in range(1, 20):
        wanted[:, i] = a[:, i] * wanted[:, i - 1] + b[:, i]
    found = bench.issue(
        "tensor_tensor_scan", dst=bench.empty(4, 20), data0=bench.tile(a), data1=bench.tile(b),
        initial=bench.tile(start), op0="multiply", op1="add",
    )  # fmt: skip
    assert np.array_equal(found, wanted)


def test_operators_without_a_loop_scan_by_columns(bench):
    a, b = bench.tile([[4.0, 2.0, 0.0]]), bench.tile([[1.0, 1.0, 1.0]])
    found = bench.issue(
        "tensor_tensor_scan", dst=bench.empty(1, 3), data0=a, data1=b, initial=2.0,
        op0="divide", op1="logical_and",
    )  # fmt: skip
    assert found.tolist() == [[1, 1, 0]]


def test_cumulative_state_goes_on(bench, rng):
    x = rng.integers(0, 9, (3, 40)).astype(np.float32)
    out = bench.empty(3, 40)
    tile = bench.tile(x)
    for i, command in enumerate(("load_reduce", "reduce", "reduce", "reduce")):
        part = slice(0, 3), slice(10 * i, 10 * i + 10)
        bench.core.tensor_scalar_cumulative(
            dst=out.sliced(*part), src=tile.sliced(*part), op0="add", op1="add", imm0=1.0,
            imm1=100.0 if i == 0 else None, reduce_cmd=command,
        )  # fmt: skip
    assert np.array_equal(bench.core.value(out), 100 + np.cumsum(x + 1, axis=1))


def test_cumulative_subtraction_follows_the_pseudocode(bench):
    x = np.float32([[5, 3, 4]])
    found = bench.issue(
        "tensor_scalar_cumulative", dst=bench.empty(1, 3), src=bench.tile(x), op0="add",
        op1="subtract", imm0=0.0,
    )  # fmt: skip
    reg, wanted = 0, []
    for v in x[0]:
        reg = v - reg  # reg = op1(op0(in[i], imm0), reg)
        wanted.append(reg)
    assert found.tolist() == [wanted]


@pytest.mark.parametrize(
    ("wrong", "error", "match"),
    [
        ({"op0": "bitwise_and"}, NkiValidationError, "arithmetic on two"),
        ({"op1": "abs"}, NkiValidationError, "arithmetic on two"),
        ({"initial": None}, TypeError, "number or a tile"),
        ({"reverse0": "no"}, TypeError, "True or False"),
    ],
)
def test_scan_refuses(bench, wrong, error, match):
    x = bench.tile(np.ones((2, 3)))
    operands = {"dst": bench.empty(2, 3), "data0": x, "data1": x, "initial": 0.0,
                "op0": "multiply", "op1": "add"} | wrong  # fmt: skip
    with pytest.raises(error, match=match):
        bench.issue("tensor_tensor_scan", **operands)


def test_scan_refuses_two_inputs_in_psum(bench):
    x = bench.tile(np.ones((2, 3)), memory="psum")
    with pytest.raises(NkiValidationError, match="both in PSUM"):
        bench.issue("tensor_tensor_scan", dst=bench.empty(2, 3), data0=x, data1=x, initial=0.0,
                    op0="multiply", op1="add")  # fmt: skip


@pytest.mark.parametrize(
    ("wrong", "error", "match"),
    [
        ({"op1": "equal"}, NkiValidationError, "op1 is equal"),
        ({"op0": "bitwise_or"}, NkiValidationError, "works on bits"),
        ({"reduce_cmd": "idle"}, NkiValidationError, "reduce_cmd"),
        ({"reduce_cmd": "load_reduce"}, TypeError, "imm1"),
        ({"imm1": "x"}, TypeError, "imm1"),
    ],
)
def test_cumulative_refuses(bench, wrong, error, match):
    operands = {"dst": bench.empty(2, 3), "src": bench.tile(np.ones((2, 3))), "op0": "add",
                "op1": "add", "imm0": 0.0} | wrong  # fmt: skip
    with pytest.raises(error, match=match):
        bench.issue("tensor_scalar_cumulative", **operands)


def test_cumulative_may_be_given_imm1_without_loading_it(bench):
    """As in the reference's example of a chain: load_reduce, then reduce with the same imm1."""
    x, found = bench.tile(np.ones((2, 64))), []
    for command in ("load_reduce", "reduce", "reset_reduce"):
        found.append(bench.issue(
            "tensor_scalar_cumulative", dst=bench.empty(2, 64), src=x, op0="add", op1="add",
            imm0=0.0, imm1=1.0, reduce_cmd=command,
        ))  # fmt: skip
    steps = np.add.accumulate(np.ones((2, 64)), axis=1)
    np.testing.assert_array_equal(found, [steps + 1, steps + 65, steps])


def test_cumulative_takes_no_32_bit_integers(bench):
    x = bench.tile(np.ones((1, 3)), "int32")
    with pytest.raises(NkiValidationError, match="32-bit integers"):
        bench.issue("tensor_scalar_cumulative", dst=bench.empty(1, 3), src=x, op0="add",
                    op1="add", imm0=0.0)  # fmt: skip
