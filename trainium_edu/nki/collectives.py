"""``nki.collectives``: what ranks do together, its values exact and its time from ``fabric``.

Ranks are started with ``nki.run_ranks``; a kernel started alone is a group of one, where every
collective is a copy.  Sums are added in the order of the algorithm that ``fabric`` would choose for
that size and group, so all ranks agree bit for bit.  Every rank is timed as if all arrived at once.
"""

from functools import lru_cache
from math import prod

import numpy as np

from trainium_edu.neuroncore.engines.operators import operator_name
from trainium_edu.nki.issuing import issue
from trainium_edu.nki.mistakes import describe
from trainium_edu.nki.objects.object import NKIObject
from trainium_edu.nki.objects.tensor import NkiTensor
from trainium_edu.nki.objects.virtual_register import VirtualRegister
from trainium_edu.nki.running import Running, current, later_chip
from trainium_edu.specs import FABRIC, INSTANCES
from trainium_edu.specs.errors import NkiValidationError

__all__ = [
    "ReplicaGroup", "all_gather", "all_gather_v", "all_reduce", "all_to_all", "all_to_all_v",
    "collective_permute", "collective_permute_implicit",
    "collective_permute_implicit_current_processing_rank_id",
    "collective_permute_implicit_reduce", "rank_id", "reduce_scatter",
]  # fmt: skip

_REDUCE = {"add": np.add, "minimum": np.minimum, "maximum": np.maximum}


class ReplicaGroup(NKIObject):
    """Which ranks take part together.

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
            groups = [[_whole(rank) for rank in group] for group in replica_groups]
        except TypeError:
            raise TypeError(
                f"ReplicaGroup({replica_groups!r}): it takes lists of ranks, such as [[0, 1]]"
            ) from None
        everyone = [rank for group in groups for rank in group]
        is_partition = groups and all(groups) and len(set(everyone)) == len(everyone)
        if not is_partition or min(everyone) < 0:
            raise NkiValidationError(
                f"ReplicaGroup({replica_groups!r}): groups name each rank once, from 0 on"
            )
        self.replica_groups = groups

    def __repr__(self):
        return f"ReplicaGroup({self.replica_groups})"

    def of(self, running) -> list[int]:
        """Return the group that the running rank belongs to."""
        if not isinstance(running, Running):
            raise TypeError(f"running is {describe(running)}; it is the rank that asks")
        for group in self.replica_groups:
            if running.rank in group:
                outside = [rank for rank in group if rank >= running.ranks]
                if outside:
                    raise NkiValidationError(
                        f"{self!r} has rank {outside[0]}, and {running.ranks} ranks run here; "
                        "start more with nki.run_ranks, one entry of arguments for each"
                    )
                return group
        raise NkiValidationError(f"rank {running.rank} belongs to no group of {self!r}")


# -- who takes part, and what each brings -----------------------------------------------------


def _whole(value) -> int:
    """Return a whole number as an int; anything else, truth too, raises TypeError."""
    if isinstance(value, bool) or not hasattr(value, "__index__"):
        raise TypeError(f"{value!r} is no whole number")
    return value.__index__()


def _group(name, replica_group) -> list[int]:
    """Return the group of the running rank."""
    if not isinstance(replica_group, ReplicaGroup):
        raise TypeError(
            f"{name}: replica_group is {replica_group!r:.60}; it is a ReplicaGroup, such as "
            "ReplicaGroup([[0, 1]])"
        )
    return replica_group.of(current())


def _check_lists(name, srcs, dsts, priority, *, on_chip=True, single=False):
    if priority is not None:
        raise later_chip(f"{name} with priority", "NeuronCore-v4 (Trainium3)")
    for role, tensors in (("srcs", srcs), ("dsts", dsts)):
        if not isinstance(tensors, list | tuple) or not tensors:
            raise TypeError(f"{name}: {role} is {tensors!r}; it is a list of tensors")
        for tensor in tensors:
            if not isinstance(tensor, NkiTensor):
                raise TypeError(
                    f"{name}: {role} holds a {type(tensor).__name__}; it is a list of tensors"
                )
    if len(srcs) != len(dsts):
        raise NkiValidationError(f"{name}: {len(srcs)} srcs and {len(dsts)} dsts; each has its own")
    places = {tensor._on_chip for tensor in (*srcs, *dsts)}
    if len(places) > 1:
        raise NkiValidationError(f"{name}: some tensors are in HBM and some in SBUF; use one kind")
    if True in places and not on_chip:
        raise NkiValidationError(f"{name}: tensors are in SBUF; this collective works on HBM")
    if len(srcs) > 1 and (single or True in places):
        raise NkiValidationError(
            f"{name}: {len(srcs)} tensors at once; only HBM tensors are coalesced, and not in "
            "permutations or variable lengths: call it once for each"
        )
    for src, dst in zip(srcs, dsts, strict=True):
        if src.dtype != dst.dtype:
            raise NkiValidationError(
                f"{name}: src is {src.dtype} and dst {dst.dtype}; data keeps its dtype on the way"
            )
        for tensor in (src, dst) if src._on_chip else ():
            if len(tensor.shape) != 2:
                raise NkiValidationError(
                    f"{name}: {list(tensor.shape)} is in SBUF, where collectives take 2-D tensors "
                    "with a single free dimension; reshape it"
                )


def _check_results(name, srcs, dsts, shape_of):
    """Raise unless each dst holds what its src becomes, and a tile has its very shape."""
    for src, dst in zip(srcs, dsts, strict=True):
        shape = shape_of(list(src.shape))
        if dst._view.size != prod(shape) or (dst._on_chip and list(dst.shape) != shape):
            raise NkiValidationError(
                f"{name}: each rank gets {prod(shape)} elements, {shape}, and dst "
                f"{list(dst.shape)} holds {dst._view.size}"
            )


def _check_dim(name, collective_dim, tensors, allowed_on_chip):
    allowed = allowed_on_chip if tensors[0]._on_chip else (0,)
    if isinstance(collective_dim, bool) or collective_dim not in allowed:
        where = "SBUF" if tensors[0]._on_chip else "HBM"
        raise NkiValidationError(
            f"{name}: collective_dim={collective_dim!r}; for tensors in {where} it is "
            f"{' or '.join(map(str, allowed))}"
        )


def _op(name, op):
    found = operator_name(op)
    if found not in _REDUCE:
        raise NkiValidationError(
            f"{name}: op is {found or repr(op)}; it is nl.add, nl.minimum or nl.maximum"
        )
    return found


def _meet(name, running, group, value):
    """Return what every rank of the group brought, in the group's order, and one dict for all."""
    cores = prod(running.grid)
    place = running.index - running.rank * cores
    members = [rank * cores + place for rank in group]
    met = running.meet((name, tuple(group), place), (value, {}), members)
    brought = [met[member][0] for member in members]
    return brought, met[members[0]][1]


