"""Progress: kept, and never in the way.

Judge: what was checked, and every kind of damaged file.
"""

import os
import re

import pytest

import trainium_edu
from tests.for_each import raises
from trainium_edu.exercises import afterwards, catalogue, predict
from trainium_edu.exercises.exercise import exercise
from trainium_edu.exercises.judge import reject
from trainium_edu.exercises.lessons import COURSE

COMMON = {"tests": "x", "hints": ("a", "b"), "literal": True}
DAMAGE = [b"\x00\xff", b"{", b'{"exercise": 3}\n[]\n{"status": []}', b"[" * 9999]


@pytest.fixture(autouse=True)
def lessons(monkeypatch):
    @exercise("02/one", title="One", answer="a", points=1, **COMMON)
    def one(answer, numbers):
        if answer != 1:
            reject("other", "No.")

    @exercise("02/two", title="Two", answer="b", points=3, **COMMON)
    def two(answer, numbers):
        if answer != 2:
            reject("other", "No.")

    monkeypatch.setattr(catalogue, "LESSONS", {"02": "02_lesson"})
    monkeypatch.setattr(catalogue, "of_lesson", lambda lesson: (one, two) if lesson == "02" else ())
    return one, two


@pytest.fixture
def home(tmp_path, monkeypatch):
    monkeypatch.setenv("TRAINIUM_EDU_HOME", str(tmp_path))
    monkeypatch.delenv("TRAINIUM_EDU_COMMITTED", raising=False)
    return tmp_path


@pytest.fixture
def questions(home, monkeypatch):
    """Lesson 02 asks three questions."""
    asked = [
        predict.question("02/steps", {"ask": "How many steps?"})(lambda n: predict.Answer(n)),
        predict.question("02/way", {"ask": "Which?", "options": ["up", "down"]})(
            lambda n: predict.Answer("up")
        ),
        predict.question("02/late", {"ask": "How many more?"})(lambda n: predict.Answer(n)),
    ]
    monkeypatch.setattr(predict, "of_lesson", lambda lesson: asked if lesson[:2] == "02" else ())
    monkeypatch.setattr(predict, "ASKED", {})


def row(number):
    return next(r for r in trainium_edu.progress().rows if r.lesson.number == number)


def test_progress_shows_each_exercise_of_a_lesson(lessons, home):
    one, two = lessons
    assert str(trainium_edu.progress("02")).splitlines()[-2:] == [
        "  [ ] One (1 point)",
        "  [ ] Two (3 points)",
    ]
    one(1)
    two(5)
    assert repr(trainium_edu.progress("02")).splitlines()[-2:] == [
        "  [x] One (1 point)",
        "  [~] Two (3 points)",
    ]
    assert row("02").cells[2] == "1 of 2"
    raises(ValueError, "no lesson '14'; there are 00, 01", trainium_edu.progress, "14")


def test_progress_shows_every_lesson_of_the_course_and_those_registered(home, monkeypatch):
    monkeypatch.setitem(catalogue.LESSONS, "20", "20_my_lesson")
    lines = str(trainium_edu.progress()).splitlines()
    assert [line.split()[0] for line in lines[1:-2]] == [x.number for x in COURSE] + ["20"]
    assert all(x.title in line for x, line in zip(COURSE, lines[1:], strict=False))
    page = trainium_edu.progress()._repr_html_()
    links = re.findall(r'<td style="text-align:left"><a href="([^"]+)"', page)
    assert links == [f"{x.stem}.ipynb" for x in COURSE] + ["20_my_lesson.ipynb"]


def test_what_was_predicted_and_what_of_it_was_right(lessons, home, questions):
    """Judge: three guesses, one exact to a tenth, one wrong, one whose answer was not seen."""
    assert row("02").cells[:2] == ("0 of 3", "0")
    predict.ask("02/steps").commit(95)
    predict.reveal("02/steps", n=100)
    predict.ask("02/way").commit("down")
    predict.reveal("02/way", n=1)
    predict.ask("02/late").commit(7)
    assert row("02").cells[:2] == ("3 of 3", "1")
    predict.ASKED["02/way"].commit("up")  # after the answer: too late
    assert row("02").cells[:2] == ("3 of 3", "1")
    assert str(trainium_edu.progress("02")).splitlines()[1:4] == [
        "  [x] predict 02/steps", "  [~] predict 02/way", "  [~] predict 02/late",
    ]  # fmt: skip


