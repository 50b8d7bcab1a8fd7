"""Rules of arithmetic: what is fitted before an instruction is issued, and axes that disappear."""

from math import prod

from trainium_edu.nki.beta1.isa.options import cast, same_dtype
from trainium_edu.nki.beta1.operation import copied, op_name, operation, scalar, tile
from trainium_edu.nki.beta1.tile import Tile
from trainium_edu.nki.refusals import refusal
from trainium_edu.specs.errors import NkiValidationError

__all__ = ["dropout", "tensor_partition_reduce", "tensor_reduce"]

_FLOATS = frozenset({"bfloat16", "float16", "float8_e4m3", "float8_e5m2"})
_OF_ACTIVATIONS = {"bias": ("float32", "float16", "bfloat16"), "scale": ("float32",)}


# -- operands that are fitted to each other: (instruction, operands, engine) -> both ----------


def _fit_scalars(name, taken, engine):
    """Widen narrow floats of one number per partition; a whole tile needs another instruction."""
    data, last = taken["data"], taken["operand1"]
    if isinstance(last, Tile) and data.shape[1:] != (1,) and last.shape == data.shape:
        return "scalar_tensor_tensor", None
    for role in ("operand0", "operand1"):
        if isinstance(taken[role], Tile) and taken[role].kind in _FLOATS:
            taken[role] = copied(taken[role], "float32")
    return name, engine


def _fit_shapes(name, taken, engine):
    first, second = taken["data1"], taken["data2"]
    taken["data1"], taken["data2"] = _repeated(first, second), _repeated(second, first)
    return name, engine


def _fit_activation(name, taken, engine):
    for role, kinds in _OF_ACTIVATIONS.items():
        _check_vector(name, role, taken[role], taken["data"], kinds)
    return name, engine


FITTING = {"activation": _fit_activation, "activation_reduce": _fit_activation,
           "tensor_scalar": _fit_scalars, "tensor_tensor": _fit_shapes}  # fmt: skip


def _repeated(vector, like):
    """Return a tile with its free dimensions of size 1 repeated to the shape of another."""
    have, shape = tuple(vector.window.shape), tuple(like.window.shape)
    if prod(have) == have[0] == shape[0]:
        have = (have[0], *(1,) * (len(shape) - 1))
        vector = vector.reshape(have)
    fits = len(have) == len(shape) and all(a in (1, b) for a, b in zip(have, shape, strict=True))
    if not fits or have == shape or have[0] != shape[0]:
        return vector  # the instruction says what is wrong
    return vector.like(vector.window.broadcast(*shape))


def _check_vector(name, role, operand, data, kinds):
    """Raise for an activation's tile that is not [P, 1], as AWS's page of errors does."""
    if not isinstance(operand, Tile):
        return
    if operand.kind not in kinds:
        raise NkiValidationError(
            f"{name}: {role} is {operand!r}; it must be {' or '.join(kinds)}: nl.copy(tile, "
            f"dtype=nl.float32) casts (err_activation_{role}_invalid_type)"
        )
    if operand.shape[0] != data.shape[0] or operand.size != data.shape[0]:
        raise refusal("isa.vector_of_activation", name=name, role=role, operand=operand, data=data)


# -- rules ------------------------------------------------------------------------------------


# fmt: off
def tensor_reduce(op, data, axis, mask, dtype, negate, keepdims, **kwargs):
    """Read reduced axes last, and leave them out of the result."""
    data = tile(data, "tensor_reduce: data")
    rank = len(data.shape)
    over = tuple(a + rank if type(a) is int and a < 0 else a
                 for a in (axis if isinstance(axis, list | tuple) else (axis,)))
    axis_of = [None if a in over else a for a in range(rank)]
    axes, space = {}, data.shape
    if 0 not in over and set(over) < set(range(rank)) and min(over) < rank - len(over):
        order = (*(a for a in axis_of if a is not None), *sorted(over))
        data = data.like(data.tensor.permute(order)._view)
        axes, over = {"data": order}, tuple(range(rank - len(over), rank))
    if not keepdims:
        axis_of = [a for a in axis_of if a is not None]
        axis_of += [None] * (2 - len(axis_of))
    shape = tuple(1 if a is None else space[a] for a in axis_of)
    return operation("tensor_reduce", shape, dtype or data.kind, mask=mask, space=space,
                     axes={"dst": tuple(axis_of), **axes}, data=data, op=op_name(op),
                     axis=over[0] if len(over) == 1 else over, negate=negate,
                     keepdims=keepdims, **kwargs)


def tensor_partition_reduce(op, data, mask, dtype, **kwargs):
    """Return one row for all partitions."""
    data = tile(data, "tensor_partition_reduce: data")
    free = range(1, len(data.shape))
    return operation("tensor_partition_reduce", (1, *data.shape[1:]), dtype or data.kind, mask=mask,
                     space=data.shape, axes={"dst": (None, *free)}, op=op_name(op), data=data,
                     **kwargs)


def dropout(data, prob, mask, dtype, **kwargs):
    """Keep the dtype of `data`, in which bits are moved; a copy casts floats."""
    data = tile(data, "dropout: data")
    if not data.window.dtype.is_float:
        same_dtype("dropout", data, dtype)
    kept = operation("dropout", data.shape, data.kind, mask=mask, data=data, prob=scalar(prob),
                     **kwargs)
    return cast(kept, dtype, mask)
# fmt: on
