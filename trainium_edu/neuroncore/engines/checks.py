"""What an instruction accepts, written in its row, and the sentences for what it refuses.

``limits(data="[P, F ≤ 512]: call it on pieces", dst="[P, 6]; float32 bfloat16")`` reads: data is a
tile of P partitions with F elements in each, at most 512; dst has P partitions with 6 elements in
each, and one of two dtypes.  A colon introduces the end of the sentence: why, and what to try.

==============================  ====================================================================
clause                          the operand is
==============================  ====================================================================
``tile``                        a tile of any size
``[P, F]``, ``[F, P]``          a tile; a letter is a size, and is the same wherever it occurs
``[P, 2F]``, ``[1, F]``         ... of twice that size; of this size
``F ≤ N``, ``F 8..N``,          ... within a range; N is a number or a fact of the chip
``F multiple of N``
``uint8 uint16``, ``integer``   ... of one of these dtypes
``like data``                   ... of the dtype of data
``in HBM or SBUF``              a tensor there; ``in PSUM``: a tile there, and nowhere else
``as many elements as src``     ... of that size, whatever its shape
``up to 3 axes``                ... of that rank
``not in PSUM with data``       ... in SBUF where data is in PSUM: the engine has one port to it
``flag``, ``number``            True or False; one number
``int 8..65535``                an integer from 8 to 65535
``one of add max``              one of these words or integers
``operator``                    an ALU operator
``operator of numbers``         ... that works on numbers
``operator add``                ... of these
``operand of op0``              what that operator takes beside the data
``number or [P, 1]``            a number, or a tile; ``None or`` stands for an operand left out
``each in HBM``                 a list: each of its operands is that
==============================  ====================================================================
"""

import re
from collections.abc import Callable
from functools import partial
from math import inf
from typing import NamedTuple

import numpy as np

from trainium_edu.neuroncore.engines.operators import get_operator
from trainium_edu.neuroncore.recording.dtypes import DTYPES
from trainium_edu.neuroncore.recording.engine import Engine, Memory
from trainium_edu.neuroncore.recording.instruction_set import INSTRUCTIONS
from trainium_edu.neuroncore.recording.views import View
from trainium_edu.specs import arguments
from trainium_edu.specs.errors import NkiValidationError

__all__ = ["integer", "limits", "number", "short", "walked_axes"]

_SAME_SIZE = (
    "the same partitions and the same number of elements, because every lane takes one element of "
    "each tile per step"
)
_CAST = "tensor_copy it into such a tile first"
_MOVED = (
    "DMA moves data between HBM and SBUF, and PSUM is reached by engines only: use tensor_copy to "
    "bring it to SBUF first"
)


def limits(**clauses) -> Callable:
    """Return the check of an instruction whose operands have these limits.

    Parameters
    ----------
    **clauses : str or callable
        The clauses of each operand, separated by semicolons, or ``function(call)`` that raises for
        a limit no clause expresses.  Inputs come first, because the first operand with a letter
        decides the letter's size.
    """
    steps: list[_Step] = []
    for role, text in clauses.items():
        after_tiles = any(step.phase for step in steps)
        if callable(text):
            steps.append(_Step(3 * after_tiles, role, "", partial(_call_alone, text)))
        else:
            steps += _steps(role, text, after_tiles=after_tiles)
    steps.sort(key=lambda step: step.phase)

    def check(call):
        sizes: dict[str, tuple[int, str]] = {}
        operands = call.__dict__
        for _, role, otherwise, function in steps:
            value = operands.get(role)
            if otherwise and not isinstance(value, View):
                if value is None and "None" in otherwise:
                    continue
                if "number" in otherwise:
                    number(call, role, "a number or a tile")
                    continue
            function(call, role, value, sizes)

    return check


def _call_alone(function, call, role, value, sizes):
    function(call)


def _on_each(function, call, role, values, sizes):
    for place, value in enumerate(values):
        function(call, f"{role}[{place}]", value, sizes)


class _Step(NamedTuple):
    """One limit of one operand; of all operands, kinds are checked first, then sizes."""

    phase: int
    role: str
    otherwise: str  #: "None or ", "number or " where the operand may be that instead
    function: Callable  #: ``function(call, role, value, sizes)`` raises


