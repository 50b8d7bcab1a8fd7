"""``nki.collectives``: what ranks do together, its values exact and its time from ``fabric``.

Ranks are started with ``nki.run_ranks``; a kernel started alone is a group of one, where every
collective is a copy.  Sums are added in the order of the algorithm that ``fabric`` would choose for
that size and group, so all ranks agree bit for bit.  Every rank is timed as if all arrived at once.
What tells one collective from another is a row of a table below.
"""

from collections.abc import Callable
from functools import lru_cache
from math import prod
from typing import NamedTuple

import numpy as np

from trainium_edu import fabric
from trainium_edu.neuroncore.engines.operators import operator_name
from trainium_edu.nki.earlier import names_of
from trainium_edu.nki.issuing import NkiInstruction, issue
from trainium_edu.nki.mistakes import describe
from trainium_edu.nki.objects.object import NKIObject
from trainium_edu.nki.objects.tensor import NkiTensor
from trainium_edu.nki.objects.virtual_register import VirtualRegister
from trainium_edu.nki.refusals import misuse, refusal
from trainium_edu.nki.running import Running, chip_here, current, later_chip
from trainium_edu.specs import FABRIC, INSTANCES
from trainium_edu.specs.arguments import flag, instance, whole
from trainium_edu.specs.errors import NkiValidationError

__all__ = [
    "ReplicaGroup", "all_gather", "all_gather_v", "all_gather_v_prepare", "all_gather_v_trigger",
    "all_reduce", "all_to_all", "all_to_all_v", "all_to_all_v_prepare", "all_to_all_v_trigger",
    "collective_permute", "collective_permute_implicit",
    "collective_permute_implicit_current_processing_rank_id",
    "collective_permute_implicit_reduce", "rank_id", "reduce_scatter",
]  # fmt: skip

_REDUCE = {"add": np.add, "minimum": np.minimum, "maximum": np.maximum}


class ReplicaGroup(NKIObject):
    """The groups of ranks that take part together.

    Parameters
    ----------
    replica_groups : list of list of int
        Groups of ranks without overlap; each group is a collective of its own.

    Examples
    --------
    >>> ReplicaGroup([[0, 1], [2, 3]]).replica_groups
    [[0, 1], [2, 3]]
    """

    def __init__(self, replica_groups):
        try:
            groups = [[whole(rank, "a rank") for rank in group] for group in replica_groups]
        except TypeError:
            raise misuse("collectives.group_of_lists", replica_groups=replica_groups) from None
        everyone = [rank for group in groups for rank in group]
        is_partition = groups and all(groups) and len(set(everyone)) == len(everyone)
        if not is_partition or min(everyone) < 0:
            raise refusal("collectives.group_repeats", replica_groups=replica_groups)
        self.replica_groups = groups

    def __repr__(self):
        return f"ReplicaGroup({self.replica_groups})"

    def of(self, running) -> list[int]:
        """Return the group that the running rank belongs to."""
        if not isinstance(running, Running):
            raise TypeError(f"running is {describe(running)}; it must be the calling rank")
        for group in self.replica_groups:
            if running.rank in group:
                outside = [rank for rank in group if rank >= running.ranks]
                if outside:
                    raise NkiValidationError(
                        f"{self!r} has rank {outside[0]}, but {running.ranks} ranks run here; "
                        "start more with nki.run_ranks, one entry of arguments for each"
                    )
                return group
        raise NkiValidationError(f"rank {running.rank} belongs to no group of {self!r}")


# -- what each rank gets ----------------------------------------------------------------------


class _Request(NamedTuple):
    """One collective, as it was called."""

    name: str
    group: list[int]
    op: str | None = None
    axis: int = 0
    pairs: tuple = ()  #: of a permutation: (source, target), counted in the group's order


