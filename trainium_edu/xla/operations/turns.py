"""Many equal products: issued one by one, or recorded once and timed so many times."""

from collections.abc import Iterator
from math import prod

import numpy as np

from trainium_edu.neuroncore.recording.core import NeuronCore
from trainium_edu.neuroncore.recording.views import View

__all__ = ["turns"]

FEW = 8  #: turns that are recorded one by one


class _Whole(View):
    """A part that stands for every part: what touches it waits for all of the tensor."""

    __slots__ = ()

    def extent(self):
        info = self.buffer.info
        return 0, prod(info.shape[:-1]), 0, info.row_bytes, False


def turns(core: NeuronCore, out: View, *views: View) -> Iterator[list[View]]:
    """Yield the parts [M, N] of tensors [..., M, N] that belong together.

    Without values many turns are recorded as one that repeats; each writes a buffer of its own, as
    the parts of a tensor do not wait for each other, and the last writes `out`, for which its
    readers wait.

    Parameters
    ----------
    core : NeuronCore
    out : View[..., M, N] in HBM
        What is written.
    *views : View[..., M, N] in HBM
        With the same leading axes.
    """
    batch = out.shape[:-2]
    every = (out, *views)
    if core.values or prod(batch) < FEW:
        for place in np.ndindex(*batch):
            yield [view.sliced(*place) for view in every]
        return
    firsts = (view.sliced(*(0,) * len(batch)) for view in every)
    last, *parts = (_Whole(v.buffer, v.dtype, v.shape, v.strides, v.offset) for v in firsts)
    before = core.hbm_bytes
    with core.repeat(prod(batch) - 1):
        yield [core.hbm(last.shape, last.dtype), *parts]
    core.hbm_bytes = before  # the buffer stands for parts of `out`
    yield [last, *parts]
