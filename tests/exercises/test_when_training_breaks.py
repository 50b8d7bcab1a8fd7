"""Lesson 10's scripts do what is said of them, and its short cuts choose differently.

Judge: the ranks themselves, run in lockstep; and arithmetic in whole numbers.
"""

from tests.for_each import for_each
from trainium_edu.exercises import when_training_breaks as check

SCRIPTS = [s for i in range(6) for s in check.scripts(f"student {i}")]


@for_each("script", SCRIPTS, ids=range(len(SCRIPTS)))
def test_a_scripts_replicas_drift_apart_and_repaired_they_do_not(script):
    assert check.drift(script.text()) > 0
    assert check.drift(script.text(repaired=True)) == 0


def test_the_drawn_scripts_hold_every_culprit_and_every_decoy():
    texts = "\n".join(script.text() for script in SCRIPTS)
    for part in ("7 + rank", "ndim > 1", "float(loss))", "seed=rank", "seed=step", "0.9**step",
                 "rank == 0", "0.1)", "x + noise", "p.grad + noise", "1.0)"):  # fmt: skip
        assert part in texts


@for_each("student", range(20))
def test_each_short_cut_of_the_choice_chooses_differently(student):
    cases = check.deadline.numbers(f"student {student}").cases
    told = {tuple(belief(*c) for c in cases) for belief in check.CHOICES.values()}
    assert len(told) == len(check.CHOICES)


def test_an_offer_worked_out_by_hand():
    offers = [("trn1.2xlarge", 1, 100.0, 1.0), ("trn1.32xlarge", 1, 1000.0, 20.0),
              ("trn1.32xlarge", 2, 1500.0, 20.0)]  # fmt: skip
    choose = check.CHOICES["right"]
    samples = 3_600_000  # 10 h for 10 USD; 1 h for 20; 40 min for 26.67
    assert choose(offers, samples, 10, 100) == ("trn1.2xlarge", 1)
    assert choose(offers, samples, 9, 100) == ("trn1.32xlarge", 1)
    assert choose(offers, samples, 0.7, 100) == ("trn1.32xlarge", 2)
    assert choose(offers, samples, 0.7, 20) == choose(offers, samples, 0.5, 100) == "none"
