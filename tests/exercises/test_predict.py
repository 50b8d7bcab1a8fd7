"""Questions of the lessons: no cell gives an answer away, and each wrong guess is answered.

Judge: the lessons themselves, beside what they store; and the wrong models, each of which has to
say something else (``tests/each_guess.py`` tries them in the lessons' kernels).
"""

import ast
import inspect
import json
import re
import sys
import textwrap
import tomllib
import types
from pathlib import Path

import pytest

from tests.each_guess import REVEALED, shown_by
from tests.for_each import for_each, for_rows, raises
from trainium_edu import exercises
from trainium_edu.exercises import predict
from trainium_edu.exercises.predict import Answer, question

FOLDER = Path(__file__).parents[2] / "notebooks"
LESSONS = {path.name.split("_")[0]: path for path in sorted(FOLDER.glob("[0-9][0-9]*_*.ipynb"))}
NUMBERS = {path.stem.partition("_")[2]: number for number, path in LESSONS.items()}
ASKED = re.compile(r"predict\.ask\(\s*\"([^\"]+)\"")


def code(lesson):
    book = json.loads(LESSONS[lesson].read_text(encoding="utf-8"))
    return [(cell["cell_type"], "".join(cell["source"])) for cell in book["cells"]], book


WITH_QUESTIONS = [lesson for lesson in LESSONS if predict.of_lesson(lesson)]


@for_each("lesson", WITH_QUESTIONS)
def test_each_question_is_asked_once_and_revealed_once_in_a_later_cell(lesson):
    cells, _ = code(lesson)
    asked = [(key, i) for i, (_, text) in enumerate(cells) for key in ASKED.findall(text)]
    revealed = [(key, i) for i, (_, text) in enumerate(cells) for key in REVEALED.findall(text)]
    keys = [q.key for q in predict.of_lesson(lesson)]
    assert [key for key, _ in asked] == [key for key, _ in revealed] == keys
    for (key, ask), (_, reveal) in zip(asked, revealed, strict=True):
        assert ask < reveal, key
    assert not re.search(r"\.reveal\((?!\s*\")", "".join(text for _, text in cells))


@for_each("lesson", WITH_QUESTIONS)
def test_each_wrong_option_has_a_sentence_and_each_number_a_wrong_model(lesson):
    for q in predict.of_lesson(lesson):
        names = [m.name for m in q.wrong]
        assert len(set(names)) == len(names)
        assert q.wrong, q.key
        if q.kind == "choice":
            assert len(q.wrong) == len(q.options) - 1, q.key
        else:
            assert len(q.wrong) >= 3, q.key
            assert q.again.endswith((".", "?")), q.key
        for misconception in q.wrong:
            assert misconception.says.endswith((".", "?", "!")), q.key
            assert len(misconception.says) > 30, (q.key, misconception.name)


@for_each("lesson", WITH_QUESTIONS)
def test_each_sentence_has_its_number_in_the_function_and_each_number_its_sentence(lesson):
    for q in predict.of_lesson(lesson):
        tree = ast.parse(textwrap.dedent(inspect.getsource(q.function)))
        tables = [node.value for node in ast.walk(tree)
                  if isinstance(node, ast.keyword) and node.arg == "wrong"]  # fmt: skip
        computed = [ast.literal_eval(key) for table in tables for key in table.keys]
        assert sorted(computed) == sorted(m.name for m in q.wrong if m.option == ""), q.key
        if q.options:
            assert {m.option for m in q.wrong} <= {"", *q.options}, q.key


def spelled(value, text):
    """Whether a text states a value: an option's words, or a number of two digits and more."""
    if isinstance(value, str):
        return value in text
    plain = f"{value:.6g}"
    digits = plain.replace(".", "").strip("0")
    if len(digits) < 2:
        return False
    text = REVEALED.sub("", ASKED.sub("", text)).replace(",", "")  # a key has a lesson's number
    return bool(re.search(rf"(?<![\d.]){re.escape(plain)}(?![\d.]|\d)", text))


@for_each("lesson", WITH_QUESTIONS)
def test_no_source_between_question_and_reveal_spells_the_answer(lesson):
    """The answer of a question is what its reveal stores as "Answer: ..."."""
    cells, book = code(lesson)
    for i, cell in enumerate(book["cells"]):
        for key, shown in shown_by(cell).items():
            answer = re.search(r"Answer: (.*)", shown).group(1)
            q = next(q for q in predict.of_lesson(lesson) if q.key == key)
            value = answer if q.kind != "number" else float(
                answer.removesuffix(q.unit).replace(",", "").strip()
            )  # fmt: skip
            begin = next(k for k, (_, t) in enumerate(cells) if key in ASKED.findall(t))
            for where, (_, source) in enumerate(cells[begin : i + 1], begin):
                assert not spelled(value, source), (key, f"cell {where}", value)