def test_where_you_left_off_is_what_was_written_last(lessons, home, questions):
    one, _ = lessons
    assert str(trainium_edu.progress()).endswith("You have not begun: open 00_start_here.ipynb.")
    predict.ask("02/way").commit("down")
    os.utime(home / "predictions.jsonl", ns=(10**18, 10**18))
    said = "You left off at 02/way in Stochastic rounding."
    assert str(trainium_edu.progress()).endswith(said)
    one(1)
    assert "You left off at 02/one" in str(trainium_edu.progress())
    (home / "progress.jsonl").write_text('{"exercise": 3}\n')
    assert "You have not begun" in str(trainium_edu.progress())


@pytest.mark.parametrize(
    ("journal", "event", "place"),
    [
        ("predictions", '{"key": "00/reads"}', "00_start_here.ipynb#cell-id=training-predict"),
        ("progress", '{"exercise": "02/stands-still"}',
         "02_stochastic_rounding.ipynb#cell-id=ex-stands-still"),
        ("progress", '{"exercise": "02/gone"}', "02_stochastic_rounding.ipynb"),
    ],
)  # fmt: skip
def test_where_you_left_off_leads_to_its_own_cell(home, journal, event, place):
    """Judge: the cells of the stored notebooks."""
    (home / f"{journal}.jsonl").write_text(event + "\n")
    assert f'<a href="{place}">You left off at' in trainium_edu.progress()._repr_html_()


def test_solutions_that_were_seen_are_shown(lessons, home, monkeypatch):
    told = afterwards.Afterwards("Because.", "a = 1", "")
    monkeypatch.setattr(afterwards, "of", lambda exercise: told)
    one, two = lessons
    one(1)
    assert row("02").cells[2] == "1 of 2"
    one.solution()
    two(5), two.hint(), two.solution()
    assert str(trainium_edu.progress("02")).splitlines()[-2:] == [
        "  [x] One (1 point; solution seen after the pass)",
        "  [~] Two (3 points; solution seen before the pass)",
    ]
    assert row("02").cells[2] == "1 of 2, 2 solutions seen"


def test_a_pass_stays_a_pass(lessons):
    one, _ = lessons
    one(1)
    one(7)
    assert "[x] One" in str(trainium_edu.progress("02"))


@pytest.mark.parametrize("damage", DAMAGE)
def test_a_damaged_file_is_never_fatal(lessons, damage, tmp_path, monkeypatch):
    monkeypatch.setenv("TRAINIUM_EDU_HOME", str(tmp_path))
    (tmp_path / "progress.jsonl").write_bytes(damage)
    (tmp_path / "predictions.jsonl").write_bytes(damage)
    assert "of 2" in str(trainium_edu.progress())
    one, _ = lessons
    assert one(1).note == ""
    assert "[x] One" in str(trainium_edu.progress("02"))


def test_where_nothing_can_be_kept_it_is_said_and_the_session_remembers(
    lessons, tmp_path, monkeypatch
):
    (tmp_path / "file").write_text("")
    monkeypatch.setenv("TRAINIUM_EDU_HOME", str(tmp_path / "file"))
    one, two = lessons
    assert one(1).note.startswith("not kept for next time")
    assert two(5).hint.startswith("Hint 1")
    assert two(6).hint.startswith("Hint 2")
    assert "[x] One" in str(trainium_edu.progress("02"))


def test_under_nbval_progress_is_the_same_for_everyone(lessons, monkeypatch):
    one, _ = lessons
    one(1)
    monkeypatch.setenv("TRAINIUM_EDU_COMMITTED", "1")
    assert "0 of 2" in str(trainium_edu.progress())
    assert "You have not begun" in str(trainium_edu.progress())
