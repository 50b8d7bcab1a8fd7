"""Limits of single instructions, one case each.  Judge: the sentences of the reference.

As test_limits_of_instructions.py, for the names of ``nki.isa`` from ``nc_matmul`` to ``topk`` and
``sequence_bounds``: one step past a stated limit raises, naming it; what the reference allows runs.
"""

import numpy as np

import trainium_edu.nki as nki
import trainium_edu.nki.isa as nisa
import trainium_edu.nki.language as nl
from tests.for_each import for_each, raises
from tests.nki.cases import U16, U32, Later, P, h, of, refused, t, tile

CMD, ENGINE = nisa.reduce_cmd, nisa.engine
GPSIMD, SCALAR, TENSOR, VECTOR = ENGINE.gpsimd, ENGINE.scalar, ENGINE.tensor, ENGINE.vector
BF16, FP8, TF32, I8, I16, I32, U8 = (
    {"dtype": d}
    for d in (nl.bfloat16, nl.float8_e4m3, nl.tfloat32, nl.int8, nl.int16, nl.int32, nl.uint8)
)


def p(*shape, **more):
    return Later(tile, *shape, buffer=nl.psum, **more)


def fresh(*shape, dtype=nl.float32):
    """Return an empty tile in PSUM, as a matmul starts with."""
    return Later(nl.ndarray, shape, dtype, buffer=nl.psum)


def part(first, end):
    """Return partitions `first` to `end` of a tile of 128."""
    return Later(lambda: tile(128, 8)[first:end])


product = of(nisa.nc_matmul, dst=fresh(8, 16), stationary=t(64, 8, **BF16),
             moving=t(64, 16, **BF16))  # fmt: skip
halves = {"tile_position": (64, 0), "tile_size": (64, 128)}
pick = of(nisa.nc_n_gather, dst=t(4, 3), data=tile, indices=t(4, 3, **U32))
shuffle = of(nisa.nc_stream_shuffle, dst=t(32, 8), src=t(32, 8), shuffle_mask=[0] * 32)
turn = of(nisa.nc_transpose, dst=t(8, 4), data=tile)
flip, dice = of(nisa.reciprocal, dst=tile, data=tile), of(nisa.rng, dst=t(4, 8, **U32))
seed = of(nisa.set_rng_seed, src_seeds=t(1, 1, **U32))
chain = of(nisa.scalar_tensor_tensor, dst=tile, data=tile, op0=nl.multiply, operand0=2.0,
           op1=nl.add, operand1=tile)  # fmt: skip
choose = of(nisa.select_reduce, dst=tile, predicate=t(4, 8, **U8), on_true=tile, on_false=0.0)
bounds = of(nisa.sequence_bounds, dst=t(1, 2, 8, **I32), segment_ids=t(1, 8, **I32))
copy = of(nisa.tensor_copy, dst=tile, src=tile)
where = of(nisa.tensor_copy_predicated, dst=tile, src=tile, predicate=t(4, 8, **U8))
across = of(nisa.tensor_partition_reduce, dst=t(1, 8), op=nl.add, data=tile)
fold = of(nisa.tensor_reduce, dst=t(4, 1), op=nl.add, data=tile, axis=1)
scalar = of(nisa.tensor_scalar, dst=tile, data=tile, op0=nl.add, operand0=1.0)
whole = of(nisa.tensor_scalar, dst=t(4, 8, **I32), data=t(4, 8, **I32), op0=nl.bitwise_and,
           operand0=1)  # fmt: skip
running = of(nisa.tensor_scalar_cumulative, dst=tile, src=tile, op0=nl.multiply, op1=nl.add,
             imm0=1.0)  # fmt: skip
summed = of(nisa.tensor_scalar_reduce, dst=tile, data=tile, op0=nl.multiply, operand0=1.0,
            reduce_op=nl.add)  # fmt: skip
