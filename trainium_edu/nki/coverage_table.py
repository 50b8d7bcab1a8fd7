"""The names of NKI's public reference, and how far each is here.

Each row of the table is (section, state, where, judge, names): a name is "done", with the test
file that holds it to an outside judge; "later chip", with the chip it needs; or "missing", with the
reason.  A test compares the names with the reference's, and looks for each in its test file.  The
older interface, ``neuronxcc.nki``, has a table of its own.
"""

import textwrap
from typing import NamedTuple

from trainium_edu.nki.earlier import NEWER
from trainium_edu.specs.software import SOFTWARE

__all__ = ["Entry", "coverage", "entries"]


class Entry(NamedTuple):
    """One name of the reference."""

    section: str  #: "nki", "nki.language", "NkiTensor", "tile_size", "nki.isa", "nki.collectives"
    name: str
    state: str  #: "done", "later chip" or "missing"
    where: str  #: the test file, or the chip
    judge: str  #: who says that it is right


_V3, _V4 = "NeuronCore-v3 (Trainium2)", "NeuronCore-v4 (Trainium3)"
_ENGINES = "neuroncore/engines/test_"

_TABLE = (
    ("nki", "done", "nki/test_kernel.py", "the documented call forms, NumPy", "jit simulate"),
    ("nki.language", "done", "nki/test_kernel.py", "NumPy and ml_dtypes, bit for bit",
     "DType bool_ int8 int16 int32 uint8 uint16 uint32 float16 float32 bfloat16 float8_e4m3 "
     "float8_e5m2"),
    ("nki.language", "done", _ENGINES + "formats.py", "the FP32 result, cast", "tfloat32"),
    ("nki.language", "later chip", _V4, "",
     "float8_e4m3fn float8_e5m2_x4 float8_e4m3fn_x4 float8_e8m0fnu float4_e2m1fn_x4 abs_max "
     "abs_min"),
    ("nki.language", "done", "nki/test_language.py", "NumPy, closed forms in float64",
     "sbuf psum hbm shared_hbm add subtract multiply divide maximum minimum abs square power "
     "equal not_equal less less_equal greater greater_equal bitwise_and bitwise_or bitwise_xor "
     "invert left_shift right_shift logical_and logical_or logical_xor logical_not exp log sqrt "
     "rsqrt tanh sigmoid relu gelu gelu_apprx_sigmoid gelu_apprx_tanh gelu_dx "
     "gelu_apprx_sigmoid_dx silu silu_dx softplus mish erf erf_dx reciprocal copy sin cos tan "
     "arctan ceil floor trunc negative sign fmod mod sum max min mean prod var all softmax "
     "rms_norm where dropout ones full zeros_like empty_like random_seed broadcast_to transpose "
     "matmul load_transpose2d gather_flattened ndarray zeros load store shared_constant "
     "shared_identity_matrix rand tile_size"),
    ("nki.language", "done", "nki/objects/test_tensor.py", "NumPy's indexing", "expand_dims ds"),
    ("nki.language", "done", "nki/test_kernel.py", "the guides' own statements",
     "private_hbm NkiTensor NKIObject program_id num_programs program_ndim device_print "
     "no_reorder"),
    ("nki.language", "done", "nki/test_dynamic_loops.py", "the same loop in Python",
     "affine_range sequential_range static_range dynamic_range fori_loop while_loop"),
    ("nki.language", "done", "nki/test_coverage.py", "the reference's members",
     "MemoryRegion _TileSize is_hbm is_on_chip is_psum is_sbuf"),
    ("nki.language", "done", _ENGINES + "activations.py", "closed forms in float64", "prelu"),
    ("nki.language", "done", "nki/test_language.py", "NumPy", "bypass"),
    ("nki.language", "done", "nki/test_isa_signatures.py", "NumPy", "average"),
    ("NkiTensor", "done", "nki/objects/test_tensor.py", "NumPy's indexing and reshaping",
     "shape strides offset name dtype buffer ndim size is_contiguous get_pattern is_indirect "
     "__getitem__ __setitem__ permute broadcast expand_dim squeeze_dim reshape_dim flatten_dims "
     "reshape rearrange slice select vector_select ap view reinterpret_cast"),
    ("NkiTensor", "later chip", _V4, "", "indirect"),
    ("tile_size", "done", "nki/test_language.py", "specs' facts",
     "pmax psum_fmax psum_bank_fmax psum_bank_fmax_bytes gemm_stationary_fmax gemm_moving_fmax "
     "bn_stats_fmax psum_num_banks sbuf_size_bytes sbuf_fmax sbuf_fmax_bytes "
     "total_available_sbuf_size"),
    ("tile_size", "done", "nki/test_coverage.py", "our choice, stated in the docstring",
     "psum_min_align sbuf_min_align"),
    ("nki.isa", "done", "nki/test_isa_signatures.py", "the reference's members and values",
     "engine reduce_cmd dge_mode oob_mode matmul_perf_mode nc_version dma_engine tensor_engine "
     "vector_engine scalar_engine gpsimd_engine unknown_engine"),
    ("nki.isa", "done", "nki/test_kernel.py", "the guides' own statements",
     "get_nc_sub_version get_nc_version"),
    ("nki.isa", "done", "nki/test_coverage.py", "the reference's docstrings",
     "NkiInstruction NkiValidationError"),
    ("nki.isa", "done", "nki/test_dynamic_loops.py", "the same loop in Python",
     "VirtualRegister register_alloc register_move register_load register_store"),
    ("nki.isa", "done", _ENGINES + "vector.py", "NumPy, ml_dtypes",
     "tensor_copy memset tensor_tensor tensor_scalar tensor_reduce"),
    ("nki.isa", "done", _ENGINES + "scalar.py", "NumPy, PyTorch", "activation activation_reduce"),
    ("nki.isa", "done", _ENGINES + "fused.py", "NumPy",
     "reciprocal scalar_tensor_tensor tensor_scalar_reduce"),
    ("nki.isa", "done", _ENGINES + "selection.py", "NumPy, the reference's examples",
     "tensor_copy_predicated select_reduce max8 nc_find_index8 nc_match_replace8"),
    ("nki.isa", "done", _ENGINES + "scans.py", "a plain loop, NumPy",
     "tensor_tensor_scan tensor_scalar_cumulative"),
    ("nki.isa", "done", _ENGINES + "statistics.py", "NumPy", "bn_stats bn_aggr"),
    ("nki.isa", "done", _ENGINES + "shuffle.py", "NumPy's indexing", "nc_stream_shuffle"),
    ("nki.isa", "done", _ENGINES + "tensor.py", "NumPy, the cycle-level array", "nc_matmul"),
    ("nki.isa", "done", _ENGINES + "transpose.py", "NumPy, bit for bit", "nc_transpose"),
    ("nki.isa", "done", _ENGINES + "dma.py", "NumPy, ml_dtypes", "dma_copy"),
    ("nki.isa", "done", _ENGINES + "dma_compute.py", "NumPy, ml_dtypes",
     "dma_compute dma_transpose"),
    ("nki.isa", "done", _ENGINES + "gpsimd.py", "the reference's pseudo-code, NumPy",
     "iota affine_select local_gather nc_n_gather tensor_partition_reduce sequence_bounds topk"),
    ("nki.isa", "done", _ENGINES + "random.py", "Philox's known answers, binomial bounds",
     "rng dropout set_rng_seed"),
    ("nki.isa", "later chip", _V3, "",
     "rand_set_state rand_get_state core_barrier range_select sendrecv nonzero_with_count"),
    ("nki.isa", "later chip", _V4, "",
     "nc_matmul_mx activate2 rand2 exponential quantize_mx"),
    ("nki.collectives", "done", "nki/test_collectives.py", "NumPy, fabric's own bill",
     "ReplicaGroup all_reduce all_gather reduce_scatter all_to_all all_to_all_v "
     "collective_permute collective_permute_implicit collective_permute_implicit_reduce "
     "collective_permute_implicit_current_processing_rank_id rank_id"),
    ("nki.collectives", "later chip", _V3, "", "all_gather_v"),
)  # fmt: skip


