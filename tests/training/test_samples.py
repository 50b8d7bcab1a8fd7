"""Judges: scikit-learn's own arrays, and PyTorch-free algebra on the trained network."""

import numpy as np
import pytest

from trainium_edu.training import digits, train
from trainium_edu.training.samples import SAMPLES, sample

trained = pytest.mark.compiled  # twenty epochs of training: minutes as plain Python


@pytest.mark.parametrize(
    "name", [pytest.param(n, marks=[] if n in ("digit", "photo") else trained) for n in SAMPLES]
)
def test_samples_are_real_read_only_and_finite(name):
    x = sample(name)
    assert x.dtype == np.float32
    assert not x.flags.writeable
    assert np.isfinite(x).all()
    assert np.ptp(x) > 0
    assert sample(name) is x


@trained
def test_activations_are_what_float64_algebra_gives():
    again = train("fp32", learning_rate=0.1, epochs=20, seeds=[0])
    flat = np.asarray(again.weights, np.float32)[0].astype(np.float64)
    w1, b1 = flat[:4096].reshape(64, 64), flat[4096:4160]
    judge = np.maximum(w1 @ digits().train_images[:256].T.astype(np.float64) + b1[:, None], 0)
    np.testing.assert_allclose(sample("activations"), judge, atol=2e-5)
    np.testing.assert_array_equal(sample("weights").ravel(), flat[:4096].astype(np.float32))


@trained
def test_the_gradient_of_an_empty_pixel_is_zero():
    never_inked = (digits().train_images[:256] == 0).all(axis=0)
    assert never_inked.any()
    assert (sample("gradients")[:, never_inked] == 0).all()


def test_the_photograph_is_scikit_learns():
    from sklearn.datasets import load_sample_image

    original = load_sample_image("china.jpg")[::3, ::3]
    np.testing.assert_array_equal(np.round(sample("photo") * 255), original)
