"""Every exercise of every lesson: its solution passes, and each way to be wrong gets its feedback.

Judge: the reference solutions and the named misconceptions in tests/solutions.
"""

import ast
import functools
import inspect
import itertools
import re
import sys
import types
from pathlib import Path
from string import Formatter

import numpy as np
import pytest

from tests.exercises.rejected import rejected
from tests.for_each import for_each
from tests.solutions import reading
from trainium_edu import exercises
from trainium_edu.exercises import afterwards, asked, judge
from trainium_edu.exercises.exercise import Status
from trainium_edu.exercises.lessons import number_of
from trainium_edu.specs import TRN2

LONG = RANKED = ("12/fused",)  # a whole image is timed; a class compares that
EXERCISES = [e for lesson in exercises.LESSONS for e in exercises.of_lesson(lesson)]
RECOGNISING = [e for e in EXERCISES if "compare" in e.function.__code__.co_names] + [
    exercises.find(key)
    for key in ("01/nearest-even", "02/round-with-tosses", "06/vjp", "09/ring-mean")
]
PUZZLES = [e for e in EXERCISES if e.key[:3] in ("05b", "05c")]
#: Wrong models are fed back here, or in tests of their lessons.
FED_BACK = [*RECOGNISING, *PUZZLES, exercises.find("11/interval")]


def blocks(kind):
    return [
        pytest.param(b, id=b.label, marks=[pytest.mark.slow] * (b.key in LONG))
        for lesson in exercises.LESSONS
        for b in reading.blocks(lesson)
        if b.kind == kind
    ]


def answer_of(block, student=""):
    return reading.run(block, student)[exercises.find(block.key).answer]


@pytest.mark.slow
@pytest.mark.parametrize("lesson", ["03", "04", "05", "07"])
def test_a_lesson_runs_with_trainium2(lesson, monkeypatch):
    """Every cell, and each check of a solution; questions take their answers from the record."""
    monkeypatch.setenv("TRAINIUM_EDU_COMMITTED", "1")
    solutions = {b.key: b.source for b in reading.blocks(lesson) if b.kind == "solution"}
    cells = [c for c in reading.with_answers(lesson, solutions).cells if c.cell_type == "code"]
    assert "chip = specs.TRN1" in cells[0].source
    scope = {"__name__": "__main__", "display": lambda *args: None}
    for cell in cells:
        source = cell.source.replace("chip = specs.TRN1", "chip = specs.TRN2")
        exec(compile(source, f"<{cell.id}>", "exec"), scope)
    assert scope["chip"] is TRN2
    for key in solutions:
        exercise = exercises.find(key)
        assert exercise(scope[exercise.answer], "").status is Status.PASSED


@for_each("exercise", EXERCISES, ids=lambda e: e.key)
def test_each_exercise_has_a_solution_three_wrong_answers_and_a_hard_coded_one(exercise):
    mine = [b for b in reading.blocks(number_of(exercise.key)) if b.key == exercise.key]
    kinds = [b.kind for b in mine]
    assert (kinds.count("solution"), kinds.count("hard-coded")) == (1, 1)
    assert len({b.name for b in mine if b.kind == "wrong"}) >= (
        3 if exercise not in FED_BACK else 1
    )


@pytest.mark.parametrize("block", blocks("solution"))
def test_the_solution_gets_full_points(block):
    """On everybody's numbers in the check, on a student's and on hidden ones in the grader."""
    exercise = exercises.find(block.key)
    assert exercise(answer_of(block)).status is Status.PASSED
    grade = exercise.grade(answer_of(block, "ab123"), "ab123", salt="autumn")
    assert (grade.points, grade.status, grade.reason) == (exercise.points, "full", "")
    assert bool(grade.entry) == (block.key in RANKED)


@pytest.mark.parametrize("block", blocks("wrong"))
def test_each_wrong_answer_is_rejected_with_the_feedback_that_fits(block):
    exercise = exercises.find(block.key)
    answer = answer_of(block, "ab123")
    result = exercise(answer, "ab123")
    assert result.status is Status.WRONG
    assert block.feedback
    assert block.feedback in result.feedback
    assert result.hint.startswith("Hint 1 of ")
    grade = exercise.grade(answer, "ab123")
    assert (grade.points, grade.status) == (0, "wrong")


@for_each("exercise", RECOGNISING, ids=lambda e: e.key)
def test_a_wrong_model_that_is_fed_back_is_called_by_its_name(exercise):
    """Judge: what a check's wrong models make of its numbers, each the answer of a learner."""
    check, named = sys.modules[exercise.function.__module__], set()
    mine = [b for b in reading.blocks(number_of(exercise.key)) if b.key == exercise.key]
    other = "x2" if exercise.key == "06/vjp" else "x1"  # the eps of x1 is too small to show
    for student in ("ab123", other):  # for one of them, two models may give the same
        given = {}

        def keep(got, models, cases=(), same=None, given=given):
            for name, model in models.items():
                given[name] = [model(*case) for case in cases] if cases else model

        with pytest.MonkeyPatch.context() as patch:
            for module in (check, judge):
                patch.setattr(module, "recognise", keep, raising=False)
            for block in mine:  # one that is wrong, and of the right form
                if not given and block.kind != "solution":
                    exercise(answer_of(block, student), student)
        assert len(given) >= 3
        for name, gives in given.items():
            answers = iter(gives) if isinstance(gives, list) else itertools.repeat(gives)
            result = exercise(lambda *_, answers=answers: next(answers), student)
            assert (result.status, bool(result.feedback)) == (Status.WRONG, True), name
            told = given[result.misconception]
            assert told == gives if isinstance(gives, list) else np.array_equal(told, gives), name
            named.add(result.misconception)
    assert named == set(given)