_B = "nki/beta1/test_"

#: The older interface (SDK 2.26), without its ``nki.isa``, which comes from the reference's list.
_OLDER = (
    ("neuronxcc.nki", "done", _B + "kernel.py", "the reference's call forms, NumPy",
     "jit trace baremetal benchmark profile simulate_kernel tensor"),
    ("neuronxcc.nki", "missing", "it writes kernels into XLA graphs for AWS's compiler", "",
     "FrameworkKernel"),
    ("neuronxcc.nki.tensor", "done", _B + "tile.py", "NumPy's indexing and reshaping",
     "assert_shape astype broadcast_to dtype expand_dims itemsize ndim reshape shape view"),
    ("neuronxcc.nki.typing", "done", _B + "kernel.py", "the reference's pages of errors",
     "tensor mutable_tensor"),
    ("neuronxcc.nki.typing", "missing", "in published kernels, in no reference", "", "scalar"),
    ("neuronxcc.nki.nccl", "missing", "in published kernels, in no reference", "",
     "all_gather all_reduce all_to_all collective_permute collective_permute_implicit "
     "reduce_scatter"),
    ("neuronxcc.nki.language", "done", _B + "index.py", "NumPy's arange and mgrid",
     "arange mgrid"),
    ("neuronxcc.nki.language", "done", _B + "tile.py", "NumPy, AWS's developer guide",
     "ndarray zeros par_dim ds load store copy sbuf psum hbm private_hbm shared_hbm"),
    ("neuronxcc.nki.language", "done", _B + "language.py",
     "NumPy, ml_dtypes, the same function of the current interface",
     "int8 int16 int32 uint8 uint16 uint32 bool_ float16 float32 bfloat16 float8_e4m3 float8_e5m2 "
     "tfloat32 fp32 bfp16 finfo tile_size abs square exp log sqrt tanh sigmoid relu gelu "
     "gelu_apprx_sigmoid gelu_apprx_tanh gelu_dx silu silu_dx softplus mish erf erf_dx arctan sign "
     "reciprocal rsqrt negative floor ceil trunc sin cos tan add subtract multiply divide maximum "
     "minimum power mod fmod equal not_equal less less_equal greater greater_equal logical_and "
     "logical_or logical_xor logical_not bitwise_and bitwise_or bitwise_xor left_shift right_shift "
     "invert sum max min prod mean var all softmax rms_norm where dropout static_cast matmul "
     "transpose load_transpose2d gather_flattened shared_constant shared_identity_matrix "
     "expand_dims atomic_rmw full ones empty_like zeros_like random_seed rand broadcast_to "
     "affine_range sequential_range static_range loop_reduce program_id num_programs program_ndim "
     "nc spmd_dim device_print gemm_grid gemm_stationary_grid"),
    ("neuronxcc.nki.language", "missing", "instances of a grid run one after the other here", "",
     "all_reduce"),
    ("neuronxcc.nki.isa", "done", _B + "isa_signatures.py", "the reference's stub; values: NumPy",
     "activation activation_reduce affine_select bn_aggr bn_stats dma_copy dma_transpose dropout "
     "get_nc_version iota local_gather max8 memset nc_find_index8 nc_match_replace8 nc_matmul "
     "nc_stream_shuffle nc_transpose reciprocal scalar_tensor_tensor select_reduce sequence_bounds "
     "tensor_copy tensor_copy_dynamic_dst tensor_copy_dynamic_src tensor_copy_predicated "
     "tensor_partition_reduce tensor_reduce tensor_scalar tensor_scalar_cumulative "
     "tensor_scalar_reduce tensor_tensor tensor_tensor_scan dge_mode engine nc_version oob_mode "
     "reduce_cmd dma_engine gpsimd_engine scalar_engine tensor_engine unknown_engine "
     "vector_engine"),
    ("neuronxcc.nki.isa", "missing", "it calls a compiled C function on GpSimd", "",
     "builtin_custom_op"),
    ("neuronxcc.nki.isa", "later chip", _V3, "", "range_select"),
    ("neuronxcc.nki.compiler", "done", _B + "kernel.py", "what nki.run then times",
     "skip_middle_end_transformations enable_stack_allocator"),
    ("neuronxcc.nki.compiler", "done", _B + "compiler.py",
     "modulo allocation as the reference defines it", "force_auto_alloc sbuf psum"),
    ("neuronxcc.nki.compiler", "done", _B + "kernel.py", "AWS's attention tutorial",
     "no_reorder multi_buffer"),
    ("neuronxcc.nki.compiler", "missing", "tiles are free after their last use", "",
     "allocation_scope"),
    ("neuronxcc.nki.compiler.sbuf", "done", _B + "compiler.py", "the reference's own Python",
     "alloc mod_alloc auto_alloc"),
    ("neuronxcc.nki.compiler.psum", "done", _B + "compiler.py", "the reference's own Python",
     "alloc mod_alloc auto_alloc"),
)  # fmt: skip


