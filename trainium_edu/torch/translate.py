"""From a tape of aten calls to a graph of ``xla``: aliases resolved, writes made functional.

Each call is replayed on lazy tensors of our own by the row that ``operations`` has for it.
Tensors that share storage share a record here; a write through one of them makes a new value of
the whole storage, from which the others are derived again when they are read.
"""

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np
import torch
from torch.utils._pytree import tree_leaves, tree_map

from trainium_edu.torch.operations import INVERSE, ROWS, dtype_of, row_of
from trainium_edu.torch.tape import Fed, Place, Slot
from trainium_edu.xla import graph as graphs
from trainium_edu.xla import numpy as xnp
from trainium_edu.xla.compiler import cut
from trainium_edu.xla.device import Device
from trainium_edu.xla.executor import hollow
from trainium_edu.xla.graph import Graph, Type
from trainium_edu.xla.tensor import Tensor

__all__ = ["Translation", "translate"]


class Translation(NamedTuple):
    """A graph, and where its inputs come from.

    Attributes
    ----------
    graph : Graph
    sources : list
        For each parameter, the slot of the leaf, or the array of a number.
    outputs : list of (int, int)
        (slot, number of the output) of what lives on.
    """

    graph: Graph
    sources: list[int | np.ndarray]
    outputs: list[tuple[int, int]]


class _Storage:
    """The value that tensors share."""

    def __init__(self, value: Tensor):
        self.value, self.version = value, 0


class _Record:
    """One tensor: a storage, and the views that lead from it to here."""

    def __init__(self, storage: _Storage, chain: tuple, value: Tensor):
        self.storage, self.chain, self.value = storage, chain, value
        self.version = storage.version

    def read(self) -> Tensor:
        if self.version != self.storage.version:
            self.value = self.values()[-1]
            self.version = self.storage.version
        return self.value

    def values(self) -> list[Tensor]:
        """Return the storage's value and those of all views on the way here."""
        found = [self.storage.value]
        for name, arguments in self.chain:
            found.append(ROWS[name](found[-1], *arguments))
        return found

    def write(self, new: Tensor) -> None:
        old = self.read()
        if new.shape != old.shape:
            new = xnp.broadcast_to(new, old.shape)
        if new.dtype != old.dtype:
            new = xnp.astype(new, old.dtype)
        self.value = new
        on_the_way = self.values()[:-1] if self.chain else []
        for (name, arguments), before in zip(reversed(self.chain), reversed(on_the_way),
                                             strict=True):  # fmt: skip
            new = INVERSE[name](before, new, *arguments)
        self.storage.value = new
        self.storage.version += 1
        self.version = self.storage.version


def translate(path: Sequence[Place], live: Sequence[tuple[int, int]], fed: Sequence[float],
              device: Device, name: str = "step") -> Translation:  # fmt: skip
    """Return the graph of what lives after a tape.

    Parameters
    ----------
    path : sequence of Place
    live : sequence of (int, int)
        Of ``Tape.live``.
    fed : sequence of float
        The changing numbers, as they were this time.
    device : xla.Device
        Without values; only its recording is used.
    name : str
        Of the graph.

    Raises
    ------
    GraphError
        Where an operation's row refuses, with the script's line.
    """
    device.forget()
    records: dict[int, _Record] = {}
    leaves: dict[int, Tensor] = {}
    for place in path:
        with graphs.recorded_at(place.line, place.scope):
            if place.call is None:
                leaf = _leaf(place, device)
                leaves[place.first] = leaf
                records[place.first] = _Record(_Storage(leaf), (), leaf)
            else:
                _replay(place, records, fed, device)
    roots, replaced, outputs_by_node = [], [], {}
    for slot, leaf_slot in live:
        node = records[slot].read().as_node()
        if node.operation == "parameter" or 0 in node.shape:  # data, or none to compute
            continue
        if node not in outputs_by_node:
            outputs_by_node[node] = len(roots)
            roots.append(node)
            replaced.append(leaves[leaf_slot].as_node() if leaf_slot >= 0 else None)
    graph, inputs = cut(tuple(roots), tuple(replaced), name)
    leaf_slots = {tensor.as_node().of["number"]: slot for slot, tensor in leaves.items()
                  if tensor._leaf}  # fmt: skip
    sources = [leaf_slots.get(feed, device.pending.feeds[feed]) for feed in inputs]
    outputs = [(slot, outputs_by_node[node]) for slot, _ in live
               if (node := records[slot].read().as_node()) in outputs_by_node]  # fmt: skip
    device.forget()
    return Translation(graph, sources, outputs)


