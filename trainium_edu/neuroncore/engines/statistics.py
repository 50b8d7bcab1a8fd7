"""Mean and variance on the Vector Engine: ``bn_stats`` counts, ``bn_aggr`` combines."""

import numpy as np

from trainium_edu.neuroncore.engines.checks import limits
from trainium_edu.neuroncore.engines.costs import priced
from trainium_edu.neuroncore.engines.vector import rows, store
from trainium_edu.neuroncore.recording.engine import Engine
from trainium_edu.neuroncore.recording.instruction_set import define


def _stats(call):
    """Write (count, mean, variance * count) of the even elements, then of the odd ones."""
    data = rows(call.data)
    out = np.zeros((len(data), 6), np.float32)
    for first in (0, 1):
        part = data[:, first::2]
        count = part.shape[1]
        if count:
            mean = part.sum(axis=1, dtype=np.float32) / np.float32(count)
            apart = part - mean[:, None]
            out[:, 3 * first] = count
            out[:, 3 * first + 1] = mean
            out[:, 3 * first + 2] = (apart * apart).sum(axis=1, dtype=np.float32)
    store(call, "dst", out)


define(
    "bn_stats", Engine.VECTOR, reads=("data",), execute=_stats, by_shape=True,
    check=limits(
        data="[P, F ≤ vector_engine.bn_stats_free_max]: "
        "call it on pieces and give all the results to one bn_aggr",
        dst="[P, 6]: count, mean, variance * count, twice",
    ),
    **priced("bn_stats", "data", "dst"),
)  # fmt: skip


def _aggr(call):
    """Write the mean and variance of all groups together."""
    groups = rows(call.data)
    groups = groups.reshape(len(groups), -1, 3)
    count, mean, spread = groups[..., 0], groups[..., 1], groups[..., 2]
    total = count.sum(axis=1, dtype=np.float32)
    whole_mean = (count * mean).sum(axis=1, dtype=np.float32) / total
    between = count * (mean - whole_mean[:, None]) ** 2
    variance = (spread + between).sum(axis=1, dtype=np.float32) / total
    store(call, "dst", np.stack([whole_mean, variance], axis=1))


define(
    "bn_aggr", Engine.VECTOR, reads=("data",), execute=_aggr, by_shape=True,
    check=limits(
        data="[P, F multiple of 3]: it holds groups of count, mean, variance * count",
        dst="[P, 2]: mean and variance",
    ),
    **priced("bn_aggr", "data", "dst"),
)  # fmt: skip
