"""The core's facts against literals written by hand from AWS's documents, and their printed costs.

Judge: the tables of the architecture guide and of the instruction reference (SDK 2.26).
"""

import pytest

from tests.for_each import for_each
from tests.texts import table_beside
from trainium_edu.specs import INF2, TRN1
from trainium_edu.specs.neuroncore import CYCLES, FORMATS, MEASURED


@for_each("path, value", table_beside(__file__, "by_hand.toml")["sums"])
def test_derived_facts_equal_hand_sums(path, value):
    assert float(TRN1.find(path)) == pytest.approx(value, rel=1e-9)


def test_printed_capacities_agree_with_the_product_of_their_parts():
    for memory in (TRN1.sbuf, TRN1.psum):
        assert memory.capacity_bytes.value == memory.capacity_printed.value
    assert TRN1.psum.bank_bytes.value == 4 * TRN1.psum.bank_fp32.value
    assert TRN1.dma.bytes_per_s.value == TRN1.dma.bytes_per_s_derived.value


def test_published_busy_times_round_to_the_stated_ones():
    stated = {"mamba_v1_step_ns": 4.21, "mamba_v2_step_ns": 3.13, "mamba_v3_step_ns": 3.22}
    for name, us in stated.items():
        assert round(getattr(MEASURED, name).value / 1000, 2) == us


COSTS = table_beside(__file__, "costs.toml")["costs"]


@for_each(("instruction", "sizes", "cycles"), COSTS)
def test_printed_cost_formulas(instruction, sizes, cycles):
    names = {"MIN": CYCLES.min_initiation_cycles.value, "max": max, "min": min, **sizes}
    formula = getattr(CYCLES, instruction).value
    assert eval(formula, {"__builtins__": {}}, names) == pytest.approx(cycles)


def test_every_printed_cost_has_a_row_here():
    formulas = {name for name, fact in CYCLES.items() if isinstance(fact.value, str)}
    assert formulas - {"reciprocal_profiled"} == {name for name, _, _ in COSTS}


def test_measured_slope_of_tensor_tensor_is_the_documented_2n_within_a_percent():
    documented_ns = 2 / TRN1.vector_engine.clock_hz.value * 1e9
    assert MEASURED.tensor_tensor_ns_per_element.value == pytest.approx(documented_ns, rel=0.011)


def test_formats_have_their_textbook_widths():
    bits = {"fp32": 32, "tf32": 19, "bf16": 16, "fp16": 16}
    bits |= dict.fromkeys(("fp8_e5m2", "fp8_e4m3", "fp8_e3m4"), 8)
    for name, width in bits.items():
        assert sum(getattr(FORMATS, name).value) == width


def test_inferentia2_has_the_same_core_and_half_the_ports():
    assert (INF2.tensor_engine, INF2.cycles) == (TRN1.tensor_engine, TRN1.cycles)
    assert (TRN1.neuronlink_ports.value, INF2.neuronlink_ports.value) == (4, 2)