def _leaf(place: Place, device: Device) -> Tensor:
    shape, _, dtype = place.metas[0]
    type = Type(tuple(shape), device.narrowed.get(str(dtype)[6:]) or dtype_of(dtype))
    return Tensor(device, type, data=hollow(type), name=place.kwargs["name"])


def _replay(place: Place, records: dict[int, _Record], fed, device: Device) -> None:
    """Repeat one call on lazy tensors."""
    call = place.call

    def filled(argument):
        kind = type(argument)
        if kind is Slot:
            return records[argument.position].read()
        if kind is Fed:
            return fed[argument.position]
        return device if kind is torch.device else argument

    if call.is_view:
        _view(place, records, filled)
        return
    args, kwargs = tree_map(filled, (place.args, place.kwargs))
    results = row_of(call.row)(*args, **kwargs)
    results = list(results) if isinstance(results, tuple | list) else [results]
    slot = place.first
    for meta, value in zip(place.metas, results, strict=False):
        if meta is not None:
            records[slot] = _Record(_Storage(value), (), value)
            slot += 1
    for old, new in zip(_written(place), results[len(place.metas) :], strict=False):
        record = records[slot] = records[old]
        record.write(new)
        slot += 1


def _written(place: Place) -> list[int]:
    """Return the slots of the tensors that a call writes."""
    found = []
    for which in place.call.writes:
        given = place.kwargs.get(which) if isinstance(which, str) else place.args[which]
        found += [tensor.position for tensor in tree_leaves(given) if tensor is not None]
    return found


def _view(place: Place, records, filled) -> None:
    """Make results that share the storage of what they are views of."""
    source, *rest = place.args
    record = records[source.position]
    value, chain = record.read(), record.chain
    arguments = tree_map(filled, [*rest, *_in_order(place, len(place.args))])
    if place.call.name == "aten::as_strided":  # of the storage, whatever view it is asked of
        value, chain = record.storage.value, ()
    for number, (name, given) in enumerate(_steps(place, arguments)):
        made = ROWS[name](value, *given)
        new = _Record(record.storage, (*chain, (name, tuple(given))), made)
        new.version = record.storage.version
        records[place.first + number] = new


def _in_order(place: Place, begin: int):
    """Yield keyword arguments of a view at their places."""
    arguments = place.call.func._schema.arguments
    for argument in arguments[begin:]:
        if argument.name in place.kwargs:
            yield place.kwargs[argument.name]
        elif any(a.name in place.kwargs for a in arguments[begin:]):
            yield argument.default_value


def _steps(place: Place, arguments: list) -> list[tuple[str, list]]:
    """Return a row and its arguments for each result: parts of a list are slices."""
    name, count = place.call.name, len(place.metas)
    if name == "aten::unbind.int":
        axis = arguments[0] if arguments else 0
        return [("aten::select.int", [axis, i]) for i in range(count)]
    if name in ("aten::split.Tensor", "aten::split_with_sizes"):
        axis = arguments[1] if len(arguments) > 1 else 0
        sizes = [meta[0][axis] for meta in place.metas]
        begins = [sum(sizes[:i]) for i in range(count)]
        return [
            ("aten::slice.Tensor", [axis, b, b + n]) for b, n in zip(begins, sizes, strict=True)
        ]
    return [(name, arguments)]
