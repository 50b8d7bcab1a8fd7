"""Where ranks that are processes meet: the process that started them answers what they ask.

A rank that needs others says what it wants, at which line and with whom, and waits.  When all of
them have said so, the desk answers each; it adds up their values over the links that the instance
has.  Because it sees all that wait, it also sees when nobody can go on.
"""

import pickle
from dataclasses import dataclass, field, replace
from multiprocessing.connection import Connection
from typing import Any, NamedTuple

import numpy as np

from trainium_edu.fabric.executor import RanksDisagree
from trainium_edu.torch.ranks.shared import Shared
from trainium_edu.training.parallel.collectives import Links
from trainium_edu.training.parallel.lockstep import waits_for_ever
from trainium_edu.xla.graph import Type
from trainium_edu.xla.operations import apply, parameter

__all__ = ["Desk", "Dismissed", "Request", "Seat", "Summing"]


class Request(NamedTuple):
    """A request of one rank to others."""

    #: ("run", collectives), ("rendezvous", tag) or Exchanged; equal on those that meet
    subject: tuple
    members: tuple[int, ...]  #: the ranks that take part, in order
    line: str  #: where the script asks; "" if unknown
    brings: Any  #: a payload, or the layout of the rank's row

    def meets(self, other: "Request") -> bool:
        """Return whether two ranks want the same of the same ranks."""
        return (self.subject, self.members) == (other.subject, other.members)


class Dismissed(NamedTuple):
    """The answer to a rank that others keep from going on."""


class Summing(NamedTuple):
    """The layout of a rank's row, and how it is reduced."""

    elements: int
    carrier: str  #: dtype of NumPy
    dtype: str  #: its name on the device
    rounding: str
    seed: int


@dataclass
class Seat:
    """One rank, as the desk knows it."""

    number: int
    line: Connection
    row: Shared = field(default_factory=Shared)  #: what it brings; it alone writes
    result: Shared = field(default_factory=Shared)  #: for those it leads; the desk alone writes
    request: Request | None = None
    asks_for: int | None = None  #: a graph that another rank may be compiling
    code: int | None = None  #: its exit code, once it has ended
    readers: set = field(default_factory=set)  #: who may still read `result`

    def __str__(self):
        if self.code is not None:
            return f"rank {self.number} has ended with exit code {self.code}"
        assert self.request is not None  # it waits, or has ended
        text = f"rank {self.number} {_described(self.request.subject)}"
        return f"{text} at {self.request.line}" if self.request.line else text

    def answer(self, answer) -> None:
        """Send the answer; the rank then continues."""
        self.request = self.asks_for = None
        self.line.send_bytes(pickle.dumps(answer, protocol=5))


