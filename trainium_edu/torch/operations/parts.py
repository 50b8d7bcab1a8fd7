"""Operations without a row, as PyTorch decomposes them into others that have one.

A decomposition runs once per signature, on tensors without data; what it calls is written down, and
each graph records that by the rows.  One that writes in place, or calls what has no row, does not
count: such an operation runs on the CPU.  Numbers that the call did not bring are the formula's, so
they are constants of the graph.
"""

from collections.abc import Callable
from dataclasses import dataclass
from functools import lru_cache, partial
from typing import Any, NamedTuple

import torch
from torch._decomp import decomposition_table
from torch.utils._python_dispatch import TorchDispatchMode
from torch.utils._pytree import tree_leaves, tree_map

from trainium_edu.torch.operations import table
from trainium_edu.torch.operations.table import ROWS, dtype_of, name_of, to_dtype
from trainium_edu.xla.device import Device
from trainium_edu.xla.graph import GraphError
from trainium_edu.xla.tensor import Tensor

__all__ = ["decomposes", "fits", "overload", "row_of"]

_BY_PARTS = torch._C.DispatchKey.CompositeExplicitAutograd
_COMPOSITE = torch._C.DispatchKey.CompositeImplicitAutograd
#: their composite kernels write in place; those of the table do not
_WRITING = "aten::silu_backward", "aten::mish_backward"
_META = torch.device("meta")


class _Hollow(NamedTuple):
    """A tensor of which a decomposition sees only this."""

    shape: tuple[int, ...]
    dtype: str

    def made(self) -> torch.Tensor:
        names = {"int32": "int64", "float8_e4m3": "float8_e4m3fn"}
        dtype = getattr(torch, names.get(self.dtype, self.dtype))
        return torch.empty(self.shape, dtype=dtype, device=_META)


@dataclass(frozen=True, slots=True)
class _Result:
    """Stands for a tensor among the parts of a call: an argument, or made by a part before."""

    number: int


class _Part(NamedTuple):
    """One call of a row."""

    name: str
    args: tuple
    kwargs: dict[str, Any]
    makes: int  #: how many results it has


class _NoRow(Exception):
    """A decomposition calls what cannot be recorded."""


class _Recorder(TorchDispatchMode):
    """Writes down what a decomposition calls."""

    def __init__(self, name: str, arguments):
        super().__init__()
        self.parts: list[_Part] = []
        self._open = {name}  # what is being decomposed
        self._tensors: dict[int, tuple[int, torch.Tensor]] = {}  # by id, which lasts while it lives
        self._number(arguments)

    def _number(self, given) -> int:
        """Return how many tensors there are, each now with a number."""
        tensors = [x for x in tree_leaves(given) if torch.is_tensor(x)]
        for tensor in tensors:
            self._tensors[id(tensor)] = len(self._tensors), tensor
        return len(tensors)

    def kept(self, given):
        """Return arguments or results with results' numbers in place of tensors."""

        def one(x):
            if not torch.is_tensor(x):
                return x
            known = self._tensors.get(id(x))
            return _Result(known[0]) if known else x.item()  # on the CPU: the formula's number

        return tree_map(one, given)

    def __torch_dispatch__(self, func, types, args=(), kwargs=None):
        kwargs, name = kwargs or {}, name_of(func)
        if func._schema.is_mutable or name in self._open:
            raise _NoRow  # what leads to itself would never end
        if name not in ROWS:
            self._open.add(name)
            with self:
                out = _decomposed(func, args, kwargs)
            self._open.remove(name)
            return out
        if not table.fits(name, *args, **kwargs):
            raise _NoRow
        out = func(*args, **kwargs)
        self.parts.append(_Part(name, *self.kept((args, kwargs)), self._number(out)))
        return out


def _decomposed(func, args, kwargs):
    """Call what PyTorch makes an operation of."""
    if func.has_kernel_for_dispatch_key(_COMPOSITE) and name_of(func) not in _WRITING:
        out = func.decompose(*args, **kwargs)
    elif func in decomposition_table:
        out = decomposition_table[func](*args, **kwargs)
    else:
        out = func._op_dk(_BY_PARTS, *args, **kwargs)
    if out is NotImplemented:
        raise _NoRow
    return out