def _collect(name, srcs, dsts, group, compute, nbytes, *, targets=None, op=None, label=None):
    """Record the instruction, meet the other ranks, and write this rank's part of the result.

    ``compute(inputs)`` gets one array per rank of the group and returns one result per rank.
    """
    running = current()
    kind = "permute" if name.startswith("collective_permute") else name
    algorithm, duration_ns = _time(kind, len(group), int(nbytes), targets)
    handle = issue(
        name, name=label, srcs=list(srcs), dsts=list(dsts), duration_ns=duration_ns, op=op,
        ranks=len(group), algorithm=algorithm,
    )  # fmt: skip
    mine = [np.array(src._view.read()) for src in srcs] if running.core.values else None
    brought, shared = _meet(name, running, group, mine)
    if not running.core.values:
        return handle
    for rank, theirs in zip(group, brought, strict=True):
        for own, other in zip(mine, theirs, strict=False):
            if len(mine) != len(theirs) or (own.shape, own.dtype) != (other.shape, other.dtype):
                raise NkiValidationError(
                    f"{name}: rank {running.rank} brings {own.dtype}{list(own.shape)} and rank "
                    f"{rank} {other.dtype}{list(other.shape)}; all ranks bring the same"
                )
    if "results" not in shared:
        shared["results"] = [
            compute([each[k] for each in brought], algorithm) for k in range(len(srcs))
        ]
    at = group.index(running.rank)
    for dst, results in zip(dsts, shared["results"], strict=True):
        if results[at] is None:  # a rank that receives nothing keeps what it has
            continue
        dst._view.write_bits(results[at].reshape(dst._view.shape))
    return handle


