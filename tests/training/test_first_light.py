"""Judge: the same training with NumPy's sum on one machine, and the ranks against one another."""

import numpy as np
import pytest

from tests.for_each import for_rows
from trainium_edu import fabric
from trainium_edu.training.first_light import first_light

TRN1 = fabric.trn1_32xlarge()


def by(algorithm):
    return lambda gradients: fabric.all_reduce(gradients, TRN1, algorithm)


@for_rows("algorithm", "ring", "kangaring", "mesh", "rdh")
def test_any_all_reduce_trains_like_numpys_sum_and_ranks_agree(algorithm):
    run = first_light(by(algorithm), steps=5)
    judge = first_light(lambda g: [g.sum(axis=0)] * 32, steps=5)
    assert run.ranks_agree
    np.testing.assert_allclose(run.weights, judge.weights, atol=2e-6)


@pytest.mark.compiled  # half a minute as plain Python
def test_thirty_two_ranks_learn():
    run = first_light(lambda g: [g.sum(axis=0)] * 32)
    assert run.accuracy[0] < 0.3
    assert run.accuracy[-1] > 0.9
    assert run.loss[-1] < run.loss[0] / 4
    assert run.gradient_bytes == 4810 * 4


def test_many_ranks_do_what_one_rank_with_all_images_does():
    wide = first_light(lambda g: [g.sum(axis=0)] * 32, 32, steps=3, images_per_rank=4)
    one = first_light(lambda g: list(g), 1, steps=3, images_per_rank=128)
    np.testing.assert_allclose(wide.loss, one.loss, atol=1e-5)
    np.testing.assert_allclose(wide.weights[0], one.weights[0], atol=1e-5)


def test_forgetting_the_sum_makes_ranks_drift_apart():
    assert not first_light(lambda g: list(g), 4, steps=2).ranks_agree
