"""What a kernel is called with, and what it gives back: arrays outside, tensors inside.

NumPy arrays are used in place, so a kernel that writes an argument changes the caller's array; one
that had to be cast or made contiguous is copied back.  Arrays of torch and JAX are turned into
NumPy's and back by ``numerics.frameworks``.
"""

import dataclasses
from types import GeneratorType

import numpy as np

from trainium_edu.neuroncore.recording.dtypes import get_dtype
from trainium_edu.nki.issuing import NkiInstruction
from trainium_edu.nki.mistakes import describe
from trainium_edu.nki.objects.dtypes import LOW_PRECISION, fitted, nki_dtype, stored_as
from trainium_edu.nki.objects.enums import MemoryRegion
from trainium_edu.nki.objects.object import NKIObject
from trainium_edu.nki.objects.tensor import NkiTensor
from trainium_edu.nki.refusals import misuse, refusal
from trainium_edu.numerics.frameworks import (
    as_array,
    framework_of,
    in_framework,
    is_array,
    is_torch,
)
from trainium_edu.specs.errors import NkiValidationError

__all__ = ["Arguments", "checked_output", "give_back", "is_on_device", "is_output", "leaves_in",
           "tensors_in", "walk", "written"]  # fmt: skip


def walk(value, is_leaf, change):
    """Return `value` with ``change(leaf)`` for its leaves, in containers and objects too."""
    if is_leaf(value):
        return change(value)
    if isinstance(value, tuple) and hasattr(value, "_fields"):
        return type(value)(*(walk(item, is_leaf, change) for item in value))
    if isinstance(value, list | tuple):
        return type(value)(walk(item, is_leaf, change) for item in value)
    if isinstance(value, dict):
        return {key: walk(item, is_leaf, change) for key, item in value.items()}
    if isinstance(value, NkiTensor | type):
        return value
    if isinstance(value, NKIObject) or dataclasses.is_dataclass(value):
        return _walk_object(value, is_leaf, change)
    return value


def _walk_object(value, is_leaf, change):
    """Return a copy of an object whose fields were walked, as AWS's compiler copies it."""
    fields = dict(getattr(value, "__dict__", {}))
    if dataclasses.is_dataclass(value):  # may have slots
        fields = {f.name: getattr(value, f.name) for f in dataclasses.fields(value)} | fields
    walked = {name: walk(item, is_leaf, change) for name, item in fields.items()}
    if all(walked[name] is fields[name] for name in fields):
        return value
    copy = object.__new__(type(value))
    for name, item in walked.items():
        object.__setattr__(copy, name, item)
    return copy


class Arguments:
    """The arrays of one call, prepared once and handed to every program.

    Attributes
    ----------
    framework : {"numpy", "torch", "jax"}
        What the results come back as.

    Raises
    ------
    TypeError
        For a tensor of a device, on which the kernel itself can be called.
    """

    def __init__(self, args, kwargs, *, precise=True, names=None):
        self.framework = "numpy"
        self._names = names or {}
        self._precise = precise
        self._prepared = {}  #: id of a caller's array -> _Prepared
        self._places = {}  #: where an array lies -> the same: two names for one stay one
        self._holds = []  #: keeps the ids valid
        for value in leaves_in((args, kwargs), lambda one: is_array(one) or is_on_device(one)):
            self._prepare(value)
        self._args, self._kwargs = args, kwargs

    def _prepare(self, value):
        if id(value) in self._prepared:
            return
        if is_on_device(value):
            raise misuse(
                "arguments.on_device", name=self._names.get(id(value), "an argument"), value=value
            )
        array = value
        if not isinstance(value, np.ndarray):
            self.framework, array = framework_of(value), as_array(value)
        self._holds.append(value)
        place = array.__array_interface__["data"][0], array.shape, array.strides, array.dtype
        if place not in self._places:
            name = self._names.get(id(value)) or f"argument_{len(self._places)}"
            self._places[place] = _Prepared(value, array, self._precise, name)
        self._prepared[id(value)] = self._places[place]

    def for_program(self, running):
        """Return (args, kwargs) with tensors of the program's own core in place of arrays."""
        tensors = {}
        region = MemoryRegion.shared_hbm if running.grid else MemoryRegion.private_hbm

        def tensor(value):
            key = id(value)
            if key not in tensors:
                tensors[key] = self._prepared[key].tensor(running, region)
            return tensors[key]

        return walk(self._args, is_array, tensor), walk(self._kwargs, is_array, tensor)

    def allocations(self, core) -> set[int]:
        """Return the allocations of the arguments in one core's program."""
        found = (pair for prepared in self._places.values() for pair in prepared.allocations)
        return {index for owner, index in found if owner is core}

    def written(self) -> list:
        """Return the arrays that the programs wrote."""
        return [one.source for one in self._places.values() if one.is_written()]

    def update(self) -> None:
        """Write what the kernel changed back to arrays that could not be used in place."""
        for prepared in self._places.values():
            prepared.update()


