"""What single instructions refuse.  Judge: the limits that the reference states for each.

Refusals that a kernel reaches stand in tests/nki/limits.toml, which come here through ``nki``;
those of this table are the others.
"""

import numpy as np

from tests.for_each import for_each, raises
from tests.neuroncore.engines.bench import Bench
from trainium_edu.neuroncore.recording.engine import Engine
from trainium_edu.neuroncore.recording.indirect import OutOfBoundsError
from trainium_edu.specs import NkiValidationError


def case(words, error=NkiValidationError, **change):
    """Return the words of a refusal and the operands that are other than usual."""
    return words, error, change


NUMBERS, COLUMN = tuple(range(32)), r"\[2, 1\]"
#: Usual operands of an instruction; changes of them and the words of the refusal.
REFUSED = {
    "memset": [
        {"dst": (2, 2), "value": 1.0},
        case("integer tile cannot hold a float", dst=(2, 2, "int32"), value=2.0),
        case("uint8 goes from 0 to 255", dst=(2, 2, "uint8"), value=-1),
        case("one number", TypeError, value="1"),
        case("one number", TypeError, value=None),
        case("one number", TypeError, value=1j),
    ],
    "tensor_tensor": [
        {"dst": (2, 3), "data1": (2, 3), "data2": (2, 3), "op": "add"},
        case("same number of elements", dst=(2, 4)),
        case("in HBM", data1=(2, 3, "hbm")),
        case("it must be a tile", TypeError, data2=2.0),
        case("no operand 'mask'", TypeError, mask=None),
    ],
    "tensor_scalar": [
        {"dst": (2, 3), "data": (2, 3), "op0": "add", "operand0": 1.0},
        case("operand0 is None", TypeError, operand0=None),
        case("number or a tile", TypeError, operand0="2"),
        case("number or a tile", TypeError, operand0=True),
        case("401 digits", operand0=10**400),
        case("NeuronCore-v4", op0="square", operand0=None),
        case("Scalar Engine takes", op0="subtract", engine="scalar"),
        case(COLUMN, operand0=(1, 1)),
    ],
    "tensor_reduce": [
        {"dst": (2, 3), "data": (2, 3, 4), "op": "add", "axis": 2},
        case("a reduction includes it", axis=(1,)),
        case("a reduction includes it", axis=()),
        case("out of bounds", axis=3),
        case("an integer", TypeError, axis="1"),
        case("True or False", TypeError, negate=2),
        case(r"dst is \[2, 3\]", axis=(1, 2)),
    ],
    "tensor_tensor_scan": [
        {"dst": (2, 3), "data0": (2, 3), "data1": (2, 3), "initial": 0.0, "op0": "multiply",
         "op1": "add"},
        case("arithmetic on two", op0="bitwise_and"),
        case("True or False", TypeError, reverse0="no"),
    ],
    "tensor_scalar_cumulative": [
        {"dst": (2, 3), "src": (2, 3), "op0": "add", "op1": "add", "imm0": 0.0},
        case("op1 is equal", op1="equal"),
        case("works on bits", op0="bitwise_or"),
        case("imm1", TypeError, imm1="x"),
    ],
    "activation": [
        {"dst": (2, 3), "data": (2, 3), "op": "exp"},
        case("bring it on chip with dma_copy", data=(2, 3, "hbm")),
        case("number or a tile", TypeError, bias="b"),
        case("number or a tile", TypeError, scale=None),
        case("not a function", op="cos"),
        case("not on the Vector Engine", engine="vector"),
        case(COLUMN, bias=(2, 3)),
    ],
    "scalar_tensor_tensor": [
        {"dst": (2, 3), "data": (2, 3), "op0": "add", "operand0": 1.0, "op1": "add",
         "operand1": (2, 3)},
        case("works on bits", op1="left_shift"),
    ],
    "tensor_scalar_reduce": [
        {"dst": (2, 3), "data": (2, 3), "op0": "add", "operand0": 0.0, "reduce_op": "add"},
        case("works on bits", op0="invert"),
        case("True or False", TypeError, reduce_res_negate=0),
    ],
    "tensor_copy_predicated": [
        {"dst": (1, 4), "src": (1, 4), "predicate": (1, 4, "uint8")},
        case("same dtype", src=(1, 4, "bfloat16")),
        case("number or a tile", TypeError, src="x"),
        case("True or False", TypeError, reverse_pred=None),
    ],
    "nc_find_index8": [
        {"dst": (1, 8, "uint32"), "data": (1, 8), "vals": (1, 8)},
        case("uint16 or uint32", dst=(1, 8)),
    ],
    "nc_match_replace8": [
        {"dst": (1, 8), "data": (1, 8), "vals": (1, 8), "imm": 0.0},
        case("imm is", TypeError, imm=None),
    ],
    "bn_aggr": [
        {"dst": (1, 2), "data": (1, 6)},
        case("multiple of 3", data=(1, 4)),
    ],
    "nc_stream_shuffle": [
        {"dst": (32, 2), "src": (32, 2), "shuffle_mask": [*NUMBERS]},
        case("list of 32", TypeError, shuffle_mask=[*NUMBERS[1:]]),
        case("list of 32", TypeError, shuffle_mask=None),
        case("0 to 31", shuffle_mask=[-1, *NUMBERS[:31]]),
        case("an integer", TypeError, shuffle_mask=[1.0, *NUMBERS[:31]]),
    ],
    "nc_transpose": [
        {"dst": (8, 4), "data": (4, 8)},
        case(r"up to \[32, 32\]", data=(33, 32), dst=(32, 33)),
        case(r"up to \[128, 128\]", data=(128, 129), dst=(128, 128, "psum"), engine=Engine.TENSOR),
        case("in HBM", dst=(8, 4, "hbm")),
        case("the same dtype", data=(4, 8, "bfloat16")),
        case("the same dtype", data=(40, 8, "int32"), dst=(8, 40, "psum")),
        case("the same dtype", data=(40, 8), dst=(8, 40, "bfloat16", "psum")),
    ],
    "nc_matmul": [
        {"dst": (4, 8, "psum"), "stationary": (128, 4, "bfloat16"), "moving": (128, 8, "bfloat16")},
        case("128 partitions and moving has 64", moving=(64, 8, "bfloat16")),
        case("other must be too", stationary=(128, 4)),
        case("other must be too", moving=(128, 8, "tfloat32")),
        case("moving is uint8", moving=(128, 8, "uint8")),
        case(r"give \[4, 8\]", dst=(4, 9, "psum")),
        case(r"give \[4, 8\]", dst=(5, 8, "psum")),
        case("NeuronCore-v3", tile_position=(0, 0), tile_size=(64, 32)),
        case("sizes are 64 or 128", tile_position=(0, 0), tile_size=(48, 128)),
        case("needs both", tile_position=(0, 0, 0), tile_size=(64, 128, 1)),
        case("gives it 64 rows", tile_position=(64, 0), tile_size=(64, 128)),
        case("", TypeError, acumulate=True),
        case("", TypeError, moving=3.0),
        case("", TypeError, stationary=None),
        case("", TypeError, is_stationary_onezero=0),
    ],
    "iota": [
        {"dst": (4, 6), "pattern": [[1, 6]]},
        case("makes 5 numbers", pattern=[[1, 5]]),
        case("1 to 4", pattern=[[1, 1]] * 5),
        case("1 to 4", pattern=[]),
        case("pairs", pattern=[[1, 6, 2]]),
        case("integer from 1", pattern=[[1, 0]]),
        case("an integer", TypeError, offset=True),
        case("an integer", TypeError, channel_multiplier=0.5),
    ],
    "affine_select": [
        {"dst": (4, 6), "pattern": [[1, 6]], "channel_multiplier": 0, "on_true_tile": (4, 6),
         "on_false_value": 0.0},
        case("number", TypeError, on_false_value="x"),
        case("number", TypeError, on_false_value=None),
        case("same number of elements", on_true_tile=(4, 7)),
    ],
    "local_gather": [
        {"dst": (32, 32), "src_buffer": (32, 8), "index": np.zeros((32, 2), np.uint16)},
        case("multiple of 16", dst=(24, 32), src_buffer=(24, 8), index=(24, 2, "uint16")),
        case("one of", num_elem_per_idx=True),
        case("hold 1 to 32", num_valid_indices=33),
        case("hold 1 to 32", num_valid_indices=0),
        case("takes 4096", index=(32, 257, "uint16")),
        case("make 32 per partition", dst=(32, 31)),
        case("elements 0 to 7", OutOfBoundsError, index=np.full((32, 2), 8, np.uint16)),
    ],
    "tensor_partition_reduce": [
        {"dst": (1, 4), "op": "add", "data": (8, 4)},
        case("add, average, max", op=["add"]),
        case("add, average, max", op="multiply"),
        case(r"must be \[1, 4\]: one partition", dst=(1, 5)),
        case("same dtype", op="bitwise_or", data=(8, 4, "int32"), dst=(1, 4, "uint8")),
    ],
    "topk": [
        {"val_dst": (32, 8, "bfloat16"), "idx_dst": (32, 8, "uint32"), "src": (32, 3, "bfloat16"),
         "n": 42},
        case("at most n", val_dst=(32, 43, "bfloat16"), idx_dst=(32, 43, "uint32")),
        case("multiple of 16", val_dst=(24, 8, "bfloat16"), idx_dst=(24, 8, "uint32"),
             src=(24, 3, "bfloat16")),
        case("1 to 32767", val_dst=(32, 32768, "bfloat16"), idx_dst=(32, 32768, "uint32"),
             src=(32, 2048, "bfloat16"), n=32768),
        case("n is True; it must be an integer", TypeError, n=True),
    ],
    "sequence_bounds": [
        {"dst": (1, 2, 2, "int32"), "segment_ids": (1, 2, "int32")},
        case("a start and an end", dst=(1, 8, "int32"), segment_ids=(1, 8, "int32")),
        case("float32 or int32", segment_ids=(1, 2, "bfloat16")),
        case("an id is an integer", segment_ids=np.float32([[1, 0.5]])),
        case("an id is an integer", segment_ids=np.float32([[np.nan, 1]])),
    ],
    "dropout": [
        {"dst": (4, 4), "data": (4, 4), "prob": 0.5},
        case("between 0 and 1", prob=-0.1),
        case("float32", data=(4, 4, "int32"), dst=(4, 4, "int32"), prob=(4, 1, "bfloat16")),
        case("must be a float", prob=(4, 1, "int32")),
    ],
    "dma_copy": [
        {"dst": (4, 4), "src": (4, 4, "hbm")},
        case("PSUM is reached by engines only", dst=(4, 4, "psum")),
        case("16 elements .* has 20", dst=(4, 5)),
        case("NeuronCore-v4", priority=1),
        case("", TypeError, src=3.0),
        case("", TypeError, src=None),
        case("", TypeError, src="tile"),
        case("", TypeError, src=[0.0] * 4),
        case("", TypeError, source=(4, 4, "hbm")),
    ],
    "dma_transpose": [
        {"dst": (8, 4), "src": (4, 8, "hbm")},
        case("PSUM", dst=(8, 4, "psum")),
        case("it takes 2, 3 or 4", src=(8, "hbm"), dst=(8, 1)),
    ],
}  # fmt: skip


@for_each("name", REFUSED)
def test_a_wrong_operand_is_refused(name):
    usual, *cases = REFUSED[name]
    Bench().issue(name, **usual)
    for words, error, change in cases:
        bench = Bench()
        raises(error, words, bench.issue, name, **(usual | change))
        assert not bench.core.program.instructions


def test_a_missing_operand_and_a_host_array_are_named(timed):
    one, two = timed.sbuf((4, 4)), timed.psum((4, 8))
    raises(TypeError, "needs the operand 'op'", timed.tensor_tensor, dst=one, data1=one, data2=one)
    raises(TypeError, "src is a host array", timed.dma_copy, dst=one, src=np.zeros(4))
    raises(TypeError, "moving", timed.nc_matmul, dst=two, stationary=one)
