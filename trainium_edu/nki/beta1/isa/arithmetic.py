"""Arithmetic on tiles: element by element, along the free axes, and across partitions."""

from math import prod

from trainium_edu.nki.beta1.isa.constants import engine, reduce_cmd
from trainium_edu.nki.beta1.isa.options import also_written, cast, choice, more, same_dtype
from trainium_edu.nki.beta1.operation import copied, op_name, operation, perform, scalar, tile
from trainium_edu.nki.beta1.promotion import promoted
from trainium_edu.nki.beta1.tile import Tile
from trainium_edu.specs.errors import NkiValidationError

__all__ = [
    "activation", "activation_reduce", "bn_aggr", "bn_stats", "dropout", "reciprocal",
    "scalar_tensor_tensor", "tensor_partition_reduce", "tensor_reduce", "tensor_scalar",
    "tensor_scalar_cumulative", "tensor_scalar_reduce", "tensor_tensor", "tensor_tensor_scan",
]  # fmt: skip

_COMMANDS = reduce_cmd
_FLOATS = frozenset({"bfloat16", "float16", "float8_e4m3", "float8_e5m2"})


def _per_partition(value):
    """Return an operand that is a number or a tile[P, 1]; narrow floats are widened first."""
    value = scalar(value)
    return copied(value, "float32") if isinstance(value, Tile) and value.kind in _FLOATS else value


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


# fmt: off
def activation(op, data, *, bias=None, scale=1.0, reduce_op=None, reduce_res=None,
               reduce_cmd=reduce_cmd.idle, mask=None, dtype=None, **kwargs):
    """Return ``op(data * scale + bias)``, from the Scalar Engine, with an optional sum.

    Parameters
    ----------
    op : function of nl or NumPy of one input
    data : tile
    bias : tile[P, 1], optional
    scale : number, or float32 tile[P, 1]
    reduce_op : nl.add or np.add, optional
    reduce_res : tile[P, 1], optional
        Gets the engine's sums, one per partition.
    reduce_cmd : nki.isa.reduce_cmd
        What happens to these sums.
    """
    more("activation", kwargs, activation.__kwdefaults__)
    return _activated(
        "activation", data, op, bias, scale, reduce_op, reduce_res, dtype, mask=mask,
        reduce_cmd=choice(_COMMANDS, reduce_cmd, "activation: reduce_cmd"), **kwargs,
    )


def _activated(name, data, op, bias, scale, reduce_op, reduce_res, dtype, **options):
    data = tile(data, f"{name}: data")
    bias = _vector(name, "bias", scalar(bias), data, ("float32", "float16", "bfloat16"))
    scale = _vector(name, "scale", scalar(scale), data, ("float32",))
    return operation(
        name, data.shape, dtype or data.kind, op=op_name(op), data=data, bias=bias, scale=scale,
        reduce_op=op_name(reduce_op),
        reduce_res=also_written(reduce_res, f"{name}: reduce_res"), **options,
    )


def _vector(name, role, operand, data, kinds):
    """Return a number or a tile [P, 1] of an activation, checked as AWS's page of errors says."""
    if not isinstance(operand, Tile):
        return operand
    if operand.kind not in kinds:
        raise NkiValidationError(
            f"{name}: {role} is {operand!r}; it must be {' or '.join(kinds)}: nl.copy(tile, "
            f"dtype=nl.float32) casts (err_activation_{role}_invalid_type)"
        )
    if operand.shape[0] != data.shape[0] or operand.size != data.shape[0]:
        raise NkiValidationError(
            f"{name}: {role} is {operand!r}; it must be a number, or a tile of one number per "
            f"partition of data, [{data.shape[0]}, 1] (err_activation_scale_scalar_or_vector)"
        )
    return operand


def activation_reduce(op, data, *, reduce_op, reduce_res, bias=None, scale=1.0, mask=None,
                      dtype=None, **kwargs):
    """Return an activation; its sums over the free axes go to `reduce_res`, tile[P, 1]."""
    more("activation_reduce", kwargs, activation_reduce.__kwdefaults__)
    return _activated("activation_reduce", data, op, bias, scale, reduce_op, reduce_res, dtype,
                      mask=mask, **kwargs)  # fmt: skip


def tensor_tensor(data1, data2, op, *, dtype=None, mask=None, engine=engine.unknown, **kwargs):
    """Return ``op(data1, data2)`` of two tiles, element by element.

    Parameters
    ----------
    data1, data2 : tile
        The same partitions, and as many elements in each, or 1, which is repeated; not both in
        PSUM.
    op : function of nl or NumPy of two inputs
    dtype : dtype, optional
        Default: what holds both dtypes.
    engine : nki.isa.engine
        Vector, or GpSimd, which alone is exact on 32-bit integers and has ``power``.
    """
    data1, data2 = tile(data1, "tensor_tensor: data1"), tile(data2, "tensor_tensor: data2")
    more("tensor_tensor", kwargs, tensor_tensor.__kwdefaults__)
    dtype = dtype or promoted(data1.kind, data2.kind)
    data1, data2 = _repeated(data1, data2), _repeated(data2, data1)
    return operation("tensor_tensor", data1.shape, dtype, mask=mask, engine=engine, data1=data1,
                     data2=data2, op=op_name(op), **kwargs)


