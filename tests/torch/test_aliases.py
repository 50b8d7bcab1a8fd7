"""Tensors that share data: what is written through one of them reaches the others.

Judges: PyTorch on the CPU, and ``xla``'s own executor, which runs the recorded graph (`replay`).
"""

import random

import pytest

torch = pytest.importorskip("torch")

from tests.torch.replay import core_of_a_test, replayed  # noqa: E402

pytestmark = pytest.mark.judge


@pytest.fixture
def core():
    with core_of_a_test() as one:
        yield one


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

VIEWS = [
    lambda x, r: x[r.randrange(len(x)) :] if x.dim() and len(x) > 1 else x.unsqueeze(0),
    lambda x, r: x[r.randrange(len(x))] if x.dim() > 1 and len(x) else x.unsqueeze(-1),
    lambda x, r: x.transpose(0, -1) if x.dim() > 1 else x.unsqueeze(0),
    lambda x, r: x.permute(*r.sample(range(x.dim()), x.dim())) if x.dim() else x.view(1),
    lambda x, r: x[..., ::2] if x.dim() else x.unsqueeze(0),
    lambda x, r: x.view(-1) if x.is_contiguous() else x.detach(),
    lambda x, r: r.choice(x.split(2)) if x.dim() and len(x) > 2 else x.unsqueeze(0),
    lambda x, r: r.choice(x.unbind()) if x.dim() > 1 and len(x) else x.view_as(x),
    lambda x, r: x.diagonal() if x.dim() == 2 else x.squeeze(),
    lambda x, r: x.T if x.dim() == 2 else x.unsqueeze(-1),
]  # fmt: skip
WRITES = [
    lambda x, y, r: x.add_(1.0),
    lambda x, y, r: x.mul_(-1.0),
    lambda x, y, r: x.fill_(float(r.randrange(9))),
    lambda x, y, r: x.zero_(),
    lambda x, y, r: x.copy_(y) if x.shape == y.shape else x.copy_(x.sum()),
    lambda x, y, r: x.masked_fill_(x > 4, 2.5),
    lambda x, y, r: x.clamp_(max=20.0),
    lambda x, y, r: x.add_(y.flatten()[0].clone()) if y.numel() else x,
]  # fmt: skip


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
