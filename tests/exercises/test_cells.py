"""What a grade runs of a notebook.

Judge: the sources themselves; the stored solutions run with these cells alone in
``tests/exercises/test_lessons.py`` and ``tests/cli/test_grade_lessons.py``.
"""

from tests.for_each import for_rows
from trainium_edu.exercises.cells import imports_of, key_of, parts_of, stated, with_student


def notebook(*sources, keys=None, checks=None):
    mine = {i: {"exercise": key} for i, key in (keys or {}).items()}
    mine |= {i: {"check": key} for i, key in (checks or {}).items()}
    return {"cells": [
        {"cell_type": "code", "source": s, "metadata": {"trainium_edu": mine.get(i, {})}}
        for i, s in enumerate(sources)
    ]}  # fmt: skip


def test_of_the_lesson_imports_are_taken_and_of_the_section_all_but_checks():
    above = "import math as m\nresult = train()\nfrom os import (\n    path,\n)\nplot(m)"
    sources = [above, "slow()", "f = 1", "t = build()\nshow(t)", "check(f)", "g = f", "f += 1"]
    book = notebook(*sources, keys={2: "02/a", 5: "02/b", 6: "02/a"}, checks={4: "02/a"})
    assert parts_of(book) == (
        ["import math as m\nfrom os import path", sources[3]],
        {"02/a": ["f = 1", "f += 1"], "02/b": ["g = f"]},
    )


def test_the_section_begins_with_the_students_id():
    sources = ["import os\nslow()", "import sys\nstudent = ''", "part()", "f = part"]
    assert parts_of(notebook(*sources, keys={3: "02/a"})) == (
        ["import os", *sources[1:3]],
        {"02/a": ["f = part"]},
    )


def test_a_notebook_that_lost_all_marks_runs_whole():
    assert parts_of(notebook("slow()", "f = 1")) == (["slow()", "f = 1"], {})


def test_the_emulator_is_activated_between_imports():
    above = "from trainium_edu.nki import activate\nactivate()\nimport neuronxcc.nki"
    assert imports_of(f"%matplotlib inline\n!ls\n{above}\nshow()") == above


@for_rows("broken", "def f(x) return 2", "%%bash\nls *", "x = '\0'", "(" * 9999, "-" * 9999 + "1")
def test_a_cell_that_python_cannot_read_imports_nothing(broken):
    assert imports_of(f"import os\n{broken}") == ""


@for_rows("cell",
    {}, {"metadata": None}, {"metadata": 3}, {"metadata": {"trainium_edu": []}},
     {"metadata": {"trainium_edu": {"exercise": 7}}},
)  # fmt: skip
def test_damaged_metadata_are_no_key(cell):
    assert key_of(cell) == ""


@for_rows("source, says",
    ("student = 'ab'  # mine", "ab"), ('x = 1\nstudent="a b"', "a b"), ("student = 123", "123"),
    ("student = ''", ""), ("  student = 'ab'", None), ("students = 'ab'", None),
    (f"student = '{'a' * 300}'", "a" * 200), ("student = input()", None), ("def (", None),
)  # fmt: skip
def test_an_id_is_read_without_running_anything(source, says):
    assert stated(source, "student") == says


def test_another_id_leaves_the_rest_of_its_cell():
    source = "import os\nstudent = ''  # yours\nstudents = 3"
    assert with_student(source, r"x\1") == "import os\nstudent = 'x\\\\1'\nstudents = 3"
    assert with_student("x = 1", "ab") == "x = 1"
