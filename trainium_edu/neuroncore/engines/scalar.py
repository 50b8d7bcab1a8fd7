"""The Scalar Engine: a function of scale * x + bias on every element, with an optional sum.

One FP32 register per lane holds the running sum (``reduce_cmd``); reading the registers out is an
instruction of its own on the hardware and is charged here to the activation that asks for it.
"""

import numpy as np

from trainium_edu.neuroncore.engines.accumulators import accumulators
from trainium_edu.neuroncore.engines.activations import get_activation
from trainium_edu.neuroncore.engines.checks import limits
from trainium_edu.neuroncore.engines.costs import price, strided
from trainium_edu.neuroncore.engines.operators import get_operator
from trainium_edu.neuroncore.engines.vector import compute, operand_of, rows, store
from trainium_edu.neuroncore.recording.engine import Engine
from trainium_edu.neuroncore.recording.instruction_set import define
from trainium_edu.neuroncore.recording.views import View


def _check_bias(call):
    bias = call.bias
    if bias is not None and not isinstance(bias, View) and bias != 0:
        call.needs("number_bias", f"bias is the number {bias!r}, which",
                   "before, it is a tile, one number per partition, so memset one")  # fmt: skip
    if isinstance(bias, View) and get_activation(call.op).name == "reciprocal":
        call.refuse("reciprocal takes no bias; add it with tensor_scalar first")


def _check_sum(call):
    reduces = call.reduce_cmd in ("reduce", "reset_reduce")
    op = call.reduce_op
    op = op if op is None else get_operator(op, f"{call.name}: reduce_op").name
    if op != "add" and (reduces or op is not None):
        call.refuse(f"reduce_op is {op!r}; the Scalar Engine's registers only add: use nl.add")


_check_activation = limits(
    op=lambda call: get_activation(call.op), data="[P, F]", dst="[P, F]",
    scale="number or [P, 1]; float32",
    bias="None or number or [P, 1]; float32 bfloat16 float16 float8_e4m3 float8_e5m2 float8_e3m4 "
    "int8 uint8 int16 uint16 int32 uint32",
    bias_of_chip=_check_bias, reduce_cmd="one of idle reset reduce reset_reduce", sum=_check_sum,
    reduce_res="None or [P, 1]",
)  # fmt: skip


def _activation(call):
    activation = get_activation(call.op)
    x = rows(call.data)
    scale = call.scale
    if isinstance(scale, View) or scale != 1:
        x = x * operand_of(call, "scale")
    if isinstance(call.bias, View) or call.bias:
        x = x + operand_of(call, "bias")
    if activation.valid is not None:
        _note_range(call, activation, x)
    command = call.reduce_cmd
    if command == "idle" and call.reduce_res is None:
        compute(call, "dst", activation.function, x)
    else:
        values = activation.function(x)
        store(call, "dst", values)
        held = accumulators(call, "scalar", call.data)
        if command in ("reduce", "reset_reduce"):
            held += values.sum(axis=1, dtype=np.float32)
        if call.reduce_res is not None:
            store(call, "reduce_res", held.reshape(-1, 1))


def _note_range(call, activation, x):
    """Remember inputs outside the documented range, for the run's advice."""
    low, high = activation.valid
    x = np.abs(x) if activation.both_signs else x
    smallest, largest = float(x.min()), float(x.max())
    if smallest < low or largest > high:
        text = (
            f"{activation.name} of {smallest:.4g} to {largest:.4g}; the Scalar Engine is "
            f"specified for {low:.4g} to {high:.4g}, and invalid beyond"
        )
        call.core.notes.append(("activation_range", len(call.core.program), text, None))


def _activation_work(call):
    return call.dst.free_size, strided(call, "dst", "data"), call.reduce_res is not None


def _activation_cycles(chip, engine, n, is_strided, reads_registers):
    cycles = price(chip, "activation", n, is_strided=is_strided)
    if reads_registers:
        cycles += chip.scalar_engine.read_accumulator_cycles.value
    return cycles


define(
    "activation", Engine.SCALAR, writes=("dst", "reduce_res"), reads=("data", "bias", "scale"),
    options=("op", "scale", "reduce_op", "reduce_cmd"),
    defaults={"bias": None, "scale": 1.0, "reduce_op": None, "reduce_res": None,
              "reduce_cmd": "idle"},
    check=_check_activation, execute=_activation, work=_activation_work,
    cycles=_activation_cycles, by_shape=True,
    facts=("cycles.activation", "scalar_engine.read_accumulator_cycles"),
)  # fmt: skip


def _check_activation_reduce(call):
    call.reduce_cmd = "reset_reduce"
    _check_activation(call)


def _activation_reduce(call):
    call.reduce_cmd = "reset_reduce"
    _activation(call)


def _activation_reduce_cycles(chip, engine, n, is_strided, reads_registers):
    name = "activation_reduce" if reads_registers else "activation"
    return price(chip, name, n, is_strided=is_strided)


define(
    "activation_reduce", Engine.SCALAR, writes=("dst", "reduce_res"),
    reads=("data", "bias", "scale"), options=("op", "scale", "reduce_op"),
    defaults={"bias": None, "scale": 1.0}, pure=False,
    check=_check_activation_reduce, execute=_activation_reduce, work=_activation_work,
    cycles=_activation_reduce_cycles,
    by_shape=True, facts=("cycles.activation_reduce", "cycles.activation"),
)  # fmt: skip