def _steps(role, text, *, after_tiles):
    """Return the steps of one operand's clauses."""
    otherwise, text = re.fullmatch(r"((?:None or |number or )*)(.+)", text).groups()
    steps = []
    for clause in text.split("; "):
        words, _, why = clause.partition(": ")
        is_list, words = words.startswith("each "), words.removeprefix("each ")
        for phase, pattern, make_check in _CLAUSES:
            match = re.fullmatch(pattern, words)
            if match:
                check = make_check(**match.groupdict(default=""), why=why)
                check = partial(_on_each, check) if is_list else check
                phase = 3 if otherwise or (phase == 0 and after_tiles) else phase
                steps.append(_Step(phase, role, otherwise, check))
                if make_check is not _check_tile or words == "tile":
                    break
        else:
            raise ValueError(f"{role}: {words!r} is not a clause of limits()")
    return steps


# -- tiles --------------------------------------------------------------------------------------


def _check_reach(call, role: str, view, sizes=None) -> None:
    """Raise unless an operand is a tile that the engine can reach."""
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
        call.refuse(f"{role} is in PSUM, which the GpSimd Engine cannot reach; {_way_out(call)}")
    _check_pattern(call, role, view)


def _in_memories(memories, why):
    allowed = [Memory[memory] for memory in memories.split(" or ")]

    def check(call, role, view, sizes):
        if not isinstance(view, View):
            kind = "tensor" if Memory.HBM in allowed else "tile"
            raise TypeError(
                f"{call.name}: {role} is {short(view)}; it must be a {kind} in {memories}"
            )
        if view.memory not in allowed:
            call.refuse(f"{role} is {view!r}; {why or _MOVED}")

    return check


def _way_out(call) -> str:
    """Return the remedy for a tile in PSUM, which GpSimd cannot reach."""
    copy = "use a tile in SBUF, and tensor_copy from or to PSUM"
    roles = {"tensor_tensor": ("op",), "tensor_scalar": ("op0", "op1")}.get(call.name, ())
    operators = [getattr(call, role) for role in roles]
    names = {get_operator(op, "op").name for op in operators if op is not None}
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


def _check_pattern(call, role: str, view) -> None:
    """Raise unless one access pattern of the hardware can walk the tile's free elements."""
    chip = call.core.spec.limits
    most = (chip.psum_free_max if view.memory is Memory.PSUM else chip.sbuf_free_max).value
    if view.free_size > most:
        call.refuse(
            f"{role} has {view.free_size} elements per partition, and one instruction walks at "
            f"most {most} in {view.memory.upper()}; split the free axis"
        )
    axes = walked_axes(view)
    if len(axes) > chip.free_dimensions_max.value:
        call.refuse(
            f"{role} {list(view.shape)} has {len(axes)} free axes with strides of their own, and "
            f"an access pattern has up to {chip.free_dimensions_max.value}; copy part by part"
        )
    top = np.iinfo(chip.stride_type.value).max
    for size, stride in axes:
        if stride // view.dtype.itemsize > top:
            call.refuse(
                f"{role} steps by {stride // view.dtype.itemsize} elements on an axis of {size}, "
                f"and strides are {chip.stride_type.value}: at most {top}; use a view of 32-bit "
                "elements, or one instruction for each step"
            )


def _check_tile(why, **_):
    return _check_reach


class _Size(NamedTuple):
    """One size of a tile: ``F``, ``2F``, ``6``, ``F ≤ 512``, ``F 8..99``, ``P multiple of 16``."""

    name: str
    times: int
    least: int
    most: str  #: "" for no end; a number, or a fact of the chip
    unit: str  #: "" or what it is a multiple of

    @classmethod
    def of(cls, text):
        """Return the size that a clause writes."""
        times, name, least, most, unit = re.fullmatch(
            r"(\d*)([A-Z]?)(?: (?:(\d+)\.\.|≤ )(\S+))?(?: multiple of (\S+))?", text
        ).groups("")
        return cls(name, int(times or 1), int(least or 0), most, unit)

    def check(self, call, role, size, counted, why):
        """Raise unless a size is inside the range, and a multiple of the unit."""
        most, unit = (_evaluate(call, bound) for bound in (self.most, self.unit))
        if (most and not self.least <= size <= most) or (unit and size % unit):
            if unit:
                takes = f"a multiple of {unit}"
            else:
                takes = f"{self.least} to {most}" if self.least else f"at most {most}"
            call.refuse(f"{role} has {size} {counted}; {call.name} takes {takes}{_end(why)}")


