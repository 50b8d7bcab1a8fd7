"""Scans of the Vector Engine: every element depends on the one before it in its partition.

``tensor_tensor_scan`` is the recurrence of a state-space model; ``tensor_scalar_cumulative`` is a
running sum, product, maximum or minimum whose state can go on in the next instruction.
"""

import numpy as np

from trainium_edu.neuroncore.engines.accumulators import accumulators, check_loaded
from trainium_edu.neuroncore.engines.checks import limits
from trainium_edu.neuroncore.engines.costs import priced
from trainium_edu.neuroncore.engines.operators import get_operator
from trainium_edu.neuroncore.engines.vector import apply, operand_of, rows, store
from trainium_edu.neuroncore.recording.engine import Engine
from trainium_edu.neuroncore.recording.instruction_set import define

__all__ = ["scan", "scan_columns"]


def scan(data0, data1, initial, op0, op1, *, reverse0=False, reverse1=False) -> np.ndarray:
    """Return the recurrence ``out[i] = op1(op0(data0[i], out[i - 1]), data1[i])`` per partition.

    Parameters
    ----------
    data0, data1 : float32[partitions, n]
    initial : float32[partitions]
        Stands for ``out[-1]``.
    op0, op1 : Operator
        Rows of :data:`~trainium_edu.neuroncore.engines.operators.OPERATORS`; `op1` None leaves
        `data1` out.
    reverse0, reverse1 : bool
        Swap the inputs of that operator.

    Returns
    -------
    float32[partitions, n]

    Examples
    --------
    >>> from trainium_edu.neuroncore.engines.operators import OPERATORS as ops
    >>> half, ones = np.full((1, 4), 0.5, np.float32), np.ones((1, 4), np.float32)
    >>> scan(half, ones, np.zeros(1, np.float32), ops["multiply"], ops["add"]).tolist()
    [[1.0, 1.5, 1.75, 1.875]]
    """
    from trainium_edu.neuroncore.engines import _loops  # loads Numba, which few programs need
    from trainium_edu.numerics.launch import launch

    def code_of(operator, reverse):
        is_reversed = reverse and operator.name == "subtract"
        return getattr(_loops, operator.name.upper() + "_REVERSED" * is_reversed, None)

    code0 = code_of(op0, reverse0)
    code1 = _loops.FIRST if op1 is None else code_of(op1, reverse1)
    if code0 is None or code1 is None:
        return scan_columns(data0, data1, initial, op0, op1, reverse0=reverse0, reverse1=reverse1)
    data0 = np.ascontiguousarray(data0, np.float32)
    data1 = data0 if op1 is None else np.ascontiguousarray(data1, np.float32)
    out = np.empty(data0.shape, np.float32)
    initial = np.ascontiguousarray(initial, np.float32)
    launch(_loops.scan, data0, data1, initial, code0, code1, out)
    return out


def scan_columns(data0, data1, initial, op0, op1, *, reverse0=False, reverse1=False):
    """Return what :func:`scan` returns, one column at a time, for any operator: its twin."""
    out = np.empty(data0.shape, np.float32)
    held = np.asarray(initial, np.float32)
    for i in range(data0.shape[1]):
        held = apply(op0, data0[:, i], held, reverse0)
        if op1 is not None:
            held = apply(op1, held, data1[:, i], reverse1)
        out[:, i] = held
    return out


def _tensor_tensor_scan(call):
    data0 = rows(call.data0)
    initial = np.broadcast_to(operand_of(call, "initial").ravel(), len(data0))
    store(call, "dst", scan(
        data0, rows(call.data1), initial,
        get_operator(call.op0, "op0"), get_operator(call.op1, "op1"),
        reverse0=call.reverse0, reverse1=call.reverse1,
    ))  # fmt: skip


define(
    "tensor_tensor_scan", Engine.VECTOR, reads=("data0", "data1", "initial"),
    options=("op0", "op1", "initial", "reverse0", "reverse1"),
    defaults={"reverse0": False, "reverse1": False},
    check=limits(
        data0="[P, F]", data1="[P, F]; not in PSUM with data0", dst="[P, F]",
        initial="number or [P, 1]", op0="operator of two numbers", op1="operator of two numbers",
        reverse0="flag", reverse1="flag",
    ),
    execute=_tensor_tensor_scan,
    by_shape=True, **priced("tensor_tensor_scan", "dst", "data0", "data1"),
)  # fmt: skip


# -- tensor_scalar_cumulative -----------------------------------------------------------------

_NARROW = (
    "float32 tfloat32 bfloat16 float16 float8_e4m3 float8_e5m2 float8_e3m4 int8 uint8 int16 uint16"
    ": 32-bit integers do not pass through this instruction, so copy the tile to float32 first"
)


def _cumulative(call):
    first, second = get_operator(call.op0, "op0"), get_operator(call.op1, "op1")
    values = rows(call.src)
    values = apply(first, values, None if first.is_unary else operand_of(call, "imm0"))
    held = accumulators(call, "vector", call.src, second.identity, "imm1")
    out = scan(values, None, held, second, None)
    held[:] = out[:, -1]
    store(call, "dst", out)


define(
    "tensor_scalar_cumulative", Engine.VECTOR, reads=("src", "imm0", "imm1"),
    options=("op0", "op1", "imm0", "imm1", "reduce_cmd"),
    defaults={"imm1": None, "reduce_cmd": "reset_reduce"},
    check=limits(
        src=f"[P, F]; {_NARROW}", dst=f"[P, F]; {_NARROW}", op0="operator of numbers",
        imm0="operand of op0", op1="operator add subtract multiply maximum minimum",
        reduce_cmd="one of reset_reduce reduce load_reduce", start=check_loaded("imm1"),
        imm1="None or number or [P, 1]; float32",  # looked at by load_reduce alone
    ),
    execute=_cumulative,
    by_shape=True, **priced("tensor_scalar_cumulative", "dst", "src"),
)  # fmt: skip
