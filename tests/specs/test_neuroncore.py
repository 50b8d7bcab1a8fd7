"""The core's facts against literals written by hand from AWS's documents, and their printed costs.

Judge: the tables of the architecture guide and of the instruction reference (SDK 2.26).
"""

import pytest

from tests.for_each import for_each, for_rows
from trainium_edu.specs import INF2, TRN1
from trainium_edu.specs.neuroncore import CYCLES, FORMATS, MEASURED


@for_rows(
    "path, value", ("tensor_engine.peak_flops_from_array", 91_750_400_000_000),
    ("tensor_engine.multiply_moving_512_ns", 182.857142857), ("sbuf.capacity_bytes", 25_165_824),
    ("psum.capacity_bytes", 2_097_152), ("psum.bank_bytes", 2048),
    ("dma.bytes_per_s_derived", 272_000_000_000), ("hbm_bytes_per_core", 17_179_869_184),
    ("dma_bytes_per_s_from_engines", 870_400_000_000),
    ("dma_bytes_per_s_sustained", 544_000_000_000), ("peak_flops_from_cores", 184_000_000_000_000),
    ("peak_flops_from_array", 183_500_800_000_000), ("measured.mamba_v1_step_ns", 4212),
    ("measured.mamba_v2_step_ns", 3132.896484), ("measured.mamba_v3_step_ns", 3218.786621),
)  # fmt: skip
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


# MIN = 64; N, P, F and the rest as the reference names them
COSTS = [
    ("activation", {"N": 512}, 512), ("activation", {"N": 10}, 64),
    ("activation_reduce", {"N": 512}, 576), ("tensor_copy", {"N": 100}, 100),
    ("tensor_scalar", {"N": 63}, 64), ("tensor_scalar_reduce", {"N": 200}, 264),
    ("nc_stream_shuffle", {"N": 65}, 65), ("bn_stats", {"N": 512}, 512),
    ("bn_aggr", {"N": 30}, 130), ("range_select", {"N": 1}, 64), ("dropout", {"N": 128}, 128),
    ("iota", {"N": 50}, 200), ("affine_select", {"N": 0}, 150),
    ("local_gather", {"valid_indices": 256, "per_index": 1, "dtype_bytes": 4}, 182),
    ("max8", {"N": 20}, 20), ("nc_find_index8", {"N": 20}, 20),
    ("nc_match_replace8", {"N": 500}, 500), ("nc_match_replace8_printed", {"N": 500}, 64),
    ("memset", {"N": 512}, 512), ("memset_16bit_zero", {"N": 512}, 256),
    ("nc_matmul", {"stationary_free": 128, "moving_free": 512}, 512),
    ("nc_matmul", {"stationary_free": 128, "moving_free": 1}, 64),
    ("nc_matmul", {"stationary_free": 16, "moving_free": 1}, 16),
    ("nc_matmul_fp32", {"stationary_free": 128, "moving_free": 512}, 2048),
    ("nc_transpose_vector", {"N": 32}, 64), ("nc_transpose_tensor", {"P": 32, "F": 128}, 64),
    ("reciprocal", {"N": 512}, 4096), ("scalar_tensor_tensor", {"N": 512}, 1024),
    ("scalar_tensor_tensor_bf16", {"N": 512}, 512), ("tensor_tensor", {"N": 512}, 1024),
    ("tensor_tensor_fast", {"N": 512}, 512), ("tensor_tensor_scan", {"N": 16}, 64),
    ("tensor_reduce", {"N": 512}, 512), ("tensor_reduce_bf16", {"N": 512}, 256),
    ("tensor_copy_predicated", {"N": 512}, 1024), ("tensor_copy_predicated_psum", {"N": 9}, 64),
    ("tensor_copy_dynamic", {"N": 512}, 600), ("topk", {"n": 100, "K": 8}, 408),
    ("nc_n_gather", {"N": 513}, 813), ("tensor_partition_reduce", {"N": 50}, 200),
    ("sequence_bounds", {"N": 50}, 200), ("rng", {"N": 20}, 64),
    ("tensor_scalar_rsqrt", {"N": 512}, 2048), ("tensor_scalar_cumulative", {"N": 512}, 512),
    ("select_reduce", {"N": 512}, 1024), ("select_reduce_psum", {"N": 512}, 512),
]  # fmt: skip


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
    assert INF2.tensor_engine == TRN1.tensor_engine
    assert INF2.cycles == TRN1.cycles
    assert (TRN1.neuronlink_ports.value, INF2.neuronlink_ports.value) == (4, 2)
