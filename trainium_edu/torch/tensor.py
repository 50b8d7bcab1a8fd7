"""A tensor on the emulated device: each aten call on it is computed now and recorded.

PyTorch calls ``__torch_dispatch__`` below autograd, so gradients are PyTorch's own and arrive here
as calls like any other.
"""

from collections import OrderedDict
from copy import deepcopy
from itertools import count
from typing import Any
from weakref import ref

import torch
from torch._prims_common import make_contiguous_strides_for as strides_for
from torch.utils._pytree import tree_leaves, tree_map

from trainium_edu.torch import core as cores
from trainium_edu.torch.calls import Call, call_of, on_meta
from trainium_edu.torch.kernels import kernel_call
from trainium_edu.torch.operations import dtype_of, fits
from trainium_edu.torch.origins import user_line
from trainium_edu.torch.refusals import refusal
from trainium_edu.torch.tape import Cell, Fed, Place, Slot, Storage
from trainium_edu.xla.graph import GraphError, Type

__all__ = ["XlaTensor", "dispatch", "hollow", "on_device", "wrap"]

_aten = torch.ops.aten
_LIFTED = "number"  #: in a key: a number that may change
_wrapper = torch.Tensor._make_wrapper_subclass
_set_data = torch.Tensor.data.__set__  # type: ignore[attr-defined]


class XlaTensor(torch.Tensor):
    """A tensor whose device is ``xla``.

    Attributes
    ----------
    cell : Cell
        Its value and its place on the tape.
    """

    __slots__ = ("cell",)
    cell: Cell
    __torch_function__ = torch._C._disabled_torch_function_impl  # type: ignore[assignment]

    @classmethod
    def __torch_dispatch__(cls, func, types, args=(), kwargs=None):
        return dispatch(func, args, kwargs or {})

    @property
    def is_xla(self) -> bool:
        """True, as of PyTorch/XLA's own tensors."""
        return True

    @property
    def data(self):
        """The same value, apart from autograd."""
        return self.detach()

    @data.setter
    def data(self, other):
        if type(other) is not XlaTensor:
            raise refusal("tensors.data", device=self.device, other=other.device)
        _set_data(self, other)
        self.cell = other.cell

    def __repr__(self, *, tensor_contents=None):
        text = torch._tensor_str._str(self, tensor_contents=tensor_contents)
        text = text.replace("XlaTensor(", "tensor(", 1).replace("\n   ", "\n")
        is_weight = isinstance(self, torch.nn.Parameter)
        return f"Parameter containing:\n{text}" if is_weight else text

    def __format__(self, spec):
        return format(self.item(), spec) if self.dim() == 0 else format(str(self), spec)

    def numpy(self, *, force=False):
        """Return the values as an array, if that is forced; as PyTorch has it."""
        if not force:
            raise refusal("tensors.numpy", TypeError, device=self.device)
        return self.detach().cpu().numpy()

    def untyped_storage(self):
        """Return an empty storage, at address 0: the device has no addresses."""
        return torch.UntypedStorage(0)

    def __array__(self, dtype=None, copy=None):
        return self.numpy()

    def tolist(self):
        """Return the values as Python numbers."""
        return self.detach().cpu().tolist()

    @property
    def kernel_type(self) -> Type:
        """The type of a kernel's argument in HBM."""
        kind, narrowed = dtype_of(self.dtype), cores.current().recorder.narrowed
        return Type(tuple(self.shape), narrowed.get(kind, kind))

    def call_kernel(self, kernel, tensors) -> list:
        """Record a kernel on tensors of this device; those that it writes get new values."""
        core = cores.current()
        core.follow_at_first()
        call = call_of(kernel_call(kernel))
        results = record(core, call, (kernel.digest, tensors), {})
        for position in reversed(kernel.writes):
            with torch.no_grad():
                tensors[position].copy_(results.pop())
        return results

    def __deepcopy__(self, memo):
        if id(self) in memo:
            return memo[id(self)]
        if not self.is_leaf:
            raise RuntimeError("only tensors made by the user can be copied deeply; detach() first")
        with torch.no_grad():
            made = self.clone()
        made.__dict__.update(deepcopy(self.__dict__, memo))
        made.requires_grad_(self.requires_grad)
        made.grad = deepcopy(self.grad, memo)
        return memo.setdefault(id(self), made)

    def __reduce_ex__(self, protocol):
        if isinstance(self, torch.nn.Parameter):
            return torch._utils._rebuild_parameter, (self.data, self.requires_grad, OrderedDict())
        parts = self.detach().cpu(), self.dtype, str(self.device), self.requires_grad
        return torch._utils._rebuild_device_tensor_from_cpu_tensor, parts


