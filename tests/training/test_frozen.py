"""Weights that stand still.  Judge: ml_dtypes' nearest-even, weight by weight."""

import ml_dtypes
import numpy as np
import pytest

from trainium_edu.training import batches, digits, epochs, frozen_weights, gradient


@pytest.mark.compiled
def test_the_count_is_that_of_ml_dtypes():
    *_, last = epochs("fp32", learning_rate=0.03, epochs=3, seeds=[1])
    weights = last.weights.astype(ml_dtypes.bfloat16)
    data = digits()
    picked = batches(1437, seed=1, epoch=3)[:1]
    grad, _ = gradient(
        weights.astype(np.float32), data.train_images[picked], data.train_labels[picked], bf16=True
    )
    moved = (weights.astype(np.float32) - np.float32(0.01) * grad).astype(ml_dtypes.bfloat16)
    found = frozen_weights(0.01, after_epochs=3, seed=1)
    assert found.pulled == np.count_nonzero(grad)
    assert found.frozen == np.count_nonzero((moved == weights) & (grad != 0))


@pytest.mark.compiled
def test_a_smaller_rate_freezes_more():
    shares = [frozen_weights(rate, after_epochs=3).share for rate in (0.1, 0.03, 0.01, 0.003)]
    assert shares == sorted(shares)