@lru_cache(maxsize=256)
def _time(collective, ranks, nbytes, targets):
    """Return (algorithm, ns) of a collective in a group on a trn1.32xlarge; alone it is a copy."""
    if ranks == 1:
        return "", 0.0
    from trainium_edu import fabric

    topology = _topology(ranks)
    options = {"target": list(targets)} if targets else {}
    name = "mesh" if targets else fabric.choose(topology, collective, nbytes)
    schedule = fabric.plan(topology, collective, name, **options)
    return name, float(fabric.account(schedule, topology, nbytes).total_ns)


def _topology(ranks):
    """Return where a group of that many ranks stands: part of a trn1.32xlarge, or a ring."""
    from trainium_edu import fabric

    try:
        return fabric.group(ranks)
    except fabric.FabricError:
        return fabric.ring(ranks)


def _combine(op, inputs, collective, algorithm):
    """Return the element-wise reduction of all inputs, one array per rank."""
    wide = inputs[0].dtype.itemsize == 1 and inputs[0].dtype.kind not in "iu"
    if op != "add" or len(inputs) == 1 or wide:
        total = inputs[0]
        for other in inputs[1:]:  # in the group's order
            if op == "add":
                total = (total.astype(np.float32) + other.astype(np.float32)).astype(total.dtype)
            else:
                total = _REDUCE[op](total, other).astype(total.dtype)
        if collective == "reduce_scatter":
            return [part.copy() for part in np.split(total.reshape(-1), len(inputs))]
        return [total.copy() for _ in inputs]
    from trainium_edu import fabric

    schedule = fabric.plan(_topology(len(inputs)), collective, algorithm)
    return fabric.execute(schedule, [values.reshape(-1) for values in inputs])


# -- the collectives --------------------------------------------------------------------------


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
    _check_lists("all_reduce", srcs, dsts, priority)
    op = _op("all_reduce", op)
    group = _group("all_reduce", replica_group)
    _check_results("all_reduce", srcs, dsts, list)
    return _collect(
        "all_reduce", srcs, dsts, group,
        lambda inputs, algorithm: _combine(op, inputs, "all_reduce", algorithm),
        sum(src._view.nbytes for src in srcs), op=op, label=name,
    )  # fmt: skip