def wrap(cell: Cell, shape, strides, dtype, device) -> XlaTensor:
    """Return a tensor around a cell."""
    tensor = _wrapper(XlaTensor, shape, strides=strides, dtype=dtype, device=device)
    cell.meta = shape, strides, dtype
    tensor.cell = cell
    return tensor


def on_device(value: torch.Tensor, core=None) -> XlaTensor:
    """Return a CPU tensor's copy on the device: data that came in."""
    core = core or cores.current()
    core.follow_at_first()
    _check_kind(value.dtype, value.layout)
    strides = strides_for(value.size())
    held = core.held(value, strides) if core.computes else None
    core.transfer(value, "to")
    return wrap(Cell(held), value.size(), strides, value.dtype, core.device)


def hollow(shape, dtype, core=None) -> XlaTensor:
    """Return a tensor on the device of which only the shape is kept."""
    core = core or cores.current()
    return wrap(Cell(), shape, strides_for(shape), dtype, core.device)


def _check_kind(dtype, layout=torch.strided) -> None:
    """Refuse numbers and layouts that the device does not have."""
    if layout is not torch.strided:
        raise refusal("tensors.layout", layout=layout)
    try:
        dtype_of(dtype)
    except GraphError as problem:
        raise RuntimeError(f"{problem}, at {user_line()}; cast it on the CPU first") from None


# -- one call -------------------------------------------------------------------------------------


def dispatch(func, args, kwargs):
    """Compute and record one aten call."""
    core, call = cores.current(), call_of(func)
    if call.special is not None:
        return call.special(core, func, args, kwargs)
    if call.row:
        return record(core, call, args, kwargs)
    if call.composite:
        return call.decompose(*args, **kwargs)
    if call.turns:
        return _turn(call, args, kwargs)
    if call.out and call.functional:
        return _into(call, args, kwargs)
    return fall_back(core, call, args, kwargs)


def record(core, call: Call, args, kwargs):
    """Compute a call now and put it on the tape."""
    tape = core.tape
    fed: list = []
    parts: list = [call]  # whether an int in here is a slot or a number, the call's schema says
    values = [_take(core, tape, call, one, parts, fed) for one in args]
    named = {}
    for name, one in kwargs.items():
        parts.append(name)
        named[name] = _take(core, tape, call, one, parts, fed)
    key = tuple(parts)
    place = tape.here.next.get(key)
    if place is None and not _is_recorded(call, args, kwargs):
        return fall_back(core, call, args, kwargs)
    out = None
    if core.computes:
        out = core.rounded.compute(call, values, named)
    if place is None:
        place = core.new_place(call, *_templates(tape, call, args, kwargs), tape.slots,
                               _metas_of(call, args, kwargs, out))  # fmt: skip
        tape.grow(key, place)
    else:
        tape.here = place
        tape.path.append(place)
    if fed:
        tape.fed += fed
        core.send(fed)
    call.times += len(args[0]) if call.is_list else 1
    if not call.writes:
        return _results(core, tape, place, call, args, out)
    made = _results(core, tape, place, call, args, out) if call.makes else None
    written = _written(core, tape, call, args, kwargs)
    return written if call.returns_written else made


