"""Lesson 09's exercises: short cuts differ from the right answer, and from each other.

Judge: the longest path through two queues, in closed form, and sums in float64.
"""

import numpy as np

from tests.for_each import for_each, for_rows
from trainium_edu.exercises import data_parallel_training as check
from trainium_edu.exercises.exercise import Status
from trainium_edu.training import Job, scaling
from trainium_edu.training.digits_on_ranks import WIDE

STUDENTS = [f"student {i}" for i in range(12)]


def longest_path(buckets, latency_us, gb_per_s):
    """Whichever bucket the links last waited for, they worked without a pause from there."""
    known = np.cumsum([us for us, _ in buckets])
    takes = [latency_us + n / gb_per_s / 1000 for _, n in buckets]
    return max(known[i] + sum(takes[i:]) for i in range(len(buckets))) - known[-1]


@for_each("student", STUDENTS)
def test_two_clocks_and_the_longest_path_agree(student):
    assert check.exposed_us(longest_path, student).status is Status.PASSED
    assert check.exposed_us.grade(longest_path, student, salt="x").status == "full"


@for_each("student", STUDENTS)
def test_each_short_cut_is_told_apart(student):
    for name, belief in check.SHORT_CUTS.items():
        result = check.exposed_us(belief, student)
        assert (result.misconception, result.feedback) == (name, check.exposed_us.wrong[name])


@for_rows("ranks", 4, 8, 32)
def test_the_executed_mean_is_the_mean_up_to_bf16(ranks):
    gradients = check.gradients_of(ranks, seed=1)
    exact = gradients.astype(np.float64).mean(axis=0)
    worst = np.abs(check.executed(gradients) - exact).max()
    assert 0 < worst < ranks * 2**-9 * np.abs(gradients).max()


@for_rows("task, size", (WIDE, 2_500_000), (None, 100_000))
def test_the_lessons_three_buckets_are_three(task, size):
    job = Job(algorithm="kangaring", bucket_bytes=size)
    spans = scaling(job, [32], task=task)[0].report.spans.spans
    assert sum(span.track == "CC-cores" for span in spans) == 3
