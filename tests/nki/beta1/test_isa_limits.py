"""What the older ``nki.isa`` refuses, each in one sentence.

Judge: the limits that AWS's reference of SDK 2.26 states for each instruction ("must", "only",
"up to").
"""

import numpy as np
import pytest

import trainium_edu.nki as nki
import trainium_edu.nki.beta1.isa as nisa
import trainium_edu.nki.beta1.language as nl
from tests.for_each import for_each
from trainium_edu.nki.beta1.kernel import jit
from trainium_edu.specs.errors import NkiValidationError

F = np.float32
A = np.ones((64, 96), F)
WIDE = np.ones((64, 1024), F)
WORDS = np.ones((64, 96), np.int32)
BYTES = np.ones((64, 96), np.uint8)
PLACES = np.ones((64, 2), np.uint16)


def _moved(a):
    out = nl.ndarray(a.shape, a.dtype, buffer=nl.psum)
    out[...] = nisa.tensor_copy(a)
    return out


def _column(dtype=np.float32):
    return nl.ndarray((64, 1), dtype, buffer=nl.sbuf)


def _hbm(a):
    return nl.ndarray(a.shape, a.dtype, buffer=nl.shared_hbm)


def _new(a, dtype=None):
    return nl.ndarray(a.shape, dtype or a.dtype, buffer=nl.sbuf)


def _index(n=64, m=96):
    return nl.mgrid[0:n, 0:m]


def _triangle(a):
    i, j = _index()
    return nisa.tensor_copy(a, mask=j <= i)


def _mask_of_another_shape(a):
    i, _ = _index(32, 96)
    return nisa.tensor_copy(a, mask=i < 7)


def _two_comparisons(a):
    i, j = _index()
    return nisa.affine_select((j <= i) & (j > 3), a, 0.0)


def _every_third(a):
    i, j = _index()
    return nisa.affine_select(j % 3 == i, a, 0.0)


def _copied(dst_dtype):
    def build(a, b):
        nisa.tensor_copy_predicated(src=a, dst=_new(a, dst_dtype), predicate=b)

    return build


def _selected(**more):
    def build(a, b):
        nisa.select_reduce(dst=_new(a), predicate=b, on_true=a, on_false=0.0, **more)

    return build


def _shuffled(mask):
    return lambda a: nisa.nc_stream_shuffle(a, _new(a), mask)


def _sent(**more):
    return lambda a: nisa.dma_copy(dst=_hbm(a), src=a, **more)