class _Row(NamedTuple):
    """The properties that distinguish one collective from another."""

    shape: Callable  #: (shape of a src, ranks, axis) -> shape of its dst
    combine: Callable  #: (what each rank brings, request, algorithm) -> what each gets, or None
    counted: str = "srcs"  #: whose bytes its time depends on
    #: (arrays of the srcs, request) -> what is sent
    brings: Callable = lambda arrays, _request: arrays
    axes: tuple[int, ...] = ()  #: what ``collective_dim`` may be in SBUF
    on_chip: bool = True
    divides: bool = False  #: the first axis divides among the ranks
    single: bool = False  #: one tensor at a time


def _same(shape, _ranks, _axis):
    return shape


def _part(shape, ranks, _axis):
    return [shape[0] // ranks, *shape[1:]]


def _together(shape, ranks, axis):
    return [size * ranks if at == axis else size for at, size in enumerate(shape)]


def _reduced(inputs, request, algorithm):
    """Return the element-wise reduction of all inputs, whole or in parts."""
    op = request.op
    wide = inputs[0].dtype.itemsize == 1 and inputs[0].dtype.kind not in "iu"
    if op == "add" and len(inputs) > 1 and not wide:
        schedule = fabric.plan(_topology(len(inputs)), request.name, algorithm)
        return fabric.execute(schedule, [values.reshape(-1) for values in inputs])
    total = inputs[0]
    for other in inputs[1:]:  # in the group's order
        if op == "add":
            total = (total.astype(np.float32) + other.astype(np.float32)).astype(total.dtype)
        else:
            total = _REDUCE[op](total, other).astype(total.dtype)
    if request.name == "reduce_scatter":
        return [part.copy() for part in np.split(total.reshape(-1), len(inputs))]
    return [total.copy() for _ in inputs]


def _gathered(inputs, request, _algorithm):
    return [np.concatenate(inputs, axis=request.axis)] * len(inputs)


def _exchanged(inputs, _request, _algorithm):
    parts = [np.split(values, len(inputs), axis=0) for values in inputs]
    return [np.concatenate([part[k] for part in parts]) for k in range(len(inputs))]


def _sent(inputs, request, _algorithm):
    source_of = {target: source for source, target in request.pairs}
    return [inputs[source_of[k]] if k in source_of else None for k in range(len(inputs))]


def _dealt(inputs, _request, _algorithm):
    """Return, for each rank, the chunks that all ranks have for it."""
    return [[chunks[k] for chunks in inputs] for k in range(len(inputs))]


def _reduced_before(arrays, request):
    """Return the reduction of one rank's own two arrays."""
    one, two = arrays
    wide = one.dtype if one.dtype.kind in "iu" else np.float32  # integers exactly
    total = _REDUCE[request.op](one.astype(wide), two.reshape(one.shape).astype(wide))
    return [total.astype(one.dtype)]


_ROWS = {
    "all_reduce": _Row(_same, _reduced),
    "reduce_scatter": _Row(_part, _reduced, axes=(0,), divides=True),
    "all_gather": _Row(_together, _gathered, "dsts", axes=(0, 1)),
    "all_to_all": _Row(_same, _exchanged, axes=(0,), on_chip=False, divides=True),
    "collective_permute": _Row(_same, _sent, on_chip=False, single=True),
    "collective_permute_implicit": _Row(_same, _sent, single=True),
    "collective_permute_implicit_reduce": _Row(_same, _sent, "dsts", _reduced_before, single=True),
    "all_to_all_v": _Row(_same, _dealt, "dsts", on_chip=False, single=True),
    "all_gather_v": _Row(_same, _dealt, "dsts", on_chip=False, single=True),
}


# -- who takes part, and what each brings -----------------------------------------------------


def _group(name, replica_group) -> list[int]:
    """Return the group of the running rank."""
    if not isinstance(replica_group, ReplicaGroup):
        raise misuse("collectives.replica_group", name=name, given=replica_group)
    return replica_group.of(current())


def _check_lists(name, srcs, dsts, priority):
    row = _ROWS[name]
    if priority is not None:
        raise later_chip(f"{name} with priority", "NeuronCore-v4 (Trainium3)")
    for role, tensors in (("srcs", srcs), ("dsts", dsts)):
        if not isinstance(tensors, list | tuple) or not tensors:
            raise misuse("collectives.no_list", name=name, role=role, given=tensors)
        for tensor in tensors:
            if not isinstance(tensor, NkiTensor):
                kind = type(tensor).__name__
                raise misuse("collectives.no_tensor", name=name, role=role, kind=kind)
    count, is_in_sbuf = len(srcs), srcs[0]._on_chip
    if count != len(dsts):
        raise refusal("collectives.unpaired", name=name, srcs=count, dsts=len(dsts))
    if any(tensor._on_chip is not is_in_sbuf for tensor in (*srcs, *dsts)):
        raise refusal("collectives.two_memories", name=name)
    if is_in_sbuf and not row.on_chip:
        raise refusal("collectives.in_sbuf", name=name)
    if count > 1 and (row.single or is_in_sbuf):
        raise refusal("collectives.coalesced", name=name, count=count)
    for src, dst in zip(srcs, dsts, strict=True):
        if src.dtype != dst.dtype:
            raise refusal("collectives.casts", name=name, src=src.dtype, dst=dst.dtype)
        for tensor in (src, dst) if is_in_sbuf else ():
            if len(tensor.shape) != 2:
                raise refusal("collectives.dimensions", name=name, shape=list(tensor.shape))


def _check_results(name, srcs, dsts, ranks=1, axis=0):
    """Raise unless each dst has the size of its result, and a tile exactly its shape."""
    for src, dst in zip(srcs, dsts, strict=True):
        shape, have = _ROWS[name].shape(list(src.shape), ranks, axis), list(dst.shape)
        if prod(have) != prod(shape) or (dst._on_chip and have != shape):
            raise refusal("collectives.size", name=name, count=prod(shape), shape=shape, have=have,
                          holds=prod(have))  # fmt: skip


def _check_dim(name, dim, tensors):
    is_in_sbuf = tensors[0]._on_chip
    allowed, where = (_ROWS[name].axes, "SBUF") if is_in_sbuf else ((0,), "HBM")
    if isinstance(dim, bool) or dim not in allowed:
        known = " or ".join(map(str, allowed))
        raise refusal("collectives.dim", name=name, dim=dim, where=where, known=known)


def _check_split(name, srcs, ranks):
    for src in srcs:
        if src.shape[0] % ranks:
            raise refusal("collectives.split", name=name, shape=list(src.shape), ranks=ranks)


def _op(name, op):
    operator = operator_name(op)
    if operator not in _REDUCE:
        raise refusal("collectives.op", name=name, op=operator or repr(op))
    return operator


def _kind(array) -> str:
    return f"{array.dtype}{list(array.shape)}"


def _meet(name, running, group, value):
    """Return what every rank of the group brought, in the group's order, and one dict for all."""
    cores = prod(running.grid)
    place = running.index - running.rank * cores
    members = [rank * cores + place for rank in group]
    met = running.meet((name, tuple(group), place), (value, {}), members)
    brought = [met[member][0] for member in members]
    return brought, met[members[0]][1]


def _record(request, srcs, dsts, nbytes, label):
    """Record the instruction; return its handle and the algorithm that it is timed by."""
    name, ranks = request.name.removesuffix("_v"), len(request.group)
    targets = None
    if name.startswith("collective_permute"):
        name, targets = "permute", _targets(request.pairs, ranks)
    algorithm, duration_ns = _time(name, ranks, int(nbytes), targets)
    handle = issue(
        request.name, name=label, srcs=list(srcs), dsts=list(dsts), duration_ns=duration_ns,
        op=request.op, ranks=ranks, algorithm=algorithm,
    )  # fmt: skip
    return handle, algorithm


def _targets(pairs, ranks) -> tuple[int, ...]:
    """Return whom each rank sends to; where not everybody sends, the time is a full shift's."""
    targets = list(range(ranks))
    for source, target in pairs:
        targets[source] = target
    if sorted(targets) != list(range(ranks)):
        targets = [*range(1, ranks), 0]
    return tuple(targets)


def _carry_out(request, srcs, dsts, label):
    """Record a collective, meet the other ranks, and write this rank's part of the result."""
    running, row, name, group = current(), _ROWS[request.name], request.name, request.group
    counted = dsts if row.counted == "dsts" else srcs
    nbytes = sum(tensor._view.nbytes for tensor in counted)
    handle, algorithm = _record(request, srcs, dsts, nbytes, label)
    local = None
    if running.core.values:
        local = row.brings([np.array(src._view.read()) for src in srcs], request)
    brought, shared = _meet(name, running, group, local)
    if local is None:
        return handle
    for rank, theirs in zip(group, brought, strict=True):
        for own, other in zip(local, theirs, strict=False):
            if len(local) != len(theirs) or (own.shape, own.dtype) != (other.shape, other.dtype):
                raise refusal("collectives.unlike", name=name, rank=running.rank, peer=rank,
                              own=_kind(own), other=_kind(other))  # fmt: skip
    if "results" not in shared:
        shared["results"] = [
            row.combine(inputs, request, algorithm) for inputs in zip(*brought, strict=True)
        ]
    at = group.index(running.rank)
    for dst, results in zip(dsts, shared["results"], strict=True):
        if results[at] is not None:  # a rank that receives nothing keeps what it has
            dst._view.write_bits(results[at].reshape(dst._view.shape))
    return handle


@lru_cache(maxsize=256)
def _time(collective, ranks, nbytes, targets):
    """Return (algorithm, ns) of a collective in a group on a trn1.32xlarge; alone it is a copy."""
    if ranks == 1:
        return "", 0.0
    topology = _topology(ranks)
    options = {"target": list(targets)} if targets else {}
    name = "mesh" if targets else fabric.choose(topology, collective, nbytes)
    schedule = fabric.plan(topology, collective, name, **options)
    return name, float(fabric.account(schedule, topology, nbytes).total_ns)


def _topology(ranks):
    """Return where a group of that many ranks stands: part of a trn1.32xlarge, or a ring."""
    try:
        return fabric.group(ranks)
    except fabric.FabricError:
        return fabric.ring(ranks)


# -- the collectives --------------------------------------------------------------------------


def _collective(name, srcs, dsts, replica_group, priority, label, *, axis=0, op=None):
    """Check what a collective of a whole group is given, and carry it out."""
    row = _ROWS[name]
    _check_lists(name, srcs, dsts, priority)
    if row.axes:
        _check_dim(name, axis, srcs)
    if row.combine is _reduced:
        op = _op(name, op)
    group = _group(name, replica_group)
    if row.divides:
        _check_split(name, srcs, len(group))
    _check_results(name, srcs, dsts, len(group), axis)
    return _carry_out(_Request(name, group, op, axis), srcs, dsts, label)


def all_reduce(srcs, dsts, replica_group, op, priority=None, name=None):
    """Reduce over the ranks of a group and give every rank the result.

    Parameters
    ----------
    srcs, dsts : lists of NkiTensor, as many of each
        Both in HBM or both in SBUF (then one 2-D tile), alike on all ranks.
        A dst holds as much as its src.
    replica_group : ReplicaGroup
    op : nl.add, nl.minimum or nl.maximum
    priority
        Of later chips.
    name : str, optional
        A label for the timeline.
    """
    return _collective("all_reduce", srcs, dsts, replica_group, priority, name, op=op)


def reduce_scatter(srcs, dsts, replica_group, collective_dim, op, priority=None, name=None):
    """Reduce over the ranks of a group and give each rank its part along `collective_dim`.

    Parameters
    ----------
    srcs, dsts, replica_group, op, priority, name
        As of :func:`all_reduce`; a dst holds one part of n, for n ranks of the group.
    collective_dim : 0
    """
    return _collective("reduce_scatter", srcs, dsts, replica_group, priority, name,
                       axis=collective_dim, op=op)  # fmt: skip


def all_gather(srcs, dsts, replica_group, collective_dim, priority=None, name=None):
    """Join the tensors of all ranks of a group along `collective_dim`, for every rank.

    Parameters
    ----------
    srcs, dsts, replica_group, priority, name
        As of :func:`all_reduce`; a dst holds n times as much, for n ranks of the group.
    collective_dim : int
        0; in SBUF also 1.
    """
    return _collective("all_gather", srcs, dsts, replica_group, priority, name, axis=collective_dim)


def all_to_all(srcs, dsts, replica_group, collective_dim, priority=None, name=None):
    """Send part k of each rank's tensor to rank k of the group.

    Parameters
    ----------
    srcs, dsts, replica_group, priority, name
        As of :func:`all_reduce`, in HBM only; the first axis divides among the ranks.
    collective_dim : 0
    """
    return _collective("all_to_all", srcs, dsts, replica_group, priority, name, axis=collective_dim)


def collective_permute(srcs, dsts, source_target_pairs, priority=None, name=None):
    """Send a tensor from rank to rank, as (source, target) pairs say; others keep theirs.

    Parameters
    ----------
    srcs, dsts : lists of one NkiTensor in HBM
        Of one size; who receives nothing keeps its dst.
    source_target_pairs : list of (int, int)
        Each rank at most once on each side.
    priority, name
        As of :func:`all_reduce`.
    """
    _check_lists("collective_permute", srcs, dsts, priority)
    _check_results("collective_permute", srcs, dsts)
    kind, count = "collective_permute", current().ranks
    try:
        pairs = [tuple(whole(rank, "a rank") for rank in pair) for pair in source_target_pairs]
        sources, targets = zip(*pairs, strict=True) if pairs else ((), ())
    except (TypeError, ValueError):
        raise misuse("collectives.no_pairs", given=source_target_pairs) from None
    for side, ranks in (("source", sources), ("target", targets)):
        if len(set(ranks)) < len(ranks) or not all(0 <= rank < count for rank in ranks):
            raise refusal("collectives.pairs", side=side, ranks=list(ranks), count=count)
    request = _Request(kind, list(range(count)), pairs=tuple(pairs))
    return _carry_out(request, srcs, dsts, name)


def _most_channels(group) -> int:
    """Return 4 for a group with ranks on all devices of a trn1.32xlarge, else 2."""
    devices = {rank // FABRIC.ranks_per_chip.value for rank in group}
    return 4 if len(devices) >= INSTANCES["trn1.32xlarge"].chips.value else 2


def _channels(name, channel_ids, group, *lists):
    if not isinstance(channel_ids, list | tuple):
        raise misuse("collectives.no_channels", name=name, given=channel_ids)
    channels, most = list(channel_ids), _most_channels(group)
    if channels != list(range(len(channels))) or not 1 <= len(channels) <= most:
        raise refusal("collectives.channels", name=name, channels=channels, most=most)
    for tensors in lists:
        is_list = isinstance(tensors, list | tuple)
        if not is_list or not all(isinstance(inner, list | tuple) for inner in tensors):
            raise misuse("collectives.no_nested_list", name=name, given=tensors)
        if [len(inner) for inner in tensors] != [1] * len(channels):
            raise refusal("collectives.list_per_channel", name=name, count=len(channels))


def _shift(kind, sources, dsts_by_channel, replica_group, channel_ids, priority, label, op=None):
    """Send once around the ring of a group, in each channel; `sources`: lists by channel."""
    group = _group(kind, replica_group)
    _channels(kind, channel_ids, group, *sources, dsts_by_channel)
    if _ROWS[kind].brings is _reduced_before:
        op = _op(kind, op)
    pairs = tuple((k, (k + 1) % len(group)) for k in range(len(group)))
    for *lists, dsts in zip(*sources, dsts_by_channel, strict=True):
        for srcs in lists:
            _check_lists(kind, srcs, dsts, priority)
            _check_results(kind, srcs, dsts)
        _carry_out(_Request(kind, group, op, pairs=pairs), [s for (s,) in lists], dsts, label)


def collective_permute_implicit(srcs_by_channel, dsts_by_channel, replica_group, channel_ids=(0,),
                                priority=None, name=None):  # fmt: skip
    """Send to the successor in the group's ring and receive from the predecessor."""
    _shift("collective_permute_implicit", [srcs_by_channel], dsts_by_channel, replica_group,
           channel_ids, priority, name)  # fmt: skip


def collective_permute_implicit_reduce(srcs0_by_channel, srcs1_by_channel, dsts_by_channel,
                                       replica_group, op, channel_ids=(0,), priority=None,
                                       name=None):  # fmt: skip
    """Reduce two local tensors, send the result to the successor, receive the predecessor's."""
    _shift("collective_permute_implicit_reduce", [srcs0_by_channel, srcs1_by_channel],
           dsts_by_channel, replica_group, channel_ids, priority, name, op)  # fmt: skip


def collective_permute_implicit_current_processing_rank_id(iteration_id, replica_group,
                                                           channel_id=0, name=None):  # fmt: skip
    """Return the rank whose data is being processed in this turn of the ring, in a register."""
    kind = "collective_permute_implicit_current_processing_rank_id"
    group = _group(kind, replica_group)
    most = _most_channels(group)
    turn, channel = whole(iteration_id, "iteration_id"), whole(channel_id, "channel_id")
    if turn < 0 or not 0 <= channel < most:
        last = most - 1
        raise refusal("collectives.turn", name=kind, turn=turn, channel=channel, last=last)
    at = group.index(current().rank)
    return VirtualRegister(group[(at - turn) % len(group)])


def rank_id(name=None):
    """Return the rank that runs this kernel, in a register."""
    return VirtualRegister(current().rank)


def all_to_all_v(srcs, dsts, replica_group, metadata_tensor, recv_counts_known=False,
                 has_rdispls=False, priority=None, name=None):  # fmt: skip
    """Send each rank of the group a chunk of its own length.

    The rows of `metadata_tensor`, a number per rank each: how many elements to send, from which on,
    and (written, unless `recv_counts_known`) how many came.
    On Trainium the reference supports groups of same-indexed ranks of different instances only; a
    group here may represent one, and is timed as if it were in one instance.
    """
    return _by_length(_asked("all_to_all_v", **locals()), name)


def all_to_all_v_prepare(srcs, dsts, replica_group, metadata_tensor, recv_counts_known=False,
                         has_rdispls=False, priority=None, name=None):  # fmt: skip
    """Begin an :func:`all_to_all_v`: read its metadata, which may be before `srcs` are filled.

    One trigger follows, with no other prepare in between.  Reading is timed as a register's load;
    what it takes was not published, nor how much of the collective it hides.
    """
    return _prepare(_asked("all_to_all_v", **locals()), name)


def all_to_all_v_trigger(prepare_instr, name=None):
    """Complete the collective that :func:`all_to_all_v_prepare` began."""
    return _trigger("all_to_all_v", prepare_instr, name)


class _Prepared(NkiInstruction):
    __slots__ = ("asked",)


def _asked(kind, srcs, dsts, replica_group, metadata_tensor, recv_counts_known, has_rdispls,
           priority, name):  # fmt: skip
    """Check the arguments of a collective of variable lengths; return them with its numbers."""
    if kind == "all_gather_v" and "pairs_of_cores" not in chip_here().features.value:
        raise later_chip("all_gather_v", "NeuronCore-v3 (Trainium2), where LNC is 2")
    _check_lists(kind, srcs, dsts, priority)
    for role, value in (("recv_counts_known", recv_counts_known), ("has_rdispls", has_rdispls)):
        flag(value, f"{kind}: {role}")
    if has_rdispls:
        raise later_chip(f"{kind} with has_rdispls", "instances of NeuronCore-v4 (Trainium3)")
    group, table = _group(kind, replica_group), None
    if kind == "all_gather_v" and len(group) != 4:
        raise refusal("collectives.four", group=replica_group)
    _check_metadata(kind, metadata_tensor, dsts[0], len(group))
    if current().core.values:
        table = metadata_tensor._view.read().reshape(3, len(group)).astype(np.int64)
    return kind, srcs[0], dsts[0], group, metadata_tensor, recv_counts_known, table


def _prepare(asked, name):
    kind, state, metadata = asked[0], current().core.state, asked[4]
    if "prepared" in state:
        raise refusal("collectives.prepared", name=kind)
    handle = issue("register_load", src=metadata[(slice(0, 1),) * metadata.ndim], name=name)
    state["prepared"] = prepared = _Prepared(handle._instruction, handle._loops)
    prepared.asked = asked
    return prepared


def _trigger(kind, prepared, name):
    instance(prepared, f"{kind}_trigger: prepare_instr", _Prepared, f"of {kind}_prepare")
    if current().core.state.pop("prepared", None) is not prepared or prepared.asked[0] != kind:
        raise refusal("collectives.unprepared", name=kind)
    return _by_length(prepared.asked, name)


def _by_length(asked, name):
    """Deal chunks, each of its own length, to the ranks of a group; or one chunk to all."""
    kind, src, dst, group, metadata_tensor, recv_counts_known, table = asked
    running, ranks = current(), len(group)
    written = [dst] if recv_counts_known else [dst, metadata_tensor]
    handle, _ = _record(
        _Request(kind, group), [src, metadata_tensor], written, dst._view.nbytes, name
    )
    if table is None:
        _meet(kind, running, group, None)
        return handle
    flat = src._view.read().reshape(-1)
    chunks = []
    for count, start in table[:2, [0] * ranks if kind == "all_gather_v" else range(ranks)].T:
        if start + count > flat.size:
            raise refusal("collectives.chunk", count=count, start=start, size=flat.size)
        chunks.append(np.array(flat[start : start + count]))
    brought, _ = _meet(kind, running, group, chunks)
    received = _ROWS[kind].combine(brought, None, "")[group.index(running.rank)]
    out = np.array(dst._view.read()).reshape(-1)
    slot = out.size // ranks
    for k, chunk in enumerate(received):
        if chunk.size > slot:
            raise refusal("collectives.slot", rank=group[k], size=chunk.size, slot=slot)
        out[k * slot : k * slot + chunk.size] = chunk
        table[2, k] = chunk.size
    dst._view.write_bits(out.reshape(dst._view.shape))
    if not recv_counts_known:
        metadata_tensor._view.write_bits(
            table.astype(np.uint32).reshape(metadata_tensor._view.shape)
        )
    return handle


def _check_metadata(kind, metadata, dst, ranks):
    """Raise unless the metadata are rows of counts, places and received counts, one per rank."""
    if not isinstance(metadata, NkiTensor):
        raise misuse("collectives.metadata", name=kind, kind=type(metadata).__name__)
    shape = (1, 3, ranks) if metadata._on_chip else (3, ranks)
    if metadata.dtype != "uint32" or tuple(metadata.shape) != shape:
        raise refusal("collectives.metadata_rows", name=kind, metadata=metadata, ranks=ranks,
                      shape=shape)  # fmt: skip
    if dst.size % ranks:
        raise refusal("collectives.slots", name=kind, size=dst.size, ranks=ranks)


def all_gather_v(srcs, dsts, replica_group, metadata_tensor, recv_counts_known=False,
                 has_rdispls=False, priority=None, name=None):  # fmt: skip
    """Collect every rank's chunk, of its own length, on all ranks (from Trainium2 on).

    Metadata are those of :func:`all_to_all_v`; of what to send the first column counts.  The
    reference has groups of four ranks, each of two cores that are one.
    """
    return _by_length(_asked("all_gather_v", **locals()), name)


def all_gather_v_prepare(srcs, dsts, replica_group, metadata_tensor, recv_counts_known=False,
                         has_rdispls=False, priority=None, name=None):  # fmt: skip
    """Begin an :func:`all_gather_v`, as :func:`all_to_all_v_prepare` does."""
    return _prepare(_asked("all_gather_v", **locals()), name)


def all_gather_v_trigger(prepare_instr, name=None):
    """Complete the collective that :func:`all_gather_v_prepare` began."""
    return _trigger("all_gather_v", prepare_instr, name)


__getattr__ = names_of(__name__, "nki.collectives")
