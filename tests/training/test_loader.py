"""Every sample reaches one rank once.  Judges: counting, and PyTorch's sampler where installed."""

import itertools

import numpy as np
import pytest

from trainium_edu.training.loader import epoch_order

CASES = [(1, 1, 1, 1), (10, 3, 2, 1), (97, 32, 1, 1), (1437, 32, 32, 1), (1437, 7, 5, 3),
         (64, 32, 2, 1), (65, 32, 2, 2), (33, 32, 4, 4)]  # fmt: skip


def real(numbers):
    return numbers[numbers >= 0]


@pytest.mark.parametrize(("n", "ranks", "batch", "accumulate"), CASES)
class TestEpochOrder:
    @pytest.fixture
    def order(self, n, ranks, batch, accumulate):
        return epoch_order(n, ranks=ranks, batch=batch, accumulate=accumulate, seed=3, epoch=1)

    def test_every_sample_stands_exactly_once(self, order, n):
        np.testing.assert_array_equal(np.sort(real(order)), np.arange(n))

    def test_only_the_last_steps_shares_differ_and_by_one_sample(
        self, order, n, ranks, batch, accumulate
    ):
        assert order.shape == (-(-n // (ranks * batch * accumulate)), accumulate, ranks, batch)
        assert (order[:-1] >= 0).all()
        shares = (order[-1] >= 0).sum(axis=(0, 2))
        assert np.ptp(shares) <= 1
        assert shares.max() >= 1

    def test_empty_places_come_last_in_each_rank(self, order, ranks):
        for rank in range(ranks):
            filled = order[:, :, rank].reshape(-1) >= 0
            assert (np.diff(filled.astype(int)) <= 0).all()

    def test_ranks_are_dealt_to_in_turn(self, order, n, ranks, batch, accumulate):
        alone = real(epoch_order(n, ranks=1, batch=n, seed=3, epoch=1))
        for rank in range(ranks):
            np.testing.assert_array_equal(real(order[:, :, rank].reshape(-1)), alone[rank::ranks])


def test_the_order_depends_on_seed_and_epoch_alone():
    def order(seed, epoch, **how):
        return real(epoch_order(100, **{"ranks": 1, "batch": 100} | how, seed=seed, epoch=epoch))

    orders = {order(*pair).tobytes() for pair in itertools.product(range(3), range(3))}
    assert len(orders) == 9
    np.testing.assert_array_equal(order(5, 7), order(5, 7))
    np.testing.assert_array_equal(order(5, 7, shuffle=False), np.arange(100))


@pytest.mark.parametrize(
    ("how", "message"),
    [
        ({"ranks": 11}, "11 ranks cannot share 10 samples"),
        ({"batch": 0}, "batch"),
        ({"ranks": 0}, "ranks"),
        ({"accumulate": 0}, "accumulate"),
        ({"epoch": -1}, "epoch"),
    ],
)
def test_what_cannot_be_dealt_is_refused_in_one_sentence(how, message):
    given = {"ranks": 2, "batch": 2, "seed": 0, "epoch": 0} | how
    with pytest.raises(ValueError, match=message):
        epoch_order(10, **given)
