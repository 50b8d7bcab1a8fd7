"""Checkpoints and failures.

Judges: the figures and equations of Young 1974, Daly 2006, Vaidya 1997 and the RSC paper; a
simulation that plays every failure; a grid of intervals; numbers that AWS and Meta publish.
"""

import math

import numpy as np
import pytest

from tests.for_each import for_rows, raises
from trainium_edu import cluster
from trainium_edu.specs import FAILURES, INSTANCES, STORAGE

HOUR = 3600.0


@for_rows("hours, minutes", (24, 117), (6, 57), (0.25, 9.1))
def test_dalys_interval_is_that_of_his_figures(hours, minutes):
    """Judge: figures 3 to 5 of the paper, with checkpoints of 5 minutes."""
    found = cluster.daly_interval_s(hours * HOUR, 300) / 60
    assert f"{found:.{1 if minutes < 10 else 0}f}" == str(minutes)


def test_dalys_interval_is_the_best_and_ends_at_the_mean_between_failures():
    assert cluster.daly_interval_s(100, 200) == cluster.daly_interval_s(100, 900) == 100
    mtbf, best = 6 * HOUR, cluster.daly_interval_s(6 * HOUR, 300)
    means = {
        factor: cluster.simulate(500 * HOUR, factor * best, mtbf, 300, 600, runs=2000).mean_s
        for factor in (0.25, 0.5, 1, 2, 4)
    }
    assert min(means, key=means.get) == 1


@for_rows("share", 1e-4, 1e-3, 0.01, 0.1, 0.5)
def test_daly_is_nearer_to_the_optimum_than_young_by_an_order(share):
    """The optimum is Lambert's: 1 + W(-exp(-1 - d/M)); Daly's error stays below 0.6 %."""
    best = cluster.optimal_interval_s(1.0, share)
    assert 1 - best == pytest.approx(math.exp(-best - share), rel=1e-12)
    young = abs(cluster.young_interval_s(1.0, share) / best - 1)
    daly = abs(cluster.daly_interval_s(1.0, share) / best - 1)
    assert daly < 0.006
    assert daly < young / 10


@for_rows("share, percent", (0.001, 1.5), (0.01, 5), (0.1, 17))
def test_youngs_interval_is_too_long_by_what_its_docstring_says(share, percent):
    longer = cluster.young_interval_s(1.0, share) / cluster.optimal_interval_s(1.0, share) - 1
    assert 100 * longer == pytest.approx(percent, rel=0.03)


@for_rows("mtbf", 0.25 * HOUR, 6 * HOUR, 24 * HOUR)
def test_the_optimum_beats_every_interval_of_a_grid(mtbf):
    def time(interval):
        return cluster.expected_time_s(500 * HOUR, interval, mtbf, 300, 600)

    best = cluster.optimal_interval_s(mtbf, 300)
    grid = best * np.geomspace(0.2, 5, 81)
    least = min(map(time, grid))
    assert time(best) <= least
    assert least == pytest.approx(time(best), rel=1e-5)
    assert time(cluster.young_interval_s(mtbf, 300)) < 1.03 * least


@for_rows(
    "mtbf, interval, stall, restart, latency",
    (24 * HOUR, 117 * 60, 300, 600, None),
    (6 * HOUR, 57 * 60, 300, 600, None),
    (0.25 * HOUR, 9.1 * 60, 300, 600, None),
    (6 * HOUR, 600, 5, 300, 400),  # asynchronous
    (HOUR, 600, 1, 60, 600),
)
def test_expected_time_is_the_mean_of_simulated_runs(mtbf, interval, stall, restart, latency):
    """Judge: 4 000 runs of 300 whole segments; within four standard errors."""
    work = 300 * interval
    runs = cluster.simulate(work, interval, mtbf, stall, restart, latency, runs=4000, seed=7)
    expected = cluster.expected_time_s(work, interval, mtbf, stall, restart, latency)
    assert abs(runs.mean_s - expected) < 4 * runs.error_s
    assert runs.error_s < 0.01 * expected
    assert runs.failures.mean() == pytest.approx(expected / mtbf, rel=0.03)


def test_the_same_seed_gives_the_same_runs():
    first, again, other = (
        cluster.simulate(1e6, 4000, 5e4, 60, 300, runs=50, seed=seed) for seed in (1, 1, 2)
    )
    assert np.array_equal(first.times_s, again.times_s)
    assert not np.array_equal(first.times_s, other.times_s)


