"""A run in frames.  Judge: ``train``, which takes no pictures on its way, bit for bit."""

import numpy as np
import pytest

from tests.for_each import for_each
from trainium_edu.training import ARMS, FRAMES_PER_PASS, digits, predict, train, train_in_frames

pytestmark = pytest.mark.compiled  # whole trainings take minutes where Numba is switched off


@for_each("arm", list(ARMS))
def test_a_run_in_frames_is_the_run(arm):
    frames = train_in_frames(arm, learning_rate=0.1, passes=3, seed=2)
    run = train(arm, learning_rate=0.1, epochs=3, seeds=[2], rounding_seed=0)
    whole = slice(FRAMES_PER_PASS, None, FRAMES_PER_PASS)
    assert np.array_equal(frames.right[whole] / 360, run.accuracy[:, 0])
    by_pass = frames.loss[1:].reshape(3, FRAMES_PER_PASS).mean(axis=1)
    assert np.allclose(by_pass, run.loss[:, 0], rtol=1e-12)
    named = predict(
        run.weights.astype(np.float32), digits().test_images, bf16=ARMS[arm].compute == "bf16"
    )
    assert np.array_equal(frames.guesses[-1], named[0])


def test_before_training_it_guesses():
    """Judge: one in ten of 360, three standard deviations (5.7) around; several starts."""
    right = np.mean([train_in_frames(passes=1, seed=seed).right[0] for seed in range(10)])
    assert 36 - 3 * 5.7 < right < 36 + 3 * 5.7
    assert np.isnan(train_in_frames(passes=1).loss[0])


def test_a_run_that_diverges_has_frames_without_a_warning():
    frames = train_in_frames("fp32", learning_rate=1e30, passes=1)
    assert not np.isfinite(frames.loss[1:]).all()
