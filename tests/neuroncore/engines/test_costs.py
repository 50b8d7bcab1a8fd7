"""Cycles of every Vector and Scalar instruction against the documented formulas, written out here.

Judge: the table "Estimated instruction cost" of the ISA reference of SDK 2.26 (N elements per
partition, MIN 64), copied as numbers and not through the package's own facts.
"""

import numpy as np
import pytest

from tests.for_each import for_each
from trainium_edu.neuroncore.engines.costs import price
from trainium_edu.neuroncore.recording.engine import Engine
from trainium_edu.neuroncore.recording.instruction_set import INSTRUCTIONS, cycles_of
from trainium_edu.specs import TRN1
from trainium_edu.specs.fact import Kind

SIZES = [1, 2, 63, 64, 65, 128, 510, 512, 2048]
N8 = [n for n in SIZES if n >= 8]


def at_least(n):
    return max(64, n)


def _cycles(bench, name, **operands):
    bench.issue(name, **operands)
    return bench.cycles


@pytest.mark.parametrize("n", SIZES)
def test_one_input_instructions_take_n_cycles(bench, n):
    x, y, one = bench.tile(np.ones((2, n))), bench.empty(2, n), bench.empty(2, 1)
    add = {"op0": "add", "operand0": 1.0}
    assert _cycles(bench, "tensor_copy", dst=y, src=x) == at_least(n)
    assert _cycles(bench, "tensor_copy", dst=y, src=x, engine="gpsimd") == at_least(n)
    assert _cycles(bench, "tensor_scalar", dst=y, data=x, **add) == at_least(n)
    assert _cycles(bench, "activation", dst=y, data=x, op="exp") == at_least(n)
    assert _cycles(bench, "memset", dst=y, value=1.0) == at_least(n)
    assert _cycles(bench, "reciprocal", dst=y, data=x) == max(64, 2.4 * n)  # profiled
    assert _cycles(bench, "tensor_reduce", dst=one, data=x, op="add", axis=1) == n
    read = {"reduce_op": "add", "reduce_res": one}
    both = at_least(n) + 64
    assert _cycles(bench, "tensor_scalar_reduce", dst=y, data=x, **read, **add) == both
    assert _cycles(bench, "activation_reduce", dst=y, data=x, op="exp", **read) == both
    kept = {"reduce_op": "add", "reduce_res": None}  # no second instruction reads the sum out
    assert _cycles(bench, "activation_reduce", dst=y, data=x, op="exp", **kept) == at_least(n)
    # the architecture guide: reading the accumulated registers takes about 64 cycles
    read["reduce_cmd"] = "reset_reduce"
    assert _cycles(bench, "activation", dst=y, data=x, op="exp", **read) == both


@pytest.mark.parametrize("n", SIZES)
def test_two_input_instructions_take_2n_cycles(bench, n):
    x, y = bench.tile(np.ones((2, n))), bench.empty(2, n)
    mask = bench.tile(np.ones((2, n)), "uint8")
    scan = {"initial": 0.0, "op0": "multiply", "op1": "add"}
    assert _cycles(bench, "tensor_tensor", dst=y, data1=x, data2=x, op="add") == max(64, 2 * n)
    assert _cycles(bench, "tensor_tensor_scan", dst=y, data0=x, data1=x, **scan) == max(64, 2 * n)
    assert _cycles(bench, "tensor_copy_predicated", dst=y, src=x, predicate=mask) == max(64, 2 * n)
    both = {"op0": "add", "operand0": 1.0, "op1": "add", "operand1": x}
    assert _cycles(bench, "scalar_tensor_tensor", dst=y, data=x, **both) == 2 * n


@pytest.mark.parametrize("n", SIZES)
def test_psum_and_bf16_shortcuts(bench, n):
    x = bench.tile(np.ones((2, n)))
    b, c = bench.tile(np.ones((2, n)), "bfloat16"), bench.empty(2, n, dtype="bfloat16")
    p = bench.tile(np.ones((2, n)), memory="psum")
    mask = bench.tile(np.ones((2, n)), "uint8")
    y = bench.empty(2, n)
    one, narrow = bench.empty(2, 1), bench.empty(2, 1, dtype="bfloat16")
    for op in ("add", "multiply", "subtract"):
        assert _cycles(bench, "tensor_tensor", dst=c, data1=b, data2=b, op=op) == at_least(n)
    assert _cycles(bench, "tensor_tensor", dst=c, data1=b, data2=b, op="maximum") == max(64, 2 * n)
    assert _cycles(bench, "tensor_tensor", dst=y, data1=b, data2=b, op="add") == max(64, 2 * n)
    assert _cycles(bench, "tensor_tensor", dst=y, data1=x, data2=p, op="divide") == (
        at_least(n) if n <= 512 else 2 * n  # more than a bank of PSUM
    )
    assert _cycles(bench, "tensor_copy_predicated", dst=y, src=p, predicate=mask) == at_least(n)
    for op in ("add", "maximum"):  # input and output in BF16
        assert _cycles(bench, "tensor_reduce", dst=narrow, data=b, op=op, axis=1) == n / 2
        assert _cycles(bench, "tensor_reduce", dst=one, data=b, op=op, axis=1) == n
    assert _cycles(bench, "tensor_reduce", dst=narrow, data=b, op="minimum", axis=1) == n
    zero = _cycles(bench, "memset", dst=c, value=0.0)
    assert (zero, _cycles(bench, "memset", dst=c, value=1.0)) == (max(64, n / 2), at_least(n))
    assert _cycles(bench, "memset", dst=y, value=0.0) == at_least(n)
    both = {"op0": "subtract", "operand0": 1.0, "op1": "multiply", "operand1": b}
    fast = _cycles(bench, "scalar_tensor_tensor", dst=c, data=b, **both)
    assert fast == (n if n % 2 == 0 else 2 * n)
    assert _cycles(bench, "scalar_tensor_tensor", dst=y, data=b, **both) == fast  # any dst


