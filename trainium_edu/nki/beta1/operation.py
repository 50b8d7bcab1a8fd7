"""Operations that wait for their destination, masks that cut them, and what they take.

How an instruction of this interface is recorded, where its row of ``nki/instructions.toml`` does
not say it (``isa/``)::

    def tensor_partition_reduce(op, data, mask, dtype, **kwargs):
        data = tile(data, "tensor_partition_reduce: data")
        return operation("tensor_partition_reduce", (1, *data.shape[1:]), dtype or data.kind,
                         mask=mask, space=data.shape, axes={"dst": (None, ...)}, op=op_name(op),
                         data=data, **kwargs)

*Operands.*  ``tile(x, who)`` turns a kernel's operand into a :class:`Tile`.  It takes a Tile, whole
or indexed, and an :class:`Operation` that still waits (asking for its ``window`` issues it).  It
also takes a tensor with all block dimensions of size 1, and a NumPy array constant (through HBM
into SBUF).  ``scalar(x)`` returns numbers as int or float, None, and tiles as Tiles, for operands
that may be either.
``op_name(np.add)``, ``op_name(nl.max)`` give an operator's name in ``neuroncore``.  A Tile has
``shape`` (tuple), ``kind`` (its dtype as NKI's name, a str), ``region`` (``nl.sbuf``, ...),
``dtype`` (NumPy's, for users) and ``window``, the View that ``neuroncore`` takes.

*Masks.*  The iteration space is the shape given to ``operation`` (or ``space=``).  The mask's box
in it cuts every Tile operand, axis by axis.  Axis a of an operand is axis a of the space where the
two sizes agree, and stays whole where the operand has size 1 there.  ``axes={"role": (0, None)}``
says otherwise: for each axis of that operand, the axis of the space (None: never cut); role
``"dst"`` is the result.  An index that runs past its tensor is an error only if the mask leaves it
so.  Where the mask holds nowhere, nothing is issued.

*Result.*  ``operation(instruction, shape, dtype, buffer=sbuf|psum, ...)`` returns an Operation: a
Tile whose place is not known yet.  ``t[...] = op`` lets it write there (any dtype: engines cast),
``p += op`` of a matmul accumulates; any other use, or the next instruction, gives it a tile of its
own.  ``perform(instruction, mask=..., space=..., ...)`` issues at once: for what writes tiles that
are there already (``dst=``).  Other keywords go to ``neuroncore``'s instruction by its own names
(``now`` in ``nki/instructions.toml``).

*dtypes.*  ``promotion.as_dtype(dtype)`` (np.float32, nl.bfloat16, ...) gives NKI's name,
``promoted(a.kind, b.kind)`` what two become together, ``of_scalar(x)`` that of a number.

*Engines.*  ``engine=`` takes ``nki.isa`` engines, or ``unknown`` (the default: nothing is named).

Also here: ``t[...] = ...``, ``+=`` and the arithmetic of tiles, which ``language`` provides.
"""

from math import prod

import numpy as np

from trainium_edu.neuroncore.engines.checks import walked_axes
from trainium_edu.neuroncore.recording.engine import Engine
from trainium_edu.neuroncore.recording.instruction_set import INSTRUCTIONS
from trainium_edu.neuroncore.recording.memory import allowed_starts
from trainium_edu.neuroncore.recording.views import View
from trainium_edu.nki.asking import warn_at_kernel
from trainium_edu.nki.beta1.access import cut
from trainium_edu.nki.beta1.index import EMPTY, box_of
from trainium_edu.nki.beta1.promotion import as_dtype
from trainium_edu.nki.beta1.tile import Blocks, Held, Tile, allocate, of_tensor
from trainium_edu.nki.beta1.traced_once import check_annotations
from trainium_edu.nki.language import shared_constant
from trainium_edu.nki.mistakes import describe
from trainium_edu.nki.objects.enums import MemoryRegion, engine_name
from trainium_edu.nki.objects.indexing import Shape
from trainium_edu.nki.objects.tensor import NkiTensor
from trainium_edu.nki.refusals import refusal
from trainium_edu.nki.running import current
from trainium_edu.specs.errors import NkiValidationError

__all__ = [
    "Operation", "assign", "constant", "copied", "fill", "in_sbuf", "op_name", "operation",
    "perform", "scalar", "settle", "tile",
]  # fmt: skip