def _evaluate(call, bound: str) -> int:
    """Return a bound that is a number, or a fact of the chip; 0 for none."""
    if not bound or bound.isdigit():
        return int(bound or 0)
    return int(call.core.spec.find(bound).value)


def _end(why: str) -> str:
    return f": {why}" if why else ""


def _of_sizes(lanes, free, why):
    dimensions = _Size.of(lanes), _Size.of(free)
    default = {("P", "F"): _SAME_SIZE, ("P", "1"): "one number per partition"}.get((lanes, free))

    def check(call, role, view, sizes):
        actual = [view.shape[0], view.free_size]
        needed, deciding = [], {}
        for dimension, size in zip(dimensions, actual, strict=True):
            known, decided_by = sizes.setdefault(dimension.name, (size, role))
            needed.append(dimension.times * (known if dimension.name else 1))
            if dimension.name and decided_by != role:
                deciding[decided_by] = list(call.__dict__[decided_by].shape)
        if actual != needed:
            beside = " and ".join(f"{other} {shape}" for other, shape in deciding.items())
            beside = f"with {beside} " if beside else ""
            end = _end(why or default)
            call.refuse(f"{role} is {list(view.shape)}; {beside}it must be {needed}{end}")
        for dimension, size, what in zip(
            dimensions, actual, ("partitions", "elements per partition"), strict=True
        ):
            dimension.check(call, role, size, what, why)

    return check


def _of_dtypes(names, why):
    groups = {"integer": lambda d: not d.is_float, "float": lambda d: d.is_float}
    allowed = []
    for name in names.split():
        if name in groups:
            allowed += [dtype.name for dtype in DTYPES.values() if groups[name](dtype)]
        else:
            allowed.append(DTYPES[name].name)

    def check(call, role, view, sizes):
        if view.dtype.name not in allowed:
            end = _end(why or (_CAST if role in call.row.reads else ""))
            call.refuse(f"{role} is {view.dtype}; it must be {_listed(allowed)}{end}")

    return check


def _listed(names) -> str:
    """Write names as "a, b or c"."""
    *most, last = names
    return f"{', '.join(most)} or {last}" if most else last


def _like(other, why):
    why = why or "this instruction moves bits, so both need the same dtype"

    def check(call, role, view, sizes):
        needed = call.__dict__[other].dtype
        if view.dtype is not needed:
            call.refuse(f"{role} is {view.dtype} and {other} is {needed}; {why}")

    return check


def _as_many(other, why):
    def check(call, role, view, sizes):
        like = call.__dict__[other]
        if view.size != like.size:
            call.refuse(f"{other} {list(like.shape)} has {like.size} elements and {role} "
                        f"{list(view.shape)} has {view.size}; {why}")  # fmt: skip

    return check


def _of_rank(most, why):
    def check(call, role, view, sizes):
        shape = view.shape
        if len(shape) > int(most):
            call.refuse(
                f"{role} {list(shape)} has {len(shape)} axes; it takes up to {most}: "
                f"{why or 'reshape'}"
            )

    return check


def _not_both_in_psum(other, why):
    def check(call, role, value, sizes):
        both = (call.__dict__[other], value)
        if all(getattr(operand, "memory", None) is Memory.PSUM for operand in both):
            call.refuse(
                f"{other} and {role} are both in PSUM, and one of the two inputs must be in SBUF; "
                "copy one there with tensor_copy"
            )

    return check


# -- operators, numbers, words --------------------------------------------------------------------


def _operator(kind, names, why):
    allowed = names.split()
    takes = f"one of {', '.join(allowed)}" if len(allowed) > 1 else names.strip()
    needs = "arithmetic on two inputs" if kind == "two numbers" else "arithmetic"

    def check(call, role, value, sizes):
        operator = get_operator(value, f"{call.name}: {role}")
        if kind and operator.is_bitvec:
            call.refuse(f"{role} is {operator.name}, which works on bits; it must be {needs}")
        if kind == "two numbers" and operator.is_unary:
            call.refuse(f"{role} is {operator.name}, which takes one input; it must be {needs}")
        if names and operator.name not in allowed:
            call.refuse(f"{role} is {operator.name}; it must be {takes}{_end(why)}")

    return check


