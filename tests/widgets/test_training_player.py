"""The player of a training run.  Judge: ``train_in_frames``; set a trait, read what is sent."""

import numpy as np
import pytest

from tests.for_each import for_rows, raises
from trainium_edu.training import FRAMES_PER_PASS, digits, train_in_frames
from trainium_edu.widgets.training import RATES
from trainium_edu.widgets.training_player import first_training_run


def frames(widget):
    return np.frombuffer(widget.guesses, np.uint8).reshape(-1, 360)


def test_it_sends_the_run_sorted_by_digit():
    widget, run = first_training_run(0.1, passes=2), train_in_frames(learning_rate=0.1, passes=2)
    labels = np.frombuffer(widget.labels, np.uint8)
    assert (np.diff(labels.astype(int)) >= 0).all()
    assert frames(widget).shape == (2 * FRAMES_PER_PASS + 1, 360)
    assert np.array_equal((frames(widget) == labels).sum(axis=1), run.right)
    assert np.allclose(np.frombuffer(widget.loss, np.float32)[1:], run.loss[1:])
    images = np.frombuffer(widget.images, np.uint8).reshape(360, 64)
    fours = digits().test_images[digits().test_labels == 4]
    assert np.array_equal(images[labels == 4], (255 * fours).astype(np.uint8))


def test_another_rate_is_another_run_and_an_impossible_one_is_none():
    widget = first_training_run(0.1, passes=1)
    before = widget.guesses
    widget.rate = 0.01
    assert widget.guesses != before
    assert "learning rate 0.01" in repr(widget)
    for bad in (0.5, float("nan")):
        widget.rate = bad
        assert widget.rate == 0.01


def test_the_smaller_the_rate_the_fewer_are_read():
    read = [first_training_run(rate, passes=20).run.right[-1] for rate in RATES]
    assert read == sorted(read)


def test_the_repr_is_fixed():
    assert repr(first_training_run(0.1, passes=1)) == repr(first_training_run(0.1, passes=1))


@for_rows("bad", 0.5, float("nan"), "0.1", None)
def test_a_rate_that_is_not_offered_is_refused(bad):
    raises(ValueError, "the control offers", first_training_run, bad)


@for_rows("bad", 0, 61, 2.5, True, "20")
def test_an_impossible_number_of_passes_is_refused(bad):
    with pytest.raises((TypeError, ValueError), match="must be an integer from 1 to 60"):
        first_training_run(passes=bad)
