"""Each guess at a lesson's questions, tried in the kernel in which nbval has run the lesson.

A plugin of ``make test-notebooks`` (``-p tests.each_guess``): after a lesson's last cell its
questions become uncommitted again; then each wrong model's guess and at last the answer are
committed.  Judge: the wrong models, each of which has to be recognised, the stored outputs, and
``exercises/likely_guesses.toml``: wrong answers that students have given, each with its own model.
"""

import os
import re
import sys
import tempfile
import tomllib
from collections import defaultdict
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[1]
REVEALED = re.compile(r"predict\.reveal\(\s*\"([^\"]+)\"")
LIKELY = tomllib.loads((ROOT / "tests/exercises/likely_guesses.toml").read_text("utf-8"))
CALL = "import sys; sys.path.insert(0, {root!r}); from tests import each_guess; each_guess.{call}"


def shown_by(cell):
    """Return what a cell's reveals store, by key: its last outputs, in their order."""
    keys = REVEALED.findall("".join(cell["source"]))
    texts = ["".join(out["data"].get("text/plain", "")) for out in cell.get("outputs", ())
             if "data" in out]  # fmt: skip
    return dict(zip(keys, texts[len(texts) - len(keys) :], strict=True))


def pytest_configure(config):
    """Let nbval run two more cells in each lesson."""
    if not config.getoption("nbval", False):
        return
    import nbformat
    from nbval.plugin import IPyNbCell, IPyNbFile

    collect = IPyNbFile.collect

    def with_guesses(file):
        def cell(call):
            made = nbformat.v4.new_code_cell(CALL.format(root=str(ROOT), call=call))
            return IPyNbCell.from_parent(
                file, name=call.partition("(")[0], cell_num=-1, cell=made,
                options=defaultdict(bool, check=True),
            )  # fmt: skip

        cells = list(collect(file))
        stored = {key: text for c in file.nb.cells for key, text in shown_by(c).items()}
        yield from [cell("keep()"), *cells, cell(f"commit_all({stored!r})")] if stored else cells

    IPyNbFile.collect = with_guesses


# -- in the lesson's kernel -----------------------------------------------------------------------

_values = {}


def keep():
    """Keep the values with which the lesson reveals its answers."""
    from trainium_edu.exercises import predict

    real = predict.reveal

    def reveal(key, /, **values):
        _values[key] = values
        return real(key, **values)

    predict.reveal = reveal


def commit_all(stored):
    """Commit each wrong guess and the answer; raise where another sentence comes than belongs."""
    from trainium_edu.exercises import predict
    from trainium_edu.exercises.lessons import number_of

    del os.environ["TRAINIUM_EDU_COMMITTED"]
    with tempfile.TemporaryDirectory() as home, pytest.MonkeyPatch.context() as patch:
        patch.setenv("TRAINIUM_EDU_HOME", home)
        questions = {q.key: q for q in predict.of_lesson(number_of(next(iter(stored))))}
        assert list(predict.ASKED) == list(stored) == list(questions)
        for key, values in _values.items():
            question = predict.ask(key)  # once more, and not below an earlier cell
            reveal = predict.reveal(key, **values)
            bound = questions[key].bind(**values)
            likely = [("any", guess) for guess in LIKELY.get(key, ())]
            for name, guess in [*bound.wrong.items(), *likely, ("", bound.answer.value)]:
                question.commitment = type(question.commitment)()  # as if it were the first
                question.commit(list(guess) if isinstance(guess, tuple) else guess)
                told = reveal.bundle()
                recognised = told.get(predict.prediction.RECOGNISED, {}).get("misconception", "")
                assert recognised == name or (name == "any" and recognised), (key, guess, told)
            assert "Exactly right." in told["text/plain"].split("\n"), key
            shown = predict.reveal(key, **values).bundle()["text/plain"].split("\n")
            lost = [line for line in stored[key].split("\n") if line.strip() and line not in shown]
            assert not lost, (key, lost)
    sys.modules.pop(__name__)
