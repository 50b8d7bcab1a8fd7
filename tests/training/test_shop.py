"""Baskets whose best score is known.  Judges: scipy's entropy, Gibbs' inequality, the stated
process in plain Python, and how far fair coins stray from their mean.
"""

import math

import numpy as np
import pytest
from scipy.stats import entropy

from trainium_edu.numerics import draw_bits
from trainium_edu.training import shop
from trainium_edu.training.shop import BASKET, ITEMS, baskets, expected_loss
from trainium_edu.training.tasks import TASKS
from trainium_edu.training.trainer import Job, Trainer, fit


def test_the_best_loss_is_the_coins_mean_entropy():
    p = baskets().probability
    assert baskets().best_loss == pytest.approx(entropy([p, 1 - p]).mean(), rel=1e-12)


def test_no_model_can_expect_less_than_the_coins_entropy():
    rng = np.random.default_rng(0)
    p = rng.uniform(0, 1, 200)
    least = expected_loss(p, p)
    for away in (1e-4, 0.01, 0.3):
        said = np.clip(p + rng.uniform(-away, away, 200), 1e-9, 1 - 1e-9)
        gap = entropy([p, 1 - p], [said, 1 - said]).mean()
        assert expected_loss(p, said) - least == pytest.approx(gap, rel=1e-6)
        assert gap > 0
    assert expected_loss([0.0, 1.0], [0.0, 1.0]) == 0
    assert expected_loss([0.5], [1.0]) == math.inf


def test_the_coins_that_fell_agree_with_their_bias_and_both_bounds():
    made = baskets()
    p, taken = made.probability, made.test_labels
    for low, high in ((0, 0.05), (0.05, 0.5), (0.5, 0.95), (0.95, 1)):
        here = (p >= low) & (p < high)
        spread = math.sqrt((p[here] * (1 - p[here])).sum())
        assert abs(taken[here].sum() - p[here].sum()) < 4 * spread
    losses = -np.log(np.where(taken, p, 1 - p))
    assert abs(losses.mean() - made.best_loss) < 4 * losses.std() / math.sqrt(len(p))
    right = (p > 0.5) == taken
    spread = math.sqrt((made.best_accuracy * (1 - made.best_accuracy)) / len(p))
    assert abs(right.mean() - made.best_accuracy) < 4 * spread


def test_a_bias_is_what_the_stated_process_gives():
    bits = draw_bits(ITEMS * 4, seed=3, step=0, n_random_bits=24)
    traits = [[(2 * (bits[4 * i + k] + 0.5) / 2**24 - 1) * math.sqrt(3) for k in range(4)]
              for i in range(ITEMS)]  # fmt: skip
    made = baskets(3)
    for numbers, p in list(zip(made.test_inputs.tolist(), made.probability, strict=True))[:20]:
        offered, *basket = numbers
        mean = [sum(traits[i][k] for i in basket) / BASKET for k in range(4)]
        fit_ = sum(a * b for a, b in zip(mean, traits[offered], strict=True))
        assert p == pytest.approx(1 / (1 + math.exp(-4 * fit_)), rel=1e-9)


def test_item_r_is_drawn_with_weight_one_over_the_root_of_its_place():
    counts = np.bincount(baskets().inputs.reshape(-1), minlength=ITEMS)
    weights = np.arange(1, ITEMS + 1) ** -0.5
    wanted = counts.sum() * weights / weights.sum()
    assert (abs(counts - wanted) < 5 * np.sqrt(wanted)).all()


def test_one_seed_makes_the_same_samples_and_another_others():
    before = baskets(1)
    baskets.cache_clear()
    again = baskets(1)
    assert (before.inputs == again.inputs).all()
    assert (before.labels == again.labels).all()
    assert not (before.inputs == baskets(2).inputs).all()


def test_a_trainers_probabilities_are_the_softmax_of_what_it_says():
    trainer = Trainer(Job(task="baskets", ranks=2, batch=8))
    said = trainer.probabilities()
    assert said.shape == (len(trainer.test[1]), 2)
    np.testing.assert_allclose(said.sum(axis=1), 1, atol=1e-12)
    assert (said.argmax(axis=1) == trainer.predictions()).all()
    half = np.full(len(said), 0.5)  # a model that knows nothing
    made = baskets()
    assert expected_loss(made.probability, half) == pytest.approx(math.log(2))
    assert expected_loss(made.probability, said[:, 1]) > made.best_loss


@pytest.mark.slow
def test_a_trained_recommender_comes_near_the_bound_and_stays_above_it():
    job = Job(task="baskets", dtype="float32", rounding="nearest", **TASKS["baskets"].settings)
    trainer = fit(job, job.schedule_steps).trainer
    made = shop.baskets()
    reached = expected_loss(made.probability, trainer.probabilities()[:, 1])
    assert made.best_loss < reached < made.best_loss + 0.02
    assert trainer.evaluate() > made.best_accuracy - 0.03
