"""What ranks exchange, as calls that a tape records like any of aten's.

For ``torch_xla`` and ``torch.distributed``; all take and return tensors on the device:

    all_reduce(kind, tensor, scale=1.0, groups=None)    -> new tensor
    all_reduce(kind, [tensors], scale=1.0, groups=None) -> None, in place, one message
    all_gather(tensor, dim=0, groups=None)              -> new tensor
    all_to_all(tensor, split=0, concat=0, groups=None)  -> new tensor
    collective_permute(tensor, pairs)                   -> new tensor
    reduce_scatter(kind, tensor, scale, dim, groups)    -> new tensor
    broadcast([tensors], root=0, groups=None)           -> None, in place
    reduce_gradients(parameters, groups=None)           -> None, means in place
    rendezvous(tag, payload=b"")                        -> list, one payload per rank
    mesh_reduce(tag, data, reduce_fn)                   -> reduce_fn(list of the ranks' data)

`kind` is "sum", "mean", "max" or "min"; `groups` are lists of ranks, default all in one.

Values come from ``Core.collectives``, None in a world of one.  It has methods of the names of the
operators below, which get CPU tensors and return new ones: ``all_reduce(values, kind, scale,
groups)``, ``all_gather(value, dim, groups)``, ``all_to_all(value, dim, groups)``,
``collective_permute(value, pairs, groups)`` with the pairs' ranks in one list, and
``reduce_scatter(value, kind, scale, dim, groups)`` with `dim` counted from the end,
``broadcast(values, root, groups)``; ``agree(what)``, called in their place where values are off, so
that ranks that do different things are found; ``rendezvous(tag, payload)``.
"""

from collections.abc import Callable, Iterable, Sequence
from functools import partial
from typing import Any, NamedTuple

import torch
from torch.utils._pytree import tree_map

from trainium_edu.specs.arguments import choice
from trainium_edu.torch import core as cores
from trainium_edu.torch.loading import each_tensor
from trainium_edu.torch.operations import ROWS
from trainium_edu.torch.operations.table import record
from trainium_edu.torch.refusals import refusal
from trainium_edu.torch.tensor import dispatch, on_device
from trainium_edu.xla import xm
from trainium_edu.xla.operations.collectives import check_pairs
from trainium_edu.xla.operations.control import item
from trainium_edu.xla.tensor import Tensor

__all__ = ["all_gather", "all_reduce", "all_to_all", "broadcast", "collective_permute",
           "mesh_reduce", "reduce_gradients", "reduce_scatter", "rendezvous"]  # fmt: skip

Groups = tuple[tuple[int, ...], ...] | None
KINDS = ("sum", "mean", "max", "min")

# -- what a script calls ---------------------------------------------------------------------------


def all_reduce(kind: str, tensors, scale: float = 1.0, groups: Sequence | None = None):
    """Reduce over ranks.

    Parameters
    ----------
    kind : {"sum", "mean", "max", "min"}
    tensors : XlaTensor, or list of XlaTensor
        Those of a list travel as one message if they have one dtype, and are written in place.
    scale : float
        Times which the result is taken.
    groups : list of lists of int, optional

    Returns
    -------
    XlaTensor, or None
        The result; of a list, None.
    """
    choice(kind, "kind", KINDS)
    is_one = isinstance(tensors, torch.Tensor)
    buckets: dict[torch.dtype, list] = {}
    for one in [tensors] if is_one else tensors:
        buckets.setdefault(one.dtype, []).append(one)
    for bucket in buckets.values():
        found = _call("all_reduce" if is_one else "all_reduce_", bucket, kind, float(scale),
                      groups=groups)  # fmt: skip
    return found[0] if is_one else None


def all_gather(tensor: torch.Tensor, dim: int = 0, groups: Sequence | None = None) -> torch.Tensor:
    """Return the ranks' tensors, one after the other along a dimension."""
    return _call("all_gather", tensor, _from_end(tensor, dim), groups=groups)


def all_to_all(tensor: torch.Tensor, split: int = 0, concat: int = 0,
               groups: Sequence | None = None) -> torch.Tensor:  # fmt: skip
    """Send part r along a dimension to rank r; return what came, along a dimension."""
    count = _size(groups)
    if count == 1:
        return tensor.clone()
    _check_parts("all_to_all", tensor, split, count)
    split, concat = split % tensor.dim(), concat % tensor.dim()
    with torch.no_grad():
        parts = tensor.unflatten(split, (count, -1)).movedim(split, 0)
        found = _call("all_to_all", parts, -parts.dim(), groups=groups)
        return found.movedim(0, concat).flatten(concat, concat + 1)