_SBUF, _PSUM = MemoryRegion.sbuf, MemoryRegion.psum
#: What writes its own dtype only: it moves bits, or counts.
_EXACT = frozenset({"nc_matmul", "nc_transpose", "dropout", "local_gather", "nc_n_gather",
                    "dma_transpose", "nc_find_index8", "sequence_bounds"})  # fmt: skip
#: What does the same to each element, wherever it stands.
_EACH = frozenset({"activation", "memset", "reciprocal", "scalar_tensor_tensor", "tensor_copy",
                   "tensor_copy_predicated", "tensor_scalar", "tensor_tensor"})  # fmt: skip
#: What adds to its destination, or leaves a part of it as it was.
_ADDS = frozenset({"dma_compute", "nc_matmul", "select_reduce", "tensor_copy_predicated"})


def _issued(instruction, engine, box, space, axes, dst, operands):
    """Issue an instruction: tiles are cut to the box, zeros filled in where they are read."""
    views = {}
    for role, value in operands.items():
        if isinstance(value, Tile):
            views[role] = cut(value, box, axes and axes.get(role), space)
            storage = value.storage
            if storage.zero is not None:
                storage.before_read(value)
        elif type(value) is list:  # several sources: each is cut as the destination is
            views[role] = [cut(v, box, axes and axes.get(role), space) if isinstance(v, Tile) else v
                           for v in value]  # fmt: skip
        else:
            views[role] = value
    turn = (running := current()).turn
    for role, value in dst.items():
        storage = value.storage
        if storage.aliases:
            storage.before_write()
        if storage.is_input:
            raise refusal("tile.immutable_argument", instruction=instruction, storage=storage)
        views[role] = cut(value, box, axes and axes.get(role), space)
        if turn and not (storage.turn and storage.turn[-1][0] is turn[-1][0]):  # made outside
            is_sum = instruction in _ADDS and operands.get("accumulate") is not False
            if not is_sum and not _reads(operands, storage):
                storage.check_turn(views[role], turn)
        if storage.region is _PSUM:
            storage.note_write(value.block, views[role].footprint())
    result = None
    is_each = instruction in _EACH and views.get("reduce_res") is None
    for part in _walkable(views) if is_each else (views,):
        if instruction == "nc_transpose" and engine == "vector":
            result = running.transpose(part, engine)
        else:
            result = running.issue(instruction, part, engine)
    return result


def _reads(operands, storage):
    """Return whether an instruction reads what it writes, or a sum, which any order gives."""
    read = (value.storage for value in operands.values() if isinstance(value, Tile))
    return any(source is storage or source.is_sum for source in read)


def _walkable(operands):
    """Yield an instruction's operands, cut along the outer free axes that the hardware lacks.

    An access pattern walks four; published kernels index six, which the compiler took.
    """
    if all(not isinstance(v, View) or len(v.shape) < 4 for v in operands.values()):
        yield operands
        return
    views = {role: v for role, v in operands.items() if isinstance(v, View) and v.free_size > 1}
    shapes, most = {v.shape for v in views.values()}, current().core.spec.limits.free_dimensions_max
    if len(shapes) != 1 or all(len(walked_axes(v)) <= most.value for v in views.values()):
        yield operands
        return
    for k in range(next(iter(shapes))[1]):
        yield from _walkable(operands | {r: v.sliced(slice(None), k) for r, v in views.items()})


def perform(instruction, *, mask=None, space=None, axes=None, engine=None, written=("dst",),
            **operands):  # fmt: skip
    """Issue an instruction at once; the tiles in `written` are its results."""
    dst = {role: operands.pop(role) for role in written}
    if space is None:
        space = next(iter(dst.values())).window.shape
    space = tuple(space)
    settle()
    box = box_of(mask, space, instruction)
    if box is EMPTY:
        return None
    return _issued(instruction, engine_name(engine, instruction), box, space, axes, dst, operands)


def settle() -> None:
    """Issue what still waits for its destination."""
    running = current()
    waiting, annotated = running.waiting, running.shared.get("annotated")
    if waiting is not None:
        running.waiting = None
        waiting.settle()
    if annotated:
        check_annotations(running.shared["source"], annotated, _has_shape)


def _has_shape(value) -> bool:
    return isinstance(value, Held)


