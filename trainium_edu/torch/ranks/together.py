"""All ranks in one process: one tape, one trace, values of all ranks at once.

A script that never asks for its rank does the same on all ranks, except for the batches that
loaders hand out and what is computed from them.  So it runs once.  What differs among ranks has an
axis of ranks (``per_rank.py``); gradients, once summed, are equal on all and have none, and so are
weights: they exist once and are updated once.

What only a rank of its own could answer raises :class:`RankAsked`: its rank, or a value that is
another one on each rank.  A run that has printed nothing yet begins again with ranks apart.
"""

from dataclasses import replace

import numpy as np
import torch

from trainium_edu.torch.core import Core, user_line
from trainium_edu.torch.differing import PerRank, RankAsked, differ, rows_of
from trainium_edu.torch.operations import dtype_of
from trainium_edu.torch.ranks.per_rank import ValuesOfRanks
from trainium_edu.torch.tape import Cell
from trainium_edu.torch.values import Values
from trainium_edu.training.parallel.collectives import Links, compiler_for
from trainium_edu.xla.device import World
from trainium_edu.xla.executable.sections import COLLECTIVES
from trainium_edu.xla.graph import Type
from trainium_edu.xla.operations import apply, parameter

__all__ = ["RankAsked", "TogetherCore"]


class TogetherCore(Core):
    """What one process has of the chip, in the place of all ranks.

    Parameters
    ----------
    links : Links
        How the ranks reach each other.
    per_instance : int, optional
        Default all.
    **options
        Of :class:`Core`.
    """

    def __init__(self, links: Links, *, compiler=None, instance: str = "trn1.2xlarge",
                 per_instance: int | None = None, **options):  # fmt: skip
        self.links, self.ranks = links, links.topology.ranks
        super().__init__(compiler or compiler_for(instance, links), instance=instance, **options)
        self.collectives = Collectives(self)
        self.whole = World(0, self.ranks, links, per_instance or self.ranks)

    @property
    def world(self) -> World:
        """All ranks; the first one records."""
        return self.whole

    def follow(self) -> None:
        """Do as the switches say; values have an axis of ranks where they differ."""
        super().follow()
        if type(self.rounded) is Values:
            self.rounded = ValuesOfRanks(self, self.recorder.narrowed, *(self._rounds_by or ())[1:])
            self.rounded.begin(self.number)

    def held(self, value, strides):
        """Return a copy of data as the device holds them."""
        if type(value) is PerRank:
            kept = value.each.clone(memory_format=torch.contiguous_format)
            return self.rounded.settle(PerRank(kept))
        return super().held(value, strides)

    def ask(self, cell: Cell, kind: str = "value", operation: str = "") -> torch.Tensor:
        """Return a value that is equal on all ranks.

        Raises
        ------
        RankAsked
            If it differs among ranks.
        """
        value = super().ask(cell, kind, operation)
        if type(value) is PerRank:
            if value.is_equal_on_all():
                return value.each[0].clone()
            what = f"{operation} of" if operation else "asks for"
            raise RankAsked(f"{user_line() or 'the script'}: {what} a value that differs by rank")
        return value

    def _cores(self) -> tuple[int, int]:
        return 0, self.ranks

    def _met_ns(self, executable) -> float:
        nodes = executable.graph.nodes
        self.collectives.meetings += any(node.operation in COLLECTIVES for node in nodes)
        return super()._met_ns(executable)

    # -- cells that get or lose their axis of ranks -----------------------------------------------

    def before_write(self, call, args, kwargs, values: list, named: dict) -> None:
        """Give what is written an axis of ranks, if what is written to it has one."""
        self.targets = []
        differs = differ(values) or differ(named.values())
        for which in call.writes:
            given, at = (kwargs, named) if isinstance(which, str) else (args, values)
            target = given.get(which) if given is kwargs else given[which]
            if target is None:
                continue
            cells = [one.cell for one in (target if isinstance(target, list | tuple) else [target])]
            self.targets += cells
            if differs and not call.counter.startswith("trainium::"):
                wide = [self._widened(cell) for cell in cells]
                at[which] = wide if isinstance(target, list | tuple) else wide[0]

    def _widened(self, cell: Cell) -> PerRank:
        """Return a cell's value with an axis of ranks, which its views get too."""
        value = cell.value
        if type(value) is PerRank:
            return value
        size = value.untyped_storage().nbytes() // value.element_size()
        flat = torch.as_strided(value, (size,), (1,), 0).expand(self.ranks, size).contiguous()
        for one in [cell] if cell.storage is None else cell.storage.cells():
            old = one.value
            one.value = PerRank(flat.as_strided((self.ranks, *old.shape), (size, *old.stride()),
                                                old.storage_offset()))  # fmt: skip
        return cell.value

    def _narrowed(self, cell: Cell, new: torch.Tensor) -> bool:
        """Let a cell and its views be equal on all ranks; not if it is a part of something."""
        value = cell.value
        if type(value) is not PerRank:
            return False
        each, size = value.each, new.numel()
        is_whole = each.untyped_storage().nbytes() == each.numel() * each.element_size()
        if not is_whole or each.stride(0) != size:
            return False
        kept = torch.empty_strided(new.shape, value.stride(), dtype=new.dtype).copy_(new)
        for one in [cell] if cell.storage is None else cell.storage.cells():
            old = one.value
            one.value = kept.as_strided(old.size(), old.stride(), old.each.storage_offset())
        return True

    # -- collectives ------------------------------------------------------------------------------

    def exchange(self, call, values: list):
        """Return what one of the calls of ``collectives.py`` gives."""
        name = call.counter.removeprefix("trainium::")
        *given, flat, size = values
        groups = tuple(tuple(flat[i : i + size]) for i in range(0, len(flat), size)) or None
        if name.rstrip("_") == "broadcast":
            given.pop(1)  # who sends, as a factor: for the graph only
        out = getattr(self.collectives, name.rstrip("_"))(*given, groups)
        if not call.writes:
            return out
        for cell, new in zip(self.targets, out, strict=True):
            if type(new) is PerRank:
                self._widened(cell).copy_(new)
            elif not self._narrowed(cell, new):
                cell.value.copy_(new)
        return None


