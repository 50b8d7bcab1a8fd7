"""A bit is followed to where it came from: judged by `fabric.execute`, ml_dtypes and PyTorch-free
closed forms (the toss is redone by `numerics.rounding_scalar`'s rule, by hand).
"""

import ml_dtypes
import numpy as np
import pytest

from tests.for_each import raises
from trainium_edu import fabric
from trainium_edu.training import Job, explain, fit, flip
from trainium_edu.training.follow import hops_of
from trainium_edu.training.parallel.collectives import Links

JOB = Job(ranks=8, batch=8, lr=0.05, momentum=0.9)


@pytest.fixture(scope="module")
def run():
    return fit(JOB, 14)


@pytest.mark.parametrize("weight", ["0.weight[3, 20]", "2.bias[7]", "4.weight[9, 255]"])
def test_a_toss_follows_from_the_exact_value_and_its_random_bits(run, weight):
    told = explain(run, 12, weight)
    near = np.array(told.exact, ml_dtypes.bfloat16)
    assert float(near) in (told.toss.low, told.toss.high)
    assert abs(told.toss.low) <= abs(told.exact) <= abs(told.toss.high)
    word = int(np.float32(told.exact).view(np.uint32))
    up = (word & 0xFFFF) + told.toss.random_bits >= 2**16
    assert told.after == (told.toss.high if up else told.toss.low)
    assert told.toss.share == (told.exact - told.toss.low) / (told.toss.high - told.toss.low)


def test_the_explained_step_is_the_runs_own_and_leaves_it_alone(run):
    """The sum of the shards is close to the sum that travelled in BF16: eight roundings apart."""
    last = run.steps[-1].number
    value = dict(run.trainer.model.named_parameters())["2.weight"].numpy()[:, 5, 6]
    told = explain(run, last, "2.weight[5, 6]")
    assert (value == told.after).all()
    assert told.before == explain(run, last - 1, "2.weight[5, 6]").after
    before, number = run.trainer.weights(), run.trainer.number
    explain(run, 3, "0.bias[0]")
    assert run.trainer.number == number
    assert all((before[k] == v).all() for k, v in run.trainer.weights().items())
    told = explain(run, 12, "4.weight[0, 3]")
    bound = 8 * 2.0**-8 * np.abs(told.shards).sum()
    assert abs(told.shards.sum(dtype=np.float64) - told.total) <= bound


def test_the_hops_tell_of_the_bits_that_the_run_summed_by(run, monkeypatch):
    """Judge: what the links returned when the run took that step."""
    sums = []
    whole = Links.all_reduce

    def all_reduce(links, flat, node, draw):
        sums.append((node, whole(links, flat, node, draw)))
        return sums[-1][1]

    monkeypatch.setattr(Links, "all_reduce", all_reduce)
    told = explain(run, 12, "4.bias[2]")  # of the last layer, which leads its bucket
    node, total = sums[-1]
    assert run.job.rounding == "stochastic"
    assert node.inputs[0].shape == (10,)
    assert told.total == total[2]


def test_the_update_of_plain_sgd_is_weight_minus_rate_times_mean():
    run = fit(Job(ranks=4, batch=8, dtype="float32", rounding="nearest", lr=0.125), 3)
    told = explain(run, 2, "4.bias[1]")
    mean = np.float32(told.total) * np.float32(told.scale)
    assert told.exact == np.float32(told.before) - mean * np.float32(0.125) == told.after
    assert told.toss is None
    raises(ValueError, "kept in FP32", flip, run, 2, "4.bias[1]")


@pytest.mark.parametrize("dtype", ["float32", "bfloat16"])
@pytest.mark.parametrize("rounding", ["nearest", "stochastic"])
@pytest.mark.parametrize("algorithm", ["ring", "kangaring", "rdh", "mesh", "ring_by_dimension"])
def test_hops_end_at_the_sum_that_the_fabric_makes(algorithm, rounding, dtype):
    if dtype == "float32" and rounding == "stochastic":
        pytest.skip("FP32 sums are rounded by nature")
    reached = Links(fabric.group(8), algorithm, rounding, seed=3)
    rows = np.random.default_rng(1).standard_normal((8, 101)).astype(np.float32)
    rows = np.pad(rows, ((0, 0), (0, 3)))  # to a multiple of the ranks, as the run's links do
    held = rows.astype(ml_dtypes.bfloat16) if dtype == "bfloat16" else rows
    options = {"rounding": rounding, "seed": 3} if dtype == "bfloat16" else {}
    schedule = reached.schedule("all_reduce")
    total = fabric.execute(schedule, held, **options)[0].astype(np.float32)
    for place in (0, 13, 50, 100):
        hops = hops_of(reached, held[:, place].astype(np.float32), place, 101, dtype, 3)
        assert sum(hop.adds for hop in hops) >= 7
        assert hops[-1].held == total[place]
        assert all(hop.chips[0] == hop.src // 2 and hop.chips[-1] == hop.dst // 2 for hop in hops)


def test_a_flipped_toss_changes_one_weight_and_then_the_rest(run):
    futures = flip(run, 5, "2.weight[0, 8]", steps=6)
    told = futures.explained
    assert {told.after, futures.other} == {told.toss.low, told.toss.high}
    assert futures.after[0].step == 6
    assert futures.after[0].weights >= 1
    if futures.first is None:
        assert len(futures.after) == 6
    kept = run.steps[6].loss
    assert futures.after[0].loss == kept
    assert "the other way" in str(futures)


@pytest.mark.parametrize(("step", "weight", "told"), [
    (99, "0.bias[0]", "step"), (0, "bias", "name and an index"), (0, "9.weight[0, 0]", "0.weight"),
    (0, "0.weight[999, 0]", "does not exist"), (0, "0.weight[1]", "does not exist"),
])  # fmt: skip
def test_what_cannot_be_followed_is_refused_in_a_sentence(run, step, weight, told):
    raises(ValueError, told, explain, run, step, weight)