def operation(
    instruction, shape, dtype, *, buffer=_SBUF, mask=None, space=None, axes=None, engine=None,
    casts=True, name="", **operands,
) -> "Operation":  # fmt: skip
    """Return the result of an instruction; see the module's docstring.

    Parameters
    ----------
    instruction : str
        As ``neuroncore`` names it; its destination is ``dst``.
    shape : tuple of int
        Of the result.
    dtype : dtype or DType
    buffer : MemoryRegion
        Where the result lives unless the kernel says otherwise.
    mask : Mask, bool or None
        Over `space` (default: `shape`).
    axes : dict of str to tuple, optional
        For each operand (and "dst") which axis of the space each of its axes is.
    engine : nki.isa.engine, optional
    casts : bool
        Whether it writes other dtypes than `dtype` too.
    """
    settle()
    running = current()
    if running.shared.get("allocated"):
        _warn_of_allocated(instruction, buffer, operands)
    space = tuple(shape if space is None else space)
    box = box_of(mask, space, instruction)
    call = (instruction, engine_name(engine, instruction), box, space, axes, operands)
    waiting = Operation(call, tuple(shape), as_dtype(dtype), buffer, casts, name)
    running.waiting = waiting
    return waiting


def _warn_of_allocated(instruction, buffer, operands) -> None:
    """Warn of what AWS's compiler refused in kernels that give tiles their addresses."""
    if instruction == "activation" and operands.get("bias") is None:
        warn_at_kernel(
            "an activation without bias in a kernel that allocates its tiles: the compiler has no "
            "place for the zeros, so call nisa.activation(..., bias=tile) "
            "(err_bias_tensor_must_be_specified_in_allocation)"
        )
    if instruction == "nc_transpose" and buffer is _PSUM:
        warn_at_kernel(
            "nc_transpose on the Tensor Engine in a kernel that allocates its tiles: the compiler "
            "has no place for the identity, so call nisa.nc_matmul with one of your own "
            "(err_transpose_on_tensor_engine_not_allowed_in_allocated_kernel)"
        )


