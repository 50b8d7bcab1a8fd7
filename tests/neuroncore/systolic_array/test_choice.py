"""Who stays, and convolutions: judged by the documented formula by hand and by direct loops."""

import numpy as np

from tests.for_each import for_rows, raises
from trainium_edu.neuroncore.systolic_array import choice_cycles, convolution_operands, run


def test_a_vector_times_a_matrix_by_hand():
    """32 tiles at 64 cycles against 8 tiles at 512: the guide's advice, in numbers."""
    prices = choice_cycles(128, 1, 4096)
    assert prices["W stays"]["documented"] == 32 * 64
    assert prices["x stays"]["documented"] == 8 * 512
    assert prices["W stays"]["array"] < prices["x stays"]["array"]


def test_the_choice_is_symmetric():
    one, other = choice_cycles(128, 1, 4096), choice_cycles(128, 4096, 1)
    assert one["W stays"] == other["x stays"]


def test_a_convolution_as_a_product_equals_direct_loops():
    draw = np.random.default_rng(0)
    images, kernels = draw.integers(0, 9, (3, 5, 6)), draw.integers(-2, 3, (2, 2, 3))
    stationary, moving = convolution_operands(images, kernels)
    got = run(stationary, moving, fmt="bf16").result.reshape(2, 3, 4, 4)
    for f in range(2):
        for image in range(3):
            for i in range(4):
                for j in range(4):
                    patch = images[image, i : i + 2, j : j + 3]
                    assert got[f, image, i, j] == (patch * kernels[f]).sum()


@for_rows(
    "images, kernels, says", ((2, 4, 4), (1, 5, 5), "do not fit"), ((4, 4), (1, 3, 3), "three axes")
)
def test_impossible_convolutions_are_refused(images, kernels, says):
    raises(ValueError, says, convolution_operands, np.ones(images), np.ones(kernels))
