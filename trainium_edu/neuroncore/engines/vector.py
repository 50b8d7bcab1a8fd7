"""The Vector Engine: element by element over one or two tiles, and reductions along a partition.

Some of its instructions run on the GpSimd Engine too, which reaches SBUF only, takes the same
cycles by the same formulas (assumed; GpSimd's are not published) and computes on 32-bit integers
exactly.  Arithmetic is FP32 inside, rounded once on the way out.
"""

from math import prod

import numpy as np

from trainium_edu.neuroncore.engines.checks import integer, limits, number
from trainium_edu.neuroncore.engines.costs import packed, price, priced, strided
from trainium_edu.neuroncore.engines.operators import (
    bits,
    bits_operand,
    from_bits,
    get_operator,
)
from trainium_edu.neuroncore.recording.dtypes import write_fp32
from trainium_edu.neuroncore.recording.engine import Engine, Memory
from trainium_edu.neuroncore.recording.instruction_set import define
from trainium_edu.neuroncore.recording.views import View

__all__ = ["WORDS", "apply", "compute", "operand_of", "rows", "store"]

WORDS = ("int32", "uint32")
_ON_GPSIMD = {Engine.GPSIMD: ("gpsimd_engine.elementwise_cycles",)}
_EXACT = ("add", "subtract", "multiply", "maximum", "minimum", "equal", "not_equal", "less",
          "less_equal", "greater", "greater_equal", "copy", "bypass")  # fmt: skip


def rows(view) -> np.ndarray:
    """Return a tile's numbers in FP32 as [partition, element]."""
    values = view.read_fp32()
    return values if values.ndim == 2 else values.reshape(view.shape[0], -1)


def store(call, role: str, values) -> None:
    """Round FP32 numbers [partition, element] once into a tile of any free shape."""
    view = call.__dict__[role]
    if values.shape != view.shape:
        values = values.reshape(view.shape)
    view.write_fp32(values, call.core.rounding)


def compute(call, role: str, function, *arguments) -> None:
    """Store ``function(*arguments)``, straight into the tile where that is the same.

    It is for a NumPy ufunc whose result has the shape and the FP32 of the tile.
    """
    view = call.__dict__[role]
    if type(view) is View and isinstance(function, np.ufunc) and view.dtype.name == "float32":
        out, shape = view.array(), view.shape
        for argument in arguments:
            if getattr(argument, "shape", None) == shape:
                function(*arguments, out=out)
                view.mark_written()
                return
    store(call, role, function(*arguments))


def operand_of(call, role: str):
    """Return a number, or one number per partition [partition, 1], in FP32."""
    operand = call.__dict__[role]
    if isinstance(operand, View):
        return operand.read_fp32().reshape(operand.shape[0], 1)
    return np.float32(number(call, role))


def apply(operator, left, right, reverse=False):
    """Return ``left <op> right`` in FP32; unary operators look at the left alone."""
    if operator.is_unary:
        return operator.function(left)
    return operator.function(right, left) if reverse else operator.function(left, right)


# -- memset, tensor_copy ----------------------------------------------------------------------


def _check_value(call):
    value, dtype = call.value, call.dst.dtype
    if dtype.is_float or value is None or isinstance(value, str | bool | np.bool_ | complex):
        number(call, "value")
        return
    try:
        exact = value.__index__()
    except (AttributeError, TypeError):
        call.refuse(
            f"value is {value!r} and dst holds {dtype}; an integer tile cannot hold a float, "
            "so write an integer, or give the tile a float dtype"
        )
    if not int(dtype.fmt.min) <= exact <= int(dtype.fmt.max):
        call.refuse(
            f"value is {exact}, and {dtype} goes from {int(dtype.fmt.min)} to {int(dtype.fmt.max)}"
        )


def _memset(call):
    dst = call.dst
    if dst.dtype.is_float:
        value = np.float32(call.value)
        one = np.empty((1,) * len(dst.shape), dst.dtype.storage)
        write_fp32(np.full(one.shape, value), dst.dtype, call.core.rounding, one)
        dst.write_bits(one)
    else:
        dst.write_bits(dst.dtype.storage.type(call.value))


def _memset_work(call):
    dst = call.dst
    return dst.free_size, strided(call, "dst"), dst.dtype.name if call.value == 0 else ""


def _memset_cycles(chip, engine, n, is_strided, zero_dtype):
    fast = zero_dtype in ("bfloat16", "float16")
    return price(chip, "memset_16bit_zero" if fast else "memset", n, is_strided=is_strided)