def reduce_scatter(srcs, dsts, replica_group, collective_dim, op, priority=None, name=None):
    """Reduce over the ranks of a group and give each rank its part along `collective_dim`.

    Parameters
    ----------
    srcs, dsts : lists of NkiTensor, as many of each
        Both in HBM or both in SBUF (then one 2-D tile), alike on all ranks.
        A dst holds one part of n, for n ranks of the group.
    replica_group : ReplicaGroup
    collective_dim : 0
    op : nl.add, nl.minimum or nl.maximum
    priority
        Of later chips.
    name : str, optional
        A label for the timeline.
    """
    _check_lists("reduce_scatter", srcs, dsts, priority)
    _check_dim("reduce_scatter", collective_dim, srcs, (0,))
    op = _op("reduce_scatter", op)
    group = _group("reduce_scatter", replica_group)
    _check_split("reduce_scatter", srcs, len(group))
    _check_results("reduce_scatter", srcs, dsts, lambda s: [s[0] // len(group), *s[1:]])
    return _collect(
        "reduce_scatter", srcs, dsts, group,
        lambda inputs, algorithm: _combine(op, inputs, "reduce_scatter", algorithm),
        sum(src._view.nbytes for src in srcs), op=op, label=name,
    )  # fmt: skip


def all_gather(srcs, dsts, replica_group, collective_dim, priority=None, name=None):
    """Give every rank what all ranks of a group have, one after another along `collective_dim`.

    Parameters
    ----------
    srcs, dsts : lists of NkiTensor, as many of each
        Both in HBM or both in SBUF (then one 2-D tile), alike on all ranks.
        A dst holds n times as much, for n ranks of the group.
    replica_group : ReplicaGroup
    collective_dim : int
        0; in SBUF also 1.
    priority
        Of later chips.
    name : str, optional
        A label for the timeline.
    """
    _check_lists("all_gather", srcs, dsts, priority)
    _check_dim("all_gather", collective_dim, srcs, (0, 1))
    group = _group("all_gather", replica_group)
    _check_results("all_gather", srcs, dsts, lambda s: [
        size * len(group) if axis == collective_dim else size for axis, size in enumerate(s)
    ])  # fmt: skip

    def compute(inputs, _algorithm):
        whole = np.concatenate(inputs, axis=collective_dim)
        return [whole for _ in inputs]

    return _collect("all_gather", srcs, dsts, group, compute,
                    sum(dst._view.nbytes for dst in dsts), label=name)  # fmt: skip


def all_to_all(srcs, dsts, replica_group, collective_dim, priority=None, name=None):
    """Send part k of each rank's tensor to rank k of the group.

    Parameters
    ----------
    srcs, dsts : lists of NkiTensor, as many of each
        In HBM, alike on all ranks; the first axis divides among the ranks.
        A dst holds as much as its src.
    replica_group : ReplicaGroup
    collective_dim : 0
    priority
        Of later chips.
    name : str, optional
        A label for the timeline.
    """
    _check_lists("all_to_all", srcs, dsts, priority, on_chip=False)
    _check_dim("all_to_all", collective_dim, srcs, (0,))
    group = _group("all_to_all", replica_group)
    _check_split("all_to_all", srcs, len(group))
    _check_results("all_to_all", srcs, dsts, list)

    def compute(inputs, _algorithm):
        parts = [np.split(values, len(inputs), axis=0) for values in inputs]
        return [np.concatenate([part[k] for part in parts]) for k in range(len(inputs))]

    return _collect("all_to_all", srcs, dsts, group, compute,
                    sum(src._view.nbytes for src in srcs), label=name)  # fmt: skip


def _check_split(name, srcs, ranks):
    for src in srcs:
        if src.shape[0] % ranks:
            raise NkiValidationError(
                f"{name}: the first axis of src {list(src.shape)} does not divide among {ranks} "
                "ranks; pad it to a multiple"
            )


def collective_permute(srcs, dsts, source_target_pairs, priority=None, name=None):
    """Send a tensor from rank to rank, as (source, target) pairs say; others keep theirs.

    Parameters
    ----------
    srcs, dsts : lists of one NkiTensor in HBM
        Of one size; who receives nothing keeps its dst.
    source_target_pairs : list of (int, int)
        Each rank at most once on each side.
    priority
        Of later chips.
    name : str, optional
        A label for the timeline.
    """
    _check_lists("collective_permute", srcs, dsts, priority, on_chip=False, single=True)
    _check_results("collective_permute", srcs, dsts, list)
    running = current()
    try:
        pairs = [(_whole(source), _whole(target)) for source, target in source_target_pairs]
    except (TypeError, ValueError):
        raise TypeError(
            f"collective_permute: source_target_pairs is {source_target_pairs!r:.60}; it is a list "
            "of (source, target) ranks, such as [(0, 1), (1, 0)]"
        ) from None
    for side, ranks in (("source", [s for s, _ in pairs]), ("target", [t for _, t in pairs])):
        if len(set(ranks)) < len(ranks) or not all(0 <= r < running.ranks for r in ranks):
            raise NkiValidationError(
                f"collective_permute: {side}s are {ranks}; each of the {running.ranks} ranks "
                "stands there at most once"
            )
    return _permute("collective_permute", srcs, dsts, list(range(running.ranks)), pairs, name)


def _permute(kind, srcs, dsts, group, pairs, label, *, combine=None):
    source_of = {target: source for source, target in pairs}
    targets = list(range(len(group)))
    for source, target in pairs:
        targets[group.index(source)] = group.index(target)
    if sorted(targets) != list(range(len(group))):  # not everybody sends: timed as a full shift
        targets = [(k + 1) % len(group) for k in range(len(group))]

    def compute(inputs, _algorithm):
        sent = inputs if combine is None else [combine(each) for each in inputs]
        return [sent[group.index(source_of[r])] if r in source_of else None for r in group]

    return _collect(kind, srcs, dsts, group, compute, srcs[0]._view.nbytes,
                    targets=tuple(targets), label=label)  # fmt: skip


def _most_channels(group) -> int:
    """Return 4 for a group with ranks on all devices of a trn1.32xlarge, else 2."""
    devices = {rank // FABRIC.ranks_per_chip.value for rank in group}
    return 4 if len(devices) >= INSTANCES["trn1.32xlarge"].chips.value else 2


def _channels(name, channel_ids, group, *lists):
    if not isinstance(channel_ids, list | tuple):
        raise TypeError(f"{name}: channel_ids is {channel_ids!r}; it is a list such as [0, 1]")
    most = _most_channels(group)
    if list(channel_ids) != list(range(len(channel_ids))) or not 1 <= len(channel_ids) <= most:
        raise NkiValidationError(
            f"{name}: channel_ids is {list(channel_ids)}; channels are 0, 1, ... up to {most} of "
            "them (4 if the group has all devices of a node, else 2)"
        )
    for tensors in lists:
        if not isinstance(tensors, list | tuple) or not all(
            isinstance(inner, list | tuple) for inner in tensors
        ):
            raise TypeError(
                f"{name}: {tensors!r:.60} is no list of a list for each channel, such as [[x]]"
            )
        if len(tensors) != len(channel_ids) or any(len(inner) != 1 for inner in tensors):
            raise NkiValidationError(
                f"{name}: {len(channel_ids)} channels take as many lists of one tensor each"
            )


def _ring_pairs(group):
    return [(rank, group[(k + 1) % len(group)]) for k, rank in enumerate(group)]


def collective_permute_implicit(srcs_by_channel, dsts_by_channel, replica_group, channel_ids=(0,),
                                priority=None, name=None):  # fmt: skip
    """Send to the successor in the group's ring and receive from the predecessor."""
    kind = "collective_permute_implicit"
    group = _group(kind, replica_group)
    _channels(kind, channel_ids, group, srcs_by_channel, dsts_by_channel)
    for srcs, dsts in zip(srcs_by_channel, dsts_by_channel, strict=True):
        _check_lists(kind, srcs, dsts, priority, on_chip=True, single=True)
        _check_results(kind, srcs, dsts, list)
        _permute(kind, srcs, dsts, group, _ring_pairs(group), name)


def collective_permute_implicit_reduce(srcs0_by_channel, srcs1_by_channel, dsts_by_channel,
                                       replica_group, op, channel_ids=(0,), priority=None,
                                       name=None):  # fmt: skip
    """Reduce two local tensors, send the result to the successor, receive the predecessor's."""
    kind = "collective_permute_implicit_reduce"
    group = _group(kind, replica_group)
    _channels(kind, channel_ids, group, srcs0_by_channel, srcs1_by_channel, dsts_by_channel)
    op = _op(kind, op)
    for one, two, dsts in zip(srcs0_by_channel, srcs1_by_channel, dsts_by_channel, strict=True):
        for srcs in (one, two):
            _check_lists(kind, srcs, dsts, priority, single=True)
            _check_results(kind, srcs, dsts, list)
        _permute_reduced(kind, one[0], two[0], dsts[0], group, op, name)


def _permute_reduced(kind, one, two, dst, group, op, label):
    running = current()
    targets = tuple((k + 1) % len(group) for k in range(len(group)))
    algorithm, duration_ns = _time("permute", len(group), one._view.nbytes, targets)
    handle = issue(kind, name=label, srcs=[one, two], dsts=[dst], duration_ns=duration_ns, op=op,
                   ranks=len(group), algorithm=algorithm)  # fmt: skip
    mine = None
    if running.core.values:
        a, b = one._view.read(), two._view.read().reshape(one._view.shape)
        wide = a.dtype if a.dtype.kind in "iu" else np.float32  # integers exactly
        mine = _REDUCE[op](a.astype(wide), b.astype(wide)).astype(a.dtype)
    brought, _ = _meet(kind, running, group, mine)
    if running.core.values:
        before = brought[group.index(running.rank) - 1]
        dst._view.write_bits(before.reshape(dst._view.shape))
    return handle


def collective_permute_implicit_current_processing_rank_id(iteration_id, replica_group,
                                                           channel_id=0, name=None):  # fmt: skip
    """Return the rank whose data is being processed in this turn of the ring, in a register."""
    kind = "collective_permute_implicit_current_processing_rank_id"
    group = _group(kind, replica_group)
    most = _most_channels(group)
    try:
        turn, channel = _whole(iteration_id), _whole(channel_id)
    except TypeError as error:
        raise TypeError(f"{kind}: iteration_id and channel_id are numbers; {error}") from None
    if turn < 0 or not 0 <= channel < most:
        raise NkiValidationError(
            f"{kind}: iteration_id is {turn} and channel_id {channel}; turns count from 0, and "
            f"this group has channels 0 to {most - 1}"
        )
    at = group.index(current().rank)
    return VirtualRegister(group[(at - turn) % len(group)])


def rank_id(name=None):
    """Return the rank that runs this kernel, in a register."""
    return VirtualRegister(current().rank)


# -- variable lengths -------------------------------------------------------------------------


def _variable(kind, srcs, dsts, replica_group, metadata, known, has_displacements, priority, label):
    """Exchange chunks whose sizes stand in a metadata tensor: [send, from, received] x ranks."""
    _check_lists(kind, srcs, dsts, priority, on_chip=False, single=True)
    for flag, value in (("recv_counts_known", known), ("has_rdispls", has_displacements)):
        if not isinstance(value, bool):
            raise TypeError(f"{kind}: {flag} is {value!r}; it is True or False")
    if has_displacements:
        raise later_chip(f"{kind} with has_rdispls", "instances of NeuronCore-v4 (Trainium3)")
    running = current()
    group = _group(kind, replica_group)
    ranks = len(group)
    if not isinstance(metadata, NkiTensor):
        raise TypeError(f"{kind}: metadata_tensor is a {type(metadata).__name__}; it is a tensor")
    shape = (1, 3, ranks) if metadata._on_chip else (3, ranks)
    if metadata.dtype != "uint32" or tuple(metadata.shape) != shape:
        raise NkiValidationError(
            f"{kind}: metadata_tensor is {metadata!r}; it is uint32, 3 rows of {ranks} numbers: "
            f"{shape}"
        )
    if dsts[0]._view.size % ranks:
        raise NkiValidationError(
            f"{kind}: dst has {dsts[0]._view.size} elements, which do not divide into {ranks} "
            "equal slots, one for each rank"
        )
    written = [dsts[0]] if known else [dsts[0], metadata]
    nbytes = dsts[0]._view.nbytes
    algorithm, duration_ns = _time("all_to_all", ranks, nbytes, None)
    handle = issue(kind, name=label, srcs=[srcs[0], metadata], dsts=written, ranks=ranks,
                   duration_ns=duration_ns, algorithm=algorithm)  # fmt: skip
    if not running.core.values:
        _meet(kind, running, group, None)
        return handle
    table = metadata._view.read().reshape(3, ranks).astype(np.int64)
    flat = srcs[0]._view.read().reshape(-1)
    chunks = []
    for k in range(ranks):
        count, start = table[0, k], table[1, k]
        if start + count > flat.size:
            raise NkiValidationError(
                f"{kind}: {count} elements from {start} leave src, which holds {flat.size}"
            )
        chunks.append(np.array(flat[start : start + count]))
    brought, _ = _meet(kind, running, group, chunks)
    at = group.index(running.rank)
    out = np.array(dsts[0]._view.read()).reshape(-1)
    slot = out.size // ranks
    for k, theirs in enumerate(brought):
        chunk = theirs[at]
        if chunk.size > slot:
            raise NkiValidationError(
                f"{kind}: rank {group[k]} sends {chunk.size} elements, and a slot of dst has {slot}"
            )
        out[k * slot : k * slot + chunk.size] = chunk
        table[2, k] = chunk.size
    dsts[0]._view.write_bits(out.reshape(dsts[0]._view.shape))
    if not known:
        metadata._view.write_bits(table.astype(np.uint32).reshape(metadata._view.shape))
    return handle


def all_to_all_v(srcs, dsts, replica_group, metadata_tensor, recv_counts_known=False,
                 has_rdispls=False, priority=None, name=None):  # fmt: skip
    """Send each rank of the group a chunk of its own length (see `metadata_tensor`).

    On Trainium the reference supports groups of same-indexed ranks of different instances only; a
    group here may stand for one, and is timed as if it stood in one instance.
    """
    return _variable("all_to_all_v", srcs, dsts, replica_group, metadata_tensor,
                     recv_counts_known, has_rdispls, priority, name)  # fmt: skip


def all_gather_v(srcs, dsts, replica_group, metadata_tensor, recv_counts_known=False,
                 has_rdispls=False, priority=None, name=None):  # fmt: skip
    """Give every rank each rank's chunk, of its own length (on hardware: LNC=2, Trainium2)."""
    raise later_chip("all_gather_v", "NeuronCore-v3 (Trainium2), where LNC is 2")


def __getattr__(name):
    from trainium_edu.nki.earlier import no_attribute

    raise no_attribute("nki.collectives", name)
