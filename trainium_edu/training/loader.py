"""Which sample goes to which rank in which step: in an order that (seed, epoch) alone decides.

The shuffled samples are dealt like cards: rank r of R gets numbers r, r + R, r + 2 R ... of the
order, as PyTorch's ``DistributedSampler`` deals them.  So a script with a sampler for each rank
and the trainer with :func:`epoch_order` feed the same samples to the same ranks.
"""

import numpy as np

from trainium_edu.specs.arguments import whole
from trainium_edu.specs.signatures import checked
from trainium_edu.training.data import shuffled

__all__ = ["epoch_order"]

_MOST = 2**31


@checked
def epoch_order(n: int, *, ranks: int, batch: int, accumulate: int = 1, seed: int, epoch: int,
                shuffle: bool = True) -> np.ndarray:  # fmt: skip
    """Return which samples each rank takes in each step of an epoch, each exactly once.

    Parameters
    ----------
    n : int
        Samples.
    ranks, batch : int
    accumulate : int, optional
        Micro-batches of `batch` samples for each rank and step.
    seed, epoch : int
        All that the order depends on.
    shuffle : bool, optional
        If False, samples keep their order.

    Returns
    -------
    int64[steps, accumulate, ranks, batch]
        Sample numbers.  In the last step -1 stands where no sample is left; shares of ranks differ
        by one sample at most, and a rank's empty places come last.

    Raises
    ------
    ValueError
        If there are more ranks than samples.

    Examples
    --------
    >>> epoch_order(10, ranks=2, batch=3, seed=0, epoch=0, shuffle=False).tolist()
    [[[[0, 2, 4], [1, 3, 5]]], [[[6, 8, -1], [7, 9, -1]]]]
    """
    check_shares(n, ranks)
    whole(batch, "batch", 1, _MOST)
    whole(accumulate, "accumulate", 1, _MOST)
    order = shuffled(n, seed=seed, epoch=epoch) if shuffle else np.arange(n)
    a_step = accumulate * batch * ranks
    dealt = np.full((-(-n // a_step), accumulate, batch, ranks), -1, np.int64)
    dealt.reshape(-1)[:n] = order
    return np.ascontiguousarray(dealt.swapaxes(2, 3))


def check_shares(n: int, ranks: int) -> None:
    """Refuse more ranks than samples."""
    whole(n, "n", 1, _MOST)
    whole(ranks, "ranks", 1, _MOST)
    if ranks > n:
        raise ValueError(f"{ranks} ranks cannot share {n} sample{'s' * (n > 1)}, since some would "
                         f"have none to take a step with; use at most {n} ranks")  # fmt: skip
