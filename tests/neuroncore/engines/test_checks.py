"""What every engine refuses, one test per documented limit of layout and access patterns."""

import numpy as np
import pytest

from trainium_edu.specs.errors import NkiValidationError


def _whole(view, shape):
    """Return all free elements of a view in another free shape."""
    return view.reshaped(*shape)


@pytest.mark.parametrize(
    ("memory", "dtype", "most"), [("sbuf", "uint8", 65_536), ("psum", "bfloat16", 4_096)]
)
def test_elements_of_one_instruction(bench, memory, dtype, most):
    tile = bench.empty(1, most + 1, dtype=dtype, memory=memory)
    bench.core.memset(dst=tile.sliced(slice(0, 1), slice(0, most)), value=0)
    with pytest.raises(NkiValidationError, match=f"at most {most} in {memory.upper()}"):
        bench.core.memset(dst=tile, value=0)


def test_four_free_axes_of_their_own(bench):
    tile = bench.tile(np.zeros((1, 3, 3, 3, 3, 3)))
    cut = [slice(0, 1), *[slice(0, 2)] * 5]
    with pytest.raises(NkiValidationError, match="5 free axes"):
        bench.issue("tensor_copy", dst=(1, 32), src=tile.sliced(*cut))
    cut[1] = slice(0, 1)
    assert bench.issue("tensor_copy", dst=(1, 16), src=tile.sliced(*cut)).size == 16
    assert bench.issue("tensor_copy", dst=(1, 243), src=tile).size == 243  # merged


def test_strides_are_int16(bench):
    tile = bench.empty(1, 2, 40_000, dtype="uint8")
    bench.core.memset(dst=tile.sliced(slice(0, 1), 0), value=1)
    with pytest.raises(NkiValidationError, match="int16: at most 32767"):
        bench.core.memset(dst=tile.sliced(slice(0, 1), slice(0, 2), slice(0, 8)), value=1)


@pytest.mark.parametrize(("partitions", "start"), [(33, 32), (65, 64), (40, 96)])
def test_start_partitions(bench, partitions, start):
    tile = bench.empty(128, 2)
    bench.core.memset(dst=tile, value=0.0)
    if start + partitions > 128:
        partitions = 128 - start
        start += 1
        partitions -= 1
    with pytest.raises(NkiValidationError, match=f"starts on partition {start}"):
        bench.core.memset(dst=tile.sliced(slice(start, start + partitions)), value=1.0)
