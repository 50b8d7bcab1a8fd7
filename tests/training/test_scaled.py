"""Scaling, memory and communication's share without training.

Judges: the trainer's own program; Amdahl's law; the closed form of a weak-scaling step; the ZeRO
paper's 2 + 2 + K bytes per parameter; the report's 50, 14 and 7 % by plain arithmetic.
"""

import time
from dataclasses import replace

import pytest

from tests.for_each import for_rows
from trainium_edu.training import Job, Trainer, communication_share, memory, scaling
from trainium_edu.training.parallel.step import step_report

PARAMETERS = 64 * 256 + 256 + 256 * 256 + 256 + 256 * 10 + 10
JOB = Job(bucket_bytes=70_000)
APART = replace(JOB, overlap=False)


@for_rows("ranks", 1, 2, 32)
def test_a_point_is_what_the_trainers_own_program_takes(ranks):
    job = replace(JOB, ranks=ranks)
    trainer = Trainer(job)
    trainer.step()
    wanted = step_report(trainer.device.executable, trainer.links, job.global_batch)
    (point,) = scaling(job, (ranks,))
    assert point.step_ns == pytest.approx(wanted.step_ns)
    assert point.report.exposed_ns == pytest.approx(wanted.exposed_ns)
    assert (point.batch, point.samples_per_s) == (32, pytest.approx(wanted.samples_per_s))


# -- weak -----------------------------------------------------------------------------------------


def test_weak_scaling_loses_what_is_exposed_and_nothing_else():
    two, *more = scaling(JOB, (2, 8, 32, 64, 512, 4096))
    for point in more:
        assert point.report.compute_ns == pytest.approx(two.report.compute_ns)
        assert point.efficiency == pytest.approx(two.step_ns / point.step_ns)
        assert point.step_ns == pytest.approx(two.report.compute_ns + point.report.exposed_ns)
    assert [p.instances for p in more] == [1, 1, 2, 16, 128]
    assert [p.efficiency for p in more] == sorted((p.efficiency for p in more), reverse=True)


def test_micro_batches_scale_better_and_zero_sends_as_much_and_updates_less():
    few, many = (scaling(replace(JOB, accumulate=n), (2, 32))[1] for n in (1, 4))
    assert many.efficiency > few.efficiency
    assert many.report.communication_ns >= few.report.communication_ns  # FP32 or the same
    job = Job(bucket_bytes=70_000, optimizer="adamw", master_weights=True)
    plain, zero = (scaling(replace(job, zero=z), (8,))[0].report for z in (False, True))
    assert zero.communication_ns == pytest.approx(plain.communication_ns, rel=0.05)
    ours, theirs = (one.engines["Vector Engine"] * one.step_ns for one in (zero, plain))
    assert ours < theirs
    alone = scaling(replace(job, zero=True), (1,))[0].report
    assert (alone.communication_ns, alone.exposed_ns) == (0, 0)


def test_overlap_never_makes_it_slower():
    for beside, apart in zip(scaling(JOB, (8, 32)), scaling(APART, (8, 32)), strict=True):
        assert beside.step_ns < apart.step_ns
        assert beside.report.compute_ns == apart.report.compute_ns


# -- strong ---------------------------------------------------------------------------------------


def test_strong_scaling_follows_amdahls_law():
    """What does not shrink with the batch is the serial part, and every sum comes on top."""
    job = replace(APART, ranks=1, batch=256)
    counts = (1, 2, 4, 8)
    points = scaling(job, counts, "strong")
    assert [p.batch * p.ranks for p in points] == [256] * len(counts)
    work = [p.report.compute_ns for p in points]
    serial = (2 * work[1] - work[0]) / work[0]  # from the first two
    assert 0 < serial < 1
    for count, point in zip(counts, points, strict=True):
        wanted = work[0] * (serial + (1 - serial) / count) + point.report.communication_ns
        assert point.step_ns == pytest.approx(wanted, rel=0.1)
        speedup = points[0].step_ns / point.step_ns
        assert speedup <= min(count, 1 / serial)
        assert point.efficiency == pytest.approx(speedup / count)


def test_strong_scaling_ends_where_sums_take_longer_than_they_save():
    steps = [p.step_ns for p in scaling(replace(JOB, ranks=1, batch=512), (1, 2, 512), "strong")]
    assert steps[1] < steps[0] < steps[2]


