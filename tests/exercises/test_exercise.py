"""What an exercise says to an answer, and where the numbers come from.

Judge: the promises made to learners; SHA-256's published test vector for the numbers.
"""

import ast
import contextlib
import importlib
import io
import signal
import threading
from pathlib import Path
from unittest import mock

import numpy as np
import pytest

from tests.exercises.rejected import rejected
from tests.for_each import for_each, for_rows, raises
from trainium_edu.exercises import afterwards, learner, puzzles
from trainium_edu.exercises.card import Card
from trainium_edu.exercises.exercise import SOLUTION_SEEN, Draw, Numbers, Status, exercise, words_of
from trainium_edu.exercises.judge import reject
from trainium_edu.widgets import journal


@exercise(
    "99/double", title="Double it", answer="double", points=2, tests="doubling",
    hints=("What is x + x?", "Multiply by two."),
    numbers=lambda draw: {"x": draw.integer("x", 3, 999)},
)  # fmt: skip
def double(answer, numbers):
    got = answer(numbers.x)
    if got == numbers.x**2:
        reject("squares", "That is the square.")
    if got != 2 * numbers.x:
        reject("other", "Not the double.")
    if answer(7) != 14:
        reject("other", "Not the double.")


@exercise(
    "99/row", title="The row", answer="row", points=1, tests="looking", literal=True,
    hints=("Look.", "Look again."), numbers=lambda draw: {"row": draw.integer("row", 1, 10**6)},
)  # fmt: skip
def row(answer, numbers):
    if answer != numbers.row:
        reject("other", "Another row.")


def test_a_pass_says_public_and_never_all():
    text = str(double(lambda x: x + x))
    assert text == "Double it: public checks passed\nThe grader tries other numbers."
    assert " all" not in text


@for_rows(
    "blank", None, ..., "", "  ", [], {}, (), [None, None], {"a": ...}, lambda x: None,
    lambda x: ...,
)  # fmt: skip
def test_what_a_starter_holds_is_not_attempted(blank):
    assert double(blank).status is Status.NOT_ATTEMPTED
    grade = double.grade(blank)
    assert (grade.points, grade.status) == (0, "not attempted")


def test_a_function_that_says_it_is_not_written_is_not_attempted():
    def todo(x):
        raise NotImplementedError

    assert double(todo).status is Status.NOT_ATTEMPTED


def test_hints_come_on_request_one_at_a_time_before_any_attempt():
    said = [str(double.hint()) for _ in range(3)]
    assert said == ["Hint 1 of 2: What is x + x?", *2 * ["Hint 2 of 2: Multiply by two."]]
    assert double(lambda x: x * x).hint == "Hint 2 of 2: Multiply by two."  # none is taken back
    double(lambda x: 2 * x)
    assert str(double.hint()).startswith("Hint 1")


def test_a_hint_on_request_goes_on_where_wrong_answers_have_led():
    assert double(lambda x: x * x).hint.startswith("Hint 1")
    assert str(double.hint()).startswith("Hint 2")


@pytest.fixture
def solved(tmp_path, monkeypatch):
    """The exercise of this file with a solution of its own."""
    told = afterwards.Afterwards("Because.", "def double(x):\n    return 2 * x", "And the half?")
    monkeypatch.setattr(afterwards, "of", lambda exercise: told)


def test_a_solution_comes_after_a_pass_or_after_all_hints_and_an_attempt(solved):
    assert str(double.solution()).startswith("Not yet: a solution is shown after a pass")
    double.hint(), double.hint()
    assert str(double.solution()).startswith("Not yet")  # nothing was tried
    double(lambda x: x * x)
    assert double.solution().code == "def double(x):\n    return 2 * x"
    assert learner.solution_seen("99/double") == "before the pass"
    assert str(double(lambda x: 2 * x)).endswith("The grader tries other numbers.\nBecause.")
    assert str(double.challenge()) == "Next challenge: And the half?"


