"""The digits and their dealing.  Judge: scikit-learn's own loader, and counting."""

import ml_dtypes
import numpy as np
import pytest
from sklearn.datasets import load_digits

from trainium_edu.training import batches, digits
from trainium_edu.training.data import uniform


def test_the_digits_are_scikit_learns_split_every_fifth_and_exact_in_bf16():
    bunch = load_digits()
    data = digits()
    held_out = np.arange(1797) % 5 == 0
    assert (data.test_images * 16 == bunch.data[held_out]).all()
    assert (data.train_images * 16 == bunch.data[~held_out]).all()
    assert (data.test_labels == bunch.target[held_out]).all()
    assert (data.train_labels == bunch.target[~held_out]).all()
    assert set(data.train_labels) == set(data.test_labels) == set(range(10))
    images = digits().train_images
    assert (images.astype(ml_dtypes.bfloat16).astype(np.float32) == images).all()
    with pytest.raises(ValueError, match="read-only"):
        digits().train_images[0, 0] = 1


def test_an_epoch_deals_each_image_once_by_seed_and_epoch_alone():
    dealt = batches(1437, seed=3, epoch=5).ravel()
    assert len(dealt) == 1408 == len(set(dealt))
    assert dealt.min() >= 0
    assert dealt.max() < 1437
    one = batches(1437, seed=3, epoch=5)
    assert (one == batches(1437, seed=3, epoch=5)).all()
    assert (one != batches(1437, seed=3, epoch=6)).any()
    assert (one != batches(1437, seed=4, epoch=5)).any()


def test_start_values_fill_the_interval_evenly():
    draws = uniform(100_000, seed=0)
    assert draws.dtype == np.float32
    assert np.abs(draws).max() < 1
    counts = np.histogram(draws, bins=20, range=(-1, 1))[0]
    assert np.abs(counts - 5000).max() < 5 * np.sqrt(5000)