def _take(core, tape, call, argument, parts, fed):
    """Put one argument into a call's key; return what it is computed with."""
    kind = type(argument)
    if kind is XlaTensor:
        cell = argument.cell
        parts.append(cell.slot if cell.tape == tape.number else leaf(core, tape, cell))
        return cell.value
    if kind is int or argument is None:
        parts.append(argument)
        return argument
    if kind is list or kind is tuple:
        if set(map(type, argument)) == {int}:  # a shape
            parts.append(tuple(argument))
            return argument
        parts.append(len(argument))
        return [_take(core, tape, call, one, parts, fed) for one in argument]
    if kind is float:
        if call.lifts and argument != 0.0 and argument != 1.0:
            fed.append(argument)
            parts.append(_LIFTED)
        else:
            parts.append((float, argument))
        return argument
    if kind is bool:
        parts.append((bool, argument))
        return argument
    if isinstance(argument, torch.Tensor):
        return _take_from_cpu(core, tape, call, argument, parts, fed)
    if kind is torch.device and argument.type == "xla":
        argument = _CPU
    parts.append(argument)
    return argument


_CPU = torch.device("cpu")


def _take_from_cpu(core, tape, call, tensor, parts, fed):
    """Take a tensor that is not on the device: a number, or an index."""
    if isinstance(tensor, XlaTensor):  # a subclass of it
        raise GraphError(f"{call.name} of a {type(tensor).__name__}; a device holds plain tensors")
    if tensor.dim() == 0:
        tensor = core.rounded.settle(tensor.clone())
        number = tensor.item()
        parts.append((_LIFTED, tensor.dtype))
        _take(core, tape, call, number, parts, fed)
        return tensor
    if "index" in call.counter:
        return _take(core, tape, call, on_device(tensor, core), parts, fed)
    raise refusal("tensors.on_cpu", call=call.counter, device=core.device, shape=list(tensor.shape))


def _is_recorded(call, args, kwargs) -> bool:
    """Return whether a row takes such a call; asked when it comes for the first time."""
    if call.out:
        kwargs = {key: one for key, one in kwargs.items() if key not in call.writes}
    return fits(call.row, *args, **kwargs) and not _is_of_nothing(call, args, kwargs)


_LEAVE_OUT = {"aten::cat", "aten::native_batch_norm_backward"}  # what has no elements


def _is_of_nothing(call, args, kwargs) -> bool:
    """Return whether numbers are made of tensors without elements, which no engine works on."""
    tensors = [one for one in tree_leaves((args, kwargs)) if type(one) is XlaTensor]
    if all(one.numel() for one in tensors) or call.counter in _LEAVE_OUT:
        return False
    if call.counter.startswith("aten::_foreach") or call.is_view:
        return False
    shapes = [meta[0] for meta in _metas_of(call, args, kwargs, None) if meta]
    return any(0 not in shape for shape in shapes or [tensors[0].shape])


def _templates(tape, call, args, kwargs):
    """Return arguments with slots in place of tensors."""
    positions = count(len(tape.fed))

    def kept(argument):
        if type(argument) is XlaTensor:
            return Slot(argument.cell.slot)
        if isinstance(argument, torch.Tensor):
            if argument.dim():
                return Slot(tape.slots - 1)
            argument = argument.item()
        is_fed = type(argument) is float and call.lifts and argument not in (0.0, 1.0)
        return Fed(next(positions)) if is_fed else argument

    return tree_map(kept, (args, kwargs))


def _metas_of(call, args, kwargs, out):
    """Return shape, strides and dtype of each result."""
    if call.writes and not call.makes:
        return []
    if out is None:
        with torch.no_grad():
            out = call.run(*on_meta(args), **on_meta(kwargs))
    results = out if isinstance(out, tuple | list) else [out]
    for one in results:
        if one is not None:
            _check_kind(one.dtype, one.layout)
    return [None if one is None else (one.size(), one.stride(), one.dtype) for one in results]


def _results(core, tape, place, call, args, out):
    """Return the tensors that a call made."""
    base = args[0].cell if call.is_view else None
    if call.is_single:
        return _result(core, tape, place, 0, out, base)
    values = out if isinstance(out, list | tuple) else [out] * len(place.metas)
    results = [meta and _result(core, tape, place, i, values[i], base)
               for i, meta in enumerate(place.metas)]  # fmt: skip
    return results if call.gives_list else tuple(results)