class Operation(Tile):
    """The result of an instruction whose place is not known yet."""

    __slots__ = ("_buffer", "_call", "_casts", "_name", "_shape")

    def __init__(self, call, shape, kind, buffer, casts=True, name=""):
        self._call = call
        self._casts = casts
        self._shape = shape
        self.kind = kind
        self._buffer = buffer
        self._name = name
        self.block = ()
        self.reach = self.origin = None
        self.one = False

    @property
    def shape(self) -> Shape:
        """Sizes of the result."""
        return Shape(self._shape)

    @property
    def window(self):
        """Its place, given now unless it has one."""
        if self._call is not None:
            self.settle()
        return _view.__get__(self)

    @window.setter
    def window(self, view):
        _view.__set__(self, view)

    @property
    def storage(self):
        """Its storage, given now unless it has one."""
        if self._call is not None:
            self.settle()
        return _storage.__get__(self)

    @storage.setter
    def storage(self, storage):
        _storage.__set__(self, storage)

    @property
    def region(self) -> MemoryRegion:
        """The memory that it is in, or will be."""
        return self._buffer if self._call is not None else self.storage.region

    buffer = region

    @property
    def on_chip(self) -> bool:
        """Whether it is on chip: always."""
        return True

    def __repr__(self):
        if self._call is not None:
            return f"result of {self._call[0]}: {self.kind}{list(self._shape)} in {self._buffer}"
        return super().__repr__()

    def settle(self) -> None:
        """Allocate a tile for the result, and issue the instruction."""
        own = allocate(self._shape, self.kind, self._buffer, name=self._name)
        self._into(own)

    @property
    def is_product(self) -> bool:
        """Whether it is a matmul that waits."""
        return self._call is not None and self._call[0] == "nc_matmul"

    def into(self, dst) -> bool:
        """Write the result to `dst`, by the instruction itself or else by a copy.

        Returns False for a result that is somewhere already.
        """
        if self._call is None:
            return False
        if self._reaches(dst):
            more = {}
            if self.is_product and dst.storage.summed.get(dst.block):
                more = {"accumulate": False}
            self._into(dst, **more)
            dst.storage.lend(self)
            return True
        _, _, box, space, axes, _ = self._call
        self.settle()
        if box is None:
            return False
        if box is not EMPTY:
            axes = {"src": axes["dst"], "dst": axes["dst"]} if axes and "dst" in axes else None
            _issued("tensor_copy", None, box, space, axes, {"dst": dst}, {"src": self})
        return True

    def _reaches(self, dst):
        """Return whether the instruction can write to `dst`: its shape, memory and dtype."""
        have, want = self._shape, tuple(dst.window.shape)
        if have != want and (
            self._call[2] is not None or prod(have) != prod(want) or have[0] != want[0]
        ):
            return False
        instruction, engine, *_ = self._call
        on_tensor = instruction == "nc_matmul" or (
            instruction == "nc_transpose" and self._buffer is _PSUM
        )
        in_psum = dst.storage.region is _PSUM
        if dst.kind != self.kind and (not self._casts or instruction in _EXACT):
            return on_tensor and in_psum and dst.kind == "float32" and "float" in self.kind
        if not in_psum or on_tensor:
            return on_tensor == in_psum
        engines = INSTRUCTIONS[instruction].engines if engine is None else (Engine(engine),)
        return any(e not in (Engine.DMA, Engine.GPSIMD) for e in engines)

    def _into(self, dst, **more):
        call, self._call = self._call, None
        running = current()
        if running.waiting is self:
            running.waiting = None
        instruction, engine, box, space, axes, operands = call
        if box is not EMPTY:
            if more:
                operands = {**operands, **more}
            _issued(instruction, engine, box, space, axes, {"dst": dst}, operands)
        self.storage, self.window, self.block = dst.storage, dst.window, dst.block
        self.reach, self.one = dst.reach, dst.one

    def accumulates_into(self, dst) -> bool:
        """Return whether ``dst += self`` is a matmul that adds to what `dst` holds."""
        return self.is_product and dst.storage.region is _PSUM

    def accumulate(self, dst) -> None:
        """Add the matmul to a tile in PSUM."""
        if tuple(dst.window.shape) != self._shape:
            raise _unlike(dst, self)
        self._into(dst)

    def move(self) -> None:
        """Copy the result to a tile of its own, since its place is about to be overwritten."""
        own = allocate(self._shape, self.kind, self.storage.region, name="")
        current().issue("tensor_copy", {"dst": own.window, "src": self.window})
        self.storage, self.window, self.block, self.reach = own.storage, own.window, own.block, None


_view, _storage = Tile.__dict__["window"], Tile.__dict__["storage"]


def _unlike(dst, value):
    return NkiValidationError(
        f"{dst!r} cannot take {value!r}: shapes {list(dst.shape)} and {list(value.shape)} differ "
        "(err_store_dst_shape_smaller_than_other_shape)"
    )


def assign(dst, value) -> None:
    """Write a value into a tile: ``dst[...] = value``."""
    if type(dst) is Blocks:
        dst = dst.one()
    if not dst.on_chip:
        raise refusal("tile.assigned_in_hbm", dst=dst)
    if type(value) is Blocks:
        value = value.one()
    if isinstance(value, Operation) and value.into(dst):
        return
    if isinstance(value, Tile):
        _copy(dst, value)
        return
    if isinstance(value, np.ndarray) and value.ndim:
        perform("tensor_copy", dst=dst, src=constant(value))
        return
    number = scalar(value)
    if isinstance(number, int | float):
        fill(dst, number)
        return
    raise TypeError(f"{dst!r} cannot take {describe(value)}; tiles and numbers can be assigned")


def _copy(dst, value):
    """Copy a tile to another; dimensions of size 1 are repeated."""
    if not value.on_chip:
        raise NkiValidationError(f"{value!r} is in HBM; nl.load brings it to the chip")
    source, target = value.window, dst.window
    if (source.buffer is target.buffer and source.offset == target.offset
            and source.shape == target.shape and source.strides == target.strides):  # fmt: skip
        return  # t[i] += x assigns what it has written already
    have, want = tuple(source.shape), tuple(target.shape)
    if have != want and len(have) == len(want) and all(
        a in (1, b) for a, b in zip(have, want, strict=True)
    ) and have[0] == want[0]:  # fmt: skip
        value = value.like(source.broadcast(*want))
    elif prod(have) != prod(want) or have[0] != want[0]:
        raise _unlike(dst, value)
    perform("tensor_copy", dst=dst, src=value)