def test_a_solution_after_a_pass_is_noted_as_such_and_costs_nothing(solved):
    double(lambda x: 2 * x)
    assert double.solution().code
    assert learner.solution_seen("99/double") == "after the pass"
    assert double.grade(lambda x: 2 * x).points == 2


def test_without_a_solution_nothing_is_offered():
    double(lambda x: 2 * x)
    assert str(double.solution()) == "No solution: none is installed here."
    assert [text for text, _ in double.offers(Status.PASSED)] == ["", "", "", ""]


def test_the_card_offers_what_can_be_asked_for_and_keeps_what_was_said(solved):
    result = double(None)
    card = Card(result._repr_html_(), "Double it", lambda: double.offers(result.status))
    hint = card.buttons[0]

    def shown():
        return [b.description for b in card.buttons if b.layout.display != "none"]

    assert shown() == ["Hint 1 of 2"]
    assert hint.tooltip == "Hint 1 of 2: Double it"
    hint.click()
    assert shown() == ["Hint 2 of 2"]
    hint.click()
    assert shown() == []
    said = card.children[2].html
    assert said.index("Multiply by two.") < said.index("What is x + x?")  # newest first
    double(lambda x: x * x)
    card = Card("", "Double it", lambda: double.offers(Status.WRONG))
    card.buttons[1].click()
    assert "return 2 * x" in card.children[2].html
    assert card.buttons[1].layout.display == "none"


def test_only_a_learner_gets_buttons_and_a_seen_solution_stands_in_the_output(solved, monkeypatch):
    double(lambda x: x * x)
    double.hint(), double.solution()
    data = double(lambda x: 2 * x)._repr_mimebundle_()
    assert data[SOLUTION_SEEN] == {"key": "99/double"}
    assert "application/vnd.jupyter.widget-view+json" in data
    monkeypatch.setenv("TRAINIUM_EDU_COMMITTED", "1")
    assert set(double(None)._repr_mimebundle_()) == {"text/plain", "text/html"}


def test_what_is_measured_of_a_right_answer_stands_in_the_result_and_not_in_the_grade():
    @exercise("99/m", title="M", answer="f", points=1, tests="x", hints=("a", "b"))
    def measures(answer, numbers):
        answer(1)
        return lambda: "Three steps."

    assert "Three steps." in str(measures(lambda x: x))
    assert measures.grade(lambda x: x).reason == ""


def test_the_ladder_climbs_with_each_different_wrong_answer_and_starts_again_after_a_pass():
    def hint(answer):
        return double(answer).hint

    assert hint(lambda x: x * x) == "Hint 1 of 2: What is x + x?"
    assert hint(lambda x: x * x) == "Hint 1 of 2: What is x + x?"  # the same cell, run again
    assert hint(lambda x: x * x * x) == "Hint 2 of 2: Multiply by two."
    assert hint(lambda x: x - 1) == "Hint 2 of 2: Multiply by two."
    double(lambda x: 2 * x)
    assert hint(lambda x: x - 2) == "Hint 1 of 2: What is x + x?"


@for_rows(
    "answer, says",
    (lambda x: x * x, "That is the square."),
    (lambda x: 1 / 0, "raised ZeroDivisionError: division by zero"),
    (lambda: 3, "raised TypeError"),
    (lambda x: 14 if x == 7 else None, None),
    (lambda x: 2 * x if x != 7 else None, "double(7) returns nothing, though it did"),
    (lambda x: "text", "Not the double."),
    (lambda x: np.arange(3), "could not use this answer (ValueError"),
    (lambda x: exit(), "calls exit"),
    (3, "a function is asked for"),
    ("text", "a function is asked for"),
)
def test_wrong_answers_get_the_feedback_that_fits(answer, says):
    if callable(answer):
        answer.__name__ = "double"
    result = double(answer)
    if says is None:
        assert result.status is Status.NOT_ATTEMPTED
        return
    assert result.status is Status.WRONG
    assert says in result.feedback
    assert "\n" not in result.feedback


