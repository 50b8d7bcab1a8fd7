"""Rules of the Tensor Engine: ``nc_matmul`` and ``nc_transpose``, also on the Vector Engine."""

from math import prod

from trainium_edu.nki.beta1.isa.constants import engine
from trainium_edu.nki.beta1.operation import Operation, in_sbuf, operation, tile
from trainium_edu.nki.beta1.promotion import as_dtype
from trainium_edu.nki.objects.enums import MemoryRegion, chosen
from trainium_edu.nki.refusals import refusal

__all__ = ["nc_matmul", "nc_transpose"]

_SBUF, _PSUM = MemoryRegion.sbuf, MemoryRegion.psum
_ENGINES = engine
_BLOCK = 32  # what the Vector Engine transposes at once, and the compiler leaves to it


def _reached(value, who):
    """Return an operand of the Tensor Engine, which reads SBUF.

    A result without a place of its own is copied from PSUM: AWS's flash attention multiplies what
    ``nc_transpose`` returned.  A tensor that a kernel put into PSUM is refused, as documented.
    """
    value = tile(value, who)
    return in_sbuf(value) if isinstance(value, Operation) else value


def nc_matmul(stationary, moving, mask, **kwargs):
    """Return FP32 sums in PSUM; masks are over (K, N) or (K, M, N)."""
    stationary = _reached(stationary, "nc_matmul: stationary")
    moving = _reached(moving, "nc_matmul: moving")
    k, m, free = stationary.shape[0], prod(stationary.shape[1:]), tuple(moving.shape[1:])
    columns = tuple(range(2, 2 + len(free)))
    space = (k, m, *free)
    own = (0, 1) if len(stationary.shape) == 2 else (0, *(None,) * (len(stationary.shape) - 1))
    axes = {"stationary": own, "moving": (0, *columns), "dst": (1, *columns)}
    if len(getattr(mask, "shape", ())) == 1 + len(free):  # K and N
        space, columns = (k, *free), tuple(range(1, 1 + len(free)))
        axes = {"stationary": (0, *(None,) * (len(own) - 1)), "moving": (0, *columns),
                "dst": (None, *columns)}  # fmt: skip
    return operation(
        "nc_matmul", (m, *free), "float32", buffer=_PSUM, mask=mask, space=space,
        axes=axes, stationary=stationary, moving=moving, **kwargs,
    )  # fmt: skip


def nc_transpose(data, mask, dtype, engine, **kwargs):
    """Return [F, P] from the engine that suits, or is named; a copy casts."""
    data = tile(data, "nc_transpose: data")
    rows, columns = data.shape[0], prod(data.shape[1:])
    chosen_engine = chosen(_ENGINES, engine, "nc_transpose: engine")
    small = rows <= _BLOCK and columns <= _BLOCK
    on_vector = chosen_engine is _ENGINES.vector or (chosen_engine is _ENGINES.unknown and small)
    if mask is not None and len(data.shape) > 2:
        raise refusal("isa.mask_of_transpose", data=data)
    kind = data.kind if dtype is None else as_dtype(dtype)
    is_wide = not on_vector and kind == "float32" and data.window.dtype.is_float
    if not on_vector:
        data = _reached(data, "nc_transpose: data")
    turned = operation(
        "nc_transpose", (columns, rows), kind if is_wide else data.kind,
        buffer=kwargs.get("buffer", _SBUF if on_vector else _PSUM), mask=mask,
        space=(rows, columns), axes={"dst": (1, 0)}, engine=chosen_engine, data=data,
    )  # fmt: skip
    if kind == turned.kind:
        return turned
    return operation("tensor_copy", turned.shape, kind, mask=mask, space=(rows, columns),
                     axes={"dst": (1, 0), "src": (1, 0)}, src=turned)  # fmt: skip
