"""``NkiTensor``: a strided window on a buffer, with NKI's names for its parts.

It holds a ``neuroncore`` view, which counts in bytes; NKI counts in elements.  No method copies
data; only ``t[...] = other`` issues an instruction.
"""

import numpy as np

from trainium_edu.neuroncore.recording.accesses import check_inside
from trainium_edu.neuroncore.recording.dtypes import get_dtype
from trainium_edu.neuroncore.recording.engine import Memory
from trainium_edu.neuroncore.recording.memory import make_allocation, own_buffer, tensor_shape
from trainium_edu.neuroncore.recording.views import View, whole
from trainium_edu.nki.asking import note_looking, refuse_comparison, truth_of_tile
from trainium_edu.nki.mistakes import describe, host_function, no_such_attribute
from trainium_edu.nki.objects import indirection
from trainium_edu.nki.objects.dtypes import DTYPE_NAMES, DType, nki_dtype
from trainium_edu.nki.objects.enums import MemoryRegion
from trainium_edu.nki.objects.indexing import ALL, Shape, check_whole, plain_index, sizes
from trainium_edu.nki.objects.object import NKIObject
from trainium_edu.nki.objects.patterns import access_pattern
from trainium_edu.nki.objects.rearrange import rearrange
from trainium_edu.nki.objects.virtual_register import VirtualRegister
from trainium_edu.nki.refusals import misuse, refusal
from trainium_edu.nki.rows import read
from trainium_edu.nki.running import current, known_issue, later_chip
from trainium_edu.specs.errors import NkiValidationError

__all__ = ["NkiTensor"]

_REGIONS = {"sbuf": MemoryRegion.sbuf, "psum": MemoryRegion.psum, "hbm": MemoryRegion.private_hbm}