def test_endless_recursion_is_named():
    def again(x):
        return again(x)

    assert "calls itself without end" in double(again).feedback


def test_printing_without_end_is_stopped_and_a_little_is_shown():
    def loud(x):
        while True:
            print("x" * 100)

    out = io.StringIO()
    with contextlib.redirect_stdout(out):
        result = double(loud)
    assert "printed more than 100 kB" in result.feedback
    assert len(out.getvalue()) < 101_000

    def quiet(x):
        print("here")
        return 2 * x

    out = io.StringIO()
    with contextlib.redirect_stdout(out):
        assert double(quiet).status is Status.PASSED
    assert out.getvalue() == "here\nhere\n"


def test_an_endless_loop_can_be_interrupted():
    """Judge: Python's own KeyboardInterrupt, which must pass through the check."""

    def loop(x):
        signal.raise_signal(signal.SIGINT)
        while True:
            pass

    before = signal.signal(signal.SIGINT, signal.default_int_handler)  # a job may ignore it
    try:
        raises(KeyboardInterrupt, "", double, loop)
    finally:
        signal.signal(signal.SIGINT, before)


def test_answers_cannot_change_what_is_checked():
    @exercise("99/sum", title="Sum", answer="f", points=1, tests="x", hints=("a", "b"))
    def total(answer, numbers):
        x = np.ones(3)
        got = answer(x)
        if got != 3 or x.sum() != 3:
            reject("other", "Not the sum.")

    def cheat(x):
        x[:] = 0
        return 0

    assert total(cheat).status is Status.WRONG


def test_the_grader_tries_other_numbers_and_the_salt_changes_them():
    public = double.numbers().x
    seen = {"": [], "salt": []}
    for salt in seen:
        double.grade(lambda x, salt=salt: seen[salt].append(x) or 2 * x, salt=salt)
    assert public in seen[""]
    assert len(set(seen[""])) >= 4
    assert set(seen[""]) != set(seen["salt"])
    grade = double.grade(lambda x: 2 * public if x == public else 14)
    assert (grade.points, grade.reason) == (0, "hidden check: Not the double.")


def test_a_literal_answer_counts_for_its_own_student_only():
    mine = row.numbers("AB12").row
    assert row(mine, " ab12 ").status is Status.PASSED
    assert (row.grade(mine, "ab12").points, row.grade(mine, "cd34").points) == (1, 0)
    public = row.numbers().row
    assert row(public).status is Status.PASSED
    grade = row.grade(public)  # a course without ids
    assert (grade.points, grade.reason) == (1, "no student id, so these numbers are everyone's")
    assert "a value is asked for" in row(lambda: 3, "ab12").feedback


def test_numbers_are_sha256_of_their_names():
    """Judge: ``printf 'abc|x' | sha256sum`` of coreutils, its first 64 bits."""
    assert Draw("abc").seed("x") == 0x336591AB7E90F75E
    draw = Draw("t")
    assert {draw.integer(str(i), 2, 4) for i in range(50)} == {2, 3, 4}
    assert sorted(draw.shuffled("s", ["a", "b", "c"])) == ["a", "b", "c"]
    assert draw.choice("c", ["a", "b"]) in "ab"


def test_numbers_read_as_text_and_by_name():
    numbers = Numbers({"rows": 4, "name": "a"})
    assert (repr(numbers), numbers.rows, numbers["name"]) == ("rows = 4, name = 'a'", 4, "a")
    with pytest.raises(AttributeError):
        numbers.columns  # noqa: B018


@for_rows("student", 3.5, True, [], object(), "x" * 999)
def test_a_strange_student_id_is_one_sentence(student):
    raises(TypeError, "a student id is a short text", double.numbers, student)