def _result(core, tape, place, result_number, value, base):
    """Return one tensor that a call made, a view if it has a base."""
    meta = shape, strides, dtype = place.metas[result_number]
    tensor = _wrapper(XlaTensor, shape, strides=strides, dtype=dtype, device=core.device)
    cell = tensor.cell = Cell(value, tape.number, tape.slots, meta)
    tape.slots += 1
    tape.made.append(ref(cell))
    if base is not None:
        _share(base, cell, place, result_number)
    return tensor


# -- tensors that share their data ----------------------------------------------------------------


def _share(base: Cell, cell: Cell, place: Place, result_number: int) -> None:
    """Make a cell a view of another."""
    storage = base.storage
    if storage is None:
        storage = base.storage = Storage(base)
    storage.add(cell)
    cell.storage, cell.way = storage, (*base.way, (place, result_number))


def leaf(core, tape, cell: Cell) -> int:
    """Return the slot of data that come onto the tape with their first use."""
    storage = cell.storage
    if storage is not None and storage.tape != tape.number and len(storage.cells()) == 1:
        cell.storage, cell.way = None, ()  # the others are gone
        storage = None
    if storage is None:
        slot = _data(core, tape, cell)
        tape.leaves[slot] = ref(cell)
        cell.tape, cell.slot, cell.leaf = tape.number, slot, slot
        return slot
    if storage.tape != tape.number:
        slot = _data(core, tape, storage)
        storage.tape, storage.slot, storage.leaf = tape.number, slot, slot
        for one in storage.cells():
            if not one.way:
                tape.leaves[slot] = ref(one)
                one.tape, one.slot, one.leaf = tape.number, slot, slot
    slot = storage.slot
    for place, number in cell.way:
        slot = _viewed_again(tape, slot, place) + number
    cell.tape, cell.slot, cell.leaf = tape.number, slot, -1 if cell.way else storage.leaf
    return slot


def _data(core, tape, one: Cell | Storage) -> int:
    """Put data onto the tape."""
    key = (_data, *one.meta, one.name)
    if tape.step(key) is None:
        tape.grow(key, core.new_place(None, (), {"name": one.name}, tape.slots, [one.meta]))
    return _slots_of_data(tape, 1)


def _viewed_again(tape, slot: int, before: Place) -> int:
    """Put a view onto the tape that was made on an earlier one."""
    key = (_viewed_again, slot, before)
    if tape.step(key) is None:
        given = [Slot(slot), *before.args[1:]]
        tape.grow(key, Place(before.call, given, before.kwargs, tape.slots, before.line,
                             before.scope, before.metas))  # fmt: skip
    return _slots_of_data(tape, len(before.metas))


def _slots_of_data(tape, count: int) -> int:
    """Return the first of some new slots that no cut has to compute."""
    first = tape.slots
    tape.slots += count
    tape.made += [None] * count
    return first


def _written(core, tape, call, args, kwargs):
    """Return what a call wrote, in new slots."""
    written = _targets(call, args, kwargs)
    for tensor in written:
        cell = tensor.cell
        tape.give(cell)
        storage = cell.storage
        if storage is not None:
            tape.writes[storage] = tape.writes.get(storage, 0) + 1
        if not core.computes and cell.value is not None:
            for sharer in (cell,) if storage is None else storage.cells():
                sharer.value = None
    return _returned(call, written)


def _targets(call, args, kwargs) -> list[XlaTensor]:
    """Return the tensors that a call writes."""
    written: list = []
    for which in call.writes:
        target = kwargs.get(which) if isinstance(which, str) else args[which]
        written += target if isinstance(target, list | tuple) else (target,)
    return [tensor for tensor in written if tensor is not None]


def _returned(call, written):
    """Return what a call returns of the tensors that it wrote."""
    return written[0] if call.returns == 1 else tuple(written[: call.returns])


def _become(tensor: XlaTensor, other: XlaTensor) -> XlaTensor:
    """Return a tensor with another's shape and data, but its own place in autograd."""
    _set_data(tensor, other)
    tensor.cell = other.cell
    return tensor


def _turn(call: Call, args, kwargs):
    """Change a tensor's shape in place (``t_``, ``squeeze_``): it becomes a view of itself."""
    return _become(args[0], dispatch(call.functional, args, kwargs))