class Desk:
    """The meeting point of all ranks: takes their requests and answers them.

    Parameters
    ----------
    seats : list of Seat
    links : Links or None
        Over which all ranks sum; None for one.
    """

    def __init__(self, seats: list[Seat], links: Links | None):
        self.seats, self.links = seats, links
        self.meetings = 0
        self._made: dict[int, Any] = {}  #: graphs that are known, by what they were made of
        self._makers: dict[int, int] = {}

    def hear(self, seat: Seat, message: tuple) -> None:
        """Take a message of a rank, and answer every rank whose request can be met now.

        Raises
        ------
        RanksDisagree
            If some would wait for ever.
        """
        for other in self.seats:
            other.readers.discard(seat.number)  # it has gone on, so it has read its answer
        match message:
            case "meet", request:
                seat.request = request
                self._check(request, seat)
            case "graph", key:
                seat.asks_for = key
            case "made", key, known:
                self._made[key] = known
        self.settle()

    def ended(self, seat: Seat, code: int) -> None:
        """Note that a rank is no more."""
        seat.code, seat.request, seat.asks_for = code, None, None
        for other in self.seats:
            other.readers.discard(seat.number)
        self._makers = {key: rank for key, rank in self._makers.items() if rank != seat.number}
        for other in self.seats:
            if other.request is not None and seat.number in other.request.members:
                raise RanksDisagree(_for_ever(other, seat))
        self.settle()

    def settle(self) -> None:
        """Answer every rank whose request can be met now."""
        for seat in self.seats:
            if seat.request is not None:
                self._meet(seat.request)
        for seat in self.seats:
            if seat.asks_for is not None:
                self._give_graph(seat)

    def dismiss(self, seat: Seat) -> bool:
        """Send a waiting rank away; return whether it waited."""
        waits = seat.request is not None or seat.asks_for is not None
        if waits:
            seat.answer(Dismissed())
        return waits

    # -- meetings ----------------------------------------------------------------------------------

    def _check(self, request: Request, seat: Seat) -> None:
        """Raise if a rank waited for has ended or made another request."""
        for rank in request.members:
            other = self.seats[rank]
            if other.code is not None:
                raise RanksDisagree(_for_ever(seat, other))
            its = other.request
            if its is not None and seat.number in its.members and not its.meets(request):
                raise RanksDisagree(_for_ever(*sorted((seat, other), key=lambda s: s.number)))

    def _meet(self, request: Request) -> None:
        seats = [self.seats[rank] for rank in request.members]
        if seats[0].readers or any(
            seat.request is None or not seat.request.meets(request) for seat in seats
        ):
            return
        brought = [seat.request.brings for seat in seats]  # type: ignore[union-attr]
        self.meetings += 1
        answer: Any = None
        if isinstance(request.brings, Summing):
            self._reduce(request, seats)
            seats[0].readers = set(request.members)
        elif request.subject[0] == "run":
            answer = tuple(map(max, zip(*brought, strict=True)))
        else:
            answer = brought
        for seat in seats:
            seat.answer(answer)

    def _reduce(self, request: Request, seats: list[Seat]) -> None:
        """Put what comes out into the first rank's result."""
        name, kind = request.subject.name, request.subject.kind  # type: ignore[attr-defined]
        count, carrier, dtype, rounding, seed = request.brings
        result = seats[0].result
        if name == "broadcast":
            root = request.members.index(kind)
            result.array(count, carrier)[:] = seats[root].row.array(count, carrier)
            return
        rows = np.stack([seat.row.array(count, carrier) for seat in seats])
        if name in ("all_gather", "all_to_all", "collective_permute"):  # each rank takes its part
            result.array(rows.size, carrier)[:] = rows.reshape(-1)
            return
        links = replace(self.links.among(len(seats)), rounding=rounding, seed=seed)  # type: ignore[union-attr]
        node = apply("all_reduce", parameter(0, Type((count,), dtype)), kind=kind)
        result.array(count, carrier)[:] = links.all_reduce(rows, node, self.meetings)

    # -- graphs ------------------------------------------------------------------------------------

    def _give_graph(self, seat: Seat) -> None:
        """Answer who asks for a graph: with what is known of it, or that it must make it itself.

        The first rank makes most.
        """
        key = seat.asks_for
        assert key is not None
        if key in self._made:
            seat.answer(self._made[key])
            return
        first = self.seats[0]
        first_may = first.code is None and first.request is None
        if key not in self._makers and (seat is first or not first_may):
            self._makers[key] = seat.number
            seat.answer(None)


def _described(subject: tuple) -> str:
    """Return in a few words what a rank does."""
    match subject:
        case "run", collectives:
            return f"runs a graph with {', '.join(collectives)}"
        case "rendezvous", tag:
            return f"waits at rendezvous {tag!r}"
    name, _, _, tensors, _ = subject
    shown = " and ".join(f"{dtype}{list(shape)}" for dtype, shape in tensors[:2])
    more = f" and {len(tensors) - 2} more" if len(tensors) > 2 else ""
    return f"calls {name} of {shown}{more}"


def _for_ever(one: Seat, other: Seat) -> str:
    texts = str(one), str(other)
    does, other_does = (text.split(" ", 2)[2] for text in texts)  # after "rank 3"
    if does == other_does:
        texts = f"{one} among {list(one.request.members)}", str(other)  # type: ignore[union-attr]
    return waits_for_ever(*texts)