@for_rows("wrong", {"key": "double"}, {"points": 0}, {"hints": ("one",)}, {"answer": "a b"})
def test_an_exercise_is_complete_when_it_is_made(wrong):
    given = {"key": "99/x", "title": "", "answer": "x", "points": 1, "tests": "",
             "hints": ("a", "b")}  # fmt: skip
    given.update(wrong)
    with pytest.raises(ValueError, match=r"99|double"):
        exercise(given.pop("key"), **given)(lambda answer, numbers: None)


def test_under_nbval_nothing_is_stored_and_the_text_is_fixed(monkeypatch):
    monkeypatch.setenv("TRAINIUM_EDU_COMMITTED", "1")
    assert str(double(None)) == "Double it: not attempted yet"
    double(lambda x: 2 * x)
    assert journal.read("progress") == []


def test_the_html_is_escaped():
    @exercise("99/h", title="<b>", answer="f", points=1, tests="x", hints=("a", "b"))
    def html(answer, numbers):
        answer(1)

    def fails(x):
        raise ValueError("<script>")

    assert "<script>" not in html(fails)._repr_html_()
    assert "<b>&lt;b&gt;" not in html(None)._repr_html_().replace("<b>○ ", "")


def test_an_answer_that_does_not_end_is_stopped_with_a_sentence(monkeypatch):
    """Judge: the clock; and the loop's own handlers, which no check may be caught by."""
    module = importlib.import_module("trainium_edu.exercises.exercise")
    monkeypatch.setattr(module, "CHECK_AT_MOST_SECONDS", 0.2)

    def endless(x):
        while True:
            with contextlib.suppress(Exception):
                x += 1

    result = double(endless)
    assert result.misconception == "does not end"
    assert "does not end" in result.feedback
    assert double(lambda x: 2 * x).status is Status.PASSED  # the clock is off again
    found = []
    thread = threading.Thread(target=lambda: found.append(double(lambda x: 2 * x).status))
    thread.start()
    thread.join()
    assert found == [Status.PASSED]


@for_each(
    "path",
    [
        p
        for p in sorted(Path(afterwards.__file__).parent.glob("*.toml"))
        if p.stem not in ("leaderboard", "lessons", "refusals")
    ],
    ids=lambda p: p.stem,
)
def test_words_and_checks_name_the_same_misconceptions(path):
    tree = ast.parse(path.with_suffix(".py").read_text(encoding="utf-8"))
    texts = {n.value for n in ast.walk(tree) if isinstance(n, ast.Constant)}
    called = (rejected(node) for node in ast.walk(tree))
    alone = {t[0].value for t in called if len(t) == 1 and isinstance(t[0], ast.Constant)}
    tables = (table for table in words_of(path).values() if isinstance(table, dict))
    words = {name for table in tables for name in table.get("wrong", {})}
    assert alone <= words <= texts | {"other"}  # which `compare` rejects


def test_a_check_before_its_exercise_says_so_in_a_sentence(monkeypatch, capsys):
    """Judge: IPython's own shell, in which a lesson's cells run."""
    from IPython.core.interactiveshell import InteractiveShell

    monkeypatch.delenv("TRAINIUM_EDU_COMMITTED", raising=False)
    shell = InteractiveShell.instance()
    try:
        exercise("99/late", title="L", answer="late", points=1, tests="x", hints=("a", "b"))(print)
        shell.run_cell("late(1)")
        assert capsys.readouterr().out == (
            "There is no `late` yet: run the cells above this one first.\n"
        )
        shell.run_cell("another(1)")
        assert "NameError" in capsys.readouterr().out
    finally:
        InteractiveShell.clear_instance()


def test_reset_puts_the_starter_into_the_cell_that_runs_it():
    with mock.patch("trainium_edu.exercises.exercise.get_ipython") as shell:
        puzzles.copy_tile.reset()
    ((source,), options) = shell().set_next_input.call_args
    assert source == puzzles.copy_tile.starter().code
    assert source.startswith("@nki.jit\ndef copy_tile(x):")
    assert options == {"replace": True}
