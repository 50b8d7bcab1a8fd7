"""The table: name of an aten overload -> what records it, and what rows are written with."""

from collections.abc import Callable
from functools import partial

import numpy as np
import torch

from trainium_edu.xla import numpy as xnp
from trainium_edu.xla.device import Device
from trainium_edu.xla.graph import GraphError, Node
from trainium_edu.xla.operations.table import OPERATIONS, apply, constant
from trainium_edu.xla.tensor import Tensor

__all__ = [
    "INVERSE", "ON_CPU", "ROWS", "WRITES", "both", "dtype_of", "fits", "fixed",
    "gradient", "inverse", "name_of", "of_floats", "record", "row", "small_array", "supported",
    "to_dtype",
]  # fmt: skip

ROWS: dict[str, Callable] = {}  #: ``aten::name.overload`` -> row
INVERSE: dict[str, Callable] = {}  #: of a view: (base, new part, its arguments) -> new base
#: arguments that an operation writes although its schema does not say so, or beside its results:
#: its row returns their new values after the schema's results
WRITES: dict[str, tuple[str, ...]] = {}
#: values of what PyTorch has no kernel for on the CPU, or only a slow one, with the same arguments
ON_CPU: dict[str, Callable] = {}
_FITS: dict[str, Callable] = {}
_DTYPES = {
    torch.float32: "float32", torch.float64: "float32", torch.bfloat16: "bfloat16",
    torch.float16: "float16", torch.float8_e4m3fn: "float8_e4m3", torch.float8_e5m2: "float8_e5m2",
    torch.int64: "int32", torch.int32: "int32", torch.int16: "int32", torch.int8: "int32",
    torch.uint8: "uint8", torch.uint32: "uint32", torch.bool: "bool",
}  # fmt: skip


def row(*names: str, fits: Callable | None = None, writes: tuple[str, ...] = ()) -> Callable:
    """Make a function the row of overloads, named without ``aten::``.

    Parameters
    ----------
    *names : str
    fits : callable, optional
        Takes the operation's arguments (tensors of any kind, looked at for shape and dtype), and
        returns whether the row records such a call.
    writes : tuple of str
        Arguments that the operation writes beside what it returns; see ``WRITES``.
    """

    def keep(function):
        for name in names:
            key = f"aten::{name}"
            if key in ROWS:
                raise ValueError(f"there is a row {key} already")
            ROWS[key] = function
            if fits is not None:
                _FITS[key] = fits
            if writes:
                WRITES[key] = writes
        return function

    return keep


def both(name: str, lazy, front) -> Callable:
    """Make a function of (namespace, arguments) the row of an overload, and its values.

    Parameters
    ----------
    name : str
    lazy, front : SimpleNamespace
        What the function calls: for the row, and for PyTorch's tensors on the CPU.
    """

    def keep(function):
        recorded = partial(function, lazy)
        recorded.__module__ = function.__module__  # the family
        row(name)(recorded)
        ON_CPU[f"aten::{name}"] = partial(function, front)
        return function

    return keep


def inverse(*names: str) -> Callable:
    """Make a function what writes into views of these names: (base, new, arguments) -> base."""

    def keep(function):
        INVERSE.update((f"aten::{name}", function) for name in names)
        return function

    return keep


def name_of(overload) -> str:
    """Return the name of an ``OpOverload`` in the table.

    >>> name_of(torch.ops.aten.add.Tensor), name_of(torch.ops.aten.mm.default)
    ('aten::add.Tensor', 'aten::mm')
    """
    schema = overload._schema
    return f"{schema.name}.{schema.overload_name}" if schema.overload_name else schema.name


def fits(name: str, *arguments, **options) -> bool:
    """Return whether a row takes such arguments; see :func:`.parts.fits`."""
    says = _FITS.get(name)
    return says is None or says(*arguments, **options)


def supported() -> list[str]:
    """Return the names of all rows, in alphabetical order."""
    return sorted(ROWS)


def dtype_of(dtype: torch.dtype) -> str:
    """Return what a dtype of PyTorch is on the device: 64-bit numbers become 32-bit ones.

    Raises
    ------
    GraphError
        For complex, quantised and other numbers that the chip does not have.
    """
    if dtype not in _DTYPES:
        raise GraphError(f"dtype is {dtype}; the device holds {', '.join(map(str, _DTYPES))}")
    return _DTYPES[dtype]


def of_floats(*arguments, **_) -> bool:
    """Return whether all tensors among arguments hold floating-point numbers."""
    kinds = [str(x.dtype).rpartition(".")[2] for x in arguments if hasattr(x, "dtype")]
    return all(kind.startswith(("float", "bfloat")) for kind in kinds)


# -- what rows are written with -------------------------------------------------------------------


def to_dtype(x: Tensor, dtype: torch.dtype | None) -> Tensor:
    """Return a tensor in a dtype of PyTorch; as it is if none is given."""
    return x if dtype is None else xnp.astype(x, dtype_of(dtype))


def record(operation: str, *inputs: Tensor, **attributes) -> Tensor:
    """Record one operation of ``xla``'s table."""
    return _tensor(inputs[0].device, apply(operation, *(t.as_node() for t in inputs), **attributes))


def gradient(operation: str, g: Tensor, *inputs: Tensor, **attributes) -> tuple:
    """Return the gradients that ``xla``'s table has for an operation, one per input."""
    node = apply(operation, *(t.as_node() for t in inputs), **attributes)
    vjp = OPERATIONS[operation].vjp
    assert vjp is not None, operation
    parts = vjp(node, g.as_node())
    return tuple(part and _tensor(g.device, part) for part in parts)


def fixed(x: Tensor, value: float) -> Tensor:
    """Return a number of a row's formula: a constant, where the user's numbers are inputs."""
    return _tensor(x.device, constant(np.full((1,) * x.ndim, value), x.dtype))


def small_array(device: Device, values: np.ndarray, dtype: str) -> Tensor:
    """Return a small array of a row's formula, as a constant."""
    return _tensor(device, constant(values, device.narrowed.get(dtype, dtype)))


def _tensor(device: Device, node: Node) -> Tensor:
    return Tensor(device, node.type, node)