def test_without_failures_a_run_takes_its_work_and_its_checkpoints():
    run = cluster.simulate(10_500, 1000, 1e18, 10, runs=2)
    assert run.times_s == pytest.approx(10_500 + 11 * 10)
    assert not run.failures.any()
    assert cluster.goodput(1000, 1e15, 10) == pytest.approx(1000 / 1010)


@for_rows("nodes", 8, 128)
def test_goodput_agrees_with_the_rsc_papers_estimate_where_failures_are_rare(nodes):
    """Judge: E[ETTR] of that paper, (1 - N r (u + T/2)) / (1 + w/T), good to first order."""
    rate = float(FAILURES.rsc_1.rate) / 1000 / 86400
    interval, write, restart = 3600.0, 30.0, 300.0
    theirs = (1 - nodes * rate * (restart + interval / 2)) / (1 + write / interval)
    mtbf = cluster.cluster_mtbf_s(float(FAILURES.rsc_1.instance_mtbf_hours), nodes)
    assert cluster.goodput(interval, mtbf, write, restart) == pytest.approx(theirs, rel=1e-3)


def test_the_rsc_rate_gives_the_projected_times_and_misses_the_measured_one():
    """Judge: the paper's own projections; at 1 024 GPUs it measured 7.9 hours."""
    one = float(FAILURES.rsc_1.instance_mtbf_hours)
    for gpus, said in ((16_384, "1.8"), (131_072, "0.23")):
        found = cluster.cluster_mtbf_s(one, gpus // 8) / HOUR
        assert found == pytest.approx(float(said), rel=0.03)
    assert cluster.cluster_mtbf_s(one, 128) / HOUR == pytest.approx(28.8, abs=0.05)
    assert float(FAILURES.rsc_1.mtbf_hours_of_1024_gpus) == 7.9


def test_llama_3s_effective_time_is_within_reach_of_its_failures():
    """Judge: "higher than 90 %"; what a checkpoint cost there is not published."""
    mtbf = float(FAILURES.llama3.mtbf_hours) * HOUR
    assert mtbf / HOUR == pytest.approx(3.09, abs=0.005)

    def best(stall, restart):
        return cluster.goodput(cluster.optimal_interval_s(mtbf, stall), mtbf, stall, restart)

    assert best(30, 180) > 0.9 > best(60, 300)


def test_asynchronous_checkpoints_cost_the_copy_and_a_little_more_lost_work():
    mtbf, size = 6 * HOUR, cluster.checkpoint_bytes(175e9)
    plain = cluster.checkpoint(size, "fsx-1000", 128, tebibytes=100)
    late = cluster.checkpoint(size, "fsx-1000", 128, tebibytes=100, asynchronous=True)
    assert plain.stall_s == plain.latency_s == pytest.approx(2.45e12 / 100e9)
    assert late.stall_s == pytest.approx(2.45e12 / 128 / 16 / 16e9)
    assert late.latency_s == plain.latency_s + late.stall_s
    interval = cluster.optimal_interval_s(mtbf, plain.stall_s)
    before = cluster.goodput(interval, mtbf, plain.stall_s, 600)
    after = cluster.goodput(interval, mtbf, late.stall_s, 600, late.latency_s)
    saved = (plain.stall_s - late.stall_s) / interval
    lost = (late.latency_s - late.stall_s) / mtbf
    assert 1 / before - 1 / after == pytest.approx(saved - lost, rel=0.1)
    assert after > before
    often = cluster.optimal_interval_s(mtbf, late.stall_s, late.latency_s)
    assert cluster.goodput(often, mtbf, late.stall_s, 600, late.latency_s) > after
    assert often > late.latency_s - late.stall_s
    assert cluster.optimal_interval_s(60, 0.1, 30) == 29.9  # the next waits for it


@for_rows(
    "precision, optimizer, each",
    ("bf16-master", "adamw", 14),
    ("bf16-sr", "adamw", 6),
    ("fp32", "lamb", 12),
    ("fp32", "sgd", 8),
)
def test_a_checkpoint_holds_weights_master_copy_and_states(precision, optimizer, each):
    """Judge: Rajbhandari 2020, 2 + 12 bytes of mixed-precision Adam without its gradients."""
    assert cluster.checkpoint_bytes(1e9, precision, optimizer) == each * 1e9


@for_rows("precision", "bf16-sr", "bf16-master", "fp32")
@for_rows("optimizer", "adamw", "sgd")
def test_a_checkpoint_holds_what_a_whole_replica_keeps_but_for_gradients(precision, optimizer):
    """Judge: the memory planner, on a chip whose NeuronCores keep the whole model each."""
    plan = cluster.Plan(cluster.Cluster("trn1.2xlarge"), precision=precision, optimizer=optimizer)
    held = cluster.memory("gpt3-6.7b", plan)
    size = cluster.checkpoint_bytes(cluster.work("gpt3-6.7b").parameters, precision, optimizer)
    kept = held.weights + held.master + held.states
    assert kept == pytest.approx(size, rel=1e-5)  # less the last norm


@for_rows(
    "storage, options, gb_per_s, bound",
    ("fsx-125", {"tebibytes": 10}, 1.25, "the file system's disks"),
    ("fsx-125", {"tebibytes": 10, "burst": True}, 5, "the file system's disks"),
    ("fsx-1000", {"tebibytes": 1000}, 50, "100 Gbit/s per client"),
    ("nvme", {}, 4 * 720_000 * 4096 / 1e9, "local disks"),
    ("nvme", {"direction": "read"}, 4 * 1_720_000 * 4096 / 1e9, "local disks"),
    ("s3", {}, 50, "one network card per instance, which takes 148 requests at once"),
)
def test_rates_of_four_instances_are_the_documented_ones(storage, options, gb_per_s, bound):
    found = cluster.storage_rate(storage, 4, **options)
    assert found.bytes_per_s == pytest.approx(gb_per_s * 1e9)
    assert found.bound == bound
    assert bound in str(found)


def test_requests_to_s3_are_as_many_as_aws_suggests():
    """Judge: about 15 for 10 Gbit/s, at 85 to 90 MB/s each."""
    slow, fast = STORAGE.s3.bytes_per_s_per_request.value
    assert math.ceil(10e9 / 8 / slow) == int(STORAGE.s3.requests_for_10_gbits) == 15
    assert math.ceil(10e9 / 8 / fast) == 14


def test_fsx_grows_with_its_size_until_the_clients_are_the_bound():
    rates = [cluster.storage_rate("fsx-500", 8, tebibytes=t).bytes_per_s for t in (12, 24, 480)]
    assert rates[1] == 2 * rates[0]
    assert rates[2] == 8 * 100e9 / 8


def test_copies_on_local_disks_are_written_and_sent():
    """Judge: hand sums for 16 TB on 16 instances; two copies are bound by disks, four too."""
    size, disk, network = 16e12, 720_000 * 4096, 800e9 / 8
    for copies in (1, 2, 4):
        found = cluster.checkpoint(size, "nvme", 16, copies=copies)
        assert found.stall_s == pytest.approx(copies * 1e12 / disk)
        assert found.read_s == pytest.approx(
            max(1e12 / (1_720_000 * 4096), (copies > 1) * 1e12 / network)
        )
        assert found.bound == "local disks"


def test_text_is_nearly_nothing_and_images_are_not():
    tokens = cluster.feed(26_000 * 32, float(STORAGE.token_bytes), 32)
    assert tokens.bytes_per_s == 1_664_000
    assert max(tokens.shares.values()) < 0.02
    images = cluster.feed(32 * 16 * 5000, float(STORAGE.image_bytes), 32)
    assert images.bytes_per_s == pytest.approx(281.6e9)
    assert min(images.shares[f"fsx-{t}"] for t in (125, 250, 500, 1000)) > 100
    network = 32 * float(INSTANCES["trn1.32xlarge"].network_bits_per_s) / 8
    assert images.shares["EFA"] == pytest.approx(281.6e9 / network)
    assert images.shares["host"] == pytest.approx(281.6e9 / (32 * 16 * 16e9))
    assert "of its rate" in str(images)


@for_rows("ask",
    lambda: cluster.expected_time_s(1.0, 1e6, 1.0, 1.0), lambda: cluster.goodput(1e6, 1.0, 1.0),
    lambda: cluster.simulate(1.0, 1e6, 1.0, 1.0), lambda: cluster.goodput(1.0, 1.0, 1.0, 1e3),
)  # fmt: skip
def test_an_interval_that_no_segment_ends_in_is_refused_and_a_better_one_named(ask):
    raises(ValueError, r"never end where 1 s pass.*every 0\.841 s of work", ask)
    assert cluster.optimal_interval_s(1.0, 1.0) == pytest.approx(0.841, abs=5e-4)