pair = of(nisa.tensor_tensor, dst=tile, data1=tile, data2=tile, op=nl.add)
scan = of(nisa.tensor_tensor_scan, dst=tile, data0=tile, data1=tile, initial=0.0, op0=nl.multiply,
          op1=nl.add)  # fmt: skip
best = of(nisa.topk, val_dst=t(16, 8, **BF16), idx_dst=t(16, 8, **U32), src=t(16, 3, **BF16), n=42)

LIMITS = {
    # nc_matmul
    "double_row": (product(perf_mode=nisa.matmul_perf_mode.double_row), "NeuronCore-v3"),
    "128 columns and one": (product(stationary=t(64, 129, **BF16)), "128 columns"),
    "512 moving columns and one": (product(moving=t(64, 513, **BF16)), "512 float32"),
    "other partitions": (product(moving=t(32, 16, **BF16)), "64 partitions and moving has 32"),
    "a quarter of the rows": (product(tile_position=(0, 0), tile_size=(32, 128)), "NeuronCore-v3"),
    "65 rows in a half": (
        product(stationary=t(65, 8, **BF16), moving=t(65, 16, **BF16), **halves), "64 rows"
    ),
    "65 columns in a half": (
        product(stationary=t(64, 65, **BF16), tile_position=(0, 0), tile_size=(128, 64)),
        "64 columns",
    ),
    "a half at row 32": (product(tile_position=(32, 0), tile_size=(64, 128)), "multiples"),
    "a half at row 128": (product(tile_position=(128, 0), tile_size=(64, 128)), "below 128"),
    "a position alone": (product(tile_position=(64, 0)), "needs both"),
    "a size alone": (product(tile_size=(64, 128)), "needs both"),
    "stationary in PSUM": (product(stationary=p(64, 8, **BF16)), "from SBUF"),
    "moving in PSUM": (product(moving=p(64, 16, **BF16)), "from SBUF"),
    "moving in HBM": (product(moving=h(64, 16, **BF16)), "from SBUF"),
    "a product into SBUF": (product(dst=t(8, 16)), "PSUM only"),
    "a product into BF16": (product(dst=fresh(8, 16, **BF16)), "float32"),
    "int8 operands": (product(stationary=t(64, 8, **I8)), "stationary is int8"),
    "TF32 by BF16": (product(stationary=t(64, 8, **TF32)), "the other must be too"),
    "BF16 by FP32": (product(moving=t(64, 16)), "the other must be too"),
    "dst of other columns": (product(dst=fresh(8, 15)), r"give \[8, 16\]"),
    # nc_n_gather, nc_stream_shuffle, nc_transpose
    "gathered from PSUM": (pick(data=P), "PSUM"),
    "gathered by PSUM": (pick(indices=p(4, 3, **U32)), "PSUM"),
    "gathered into PSUM": (pick(dst=p(4, 3)), "PSUM"),
    "gathered into BF16": (pick(dst=t(4, 3, **BF16)), "same dtype"),
    "gathered by int32": (pick(indices=t(4, 3, **I32)), "uint32"),
    "gathered by other partitions": (pick(indices=t(8, 3, **U32)), r"must be \[4, 3\]"),
    "gathered into 4 elements": (pick(dst=t(4, 4)), r"must be \[4, 3\]"),
    "element 8 of 8": (pick(indices=t(4, 3, **U32, value=8)), "elements 0 to 7"),
    "shuffled from partition 32": (shuffle(shuffle_mask=[32] * 32), "0 to 31"),
    "shuffled by 254": (shuffle(shuffle_mask=[254] * 32), "255 leaves it"),
    "shuffled into BF16": (shuffle(dst=t(32, 8, **BF16)), "same dtype"),
    "shuffled into 9 elements": (shuffle(dst=t(32, 9)), r"must be \[32, 8\]"),
    "33 partitions shuffled from 32": (shuffle(dst=part(0, 33), src=part(32, 65)), "0 or 64"),
    "65 partitions shuffled into 64": (shuffle(dst=part(63, 128), src=part(0, 65)), "on 0 "),
    "1 partition shuffled from 16": (shuffle(src=part(16, 17)), "0 or 32 or 64 or 96"),
    "a transpose by Tensor of 129": (turn(dst=p(128, 4), data=t(4, 129), engine=TENSOR), "128, 12"),
    "a transpose by Tensor from PSUM": (turn(dst=p(8, 4), data=P, engine=TENSOR), "reads SBUF"),
    "a transpose by Tensor into SBUF": (turn(engine=TENSOR), "writes PSUM"),
    "a transpose by Scalar": (turn(engine=SCALAR), "not on the Scalar"),
    "a transpose into FP16": (turn(dst=t(8, 4, dtype=nl.float16)), "same dtype"),
    "a transpose into its own shape": (turn(dst=tile), r"becomes \[8, 4\]"),
    # range_select, reciprocal, rng, set_rng_seed
    "range_select": (
        lambda: nisa.range_select(tile(), tile(), nl.less, nl.less, tile(4, 1), tile(4, 1)),
        "NeuronCore-v3",
    ),
    "a reciprocal of other elements": (flip(dst=t(4, 9)), "same number"),
    "a reciprocal of other partitions": (flip(dst=t(8, 4)), "same partitions"),
    "a reciprocal of HBM": (flip(data=h()), "HBM"),
    "dice in floats": (dice(dst=tile), "integers"),
    "dice by GpSimd": (dice(engine=GPSIMD), "NeuronCore-v3"),
    "dice by Scalar": (dice(engine=SCALAR), "not on the Scalar"),
    "a seed of 16 bits": (seed(src_seeds=t(1, 1, **U16)), "32-bit"),
    "two seeds": (seed(src_seeds=t(1, 2, **U32)), r"\[1, 1\]"),
    "a seed in HBM": (seed(src_seeds=h(1, 1, **U32)), "HBM"),
    # scalar_tensor_tensor, select_reduce, sequence_bounds
    "op0 on bits": (chain(op0=nl.bitwise_and, operand0=1), "works on bits"),
    "op1 on bits": (chain(op1=nl.bitwise_or), "works on bits"),
    "op1 of one input": (chain(op1=nl.abs), "takes one input"),
    "both tiles in PSUM": (chain(data=P, operand1=P), "both in PSUM"),
    "operand0 of two columns": (chain(operand0=t(4, 2)), r"\[4, 1\]"),
    "operand0 of other partitions": (chain(operand0=t(8, 1)), r"\[4, 1\]"),
    "operand1 of one column": (chain(operand1=t(4, 1)), "same number"),
    "operand0 beside a unary op0": (chain(op0=nl.abs), "None or 0"),
    "predicate and on_true in PSUM": (choose(predicate=p(4, 8, **U8), on_true=P), "both in PSUM"),
    "selected from int32": (choose(on_true=t(4, 8, **I32)), "int32"),
    "selected from uint32": (choose(on_true=t(4, 8, **U32)), "uint32"),
    "selected from TF32": (choose(on_true=t(4, 8, **TF32)), "tfloat32"),
    "selected by uint32": (choose(predicate=t(4, 8, **U32)), "predicate is uint32"),
    "selected by floats": (choose(predicate=tile), "predicate is float32"),
    "selected by 7 elements": (choose(predicate=t(4, 7, **U8)), "same number"),
    "on_false of two columns": (choose(on_false=t(4, 2)), r"\[4, 1\]"),
    "reduce_res of integers": (choose(reduce_res=t(4, 1, **I32)), "must be float32"),
    "reduce_res of two columns": (choose(reduce_res=t(4, 2)), r"\[4, 1\]"),
    "select_reduce by a sum": (choose(reduce_op=nl.add), "must be maximum"),
    "select_reduce that loads": (choose(reduce_cmd=CMD.load_reduce), "idle, reset_reduce, reduce"),
    "segments of two partitions": (
        bounds(dst=t(2, 2, 8, **I32), segment_ids=t(2, 8, **I32)), "one partition"
    ),
    "segments in int16": (bounds(segment_ids=t(1, 8, **I16)), "float32 or int32"),
    "bounds in BF16": (bounds(dst=t(1, 2, 8, **BF16)), "float32 or int32"),
    "bounds of 9": (bounds(dst=t(1, 2, 9, **I32)), "a start and an end"),
    "a segment below 0": (bounds(segment_ids=t(1, 8, **I32, value=-1)), "an id is"),
    # tensor_copy, tensor_copy_predicated, tensor_partition_reduce, tensor_reduce
    "a copy by Scalar": (copy(engine=SCALAR), "activation.*nl.copy"),
    "a copy by Tensor": (copy(engine=TENSOR), "not on the Tensor"),
    "a copy by GpSimd from PSUM": (copy(src=P, engine=GPSIMD), "run it on the Vector"),
    "a copy of other partitions": (copy(dst=t(8, 4)), "same partitions"),
    "a copy from HBM": (copy(src=h()), "HBM"),
    "src and predicate in PSUM": (where(src=P, predicate=p(4, 8, **U8)), "both in PSUM"),
    "copied by int8": (where(predicate=t(4, 8, **I8)), "uint8, uint16 or uint32"),
    "copied by floats": (where(predicate=tile), "uint8, uint16 or uint32"),
    "copied into BF16": (where(dst=t(4, 8, **BF16)), "same dtype"),
    "copied from one column": (where(src=t(4, 1)), "same number"),
    "copied by other partitions": (where(predicate=t(8, 4, **U8)), "same partitions"),
    "a minimum across partitions": (across(op=nl.minimum), "add, average, max"),
    "across partitions of PSUM": (across(data=P), "PSUM"),
    "across partitions into 4": (across(dst=tile), "one partition"),
    "bits of floats across partitions": (across(op=nl.bitwise_or), "integers"),
    "axis 0": (fold(axis=0), "partition axis"),
    "an axis before the last": (fold(data=t(4, 2, 4), axis=1), "omits the last"),
    "two axes with a gap": (fold(data=t(4, 2, 2, 2), axis=(1, 3)), "leaves out|the last"),
    "axis 2 of 2": (fold(axis=2), "out of bounds"),
    "folded by a comparison": (fold(op=nl.equal), "does not reduce"),
    "folded by abs_max": (fold(op=nl.abs_max), "NeuronCore-v4"),
    "bits negated": (
        fold(dst=t(4, 1, **I32), data=t(4, 8, **I32), op=nl.bitwise_xor, negate=True), "-1.0"
    ),
    "bits of floats folded": (fold(op=nl.bitwise_and), "integer dtypes"),
    "folded into two columns": (fold(dst=t(4, 2)), "1 element"),
    "folded into other partitions": (fold(dst=t(8, 1)), "4 partitions"),
    # tensor_scalar
    "operand1 without op1": (scalar(operand1=1.0), "without op1"),
    "bits and numbers": (scalar(op1=nl.bitwise_and, operand1=1), "two kinds"),
    "bits of floats": (scalar(op0=nl.bitwise_and, operand0=1), "integer dtypes"),
    "bits by GpSimd": (whole(engine=GPSIMD), "only the Vector Engine"),
    "bits by Scalar": (whole(engine=SCALAR), "only the Vector Engine"),
    "operand0 in BF16": (scalar(operand0=t(4, 1, **BF16)), "float32"),
    "operand1 in int32": (scalar(op1=nl.add, operand1=t(4, 1, **I32)), "float32"),
    "operand0 of the tile's shape": (scalar(operand0=tile), r"\[4, 1\]"),
    "a unary op0 with 1.0": (scalar(op0=nl.abs), "None or 0"),
    "a unary op1 with 1.0": (scalar(op1=nl.reciprocal, operand1=1.0), "None or 0"),
    "a sum by GpSimd": (scalar(engine=GPSIMD), "rsqrt only"),
    "rsqrt by Vector": (scalar(op0=nl.rsqrt, operand0=0, engine=VECTOR), "runs on the GpSimd"),
    "rsqrt from PSUM": (scalar(op0=nl.rsqrt, operand0=0, data=P), "PSUM"),
    "a maximum by Scalar": (scalar(op0=nl.maximum, engine=SCALAR), "multiply, add"),
    "add then multiply by Scalar": (
        scalar(op1=nl.multiply, operand1=1.0, engine=SCALAR), "multiply then add"
    ),
    "an operator of the Scalar Engine": (scalar(op0=nl.exp), "not an ALU operator"),
    # tensor_scalar_cumulative, tensor_scalar_reduce
    "cumulated from int32": (running(src=t(4, 8, **I32)), "32-bit integers"),
    "cumulated into uint32": (running(dst=t(4, 8, **U32)), "32-bit integers"),
    "cumulated bits": (running(op0=nl.bitwise_and, imm0=1), "works on bits"),
    "cumulated by a comparison": (running(op1=nl.greater), "one of add, subtract"),
    "imm0 in BF16": (running(imm0=t(4, 1, **BF16)), "float32"),
    "imm1 in BF16": (running(imm1=t(4, 1, **BF16), reduce_cmd=CMD.load_reduce), "float32"),
    "cumulated idly": (running(reduce_cmd=CMD.idle), "reset_reduce, reduce, load_reduce"),
    "cumulated into 9": (running(dst=t(4, 9)), "same number"),
    "reduced bits": (summed(op0=nl.bitwise_and, operand0=1), "works on bits"),
    "reduced by subtraction": (summed(reduce_op=nl.subtract), "add, multiply, maximum, minimum"),
    "reduced in reverse": (summed(reverse0=True), "not supported yet"),
    "reduced idly": (summed(reduce_cmd=CMD.idle), "reset_reduce, reduce, load_reduce"),
    "a start without load_reduce": (summed(reduce_init=1.0), "goes with load_reduce"),
    "a start in BF16": (
        summed(reduce_init=t(4, 1, **BF16), reduce_cmd=CMD.load_reduce), "float32"
    ),
    "a sum of two columns": (summed(reduce_res=t(4, 2)), r"\[4, 1\]"),
    "reduced beside a unary op0": (summed(op0=nl.abs), "None or 0"),
    # tensor_tensor, tensor_tensor_scan
    "two tiles in PSUM": (pair(data1=P, data2=P), "both in PSUM"),
    "bits of a float and an integer": (pair(data2=t(4, 8, **I32), op=nl.bitwise_xor), "integer"),
    "a power in PSUM": (pair(dst=P, op=nl.power), "PSUM"),
    "a power by Vector": (pair(op=nl.power, engine=VECTOR), "GpSimd Engine only"),
    "integers by GpSimd in PSUM": (
        pair(dst=t(4, 8, **I32), data1=p(4, 8, **I32), data2=t(4, 8, **I32), engine=GPSIMD), "PSUM"
    ),
    "two tiles by Scalar": (pair(engine=SCALAR), "not on the Scalar"),
    "two tiles by one input": (pair(op=nl.abs), "takes one input"),
    "a row and a column": (pair(data2=t(4, 1)), "same number"),
    "two tiles of other partitions": (pair(data1=t(8, 8)), "same partitions"),
    "a scan of PSUM": (scan(data0=P, data1=P), "both in PSUM"),
    "a scan by bits": (scan(op0=nl.bitwise_or), "arithmetic on two"),
    "a scan by one input": (scan(op1=nl.abs), "arithmetic on two"),
    "a scan from two columns": (scan(initial=t(4, 2)), r"\[4, 1\]"),
    "a scan of other sizes": (scan(data1=t(4, 7)), "same number"),
    # topk
    "topk of FP32": (best(src=t(16, 3)), "bfloat16"),
    "topk from PSUM": (best(src=p(16, 3, **BF16)), "PSUM"),
    "topk values in FP32": (best(val_dst=t(16, 8)), "bfloat16"),
    "topk indices in int32": (best(idx_dst=t(16, 8, **I32)), "uint32"),
    "topk of 7": (best(n=7), "8 to 65535"),
    "topk of 65536": (best(n=65536), "8 to 65535"),
    "topk of more than there is": (best(n=49), "hold 48"),
    "9 best of 8": (
        best(n=8, val_dst=t(16, 9, **BF16), idx_dst=t(16, 9, **U32)), "at most n = 8"
    ),
    "topk of 8 partitions": (
        best(src=t(8, 6, **BF16), val_dst=t(8, 8, **BF16), idx_dst=t(8, 8, **U32)), "of 16"
    ),
    "topk of two shapes": (best(idx_dst=t(16, 9, **U32)), "the same k"),
}  # fmt: skip


