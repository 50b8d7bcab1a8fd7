"""Which sample goes to which rank in which step, and loaders that fetch them.

The shuffled samples are dealt like cards: rank r of R gets numbers r, r + R, r + 2 R ... of the
order, as PyTorch's ``DistributedSampler`` deals them.  So a script with a sampler for each rank
and the trainer, which calls :func:`deal`, feed the same samples to the same ranks.  The order
depends on (seed, epoch) alone.
"""

from collections.abc import Iterator

import numpy as np

from trainium_edu.neuroncore.advice.evidence import several
from trainium_edu.specs.arguments import short, whole, wholes
from trainium_edu.specs.signatures import checked
from trainium_edu.training.data import shuffled
from trainium_edu.training.refusals import sentence
from trainium_edu.xla.device import current_world

__all__ = ["DataLoader", "DistributedSampler", "deal"]

_MOST = 2**31


@checked
def deal(numbers: np.ndarray, *, ranks: int, batch: int, accumulate: int = 1) -> np.ndarray:
    """Deal sample numbers to ranks in turn, step by step, each exactly once.

    Parameters
    ----------
    numbers : int64[n]
    ranks, batch : int
    accumulate : int, optional
        Micro-batches of `batch` samples for each rank and step.

    Returns
    -------
    int64[steps, accumulate, ranks, batch]
        In the last step, -1 where no number is left; shares of ranks differ by one at most,
        and a rank's empty places come last.

    Examples
    --------
    >>> deal(np.arange(4), ranks=3, batch=2).tolist()
    [[[[0, 3], [1, -1], [2, -1]]]]
    """
    wholes(1, _MOST, ranks=ranks, batch=batch, accumulate=accumulate)
    if numbers.ndim != 1 or numbers.dtype.kind not in "iu":
        raise ValueError(sentence("loader.numbers", shape=list(numbers.shape), numbers=numbers))
    steps = -(-len(numbers) // (accumulate * batch * ranks))
    dealt = np.full((steps, accumulate, batch, ranks), -1, np.int64)
    dealt.reshape(-1)[: len(numbers)] = numbers
    return np.ascontiguousarray(dealt.swapaxes(2, 3))


def check_shares(n, ranks) -> None:
    """Refuse more ranks than samples."""
    wholes(1, _MOST, n=n, ranks=ranks)
    if ranks > n:
        given, most = several(n, "sample"), several(n, "rank")
        raise ValueError(sentence("loader.too_few", ranks=ranks, given=given, most=most))


class DistributedSampler:
    """The sample numbers of one rank, epoch by epoch, under PyTorch's names.

    PyTorch repeats samples until all ranks have as many; this one loses none and doubles none, so
    that ranks may differ by one sample.  Ranks in lockstep must feed equal shapes: let them drop.

    Parameters
    ----------
    dataset : sized, or a tuple of arrays
        Only its length counts.
    num_replicas, rank : int, optional
        Default: those of the world in which the sampler is made.
    shuffle : bool
    seed : int
        The same on all ranks.
    drop_last : bool
        Leave out the last samples that do not make one more for each rank.

    Raises
    ------
    ValueError
        If there are more ranks than samples, or no such rank.

    Examples
    --------
    >>> list(DistributedSampler(range(5), 2, 1, shuffle=False))
    [1, 3]
    """

    @checked
    def __init__(self, dataset, num_replicas: int | None = None, rank: int | None = None,
                 shuffle: bool = True, seed: int = 0, drop_last: bool = False):  # fmt: skip
        here = current_world()
        self.num_replicas = here.size if num_replicas is None else num_replicas
        self.rank = here.ordinal if rank is None else rank
        self._count = _length(dataset)
        check_shares(self._count, self.num_replicas)
        whole(self.rank, "rank", 0, self.num_replicas - 1)
        self.shuffle, self.seed, self.drop_last = shuffle, seed, drop_last
        self.epoch = 0

    def set_epoch(self, epoch: int) -> None:
        """Choose the order of the next epoch; without a call, every epoch has the same order."""
        self.epoch = whole(epoch, "epoch", 0, 2**32)

    def __len__(self):
        each, over = divmod(self._count, self.num_replicas)
        return each if self.drop_last else each + (self.rank < over)

    def __iter__(self) -> Iterator[int]:
        count, ranks = self._count, self.num_replicas
        order = (shuffled(count, seed=self.seed, epoch=self.epoch) if self.shuffle
                 else np.arange(count))  # fmt: skip
        if self.drop_last:
            order = order[: count - count % ranks]
        return iter(order[self.rank :: ranks].tolist())


class DataLoader:
    """Go through a dataset in batches of NumPy arrays, under PyTorch's names.

    A batch is read when it is asked for: what an emulated chip waits for is not this computer.
    What workers and prefetch change on a machine is in ``pipeline.py``.

    Parameters
    ----------
    dataset : tuple of arrays
        Their first axis counts samples; the last of them are the labels.
    batch_size : int
    shuffle : bool
        In another order in each epoch.
    sampler : iterable of int, optional
        In place of `shuffle`.
    drop_last : bool
        Leave out the last batch if it is not full.
    seed : int
        Of the order, where `shuffle` is on.

    Raises
    ------
    ValueError
        For a dataset without samples, arrays of unequal lengths, or `shuffle` beside a sampler.

    Examples
    --------
    >>> loader = DataLoader((np.arange(5) * 10, np.arange(5)), batch_size=2)
    >>> [y.tolist() for _, y in loader]
    [[0, 1], [2, 3], [4]]
    """

    @checked
    def __init__(self, dataset: tuple, batch_size: int = 1, *, shuffle: bool = False, sampler=None,
                 drop_last: bool = False, seed: int = 0):  # fmt: skip
        check_shares(_length(dataset), 1)
        if sampler is not None and shuffle:
            raise ValueError("a sampler has an order of its own; leave shuffle out, or the sampler")
        if sampler is not None and not hasattr(sampler, "__iter__"):
            raise TypeError(sentence("loader.sampler", sampler=short(sampler)))
        self.batch_size = whole(batch_size, "batch_size", 1, _MOST)
        self.dataset, self.drop_last = dataset, drop_last
        self._own = sampler is None
        self.sampler = DistributedSampler(dataset, 1, 0, shuffle, seed) if self._own else sampler

    def __len__(self):
        count = len(self.sampler)
        return count // self.batch_size if self.drop_last else -(-count // self.batch_size)

    def __iter__(self) -> Iterator:
        numbers, size = np.fromiter(self.sampler, np.int64), self.batch_size
        parts = [numbers[i * size : (i + 1) * size] for i in range(len(self))]
        if self._own:
            self.sampler.set_epoch(self.sampler.epoch + 1)
        return (tuple(np.asarray(array)[part] for array in self.dataset) for part in parts)


def _length(dataset) -> int:
    """Return how many samples a dataset has."""
    if not hasattr(dataset, "__len__"):
        raise TypeError(sentence("loader.no_length", dataset=short(dataset)))
    if not isinstance(dataset, tuple):
        return len(dataset)
    lengths = {len(array) for array in dataset}
    if len(lengths) != 1:
        raise ValueError("the dataset's arrays must have one length, and have "
                         f"{', '.join(map(str, sorted(lengths))) or 'none'}")  # fmt: skip
    return lengths.pop()
