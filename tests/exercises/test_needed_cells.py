# ruff: noqa: E501  (a table of sources reads better in long lines)
"""Which cells an exercise needs.

Judge: Python's own rules on which statements bind a name; the stored solutions run with these cells
alone in ``tests/exercises/test_lessons.py`` and ``tests/cli/test_grade_lessons.py``.
"""

from tests.for_each import for_rows
from trainium_edu.exercises.needed_cells import cells_of, key_of, needed_for


def notebook(*sources, tags=None, keys=None, checks=None):
    tags, keys, checks = tags or {}, keys or {}, checks or {}
    mine = {i: {"exercise": keys[i]} for i in keys} | {i: {"check": checks[i]} for i in checks}
    return {"cells": [
        {"cell_type": "code", "source": s,
         "metadata": {"tags": tags.get(i, []), "trainium_edu": mine.get(i, {})}}
        for i, s in enumerate(sources)
    ]}  # fmt: skip


def needed(name, *sources, key="", skip=(), **options):
    found = needed_for(name, cells_of(notebook(*sources, **options)), key=key, skip=skip)
    return {c.index: c.source for c in found}


def test_an_answer_gets_what_prepares_it_and_nothing_that_takes_time():
    above = "import math as m\nresult = train()\nk = 2 * [3]\n@m.cache\ndef h(y):\n    return y\nplot(k)"
    found = needed("f", "# prose", above, "slow()", "f = h", "check(f)", checks={4: "02/a"})
    assert found == {
        1: "import math as m\nk = 2 * [3]\n@m.cache\ndef h(y):\n    return y",
        3: "f = h",
    }


def test_in_the_exercises_section_an_assignment_may_call():
    sources = ["table = build()", "g = 1", "table = build()\nshow(table)", "f = table"]
    assert needed("f", *sources, keys={1: "02/a"}) == {
        1: "g = 1", 2: "table = build()", 3: "f = table",
    }  # fmt: skip


def test_own_cells_run_last_and_whole_whatever_they_bind():
    sources = ["def part():\n    ...\nprint(1)", "f = 1", "f += 2", "import numpy"]
    found = needed("f", *sources, key="02/a", keys={0: "02/a"})
    assert list(found.items()) == [(3, "import numpy"), *enumerate(sources[:3])]


@for_rows("binds",
    "f: int = 1", "f, g = 1, 2", "f[0] = 1", "f.a.b = 1", "f += 1", "for f in x: pass", "import f.g",
     "from x import y as f", "if 1:\n    f = 1", "class f: pass", "async def f(): pass",
     "with x as f: pass", "y = (f := 1)", "[*f] = x", "%matplotlib inline\nf = 1", "def f(x) return",
     "f = = 3",
)  # fmt: skip
def test_a_cell_binds_a_name_in_every_way_that_python_has(binds):
    assert needed("f", "import os", binds) == {0: "import os", 1: binds}


@for_rows("binds", "def g():\n    f = 1", "f(1)", "g = f", "lambda: (f := 1)", "%%bash\nf = 1")
def test_other_cells_bind_nothing(binds):
    found = needed("f", binds)
    assert found == ({} if "lambda" not in binds else {0: binds})  # a lambda's own is taken for one


def test_tagged_cells_run_whole_and_skipped_ones_do_not():
    sources = ["import os\nos.getcwd()", "f = 1", "f = 2"]
    assert needed("f", *sources, tags={0: ["needed"]})[0] == sources[0]
    assert list(needed("f", *sources, skip={0, 2})) == [1]


def test_the_emulator_is_activated_between_imports():
    above = "from trainium_edu.nki import activate\nactivate()\nimport neuronxcc.nki\nshow()"
    assert needed("f", above, "f = 1")[0] == above.removesuffix("\nshow()")


def test_a_cell_with_a_syntax_error_is_found_by_its_looks():
    cells = cells_of(notebook("def f(x) return 2", "g = = 3"))
    assert [c.broken[:11] for c in cells] == ["SyntaxError"] * 2


@for_rows("cell",
    {}, {"metadata": None}, {"metadata": 3}, {"metadata": {"trainium_edu": []}},
     {"metadata": {"trainium_edu": {"exercise": 7}}},
)  # fmt: skip
def test_damaged_metadata_are_no_key(cell):
    assert key_of(cell) == ""


def test_nobody_binds_the_name():
    assert needed("f", "g = 1", "pass", key="02/a", keys={1: "02/a"}) == {}