@for_each("name", LIMITS)
def test_one_step_past_a_limit_is_refused_and_says_so(name):
    refused(*LIMITS[name])


ALLOWED = {
    "FP8 by FP16": product(stationary=t(64, 8, **FP8), moving=t(64, 16, dtype=nl.float16)),
    "E5M2 by E4M3": product(stationary=t(64, 8, dtype=nl.float8_e5m2), moving=t(64, 16, **FP8)),
    "TF32 by FP32": product(stationary=t(64, 8, **TF32), moving=t(64, 16)),
    "128 x 128 by 128 x 512": product(
        dst=fresh(128, 512), stationary=t(128, 128, **BF16), moving=t(128, 512, **BF16)),
    "the lower half of the rows": product(**halves),
    "a half of the columns": product(tile_position=(0, 64), tile_size=(128, 64)),
    "tiling as lists of NumPy": product(tile_position=[np.int64(64), 0], tile_size=[64, 128]),
    "a matmul that transposes": product(is_transpose=True, accumulate=False),
    "several free axes": product(dst=fresh(8, 2, 8), moving=t(64, 4, 4, **BF16)),
    "gathered from several axes": pick(data=t(4, 2, 2, 2), indices=t(4, 3, **U32, value=7)),
    "gathered FP8": pick(data=t(4, 8, **FP8), dst=t(4, 3, **FP8)),
    "one partition to all of a quarter": shuffle(src=part(96, 97), dst=part(32, 64)),
    "shuffled between PSUM": shuffle(dst=p(32, 8), src=p(32, 8), shuffle_mask=(255,) * 32),
    "64 partitions from 64": shuffle(src=part(64, 128), dst=part(0, 64)),
    "a mask of NumPy": shuffle(shuffle_mask=np.arange(32)),
    "a transpose by Vector in PSUM": turn(dst=p(8, 4), data=P, engine=VECTOR),
    "a transpose of int8 by Tensor": turn(dst=p(8, 4, **I8), data=t(4, 8, **I8), engine=TENSOR),
    "a transpose of several free axes": turn(data=t(4, 2, 4)),
    "a reciprocal of int16 in PSUM": flip(dst=p(4, 2, 4, **BF16), data=p(4, 8, **I16)),
    "dice in PSUM": dice(dst=p(4, 8, **I8)), "a seed in PSUM": seed(src_seeds=p(1, 1, **I32)),
    "a chain from PSUM": chain(data=P, dst=P, operand0=p(4, 1, **BF16)),
    "a chain on integers": chain(data=t(4, 8, **I32), operand1=t(4, 8, **U8)),
    "a unary op0": chain(op0=nl.abs, operand0=None),
    "selected by int8 in PSUM": choose(predicate=p(4, 8, **I8), dst=p(4, 8, **BF16)),
    "on_false by partition": choose(on_false=t(4, 1, **BF16), reduce_op=nl.max),
    "bounds of FP32 in INT32": bounds(segment_ids=t(1, 8)),
    "a copy by the old name": copy(engine=nisa.vector_engine, src=P, dst=P),
    "a copy to another free shape": copy(dst=t(4, 2, 4, **U8)),
    "a number copied by uint32": where(src=1.5, predicate=t(4, 8, **U32), reverse_pred=True),
    "predicate in PSUM": where(predicate=p(4, 8, **U16)),
    "average across partitions": across(op="average"), "the mean": across(op=nl.mean),
    "nl.max across partitions": across(op=nl.max),
    "bits across partitions": across(op=nl.bitwise_or, data=t(4, 8, **U8), dst=t(1, 8, **U8)),
    "three axes in a list": fold(data=t(4, 2, 2, 2), axis=[1, 2, 3], negate=True),
    "the last axis from behind": fold(data=p(4, 2, 4), dst=p(4, 2, 1), axis=-1, keepdims=True),
    "logical folds": fold(op=nl.logical_xor, dst=t(4, 1, **U8)),
    "bypass with an operand": scalar(op0=nl.add, op1="bypass", operand1=3.0),
    "abs with 0": scalar(op0=nl.abs, operand0=0.0, op1=nl.multiply, operand1=p(4, 1)),
    "reversed operands": scalar(op0=nl.subtract, reverse0=True, op1=nl.subtract,
                                operand1=t(4, 1), reverse1=True, data=P),
    "rsqrt by GpSimd": scalar(op0=nl.rsqrt, operand0=0.0, engine=GPSIMD),
    "multiply then add by Scalar": scalar(op0=nl.multiply, op1=nl.add, operand1=1.0,
                                          engine=SCALAR),
    "inverted bits": whole(op0=nl.invert, operand0=None),
    "bits by partition": whole(operand0=t(4, 1, **I32), op1=nl.left_shift, operand1=2),
    "NumPy's name of an operator": scalar(op0=np.multiply),
    "cumulated FP8 into int16": running(src=t(4, 8, **FP8), dst=t(4, 8, **I16)),
    "imm1 beside reset_reduce": running(imm1=1.0),
    "cumulated absolute values": running(op0=nl.abs, imm0=None, op1=nl.max),
    "a sum left in the registers": summed(reduce_cmd=CMD.load_reduce, reduce_init=t(4, 1)),
    "a largest in PSUM": summed(reduce_op=nl.max, reduce_res=p(4, 1)),
    "a power in SBUF": pair(op=nl.power), "a sum by GpSimd": pair(engine=GPSIMD),
    "integers by Vector": pair(dst=t(4, 8, **I32), data1=t(4, 8, **I32), data2=t(4, 8, **I32),
                               engine=VECTOR),
    "one input in PSUM": pair(data2=P, dst=P), "another free shape": pair(dst=t(4, 2, 4)),
    "a scan from a column in PSUM": scan(initial=p(4, 1, **BF16), data1=P, reverse0=True),
    "a scan by comparisons": scan(op0=nl.maximum, op1=nl.greater),
    "topk of all there is": best(n=np.int64(48)),
}  # fmt: skip