class NkiTensor(NKIObject):
    """A tensor in SBUF, PSUM or HBM.

    Attributes
    ----------
    shape : tuple of int
    strides : tuple of int     elements; on chip the first is the elements of one partition
    offset : int               elements from the start of the storage
    dtype : DType
    buffer : MemoryRegion
    name : str

    Notes
    -----
    ``nl.ndarray`` makes tensors. The constructor binds storage that is there already; with ``None``
    it is the placeholder of a signature: shape, dtype and layout without numbers.

    Examples
    --------
    >>> t = NkiTensor((128, 24), "float32", None, name="t")
    >>> t, t.strides, t[0:64, 8:16].offset
    (NkiTensor(t: float32[128, 24] in nl.sbuf), (24, 1), 8)
    >>> t[:, 4:20:2].get_pattern()
    [[24, 128], [2, 8]]
    >>> t.reshape_dim(1, (4, -1)).shape, t.view("bfloat16").shape, t.select(1, 3).shape
    ((128, 4, 6), (128, 48), (128, 1))
    >>> t.expand_dim(1).broadcast(1, 3).strides
    (24, 0, 1)
    >>> t.ap([[24, 128], [2, 12]], offset=1).shape
    (128, 12)
    """

    __slots__ = ("_dtype", "_region", "_view")

    def __init__(self, shape, dtype, storage, buffer=MemoryRegion.sbuf, name=""):
        if storage is None:
            storage = _placeholder(shape, nki_dtype(dtype), MemoryRegion(buffer), name)
        view = storage if isinstance(storage, View) else whole(storage)
        if tuple(shape) != view.shape:
            view = view.reshaped(*shape)
        self._view = view
        self._dtype = nki_dtype(dtype)
        self._region = buffer

    @classmethod
    def _wrap(cls, view, dtype=None, region=None):
        """Return a tensor on a view; the dtype and the memory are the view's own by default."""
        self = cls.__new__(cls)
        self._view = view
        self._dtype = dtype
        self._region = region
        return self

    def _like(self, view, dtype=None):
        """Return a tensor on another view of this storage."""
        other = NkiTensor.__new__(NkiTensor)
        if self._view.indirect is not None:
            view = _keep_index(self, view)
        other._view = view
        other._dtype = dtype or self._dtype
        other._region = self._region
        return other

    # -- what it is ---------------------------------------------------------------------------

    @property
    def shape(self) -> "Shape":
        """Sizes; on chip the first is the partitions."""
        return Shape(self._view.shape)

    @property
    def dtype(self) -> DType:
        """The dtype, a string: ``t.dtype == nl.float32``."""
        return self._dtype or DTYPE_NAMES[self._view.dtype.name]

    @property
    def buffer(self) -> MemoryRegion:
        """The memory: ``nl.sbuf``, ``nl.psum``, ``nl.hbm`` or ``nl.shared_hbm``."""
        return self._region or _REGIONS[self._view.buffer.info.memory]

    @property
    def name(self) -> str:
        """The name it was allocated with."""
        return self._view.buffer.info.name

    @property
    def address(self) -> tuple[int, int] | None:
        """First partition, and byte inside each, where the tile was allocated by address."""
        info = self._view.buffer.info
        return None if info.address is None else (info.start_partition, info.address)

    @property
    def ndim(self) -> int:
        """How many dimensions it has."""
        return len(self._view.shape)

    @property
    def size(self) -> int:
        """Elements in all."""
        return self._view.size

    @property
    def strides(self) -> tuple[int, ...]:
        """Elements from one index to the next, in each dimension."""
        view = self._view
        itemsize = view.dtype.itemsize
        steps = [stride // itemsize for stride in view.strides]
        if self._on_chip:
            steps[0] = view.buffer.info.row_bytes // itemsize
        return tuple(steps)

    @property
    def offset(self) -> int:
        """Elements from the start of the storage to the first element."""
        view = self._view
        if not self._on_chip:
            return view.offset // view.dtype.itemsize
        row, byte = divmod(view.offset, view.buffer.pitch)
        return (row * view.buffer.info.row_bytes + byte) // view.dtype.itemsize

    @property
    def _on_chip(self):
        return self._view.buffer.info.memory.is_on_chip

    def __repr__(self):
        return f"NkiTensor({self.name}: {self.dtype}{list(self.shape)} in {self.buffer})"

    def __len__(self):
        return self._view.shape[0]

    def __bool__(self):
        """Return whether the tensor exists, as ``if bias:`` asks, not what it holds.

        Python branches before the chip has run, so only ``assert nl.equal(a, b)``, which takes no
        other path, looks at the elements of what was just computed: all have to be nonzero.
        """
        return truth_of_tile(self)

    def __eq__(self, other):
        if self is other or other is None:
            return self is other
        return refuse_comparison(self, other)

    __hash__ = object.__hash__

    def __iter__(self):
        raise misuse("tensor.iterated", tensor=self, count=len(self))

    def __contains__(self, _):
        raise misuse("tensor.contains", tensor=self)

    def __array__(self, dtype=None, copy=None):
        numbers = self._numbers()
        note_looking(f"np.array copies {self.name}'s numbers")
        return np.array(numbers, dtype=dtype)

    def _numbers(self):
        """Return the stored numbers, NaN or 4 where nothing was written."""
        view = self._view
        if view.buffer.base is None:
            raise refusal("tensor.no_numbers", tensor=self)
        if view.indirect is None:
            check_inside(view)
        return view.read()

    def __array_ufunc__(self, ufunc, method, *inputs, **kwargs):
        return self.__array_function__(ufunc, (), inputs, kwargs)

    def __array_function__(self, function, types, args, kwargs):
        return host_function(self, function, args, kwargs)

    def __getattr__(self, name):
        if name.startswith("_"):
            raise AttributeError(name)
        raise no_such_attribute(self, name)

    def __copy__(self):
        return self._like(self._view)

    def __reduce_ex__(self, protocol):
        raise misuse("tensor.copied_by_python", tensor=self)

    def is_contiguous(self) -> bool:
        """Return whether the view is dense and row-major (on chip: inside each partition)."""
        expected = self._view.dtype.itemsize
        pairs = list(zip(self._view.shape, self._view.strides, strict=True))
        for size, stride in reversed(pairs[1:] if self._on_chip else pairs):
            if size != 1 and stride != expected:
                return False
            expected *= size
        return True

    def is_indirect(self) -> bool:
        """Return whether an index that the chip computes decides what is accessed."""
        return self._view.indirect is not None

    def get_pattern(self) -> list[list[int]]:
        """Return ``[[stride, count], …]``, as ``ap`` takes it."""
        return [[a, b] for a, b in zip(self.strides, self.shape, strict=True)]

    # -- indexing -----------------------------------------------------------------------------

    def __getitem__(self, key) -> "NkiTensor":
        if type(key) is not tuple:
            if key is Ellipsis:
                return self._like(self._view)
            key = (key,)
        return self._like(_not_empty(self._view.sliced(*plain_index(key, self))))

    def __setitem__(self, key, value):
        """Copy `value` into the view: by DMA to or from HBM, by an engine on chip.

        Numbers are written by memset.
        """
        dst = self[key]
        if isinstance(value, NkiTensor):
            copy = "tensor_copy" if dst._on_chip and value._on_chip else "dma_copy"
            current().issue(copy, {"dst": dst._view, "src": value._view})
        elif dst._on_chip and _is_number(value):
            value = int(value) if hasattr(value, "__index__") else float(value)
            current().issue("memset", {"dst": dst._view, "value": value})
        else:
            raise misuse("tensor.assigned", dst=dst, value=describe(value))

    def slice(self, dim: int, start: int, end: int, step: int = 1) -> "NkiTensor":
        """Return the elements start … end - 1 of one dimension, every `step`-th."""
        dim = self._axis(dim)
        for name, value in (("start", start), ("end", end), ("step", step)):
            check_whole(name, value)
        if not 0 <= start < end <= self.shape[dim] or step < 1:
            raise NkiValidationError(
                f"{self!r}: slice {start}:{end}:{step} of dimension {dim}; it needs 0 <= start < "
                f"end <= {self.shape[dim]} and step >= 1"
            )
        return self._like(self._view.sliced(*(ALL,) * dim, slice(start, end, step)))

    def select(self, dim: int, index) -> "NkiTensor":
        """Return one element of a dimension, removing it; `index` may be a tensor or a register."""
        dim = self._axis(dim)
        if isinstance(index, NkiTensor | VirtualRegister):
            return self._moved(indirection.select(self, dim, index))
        check_whole("index", index)
        if not 0 <= index < self.shape[dim]:
            raise NkiValidationError(
                f"{self!r}: index {index} of dimension {dim} is out of bounds; it must be "
                f"0 … {self.shape[dim] - 1}"
            )
        return self._like(_not_empty(self._view.sliced(*(ALL,) * dim, index)))

    def vector_select(self, dim: int, vector_offset: "NkiTensor") -> "NkiTensor":
        """Gather: output row p is row ``vector_offset[p]`` of this HBM tensor."""
        if self._view.dtype is not self._view.buffer.info.dtype:
            known_issue("reinterpret_cast")
        return self._moved(indirection.vector_select(self, dim, vector_offset))

    def _moved(self, view):
        """Return a tensor on a view of this storage that has a run-time index of its own."""
        return NkiTensor._wrap(view, self._dtype, self._region)

    def indirect(self, index: "NkiTensor", num_elem: int | None = None) -> "NkiTensor":
        """Tensor indirection needs NeuronCore-v4."""
        raise later_chip("NkiTensor.indirect (tensor indirection)", "NeuronCore-v4 (Trainium3)")

    # -- other shapes -------------------------------------------------------------------------

    def reshape(self, shape) -> "NkiTensor":
        """Return the same elements in another shape; one size may be -1."""
        shape = sizes(shape, self.size, self)
        if len(shape) == 1 and self._on_chip:
            shape = (*shape, 1)  # a tile has partitions and a free side
        return self._like(self._view.reshaped(*shape))

    def reshape_dim(self, dim: int, shape) -> "NkiTensor":
        """Split one dimension into several; one size may be -1."""
        dim = self._axis(dim)
        parts = sizes(shape, self.shape[dim], self, "dimension")
        if dim == 0 and self._on_chip and parts != (self.shape[0],):
            raise NkiValidationError(f"{self!r}: the partition dimension cannot be split")
        step = self._view.strides[dim]
        steps = []
        for size in reversed(parts):
            steps.insert(0, step)
            step *= size
        return self._remade(dim, dim + 1, parts, steps)

    def flatten_dims(self, start_dim: int, end_dim: int) -> "NkiTensor":
        """Merge the dimensions start_dim … end_dim, which lie one after another in memory."""
        start, end = self._axis(start_dim), self._axis(end_dim)
        if start > end:
            raise NkiValidationError(f"{self!r}: dimensions {start} … {end} are in the wrong order")
        if start == 0 and self._on_chip and end > 0:
            raise NkiValidationError(f"{self!r}: the partition dimension cannot be merged")
        shape, strides = self._view.shape, self._view.strides
        count, step = shape[end], strides[end]
        for axis in range(end - 1, start - 1, -1):
            if count == 1:
                step = strides[axis]
            elif shape[axis] != 1 and strides[axis] != step * count:
                raise refusal("tensor.not_contiguous", tensor=self, start=start, end=end)
            count *= shape[axis]
        return self._remade(start, end + 1, (count,), (step,))

    def permute(self, dims) -> "NkiTensor":
        """Return the dimensions in another order (on chip the partition dimension stays first)."""
        for dim in dims:
            check_whole("a dimension", dim)
        return self._like(self._view.permuted(*dims))

    def broadcast(self, dim: int, size: int) -> "NkiTensor":
        """Repeat a dimension of size 1 `size` times, without copying (stride 0)."""
        dim = self._axis(dim)
        check_whole("size", size)
        shape = self.shape
        if shape[dim] != 1 or size < 1 or (dim == 0 and self._on_chip):
            raise NkiValidationError(
                f"{self!r}: dimension {dim} has {shape[dim]} elements; only a free dimension of "
                f"size 1 can be repeated (here {size} times)"
                + (", and partitions are repeated by nl.broadcast_to" if dim == 0 else "")
            )
        return self._remade(dim, dim + 1, (size,), (0 if size > 1 else self._view.strides[dim],))

    def expand_dim(self, dim: int) -> "NkiTensor":
        """Insert a dimension of size 1 at `dim`."""
        dim = self._axis(dim, self.ndim + 1)
        if dim == 0 and self._on_chip:
            raise NkiValidationError(f"{self!r}: nothing comes before the partition dimension")
        view = self._view
        step = view.strides[dim] * view.shape[dim] if dim < len(view.shape) else view.dtype.itemsize
        return self._remade(dim, dim, (1,), (step,))

    def squeeze_dim(self, dim: int) -> "NkiTensor":
        """Remove a dimension of size 1."""
        dim = self._axis(dim)
        if self.shape[dim] != 1 or (dim == 0 and self._on_chip):
            raise refusal("tensor.squeezed", tensor=self, dim=dim, size=self.shape[dim])
        return self._remade(dim, dim + 1, (), ())

    def rearrange(self, src_pattern, dst_pattern, fixed_sizes=None) -> "NkiTensor":
        """Split, reorder and merge dimensions by name.

        Parameters
        ----------
        src_pattern, dst_pattern : tuple of str, or of tuples of str
            A tuple inside stands for one dimension that is split (`src`) or merged (`dst`).
        fixed_sizes : dict of str to int, optional
            Sizes of split parts; one of each dimension may be left out.

        Examples
        --------
        >>> t = NkiTensor((128, 24), "float32", None)
        >>> t.rearrange(("p", ("h", "w")), ("p", "w", "h"), {"h": 4}).shape
        (128, 6, 4)
        """
        return rearrange(self, src_pattern, dst_pattern, fixed_sizes or {})

    def view(self, dtype) -> "NkiTensor":
        """Read the same bits as another dtype; the last dimension is rescaled."""
        if self.is_indirect():
            raise NkiValidationError(f"{self!r} is indirect; reinterpret the tensor before it")
        dtype = nki_dtype(dtype)
        if dtype == self.dtype:
            return self._like(self._view)
        self._has_bits_of(dtype)
        return self._like(self._view.as_dtype(dtype), dtype)

    reinterpret_cast = view

    def _has_bits_of(self, dtype):
        if self._view.dtype.itemsize != self.dtype.itemsize:
            raise refusal("tensor.bits_not_there", tensor=self, dtype=dtype)

    def ap(self, pattern, offset=None, scalar_offset=None, vector_offset=None, indirect_dim=0,
           dtype=None) -> "NkiTensor":  # fmt: skip
        """Return an access pattern on the storage itself: ``[[stride, count], …]`` in elements.

        The shape, strides and slices of this view play no part (the offset does, where `offset` is
        None); a given `offset` counts from the start of the storage.

        Parameters
        ----------
        pattern : list of [stride, count]
            One to five; on chip the first walks the partitions.
        offset : int, optional
        scalar_offset : NkiTensor(1, 1) or VirtualRegister, optional
            Known at run time: counts along dimension `indirect_dim` of this view.
        vector_offset : NkiTensor(rows, 1), optional
            One index per row of an HBM tensor, ``indirect_dim=0``.
        indirect_dim : int
        dtype : dtype, optional
            To read the bits as; `pattern` and `offset` count in it.
        """
        view, dtype = access_pattern(
            self, pattern, offset, scalar_offset, vector_offset, indirect_dim, dtype
        )
        return NkiTensor._wrap(view, dtype, self._region)

    def _remade(self, start, end, sizes, steps):
        """Return the view with dimensions [start, end) replaced."""
        view = self._view
        shape = (*view.shape[:start], *sizes, *view.shape[end:])
        strides = (*view.strides[:start], *steps, *view.strides[end:])
        if not shape or (self._on_chip and len(shape) < 2):
            shape, strides = (*shape, 1), (*strides, view.dtype.itemsize)
        return self._like(view._like(shape, strides, view.offset))

    def _axis(self, dim, count=None) -> int:
        count = self.ndim if count is None else count
        check_whole("dim", dim)
        if not -count <= dim < count:
            raise NkiValidationError(f"{self!r} has dimensions 0 … {count - 1}, not {dim}")
        return dim % count


def _keep_index(tensor, view):
    """Carry the run-time index of `tensor` to a view of its other dimensions."""
    old = tensor._view
    indirect = old.indirect
    if indirect.is_vector and (view.shape[0], view.strides[0]) != (old.shape[0], old.strides[0]):
        raise refusal("tensor.indirect_rows", tensor=tensor)
    return type(old)(view.buffer, view.dtype, view.shape, view.strides, view.offset, indirect)


def _not_empty(view):
    return view if view.shape else view._like((1,), (view.dtype.itemsize,), view.offset)


def _is_number(value):
    if isinstance(value, VirtualRegister):  # known on the chip only
        return False
    return hasattr(value, "__float__") and getattr(value, "ndim", 0) == 0


def _placeholder(shape, dtype, region, name):
    """Return storage without numbers, for a tensor that is only in a signature."""
    memory = Memory.HBM if region.name.endswith("hbm") else Memory(region.name)
    shape = tensor_shape(tuple(shape), name or "this tensor")
    info = make_allocation(0, name, memory, shape, get_dtype(dtype), (), None, 0)
    return own_buffer(info, values=False)


_MASK = ", a mask that nl.where(mask, c, d) chooses by (Python's `if` cannot: it asks too early)"


def _refusal(sign, instead):
    def refuse(self, *_):
        raise misuse("tensor.operator", tensor=self, sign=sign, instead=instead)

    return refuse


for _name, (_sign, _call) in read("instead.toml")["operators"].items():
    setattr(NkiTensor, f"__{_name}__", _refusal(_sign, _call))
    if "(a, b)" in _call:
        setattr(NkiTensor, f"__r{_name}__", _refusal(_sign, _call))
for _name, (_sign, _call) in read("instead.toml")["comparisons"].items():
    setattr(NkiTensor, f"__{_name}__", _refusal(_sign, _call + _MASK))
