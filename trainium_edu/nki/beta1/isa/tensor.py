"""The Tensor Engine: ``nc_matmul`` and ``nc_transpose``, which the Vector Engine can do too."""

from math import prod

from trainium_edu.nki.beta1.isa.constants import engine
from trainium_edu.nki.beta1.isa.options import more
from trainium_edu.nki.beta1.operation import Operation, in_sbuf, operation, tile
from trainium_edu.nki.beta1.promotion import as_dtype
from trainium_edu.nki.objects.enums import MemoryRegion, chosen
from trainium_edu.specs.errors import NkiValidationError

__all__ = ["nc_matmul", "nc_transpose"]

_SBUF, _PSUM = MemoryRegion.sbuf, MemoryRegion.psum
_ENGINES = engine
_BLOCK = 32  # what the Vector Engine transposes at once, and the compiler leaves to it


def _reached(value, who):
    """Return an operand of the Tensor Engine, which reads SBUF.

    A result that nobody gave a place is copied from PSUM: AWS's flash attention multiplies what
    ``nc_transpose`` returned.  A tensor that a kernel put into PSUM is refused, as documented.
    """
    value = tile(value, who)
    return in_sbuf(value) if isinstance(value, Operation) else value


def nc_matmul(stationary, moving, *, is_stationary_onezero=False, is_moving_onezero=False,
              is_transpose=False, tile_position=(), tile_size=(), mask=None, **kwargs):  # fmt: skip
    """Return ``stationary.T @ moving`` in PSUM; ``p += nc_matmul(...)`` adds to `p`.

    Parameters
    ----------
    stationary : tile[K, M] in SBUF
        K, M <= 128.
    moving : tile[K, N] in SBUF
        N <= 512; with more free axes the result has them too.
    is_stationary_onezero, is_moving_onezero : bool
        The operand holds ones and zeros only: FP32 takes two passes instead of four.
    is_transpose : bool
        Of the compiler: the product is a transpose.
    tile_position, tile_size : (row, column)
        A half or a quarter of the array, given together; sizes 64 or 128.
    mask : mask over (K, N), or (K, M, N)

    Returns
    -------
    float32[M, N] in PSUM

    Raises
    ------
    NkiValidationError
        For operands outside SBUF, sizes beyond the array or a bank, mixed FP32 and narrow dtypes.
    """
    stationary = _reached(stationary, "nc_matmul: stationary")
    moving = _reached(moving, "nc_matmul: moving")
    more("nc_matmul", kwargs, nc_matmul.__kwdefaults__, ("name", "perf_mode"))
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
        axes=axes, stationary=stationary, moving=moving,
        is_stationary_onezero=is_stationary_onezero, is_moving_onezero=is_moving_onezero,
        is_transpose=is_transpose, tile_position=tile_position, tile_size=tile_size, **kwargs,
    )  # fmt: skip


def nc_transpose(data, *, mask=None, dtype=None, engine=engine.unknown, **kwargs):
    """Return a tile with partitions and free elements exchanged.

    Parameters
    ----------
    data : tile[P, F]
        Further free axes count together.  The Tensor Engine takes up to 128 x 128, from SBUF, and
        leaves the result in PSUM; the Vector Engine takes up to 32 x 32 (larger ones, where it is
        asked for, block by block), and SBUF is its default.
    engine : nki.isa.engine
        Default: Vector for tiles of up to 32 x 32, else Tensor.
    dtype : dtype, optional
        Another than that of `data`: a copy casts.

    Returns
    -------
    tile[F, P]
    """
    data = tile(data, "nc_transpose: data")
    more("nc_transpose", kwargs, nc_transpose.__kwdefaults__)
    rows, columns = data.shape[0], prod(data.shape[1:])
    asked = chosen(_ENGINES, engine, "nc_transpose: engine")
    small = rows <= _BLOCK and columns <= _BLOCK
    on_vector = asked is _ENGINES.vector or (asked is _ENGINES.unknown and small)
    if mask is not None and len(data.shape) > 2:
        raise NkiValidationError(
            f"nc_transpose: a mask over {data!r}; its free axes become partitions, so a mask needs "
            "a tile with one of them: transpose it part by part"
        )
    kind = data.kind if dtype is None else as_dtype(dtype)
    is_wide = not on_vector and kind == "float32" and data.window.dtype.is_float
    if not on_vector:
        data = _reached(data, "nc_transpose: data")
    turned = operation(
        "nc_transpose", (columns, rows), kind if is_wide else data.kind,
        buffer=kwargs.get("buffer", _SBUF if on_vector else _PSUM), mask=mask,
        space=(rows, columns), axes={"dst": (1, 0)}, engine=asked, data=data,
    )  # fmt: skip
    if kind == turned.kind:
        return turned
    return operation("tensor_copy", turned.shape, kind, mask=mask, space=(rows, columns),
                     axes={"dst": (1, 0), "src": (1, 0)}, src=turned)  # fmt: skip