def entries(*, older=False) -> list[Entry]:
    """Return every name of the reference with its state; those of ``neuronxcc.nki`` if `older`."""
    return [
        Entry(section, name, state, where, judge)
        for section, state, where, judge, names in (_OLDER if older else _TABLE)
        for name in names.split()
    ]


def coverage() -> None:
    """Print the reference's names: done (with test and judge), later chip, missing.

    Examples
    --------
    >>> from trainium_edu.nki.coverage_table import coverage
    >>> coverage()  # doctest: +ELLIPSIS
    NKI 0.6.0: ... names; ... done, ... for later chips, 0 missing
    ...
    """
    found = entries()
    count = {s: sum(e.state == s for e in found) for s in ("done", "later chip", "missing")}
    print(
        f"NKI {SOFTWARE.nki_version.value}: {len(found)} names; {count['done']} done, "
        f"{count['later chip']} for later chips, {count['missing']} missing"
    )
    for section, state, where, judge, names in _TABLE:
        by = f"{state}, tests/{where}; judge: {judge}" if state == "done" else f"{state}: {where}"
        print(f"{section} ({by})")
        print(_wrapped(names.split()))
    _print_older()
    newest, sdk = SOFTWARE.newest_nki_version, SOFTWARE.newest_sdk_version
    print(
        f"NKI {newest.value} (Neuron {sdk.value}, {newest.as_of}) is the newest release; only the "
        "beginnings of its pages were read.\n"
        "Followed: Python does not branch on what the chip computes (TypeError). Not here:"
    )
    for section, names in NEWER.items():
        print(section)
        print(_wrapped(names.split()))


def _print_older():
    found = entries(older=True)
    print(
        f"neuronxcc.nki (Beta 1, SDK 2.20 to 2.26): {len(found)} names, "
        f"{sum(e.state == 'done' for e in found)} done; the others raise:"
    )
    for section, state, where, _, names in _OLDER:
        if state != "done":
            print(f"{section} ({state}: {where})")
            print(_wrapped(names.split()))


def _wrapped(names) -> str:
    return textwrap.fill(" ".join(names), 96, initial_indent="    ", subsequent_indent="    ")
