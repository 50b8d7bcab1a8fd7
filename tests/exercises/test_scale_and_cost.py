"""Lesson 11's waste is that of runs that fail; its short cuts to an interval save at other times.

Judge: failures at random moments, one run after the other, in plain NumPy.
"""

import contextlib
import math

import numpy as np
import pytest

from tests.for_each import for_rows
from trainium_edu.cluster import against_p4d, model_flops, traffic
from trainium_edu.exercises import predict
from trainium_edu.exercises import scale_and_cost as check


@for_rows("steps", 40, 200, 1000)
def test_waste_is_that_of_a_simulated_run(steps):
    step_s, save_s, instance_mtbf_h, instances = 10.0, 60.0, 1000.0, 200
    rng, mtbf_s = np.random.default_rng(0), instance_mtbf_h * 3600 / instances
    segment, takes, wanted = steps * step_s + save_s, 0.0, 4_000_000 // steps
    for _ in range(wanted):
        while (failure := rng.exponential(mtbf_s)) < segment:
            takes += failure
        takes += segment
    simulated = takes / (wanted * steps * step_s) - 1
    assert check.waste(step_s, save_s, instance_mtbf_h, instances, steps) == pytest.approx(
        simulated, rel=0.05
    )


def rounded(belief):
    return lambda *case: max(1, round(belief(*case)))


def young(step_s, save_s, instance_mtbf_h, instances):
    return math.sqrt(2 * save_s * instance_mtbf_h * 3600 / instances) / step_s


def pair_of(belief):
    """Return a function that makes so many ranks of a degree for both, as it divides."""

    def fit(model):
        cut = belief(model)
        for tensor in (1, 2, 4, 8, 16, 32):
            with contextlib.suppress(check.PlanError):
                way = tensor, cut // tensor
                if not cut % tensor and check.memory(model, check.plan(*way)).fits:
                    return way
        return 1, cut

    return fit


@for_rows(
    "exercise, answered, right, beliefs",
    (check.interval, rounded, young, check.INTERVALS),
    (check.fit, pair_of, check.smallest_cut, check.CUTS),
    (check.cheapest, lambda belief: belief, check.chosen, check.CHOICES),
)
def test_the_right_answer_passes_and_each_belief_is_recognised(exercise, answered, right, beliefs):
    for student in (f"student {i}" for i in range(10 if exercise is check.cheapest else 20)):
        assert exercise(answered(right), student).status == "passed"
        for name, belief in beliefs.items():
            assert exercise(answered(belief), student).misconception == name


def test_a_model_with_forty_heads_is_cut_by_hand():
    """13 billion parameters: 4 x 13 / 8 = 6.5 GB of weights and gradients each, 5 GB of states."""
    assert check.smallest_cut(check.get_model("llama2-13b")) == 8


def answer(key, **values):
    return next(q for q in predict.of_lesson("11") if q.key == key).function(**values).value


def test_the_answers_of_the_lesson_are_what_their_arithmetic_gives_by_hand():
    shape, cluster = check.get_model("gpt3-175b"), check.Cluster("trn1.32xlarge", 32)
    parameters = 96 * 12 * 12288**2  # the blocks, but for vectors; embeddings are less than 1 %
    assert answer("11/fits-at-all", parameters=parameters, instance="trn1.32xlarge") == 6
    assert answer("11/bubble", stages=8, micro=16, batch=1024) == pytest.approx(700 / 23, rel=2e-3)

    plan = check.Plan(cluster, 32, 8, sequence_parallel=True, recompute="selective")
    line, layers, micro = 2048 * 12288 * 2, 12, 1024 // 4
    by_hand = (6 + 4) * layers * micro * line / (2 * 2 * parameters / 256)
    found = answer("11/wires", sent=traffic(shape, plan), plan=plan)
    assert found == pytest.approx(by_hand, rel=0.01)

    flops, step_s = 1024 * model_flops(shape), 1024 / 12.7
    compared = against_p4d(flops, step_s, cluster)
    by_hand = 100 * flops / step_s / (32 * 8 * 312e12) * 32.7726 / 21.5
    values = {"compared": compared, "flops": flops, "step_s": step_s, "cluster": cluster}
    assert answer("11/break-even", **values) == pytest.approx(by_hand, rel=2e-3)


def test_a_plan_of_fewer_instances_is_cheaper_and_slower():
    """Strong scaling loses: twice the instances are less than twice as fast."""
    speeds = {
        n: check.step_time("gpt3-23b", check.run_plan(n, 8, 2)).tokens_per_s for n in (2, 4, 8, 16)
    }
    each = [speeds[n] / n for n in speeds]
    assert each == sorted(each, reverse=True)