def collective_permute(value: torch.Tensor, pairs: Sequence) -> torch.Tensor:
    """Send the tensor of a pair's first rank to its second; zeros where no rank sends to."""
    check_pairs(_size(), pairs)
    if not pairs:
        return torch.zeros_like(value)
    flat = [int(rank) for pair in pairs for rank in pair]
    return _call("collective_permute", value, flat, groups=None)


def _check_parts(name, tensor, dim, count) -> None:
    if tensor.size(dim) % count:
        raise refusal("ranks.parts", ValueError, name=name, shape=list(tensor.shape), dim=dim,
                      length=tensor.size(dim), count=count)  # fmt: skip


def reduce_scatter(kind: str, tensor: torch.Tensor, scale: float = 1.0, dim: int = 0,
                   groups: Sequence | None = None) -> torch.Tensor:  # fmt: skip
    """Return this rank's part, along a dimension, of what an all-reduce gives."""
    choice(kind, "kind", KINDS)
    _check_parts("reduce_scatter", tensor, dim, _size(groups))
    return _call("reduce_scatter", tensor, kind, float(scale), _from_end(tensor, dim),
                 groups=groups)  # fmt: skip


def broadcast(
    tensors: Sequence[torch.Tensor], root: int = 0, groups: Sequence | None = None
) -> None:
    """Copy the tensors of one rank to all, in place.

    On the chip it is a sum to which the others add zeros, as in PyTorch/XLA.
    """
    if _size(groups) == 1:
        return
    core = cores.current()
    mine = torch.tensor(float(core.world.ordinal == root))
    for one in tensors:
        _call("broadcast_", [one], on_device(mine.to(one.dtype), core), root, groups=groups)


def reduce_gradients(parameters: Iterable[torch.Tensor], groups: Sequence | None = None) -> None:
    """Replace gradients by their means over ranks; alone, do nothing.

    They travel in buckets of ``ALLREDUCE_GRADIENTS_BUCKET_SIZE_MB``, the last layer's first.
    """
    gradients = [p.grad for p in parameters if p.grad is not None]
    if _size() > 1:
        for bucket in xm.in_buckets(gradients):
            all_reduce("sum", bucket, 1.0 / _size(), groups)


def rendezvous(tag: str, payload: Any = b"", replicas: Any = None) -> list:
    """Wait for all ranks on the host, and return the payload of each."""
    found = cores.current().collectives
    return [payload] if found is None else found.rendezvous(tag, payload)


def mesh_reduce(tag: str, data: Any, reduce_fn: Callable[[list], Any]) -> Any:
    """Return what a function makes of the list of all ranks' data, tensors moved to the CPU."""
    return reduce_fn(
        rendezvous(tag, each_tensor(data, lambda one: one.detach().to("cpu", copy=True)))
    )


def _size(groups=None) -> int:
    return len(groups[0]) if groups else cores.current().world.size


def _from_end(tensor, dim) -> int:
    return dim if dim < 0 else dim - tensor.dim()


def _call(name, *given, groups):
    """Record an operator, and meet the other ranks even if no value is computed."""
    core, size = cores.current(), _size(groups)
    if size == 1:
        return _alone(name, *given)
    flat = [int(rank) for group in groups or () for rank in group]
    if core.collectives is not None and not core.computes:
        core.collectives.agree(exchanged(name.rstrip("_"), _groups(flat, size), *given))
    with torch.no_grad():
        return dispatch(getattr(torch.ops.trainium, name).default, (*given, flat, size), {})


def _alone(name, tensors, *given):
    """Return what an operator gives, or do what it does, in a group of one."""
    scale = given[1] if "reduce" in name else 1.0
    with torch.no_grad():
        if name.endswith("_"):
            return [one.mul_(scale) for one in tensors if scale != 1.0]
        return tree_map(lambda one: one * scale if scale != 1.0 else one.clone(), tensors)


class Exchanged(NamedTuple):
    """The part of an exchange on which its ranks have to agree."""

    name: str  #: name of the operator
    groups: Groups
    kind: str | int  #: the reduction, or the rank that broadcasts; "" of a move
    tensors: tuple  #: (dtype, shape) of each
    further: tuple  #: arguments


def exchanged(name: str, groups: Groups, tensors, *arguments) -> Exchanged:
    """Return on what ranks have to agree that call an operator."""
    if isinstance(tensors, torch.Tensor):
        tensors = [tensors]
    types = tuple((str(t.dtype).removeprefix("torch."), tuple(t.shape)) for t in tensors)
    if name == "broadcast":
        return Exchanged(name, groups, arguments[-1], types, ())
    if name in ("all_gather", "all_to_all", "collective_permute"):
        return Exchanged(name, groups, "", types, arguments)
    kind, *further = arguments
    return Exchanged(name, groups, kind, types, tuple(further))


