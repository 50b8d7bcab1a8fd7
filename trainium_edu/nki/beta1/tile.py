"""Tensors of the older interface: storage with block dimensions, and tiles on it.

`Storage` is what one ``nl.ndarray`` allocates, `Tile` a window on one block of it (held as the
current interface's view), `Blocks` a tensor whose block dimensions are still open.  What
instructions do with them is said in ``operation.py``.
"""

from math import prod
from weakref import ref

import numpy as np

from trainium_edu.neuroncore.recording.engine import Memory
from trainium_edu.neuroncore.recording.views import View
from trainium_edu.nki.asking import truth_of_result, warn_at_kernel
from trainium_edu.nki.beta1.access import ALL, check_reach, indexed, parts_of, sliced
from trainium_edu.nki.beta1.index import Expression, Mask, are_apart, box_of
from trainium_edu.nki.beta1.promotion import as_dtype, outside
from trainium_edu.nki.mistakes import no_such_attribute
from trainium_edu.nki.objects.dtypes import stored_as
from trainium_edu.nki.objects.enums import MemoryRegion
from trainium_edu.nki.objects.indexing import DynamicSlice, Shape
from trainium_edu.nki.objects.indirection import with_offset
from trainium_edu.nki.objects.tensor import NkiTensor
from trainium_edu.nki.refusals import misuse, refusal
from trainium_edu.nki.running import current
from trainium_edu.specs.errors import NkiValidationError

__all__ = ["Blocks", "Held", "Moved", "Storage", "Tile", "allocate", "of_tensor"]

_SBUF, _PSUM = MemoryRegion.sbuf, MemoryRegion.psum


