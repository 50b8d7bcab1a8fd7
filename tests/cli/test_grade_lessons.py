"""Each lesson through the real grader: answers in one process, checks in another.

Judge: the reference solutions, the named wrong answers, and the lesson as it is handed out.
"""

import nbformat
import pytest

from tests.cli.submitted import grade_submission
from tests.solutions import reading
from tests.texts import text_beside
from trainium_edu import exercises
from trainium_edu.exercises.capstone_fused_convolution import ASKED_US
from trainium_edu.exercises.leaderboard import Entry

LESSONS = [lesson for lesson in exercises.LESSONS if exercises.of_lesson(lesson)]


def graded(tmp_path, lesson, answers, student="ab123"):
    path = tmp_path / "submission.ipynb"
    nbformat.write(reading.with_answers(lesson, answers, student), path)
    row = grade_submission(path)
    assert row.status == "graded"
    return row


def of_kind(lesson, kind):
    return {block.key: block.source for block in reading.blocks(lesson) if block.kind == kind}


@pytest.mark.slow
@pytest.mark.parametrize("lesson", LESSONS)
def test_solved_lessons_get_full_points(tmp_path, lesson):
    row = graded(tmp_path, lesson, of_kind(lesson, "solution"))
    assert {k: (g["points"], g["reason"]) for k, g in row.exercises.items()} == {
        e.key: (e.points, "") for e in exercises.of_lesson(lesson)
    }
    assert (row.reason, row.notes) == ("", [])
    assert bool(row.leaderboard) == (lesson == "12")
    if row.leaderboard:
        entry = Entry.of(row.leaderboard)
        assert (entry.assignment, entry.name) == ("lesson 12/fused", "ab123")
        assert entry.latency_us <= ASKED_US["float32"]


OTHERWISE = text_beside(__file__, "otherwise.py.txt")


@pytest.mark.slow
@pytest.mark.parametrize("lesson", LESSONS)
def test_each_kind_of_answer_gets_its_grade(tmp_path, lesson):
    """Kinds take turns among a lesson's exercises; ``tests/exercises`` tries each with each."""
    by_kind = {kind: of_kind(lesson, kind) for kind in ("solution", "wrong", "hard-coded")}
    answers, wanted = {}, {}
    for turn, exercise in enumerate(exercises.of_lesson(lesson), LESSONS.index(lesson)):
        key, kind = exercise.key, ("otherwise", "wrong", "hard-coded", "untouched")[turn % 4]
        if kind == "otherwise":
            answers[key] = by_kind["solution"][key]
            if not exercise.literal:
                answers[key] += OTHERWISE.format(name=exercise.answer)
            wanted[key] = exercise.points, "full"
        elif kind == "untouched":
            wanted[key] = 0, "not attempted"
        else:
            answers[key] = by_kind[kind][key]
            wanted[key] = 0, "wrong"
    row = graded(tmp_path, lesson, answers)
    assert {k: (g["points"], g["status"]) for k, g in row.exercises.items()} == wanted
    assert row.points == sum(points for points, _ in wanted.values())
    assert row.of == sum(exercise.points for exercise in exercises.of_lesson(lesson))