define(
    "memset", (Engine.VECTOR, Engine.GPSIMD), options=("value",),
    check=limits(dst="[P, F]", value=_check_value),
    execute=_memset, work=_memset_work, cycles=_memset_cycles,
    more_facts=_ON_GPSIMD, by_shape=True,
    facts=("cycles.memset", "cycles.memset_16bit_zero"),
)  # fmt: skip


def _check_scalar(call):
    if call.engine is Engine.SCALAR:
        call.needs("scalar_copy", "a copy on the Scalar Engine",
                   "use activation with op=nl.copy, or leave the engine out")  # fmt: skip


def _copy(call):
    """Move bits where the dtypes are equal, else go through FP32."""
    dst, src = call.dst, call.src
    if dst.dtype is src.dtype:
        values = src.read()
        dst.write_bits(values if values.shape == dst.shape else values.reshape(dst.shape))
    else:
        store(call, "dst", src.read_fp32())


define(
    "tensor_copy", (Engine.VECTOR, Engine.GPSIMD, Engine.SCALAR), reads=("src",),
    check=limits(src="[P, F]", dst="[P, F]", on_scalar=_check_scalar), execute=_copy,
    more_facts=_ON_GPSIMD, by_shape=True, waits=True,
    **priced("tensor_copy", "dst", "src", has_modes=True),
)  # fmt: skip


# -- tensor_tensor ----------------------------------------------------------------------------


def _choose_tensor_tensor(operands):
    operator = get_operator(operands["op"], "op")
    if operator.name == "power":
        return Engine.GPSIMD
    if operator.is_bitvec:
        return Engine.VECTOR
    for role in ("dst", "data1", "data2"):  # 32-bit integers in SBUF: exact on GpSimd
        tile = operands[role]
        if not isinstance(tile, View) or (
            tile.dtype.name not in WORDS or tile.memory is Memory.PSUM
        ):
            return Engine.VECTOR
    return Engine.GPSIMD


def _check_op(call):
    operator = get_operator(call.op, "op")
    if operator.is_unary:
        call.refuse(f"op is {operator.name}, which takes one input; use activation or tensor_copy")
    if operator.is_bitvec:
        _check_bitvec(call, operator, "dst", "data1", "data2")
    if operator.name == "power" and call.engine is not Engine.GPSIMD:
        call.refuse("power of two tiles runs on the GpSimd Engine only")


def _check_bitvec(call, operator, *roles):
    if call.engine is not Engine.VECTOR:
        call.refuse(f"{operator.name} works on bits, which only the Vector Engine can do")
    for role in roles:
        if call.__dict__[role].dtype.is_float:
            call.refuse(
                f"{operator.name} works on bits, and {role} is {call.__dict__[role].dtype}; "
                "bitvec operators take integer dtypes (use .view(dtype) to look at float bits)"
            )


def _tensor_tensor(call):
    operator = get_operator(call.op, "op")
    dst, data1, data2 = call.dst, call.data1, call.data2
    if operator.is_bitvec:
        one, two = _same_width(bits(data1), bits(data2).reshape(data1.shape))
        wide = operator.function(one, two)
        dst.write_bits(_narrow(wide, data1.dtype, dst).reshape(dst.shape))
        return
    if (
        call.engine is Engine.GPSIMD
        and operator.name in _EXACT
        and all(t.dtype.name in WORDS for t in (dst, data1, data2))
    ):
        with_room = data1.read().astype(np.int64), data2.read().astype(np.int64)
        exact = operator.function(with_room[0], with_room[1].reshape(data1.shape))
        dst.write_bits(exact.astype(np.int64).astype(dst.dtype.storage).reshape(dst.shape))
        return
    left, right = data1.read_fp32(), data2.read_fp32()
    if right.shape != left.shape:
        right = right.reshape(left.shape)
    compute(call, "dst", operator.function, left, right)


def _same_width(one, two):
    if one.dtype == two.dtype:
        return one, two
    wide = max(one.dtype, two.dtype)
    return one.astype(wide), two.astype(wide)


def _narrow(values, source, dst):
    """Return bits as dst stores them: cut off, or extended with the source's sign."""
    if values.dtype.itemsize == source.itemsize:
        return from_bits(values, source, dst.dtype)
    return values.astype(f"u{dst.dtype.itemsize}").view(dst.dtype.storage)


