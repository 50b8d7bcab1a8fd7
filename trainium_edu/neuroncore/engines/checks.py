"""Checks that all engines share: memories within reach, shapes and dtypes that match."""

import numpy as np

from trainium_edu.neuroncore.engines.operators import get_operator
from trainium_edu.neuroncore.recording.engine import Engine, Memory
from trainium_edu.neuroncore.recording.instruction_set import INSTRUCTIONS
from trainium_edu.neuroncore.recording.views import View

__all__ = [
    "check_dtype", "check_flag", "check_not_both_in_psum", "check_pattern", "check_per_partition",
    "check_same_dtype", "check_same_size", "check_shape", "check_tiles", "number", "short",
    "walked_axes",
]  # fmt: skip


def check_tiles(call, *roles) -> None:
    """Raise unless each operand is a tile that the engine can reach."""
    for role in roles:
        view = call.__dict__[role]
        if not isinstance(view, View):
            hint = isinstance(view, int | float) and call.name == "tensor_tensor"
            hint = " (tensor_scalar combines a tile with a number)" if hint else ""
            raise TypeError(f"{call.name}: {role} is {short(view)}; it must be a tile{hint}")
        memory = view.memory
        if memory is Memory.HBM:
            call.refuse(
                f"{role} is in HBM ({view!r}), and engines compute on SBUF and PSUM only; "
                "bring it on chip with dma_copy first"
            )
        if memory is Memory.PSUM and call.engine is Engine.GPSIMD:
            call.refuse(
                f"{role} is in PSUM, which the GpSimd Engine cannot reach; {_way_out(call)}"
            )
        check_pattern(call, role)


def _way_out(call) -> str:
    """Return the remedy for a tile in PSUM, which GpSimd cannot reach."""
    copy = "use a tile in SBUF, and tensor_copy from or to PSUM"
    roles = {"tensor_tensor": ("op",), "tensor_scalar": ("op0", "op1")}.get(call.name, ())
    found = [getattr(call, role) for role in roles]
    names = {get_operator(op, "op").name for op in found if op is not None}
    if call.name == "tensor_tensor" and "power" in names:
        return f"power of two tiles runs there only: {copy}"
    if "rsqrt" in names:
        return (
            f"rsqrt of tensor_scalar runs there only: {copy}, or take activation(op=nl.rsqrt), "
            "which reads PSUM on the Scalar Engine"
        )
    can = Engine.VECTOR in INSTRUCTIONS[call.name].engines
    return f"run it on the Vector Engine, or {copy}" if can else copy


def walked_axes(view: View) -> list:
    """Return (size, stride) of the free axes that an access pattern walks, innermost first.

    Axes that lie one after another count as one.
    """
    axes: list = []
    for size, stride in zip(reversed(view.shape[1:]), reversed(view.strides[1:]), strict=True):
        if size == 1:
            continue
        if axes and stride == axes[-1][0] * axes[-1][1]:
            axes[-1] = axes[-1][0] * size, axes[-1][1]
        else:
            axes.append((size, stride))
    return axes


def check_pattern(call, role: str) -> None:
    """Raise unless one access pattern of the hardware can walk the tile's free elements."""
    view, limits = call.__dict__[role], call.core.spec.limits
    most = (limits.psum_free_max if view.memory is Memory.PSUM else limits.sbuf_free_max).value
    if view.free_size > most:
        call.refuse(
            f"{role} has {view.free_size} elements per partition, and one instruction walks at "
            f"most {most} in {view.memory.upper()}; split the free axis"
        )
    axes = walked_axes(view)
    if len(axes) > limits.free_dimensions_max.value:
        call.refuse(
            f"{role} {list(view.shape)} has {len(axes)} free axes with strides of their own, and "
            f"an access pattern has up to {limits.free_dimensions_max.value}; copy part by part"
        )
    top = np.iinfo(limits.stride_type.value).max
    for size, stride in axes:
        if stride // view.dtype.itemsize > top:
            call.refuse(
                f"{role} steps by {stride // view.dtype.itemsize} elements on an axis of {size}, "
                f"and strides are {limits.stride_type.value}: at most {top}; use a view of 32-bit "
                "elements, or one instruction for each step"
            )