def _groups(flat, size) -> Groups:
    return tuple(tuple(flat[i : i + size]) for i in range(0, len(flat), size)) or None


# -- operators: their values, shapes ---------------------------------------------------------------

_SCHEMAS = {
    "all_reduce": "(Tensor[] self, str kind, float scale, int[] groups, int size) -> Tensor[]",
    "all_gather": "(Tensor self, int dim, int[] groups, int size) -> Tensor",
    "all_to_all": "(Tensor self, int dim, int[] groups, int size) -> Tensor",
    "collective_permute": "(Tensor self, int[] pairs, int[] groups, int size) -> Tensor",
    "reduce_scatter": "(Tensor self, str kind, float scale, int dim, int[] groups, int size)"
    " -> Tensor",
    "broadcast": "(Tensor[] self, Tensor mine, int root, int[] groups, int size) -> Tensor[]",
}
_library = torch.library.Library("trainium", "FRAGMENT")


def _value(name: str) -> Callable:
    """Return what computes an operator: the core's collectives, whose results are then rounded."""

    def compute(values, *given):
        *given, groups, size = given
        core = cores.current()
        if core.collectives is None:
            raise refusal("ranks.alone", size=size)
        if name == "broadcast":
            given = given[1:]  # who sends, as a factor: for the graph only
        found = getattr(core.collectives, name)(values, *given, _groups(groups, size))
        settle = core.rounded.settle
        return [settle(one) for one in found] if isinstance(found, list) else settle(found)

    return compute


def _same_shape(value, *rest):
    return tree_map(torch.empty_like, value)


def _in_place(function):
    def written(values, *rest):
        for one, new in zip(values, function(values, *rest), strict=True):
            one.copy_(new)

    return written


_SHAPES = {
    "all_reduce": _same_shape, "all_to_all": _same_shape, "collective_permute": _same_shape,
    "broadcast": _same_shape,
    "all_gather": lambda value, dim, groups, size: torch.cat([value] * size, dim),
    "reduce_scatter": lambda value, *rest: value.chunk(rest[-1], rest[2])[0].clone(),
}  # fmt: skip

for _name, _schema in _SCHEMAS.items():
    _library.define(_name + _schema)
    _library.impl(_name, _value(_name), "CPU")
    _library.impl(_name, _SHAPES[_name], "Meta")
    if _schema.startswith("(Tensor[]"):
        _written = _schema.replace("Tensor[] self", "Tensor(a!)[] self", 1)
        _library.define(f"{_name}_{_written.partition(' ->')[0]} -> ()")
        _library.impl(f"{_name}_", _in_place(_value(_name)), "CPU")
        _library.impl(f"{_name}_", lambda *given: None, "Meta")


# -- rows: the same on ``xla``'s tensors -----------------------------------------------------------


def _row_all_reduce(tensors, kind, scale, groups, size):
    found = record("all_reduce", *tensors, kind=kind, scale=scale, groups=_groups(groups, size))
    if len(tensors) == 1:
        return [found]
    nodes = [item(found.as_node(), i) for i in range(len(tensors))]
    return [Tensor(found.device, node.type, node) for node in nodes]


def _row_moved(name, tensor, dim, groups, size):
    return record(name, tensor, world=size, axis=dim, groups=_groups(groups, size))


def _row_collective_permute(tensor, pairs, groups, size):
    return record("collective_permute", tensor, world=size, groups=None, pairs=_groups(pairs, 2))


def _row_reduce_scatter(tensor, kind, scale, dim, groups, size):
    found = record("reduce_scatter", tensor, kind=kind, world=size, axis=dim,
                   groups=_groups(groups, size))  # fmt: skip
    return found if scale == 1.0 else found * scale


def _row_broadcast(tensors, mine, root, groups, size):
    tensors = [one * mine for one in tensors]
    return _row_all_reduce(tensors, "sum", 1.0, groups, size)


ROWS.update({
    "trainium::all_reduce": _row_all_reduce, "trainium::broadcast": _row_broadcast,
    "trainium::all_gather": partial(_row_moved, "all_gather"),
    "trainium::all_to_all": partial(_row_moved, "all_to_all"),
    "trainium::collective_permute": _row_collective_permute,
    "trainium::reduce_scatter": _row_reduce_scatter,
})  # fmt: skip