def _is_fast(call):
    """Return whether a tensor_tensor reads PSUM, or computes on packed BF16.

    A result wider than one bank cannot have stayed in PSUM: published Mamba kernels take 2 N for
    2,048 columns of it, and N for 512.
    """
    dst, data1, data2 = call.dst, call.data1, call.data2
    bank_bytes = call.core.spec.psum.bank_bytes.value
    for data in (data1, data2):
        if data.memory is Memory.PSUM and data.free_size * data.dtype.itemsize <= bank_bytes:
            return True
    is_bf16 = data1.dtype.name == data2.dtype.name == dst.dtype.name == "bfloat16"
    is_simple = get_operator(call.op, "op").name in ("add", "multiply", "subtract")
    return is_bf16 and is_simple and packed(data1) and packed(data2)


define(
    "tensor_tensor", (Engine.VECTOR, Engine.GPSIMD), reads=("data1", "data2"), options=("op",),
    choose=_choose_tensor_tensor, execute=_tensor_tensor,
    check=limits(
        data1="[P, F]",
        data2="[P, F]: the same partitions and the same number of elements, because every lane "
        "takes one element of each per step (tensor_scalar takes one number per partition); "
        "not in PSUM with data1",
        dst="[P, F]",
        op=_check_op,
    ),
    more_facts=_ON_GPSIMD, by_shape=True, waits=True,
    **priced("tensor_tensor", "dst", "data1", "data2", fast="tensor_tensor_fast", when=_is_fast,
             has_modes=True),
)  # fmt: skip


# -- tensor_scalar ----------------------------------------------------------------------------

SCALAR_ENGINE_PAIRS = {("multiply", "add"), ("multiply", None), ("add", None)}


def _operators(op0, op1):
    first = get_operator(op0, "op0")
    return first, None if op1 is None else get_operator(op1, "op1")


def _choose_tensor_scalar(operands):
    for role in ("op0", "op1"):
        op = operands.get(role)
        if op is not None and get_operator(op, role).name == "rsqrt":
            return Engine.GPSIMD
    return Engine.VECTOR


def _check_kinds(call):
    first, second = _operators(call.op0, call.op1)
    if second is None:
        if call.operand1 is not None:
            call.refuse("operand1 is given without op1; leave it None")
    elif first.is_bitvec != second.is_bitvec:
        call.refuse(
            f"op0 {first.name} and op1 {second.name} are of two kinds; one instruction computes "
            "either on bits or on FP32 numbers, so use two"
        )


def _check_engine(call):
    first, second = _operators(call.op0, call.op1)
    names = first.name, None if second is None else second.name
    if first.is_bitvec:
        _check_bitvec(call, first, "dst", "data")
    elif call.engine is Engine.SCALAR and names not in SCALAR_ENGINE_PAIRS:
        call.refuse(
            f"the Scalar Engine takes multiply, add, or multiply then add, not {first.name}"
            f"{'' if second is None else f' then {second.name}'}; leave the engine out"
        )
    elif "rsqrt" in names and call.engine is not Engine.GPSIMD:
        call.refuse(
            "rsqrt runs on the GpSimd Engine; leave the engine out, or let the Scalar Engine "
            "compute it with activation(op=nl.rsqrt)"
        )
    elif "rsqrt" not in names and call.engine is Engine.GPSIMD:
        call.refuse("the GpSimd Engine takes rsqrt only; leave the engine out")


def _tensor_scalar(call):
    first, second = _operators(call.op0, call.op1)
    if first.is_bitvec:
        _tensor_scalar_bits(call, first, second)
        return
    data = call.data.read_fp32()
    if data.ndim != 2:
        data = data.reshape(call.data.shape[0], -1)
    arguments = _arguments(call, first, data, "operand0", call.reverse0)
    if second is None:
        compute(call, "dst", first.function, *arguments)
        return
    left = first.function(*arguments)
    compute(
        call, "dst", second.function, *_arguments(call, second, left, "operand1", call.reverse1)
    )


def _arguments(call, operator, left, role, reverse):
    """Return an operator's arguments: its left side, and the operand unless it is unary."""
    if operator.is_unary:
        return (left,)
    right = operand_of(call, role)
    return (right, left) if reverse else (left, right)


def _tensor_scalar_bits(call, first, second):
    data, dst = call.data, call.dst
    values = bits(data).reshape(data.shape[0], -1)
    for operator, role, reverse in (
        (first, "operand0", call.reverse0), (second, "operand1", call.reverse1)
    ):  # fmt: skip
        if operator is not None:
            right = None if operator.is_unary else _bits_of(call, role, data.dtype)
            values = apply(operator, values, right, reverse)
    dst.write_bits(from_bits(values, data.dtype, dst.dtype).reshape(dst.shape))


