"""Convolution with pooling in stages: values, orders of time, and the floor that no time beats.

Judges: NumPy by the definition, and the time in which the array multiplies so much at its peak.
"""

import numpy as np
import pytest

import trainium_edu.nki as nki
from tests.for_each import for_each, for_rows
from trainium_edu.exercises.capstone_fused_convolution import operands, reference, run
from trainium_edu.nki.beta1.examples import fused_convolution as stages
from trainium_edu.specs.errors import NkiValidationError

NAMES = ("one_row_at_a_time", "weights_kept", "image_kept", "fused")


def test_the_reference_is_the_definition():
    images, weights, bias = operands(2, 3, 5, 7, "float32")
    out = reference(images, weights, bias, 1)
    for f, r, c in np.ndindex(3, 3, 5):
        window = images[0, :, r : r + 3, c : c + 3] * weights[f]
        assert out[0, f, r, c] == window.sum() + bias[f]
    cut = out[:, :, :2, :4].reshape(1, 3, 1, 2, 2, 2)
    assert np.array_equal(reference(images, weights, bias, 2), cut.max((3, 5)))


@for_rows("pool_size", 1, 2)
@for_each("name", NAMES)
@for_rows("dtype", "float16", "float32")
def test_every_stage_has_the_values_of_numpy(name, pool_size, dtype):
    arrays = operands(128, 256, 8, 10, dtype)
    found = run(getattr(stages, name), *arrays, pool_size=pool_size).outputs
    assert found.dtype == dtype
    assert np.array_equal(found, reference(*arrays, pool_size))


def test_two_images_and_two_blocks_of_rows():
    one, weights, bias = operands(128, 128, 36, 6, "float32")
    images = np.concatenate([one, one[:, :, ::-1]])
    found = nki.run(stages.fused, images, weights, bias, 2).outputs
    assert np.array_equal(found, reference(images, weights, bias, 2))


def test_each_stage_is_faster_than_the_one_before_and_none_beats_the_array():
    arrays = operands(128, 128, 18, 34, "float16")
    lines = [run(getattr(stages, name), *arrays, values=False).timeline for name in NAMES]
    times = [line.makespan_ns for line in lines]
    assert times == sorted(times, reverse=True)
    flops = 2 * 128 * 128 * 9 * 16 * 32
    floor_ns = flops / 91.75e12 * 1e9  # 128 x 128 x 2 x 2.8 GHz
    assert min(times) > floor_ns


def test_the_whole_image_takes_what_the_lesson_asks():
    shapes = (1, 256, 224, 224), (256, 256, 3, 3), (256,)
    arrays = [np.zeros(shape, np.float16) for shape in shapes]
    line = run(stages.fused, *arrays, pool_size=2, values=False).timeline
    floor_us = 2 * 256 * 256 * 9 * 222 * 222 / 91.75e12 * 1e6
    assert floor_us < line.makespan_ns / 1e3 < 720


def test_shapes_that_do_not_fit_are_refused():
    images, weights, bias = operands(128, 128, 8, 8, "float32")
    with pytest.raises(AssertionError, match="96 channels"):
        nki.run(stages.fused, images[:, :96], weights[:, :96], bias, 1)
    with pytest.raises((AssertionError, NkiValidationError)):
        nki.run(stages.fused, images, weights, bias, 4)