class Storage:
    """The storage of one ``nl.ndarray``: a tensor in HBM, or tiles on chip, one for each block.

    Attributes
    ----------
    name : str
    shape : tuple of int      without the block dimensions
    blocks : tuple of int     the sizes of the block dimensions
    kind : DType
    region : MemoryRegion
    """

    __slots__ = ("_place", "_site", "_views", "aliases", "blocks", "is_input", "is_sum", "kind",
                 "name", "region", "shape", "summed", "turn", "writers", "zero")  # fmt: skip

    def __init__(self, name, blocks, shape, kind, region, *, place=None, zero=None, view=None):
        self.name = name
        self.blocks = blocks
        self.shape = shape
        self.kind = kind
        self.region = region
        self._place = place  #: of ``nki.compiler``: from a block's index to its address
        self._views = {} if view is None else {(): view}
        self.aliases = ()  #: operations that were written here, and are still in use elsewhere
        self._site = None if view is not None else current().core.site()
        self.zero = zero  #: what a block holds before anything is written, or None
        self.is_input = ""  #: the name of the kernel's argument, where it may not be written
        self.summed = {}  #: PSUM: block -> rectangles that were written
        self.turn = current().turn  #: in which it was made
        self.is_sum = False  #: over the turns of a loop, by ``nl.loop_reduce``
        self.writers = {}  #: place -> the turn that wrote there

    def view(self, block=()) -> View:
        """Return the tile of one block, allocated when it is first used."""
        view = self._views.get(block)
        if view is None:
            view = self._views[block] = self._allocated(block)
            if self.zero is not None and self.region is not _PSUM:
                running = current()
                waiting, running.waiting = running.waiting, None  # it may be about to write here
                running.issue("memset", {"dst": view, "value": self.zero})
                running.waiting = waiting
        return view

    def _allocated(self, block):
        running = current()
        stored = stored_as(self.kind, precise=running.precise)
        limits = None if stored == self.kind else self.kind
        start, address = (0, None) if self._place is None else self._place(block, self)
        shape = self.shape if len(self.shape) > 1 else (*self.shape, 1)
        memory = Memory.SBUF if self.region is _SBUF else Memory.PSUM
        tile_view = running.core.allocate(
            memory, shape, stored, self._named(block), address, start, limits, site=self._site
        )
        if address is None and not block:  # blocks cannot be more than their shape says
            running.count_tile(tile_view.buffer._base)
        return tile_view

    def _named(self, block):
        return f"{self.name}{list(block)}" if block and self.name else self.name or None

    def note_write(self, block, rectangle) -> None:
        """Note which part of a block in PSUM holds something."""
        done = self.summed.setdefault(block, [])
        if rectangle not in done:
            done.append(rectangle)

    def check_turn(self, view, turn) -> None:
        """Refuse a store to where another turn of ``nl.affine_range`` stored; warn on chip.

        AWS's compiler refused both, and instances of a grid that store to one place.
        """
        shared = sum(loop is own for (loop, _), (own, _) in zip(turn, self.turn, strict=False))
        turn, info = turn[shared:], view.buffer.info
        place = info.index, view.offset, view.shape, view.strides
        before = self.writers.get(place)
        if turn:
            self.writers[place] = turn
        if before is None or not are_apart(turn, before):
            return
        text = (
            f"two turns of nl.affine_range, or instances of the grid, write to the same place of "
            f"{self.name or info.name}, and they may run in any order: index it with the loop's "
            "variable, make the tile inside the loop, or loop over nl.sequential_range "
            "(err_unexpected_output_dependencies)"
        )
        if info.memory.is_on_chip or isinstance(turn[0][0], str):
            warn_at_kernel(text)
        else:
            raise NkiValidationError(text)

    def before_write(self) -> None:
        """Move operations that were written here, and are still in use, to a tile of their own."""
        aliases, self.aliases = self.aliases, ()
        for alias in aliases:
            operation = alias()
            if operation is not None:
                operation.move()

    def lend(self, operation) -> None:
        """Note that an operation's result is here and nowhere else."""
        self.aliases = (*[a for a in self.aliases if a() is not None], ref(operation))

    def before_read(self, tile) -> None:
        """Fill with zeros what ``nl.zeros`` promised and no matmul has written."""
        if self.zero is None or self.region is not _PSUM:
            return
        whole = self._views[tile.block]
        done = self.summed.setdefault(tile.block, [])
        for part in _missing(tile.window.footprint(), done, whole.dtype.itemsize):
            (row, end, low, high), pitch = part, whole.buffer.pitch
            size = whole.dtype.itemsize
            view = View(whole.buffer, whole.dtype, (end - row, (high - low) // size), (pitch, size),
                        row * pitch + low)  # fmt: skip
            current().issue("memset", {"dst": view, "value": self.zero})
            done.append(part)


def _missing(wanted, done, size):
    """Return the parts of a rectangle (row, end, low, high) that others do not cover."""
    missing = [wanted]
    for row, end, low, high in done:
        cut = []
        for r, e, a, b in missing:
            if row >= e or end <= r or low >= b or high <= a:
                cut.append((r, e, a, b))
                continue
            if r < row:
                cut.append((r, row, a, b))
            if end < e:
                cut.append((end, e, a, b))
            top, bottom = max(r, row), min(e, end)
            if a < low:
                cut.append((top, bottom, a, low))
            if high < b:
                cut.append((top, bottom, high, b))
        missing = cut
    return missing


class Held:
    """A tensor that kernels hold, a tile or blocks of them: has a storage, a shape and a kind."""

    __slots__ = ()

    @property
    def dtype(self):
        """The dtype as NumPy's."""
        return outside(self.kind)

    @property
    def itemsize(self):
        """Bytes of one element."""
        return self.dtype.itemsize

    @property
    def ndim(self):
        """How many dimensions it has."""
        return len(self.shape)

    @property
    def region(self):
        """The memory that holds it."""
        return self.storage.region

    buffer = region

    def __len__(self):
        return self.shape[0]


class Tile(Held):
    """A window on one block of a storage: what instructions take.

    Attributes
    ----------
    window : View
        What ``neuroncore`` takes.
    storage : Storage
    block : tuple of int
    reach : tuple, optional
        Where an index runs past the tensor: (size, start, steps by axis) of each dimension.
    """

    __slots__ = ("__weakref__", "block", "kind", "one", "origin", "reach", "storage", "window")

    def __init__(self, view, storage, block=(), *, kind=None, reach=None, one=False):
        self.window = view
        self.storage = storage
        self.block = block
        self.kind = kind or storage.kind
        self.reach = reach
        self.origin = None  #: (what was indexed, the index) that gave it
        self.one = one  #: on chip: shown as one-dimensional, (P,) instead of (P, 1)

    @property
    def shape(self) -> Shape:
        """Sizes, a tuple that also equals a list."""
        shape = self.window.shape
        return Shape(shape[:1] if self.one else shape)

    @property
    def size(self) -> int:
        """Elements in all."""
        return prod(self.shape)

    @property
    def name(self) -> str:
        """The name it was allocated with."""
        return self.window.buffer.info.name

    @property
    def on_chip(self) -> bool:
        """Whether it is in SBUF or PSUM."""
        region = self.storage.region
        return region is _SBUF or region is _PSUM

    @property
    def tensor(self) -> NkiTensor:
        """The same window as the current interface has it."""
        if self.reach is not None:
            check_reach(self, self.window.shape)
        return NkiTensor._wrap(self.window, self.kind, self.storage.region)

    def __repr__(self):
        return f"{self.name}: {self.kind}{list(self.shape)} in {self.region}"

    def _described(self):
        return f"the tile {self!r}"

    def __bool__(self):
        return truth_of_result(self)

    def __getattr__(self, name):
        if name.startswith("_"):
            raise AttributeError(name)
        raise no_such_attribute(self, name)

    __hash__ = object.__hash__

    def __iter__(self):
        raise misuse("tile.iterated", tile=self)

    def __array__(self, dtype=None, copy=None):
        return np.array(self.tensor._numbers(), dtype=dtype)

    # -- parts --------------------------------------------------------------------------------

    def __getitem__(self, key):
        if isinstance(key, bool | np.bool_):  # of loop variables, which were symbols: a mask
            if key:
                return self
            raise refusal("tile.condition_fails", tile=self)
        parts = parts_of(key)
        is_indexed = False
        for part in parts:
            if type(part) is Expression:
                is_indexed = True
            elif type(part) is Mask:  # the part of the tile where it holds
                box = box_of(part, self.shape, f"{self!r}[mask]")
                at = tuple(slice(*pair) for pair in box or ()) or slice(0, 0)
                return self if box is None else self[at]
            if isinstance(part, Tile | Moved):
                return at_run_time(self, parts)
        found = indexed(self, parts) if is_indexed else sliced(self, parts)
        found.origin = self, key
        return found

    def like(self, view, **changes) -> "Tile":
        """Return a tile on another view of the same storage."""
        return Tile(view, self.storage, self.block, kind=self.kind, **changes)

    def reshape(self, shape) -> "Tile":
        """Return the same elements in another shape, where that needs no copy.

        Sizes that were divided (``h / 2``) are floats that hold integers.
        """
        if isinstance(shape, list | tuple):
            shape = tuple(int(n) if isinstance(n, float) and n.is_integer() else n for n in shape)
        reshaped = self.tensor.reshape(shape)
        return self.like(reshaped._view)

    def expand_dims(self, axis) -> "Tile":
        """Return it with a dimension of size 1 at `axis`."""
        axis = axis + self.ndim + 1 if axis < 0 else axis
        return self.like(self.tensor.expand_dim(axis)._view)

    def view(self, dtype) -> "Tile":
        """Return the same bits, read as another dtype."""
        kind = as_dtype(dtype)
        found = self.like(self.tensor.view(kind)._view)
        found.kind = kind
        return found

    def assert_shape(self, shape) -> "Tile":
        """Return the tile; raise unless it has this shape."""
        assert self.shape == tuple(shape), f"{self!r} does not have shape {list(shape)}"
        return self


class Blocks(Held):
    """A tensor on chip of which block dimensions are still open: ``t[b]`` is a tile of it.

    Attributes
    ----------
    storage : Storage
    open : tuple of int or range     which index, or indices, each block dimension may take
    """

    __slots__ = ("open", "storage")

    def __init__(self, storage, open_=None):
        self.storage = storage
        self.open = tuple(map(range, storage.blocks)) if open_ is None else open_

    @property
    def shape(self) -> Shape:
        """Sizes of the open block dimensions, then those of a tile."""
        sizes = [len(part) for part in self.open if type(part) is range]
        return Shape((*sizes, *self.storage.shape))

    @property
    def kind(self):
        """The dtype as NKI's."""
        return self.storage.kind

    def __repr__(self):
        return f"{self.storage.name}: {self.storage.kind}{list(self.shape)} in {self.region}"

    def __bool__(self):
        return bool(self.one())

    def _described(self):
        return f"{self!r}, whose partitions are not its first dimension"

    def __getitem__(self, key):
        parts = parts_of(key)
        blocks, used = [], 0
        for allowed in self.open:
            if type(allowed) is not range:
                blocks.append(allowed)
                continue
            part = parts[used] if used < len(parts) else ALL
            used += 1
            blocks.append(self._chosen(allowed, part, used - 1))
        inner = parts[used:]
        if range in map(type, blocks):
            if inner and any(part != ALL for part in inner):
                raise refusal("tile.open_block", tile=self, key=key)
            return Blocks(self.storage, tuple(blocks))
        block = tuple(blocks)
        tile = Tile(self.storage.view(block), self.storage, block, one=len(self.storage.shape) == 1)
        if inner:
            tile = tile[inner]
        tile.origin = self, key
        return tile

    def _chosen(self, allowed, part, axis):
        kind = type(part)
        if kind is slice:
            return allowed if part == ALL else allowed[part]
        if kind is DynamicSlice:
            return allowed[part.start : part.start + part.size]
        if kind is Expression:
            if part.values is not None or any(
                step and size > 1 for step, size in zip(part.steps, part.shape, strict=True)
            ):
                raise refusal("tile.several_blocks", tile=self, axis=axis, part=part)
            part = part.start
        if isinstance(part, Tile):
            raise refusal("tile.block_by_tile", tile=self, axis=axis)
        try:
            return allowed[part]
        except IndexError:
            raise NkiValidationError(
                f"{self!r}: index {part} of block dimension {axis}, which has {len(allowed)} blocks"
            ) from None

    def one(self) -> Tile:
        """Return its tile, where there is but one."""
        if any(type(part) is range and len(part) != 1 for part in self.open):
            raise refusal("tile.many_tiles", tile=self, count=prod(self.storage.blocks))
        return self[(0,) * sum(type(part) is range for part in self.open)]


class Moved:
    """An index that a number in SBUF moves: ``n + nl.arange(8)[None, :]``."""

    __slots__ = ("by", "index")

    def __init__(self, index, by):
        self.index = index
        self.by = by

    def __add__(self, other):
        return Moved(self.index + other, self.by)

    __radd__ = __add__

    def __repr__(self):
        return f"{self.index!r} moved by {self.by!r}"


def at_run_time(tile, parts):
    """Return the part of a tensor that numbers on the chip select.

    One tile among the indices: in HBM a column of row numbers, each of which gets its row by
    indirect DMA; else one number, for one dimension.
    """
    moving = [axis for axis, part in enumerate(parts) if isinstance(part, Tile | Moved)]
    part = parts[moving[0]]
    by = part if isinstance(part, Tile) else part.by
    if len(moving) > 1:
        raise refusal("tile.two_tiles_in_index", tile=tile, moving=moving)
    axis, count = moving[0], prod(by.window.shape)
    if axis and count > 1 and not tile.on_chip and all(type(p) is int for p in parts[:axis]):
        tile, parts, axis = sliced(tile, parts[:axis]), parts[axis:], 0  # rows of t[b]
    if count == 1 and (tile.on_chip or axis):
        start = part.index if isinstance(part, Moved) else 0
        fixed = (*parts[:axis], start, *parts[axis + 1 :])
        part_of_rows = tile[fixed]
        view = with_offset(tile.tensor, part_of_rows.window, by.tensor, None, axis)
        return tile.like(view, reach=part_of_rows.reach)
    if tile.on_chip or axis or isinstance(part, Moved):
        raise refusal("tile.index_by_tile", tile=tile, by=by, axis=axis)
    rows = tile.like(tile.tensor.vector_select(0, by.tensor)._view)
    rest = parts[1:]
    if not rest:
        return rows
    whole = Expression((count, 1), 0, (1, 0))
    is_indexed = Expression in map(type, rest)
    part_of_rows = indexed(rows, (whole, *rest)) if is_indexed else sliced(rows, (ALL, *rest))
    return part_of_rows.like(rows.tensor._like(part_of_rows.window)._view, reach=part_of_rows.reach)


def allocate(shape, kind, region=_SBUF, *, blocks=(), name="", place=None, zero=None):
    """Return a new tile, or Blocks of tiles, on chip."""
    storage = Storage(name, tuple(blocks), tuple(shape), as_dtype(kind), region, place=place,
                    zero=zero)  # fmt: skip
    if blocks:
        return Blocks(storage)
    return Tile(storage.view(), storage, one=len(storage.shape) == 1)


def of_tensor(tensor: NkiTensor) -> Tile:
    """Return a tensor of the current interface as a tile of this one."""
    view = tensor._view
    storage = Storage(tensor.name, (), tuple(view.shape), tensor.dtype, tensor.buffer, view=view)
    return Tile(view, storage)