def _bits_of(call, role, dtype):
    operand = call.__dict__[role]
    if isinstance(operand, View):
        found = bits(operand).reshape(operand.shape[0], 1)
        return found.astype(f"u{dtype.itemsize}")
    return bits_operand(operand.__index__(), dtype)


_PRICED = priced("tensor_scalar", "dst", "data", has_modes=True)


def _tensor_scalar_cycles(chip, engine, n, is_strided, *mode):
    if engine == Engine.GPSIMD:
        return price(chip, "tensor_scalar_rsqrt", n, is_strided=is_strided)
    return _PRICED["cycles"](chip, engine, n, is_strided, *mode)


define(
    "tensor_scalar", (Engine.VECTOR, Engine.SCALAR, Engine.GPSIMD),
    reads=("data", "operand0", "operand1"),
    options=("op0", "op1", "operand0", "operand1", "reverse0", "reverse1"),
    defaults={"reverse0": False, "op1": None, "operand1": None, "reverse1": False},
    choose=_choose_tensor_scalar,
    check=limits(
        op0="operator", op1="None or operator", data="[P, F]", dst="[P, F]", reverse0="flag",
        reverse1="flag", kinds=_check_kinds, operand0="operand of op0", operand1="operand of op1",
        engine=_check_engine,
    ),
    execute=_tensor_scalar, by_shape=True, waits=True,
    more_facts={Engine.GPSIMD: ("cycles.tensor_scalar_rsqrt",)},
    **(_PRICED | {"cycles": _tensor_scalar_cycles}),
)  # fmt: skip


# -- tensor_reduce ----------------------------------------------------------------------------


def _axes(call) -> tuple[int, ...]:
    """Return the reduced axes, counted from 0."""
    axis, dims = call.axis, len(call.data.shape)
    given = axis if isinstance(axis, list | tuple) else (axis,)
    numbers = [integer(call, "axis", each) for each in given]
    for each in numbers:
        if not -dims <= each < dims:
            call.refuse(f"axis {each} is out of bounds; data has {dims} axes")
    axes = tuple(sorted({each % dims for each in numbers}))
    if 0 in axes:
        call.refuse(
            "axis 0 is the partition axis, and lanes do not see each other: transpose first, or "
            "multiply by a column of ones with nc_matmul"
        )
    if not axes or axes != tuple(range(dims - len(axes), dims)):
        call.refuse(f"axis {axis!r} omits the last of data's {dims} axes; a reduction includes it")
    return axes


def _check_reduce(call):
    operator = get_operator(call.op, "op")
    if operator.reduce is None:
        call.refuse(
            f"op {operator.name} does not reduce; add, subtract, multiply, maximum, minimum, "
            "and the logical and bitwise and, or, xor do"
        )
    axes = _axes(call)
    data, dst = call.data, call.dst
    lanes, left = data.shape[0], prod(data.shape[1 : axes[0]])
    if (dst.shape[0], dst.free_size) != (lanes, left):
        call.refuse(
            f"dst is {list(dst.shape)}; {list(data.shape)} reduced over axis {call.axis!r} has "
            f"{lanes} partitions with {left} element(s) each"
        )
    if operator.is_bitvec:
        _check_bitvec(call, operator, "dst", "data")
        if call.negate:
            call.refuse(f"negate multiplies by -1.0, and {operator.name} works on bits")


def _tensor_reduce(call):
    operator = get_operator(call.op, "op")
    data, dst = call.data, call.dst
    axis = call.axis
    reduced = len(set(axis)) if isinstance(axis, list | tuple) else 1
    values = bits(data) if operator.is_bitvec else data.read_fp32()
    if reduced > 1:
        values = values.reshape(*data.shape[:-reduced], -1)
    result = operator.reduce(values)
    if operator.is_bitvec:
        dst.write_bits(from_bits(result, data.dtype, dst.dtype).reshape(dst.shape))
    else:
        store(call, "dst", -result if call.negate else result)


def _reduces_fast(call):
    is_bf16 = call.data.dtype.name == call.dst.dtype.name == "bfloat16"
    return is_bf16 and get_operator(call.op, "op").name in ("add", "maximum")


define(
    "tensor_reduce", Engine.VECTOR, reads=("data",), options=("op", "axis", "negate"),
    defaults={"negate": False, "keepdims": False},
    check=limits(data="tile", dst="tile", negate="flag", keepdims="flag", op=_check_reduce),
    execute=_tensor_reduce, by_shape=True,
    **priced("tensor_reduce", "data", "dst", fast="tensor_reduce_bf16", when=_reduces_fast),
)  # fmt: skip