class Collectives:
    """What ranks exchange, where one process has the values of all.

    Parameters
    ----------
    core : TogetherCore
    """

    folder = ""  #: of files by which processes find each other: none

    def __init__(self, core: TogetherCore):
        self.core, self.meetings = core, 0

    def agree(self, what: tuple) -> None:
        """Do nothing: all ranks do the same."""

    def rendezvous(self, tag: str, payload, members=()) -> list:
        """Return the payload of each rank; all are equal."""
        self.meetings += 1
        return [payload] * (len(members) or self.core.ranks)

    def all_reduce(self, values: list, kind: str, scale: float, groups) -> list:
        """Return each value reduced over ranks; all travel as one message."""
        self.meetings += 1
        core, rounded = self.core, self.core.rounded
        rows = [rows_of(one, core.ranks) for one in values]
        dtype = dtype_of(rows[0].dtype)
        if dtype == "float32" and rounded.fp32:
            dtype = "bfloat16"
        carrier = torch.float32 if rows[0].dtype.is_floating_point else rows[0].dtype
        flat = torch.cat([one.reshape(core.ranks, -1) for one in rows], 1).to(carrier).numpy()
        sums = replace(core.links, rounding=rounded.mode, seed=rounded.seed)
        node = apply("all_reduce", parameter(0, Type((flat.shape[1],), dtype)), kind=kind,
                     groups=groups)  # fmt: skip
        total = sums.all_reduce(flat, node, self.meetings)
        if scale != 1.0:
            total = (total * np.float32(scale)).astype(flat.dtype, copy=False)
        total, found, begin = torch.from_numpy(np.ascontiguousarray(total)), [], 0
        for one in rows:
            end = begin + one[0].numel()
            part = total[..., begin:end]
            part = part.view((*part.shape[:-1], *one.shape[1:])).to(one.dtype, copy=True)
            found.append(rounded.settle(PerRank(part) if groups else part))
            begin = end
        return found

    def all_gather(self, value, dim: int, groups):
        """Return the ranks' values, one after the other along a dimension from the end."""
        self.meetings += 1
        rows = rows_of(value, self.core.ranks)
        return _of_groups(groups, lambda ranks: torch.cat(list(rows[ranks]), dim), rows)

    def all_to_all(self, value, dim: int, groups):
        """Return to each rank its part of every rank's values, along a dimension from the end."""
        self.meetings += 1
        rows = rows_of(value, self.core.ranks)
        found = [None] * len(rows)
        for ranks in groups or [range(len(rows))]:
            parts = [rows[rank].chunk(len(ranks), dim) for rank in ranks]
            for place, rank in enumerate(ranks):
                found[rank] = torch.cat([one[place] for one in parts], dim)
        return PerRank(torch.stack(found))

    def collective_permute(self, value, pairs, groups):
        """Return to each rank the value of the one that sends to it, else zeros."""
        self.meetings += 1
        rows = rows_of(value, self.core.ranks)
        found = torch.zeros_like(rows, memory_format=torch.contiguous_format)
        found[pairs[1::2]] = rows[pairs[::2]]
        return PerRank(found)

    def reduce_scatter(self, value, kind: str, scale: float, dim: int, groups):
        """Return to each rank its part of what an all-reduce gives."""
        (total,) = self.all_reduce([value], kind, scale, groups)
        rows = rows_of(total, self.core.ranks)
        parts = [None] * len(rows)
        for ranks in groups or [range(len(rows))]:
            for part, rank in enumerate(ranks):
                parts[rank] = rows[rank].chunk(len(ranks), dim)[part]
        return PerRank(torch.stack(parts))

    def broadcast(self, values: list, root: int, groups) -> list:
        """Return the values of one rank; of each group, of the one at that place."""
        self.meetings += 1
        every = [rows_of(one, self.core.ranks) for one in values]
        return [_of_groups(groups, lambda ranks, rows=rows: rows[ranks[root]].clone(), rows)
                for rows in every]  # fmt: skip


def _of_groups(groups, function, rows):
    """Return what a function makes of the ranks of each group, for each of its members."""
    if groups is None:
        return function(list(range(len(rows))))
    found = [None] * len(rows)
    for group in groups:
        made = function(list(group))
        for rank in group:
            found[rank] = made
    return PerRank(torch.stack(found))