def _into(call: Call, args, kwargs):
    """Write results into tensors named by ``out=``; empty ones get the results' shape."""
    given = {key: one for key, one in kwargs.items() if key not in call.writes}
    made = dispatch(call.functional, args, given)
    targets = [kwargs[name] for name in call.writes]
    for target, result in zip(targets, made if isinstance(made, tuple) else (made,), strict=True):
        if type(target) is not XlaTensor:
            raise refusal("tensors.out_on_cpu", call=call.counter)
        if target.shape == result.shape:
            dispatch(_aten.copy_.default, (target, result), {})
        elif target.numel() == 0 and target.dtype == result.dtype:
            _become(target, result)
        else:
            shapes = {"shape": list(result.shape), "target": list(target.shape)}
            raise refusal("tensors.out_of_other_shape", call=call.counter, **shapes)
    return targets[0] if len(targets) == 1 else tuple(targets)


# -- what runs on the CPU -------------------------------------------------------------------------


def ask(core, cell: Cell, kind: str = "value", operation: str = "") -> torch.Tensor:
    """Return a value; the chip runs first what it needs."""
    storage, tape = cell.storage, core.tape
    if storage in tape.writes and cell.tape != tape.number:
        leaf(core, tape, cell)
    return core.ask(cell, kind, operation)


_INSTEAD = {"aten::batch_norm_stats": "torch_xla.core.functions.SyncBatchNorm is for this device"}


def fall_back(core, call: Call, args, kwargs):
    """Run an operation without a row on the CPU: the graph is cut around it."""
    core.compiler.metrics.count(call.counter)
    out = (_computed_on_cpu if core.computes else _shapes_on_cpu)(core, call, args, kwargs)
    if call.writes:
        written = _targets(call, args, kwargs)
        for tensor in written:  # which is data from here on
            value = tensor.cell.value
            core.tape.leave(tensor.cell)
            if core.computes and tensor.shape != core.rounded.settle(value).shape:
                _become(tensor, on_device(value, core))  # an empty one, named by out=
        if call.returns_written:
            return _returned(call, written)

    def moved(result):
        if not isinstance(result, torch.Tensor):
            return result
        return on_device(result, core) if core.computes else hollow(
            result.size(), result.dtype, core)  # fmt: skip

    return tree_map(moved, out)


def _computed_on_cpu(core, call: Call, args, kwargs):
    """Return what PyTorch computes; what the call writes is written there."""

    def value(given):
        if type(given) is XlaTensor:
            return ask(core, given.cell, "fallback", call.counter)
        return _CPU if type(given) is torch.device and given.type == "xla" else given

    given, named = tree_map(value, (args, kwargs))
    try:
        return call.run(*given, **named)
    except NotImplementedError:  # of which PyTorch says, in 40 lines, where it has a kernel
        instead = _INSTEAD.get(call.counter, "compose it of others")
        raise refusal("operations.nowhere", NotImplementedError, call=call.counter,
                      instead=instead) from None  # fmt: skip


def _shapes_on_cpu(core, call: Call, args, kwargs):
    """Cut the graph where values were needed, and return results on ``meta``."""
    for one in tree_leaves((args, kwargs)):
        if type(one) is XlaTensor:
            core.run_early(one.cell, "fallback", call.counter)
    try:
        return call.func(*on_meta(args), **on_meta(kwargs))
    except (NotImplementedError, RuntimeError) as problem:
        raise refusal("operations.shape_of_values", cores.ValuesOff, call=call.counter) from problem


# -- calls that move between host and device, or ask for values -----------------------------------


