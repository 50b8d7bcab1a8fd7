"""Lesson 09c's short cuts answer differently.  Judge: arithmetic by hand, and scipy's entropy."""

from scipy.stats import entropy

from tests.for_each import for_each, for_rows
from trainium_edu.exercises import recommend_and_fine_tune as check


@for_each("student", range(20))
@for_each("name", check.BELIEFS)
def test_each_short_cut_answers_differently(name, student):
    exercise = {"lookup-time": check.lookup_time, "best-loss": check.best_loss}[name]
    cases = exercise.numbers(f"student {student}").cases
    beliefs = check.BELIEFS[name].values()
    told = {tuple(round(float(belief(*case)), 5) for case in cases) for belief in beliefs}
    assert len(told) == len(beliefs)


@for_rows("nbytes, ns", (2, 147), (2048, 147), (17 * 139, 147), (3400, 208))
def test_a_row_takes_the_longer_of_packet_and_bytes(nbytes, ns):
    assert check.row_ns(nbytes) == ns


def test_the_right_answers_pass():
    assert any(0.0 in biases for (biases,) in check.best_loss.numbers("").cases)
    told = check.best_loss(lambda biases: entropy([biases, [1 - p for p in biases]]).mean())
    assert told.status == "passed"
    told = check.lookup_time(lambda n, w, b: n * max(147, 8 + w * b / 17) / 16e3)
    assert told.status == "passed"