class _Prepared:
    """One array argument: contiguous, writable, in a dtype of the chip."""

    def __init__(self, source, array, precise, name):
        self.name = name
        self.source = source
        self.given = array
        if isinstance(array, np.ma.MaskedArray) and np.ma.is_masked(array):
            raise misuse("arguments.masked_array", name=name)
        try:
            self.dtype = nki_dtype(array.dtype)
        except TypeError as problem:
            raise TypeError(f"{name}: {problem}") from None
        if array.size == 0:
            raise NkiValidationError(f"{name} has shape {array.shape}: it holds no elements")
        stored = get_dtype(stored_as(self.dtype, precise=precise)).storage
        self.array = np.ascontiguousarray(fitted(array, stored, name))
        if not self.array.flags.writeable:
            self.array = self.array.copy()
        self.allocations = []  #: (program's core, allocation index)

    def tensor(self, running, region):
        view = running.core.hbm(self.array, name=self.name)
        self.allocations.append((running.core, view.buffer.info.index))
        return NkiTensor._wrap(view, self.dtype, region)

    def is_written(self) -> bool:
        return any(index in written(core.program) for core, index in self.allocations)

    def update(self):
        if self.array is self.given and not is_torch(self.source):
            return
        if not self.is_written():
            return
        if is_torch(self.source):
            if self.array.ctypes.data != self.given.ctypes.data or (
                self.given.ctypes.data != self.source.data_ptr()
            ):
                changed = in_framework(self.array.astype(self.given.dtype), "torch")
                self.source.data.copy_(changed.reshape(self.source.shape))
        elif isinstance(self.source, np.ndarray):
            if not self.source.flags.writeable:
                raise refusal("arguments.read_only", argument=self)
            self.source[...] = self.array.reshape(self.source.shape).astype(self.source.dtype)


def written(program) -> set[int]:
    """Return the allocations that a program writes to."""
    return {a.allocation for i in program.instructions for a in i.accesses if a.is_write}


def is_on_device(value) -> bool:
    """Return whether a value is a tensor of a lazy device, which can make kernels a part of it."""
    return hasattr(type(value), "call_kernel")


def give_back(value, arguments: Arguments):
    """Return what a kernel returned, its HBM tensors as arrays of the caller's framework."""
    return walk(value, is_output, lambda item: _array(checked_output(item), arguments))


def is_output(value) -> bool:
    """Return whether a part of what a kernel returns is a tensor, or looks like one."""
    return isinstance(value, NkiTensor | NkiInstruction | GeneratorType) or is_array(value)


def leaves_in(value, is_leaf) -> list:
    """Return the leaves of a value, in the order of :func:`walk`.

    Raises
    ------
    TypeError
        For a value that contains itself.
    """
    leaves = []

    def keep(leaf):
        leaves.append(leaf)
        return leaf

    try:
        walk(value, is_leaf, keep)
    except RecursionError:
        raise misuse("arguments.contains_itself") from None
    return leaves


def tensors_in(value) -> list[NkiTensor]:
    """Return the tensors in what a kernel returns."""
    return leaves_in(value, lambda item: isinstance(item, NkiTensor))


def checked_output(tensor) -> NkiTensor:
    """Return a tensor that a kernel returns.

    Raises
    ------
    NkiValidationError
        If it is not a tensor, or on chip.
    """
    if isinstance(tensor, NkiInstruction):
        raise refusal("outputs.handle", tensor=describe(tensor))
    if not isinstance(tensor, NkiTensor):
        raise refusal("outputs.of_python", tensor=describe(tensor))
    if tensor._on_chip:
        line = tensor._view.buffer.info.site[1]
        raise refusal("outputs.on_chip", tensor=tensor, line=line)
    return tensor


def _array(tensor, arguments):
    array = np.array(tensor._numbers())
    wanted = tensor.dtype
    if wanted == "bool":
        array = array.astype(bool)
    elif array.dtype.name != wanted and wanted in LOW_PRECISION:
        array = array.astype(get_dtype(wanted).storage)
    return in_framework(array, arguments.framework)
