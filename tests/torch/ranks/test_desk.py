"""Who waits for whom, as a list of requests by hand says; judge: what each rank was answered."""

import pickle
from types import SimpleNamespace

import pytest

from tests.for_each import raises

pytest.importorskip("torch")

from trainium_edu.fabric.executor import RanksDisagree
from trainium_edu.torch.ranks.desk import Desk, Request, Seat

pytestmark = pytest.mark.judge


def desk_of(count):
    """Return a desk, and a function by which a rank asks to meet others."""
    answers = {}
    seats = []
    for rank in range(count):
        line = SimpleNamespace(
            send_bytes=lambda data, r=rank: answers.update({r: pickle.loads(data)})
        )
        seats.append(Seat(rank, line))
    desk = Desk(seats, None)

    def ask(rank, tag, members):
        desk.hear(seats[rank], ("meet", Request(("rendezvous", tag), members, "", rank)))
        found = dict(answers)
        answers.clear()
        return found

    return desk, ask


def test_a_part_of_the_ranks_meets_while_the_others_wait_for_all():
    _, ask = desk_of(4)
    everybody = 0, 1, 2, 3
    assert ask(1, "pair", (1, 3)) == {}
    assert ask(0, "all", everybody) == {}
    assert ask(2, "all", everybody) == {}
    assert ask(3, "pair", (1, 3)) == {1: [1, 3], 3: [1, 3]}
    assert ask(3, "all", everybody) == {}
    assert ask(1, "all", everybody) == {rank: [0, 1, 2, 3] for rank in everybody}


def test_ranks_that_wait_for_different_things_or_for_the_ended_are_told():
    _, ask = desk_of(3)
    ask(2, "a", (0, 1, 2))
    with pytest.raises(RanksDisagree, match="rank 0 waits at rendezvous 'b', and rank 2 waits at"):
        ask(0, "b", (0, 1, 2))
    desk, ask = desk_of(3)
    ask(0, "a", (0, 2))
    desk.ended(desk.seats[1], 0)
    raises(RanksDisagree, "rank 2 has ended with exit code 0", desk.ended, desk.seats[2], 0)


def test_a_graph_is_the_first_ranks_to_make_unless_it_waits():
    desk, ask = desk_of(3)
    given = {}
    for seat in desk.seats:
        seat.line.send_bytes = lambda data, r=seat.number: given.update({r: pickle.loads(data)})
    desk.hear(desk.seats[1], ("graph", 7))
    assert given == {}
    desk.hear(desk.seats[0], ("graph", 7))
    assert given == {0: None}
    desk.hear(desk.seats[0], ("made", 7, "its time"))
    assert given == {0: None, 1: "its time"}
    desk.hear(desk.seats[2], ("graph", 8))
    ask(0, "all", (0, 1, 2))
    assert given == {0: None, 1: "its time", 2: None}