def tensor_scalar(data, op0, operand0, reverse0=False, op1=None, operand1=None, reverse1=False, *,
                  dtype=None, mask=None, engine=engine.unknown, **kwargs):
    """Return ``op1(op0(data, operand0), operand1)``.

    Parameters
    ----------
    data : tile
    op0, op1 : function of nl or NumPy
        Both arithmetic or both bitwise; `op1` may be None.
    operand0, operand1 : number, or tile[P, 1] of floats
        `operand1` may be as large as `data`, as in AWS's attention kernel of SDK 2.20: that is a
        ``scalar_tensor_tensor``.
    reverse0, reverse1 : bool
        Swap the inputs: ``operand - data`` instead of ``data - operand``.
    engine : nki.isa.engine
        Vector; Scalar for multiply, add, and multiply then add; GpSimd for rsqrt.
    """
    data = tile(data, "tensor_scalar: data")
    if isinstance(operand1, Tile) and data.shape[1:] != (1,) and operand1.shape == data.shape:
        return scalar_tensor_tensor(
            data=data, op0=op0, operand0=operand0, reverse0=reverse0, op1=op1, operand1=operand1,
            reverse1=reverse1, dtype=dtype, mask=mask, **kwargs,
        )  # fmt: skip
    more("tensor_scalar", kwargs, tensor_scalar.__kwdefaults__)
    return operation("tensor_scalar", data.shape, dtype or data.kind, mask=mask, engine=engine,
                     data=data, op0=op_name(op0), operand0=_per_partition(operand0),
                     reverse0=reverse0, op1=op_name(op1), operand1=_per_partition(operand1),
                     reverse1=reverse1, **kwargs)


def scalar_tensor_tensor(*, data, op0, operand0, op1, operand1, reverse0=False, reverse1=False,
                         dtype=None, mask=None, **kwargs):
    """Return ``op1(op0(data, operand0), operand1)``; `operand0` a scalar, `operand1` a tile."""
    data = tile(data, "scalar_tensor_tensor: data")
    operand1 = tile(operand1, "scalar_tensor_tensor: operand1")
    more("scalar_tensor_tensor", kwargs, scalar_tensor_tensor.__kwdefaults__)
    return operation("scalar_tensor_tensor", data.shape, dtype or data.kind, mask=mask, data=data,
                     op0=op_name(op0), operand0=scalar(operand0), reverse0=reverse0,
                     op1=op_name(op1), operand1=operand1, reverse1=reverse1, **kwargs)


def tensor_scalar_reduce(*, data, op0, operand0, reduce_op, reduce_res, reverse0=False, dtype=None,
                         mask=None, **kwargs):
    """Return ``op0(data, operand0)``; its reduction over the free axes goes to `reduce_res`."""
    data = tile(data, "tensor_scalar_reduce: data")
    more("tensor_scalar_reduce", kwargs, tensor_scalar_reduce.__kwdefaults__)
    return operation("tensor_scalar_reduce", data.shape, dtype or data.kind, mask=mask, data=data,
                     op0=op_name(op0), operand0=scalar(operand0), reverse0=reverse0,
                     reduce_op=op_name(reduce_op),
                     reduce_res=also_written(reduce_res, "tensor_scalar_reduce: reduce_res"),
                     **kwargs)


def tensor_scalar_cumulative(*, src, dst, op0, op1, imm0, imm1=None,
                             reduce_cmd=reduce_cmd.reset_reduce, mask=None, dtype=None, **kwargs):
    """Write every step of a running ``op1`` of ``op0(src, imm0)`` to `dst`.

    Parameters
    ----------
    src, dst : tile
    op0 : arithmetic function of nl or NumPy
    op1 : add, subtract, multiply, maximum or minimum
    imm0 : number, or float32 tile[P, 1]
    imm1 : number, or float32 tile[P, 1], optional
        Where ``reduce_cmd.load_reduce`` starts.
    reduce_cmd : nki.isa.reduce_cmd
        ``reset_reduce`` begins anew, ``reduce`` goes on from the call before.
    """
    src, dst = (tile(x, f"tensor_scalar_cumulative: {n}") for x, n in ((src, "src"), (dst, "dst")))
    more("tensor_scalar_cumulative", kwargs, tensor_scalar_cumulative.__kwdefaults__, ())
    same_dtype("tensor_scalar_cumulative", dst, dtype)
    perform("tensor_scalar_cumulative", mask=mask, space=src.shape, dst=dst, src=src,
            op0=op_name(op0), op1=op_name(op1), imm0=scalar(imm0), imm1=scalar(imm1),
            reduce_cmd=choice(_COMMANDS, reduce_cmd, "tensor_scalar_cumulative: reduce_cmd"))