# -- the machinery --------------------------------------------------------------------------------

SAMPLE = Path(__file__).with_name("questions.toml").read_text("utf-8")


@pytest.fixture
def lesson_99(monkeypatch, tmp_path):
    """A lesson of two questions."""
    monkeypatch.setenv("TRAINIUM_EDU_HOME", str(tmp_path))
    monkeypatch.delenv("TRAINIUM_EDU_COMMITTED", raising=False)
    module = types.ModuleType("trainium_edu.exercises.questions.sample")
    module.__spec__ = __import__("importlib.machinery").machinery.ModuleSpec(module.__name__, None)

    words = tomllib.loads(SAMPLE)

    @question("99/bytes", words["bytes"])
    def size(n):
        wrong = {"numbers for bytes": n, "bits for bytes": 32 * n}
        return Answer(4 * n, wrong, {"each": 4}, lambda guess: f"you said {guess}")

    @question("99/way", words["way"])
    def faster(a, b):
        return Answer("two")

    module.size, module.faster = size, faster
    monkeypatch.setitem(sys.modules, module.__name__, module)
    monkeypatch.setitem(exercises.LESSONS, "99", "99_sample")
    monkeypatch.setattr(predict, "ASKED", {})
    return module


def test_values_are_bound_when_the_reveals_cell_runs(lesson_99):
    asked = predict.ask("99/bytes")
    n = 10
    shown = predict.reveal("99/bytes", n=n)
    n = 99
    asked.commit("320")
    text = shown.bundle()["text/plain"]
    assert "Answer: 40 bytes" in text
    assert "Those are 10 × 32 bits." in text
    assert "you said 320" in text
    assert shown.bundle()[predict.prediction.RECOGNISED] == {
        "key": "99/bytes",
        "misconception": "bits for bytes",
    }


def test_a_guess_that_no_wrong_model_makes_is_compared(lesson_99):
    asked = predict.ask("99/bytes")
    shown = predict.reveal("99/bytes", n=10)
    asked.commit("80")
    assert "2 times the answer. Each of the 10 takes several." in shown.bundle()["text/plain"]
    assert predict.prediction.RECOGNISED not in shown.bundle()
    assert 'aria-label="the answer 40 bytes, your guess 80 bytes"' in shown.children[0].value


@pytest.mark.parametrize(
    ("value", "says"), [("-5", "above 0"), ("0", "above 0"), ("2.5", "whole number is asked for")]
)
def test_what_cannot_be_an_answer_is_refused_with_a_sentence(lesson_99, value, says):
    raises(ValueError, says, predict.ask("99/bytes").commit, value)


def test_a_wrong_option_gets_its_sentence_and_is_drawn_beside_the_right_one(lesson_99):
    asked = predict.ask("99/way")
    shown = predict.reveal("99/way", a=1, b=2)
    asked.commit("one")
    assert "Two work side by side here." in shown.bundle()["text/plain"]
    assert "✗ one <i>(your choice)</i>" in shown.children[0].value
    assert "✓ two" in shown.children[0].value


@for_rows("wrong", {}, {"bits for bytes": 1}, {"numbers for bytes": 2, "else": 3})
def test_reveal_rejects_values_without_words_and_words_without_values(wrong):
    @question("99/bytes", tomllib.loads(SAMPLE)["bytes"])
    def size():
        return Answer(4, wrong, {"n": 1})

    raises(KeyError, "99/bytes: the wrong models of the data file are", size.bind)


def test_every_table_of_words_belongs_to_a_question():
    for path in Path(predict.__file__).with_name("questions").glob("*.toml"):
        keys = {q.key.partition("/")[2] for q in predict.of_lesson(NUMBERS[path.stem])}
        words = predict.words_of(path)
        for other in ("headlines", "operations", "shown"):  # which a page shows
            words.pop(other, None)
        assert set(words) <= keys
        for table in words.values():  # numbers and formulas are the function's
            assert {name for row in table["wrong"] for name in row} <= {"name", "says", "option"}


def test_unknown_keys_are_one_sentence(lesson_99):
    with pytest.raises(ValueError, match="no question '99/x'; questions of this lesson: 99/bytes"):
        predict.ask("99/x")


def test_questions_of_every_lesson_are_in_the_package():
    """Forty wrong models in all; a lesson asks nothing that the package does not know."""
    for lesson in LESSONS:
        cells, _ = code(lesson)
        text = "\n".join(source for kind, source in cells if kind == "code")
        assert not re.search(r"predict\w*\.(number|choice|order)\(", text), lesson
    assert sum(len(q.wrong) for lesson in LESSONS for q in predict.of_lesson(lesson)) >= 40