def _to_copy(core, func, args, kwargs):
    (tensor,) = args
    device, dtype = kwargs.get("device"), kwargs.get("dtype")
    kind = "xla" if device is None and type(tensor) is XlaTensor else torch.device(device).type
    if kind not in ("xla", "cpu", "meta"):
        raise refusal("tensors.other_device", device=device, own=core.device)
    if kind == "cpu" or type(tensor) is not XlaTensor:
        core.compiler.metrics.tick("xla::_copy_from")
    if type(tensor) is not XlaTensor:
        core.compiler.metrics.tick("xla::empty")
        return on_device(tensor if dtype is None else tensor.to(dtype), core)
    if kind == "cpu":
        return ask(core, tensor.cell).to(dtype or tensor.dtype, copy=True)
    if kind == "meta":
        return torch.empty_strided(tensor.size(), tensor.stride(), dtype=dtype or tensor.dtype,
                                   device="meta")  # fmt: skip
    return record(core, call_of(func), args, {"dtype": dtype or tensor.dtype})


def _copy(core, func, args, kwargs):
    target, source = args[:2]
    core.compiler.metrics.tick("xla::_copy_from")
    if type(target) is not XlaTensor:
        return target.copy_(ask(core, source.cell))
    call = call_of(_aten.copy_.default)
    if type(source) is XlaTensor:
        return record(core, call, (target, source), {})
    cell = target.cell
    if cell.storage is not None or target.shape != source.shape:
        return record(core, call, (target, on_device(source, core)), {})
    core.transfer(source, "to")
    if core.computes:
        if cell.value is None:
            cell.value = torch.empty(target.shape, dtype=target.dtype)
        core.rounded.settle(cell.value.copy_(source))
    core.tape.leave(cell)
    return target


def _asks(core, func, args, kwargs):
    core.compiler.metrics.count(call_of(func).counter)
    values = (ask(core, one.cell) if type(one) is XlaTensor else one for one in args)
    return func(*values, **kwargs)


def _same_cell(core, func, args, kwargs):
    (tensor,) = args[:1]
    return wrap(tensor.cell, tensor.size(), tensor.stride(), tensor.dtype, core.device)


def _set(core, func, args, kwargs):
    if len(args) != 2 or type(args[1]) is not XlaTensor:
        raise refusal("tensors.set")
    return _become(args[0], args[1])


def _resize(core, func, args, kwargs):
    target, shape = args[0], tuple(args[1])
    if tuple(target.shape) == shape:
        return target
    value = None
    if core.computes:
        value = ask(core, target.cell).clone()
        value.resize_(shape)
    return _become(target, wrap(Cell(value), shape, strides_for(shape), target.dtype, core.device))


def _empty(core, func, args, kwargs):
    core.compiler.metrics.tick("xla::empty")
    dtype = kwargs.get("dtype") or torch.get_default_dtype()
    shape = torch.Size(args[0])
    _check_kind(dtype)
    value = torch.empty(shape, dtype=dtype) if core.computes else None
    return wrap(Cell(value), shape, strides_for(shape), dtype, core.device)


def _by_parts(core, func, args, kwargs):
    """Compose it as PyTorch does: its sizes of batches stay on the CPU."""
    return func._op_dk(torch._C.DispatchKey.CompositeExplicitAutograd, *args, **kwargs)


def _diagonal_copy(core, func, args, kwargs):
    return args[0].diagonal(*args[1:], **kwargs).clone()


SPECIAL: dict[Any, Any] = {
    _aten._to_copy.default: _to_copy,
    _aten.copy_.default: _copy,
    _aten._local_scalar_dense.default: _asks,
    _aten.equal.default: _asks,
    _aten.detach.default: _same_cell,
    _aten.alias.default: _same_cell,
    _aten.lift_fresh.default: _same_cell,
    _aten._pack_padded_sequence.default: _by_parts,
    _aten._is_all_true.default: _by_parts,
    _aten.diagonal_copy.default: _diagonal_copy,
    _aten.is_same_size.default: lambda core, func, args, kwargs: args[0].shape == args[1].shape,
    _aten.set_.source_Tensor: _set,
    _aten.set_.source_Storage: _set,
    _aten.set_.source_Storage_storage_offset: _set,
    _aten.resize_.default: _resize,
    _aten.empty.memory_format: _empty,
    _aten.empty_strided.default: _empty,
    _aten._has_compatible_shallow_copy_type.default: (
        lambda core, func, args, kwargs: type(args[0]) is type(args[1])
    ),
}
for _func, _special in SPECIAL.items():
    call_of(_func).special = _special