def fill(tile, value) -> None:
    """Write one number to all of a tile."""
    if not tile.window.dtype.is_float and not isinstance(value, int):
        value = int(value) if float(value).is_integer() else value
    view = tile.window
    if tile.reach is None and view.start_partition not in allowed_starts(view.shape[0]):
        own = allocate(view.shape, tile.kind)  # no engine starts there, and DMA does
        perform("memset", dst=own, value=value)
        perform("dma_copy", dst=tile, src=own)
        return
    perform("memset", dst=tile, value=value)


def copied(value, kind=None) -> Tile:
    """Return a copy of a tile in SBUF, in another dtype if asked."""
    own = allocate(value.window.shape, kind or value.kind)
    perform("tensor_copy", dst=own, src=value)
    return own


def in_sbuf(value) -> Tile:
    """Return a tile in SBUF: a copy of one in PSUM, for what does not reach there."""
    return copied(value) if value.region is _PSUM else value


def constant(array) -> Tile:
    """Return a NumPy array as a tile in SBUF, loaded from HBM."""
    array = np.asarray(array)
    source = of_tensor(shared_constant(array if array.ndim > 1 else array.reshape(-1, 1)))
    own = allocate(source.window.shape, source.kind)
    perform("dma_copy", dst=own, src=source)
    return own


def tile(value, who: str, *, on_chip=True) -> Tile:
    """Return an operand as a Tile; raise for any other value.

    Parameters
    ----------
    value : Tile, Operation, Blocks, NkiTensor or array
    who : str
        Who asks for it, such as "tensor_scalar: data".
    on_chip : bool or None
        Whether it has to be on chip (True), in HBM (False), or may be anywhere.
    """
    if type(value) is Blocks:
        value = value.one()
    elif isinstance(value, NkiTensor):
        value = of_tensor(value)
    elif isinstance(value, np.ndarray) and value.ndim and on_chip is not False:
        value = constant(value)
    elif not isinstance(value, Tile):
        raise TypeError(f"{who} is {describe(value)}; a tile is needed here")
    if on_chip is not None and value.on_chip is not on_chip:
        where = "is in HBM, which engines do not reach; nl.load brings it to SBUF"
        raise NkiValidationError(
            f"{who}: {value!r} {where if on_chip else 'is on chip, and one in HBM is needed here'} "
            "(err_unsupported_memory)"
        )
    return value


def scalar(value, _who=""):
    """Return an operand that is a number, a tile or None."""
    kind = type(value)
    if kind is int or kind is float or value is None or isinstance(value, Tile):
        return value
    if kind is Blocks:
        return value.one()
    if isinstance(value, np.ndarray | np.generic) and value.ndim == 0:
        return value.item() if not hasattr(value, "__index__") else int(value)
    if hasattr(value, "__float__") and not getattr(value, "ndim", 0):
        return int(value) if hasattr(value, "__index__") else float(value)
    if isinstance(value, np.ndarray):
        return constant(value)
    raise TypeError(f"{describe(value)} is neither a number nor a tile")


_ALSO = {
    "max": "maximum", "amax": "maximum", "min": "minimum", "amin": "minimum", "sum": "add",
    "prod": "multiply", "absolute": "abs", "true_divide": "divide", "remainder": "mod",
    "bitwise_not": "invert", "conjugate": "copy", "all": "logical_and", "any": "logical_or",
    "float_power": "power", "all_reduce": "add",
}  # fmt: skip


def op_name(op, _who=""):
    """Return an operator's name in ``neuroncore``: of an nl function, a NumPy ufunc, or None."""
    if op is None or isinstance(op, str):
        return op
    name = getattr(op, "op", None) or getattr(op, "__name__", None)
    if name is None:
        raise TypeError(f"{describe(op)} is no operator; use nl.add, np.add, ...")
    return _ALSO.get(name, name)


def _set_part(self, key, value):
    origin = value.origin if type(value) is Tile else None
    if origin is not None and origin[0] is self and origin[1] is key and type(key) is tuple:
        return  # t[i] += x: Python assigns t[i] once more, and it is written already
    assign(self if key is Ellipsis else self[key], value)


setattr(Held, "__setitem__", _set_part)  # noqa: B010
