"""Arithmetic on tiles, element by element.  Each function also names an operator: ``op=nl.add``.

The functions are rows of ``nki/elementwise.toml``, computed by ``language/rules.py``; here is how
this interface takes tiles, and leaves an instruction waiting for its destination.
"""

from functools import partial

from trainium_edu.nki import language as current_interface
from trainium_edu.nki.beta1.access import cut
from trainium_edu.nki.beta1.index import EMPTY, Expression, box_of
from trainium_edu.nki.beta1.isa import tensor_reduce
from trainium_edu.nki.beta1.operation import (
    Operation,
    assign,
    copied,
    in_sbuf,
    operation,
    perform,
    scalar,
    settle,
    tile,
)
from trainium_edu.nki.beta1.promotion import as_dtype, of_scalar
from trainium_edu.nki.beta1.tile import Blocks, Held, Moved, Tile, allocate, of_tensor
from trainium_edu.nki.language.rules import BITWISE, Rules
from trainium_edu.nki.language.rules import refuse as refuse
from trainium_edu.nki.objects.dtypes import promoted
from trainium_edu.nki.objects.enums import MemoryRegion
from trainium_edu.nki.refusals import misuse, refusal
from trainium_edu.nki.rows import publish

_PSUM = MemoryRegion.psum


def broadcast_to(src, *, shape, **kwargs) -> Tile:
    """Return a tile that repeats `src` along its dimensions of size 1.

    Free dimensions are repeated by the access pattern; partitions by the Tensor Engine (a row of
    ones times `src`).

    Parameters
    ----------
    src : tile in SBUF or PSUM
    shape : tuple of int
    """
    src = tile(src, "broadcast_to: src")
    shape = tuple(shape)
    have = tuple(src.window.shape)
    if len(have) == 2 and len(shape) > 2 and shape[0] in (have[0], 1):
        src = src.reshape((have[0], *(1,) * (len(shape) - 2), have[1]))
        have = tuple(src.window.shape)
    if len(have) != len(shape) or any(a not in (1, b) for a, b in zip(have, shape, strict=True)):
        raise refusal("language.broadcast", x=src, shape=list(shape))
    if have == shape:
        return src
    if have[0] != shape[0]:
        settle()
        narrow = (shape[0], *have[1:])
        src = of_tensor(current_interface.broadcast_to(src.tensor, narrow))
    view = src.window
    return src.like(view.broadcast(*shape)) if tuple(view.shape) != shape else src


# -- put together by the current interface ----------------------------------------------------


def composed(name, x, shape, mask, call):
    """Return what a function of the current interface, of several instructions, gives.

    Parameters
    ----------
    name : str
    x : Tile
    shape : tuple of int
        Of the whole result; a mask leaves a box of it.
    call : callable
        Takes the part of `x` that the mask leaves, as a tensor; returns a tensor.
    """
    settle()
    box = box_of(mask, tuple(x.shape), f"nl.{name}")
    if box is None:
        return of_tensor(call(x.tensor))
    result = None
    if box is not EMPTY:
        part = of_tensor(call(x.like(cut(x, box, None, tuple(x.shape))).tensor))
        result = allocate(shape, part.kind)
        kept = tuple(slice(*pair) if size != 1 else slice(None)
                     for pair, size in zip(box, shape, strict=False))  # fmt: skip
        perform("tensor_copy", dst=result[kept], src=part)
    return result if result is not None else allocate(shape, x.kind)


