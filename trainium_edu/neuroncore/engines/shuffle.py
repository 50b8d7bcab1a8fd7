"""Moving data between partitions on the Vector Engine: a shuffle inside each quarter of 32.

Lanes do not see each other; inside a quarter the Vector Engine can send any partition to any other,
the same way in every quarter.
"""

import numpy as np

from trainium_edu.neuroncore.engines.checks import integer, limits
from trainium_edu.neuroncore.engines.costs import priced
from trainium_edu.neuroncore.recording.engine import Engine
from trainium_edu.neuroncore.recording.instruction_set import define
from trainium_edu.neuroncore.recording.memory import check_start_partition

UNMODIFIED = 255  # in a shuffle mask: leave this partition as it is


def _check_shuffle(call):
    dst, src = call.dst, call.src
    group = int(call.core.spec.vector_engine.shuffle_group.value)
    mask = call.shuffle_mask
    if not isinstance(mask, list | tuple | np.ndarray) or len(mask) != group:
        raise TypeError(
            f"nc_stream_shuffle: shuffle_mask is {mask!r:.60}; it must be a list of {group} "
            "numbers, one for each partition of a quarter"
        )
    for source in mask:
        lane = integer(call, "an entry of shuffle_mask", source)
        if lane != UNMODIFIED and not 0 <= lane < group:
            call.refuse(
                f"shuffle_mask holds {source}; a partition copies from 0 to {group - 1} of its own "
                f"quarter, and {UNMODIFIED} leaves it unmodified"
            )
    active = -(-max(src.shape[0], dst.shape[0]) // group) * group
    for view in (src, dst):
        if active > 32 or view.start_partition % 32:
            check_start_partition(
                view.start_partition, min(active, 128), f"nc_stream_shuffle: {view!r}"
            )


def _shuffle(call):
    dst, src = call.dst, call.src
    mask = [source.__index__() for source in call.shuffle_mask]
    values = np.array(src.read()).reshape(src.shape[0], -1)
    for quarter in range(0, dst.shape[0], len(mask)):
        for lane, source in enumerate(mask):
            to, came = quarter + lane, quarter + source
            if source == UNMODIFIED or to >= dst.shape[0]:
                continue
            if came >= src.shape[0]:
                call.refuse(
                    f"partition {to} of dst copies from partition {came}, but src has "
                    f"{src.shape[0]}"
                )
            row = dst.sliced(slice(to, to + 1))
            row.write_bits(values[came].reshape(row.shape))


define(
    "nc_stream_shuffle", Engine.VECTOR, reads=("src",), options=("shuffle_mask",),
    check=limits(
        src="[P, F]", dst="[Q, F]: a shuffle moves whole partitions; like src",
        shuffle_mask=_check_shuffle,
    ),
    execute=_shuffle, **priced("nc_stream_shuffle", "dst", "src"),
)  # fmt: skip
