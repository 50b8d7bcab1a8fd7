"""Progress: kept, and never in the way.

Judge: what was checked, and every kind of damaged file.
"""

import pytest

import trainium_edu
from trainium_edu import exercises
from trainium_edu.exercises import learner
from trainium_edu.exercises.exercise import exercise, reject

COMMON = {"tests": "x", "hints": ("a", "b"), "literal": True}
DAMAGE = [b"\x00\xff", b"{", b'{"exercise": 3}\n[]\n{"status": []}', b"[" * 9999]


@pytest.fixture(autouse=True)
def lessons(monkeypatch):
    @exercise(
        "02/one", title="One", answer="a", points=1, tests="x", hints=("a", "b"), literal=True
    )
    def one(answer, numbers):
        if answer != 1:
            reject("other", "No.")

    @exercise(
        "02/two", title="Two", answer="b", points=3, tests="x", hints=("a", "b"), literal=True
    )
    def two(answer, numbers):
        if answer != 2:
            reject("other", "No.")

    monkeypatch.setattr(exercises, "LESSONS", {"02": "02_lesson"})
    monkeypatch.setattr(exercises, "of_lesson", lambda lesson: (one, two))
    learner._this_session.clear()
    return one, two


def test_progress_shows_each_exercise_at_a_glance(lessons):
    one, two = lessons
    assert str(trainium_edu.progress()) == (
        "02_lesson: 0 of 2 exercises pass their public checks\n  [ ] One (1 point)\n"
        "  [ ] Two (3 points)"
    )
    one(1)
    two(5)
    assert repr(trainium_edu.progress()) == (
        "02_lesson: 1 of 2 exercises pass their public checks\n  [x] One (1 point)\n"
        "  [~] Two (3 points)"
    )


def test_a_pass_stays_a_pass(lessons):
    one, _ = lessons
    one(1)
    one(7)
    assert "[x] One" in str(trainium_edu.progress())


@pytest.mark.parametrize(
    "damage", [b"\x00\xff", b"{", b'{"exercise": 3}\n[]\n{"status": []}', b"[" * 9999]
)
def test_a_damaged_file_is_never_fatal(lessons, damage, tmp_path, monkeypatch):
    monkeypatch.setenv("TRAINIUM_EDU_HOME", str(tmp_path))
    (tmp_path / "progress.jsonl").write_bytes(damage)
    one, _ = lessons
    assert one(1).note == ""
    assert "[x] One" in str(trainium_edu.progress())


def test_where_nothing_can_be_kept_it_is_said_and_the_session_remembers(
    lessons, tmp_path, monkeypatch
):
    (tmp_path / "file").write_text("")
    monkeypatch.setenv("TRAINIUM_EDU_HOME", str(tmp_path / "file"))
    one, two = lessons
    assert one(1).note.startswith("not kept for next time")
    assert two(5).hint.startswith("Hint 1")
    assert two(6).hint.startswith("Hint 2")
    assert "[x] One" in str(trainium_edu.progress())


def test_under_nbval_progress_is_the_same_for_everyone(lessons, monkeypatch):
    one, _ = lessons
    one(1)
    monkeypatch.setenv("TRAINIUM_EDU_COMMITTED", "1")
    assert "0 of 2" in str(trainium_edu.progress())
