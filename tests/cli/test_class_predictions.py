"""A class's predictions: collected from notebooks, never from running anything.

Judge: the counts that the notebooks were made with.
"""

import json

import nbformat
import pytest
from nbformat.v4 import new_code_cell, new_markdown_cell, new_notebook, new_output

from tests.for_each import for_each, for_rows
from trainium_edu import __main__
from trainium_edu.cli import class_predictions
from trainium_edu.widgets.prediction import MIME


def record(key, value, kind="number", **more):
    return {"key": key, "kind": kind, "question": "How many?", "unit": "", "options": [],
            "value": value, "present": value, "changes_after_answer": 0, **more}  # fmt: skip


def write(folder, name, *records):
    outputs = [new_output("display_data", {MIME: record}) for record in records]
    nbformat.write(
        new_notebook(cells=[new_markdown_cell(), new_code_cell(outputs=outputs)]), folder / name
    )


@pytest.fixture
def classroom(tmp_path):
    options = {"kind": "choice", "options": ["Mesh", "RDH"]}
    for i, value in enumerate([100, 256, 256, 300, 100_000]):
        write(tmp_path, f"{i}.ipynb", record("02/n", value, changes_after_answer=i % 2),
              record("08/w", ["Mesh", "RDH"][i % 2], **options),
              record("01/o", ["a", "b"], kind="order", options=["b", "a"]))  # fmt: skip
    return tmp_path


def test_counts(classroom, capsys):
    found = class_predictions.collect(sorted(classroom.glob("*.ipynb")))
    assert capsys.readouterr().err == ""
    assert list(found) == ["01/o", "02/n", "08/w"]
    assert found["08/w"].bins() == [("Mesh", 3), ("RDH", 2)]
    assert found["01/o"].bins() == [("a → b", 5)]
    assert found["02/n"].bins() == [("100", 1), ("256", 2), ("300", 1), ("100000", 1)]
    assert found["02/n"].changed_after_answer == 2


def reveal(folder, name, *keys_and_texts, source=""):
    outputs = [new_output("display_data", {"text/plain": f"You said x\n{text}"})
               for _, text in keys_and_texts]  # fmt: skip
    source += "".join(f'predict.reveal("{key}", n=1)\n' for key, _ in keys_and_texts)
    book = nbformat.read(folder / name, as_version=4)
    book.cells.append(new_code_cell(source, outputs=outputs))
    nbformat.write(book, folder / name)


def test_right_answer_is_marked_in_the_text_and_in_the_histogram(classroom):
    told = ("02/n", "Answer: 256 bytes\nso"), ("08/w", "Answer: RDH"), ("01/o", "Answer: b → a")
    for i in range(3):
        reveal(classroom, f"{i}.ipynb", *told)
    reveal(classroom, "3.ipynb", ("02/n", "Answer: 7 bytes"))  # edited by hand
    found = class_predictions.collect(sorted(classroom.glob("*.ipynb")))
    assert [found[key].answer for key in found] == ["b → a", "256 bytes", "RDH"]
    assert [found[key].right_bin() for key in found] == [None, 1, 1]  # nobody ordered them right
    marked = [line for line in str(found["02/n"]).split("\n") if "<- right" in line]
    assert [line.split() for line in marked] == [["256", "|", "#" * 30, "2", "<-", "right"]]
    assert "  answer: b → a" in str(found["01/o"])
    picture = class_predictions.plot_predictions(found["08/w"])
    mesh, rdh = picture.axes[0].patches
    assert mesh.get_facecolor() != rdh.get_facecolor()
    assert picture.axes[0].get_xlabel() == "5 predictions; the answer (green): RDH"


@for_rows("right, is_marked", ("10,500,000", True), ("3", False), ("x", False))
def test_right_answer_is_marked_in_the_range_that_contains_it(right, is_marked):
    question = class_predictions.ClassPrediction(
        "a/b", "?", "number", "", [], [2.0**i for i in range(4, 40)]
    )
    question.answers[f"{right} things"] += 1
    bins = question.bins()
    found = question.right_bin()
    assert (found is not None) == is_marked
    if is_marked:
        low, high = map(float, bins[found][0].split(" to "))
        assert low <= float(right.replace(",", "")) < high


MANY_NUMBERS = [range(100), [2.0**i for i in range(40)], [-5, -4.5, 0, 1, 2, 3, 4, 5, 6],
                [1e-9 * i for i in range(1, 99)]]  # fmt: skip


@for_each("values", MANY_NUMBERS)
def test_every_number_is_in_exactly_one_bin(values):
    prediction = class_predictions.ClassPrediction("a/b", "?", "number", "", [], list(values))
    bins = prediction.bins()
    assert sum(count for _, count in bins) == len(list(values))
    assert 2 <= len(bins) <= 15


@pytest.mark.parametrize(
    "bad",
    [None, 3, {}, {"key": 3}, record("a/b", "text"), record("a/b", True), record("a/b", None),
     record("a/b", float("nan")), record("a/b", "C", kind="choice", options=["A"]),
     record("a/b", ["A"], kind="order", options="x"), record("a/b", 1, kind="other")],
)  # fmt: skip
def test_what_a_student_wrote_into_the_file_by_hand_is_left_out(tmp_path, bad):
    write(tmp_path, "a.ipynb", bad, record("02/n", 7))
    found = class_predictions.collect([tmp_path / "a.ipynb"])
    assert list(found) == ["02/n"]


def test_the_last_of_one_notebook_counts_and_damaged_ones_are_named(tmp_path, capsys):
    write(tmp_path, "a.ipynb", record("02/n", 7), record("02/n", 8))
    (tmp_path / "b.ipynb").write_text("{")
    (tmp_path / "c.ipynb").write_text('{"cells": [3, {"outputs": [7]}]}')
    found = class_predictions.collect(sorted(tmp_path.glob("*.ipynb")))
    assert found["02/n"].values == [8]
    assert [said.partition(": ")[2] for said in capsys.readouterr().err.splitlines()] == [
        "truncated: the file ends in the middle", "a damaged notebook (ValidationError)",
    ]  # fmt: skip


def test_the_command_prints_draws_and_gives_data(classroom, tmp_path, capsys):
    out = tmp_path / "png"
    assert __main__.main(["grade", str(classroom), "--predictions", "--png", str(out)]) == 0
    said = capsys.readouterr().out
    assert "02/n: How many?\n5 predictions, 2 changed after the answer (not counted)" in said
    assert sorted(p.name for p in out.iterdir()) == ["01-o.png", "02-n.png", "08-w.png"]
    assert all(p.read_bytes().startswith(b"\x89PNG") for p in out.iterdir())
    assert __main__.main(["grade", str(classroom), "--predictions", "--json"]) == 0
    assert json.loads(capsys.readouterr().out)[2]["bins"] == [["Mesh", 3], ["RDH", 2]]


def test_a_class_without_predictions(tmp_path, capsys):
    write(tmp_path, "a.ipynb")
    assert __main__.main(["grade", str(tmp_path), "--predictions"]) == 0
    assert capsys.readouterr().out == "no committed predictions found\n"