@functools.cache
def text_of(path):
    """Return the constants of a module, and the trees of its functions by name."""
    tree = ast.parse(Path(path).read_text(encoding="utf-8"))
    texts = {node.value for node in ast.walk(tree) if isinstance(node, ast.Constant)}
    return texts, {node.name: node for node in tree.body if isinstance(node, ast.FunctionDef)}


@for_each("exercise", EXERCISES, ids=lambda e: e.key)
def test_each_sentence_of_a_check_has_a_use_and_its_values(exercise):
    """Judge: the text of the check, and of the functions of its module that it calls."""
    texts, functions = text_of(inspect.getsourcefile(exercise.function))
    ahead, own = {exercise.function.__name__} & set(functions), set()
    while ahead:
        own |= ahead
        called = (node for name in ahead for node in ast.walk(functions[name]))
        ahead = {n.id for n in called if isinstance(n, ast.Name)} & set(functions) - own
    if exercise not in PUZZLES:  # theirs are rows of their words
        assert set(exercise.wrong) <= texts | {"other"}  # which `compare` rejects
    for call in (node for name in own for node in ast.walk(functions[name])):
        texts = rejected(call)
        if len(texts) == 1 and isinstance(texts[0], ast.Constant):
            values = {keyword.arg for keyword in call.keywords} | set(exercise.numbers("ab123"))
            if any(keyword.arg is None for keyword in call.keywords):
                continue  # values that are named elsewhere
            asked = Formatter().parse(exercise.wrong[texts[0].value])
            names = {re.split(r"[.[]", name)[0] for _, name, *_ in asked if name is not None}
            assert names <= values


@for_each("exercise", PUZZLES, ids=lambda e: e.key)
def test_what_a_puzzles_wrong_model_gives_is_called_by_its_name(exercise):
    """Judge: NumPy's wrong models, each as the numbers of a kernel that writes them."""
    row, numbers = exercise.function.__self__, exercise.numbers("ab123")
    arrays = row.drawn(numbers)
    right, given = row.solved(arrays)
    for out in given.values():
        dtype = next(iter(arrays.values())).dtype
        with pytest.MonkeyPatch.context() as patch:
            found = types.SimpleNamespace(outputs=[out.astype(dtype)])
            patch.setattr(asked, "report", lambda *_, f=found: f)
            result = exercise(lambda *_: None, "ab123")
        same = {name for name, gives in given.items() if np.array_equal(gives, out)}
        assert result.misconception in (same if out.shape == right.shape else {"wrong shape"})
        assert result.feedback
        assert result.picture


@pytest.mark.parametrize("block", blocks("hard-coded"))
def test_a_hard_coded_public_answer_passes_in_public_and_fails_the_hidden_check(block):
    exercise = exercises.find(block.key)
    answer = answer_of(block)
    assert exercise(answer).status is Status.PASSED
    grade = exercise.grade(answer, "cd34" if exercise.literal else "")
    assert (grade.points, grade.status) == (0, "wrong")
    assert grade.reason.startswith("hidden check: ") or exercise.literal


@for_each("exercise", EXERCISES, ids=lambda e: e.key)
def test_the_starter_is_called_not_attempted(exercise):
    answer = reading.run(reading.starter(exercise), "ab123")[exercise.answer]
    assert exercise(answer, "ab123").status is Status.NOT_ATTEMPTED
    grade = exercise.grade(answer, "ab123")
    assert (grade.points, grade.status) == (0, "not attempted")


@for_each("exercise", EXERCISES, ids=lambda e: e.key)
def test_hints_differ_and_behind_a_pass_stand_two_lines_of_why_a_solution_and_a_challenge(exercise):
    assert len(set(exercise.hints)) == len(exercise.hints) >= 2
    told = afterwards.of(exercise)
    assert 60 < len(told.why) < 260
    assert exercise.answer in told.solution
    assert 30 < len(told.challenge) < 160


@pytest.mark.parametrize("lesson", exercises.LESSONS)
def test_no_cell_of_a_lesson_gives_a_solution_away(lesson):
    text = "\n".join(cell.source for cell in reading.notebook(lesson).cells)
    for exercise in exercises.of_lesson(lesson):
        solution = afterwards.of(exercise).solution
        assert solution[solution.index("\n") :] not in text  # whatever the function is called
        assert afterwards.of(exercise).why not in text


def test_no_fixed_rate_and_no_place_in_the_list_passes_for_the_stopping_rate():
    """Judge: sixty salts, each with its hidden numbers, against guesses that train nothing."""
    exercise = exercises.find("02/stopping-rate")
    guesses = {
        f"the {name} of the list": pick
        for name, pick in {
            "second": lambda rates, seed: sorted(rates)[-2],
            "third": lambda rates, seed: sorted(rates)[1],
        }.items()
    }
    for limit in (0.011, 0.0115, 0.012, 0.0125, 0.013, 0.0135, 0.014):
        guesses[f"below {limit}"] = lambda rates, seed, limit=limit: max(
            rate for rate in rates if rate <= limit
        )
    passed = {
        name: sum(exercise.grade(guess, salt=f"s{i}").points > 0 for i in range(60))
        for name, guess in guesses.items()
    }
    assert max(passed.values()) == 0, passed
