"""``xla.distributed``.  Judge: NumPy over all ranks' values, and ``torch.distributed``'s rules."""

import numpy as np
import pytest

from trainium_edu.training.parallel.lockstep import launch
from trainium_edu.xla import as_tensor, xm
from trainium_edu.xla import distributed as dist

VALUES = np.random.default_rng(0).integers(-9, 9, (4, 2, 3)).astype(np.float32)


@pytest.fixture(autouse=True)
def _without_cache(monkeypatch):
    monkeypatch.setenv("NEURON_CC_FLAGS", "--no_cache")


def on_ranks(record, values=VALUES):
    """Return what each rank has after a call on its tensor."""

    def main(index):
        dist.init_process_group("xla")
        tensor = as_tensor(values[index], xm.xla_device())
        found = record(tensor)
        xm.mark_step()
        return [one.numpy() for one in ([tensor] if found is None else found)]

    return launch(main, len(values))


@pytest.mark.parametrize(
    ("op", "expected"),
    [(dist.ReduceOp.SUM, np.sum), (dist.ReduceOp.AVG, np.mean), (dist.ReduceOp.MAX, np.max),
     (dist.ReduceOp.MIN, np.min), ("sum", np.sum)],
)  # fmt: skip
def test_all_reduce_changes_the_tensor_on_every_rank(op, expected):
    for (found,) in on_ranks(lambda tensor: dist.all_reduce(tensor, op=op)):
        np.testing.assert_array_equal(found, expected(VALUES, axis=0))


def test_a_number_is_reduced_too():
    ranks = on_ranks(lambda tensor: dist.all_reduce(tensor), np.float32([1, 2]))
    assert [found.tolist() for (found,) in ranks] == [3.0, 3.0]


@pytest.mark.parametrize("src", [0, 2])
def test_broadcast_gives_every_rank_the_bits_of_one(src):
    for (found,) in on_ranks(lambda tensor: dist.broadcast(tensor, src=src)):
        np.testing.assert_array_equal(found, VALUES[src])


def test_all_gather_fills_a_list_in_order_of_ranks_integers_too():
    def record(tensor):
        rooms = [as_tensor(np.zeros((2, 3)), tensor.device, tensor.dtype) for _ in range(4)]
        dist.all_gather(rooms, tensor)
        return rooms

    for values in (VALUES, VALUES.astype(np.int32)):
        for found in on_ranks(record, values):
            np.testing.assert_array_equal(np.stack(found), values)
            assert found[0].dtype == values.dtype


def test_each_rank_joins_a_group_of_its_own():
    def main(index):
        before = dist.is_initialized()
        dist.init_process_group("xla", init_method="env://", rank=index, world_size=2)
        dist.barrier()
        found = dist.get_rank(), dist.get_world_size(), dist.get_backend(), dist.is_initialized()
        dist.destroy_process_group()
        return before, found, dist.is_initialized()

    assert launch(main, 2) == [(False, (index, 2, "xla", True), False) for index in range(2)]
    assert not dist.is_initialized()


@pytest.mark.parametrize(
    ("call", "error", "told"),
    [
        (lambda: dist.init_process_group("nccl"), ValueError, r"call init_process_group\('xla'\)"),
        (lambda: dist.init_process_group("xla", init_method="tcp://a"), ValueError, "env://"),
        (lambda: dist.init_process_group("xla", world_size=8), ValueError, "torchrun"),
        (lambda: dist.init_process_group("xla", store=1), TypeError, "takes no store"),
        (lambda: dist.get_rank(), RuntimeError, "first"),
        (lambda: dist.barrier(), RuntimeError, "first"),
        (lambda: dist.destroy_process_group(), RuntimeError, "first"),
    ],
)
def test_what_cannot_be_is_one_sentence(call, error, told):
    with pytest.raises(error, match=told):
        call()
    assert not dist.is_initialized()


def test_wrong_calls_in_a_group_are_one_sentence_each():
    tensor = as_tensor([1.0], xm.xla_device())
    dist.init_process_group("xla")
    try:
        for call, error, told in (
            (lambda: dist.init_process_group("xla"), RuntimeError, "called before"),
            (lambda: dist.all_reduce(tensor, op="product"), ValueError, "op is 'product'"),
            (lambda: dist.all_reduce(tensor, async_op=True), ValueError, "leave async_op out"),
            (lambda: dist.all_gather([tensor] * 2, tensor), ValueError, "2 tensors for 1 ranks"),
            (lambda: dist.broadcast(tensor, src=1), ValueError, "src is 1"),
        ):
            with pytest.raises(error, match=told):
                call()
    finally:
        dist.destroy_process_group()
