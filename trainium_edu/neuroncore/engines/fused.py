"""Vector Engine instructions that do two things in one pass, and the reciprocal.

``scalar_tensor_tensor`` chains two operators, ``tensor_scalar_reduce`` adds a reduction into the
engine's registers to what it writes.
"""

import numpy as np

from trainium_edu.neuroncore.engines.accumulators import accumulators, check_loaded
from trainium_edu.neuroncore.engines.checks import limits
from trainium_edu.neuroncore.engines.costs import priced
from trainium_edu.neuroncore.engines.operators import get_operator
from trainium_edu.neuroncore.engines.vector import apply, operand_of, rows, store
from trainium_edu.neuroncore.recording.engine import Engine
from trainium_edu.neuroncore.recording.instruction_set import define

# -- reciprocal -------------------------------------------------------------------------------


def _reciprocal(call):
    store(call, "dst", np.float32(1) / rows(call.data))


define(
    "reciprocal", Engine.VECTOR, reads=("data",), execute=_reciprocal, by_shape=True,
    check=limits(data="[P, F]", dst="[P, F]"), **priced("reciprocal_profiled", "dst", "data"),
)  # fmt: skip


# -- scalar_tensor_tensor ---------------------------------------------------------------------


def _scalar_tensor_tensor(call):
    first, second = get_operator(call.op0, "op0"), get_operator(call.op1, "op1")
    data = rows(call.data)
    left = apply(
        first, data, None if first.is_unary else operand_of(call, "operand0"), call.reverse0
    )
    store(call, "dst", apply(second, left, rows(call.operand1), call.reverse1))


def _is_fast(call):
    fast = call.dst.free_size % 2 == 0 and (call.op0, call.op1) == ("subtract", "multiply")
    return fast and call.data.dtype.name == call.operand1.dtype.name == "bfloat16"


define(
    "scalar_tensor_tensor", Engine.VECTOR, reads=("data", "operand0", "operand1"),
    options=("op0", "op1", "operand0", "reverse0", "reverse1"),
    defaults={"reverse0": False, "reverse1": False},
    check=limits(
        op0="operator of numbers", op1="operator of two numbers", data="[P, F]",
        operand1="[P, F]; not in PSUM with data", dst="[P, F]",
        operand0="operand of op0, of any dtype", reverse0="flag", reverse1="flag",
    ),
    execute=_scalar_tensor_tensor, by_shape=True,
    **priced("scalar_tensor_tensor", "dst", "data", "operand1",
             fast="scalar_tensor_tensor_bf16", when=_is_fast),
)  # fmt: skip


# -- tensor_scalar_reduce ---------------------------------------------------------------------


def _check_reverse(call):
    if call.reverse0:
        call.refuse(
            "reverse0 is not supported yet in the reference: use tensor_scalar, which has it, "
            "then tensor_reduce"
        )


def _check_unused_start(call):
    if call.reduce_cmd != "load_reduce" and call.reduce_init is not None:
        call.refuse(f"reduce_init goes with load_reduce, and reduce_cmd is {call.reduce_cmd}")


def _tensor_scalar_reduce(call):
    first, reduction = get_operator(call.op0, "op0"), get_operator(call.reduce_op, "reduce_op")
    values = apply(first, rows(call.data), None if first.is_unary else operand_of(call, "operand0"))
    held = accumulators(call, "vector", call.data, reduction.identity, "reduce_init")
    held[:] = reduction.function(held, reduction.reduce(values))
    store(call, "dst", values)
    if call.reduce_res is not None:
        store(call, "reduce_res", (-held if call.reduce_res_negate else held).reshape(-1, 1))


define(
    "tensor_scalar_reduce", Engine.VECTOR, writes=("dst", "reduce_res"),
    reads=("data", "operand0", "reduce_init"),
    options=("op0", "operand0", "reduce_op", "reverse0", "reduce_cmd"),
    defaults={"reduce_res": None, "reverse0": False, "reduce_cmd": "reset_reduce",
              "reduce_init": None, "reduce_res_negate": False},
    check=limits(
        op0="operator of numbers", data="[P, F]", dst="[P, F]", operand0="operand of op0",
        reverse0="flag", reduce_res_negate="flag", reverse=_check_reverse,
        reduce_op="operator add multiply maximum minimum",
        reduce_cmd="one of reset_reduce reduce load_reduce", start=check_loaded("reduce_init"),
        unused_start=_check_unused_start,
        reduce_init="None or number or [P, 1]; float32", reduce_res="None or [P, 1]",
    ),
    execute=_tensor_scalar_reduce, by_shape=True, **priced("tensor_scalar_reduce", "dst", "data"),
)  # fmt: skip
