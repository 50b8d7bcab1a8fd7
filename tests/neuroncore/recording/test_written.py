"""Written rectangles against a plain mask, in random orders."""

import numpy as np

from tests.for_each import for_each, for_rows
from trainium_edu.neuroncore import NeuronCore
from trainium_edu.neuroncore.recording.written import Written


@for_each("seed", range(20))
def test_rectangles_say_what_a_mask_says(seed):
    rng = np.random.default_rng(seed)
    written, mask = Written(8, 12), np.zeros((8, 12), bool)
    for _ in range(40):
        (r0, r1), (b0, b1) = np.sort(rng.integers(0, 9, 2)), np.sort(rng.integers(0, 13, 2))
        if r0 == r1 or b0 == b1:
            continue
        if rng.random() < 0.5:
            written.add(int(r0), int(r1), int(b0), int(b1))
            mask[r0:r1, b0:b1] = True
        elif written.covers(r0, r1, b0, b1):
            assert mask[r0:r1, b0:b1].all()
    assert np.array_equal(written.bytes().reshape(8, 12) != 0, mask)


def test_neighbours_merge_into_one():
    written = Written(128, 2048)
    for row in (0, 64):
        for start in range(0, 2048, 512):
            written.add(row, row + 64, start, start + 512)
    assert written.rectangles == [(0, 128, 0, 2048)]


@for_rows("memory", "sbuf", "psum")
@for_rows("address", None, 512)
def test_slices_and_strides_of_tiles(memory, address):
    core = NeuronCore()
    tile = getattr(core, memory)((4, 6, 8), address=address)
    mask = np.zeros((4, 6, 8), bool)
    rng = np.random.default_rng(3)
    for _ in range(60):
        index = []
        for size in tile.shape:
            a, b = np.sort(rng.choice(size + 1, 2, replace=False))
            index.append(slice(int(a), int(b)))
        index[2] = slice(index[2].start, index[2].stop, int(rng.integers(1, 3)))
        part = tile.sliced(*index)
        assert np.array_equal(part.written(), mask[tuple(index)])
        assert part.is_written() == mask[tuple(index)].all()
        if rng.random() < 0.4:
            part.write_bits(np.float32(1))
            mask[tuple(index)] = True
    assert np.array_equal(np.isnan(core.value(tile)), ~mask)


def test_hbm_tensors_filled_by_tiles_are_written_as_a_whole(core):
    out = core.hbm((256, 1024), "float32")
    for row in (0, 128):
        for column in (512, 0):
            part = out.sliced(slice(row, row + 128), slice(column, column + 512))
            assert not part.is_written()
            part.write_bits(np.float32(2))
            assert part.is_written()
    assert out.is_written()
    assert out.buffer.all_written


def test_two_tiles_at_one_address_share_what_is_written(core):
    a, b = (core.sbuf((4, 8), address=64) for _ in range(2))
    a.write_bits(np.float32(7))
    assert b.is_written()
    assert core.value(b)[3, 7] == 7
