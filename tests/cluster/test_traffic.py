"""What groups send.  Judges: the time of a step when these are timed one by one."""

import pytest

from tests.for_each import for_each
from trainium_edu.cluster import Cluster, Plan, placement, step_time, traffic

PLANS = {
    "plain": Plan(Cluster(instances=32), 8, 4),
    "sequence": Plan(Cluster(instances=32), 8, 4, zero=1, sequence_parallel=True),
    "full": Plan(Cluster(instances=32), 32, 4, zero=2, recompute="full"),
    "fp32": Plan(Cluster(instances=16), 8, 2, precision="fp32", micro_batch=2),
    "full, sequence": Plan(Cluster(instances=8), 8, 4, recompute="full", sequence_parallel=True),
}


@for_each("name", PLANS)
def test_timed_one_by_one_it_is_what_the_step_spends_on_wires(name):
    plan = PLANS[name]
    where, parts = placement(plan), step_time("gpt3-23b", plan).parts
    found = traffic("gpt3-23b", plan)
    for kind, part in (("tensor", "tensor-parallel sums"), ("data", "gradient sums")):
        ns = sum(s.count * where.collective_ns(kind, s.operation, s.nbytes) for s in found[kind])
        assert ns == pytest.approx(parts[part])
    (sent,) = found["pipeline"]
    assert sent.count * where.send_ns(sent.nbytes) == pytest.approx(parts["pipeline sends"])


def test_zero_scatters_and_gathers_and_groups_of_one_send_nothing():
    (plain,), split = (traffic("gpt3-23b", PLANS[name])["data"] for name in ("plain", "sequence"))
    assert [s.operation for s in split] == ["reduce_scatter", "all_gather"]
    assert {(s.count, s.nbytes) for s in split} == {(plain.count, plain.nbytes)}
    found = traffic("bert-large", Plan(Cluster("trn1.2xlarge"), tensor=2))
    assert [bool(found[kind]) for kind in found] == [True, False, False]
    plan = Plan(Cluster(instances=4), zero=3, global_batch=512)
    *_, gathered = traffic("gpt3-6.7b", plan)["data"]
    assert (gathered.operation, gathered.count) == ("all_gather", 2 * plan.micro_batches)