def check_same_size(call, one: str, *others: str) -> None:
    """Raise unless the tiles have the same partitions and elements per partition."""
    first = call.__dict__[one]
    for role in others:
        second = call.__dict__[role]
        if first.shape == second.shape:
            continue
        if first.shape[0] != second.shape[0] or first.free_size != second.free_size:
            call.refuse(
                f"{one} is {list(first.shape)} and {role} is {list(second.shape)}; they need "
                "the same partitions and the same number of elements in each, because every lane "
                "takes one element of each per step"
                + (
                    ", and tensor_scalar takes one number per partition"
                    if call.name == "tensor_tensor" and second.free_size == 1
                    else ""
                )
            )


def check_same_dtype(call, one: str, other: str) -> None:
    """Raise unless two tiles hold the same dtype."""
    first, second = call.__dict__[one], call.__dict__[other]
    if first.dtype is not second.dtype:
        call.refuse(
            f"{one} is {first.dtype} and {other} is {second.dtype}; this instruction moves bits, "
            "so both need the same dtype"
        )


def check_shape(call, role: str, partitions: int, elements: int, why: str) -> None:
    """Raise unless a tile has this many elements in each of this many partitions."""
    view = call.__dict__[role]
    if view.shape[0] != partitions or view.free_size != elements:
        call.refuse(f"{role} is {list(view.shape)}; {why}")


def check_dtype(call, role: str, *names: str, instead="") -> None:
    """Raise unless a tile holds one of these dtypes; `instead` ends the sentence."""
    dtype = call.__dict__[role].dtype
    if dtype.name not in names:
        *most, last = names
        wanted = f"{', '.join(most)} or {last}" if most else last
        call.refuse(f"{role} is {dtype}; it must be {wanted}{instead}")


def check_not_both_in_psum(call, one: str, other: str) -> None:
    """Raise where both inputs are in PSUM: the engine has one port to it."""
    first, second = call.__dict__[one], call.__dict__[other]
    if (
        isinstance(first, View)
        and isinstance(second, View)
        and first.memory is Memory.PSUM
        and second.memory is Memory.PSUM
    ):
        call.refuse(
            f"{one} and {other} are both in PSUM, and one of the two inputs must be in SBUF; "
            "copy one there with tensor_copy"
        )


def check_per_partition(call, role: str, like: str, dtypes=("float32",)) -> None:
    """Raise unless the operand is a number, or a tile with one element per partition."""
    operand = call.__dict__[role]
    if not isinstance(operand, View):
        number(call, role, "a number or a tile")
        return
    check_tiles(call, role)
    partitions = call.__dict__[like].shape[0]
    why = f"a scalar per partition has the shape [{partitions}, 1], with the partitions of {like}"
    check_shape(call, role, partitions, 1, why)
    if dtypes and operand.dtype.name not in dtypes:
        call.refuse(
            f"{role} is {operand.dtype}; with this {like} it must be {', '.join(dtypes)}: "
            "tensor_copy it into such a tile first"
        )


def number(call, role: str, kind="one number") -> float:
    """Return an operand that is one real number as a float; raise TypeError if it is not `kind`."""
    value = call.__dict__[role]
    if type(value) is float:
        return value
    if isinstance(value, float | int) and not isinstance(value, bool):
        try:
            return float(value)
        except OverflowError:
            call.refuse(f"{role} has {len(str(value))} digits, and FP32 ends at 3.4e38")
    if isinstance(value, np.generic) and value.dtype.kind in "fiuV":
        return float(value)
    raise TypeError(f"{call.name}: {role} is {short(value)}; it must be {kind}")


def check_flag(call, *roles: str) -> None:
    """Raise unless each option is True or False."""
    for role in roles:
        value = call.__dict__[role]
        if not isinstance(value, bool | np.bool_):
            raise TypeError(f"{call.name}: {role} is {short(value)}; it must be True or False")


def short(value) -> str:
    """Return a value as a message shows it."""
    if isinstance(value, np.ndarray):
        return f"a host array, {value.dtype}{list(value.shape)}"
    text = repr(value)
    return text if len(text) < 60 else f"{text[:56]} ..."
