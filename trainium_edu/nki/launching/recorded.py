"""A kernel called with tensors of a device: recorded once, then one custom call of a graph.

A device's tensor class has ``kernel_type`` (shape and dtype in HBM) and ``call_kernel``; so nothing
here knows a framework.  As AWS says of its own: recorded for shapes, dtypes and all other
arguments; called with the same again, that recording counts.  The key is a text of the kernel's
code and of what it refers to, so a kernel that was edited is another one, and a graph with it too.
"""

from collections import OrderedDict
from dataclasses import dataclass
from functools import partial
from hashlib import md5
from inspect import unwrap
from math import prod
from types import CodeType, FunctionType, MethodType, ModuleType

import numpy as np

from trainium_edu.neuroncore.recording.dtypes import get_dtype
from trainium_edu.nki.chips import chip
from trainium_edu.nki.launching.arguments import (
    Arguments,
    checked_output,
    is_on_device,
    is_output,
    leaves_in,
    walk,
)
from trainium_edu.nki.launching.executing import execute
from trainium_edu.nki.mistakes import is_ours
from trainium_edu.nki.refusals import misuse
from trainium_edu.nki.remedies import WORDS
from trainium_edu.numerics.frameworks import is_array

__all__ = ["call_on_device"]

_MOST = 256  #: recordings that are kept, the ones used last
_kept: OrderedDict[str, "Recorded"] = OrderedDict()


@dataclass(frozen=True)
class _Place:
    """Stands for an input, or for a result, by its number."""

    number: int


def call_on_device(kernel, args, kwargs):
    """Call a kernel on a device's tensors; NotImplemented if there are none.

    Raises
    ------
    TypeError
        For an array on the host beside them.
    """
    inputs = list({id(leaf): leaf for leaf in leaves_in((args, kwargs), is_on_device)}.values())
    if not inputs:
        return NotImplemented
    number = {id(tensor): _Place(i) for i, tensor in enumerate(inputs)}
    template = walk((args, kwargs), is_on_device, lambda tensor: number[id(tensor)])
    if leaves_in(template, is_array):
        raise misuse("arguments.host_and_device", kernel=kernel, inputs=inputs)
    call = _recorded(kernel, template, tuple(tensor.kernel_type for tensor in inputs))
    results = inputs[0].call_kernel(call, inputs)
    return walk(call.returned, _is_place, lambda place: results[place.number])


def _is_place(value) -> bool:
    return isinstance(value, _Place)


def _recorded(kernel, template, types) -> "Recorded":
    __tracebackhide__ = True
    how = kernel.grid, kernel.instances, kernel.schedule, kernel.passes
    source = unwrap(kernel.function)
    text = repr((kernel.__name__, how, types, chip(kernel.spec).name,
                 _text([template, source], {})))  # fmt: skip
    key = md5(text.encode(), usedforsecurity=False).hexdigest()
    if key not in _kept:
        _kept[key] = Recorded(kernel, template, types, key)
        if len(_kept) > _MOST:
            _kept.popitem(last=False)
    _kept.move_to_end(key)
    return _kept[key]


class Recorded:
    """One kernel on given types and arguments.

    Attributes
    ----------
    name, digest : str
    types, results : list of (shape, dtype)
        Of its inputs, and of its results.
    flops : int
        Of its products.
    writes : tuple of int
        The inputs that it writes; their new values are results behind those that it returns.
    returned
        What the kernel returns, with places in place of tensors.
    """

    def __init__(self, kernel, template, types, digest: str):
        self.name, self.digest, self._kernel = kernel.__name__, digest, kernel
        self._template, self.types = template, types
        self._cores: dict[str, list] = {}
        self.returned, self.results, self.writes = self._record(chip(kernel.spec))
        self.flops = sum(
            i.flops * prod(core.program.loops[k].count for k in i.loops)
            for core in next(iter(self._cores.values())) for i in core.program.instructions
        )  # fmt: skip

    def _record(self, spec):
        arrays = [np.zeros(shape, get_dtype(dtype).storage) for shape, dtype in self.types]
        results: list[tuple] = []

        def described(result, arguments: Arguments):
            def keep(tensor):
                shape = tuple(checked_output(tensor).shape)
                results.append((shape, str(tensor.dtype)))
                return _Place(len(results) - 1)

            return walk(result, is_output, keep), arguments.written()

        ((found, cores),) = execute(self._kernel, [self._filled(arrays)], spec=spec, values=False,
                                    give=described)  # fmt: skip
        self._cores[spec.name] = cores
        written = {id(one) for one in found[1]}
        writes = tuple(i for i, one in enumerate(arrays) if id(one) in written)
        return found[0], results + [self.types[i] for i in writes], writes

    def _filled(self, arrays):
        return walk(self._template, _is_place, lambda place: arrays[place.number])

    def shape(self, *types) -> list[tuple]:
        """Return (shape, dtype) of each result."""
        return self.results

    def __call__(self, *arrays) -> list[np.ndarray]:
        """Compute the results; inputs stay as they are."""
        given = [np.array(one) if i in self.writes else one for i, one in enumerate(arrays)]
        ((found, _),) = execute(self._kernel, [self._filled(given)], spec=self._kernel.spec)
        return leaves_in(found, is_array) + [given[i] for i in self.writes]

    def timed_on(self, spec):
        """Return its run on a chip, without values."""
        from trainium_edu.neuroncore.run import Run

        if spec.name not in self._cores:
            self._record(spec)
        return Run.of(self.name, None, self._cores[spec.name], words=WORDS,
                      passes=self._kernel.passes)  # fmt: skip


def _text(value, visited: dict):
    """Return what a value says, the same in every process: code, and the values that it names."""
    if isinstance(value, str | bytes | int | float | complex | type(None) | type(...)):
        return value
    if isinstance(value, np.ndarray):
        return value.dtype.name, value.shape, md5(value.tobytes(), usedforsecurity=False).digest()
    if isinstance(value, ModuleType | type):
        return value.__name__
    if id(value) in visited:
        return "..."
    visited[id(value)] = value
    if isinstance(value, CodeType):
        return value.co_code, value.co_names, _text(value.co_consts, visited)
    if isinstance(value, list | tuple | set | frozenset):
        return [_text(one, visited) for one in value]
    if isinstance(value, dict):
        return [(_text(key, visited), _text(one, visited)) for key, one in value.items()]
    if isinstance(value, MethodType):
        return _text([value.__func__, value.__self__], visited)
    if isinstance(value, partial):
        return _text([value.func, value.args, value.keywords], visited)
    if hasattr(value, "__wrapped__"):  # a kernel is one
        return _text(unwrap(value), visited)
    if not isinstance(value, FunctionType):
        return type(value).__qualname__, _text(getattr(value, "__dict__", str(value)), visited)
    if is_ours(value.__code__.co_filename):
        return value.__module__, value.__qualname__
    named = [value.__globals__.get(name) for name in sorted(_names(value.__code__))]
    cells = [cell.cell_contents for cell in value.__closure__ or ()]
    return _text([value.__code__, value.__defaults__, value.__kwdefaults__, named, cells], visited)


def _names(code) -> set:
    """Return the names that code, and the code in it, looks up."""
    inner = [_names(one) for one in code.co_consts if isinstance(one, CodeType)]
    return {*code.co_names}.union(*inner)
