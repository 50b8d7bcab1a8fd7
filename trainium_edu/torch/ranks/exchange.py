"""The way of a rank that is a process to the other ranks (``Core.collectives``)."""

import os
import pickle
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
import torch

from trainium_edu.fabric.topology import FabricError
from trainium_edu.torch import core as cores
from trainium_edu.torch.operations import dtype_of
from trainium_edu.torch.origins import user_line
from trainium_edu.torch.ranks.collectives import Exchanged, Groups, exchanged
from trainium_edu.torch.ranks.desk import Dismissed, Request, Seat, Summing
from trainium_edu.torch.refusals import refusal

__all__ = ["Exchange"]


class Exchange:
    """One rank's way to the desk.

    Parameters
    ----------
    number : int
        Of the rank.
    seats : list of Seat
        All ranks' rows and results.
    line : Connection
        To the desk.
    folder : str
        Where files of all ranks may lie while they run.
    """

    def __init__(self, number: int, seats: list[Seat], line: Any, folder: str = ""):
        self.number, self.seats, self.line, self.folder = number, seats, line, folder
        self.everybody = tuple(range(len(seats)))
        self.dismissed: Callable[[int], None] = lambda code: None  #: called before it is ended

    # -- asking ------------------------------------------------------------------------------------

    def tell(self, *message) -> None:
        """Send the desk a message that has no answer."""
        self.line.send_bytes(pickle.dumps(message, protocol=5))

    def ask(self, *message) -> Any:
        """Send the desk a message, and wait for its answer."""
        try:
            self.tell(*message)
            answer = pickle.loads(self.line.recv_bytes())
        except (EOFError, OSError):  # the process that started the ranks has ended
            os._exit(1)
        if type(answer) is Dismissed:
            self.dismissed(1)
            os._exit(1)
        return answer

    def meet(self, subject: tuple, brings: Any = None, members: Sequence[int] = ()) -> Any:
        """Wait for other ranks, default all, and return what the meeting has for this one."""
        line = user_line()
        return self.ask("meet", Request(subject, tuple(members) or self.everybody, str(line or ""),
                                        brings))  # fmt: skip

    def agree(self, subject: Exchanged) -> None:
        """Compare what ranks do, where no value is computed."""
        self.meet(subject, members=self.members(subject.groups))

    def rendezvous(self, tag: str, payload: Any, members: Sequence[int] = ()) -> list:
        """Return the payloads of all ranks."""
        found = self.meet(("rendezvous", tag), pickle.dumps(payload), members)
        return [pickle.loads(one) for one in found]

    def slowest(self, ready_ns: float, makespan_ns: float, collectives: tuple,
                members: Sequence[int]) -> tuple[float, float]:  # fmt: skip
        """Return when the last of those that exchange in a graph is ready, and the longest time."""
        return self.meet(("run", collectives), (ready_ns, makespan_ns), members)

    def members(self, groups: Groups) -> tuple[int, ...]:
        """Return the ranks of this one's group."""
        if not groups:
            return self.everybody
        for group in groups:
            if self.number in group:
                return group
        listed = [*map(list, groups)]
        raise refusal("ranks.unnamed", FabricError, groups=listed, rank=self.number)

    # -- values ------------------------------------------------------------------------------------

    def all_reduce(self, values: list, kind: str, scale: float, groups: Groups) -> list:
        """Return what the links make of values that travel as one message."""
        subject = exchanged("all_reduce", groups, values, kind, scale)
        return _parted(_scaled(self._row(subject, values), scale), values)

    def broadcast(self, values: list, root: int, groups: Groups) -> list:
        """Return the values of one rank; a group without it sums zeros."""
        subject = exchanged("broadcast", groups, values, root)
        if root not in self.members(groups):
            self.agree(subject)
            return [torch.zeros_like(one) for one in values]
        return _parted(self._row(subject, values), values)

    def all_gather(self, value: torch.Tensor, dim: int, groups: Groups) -> torch.Tensor:
        """Return the ranks' values one after the other along a dimension."""
        count = len(self.members(groups))
        subject = exchanged("all_gather", groups, value, dim)
        return _along(value, dim, count * value.size(dim),
                      lambda first: self._row(subject, [first], times=count))  # fmt: skip

    def all_to_all(self, value: torch.Tensor, dim: int, groups: Groups) -> torch.Tensor:
        """Return this rank's part of every rank's values, one after the other."""
        members = self.members(groups)
        count, subject = len(members), exchanged("all_to_all", groups, value, dim)

        def parts(first):
            rows = self._row(subject, [first], times=count).reshape(count, count, -1)
            return rows[:, members.index(self.number)].reshape(-1)

        return _along(value, dim, value.size(dim), parts)

    def collective_permute(self, value: torch.Tensor, pairs: list, groups: Groups) -> torch.Tensor:
        """Return the value of the rank that sends to this one, else zeros."""
        subject, sent = exchanged("collective_permute", None, value, pairs), pairs[1::2]
        found = self._row(subject, [value], times=len(self.everybody))
        if self.number not in sent:
            return torch.zeros_like(value)
        source = pairs[2 * sent.index(self.number)]
        return _parted(found[source * value.numel() :], [value])[0]

    def reduce_scatter(self, value: torch.Tensor, kind: str, scale: float, dim: int,
                       groups: Groups) -> torch.Tensor:  # fmt: skip
        """Return this rank's part of what the links make of a value."""
        members = self.members(groups)
        subject = exchanged("reduce_scatter", groups, value, kind, scale, dim)
        size = value.numel() // len(members)
        begin = members.index(self.number) * size

        def part(first):
            return _scaled(self._row(subject, [first])[begin : begin + size], scale)

        return _along(value, dim, value.size(dim) // len(members), part)

    def _row(self, subject: Exchanged, values: list[torch.Tensor], times: int = 1) -> np.ndarray:
        """Lay values into this rank's row; return a view of what comes out, until the next."""
        members = self.members(subject.groups)
        count, carrier = sum(one.numel() for one in values), _carrier(values[0].dtype)
        if subject.name != "broadcast" or self.number == subject.kind:
            row = self.seats[self.number].row.array(count, carrier)
            for part, value in zip(_parts(row, values), values, strict=True):
                part.copy_(value)
        rounded, dtype = cores.current().rounded, dtype_of(values[0].dtype)
        if dtype == "float32" and rounded.fp32:
            dtype = "bfloat16"
        self.meet(subject, Summing(count, carrier, dtype, rounded.mode, rounded.seed), members)
        return self.seats[members[0]].result.array(count * times, carrier)


def _carrier(dtype: torch.dtype) -> str:
    """Return the dtype of NumPy in which values of one of PyTorch are added up."""
    return "float32" if dtype.is_floating_point else str(dtype).removeprefix("torch.")


def _scaled(row: np.ndarray, scale: float) -> np.ndarray:
    if scale == 1.0:
        return row
    return (row * np.float32(scale)).astype(row.dtype, copy=False)


def _parts(row: np.ndarray, like: list[torch.Tensor]) -> list[torch.Tensor]:
    """Return the parts of a row in the shapes of tensors, one after the other."""
    sizes = [one.numel() for one in like]
    parts = torch.from_numpy(row[: sum(sizes)]).split(sizes)
    return [part.view(one.shape) for part, one in zip(parts, like, strict=True)]


def _parted(row: np.ndarray, like: list[torch.Tensor]) -> list[torch.Tensor]:
    """Return a row's parts as tensors of their own."""
    return [
        part.to(one.dtype, copy=True) for part, one in zip(_parts(row, like), like, strict=True)
    ]


def _along(value: torch.Tensor, dim: int, length: int, function: Callable) -> torch.Tensor:
    """Return a function's row for a value with `dim` in front, which it makes `length` long."""
    first = value.movedim(dim, 0)
    found = torch.from_numpy(function(first)).view(length, *first.shape[1:])
    return found.to(value.dtype, copy=True).movedim(0, dim).contiguous()