@for_each("name", ALLOWED)
def test_what_the_reference_allows_runs(name):
    nki.simulate(ALLOWED[name])()


WRONG = {
    "accumulate as text": (product(accumulate="yes"), "True or False: None adds"),
    "is_transpose as text": (product(is_transpose="no"), "True or False"),
    "a hint as a number": (product(is_moving_onezero=1), "True or False"),
    "tiling by a number": (product(tile_position=64, tile_size=64), "two integers"),
    "tiling by fractions": (product(tile_position=(0, 0), tile_size=(64.0, 128)), "two integers"),
    "perf_mode by no member's value": (product(perf_mode="fast"), "nki.isa.matmul_perf_mode"),
    "moving as a number": (product(moving=1.0), "a tile in SBUF"),
    "a mask of 31": (shuffle(shuffle_mask=[0] * 31), "list of 32"),
    "a mask of fractions": (shuffle(shuffle_mask=[0.0] * 32), "an integer"),
    "a mask that is a number": (shuffle(shuffle_mask=0), "list of 32"),
    "a generator by name": (dice(engine="vector"), "nki.isa.engine"),
    "operand1 as a number": (chain(operand1=1.0), "it must be a tile"),
    "a missing operand0": (chain(operand0=None), "operand0 is None"),
    "on_false as truth": (choose(on_false=True), "a number or a tile"),
    "reverse_pred as a number": (choose(reverse_pred=1), "True or False"),
    "reduce_cmd by no member's number": (choose(reduce_cmd=9), "nki.isa.reduce_cmd"),
    "src as text": (where(src="1"), "a number or a tile"),
    "an axis of 1.0": (fold(axis=1.0), "an integer"),
    "no axis": (fold(axis=None), "an integer"),
    "an axis that is true": (fold(axis=True), "an integer"),
    "op1 without operand1": (scalar(op1=nl.add), "operand1 is None"),
    "bits by a fraction": (whole(operand0=1.5), "an integer"),
    "an operand as an array": (scalar(operand0=np.ones((4, 1), np.float32)), "a number or a tile"),
    "reverse0 as a number": (scalar(reverse0=1), "True or False"),
    "load_reduce of nothing": (summed(reduce_cmd=CMD.load_reduce), "reduce_init"),
    "load_reduce without imm1": (running(reduce_cmd=CMD.load_reduce), "imm1"),
    "a sum as a number": (summed(reduce_res=1.0), "it must be a tile"),
    "data2 as a number": (pair(data2=1.0), "it must be a tile"),
    "initial as nothing": (scan(initial=None), "a number or a tile"),
    "an unknown keyword": (fold(mask=None), "mask"),
    "an engine that it does not choose": (scan(engine=VECTOR), "engine"),
}  # fmt: skip