def decomposes(func) -> bool:
    """Return whether PyTorch makes an operation of others; one on lists, of those of one tensor."""
    key = _BY_PARTS if func.name().startswith("aten::_foreach") else _COMPOSITE
    return func in decomposition_table or func.has_kernel_for_dispatch_key(key)


def overload(name: str):
    """Return the overload of a name with its namespace, such as ``aten::add.Tensor``."""
    space, _, rest = name.partition("::")
    packet, _, kind = rest.partition(".")
    return getattr(getattr(getattr(torch.ops, space), packet), kind or "default")


def _signature(argument) -> Any:
    """Return, hashable, all that a decomposition may depend on."""
    if isinstance(argument, list | tuple):
        return tuple(map(_signature, argument))
    if isinstance(argument, Tensor):  # what XLA_USE_BF16 narrowed looks to PyTorch as it was
        is_narrowed = argument.device.narrowed.get("float32") == argument.dtype
        return _Hollow(argument.shape, "float32" if is_narrowed else argument.dtype)
    if torch.is_tensor(argument):
        return _Hollow(tuple(argument.shape), dtype_of(argument.dtype))
    if isinstance(argument, torch.device | Device):
        return _META
    return argument


@lru_cache(4096, typed=True)
def _parts(name: str, args, kwargs) -> tuple[list[_Part], list] | None:
    """Return what a call is made of, and its (result, dtype) pairs; None if that has no rows."""

    def hollow(given):
        if type(given) is _Hollow:
            return given.made()
        return [*map(hollow, given)] if type(given) is tuple else given

    args, kwargs = hollow(args), {key: hollow(x) for key, x in kwargs}
    recorder = _Recorder(name, [args, kwargs])
    try:
        with torch.no_grad(), recorder:
            out = _decomposed(overload(name), args, kwargs)
    except (_NoRow, GraphError, RuntimeError, TypeError, ValueError, IndexError):
        return None  # if the call is wrong, PyTorch says so on the CPU
    out = list(out) if isinstance(out, list | tuple) else [out]
    return recorder.parts, [(recorder.kept(x), getattr(x, "dtype", None)) for x in out]


def fits(name: str, *arguments, **options) -> bool:
    """Return whether a call can be recorded; if not, it runs on the CPU.

    Parameters
    ----------
    name : str
        Functional, with the overload: ``aten::add.Tensor``.
    *arguments, **options
        Of the call; of tensors only shape and dtype are looked at.
    """
    if name in ROWS:
        return table.fits(name, *arguments, **options)
    return decomposes(overload(name)) and _parts_of(name, arguments, options) is not None


def _parts_of(name, args, kwargs):
    return _parts(name, _signature(args), tuple((k, _signature(x)) for k, x in kwargs.items()))


def row_of(name: str) -> Callable:
    """Return what records an operation: its row, or the rows of what PyTorch makes it of."""
    return ROWS.get(name) or partial(_by_parts, name)


def _by_parts(name: str, *args, **kwargs):
    decomposition = _parts_of(name, args, kwargs)
    if decomposition is None:
        raise GraphError(f"{name} of such arguments has no row, and PyTorch no decomposition of it")
    leaves = tree_leaves([args, kwargs])
    values = [x for x in leaves if isinstance(x, Tensor)]
    device = values[0].device if values else kwargs["device"]
    parts, results = decomposition

    def filled(argument):
        if type(argument) is _Result:
            return values[argument.number]
        return device if type(argument) is torch.device else argument

    before, device.lifted = device.lifted, {x for x in leaves if type(x) in (int, float)}
    try:
        for part in parts:
            args, kwargs = tree_map(filled, (part.args, part.kwargs))
            out = ROWS[part.name](*args, **kwargs)
            made = [x for x in (out if isinstance(out, list | tuple) else [out]) if x is not None]
            values += made[: part.makes]
    finally:
        device.lifted = before
    out = [x if dtype is None else to_dtype(values[x.number], dtype) for x, dtype in results]
    return out[0] if len(out) == 1 else tuple(out)


ROWS["prims::convert_element_type"] = to_dtype
