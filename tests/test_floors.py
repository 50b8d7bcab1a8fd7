"""The floors of the package; judges: made-up packages with known circles, and the house itself."""

import runpy
from pathlib import Path

import networkx as nx

from tests.for_each import for_rows

ROOT = Path(__file__).parents[1]
FLOORS = runpy.run_path(str(ROOT / ".ci" / "floors.py"))
MODULES = ["p", "p.a", "p.a.x", "p.a.y", "p.b", "p.c"]


def drawn(imports, layers=None):
    """Return the made-up package and its folder."""
    found = FLOORS["siblings"](MODULES, imports)
    return {
        name: FLOORS["package"](name, inside, layers if name == "p" else None,
                                about=dict.fromkeys(inside, "What it is."), folders={"a"})
        for name, inside in found.items()
    }  # fmt: skip


def test_rows_stand_above_what_they_import():
    found = drawn([("p.a.x", "p.b"), ("p.a.y", "p.a.x"), ("p.b", "p.c")])
    assert found["p"].rows == (("a",), ("b",), ("c",))
    assert found["p.a"].rows == (("y",), ("x",))
    assert FLOORS["verdict"](found.values()) == ["No circle in 2 packages, and no import climbs."]
    assert list(FLOORS["floors_table"](found, "p"))[2:] == [
        "| **`a`** | What it is. | `y`<br>`x` |",
        "| **`b`** | What it is. |  |",
        "| **`c`** | What it is. |  |",
    ]


@for_rows(
    "imports, said",
    ([("p.b", "p.c"), ("p.c", "p.b")], "p: a circle, b → c → b"),
    ([("p.b", "p.c"), ("p.c", "p.a.x"), ("p.a.y", "p.b")], "p: a circle, a → b → c → a"),
    ([("p.a.x", "p.a.y"), ("p.a.y", "p.a.x")], "p.a: a circle, x → y → x"),
    ([("p", "p.b"), ("p.b", "p")], "p: a circle, __init__ → b → __init__"),
)
def test_a_circle_is_named(imports, said):
    """At each level, through folders, and through a front door."""
    assert FLOORS["verdict"](drawn(imports).values()) == [said]


def test_an_import_against_the_contract_climbs():
    found = drawn([("p.b", "p.c")], layers=[["c"], ["b"], ["a"]])
    assert FLOORS["verdict"](found.values()) == ["p: an import climbs, b → c"]


def test_a_module_that_no_contract_names_has_a_row_too():
    rows = FLOORS["package"]("p", nx.DiGraph([("b", "c"), ("a", "c")]), [["b"], ["c"]]).rows
    assert rows == (("b",), ("c",), ("a",))


def test_every_module_of_the_house_stands_in_a_row():
    """Judge: the files."""
    found = FLOORS["house"]()
    named = {f"{p.name}.{n}" for p in found.values() for row in p.rows for n in row}
    files = {
        ".".join(f.relative_to(ROOT).with_suffix("").parts).removesuffix(".__init__")
        for f in (ROOT / "trainium_edu").rglob("*.py")
        if (f.parent / "__init__.py").exists()
    }
    assert files - {"trainium_edu"} <= named


def test_the_house_has_no_circle_at_any_level():
    assert [text for p in FLOORS["house"]().values() for text in p.wrong] == []