@for_each("name", WRONG)
def test_a_choice_of_the_wrong_kind_is_a_type_error(name):
    kernel, words = WRONG[name]
    raises(TypeError, words, nki.simulate(kernel))


def test_integers_fall_back_to_vector_where_psum_is_in_the_way():
    """As the reference says of the automatic dispatch to GpSimd."""
    ints = {"data1": t(4, 8, **I32), "data2": t(4, 8, **I32), "dst": t(4, 8, **I32)}
    in_psum = p(4, 8, **I32)
    for change, engine in (
        ({}, "gpsimd"), ({"data1": in_psum}, "vector"), ({"dst": in_psum}, "vector"),
        ({"data2": tile}, "vector"),
    ):  # fmt: skip
        run = nki.run(pair(**(ints | change)))
        assert run.program.instructions[-1].engine == engine


def test_accumulators_pass_from_one_kind_of_instruction_to_another():
    """The Vector Engine's registers are shared: a scan starts them, two others go on."""
    values = np.float32([[3, 1], [-5, 2]])

    def kernel(x):
        tile_, most = nl.load(x), nl.ndarray((2, 1), nl.float32)
        other, ones = nl.ndarray((2, 2), nl.float32), tile(2, 2, dtype=nl.uint8, value=1)
        nisa.tensor_scalar_cumulative(other, tile_, nl.add, nl.max, 0.0)
        nisa.tensor_scalar_reduce(
            other, tile_, nl.multiply, -1.0, nl.max, reduce_cmd=CMD.reduce, reduce_res_negate=True
        )
        nisa.select_reduce(other, ones, tile_, 0.0, most, CMD.reduce)
        out = nl.ndarray((2, 1), nl.float32, buffer=nl.shared_hbm)
        nl.store(out, most)
        return out

    np.testing.assert_array_equal(nki.simulate(kernel)(values), [[3], [5]])