LIMITS = {
    "nc_matmul: N <= 512": (lambda a, b: nisa.nc_matmul(a, b), (A, WIDE), "free size 1024"),
    "nc_matmul: M <= 128": (lambda a, b: nisa.nc_matmul(b, a), (A, WIDE),
                            "partition dimension 1024 exceeds"),
    "nc_matmul: K of both": (lambda a: nisa.nc_matmul(a[0:32], a), (A,), "both need"),
    "nc_matmul: reads SBUF": (lambda a: nisa.nc_matmul(_moved(a), a), (A,), "operands from SBUF"),
    "nc_matmul: FP32 with FP32": (lambda a: nisa.nc_matmul(nl.copy(a, dtype=nl.bfloat16), a), (A,),
                                  "the other must be too"),
    "nc_matmul: no integers": (lambda a: nisa.nc_matmul(a, a), (WORDS,), "must be float32, tf"),
    "nc_matmul: tiles of 64": (
        lambda a: nisa.nc_matmul(a[0:32, 0:32], a[0:32], tile_position=(0, 0), tile_size=(32, 32)),
        (A,), "size 32, which needs NeuronCore-v3"),
    "nc_transpose: 128 on Tensor": (lambda a: nisa.nc_transpose(a), (WIDE,),
                                    "partition dimension 1024 exceeds"),
    "nc_transpose: Tensor reads SBUF": (lambda a: nisa.nc_transpose(_moved(a)), (A,),
                                        "Engine reads SBUF"),
    "tensor_tensor: one in SBUF": (lambda a: nisa.tensor_tensor(_moved(a), _moved(a), np.add), (A,),
                                   "both in PSUM"),
    "tensor_tensor: same sizes": (lambda a, b: nisa.tensor_tensor(a, b, np.add), (A, WIDE),
                                  "same number of elements"),
    "tensor_tensor: on chip": (lambda a: nisa.tensor_tensor(a, _hbm(a), np.add), (A,),
                               "nl.load brings it to SBUF"),
    "tensor_tensor: bits are integers": (lambda a: nisa.tensor_tensor(a, a, np.bitwise_and), (A,),
                                         "bit"),
    "tensor_scalar: one kind": (
        lambda a: nisa.tensor_scalar(a, np.add, 1, op1=np.bitwise_or, operand1=1), (WORDS,),
        "of two kinds"),
    "tensor_scalar: GpSimd has rsqrt": (
        lambda a: nisa.tensor_scalar(a, np.add, 1, engine=nisa.gpsimd_engine), (A,), "rsqrt only"),
    "tensor_scalar: a number per partition": (lambda a: nisa.tensor_scalar(a, np.add, a), (A,),
                                              "one number per partition"),
    "activation: bias is a vector": (lambda a: nisa.activation(np.exp, a, bias=1.0), (A,),
                                     "one number per partition"),
    "activation: sums only": (
        lambda a: nisa.activation(np.exp, a, reduce_op=np.max, reduce_res=_column(),
                                  reduce_cmd=nisa.reduce_cmd.reset_reduce), (A,), "only add"),
    "activation_reduce: one per partition": (
        lambda a: nisa.activation_reduce(np.exp, a, reduce_op=np.add, reduce_res=_new(a)), (A,),
        "one number per partition"),
    "tensor_scalar_reduce: not reversed": (
        lambda a: nisa.tensor_scalar_reduce(data=a, op0=np.subtract, operand0=1.0, reverse0=True,
                                            reduce_op=np.add, reduce_res=_column()), (A,),
        "reverse0 is not supported"),
    "tensor_scalar_cumulative: no 32-bit integers": (
        lambda a: nisa.tensor_scalar_cumulative(src=a, dst=_new(a), op0=np.add, op1=np.add, imm0=1),
        (WORDS,), "32-bit integers do not pass"),
    "tensor_tensor_scan: arithmetic": (
        lambda a: nisa.tensor_tensor_scan(a, a, 0.0, np.bitwise_or, np.add), (A,), "arithmetic"),
    "tensor_reduce: not partitions": (lambda a: nisa.tensor_reduce(np.add, a, 0), (A,),
                                      "partition axis"),
    "tensor_partition_reduce: four operators": (
        lambda a: nisa.tensor_partition_reduce(np.multiply, a), (A,), "bitwise_or and bitwise_and"),
    "bn_stats: 512": (lambda a: nisa.bn_stats(a), (WIDE,), "at most 512"),
    "bn_aggr: threes": (lambda a: nisa.bn_aggr(a[:, 0:7]), (A,), "multiple of 3"),
    "dropout: a probability": (lambda a: nisa.dropout(a, 1.5), (A,), "between 0 and 1"),
    "dropout: integers stay": (lambda a: nisa.dropout(a, 0.5, dtype=np.float32), (WORDS,),
                               "does not cast"),
    "memset: whole numbers": (lambda: nisa.memset((64, 8), 0.5, np.int32), (), "an integer"),
    "memset: 128 partitions": (lambda: nisa.memset((200, 8), 0, F), (), "128"),
    "memset: a shape": (lambda: nisa.memset(64, 0, F), (), "tuple of sizes"),
    "iota: start and steps": (lambda: nisa.iota(nl.arange(9)[None, :] // 2, np.int32), (),
                              "GpSimd Engine counts"),
    "iota: of nl.arange": (lambda: nisa.iota("0:9", np.int32), (), "expression of nl.arange"),
    "affine_select: one comparison": (_two_comparisons, (A,), "one affine_select for each"),
    "affine_select: start and steps": (_every_third, (A,), "one affine_select for each"),
    "affine_select: a comparison": (lambda a: nisa.affine_select(a, a, 0.0), (A,), "comparison of"),
    "affine_select: of the tile": (
        lambda a: nisa.affine_select(nl.arange(7)[None, :] < 3, a, 0.0), (A,), "does not fit"),
    "affine_select: a number": (
        lambda a: nisa.affine_select(nl.arange(96)[None, :] < 3, a, _column()), (A,), "one number"),
    "max8: 8 to 16384": (lambda a: nisa.max8(src=a[:, 0:7]), (A,), "8 to 16384"),
    "nc_find_index8: eight": (lambda a: nisa.nc_find_index8(data=a, vals=a), (A,), "eight values"),
    "nc_find_index8: unsigned": (
        lambda a: nisa.nc_find_index8(data=a, vals=a[:, 0:8], dtype=np.int32), (A,), "uint16"),
    "nc_match_replace8: eight": (
        lambda a: nisa.nc_match_replace8(data=a, vals=a[:, 0:4], imm=0.0), (A,), "eight values"),
    "sequence_bounds: one partition": (lambda a: nisa.sequence_bounds(segment_ids=a), (WORDS,),
                                       "one partition holds"),
    "tensor_copy_predicated: unsigned": (_copied(F), (A, A), "uint8, uint16 or uint32"),
    "tensor_copy_predicated: one dtype": (_copied(nl.bfloat16), (A, BYTES), "same dtype"),
    "select_reduce: integers": (_selected(), (A, A), "int8, uint8"),
    "select_reduce: the maximum": (_selected(reduce_op=np.min), (A, BYTES), "must be maximum"),
    "local_gather: uint16": (lambda a: nisa.local_gather(a, a[:, 0:2]), (A,), "must be uint16"),
    "local_gather: groups of 16": (lambda a, i: nisa.local_gather(a[0:9], i[0:9]), (A, PLACES),
                                   "multiple of 16"),
    "local_gather: powers of two": (lambda a, i: nisa.local_gather(a, i, 3), (A, PLACES),
                                    "must be one of"),
    "local_gather: whole groups": (
        lambda a, i: nisa.local_gather(a, i, mask=nl.arange(64)[:, None] < 3), (A, PLACES),
        "shares its indices"),
    "nc_stream_shuffle: 32 numbers": (_shuffled([0] * 31), (A,), "list of 32"),
    "nc_stream_shuffle: inside 32": (_shuffled([40] * 32), (A,), "0 to 31"),
    "dma_copy: not PSUM": (lambda a: nisa.dma_copy(dst=_hbm(a), src=_moved(a)), (A,),
                           "PSUM is reached by engines only"),
    "dma_copy: adds only": (_sent(dst_rmw_op=np.multiply), (A,), "only add"),
    "dma_copy: adding takes error": (_sent(dst_rmw_op=np.add, oob_mode=nisa.oob_mode.skip), (A,),
                                     "oob_mode.error only"),
    "dma_copy: no hardware descriptors": (_sent(dge_mode=nisa.dge_mode.hwdge), (A,),
                                          "NeuronCore-v3"),
    "dma_transpose: one order": (lambda a: nisa.dma_transpose(a, axes=(0, 1)), (A,), r"\(1, 0\)"),
    "tensor_copy: its engines": (lambda a: nisa.tensor_copy(a, engine=nisa.tensor_engine), (A,),
                                 "Tensor"),
    "tensor_copy: GpSimd and PSUM": (
        lambda a: nisa.tensor_copy(_moved(a), engine=nisa.gpsimd_engine), (A,), "cannot reach"),
    "mask: a box": (_triangle, (A,), "no box"),
    "mask: of the tile": (_mask_of_another_shape, (A,), "the mask has shape"),
}  # fmt: skip


@for_each("name", LIMITS)
def test_it_is_refused_in_one_sentence(name):
    build, arrays, match = LIMITS[name]

    def kernel(*tensors):
        build(*[nl.load(tensor) for tensor in tensors])

    with pytest.raises((NkiValidationError, TypeError), match=match) as error:
        nki.run(jit(kernel), *arrays, optimise=False)
    assert "\n" not in str(error.value)