def _check_per_partition(call, role: str, partitions: int, like: str, dtypes=()) -> None:
    """Raise unless the operand is a number, or a tile with one element per partition."""
    value = call.__dict__[role]
    if isinstance(value, View):
        _check_reach(call, role, value)
        _ONE_EACH(call, role, value, {"P": (partitions, like)})
        if dtypes:
            _of_dtypes(" ".join(dtypes), "")(call, role, value, {})
    else:
        number(call, role, "a number or a tile")


def _operand_of(op, dtypes, why):
    """Return the check of what an operator takes: nothing, a number, a scalar per partition."""

    def check(call, role, value, sizes):
        if call.__dict__[op] is None:
            return
        operator = get_operator(call.__dict__[op], op)
        if operator.name == "bypass" and not isinstance(value, View | str | bool):
            return  # the value is not used
        if operator.is_unary:
            if value is not None and not (isinstance(value, int | float) and value == 0):
                call.refuse(f"{operator.name} takes one input, so {role} is None or 0")
            return
        if value is None:
            raise TypeError(f"{call.name}: {operator.name} takes two inputs, and {role} is None")
        if operator.is_bitvec and not isinstance(value, View):
            integer(call, role, value)
            return
        partitions, like = sizes["P"]
        is_free = operator.is_bitvec or dtypes
        _check_per_partition(call, role, partitions, like, () if is_free else ("float32",))
        if operator.is_bitvec and value.dtype.is_float:
            call.refuse(f"{operator.name} works on bits, and {role} is {value.dtype}")

    return check


def _flag(why):
    takes = f"it must be True or False{_end(why)}"

    def check(call, role, value, sizes):
        if not isinstance(value, bool | np.bool_):
            raise TypeError(f"{call.name}: {role} is {short(value)}; {takes}")

    return check


def _word(names, why):
    words = [int(name) if name.isdecimal() else name for name in names.split()]
    takes = f"it must be one of {', '.join(map(str, words))}{_end(why)}"

    def check(call, role, value, sizes):
        if isinstance(value, bool | float) or value not in words:
            call.refuse(f"{role} is {value!r}; {takes}")

    return check


def _number(why):
    return lambda call, role, value, sizes: number(call, role)


def _int(low, high, why):
    def check(call, role, value, sizes):
        integer(call, role, value, int(low), int(high), why)

    return check


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


def integer(call, name: str, value, low=-inf, high=inf, why="") -> int:
    """Return an integer from `low` to `high`; raise TypeError for anything but an integer."""
    try:
        return arguments.whole(value, f"{call.name}: {name}", low, high, _end(why))
    except ValueError as error:
        raise NkiValidationError(str(error)) from None


def short(value) -> str:
    """Return a value as a message shows it."""
    if isinstance(value, np.ndarray):
        return f"a host array, {value.dtype}{list(value.shape)}"
    text = repr(value)
    return text if len(text) < 60 else f"{text[:56]} ..."


_TILE = r"\[(?P<lanes>[^,\]]+), (?P<free>[^\]]+)\]"
_CLAUSES = (
    (1, r"tile", _check_tile), (1, _TILE, _check_tile),
    (1, r"in (?P<memories>[A-Z]+(?: or [A-Z]+)?)", _in_memories),
    (2, _TILE, _of_sizes),
    (3, r"like (?P<other>\w+)", _like), (3, r"as many elements as (?P<other>\w+)", _as_many),
    (3, r"up to (?P<most>\d) axes", _of_rank),
    (3, r"not in PSUM with (?P<other>\w+)", _not_both_in_psum),
    (0, r"operator(?: of (?P<kind>numbers|two numbers))?(?P<names>(?: \w+)*)", _operator),
    (3, r"operand of (?P<op>\w+)(?P<dtypes>, of any dtype)?", _operand_of),
    (0, r"flag", _flag), (0, r"number", _number),
    (0, r"int (?P<low>-?\d+)\.\.(?P<high>\d+)", _int), (0, r"one of (?P<names>.+)", _word),
    (3, r"(?P<names>\w+(?: \w+)*)", _of_dtypes),
)  # fmt: skip
_ONE_EACH = _of_sizes("P", "1", "")