def tensor_tensor_scan(data0, data1, initial, op0, op1, reverse0=False, reverse1=False, *,
                       dtype=None, mask=None, **kwargs):
    """Return every r of ``r = op1(op0(data0[i], r), data1[i])`` along the free axis.

    Parameters
    ----------
    data0, data1 : tile
        Not both in PSUM.
    initial : number, or tile[P, 1]
        The r before the first.
    """
    data0, data1 = (tile(x, f"tensor_tensor_scan: {n}") for x, n in ((data0, "data0"),
                                                                     (data1, "data1")))
    more("tensor_tensor_scan", kwargs, tensor_tensor_scan.__kwdefaults__)
    return operation("tensor_tensor_scan", data0.shape, dtype or promoted(data0.kind, data1.kind),
                     mask=mask, data0=data0, data1=data1, initial=scalar(initial),
                     op0=op_name(op0), op1=op_name(op1), reverse0=reverse0, reverse1=reverse1,
                     **kwargs)


def reciprocal(data, *, dtype=None, mask=None, **kwargs):
    """Return 1 / data, from the Vector Engine."""
    data = tile(data, "reciprocal: data")
    more("reciprocal", kwargs, reciprocal.__kwdefaults__)
    return operation("reciprocal", data.shape, dtype or data.kind, mask=mask, data=data, **kwargs)


def tensor_reduce(op, data, axis, *, mask=None, dtype=None, negate=False, keepdims=False, **kwargs):
    """Return a tile reduced over free axes.

    Parameters
    ----------
    op : function of nl or NumPy
    data : tile
    axis : int or list of int
        Never 0.  Axes that are not the last are read last, by the access pattern.
    negate : bool
        Multiply the result by -1.
    keepdims : bool
        Keep the axes, with size 1.

    Returns
    -------
    tile[P, ...]
        At least [P, 1].
    """
    data = tile(data, "tensor_reduce: data")
    more("tensor_reduce", kwargs, tensor_reduce.__kwdefaults__)
    rank = len(data.shape)
    over = tuple(a + rank if type(a) is int and a < 0 else a
                 for a in (axis if isinstance(axis, list | tuple) else (axis,)))
    kept = [None if a in over else a for a in range(rank)]
    axes, space = {}, data.shape
    if 0 not in over and set(over) < set(range(rank)) and min(over) < rank - len(over):
        order = (*(a for a in kept if a is not None), *sorted(over))
        data = data.like(data.tensor.permute(order)._view)
        axes, over = {"data": order}, tuple(range(rank - len(over), rank))
    if not keepdims:
        kept = [a for a in kept if a is not None]
        kept += [None] * (2 - len(kept))
    shape = tuple(1 if a is None else space[a] for a in kept)
    return operation("tensor_reduce", shape, dtype or data.kind, mask=mask, space=space,
                     axes={"dst": tuple(kept), **axes}, data=data, op=op_name(op),
                     axis=over[0] if len(over) == 1 else over, negate=negate,
                     keepdims=keepdims, **kwargs)


def tensor_partition_reduce(op, data, *, mask=None, dtype=None, **kwargs):
    """Return a tile reduced over its partitions, [1, ...], from the GpSimd Engine.

    `op` is add, max, bitwise_or or bitwise_and.
    """
    data = tile(data, "tensor_partition_reduce: data")
    more("tensor_partition_reduce", kwargs, tensor_partition_reduce.__kwdefaults__)
    free = range(1, len(data.shape))
    return operation("tensor_partition_reduce", (1, *data.shape[1:]), dtype or data.kind, mask=mask,
                     space=data.shape, axes={"dst": (None, *free)}, op=op_name(op), data=data,
                     **kwargs)


def bn_stats(data, *, mask=None, dtype=None, **kwargs):
    """Return (count, mean, variance * count) of the even elements, then of the odd, tile[P, 6].

    A partition has up to 512 elements.
    """
    return _of_partition("bn_stats", data, 6, mask, dtype, kwargs)


def bn_aggr(data, *, mask=None, dtype=None, **kwargs):
    """Return the mean and the variance that results of ``bn_stats`` give together, tile[P, 2]."""
    return _of_partition("bn_aggr", data, 2, mask, dtype, kwargs)


def _of_partition(instruction, data, count, mask, dtype, kwargs):
    """Return the result of an instruction that makes `count` numbers of each partition."""
    data = tile(data, f"{instruction}: data")
    more(instruction, kwargs, bn_stats.__kwdefaults__)
    return operation(instruction, (data.shape[0], count), dtype or data.kind, mask=mask,
                     space=data.shape, axes={"dst": (0, None)}, data=data, **kwargs)


def dropout(data, prob, *, mask=None, dtype=None, **kwargs):
    """Return a tile of which each element is replaced by zero with probability `prob`.

    Parameters
    ----------
    data : tile
    prob : number, or tile[P, 1]
    dtype : dtype, optional
        Another than that of `data`: a copy casts, of floats.
    """
    data = tile(data, "dropout: data")
    more("dropout", kwargs, dropout.__kwdefaults__)
    if not data.window.dtype.is_float:
        same_dtype("dropout", data, dtype)
    kept = operation("dropout", data.shape, data.kind, mask=mask, data=data, prob=scalar(prob),
                     **kwargs)
    return cast(kept, dtype, mask)
# fmt: on
