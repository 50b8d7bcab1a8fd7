"""Tensors that share data: what is written through one of them reaches the others.

Judges: PyTorch on the CPU, and ``xla``'s own executor, which runs the recorded graph (`replay`).
"""

import random

import pytest

torch = pytest.importorskip("torch")

from tests.torch.expressions import expressions  # noqa: E402
from tests.torch.replay import replayed  # noqa: E402

pytestmark = pytest.mark.judge


def both(core, program, *shapes):
    """Run a program on the CPU and on the device, and return what it gives."""
    data = [torch.arange(1.0, 1 + torch.Size(s).numel()).reshape(s) for s in shapes]
    want = program(lambda: None, *(d.clone() for d in data))
    with replayed(core) as replay:
        got = program(core.mark_step, *(d.to(core.device) for d in data))
        core.mark_step()
    for ours, theirs in zip(got, want, strict=True):
        torch.testing.assert_close(ours.cpu(), theirs, rtol=0, atol=0)
    replay.assert_equal()
    return replay


# -- a random program -----------------------------------------------------------------------------

VIEWS = list(expressions("views", "x, r").values())
WRITES = list(expressions("writes", "x, y, r").values())


def program_of(seed):
    """Return a program of views, writes, sums, cuts and things let go, drawn with a seed."""

    def program(cut, *start):
        draw, held = random.Random(seed), list(start)
        for _ in range(draw.randrange(8, 30)):
            kind, x, y = draw.random(), draw.choice(held), draw.choice(held)
            if kind < 0.4:
                held.append(draw.choice(VIEWS)(x, draw))
            elif kind < 0.7:
                draw.choice(WRITES)(x, y, draw)
            elif kind < 0.8 and x.shape == y.shape:
                held.append(x + y)
            elif kind < 0.87:
                held.append(x * 2)
            elif kind < 0.94 and len(held) > 2:
                held.pop(draw.randrange(len(held)))
            else:
                cut()
            del x, y
        return held

    return program


@pytest.mark.parametrize("seed", range(60))
def test_a_random_program_of_views_and_writes_gives_the_same(core, seed):
    both(core, program_of(seed), (4, 6), (3, 4))


def test_writes_through_views_of_views_reach_the_graph(core):
    def program(cut, x):
        cut()
        x[1] = 7.0
        x[:, ::2].mul_(2.0)
        x.t()[3].add_(x[0, 0] + 1)
        x.view(2, 2, 6).unbind(1)[1][:, :2].neg_()
        x.diagonal().fill_(0.5)
        first, *_ = x.split(3, 1)
        first.clamp_(min=0)
        cut()
        return [x]

    assert both(core, program, (4, 6)).compared >= 1


@pytest.mark.parametrize(("shape", "wrap"), [((5, 5), False), ((4, 7), False), ((9, 3), True)])
def test_a_diagonal_is_filled_in_place(core, shape, wrap):
    """As contrastive losses leave a sample's likeness to itself out."""
    program = lambda cut, x: [x.mul(2).fill_diagonal_(-1.0, wrap=wrap)]  # noqa: E731
    assert both(core, program, shape).compared == 1


def test_a_buffer_filled_part_by_part_is_joined_once(core):
    """As DDP fills its buckets; closed form: the elements that are moved, once each."""

    def program(cut, *parts):
        cut()
        bucket = torch.zeros(6, 8, device=parts[0].device).t().contiguous().view(-1)
        views = [bucket[6 * i : 6 * i + 5] for i in range(8)]
        for view, one in zip(views, parts, strict=True):
            view.copy_(one)
        total = bucket.as_strided((2, 3), (3, 1), 6).sum() + views[7].sum()
        bucket[4:9] += 1
        cut()
        return bucket, total

    replay = both(core, program, *[(5,)] * 8)
    nodes = [node for graph in replay.graphs for node in graph.nodes]
    assert replay.compared >= 2
    assert 0 < sum(n.type.size for n in nodes if n.operation == "concatenate") <= 2 * 48
