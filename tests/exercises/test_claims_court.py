"""Lesson 11b's verdicts can be turned, at the edge and not before; its numbers are the sources'.

Judge: the court itself, asked on both sides of the edge; and arithmetic by hand.
"""

import math

import pytest

from tests.for_each import for_each, for_rows
from trainium_edu import cluster
from trainium_edu.cluster import KEYNOTE, judge, overturned
from trainium_edu.cluster.court import Verdict
from trainium_edu.exercises import claims_court as check
from trainium_edu.exercises import predict

KEYS = sorted({key for i in range(40) for key in check.headlines(f"student {i}")})


@for_each("key", KEYS)
def test_a_headline_that_is_drawn_turns_just_beyond_its_edge_and_not_before(key):
    name = judge(key).conditions[0].input.name
    used, edge = judge(key).conditions[0].input.used, check.edge(key, name)
    assert overturned(key, {name: edge + 1e-4 * (edge - used)})
    assert not overturned(key, {name: edge - 1e-2 * (edge - used)})


def test_every_student_gets_three_headlines_and_many_are_drawn():
    assert all(len(set(check.headlines(f"student {i}"))) == 3 for i in range(40))
    assert len(KEYS) >= 8


def test_an_input_that_turns_nothing_has_no_edge():
    assert check.edge("petaflops", "chips") != check.edge("petaflops", "chips")


@for_rows("key, values, by_hand",
    ("11b/overhead", {"share": 0.5, "before": KEYNOTE[0], "after": KEYNOTE[1]},
         100 * (0.5 / 4) / (0.5 / 4 + 0.5 / 2.496)),
        ("11b/two-weeks", {"sequences_per_s": 12.7, "instances": 32, "sequence": 2048, "days": 14},
         math.ceil(300e9 / (12.7 * 2048 / 32) / 86400 / 14)),
        ("11b/sooner", {"ours": 6033, "theirs": 6553}, 100 * (6553 / 6033 - 1)),
)  # fmt: skip
def test_an_answer_is_what_its_arithmetic_gives_by_hand(key, values, by_hand):
    found = next(q for q in predict.of_lesson("11b") if q.key == key)
    assert found.function(**values).value == pytest.approx(by_hand, abs=0.05)


def test_two_weeks_need_one_instance_more_than_rounding_down_gives():
    """133.498 days on 32 instances are 305.14 of them in 14 days; 305 take 14.006."""
    values = {"sequences_per_s": 12.7, "instances": 32, "sequence": 2048, "days": 14}
    (found,) = (q for q in predict.of_lesson("11b") if q.key == "11b/two-weeks")
    answer = found.function(**values)
    days = 300e9 / (12.7 * 2048) / 86400
    assert answer.value == 306
    assert 32 * days / 306 < 14 < 32 * days / 305
    guesses = answer.wrong
    assert guesses["rounded down"] == 305
    assert guesses["of the 32"] == math.ceil(days / 14) == 10
    share = 3.14e23 / 300e9 * 12.7 * 2048 / (32 * 16 * 190e12)  # Brown et al. 2020: 6 N D
    _, of_peak = answer.show(None)
    assert f"the published row reaches {share:.1%}" in of_peak
    assert "28.0%" in of_peak
    assert "lesson 11 counts attention" in of_peak


def test_lesson_11_counts_attention_in_the_same_row():
    """28.7 % there and 28.0 % in 11b are one row; the difference is attention's work."""
    shape = cluster.get_model("gpt3-175b")
    share = cluster.mfu(shape, 12.7, cluster.Cluster("trn1.32xlarge", 32))
    attention = 1 + 2048 / (6 * 12288)  # Narayanan et al. 2021, equation (3), without logits
    by_hand = 6 * 174.6e9 * attention * 12.7 * 2048 / (32 * 16 * 190e12)
    assert share == pytest.approx(by_hand, rel=0.01)
    assert f"{share:.1%}" == "28.7%"


def test_six_headlines_are_asked_and_every_verdict_comes_up():
    asked = [q for q in predict.of_lesson("11b") if q.kind == "choice"]
    answers = {q.key: q.function().value for q in asked}
    assert (len(answers), set(answers.values())) == (6, {str(v) for v in Verdict})
