"""Lesson 11b's verdicts can be turned, at the edge and not before; its numbers are the sources'.

Judge: the court itself, asked on both sides of the edge; and arithmetic by hand.
"""

import pytest

from trainium_edu.cluster import KEYNOTE, judge, overturned
from trainium_edu.cluster.court import Verdict
from trainium_edu.exercises import claims_court as check
from trainium_edu.exercises import predict

KEYS = sorted({key for i in range(40) for key in check.headlines(f"student {i}")})


@pytest.mark.parametrize("key", KEYS)
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


@pytest.mark.parametrize(
    ("key", "values", "by_hand"),
    [
        ("11b/overhead", {"share": 0.5, "before": KEYNOTE[0], "after": KEYNOTE[1]},
         100 * (0.5 / 4) / (0.5 / 4 + 0.5 / 2.496)),
        ("11b/two-weeks", {"sequences_per_s": 12.7, "instances": 32, "sequence": 2048, "days": 14},
         300e9 / (12.7 * 2048 / 32) / 86400 / 14),
        ("11b/sooner", {"ours": 6033, "theirs": 6553}, 100 * (6553 / 6033 - 1)),
    ],
)  # fmt: skip
def test_an_answer_is_what_its_arithmetic_gives_by_hand(key, values, by_hand):
    found = next(q for q in predict.of_lesson("11b") if q.key == key)
    assert found.function(**values).value == pytest.approx(by_hand, rel=5e-3)


def test_twelve_headlines_are_asked_and_every_verdict_comes_up():
    asked = [q for q in predict.of_lesson("11b") if q.kind == "choice"]
    answers = {q.key: q.function().value for q in asked}
    assert len(answers) == 12
    assert {words.split(" a ")[0] for words in answers.values()} == {str(v) for v in Verdict}
