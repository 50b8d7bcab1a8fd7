"""What lesson 09 tries: judges are math.fsum, counting, and a step on a single rank."""

import math

import numpy as np

from tests.for_each import for_rows
from trainium_edu.training import digits_on_ranks as tried


def test_a_batch_split_over_ranks_gives_the_same_step_up_to_reordering():
    one = tried.weights_after(1, 32)
    for ranks in (2, 8):
        np.testing.assert_allclose(tried.weights_after(ranks, 32), one, rtol=0, atol=1e-6)


@for_rows("algorithm", "ring", "mesh", "kangaring")
def test_a_sum_in_any_order_is_near_the_exact_one(algorithm):
    exact = math.fsum(np.random.default_rng(0).normal(0, 1, (32, 32)).astype(np.float32)[:, 0])
    assert abs(float(tried.one_sum(algorithm)) - exact) < 31 * 2**-24 * 32


def test_algorithms_add_in_different_orders():
    assert len({float(tried.one_sum(name)) for name in ("ring", "mesh")}) == 2


def test_every_run_of_the_rule_sees_each_image_as_often():
    runs = tried.linear_rule((2, 4), passes=1, per_rank=0.01)
    images = {key: sum(step.samples for step in run.steps) for key, run in runs.items()}
    assert set(images.values()) == {len(runs[2, False].trainer.labels)}
    assert [run.job.lr for run in runs.values()] == [0.02, 0.02, 0.04]


def test_formats_begin_with_the_same_weights():
    first = [run.loss[0] for run in tried.formats(1, ranks=2).values()]
    assert max(first) - min(first) < 0.01
