"""``xla.distributed``.  Judge: ``torch.distributed``'s rules."""

import pytest

from tests.for_each import for_rows, raises
from trainium_edu.training.parallel.lockstep import launch
from trainium_edu.xla import distributed as dist


@pytest.fixture(autouse=True)
def _without_cache(monkeypatch):
    monkeypatch.setenv("NEURON_CC_FLAGS", "--no_cache")


def test_each_rank_joins_a_group_of_its_own():
    def main(index):
        before = dist.is_initialized()
        dist.init_process_group("xla", init_method="env://", rank=index, world_size=2)
        found = dist.get_rank(), dist.get_world_size(), dist.is_initialized()
        dist.destroy_process_group()
        return before, found, dist.is_initialized()

    assert launch(main, 2) == [(False, (index, 2, True), False) for index in range(2)]
    assert not dist.is_initialized()


@for_rows(
    "call, error, told",
    (lambda: dist.init_process_group("nccl"), ValueError, r"call init_process_group\('xla'\)"),
    (lambda: dist.init_process_group("xla", init_method="tcp://a"), ValueError, "env://"),
    (lambda: dist.init_process_group("xla", world_size=8), ValueError, "torchrun"),
    (lambda: dist.init_process_group("xla", store=1), TypeError, "takes no store"),
    (lambda: dist.get_rank(), RuntimeError, "first"),
    (lambda: dist.get_world_size(), RuntimeError, "first"),
    (lambda: dist.destroy_process_group(), RuntimeError, "first"),
)
def test_what_cannot_be_is_one_sentence(call, error, told):
    raises(error, told, call)
    assert not dist.is_initialized()


def test_a_group_is_joined_once():
    dist.init_process_group("xla")
    try:
        raises(RuntimeError, "called before", dist.init_process_group, "xla")
    finally:
        dist.destroy_process_group()
