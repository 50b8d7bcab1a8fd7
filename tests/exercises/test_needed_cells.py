# ruff: noqa: E501  (a table of sources reads better in long lines)
"""Which cells an exercise needs.

Judge: running only those gives the same answer as running the whole notebook.
"""

import pytest

from trainium_edu.exercises.needed_cells import cells_of, key_of, needed_for


def notebook(*sources, tags=None):
    tags = tags or {}
    return {"cells": [
        {"cell_type": "code", "source": s, "metadata": {"tags": tags.get(i, [])}}
        for i, s in enumerate(sources)
    ]}  # fmt: skip


def needed(name, *sources, **options):
    return [c.index for c in needed_for(name, cells_of(notebook(*sources, **options)))]


CASES = {
    "imports, a helper and its global": (
        ["import math", "x = 3", "def h(y):\n    return y + math.tau + k", "k = 2", "x = 9", "f = h(1)"],
        [0, 2, 3, 5],
    ),
    "a local of the same name pulls in nobody": (
        ["x = 1", "def f(x):\n    y = x\n    return [y for y in range(x)]", "f = f(3)"], [1, 2]
    ),
    "the last binding counts": (["a = 1", "a = 2", "f = a"], [1, 2]),
    "changes in place come along": (["d = {}", "d['a'] = 1", "d['b'] = 2", "f = d"], [0, 1, 2, 3]),
    "augmented assignment needs what was": (["a = 1", "a += 1", "f = a"], [0, 1, 2]),
    "a name read before it is bound": (["a = 1", "b = a\na = b + 1", "f = a"], [0, 1, 2]),
    "a function may use what stands below": (["def g():\n    return z", "z = 5", "f = g()"], [0, 1, 2]),
    "comprehensions, defaults, decorators, classes": (
        ["n = 3", "def d(g):\n    return g", "@d\ndef h(a=n):\n    return [i * n for i in range(a)]",
         "class C:\n    size = n\n    def m(self):\n        return h()", "f = C().m()"],
        [0, 1, 2, 3, 4],
    ),
    "with, for, walrus, unpacking": (
        ["items = [1, 2]", "for i in items:\n    last = i", "a, *b = items", "f = (w := last) + a + len(b)"],
        [0, 1, 2, 3],
    ),
    "a global that a function binds": (
        ["def g():\n    global made\n    made = 4", "g()", "f = 1"], [2]
    ),
}  # fmt: skip


@pytest.mark.parametrize("name", CASES)
def test_the_slice_is_small_and_enough(name):
    sources, expected = CASES[name]
    indices = needed("f", *sources)
    assert indices == expected
    whole, part = {}, {}
    for source in sources:
        exec(source, whole)
    for i in indices:
        exec(sources[i], part)
    if not callable(whole["f"]):
        assert part["f"] == whole["f"]


def test_tagged_cells_and_star_imports_always_run():
    assert needed("f", "import os\nos.getcwd()", "f = 1", tags={0: ["needed"]}) == [0, 1]
    assert needed("f", "from math import *", "f = pi") == [0, 1]


def test_magics_and_shell_lines_hide_nothing():
    assert needed("f", "%matplotlib inline\na = 1", "%%time\nb = a", "!ls\nf = b") == [0, 1, 2]
    assert needed("f", "%%bash\nf = 1") == []


def test_a_cell_with_a_syntax_error_is_found_by_its_looks():
    cells = cells_of(notebook("def f(x) return 2", "g = = 3"))
    assert [c.broken[:11] for c in cells] == ["SyntaxError"] * 2
    assert [c.index for c in needed_for("f", cells)] == [0]
    assert [c.index for c in needed_for("g", cells)] == [1]


@pytest.mark.parametrize(
    "cell",
    [{}, {"metadata": None}, {"metadata": 3}, {"metadata": {"trainium_edu": []}},
     {"metadata": {"trainium_edu": {"exercise": 7}}}],
)  # fmt: skip
def test_damaged_metadata_are_no_key(cell):
    assert key_of(cell) == ""


def test_nobody_binds_the_name():
    assert needed("f", "g = 1") == []


def test_names_that_need_each_other_do_not_loop():
    assert needed("f", "def f():\n    return g()", "def g():\n    return f()") == [0, 1]
