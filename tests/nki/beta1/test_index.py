"""Index expressions and masks of the older interface.  Judge: NumPy's arange and broadcasting."""

import numpy as np
import pytest

from tests.for_each import for_each, raises
from trainium_edu.nki.beta1.index import EMPTY, Mask, arange, box_of, mgrid
from trainium_edu.specs.errors import NkiValidationError

SUMS = [
    lambda i, j: i + j, lambda i, j: 3 * i - j * 2 + 7, lambda i, j: 5 - i, lambda i, j: -j,
    lambda i, j: (4 * i + 8) // 4 + j, lambda i, j: i // 3, lambda i, j: (i + j) % 5,
    lambda i, j: i * j, lambda i, j: np.int64(3) * i + np.int32(2), lambda i, j: 20 // (i + 1),
    lambda i, j: (2 * i)[3:5] + j[:, 1:3], lambda i, j: (i + j)[2], lambda i, j: (i + j)[..., None],
]  # fmt: skip


@for_each("number", range(len(SUMS)))
def test_arithmetic_is_numpys(number):
    ours = SUMS[number](arange(6)[:, None], arange(2, 10, 2)[None, :])
    numpys = SUMS[number](np.arange(6)[:, None], np.arange(2, 10, 2)[None, :])
    assert ours.shape == numpys.shape
    np.testing.assert_array_equal(np.array(ours), numpys)
    assert ours.bounds() == (numpys.min(), numpys.max())


def test_a_grid_is_numpys():
    ours, numpys = mgrid[0:4, 1:6], np.mgrid[0:4, 1:6]
    for mine, other in zip(ours, numpys, strict=True):
        np.testing.assert_array_equal(np.array(mine), other)
    assert ours.p is ours[0]
    assert ours.x is ours[1]
    raises(AttributeError, r"2 dimensions: \.p, \.x", lambda: ours.y)


MASKS = [
    lambda i, j: i < 4, lambda i, j: (i >= 2) & (j < 6), lambda i, j: 2 * j + 1 <= 9,
    lambda i, j: -128 * 3 + -1 * i + 388 >= 0, lambda i, j: i == 3, lambda i, j: i > 99,
    lambda i, j: (i < 4) & (j > 1) & (j != 99), lambda i, j: i + j >= 0, lambda i, j: i + j > 99,
    lambda i, j: i < 99, lambda i, j: (i > 1) | (i < 5),
]  # fmt: skip


@for_each("number", range(len(MASKS)))
def test_the_box_of_a_mask_is_where_numpy_says_that_it_holds(number):
    mask = MASKS[number](arange(6)[:, None], arange(8)[None, :])
    truth = np.broadcast_to(MASKS[number](np.arange(6)[:, None], np.arange(8)[None, :]), (6, 8))
    box = box_of(mask, (6, 8), "test")
    found = np.zeros((6, 8), bool)
    if box is not EMPTY:
        found[tuple(slice(*pair) for pair in box or ((0, 6), (0, 8)))] = True
    np.testing.assert_array_equal(found, truth)


def test_python_and_means_both():
    i, j = arange(6)[:, None], arange(8)[None, :]
    inner = (j > 0) & (j < 6)
    masks = [  # outside of asserts, whose `and` pytest rewrites
        i < 4 and j < 6,
        i < 4 and j < 6 and j > 0,
        i < 4 and 0 < j < 6,
        i < 4 and (lambda: j < 6)(),
        i < 4 and ~(j >= 6),
        i < 4 and (j < 6) & (j > 0),
        i < 4 and inner & True,
        3 < 4 and i < 4,
    ]
    boxes = [box_of(mask, (6, 8), "test") for mask in masks]
    wide, narrow = ((0, 4), (0, 6)), ((0, 4), (1, 6))
    assert boxes == [wide, narrow, narrow, wide, wide, narrow, narrow, ((0, 4), (0, 8))]
    assert box_of(j < 6, (6, 8), "test") == ((0, 6), (0, 6))
    corner = i < 3 and ((j < 2) | (j < 6))
    np.testing.assert_array_equal(
        corner.values(), np.broadcast_to(np.arange(6)[:, None] < 3, (6, 8)) & (np.arange(8) < 6)
    )


def test_and_with_what_is_no_new_mask_is_refused():
    i, j = arange(6)[:, None], arange(8)[None, :]
    made_before = j < 6
    for mask in (lambda: i < 4 and made_before, lambda: i < 4 and 2 < 3):
        raises(TypeError, "write mask & ", box_of, mask(), (6, 8), "test")


def test_numbers_and_truth_values_are_masks_too():
    i = arange(6)[:, None]
    assert box_of((i < 4) & True, (6, 8), "test") == ((0, 4), (0, 8))
    assert box_of((i < 4) & (3 > 5), (6, 8), "test") is EMPTY
    assert box_of(True, (6, 8), "test") is None
    assert box_of(np.False_, (6, 8), "test") is EMPTY
    assert isinstance(~(i < 4), Mask)
    assert box_of(~(i < 4), (6, 8), "test") == ((4, 6), (0, 8))


def test_a_triangle_is_no_box():
    mask = arange(6)[:, None] >= arange(6)[None, :]
    raises(NkiValidationError, "21 places that are no box", box_of, mask, (6, 6), "test")


def test_a_mask_of_another_shape_is_refused():
    with pytest.raises(NkiValidationError, match=r"mask has shape \[5, 1\].*has \[6, 8\]"):
        box_of(arange(5)[:, None] < 3, (6, 8), "test")
    with pytest.raises(NkiValidationError, match="do not go together"):
        arange(5)[:, None] + arange(6)[:, None]


def test_what_has_no_meaning_says_so():
    i = arange(6)[:, None]
    raises(TypeError, "whole number; i // n", lambda: i / 2)
    raises(TypeError, "no truth value", bool, i)
    raises(TypeError, "whole numbers", arange, 2.5)
    raises(NkiValidationError, "is empty", arange, 4, 4)
