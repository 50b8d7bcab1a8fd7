"""Where ranks sit and what their collectives take.

Judge: ``fabric``'s own times of whole collectives, and counting by hand.
"""

import numpy as np
import pytest

from tests.for_each import for_rows
from trainium_edu.cluster import Cluster, Links, Plan, placement
from trainium_edu.fabric import group, hierarchical_time, line, plan, ultracluster

ONE_WAY = Links(direction="one_way")


def _plan(instances, tensor=1, pipeline=1, instance="trn1.32xlarge"):
    ranks = Cluster(instance, instances)
    return Plan(ranks, tensor, pipeline, global_batch=ranks.ranks)


def test_ranks_fill_chips_then_instances():
    ranks = placement(_plan(2)).ranks
    assert ranks[5].tolist() == [0, 2, 1]
    assert ranks[32].tolist() == [1, 0, 0]
    assert len(np.unique(ranks, axis=0)) == 64


@for_rows("kind", "tensor", "data", "pipeline")
def test_groups_of_a_kind_hold_every_rank_once(kind):
    where = placement(_plan(4, tensor=8, pipeline=2))
    groups, group_ = where.groups(kind), where.group(kind)
    assert np.array_equal(np.sort(groups.ravel()), np.arange(128))
    assert groups.shape[1] == group_.ranks
    assert set(np.diff(groups, axis=1).ravel().tolist()) == {group_.stride}


@for_rows(
    "tensor, wires", (1, "none"), (2, "on chip"), (8, "NeuronLink"), (32, "NeuronLink"), (64, "EFA")
)
def test_small_tensor_groups_stay_close(tensor, wires):
    assert placement(_plan(2, tensor)).wires("tensor") == wires


@for_rows("tensor", 2, 4, 8, 16, 32)
@for_rows("operation", "all_reduce", "all_gather", "reduce_scatter")
def test_a_tensor_group_takes_what_fabric_says(tensor, operation):
    nbytes = 2**25
    mine = placement(_plan(1, tensor), ONE_WAY).collective_ns("tensor", operation, nbytes)
    there = group(tensor)
    best = min(
        float(line(plan(there, operation, name), there).at(nbytes))
        for name in ("mesh", "rdh", "kangaring", "ring")
    )
    assert mine == pytest.approx(best, rel=1e-9)


@for_rows("instances", 2, 3, 16, 64)
def test_a_data_group_over_instances_takes_what_the_hierarchy_takes(instances):
    mine = placement(_plan(instances), ONE_WAY).collective_ns("data", "all_reduce", 2**28)
    names = ["ring"] + ["rdh"] * (instances & (instances - 1) == 0)
    best = min(
        hierarchical_time(ultracluster(16 * instances), 2**28, intra=intra, inter=inter).total_ns
        for inter in names
        for intra in ("mesh", "rdh", "kangaring")
    )
    assert mine == pytest.approx(best, rel=0.02)


def test_an_all_gather_of_everything_cannot_beat_the_network():
    where = placement(_plan(16, tensor=32))
    nbytes, per_rank = 2**28, 800e9 / 8 / 32
    assert where.collective_ns("data", "all_gather", nbytes) >= 15 / 16 * nbytes / per_rank * 1e9


def test_aws_s_own_16_rank_all_reduce_is_nearer_to_the_reading_that_both_directions_share():
    """nccom-test's guide prints 9689.51 us for 512 MiB."""
    times = [
        placement(_plan(1, 16), Links(direction=reading)).collective_ns(
            "tensor", "all_reduce", 512 * 2**20
        )
        / 1e3
        for reading in ("one_way", "both_ways")
    ]
    assert times[0] < times[1] < 9689.51