class Waiting(Rules):
    """The older interface: a result is an instruction that waits for its destination."""

    copied = staticmethod(copied)
    in_sbuf = staticmethod(in_sbuf)

    def binary(self, name, x, y, dtype=None, **how):
        """Return an operator of two operands, or an index that the chip moves."""
        if name == "add" and Expression in (type(x), type(y)):
            return Moved(x, y) if type(x) is Expression else Moved(y, x)
        return super().binary(name, x, y, dtype, **how)

    def is_tile(self, x):
        """Return whether an operand is a tile."""
        return isinstance(x, Tile)

    def tile(self, name, x, role="x"):
        """Return an operand that has to be a tile on chip."""
        return tile(x, f"{name}: {role}")

    def operand(self, name, x, role):
        """Return a tile on chip, or a number."""
        x = scalar(x)
        return self.tile(name, x, role) if isinstance(x, Tile) else x

    def sizes(self, x):
        """Return the sizes of a tile, which has a free dimension at least."""
        return x.window.shape

    def kind(self, x):
        """Return the dtype of a tile."""
        return x.kind

    def with_number(self, kind, number):
        """Return what a dtype and that of a number become together."""
        return promoted(kind, of_scalar(number))

    def is_in_psum(self, x):
        """Return whether a tile is in PSUM."""
        return x.region is _PSUM

    def repeated(self, x, shape):
        """Return a tile, its dimensions of size 1 repeated."""
        return broadcast_to(x, shape=shape)

    def made(self, instruction, shape, dtype, **operands):
        """Return the result of an instruction; operators of bits do not cast."""
        is_column = isinstance(operands.get("operand0"), Tile)
        op = operands.get("op0", operands.get("op"))
        return operation(
            instruction, shape, dtype, axes={"operand0": (0, None)} if is_column else None,
            casts=op not in BITWISE, **operands,
        )  # fmt: skip

    def reduced(self, op, x, axes, dtype, keepdims, mask=None):
        """Return a reduction of a tile over free axes."""
        return tensor_reduce(op, x, axes, dtype=dtype, mask=mask, keepdims=keepdims)

    def rounding(self, name, x, dtype=None, mask=None):
        """Return what a function of the current interface gives."""
        x = tile(x, f"{name}: x")
        kind = x.kind if dtype is None else as_dtype(dtype)
        return composed(
            name, x, x.shape, mask, partial(getattr(current_interface, name), dtype=kind)
        )

    def remainder(self, name, x, y, dtype=None, mask=None):
        """Return what ``mod`` or ``fmod`` of the current interface gives."""
        x, y = scalar(x), scalar(y)
        data = x if isinstance(x, Tile) else tile(y, f"{name}: y")
        second = y.tensor if isinstance(y, Tile) else y
        if isinstance(x, Tile) and isinstance(y, Tile) and mask is not None:
            box = box_of(mask, tuple(x.shape), f"nl.{name}")
            second = y.like(cut(y, box, None, tuple(x.shape))).tensor

        def call(part):
            pair = (part, second) if isinstance(x, Tile) else (x, part)
            kind = as_dtype(dtype) if dtype is not None else None
            return getattr(current_interface, name)(*pair, dtype=kind)

        return composed(name, data, data.shape, mask, call)


RULES = Waiting()
_KINDS = "two_inputs comparisons one_input negations roundings remainders"
__all__ = ["broadcast_to", *(_NAMES := publish("old", _KINDS, globals()))]
for _name in _NAMES:
    globals()[_name].op = _name  # instructions know it by this name


# -- operators of tiles -----------------------------------------------------------------------


def _operator(function, *, reverse=False):
    def called(self, other):
        return function(other, self) if reverse else function(self, other)

    return called


def _operator_of_one(function):
    return lambda self: function(self)


def _in_place(function):
    def called(self, other):
        whole = self.one() if type(self) is Blocks else self
        is_sum = function.op == "add" and isinstance(other, Operation)
        if is_sum and other.accumulates_into(whole):
            other.accumulate(whole)
        else:
            assign(whole, function(whole, other))
        return self

    return called


_BY_SIGN = {
    "add": "add", "sub": "subtract", "mul": "multiply", "truediv": "divide", "pow": "power",
    "mod": "mod", "and": "bitwise_and", "or": "bitwise_or", "xor": "bitwise_xor",
    "lshift": "left_shift", "rshift": "right_shift",
}  # fmt: skip
_COMPARISONS = {"lt": "less", "le": "less_equal", "gt": "greater", "ge": "greater_equal",
                "eq": "equal", "ne": "not_equal"}  # fmt: skip
for _sign, _name in (_BY_SIGN | _COMPARISONS).items():
    _function = globals()[_name]
    setattr(Held, f"__{_sign}__", _operator(_function))
    if _sign in _BY_SIGN:
        setattr(Held, f"__r{_sign}__", _operator(_function, reverse=True))
        setattr(Held, f"__i{_sign}__", _in_place(_function))
for _sign, _name in (("neg", "negative"), ("abs", "abs"), ("invert", "invert")):
    setattr(Held, f"__{_sign}__", _operator_of_one(globals()[_name]))


def _of_one_tile(method):
    """Return a method of tiles for Blocks that have but one."""
    return lambda self, *args: method(self.one(), *args)


_UFUNCS = {"true_divide": "divide", "absolute": "abs", "remainder": "mod", "bitwise_not": "invert"}


def _ufunc(self, ufunc, method, *inputs, **kwargs):
    """Compute ``np.exp(tile)`` and ``np.float32(2) * tile`` by this language's function."""
    nl_function = globals().get(_UFUNCS.get(ufunc.__name__, ufunc.__name__))
    if method != "__call__" or kwargs.keys() - {"dtype"} or nl_function is None:
        raise misuse("language.ufunc", ufunc=ufunc)
    return nl_function(*inputs, **kwargs)


def _broadcast_to(self, shape):
    return broadcast_to(self, shape=shape)


def _astype(self, dtype):
    return copied(self, as_dtype(dtype))


setattr(Held, "__array_ufunc__", _ufunc)  # noqa: B010
for _name, _method in (("broadcast_to", _broadcast_to), ("astype", _astype)):
    setattr(Tile, _name, _method)
    setattr(Blocks, _name, _of_one_tile(_method))
