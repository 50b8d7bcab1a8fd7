"""Vector Engine instructions that do two things in one pass, and the reciprocal.

``scalar_tensor_tensor`` chains two operators, ``tensor_scalar_reduce`` adds a reduction into the
engine's registers to what it writes.
"""

import numpy as np

from trainium_edu.neuroncore.engines.accumulators import (
    accumulators,
    check_reduce_cmd,
    check_reduce_res,
)
from trainium_edu.neuroncore.engines.checks import (
    check_flag,
    check_not_both_in_psum,
    check_per_partition,
    check_same_size,
    check_tiles,
)
from trainium_edu.neuroncore.engines.costs import priced
from trainium_edu.neuroncore.engines.operators import get_operator
from trainium_edu.neuroncore.engines.vector import (
    apply,
    check_operand,
    operand_of,
    rows,
    store,
)
from trainium_edu.neuroncore.recording.engine import Engine
from trainium_edu.neuroncore.recording.instruction_set import define


def _arithmetic(call, role):
    operator = get_operator(call.__dict__[role], role)
    if operator.is_bitvec:
        call.refuse(f"{role} is {operator.name}, which works on bits; this takes arithmetic only")
    return operator


# -- reciprocal -------------------------------------------------------------------------------


def _check_reciprocal(call):
    check_tiles(call, "dst", "data")
    check_same_size(call, "dst", "data")


def _reciprocal(call):
    store(call, "dst", np.float32(1) / rows(call.data))


define(
    "reciprocal", Engine.VECTOR, reads=("data",), check=_check_reciprocal, execute=_reciprocal,
    by_shape=True, **priced("reciprocal_profiled", "dst", "data"),
)  # fmt: skip


# -- scalar_tensor_tensor ---------------------------------------------------------------------


def _check_scalar_tensor_tensor(call):
    first, second = _arithmetic(call, "op0"), _arithmetic(call, "op1")
    check_tiles(call, "dst", "data", "operand1")
    check_same_size(call, "data", "operand1", "dst")
    check_not_both_in_psum(call, "data", "operand1")
    check_operand_of_any_dtype(call, "operand0", first)
    if second.is_unary:
        call.refuse(f"op1 is {second.name}, which takes one input; it combines two tiles")
    check_flag(call, "reverse0", "reverse1")


def check_operand_of_any_dtype(call, role, operator):
    """Raise unless the operand is nothing, a number, or a scalar per partition of any dtype."""
    if operator.is_unary or call.__dict__[role] is None:
        check_operand(call, role, operator, "data")
    else:
        check_per_partition(call, role, "data", dtypes=())


def _scalar_tensor_tensor(call):
    first, second = _arithmetic(call, "op0"), _arithmetic(call, "op1")
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
    check=_check_scalar_tensor_tensor, execute=_scalar_tensor_tensor,
    by_shape=True,
    **priced("scalar_tensor_tensor", "dst", "data", "operand1",
             fast="scalar_tensor_tensor_bf16", when=_is_fast),
)  # fmt: skip


# -- tensor_scalar_reduce ---------------------------------------------------------------------

_REDUCTIONS = ("add", "multiply", "maximum", "minimum")


def _check_tensor_scalar_reduce(call):
    first = _arithmetic(call, "op0")
    check_tiles(call, "dst", "data")
    check_same_size(call, "dst", "data")
    check_operand(call, "operand0", first, "data")
    check_flag(call, "reverse0", "reduce_res_negate")
    if call.reverse0:
        call.refuse(
            "reverse0 is not supported yet, by the reference: use tensor_scalar, which has it, "
            "then tensor_reduce"
        )
    reduction = get_operator(call.reduce_op, "reduce_op")
    if reduction.name not in _REDUCTIONS:
        call.refuse(f"reduce_op is {reduction.name}; it is one of {', '.join(_REDUCTIONS)}")
    check_reduce_cmd(call, ("reset_reduce", "reduce", "load_reduce"))
    if call.reduce_cmd == "load_reduce":
        if call.reduce_init is None:
            raise TypeError("tensor_scalar_reduce: load_reduce loads reduce_init, and it is None")
        check_per_partition(call, "reduce_init", "data")
    elif call.reduce_init is not None:
        call.refuse(f"reduce_init goes with load_reduce, and reduce_cmd is {call.reduce_cmd}")
    check_reduce_res(call, "data")


def _tensor_scalar_reduce(call):
    first, reduction = _arithmetic(call, "op0"), get_operator(call.reduce_op, "reduce_op")
    values = apply(first, rows(call.data), None if first.is_unary else operand_of(call, "operand0"))
    held = accumulators(call, "vector", call.data)
    if call.reduce_cmd == "reset_reduce":
        held[:] = reduction.identity
    elif call.reduce_cmd == "load_reduce":
        start = operand_of(call, "reduce_init")
        held[:] = start[:, 0] if np.ndim(start) else start
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
    check=_check_tensor_scalar_reduce, execute=_tensor_scalar_reduce,
    by_shape=True, **priced("tensor_scalar_reduce", "dst", "data"),
)  # fmt: skip
