"""Scans against a plain loop over columns, and NumPy's accumulate."""

import numpy as np
import pytest

from tests.for_each import for_each
from trainium_edu.neuroncore.engines import _loops
from trainium_edu.neuroncore.engines.operators import OPERATORS
from trainium_edu.neuroncore.engines.scans import scan, scan_columns

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
    operators = {"op0": "multiply", "op1": op, "imm0": 1.0}
    found = bench.issue("tensor_scalar_cumulative", dst=(5, 30), src=x, **operators)
    assert np.array_equal(found, getattr(np, op).accumulate(x, axis=1))


def test_tensor_tensor_scan_is_the_references_loop(bench, rng):
    a, b = (rng.standard_normal((4, 20)).astype(np.float32) for _ in range(2))
    start = rng.standard_normal((4, 1)).astype(np.float32)
    wanted = np.empty_like(a)
    wanted[:, 0] = a[:, 0] * start[:, 0] + b[:, 0]
    for i in range(1, 20):
        wanted[:, i] = a[:, i] * wanted[:, i - 1] + b[:, i]
    operators = {"initial": start, "op0": "multiply", "op1": "add"}
    found = bench.issue("tensor_tensor_scan", dst=(4, 20), data0=a, data1=b, **operators)
    assert np.array_equal(found, wanted)


def test_operators_without_a_loop_scan_by_columns(bench):
    a, b = bench.tile([[4.0, 2.0, 0.0]]), bench.tile([[1.0, 1.0, 1.0]])
    operators = {"initial": 2.0, "op0": "divide", "op1": "logical_and"}
    found = bench.issue("tensor_tensor_scan", dst=(1, 3), data0=a, data1=b, **operators)
    assert found.tolist() == [[1, 1, 0]]


def test_cumulative_state_goes_on(bench, rng):
    x = rng.integers(0, 9, (3, 40)).astype(np.float32)
    out = bench.empty(3, 40)
    tile = bench.tile(x)
    for i, command in enumerate(("load_reduce", "reduce", "reduce", "reduce")):
        part = slice(0, 3), slice(10 * i, 10 * i + 10)
        places = {"dst": out.sliced(*part), "src": tile.sliced(*part)}
        numbers = {"imm0": 1.0, "imm1": None if i else 100.0, "reduce_cmd": command}
        bench.core.tensor_scalar_cumulative(**places, op0="add", op1="add", **numbers)
    assert np.array_equal(bench.core.value(out), 100 + np.cumsum(x + 1, axis=1))


def test_cumulative_subtraction_follows_the_pseudocode(bench):
    x = np.float32([[5, 3, 4]])
    operators = {"op0": "add", "op1": "subtract", "imm0": 0.0}
    found = bench.issue("tensor_scalar_cumulative", dst=(1, 3), src=x, **operators)
    reg, wanted = 0, []
    for v in x[0]:
        reg = v - reg  # reg = op1(op0(in[i], imm0), reg)
        wanted.append(reg)
    assert found.tolist() == [wanted]


def test_cumulative_may_be_given_imm1_without_loading_it(bench):
    """As in the reference's example of a chain: load_reduce, then reduce with the same imm1."""
    usual = {"src": np.ones((2, 64)), "op0": "add", "op1": "add", "imm0": 0.0, "imm1": 1.0}
    found = [
        bench.issue("tensor_scalar_cumulative", dst=(2, 64), reduce_cmd=command, **usual)
        for command in ("load_reduce", "reduce", "reset_reduce")
    ]
    steps = np.add.accumulate(np.ones((2, 64)), axis=1)
    np.testing.assert_array_equal(found, [steps + 1, steps + 65, steps])