@pytest.mark.parametrize("n", N8)
def test_searches_take_n_cycles(bench, n):
    x, eight = bench.tile(np.ones((2, n))), bench.tile(np.ones((2, 8)))
    index = bench.empty(2, 8, dtype="uint32")
    assert _cycles(bench, "max8", dst=(2, 8), src=x) == n
    assert _cycles(bench, "nc_find_index8", dst=index, data=x, vals=eight) == n
    assert _cycles(bench, "nc_match_replace8", dst=(2, n), data=x, vals=eight, imm=0.0) == n


@pytest.mark.parametrize("n", [n for n in SIZES if n <= 512])
def test_statistics_and_shuffle(bench, n):
    x = bench.tile(np.ones((32, n)))
    assert _cycles(bench, "bn_stats", dst=(32, 6), data=x) == at_least(n)
    groups = bench.tile(np.ones((2, 3 * n)))
    assert _cycles(bench, "bn_aggr", dst=(2, 2), data=groups) == max(64, 13 * n)
    mask = list(range(32))
    assert _cycles(bench, "nc_stream_shuffle", dst=(32, n), src=x, shuffle_mask=mask) == at_least(n)


@pytest.mark.parametrize("n", SIZES)
def test_rsqrt_on_gpsimd_runs_at_a_quarter_of_the_scalar_engines_rate(bench, n):
    # the reference's common fields: "NKI Engine Selection", a throughput 4x lower than Scalar
    x, y = bench.tile(np.ones((2, n))), bench.empty(2, n)
    found = _cycles(bench, "tensor_scalar", dst=y, data=x, op0="rsqrt", operand0=0.0)
    assert found == max(64, 4 * n)
    assert _cycles(bench, "activation", dst=y, data=x, op="rsqrt") == at_least(n)


@pytest.mark.parametrize("n", SIZES)
def test_unpublished_costs_are_their_siblings_and_called_assumed(bench, n):
    x, y = bench.tile(np.ones((2, n))), bench.empty(2, n)
    mask = bench.tile(np.ones((2, n)), "uint8")
    found = _cycles(bench, "tensor_scalar_cumulative", dst=y, src=x, op0="add", op1="add", imm0=0.0)
    assert found == at_least(n)
    found = _cycles(bench, "select_reduce", dst=y, predicate=mask, on_true=x, on_false=0.0)
    assert found == max(64, 2 * n)
    for fact in ("tensor_scalar_cumulative", "select_reduce", "select_reduce_psum"):
        assert getattr(TRN1.cycles, fact).kind is Kind.ASSUMED


def test_what_gpsimd_borrows_from_vector_is_called_assumed():
    for name in ("memset", "tensor_copy", "tensor_tensor"):
        row = INSTRUCTIONS[name]
        kinds = {TRN1.find(f).kind for f in row.facts_on(TRN1, Engine.GPSIMD)}
        assert kinds == {Kind.DOCUMENTED, Kind.ASSUMED}
        assert {TRN1.find(f).kind for f in row.facts_on(TRN1, Engine.VECTOR)} == {Kind.DOCUMENTED}


PRINTED = {
    "range_select": (max, 512, 512), "dropout": (max, 30, 64), "iota": (None, 100, 250),
    "affine_select": (None, 512, 662), "tensor_copy_dynamic": (None, 512, 600),
}  # fmt: skip


@for_each("name", PRINTED)
def test_other_printed_formulas_evaluate(name):
    _, n, wanted = PRINTED[name]
    assert price(TRN1, name, n) == wanted


def test_a_stride_over_16_bytes_halves_the_rate(bench):
    wide = bench.tile(np.ones((2, 4 * 512)))
    near = wide.reshaped(2, 512, 4).sliced(slice(0, 2), slice(0, 512), 0)  # 16 bytes apart
    far = wide.reshaped(2, 256, 8).sliced(slice(0, 2), slice(0, 256), 0)  # 32 bytes apart
    assert _cycles(bench, "tensor_copy", dst=(2, 512), src=near) == 512
    assert _cycles(bench, "tensor_copy", dst=(2, 256), src=far) == 512


def test_every_row_names_facts_that_exist_and_costs_a_positive_number():
    for name, row in INSTRUCTIONS.items():
        for fact in (f for engine in row.engines for f in row.facts_on(TRN1, engine)):
            assert TRN1.find(fact).source, (name, fact)


@pytest.mark.parametrize("engine", [Engine.VECTOR, Engine.SCALAR])
def test_what_if_facts_change_the_price(bench, engine):
    cycles = TRN1.cycles
    changed = cycles.replace(tensor_copy=cycles.bn_aggr, activation=cycles.reciprocal)
    twice = TRN1.replace(cycles=changed)
    x, y = bench.tile(np.ones((2, 300))), bench.empty(2, 300)
    if engine is Engine.VECTOR:
        bench.core.tensor_copy(dst=y, src=x)
        assert cycles_of("tensor_copy", bench.last.work, engine, twice) == 1300
    else:
        bench.core.activation(dst=y, data=x, op="exp")
        assert cycles_of("activation", bench.last.work, engine, twice) == 2400