@pytest.mark.slow
@pytest.mark.clock
def test_a_slider_answers_within_a_tenth_of_a_second_once_compiled():
    scaling(JOB, (2, 512, 4096))
    start = time.process_time()
    scaling(JOB, (512, 4096), slowest=1.3)
    assert time.process_time() - start < 0.1


# -- memory ---------------------------------------------------------------------------------------

ADAM = Job(optimizer="adamw", master_weights=True)


@for_rows("job", JOB, ADAM, replace(ADAM, ranks=8, zero=True), replace(JOB, momentum=0.9))
def test_the_parts_add_up_to_what_the_compiled_program_keeps(job):
    trainer = Trainer(job)
    trainer.step()
    found = memory(job)
    assert found.total == trainer.device.executable.hbm_bytes
    assert found.activations > 0
    assert found.fits
    assert found.inputs >= job.batch * (64 * 2 + 4)  # pixels in BF16, labels in int32


@for_rows("ranks", 2, 8, 64)
def test_bytes_per_parameter_are_those_of_the_zero_paper(ranks):
    plain, zero = (memory(replace(ADAM, ranks=ranks, zero=zero)) for zero in (False, True))
    assert plain.parameters == PARAMETERS
    assert plain.bytes_per_parameter == 2 + 2 + 12  # K: FP32 weights, mean, square
    assert zero.bytes_per_parameter == pytest.approx(2 + 2 + 12 / ranks, rel=1e-3)
    assert (zero.weights, zero.gradients) == (plain.weights, plain.gradients)
    assert zero.total < plain.total


def test_activations_grow_with_the_batch_and_sums_of_micro_batches_are_fp32():
    small, large = (memory(replace(JOB, batch=batch)) for batch in (32, 512))
    assert large.activations - small.activations >= 480 * 2 * (256 + 256) * 2  # two layers, BF16
    assert large.bytes_per_parameter == small.bytes_per_parameter
    once, four = memory(ADAM), memory(replace(ADAM, accumulate=4))
    assert four.gradients == 2 * once.gradients


# -- the sources' models --------------------------------------------------------------------------


def test_from_half_the_time_the_report_s_trend_follows():
    """600, 200, 130 instances; 100, 400, 1600 Gbit/s; 1000, 2496, 3360 TFLOP/s; one batch."""

    def shares(efficiency):
        return [row.share for row in communication_share(efficiency) if row.model == "GPT-3"]

    (first, *_) = shares(1.0)
    found = shares((1 - first) / first)  # so that the first row is 50 %
    assert found == pytest.approx([0.5, 0.172, 0.044], abs=0.002)
    said = [row.published for row in communication_share() if row.published]
    assert said == [0.5, 0.14, 0.07]


def test_the_table_is_arithmetic_that_a_reader_can_redo():
    bert = [row for row in communication_share(0.4) if row.model == "BERT-Large"]
    for row in bert:
        assert row.gradient_bytes == 2 * 340e6
        assert row.compute_ns == pytest.approx(6 * 340e6 * 512 * 128 / (0.4 * 95e12) * 1e9)
        assert 0 < row.share < 0.05
    gpt3 = next(row for row in communication_share(0.4) if row.instance == "p4d.24xlarge")
    assert gpt3.sum_ns == pytest.approx(
        2 * 199 * (15_000 + 350e9 / 200 / 50e9 * 1e9)  # a ring of 200 over 400 Gbit/s
    )
    assert gpt3.compute_ns == pytest.approx(6 * 175e9 * 3.2e6 / 200 / (0.4 * 2496e12) * 1e9)


def test_a_replica_of_several_instances_sums_its_parts_side_by_side():
    one, eight = (
        next(row for row in communication_share(replicas_of=n) if row.model == "GPT-3")
        for n in (1, 8)
    )
    assert eight.gradient_bytes == one.gradient_bytes / 8
    assert eight.share < one.share


def test_the_table_prints_its_inputs():
    text = str(communication_share())
    assert "1600 Gbit/s" in text
    assert "512 x 128 tokens per rank" in text
    assert all(len(line) <= 180 for line in text.splitlines())
