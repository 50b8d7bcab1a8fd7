"""Sources of the documentation; judges: the packages, the lessons, links made up for each case.

Sphinx itself, for which a warning is an error, runs in `.ci/run plain` (`make docs`).
"""

import json
import runpy
from pathlib import Path

from tests.for_each import for_each
from tests.texts import table_beside

ROOT = Path(__file__).parents[1]
DOCS = runpy.run_path(str(ROOT / ".ci" / "docs.py"))
PAGES = {Path("notebooks/glossary.ipynb"): "lessons/glossary.ipynb"}
LESSON = Path("notebooks/00_start_here.ipynb")


@for_each("written, built", list(table_beside(__file__, "links.toml").items()))
def test_a_link_leads_to_the_built_page(written, built):
    assert DOCS["relinked"](written, LESSON, PAGES) == built


def test_every_floor_and_lesson_has_a_page_with_what_its_front_door_offers(tmp_path):
    DOCS["gather"](tmp_path / "sources")
    floors = tmp_path / "sources" / "floors"
    for package in (ROOT / "trainium_edu").glob("*/__init__.py"):
        assert f".. automodule:: trainium_edu.{package.parent.name}\n" in (
            floors / f"{package.parent.name}.rst"
        ).read_text(encoding="utf-8")
    numerics = (floors / "numerics.rst").read_text(encoding="utf-8")
    assert "`cast <trainium_edu.numerics.rounding.cast>`" in numerics
    _, members = numerics.split(".. automodule:: trainium_edu.numerics.rounding\n")
    assert "cast" in members.splitlines()[0]
    for path in (ROOT / "notebooks").glob("*.ipynb"):
        page = json.loads((tmp_path / "sources/lessons" / path.name).read_text(encoding="utf-8"))
        stored = json.loads(path.read_text(encoding="utf-8"))
        assert [c.get("outputs") for c in page["cells"]] == [
            c.get("outputs") for c in stored["cells"]
        ]
        for cell in page["cells"]:
            answers = cell["cell_type"] == "code" and "predict.reveal(" in cell["source"]
            assert ("hide-output" in cell["metadata"].get("tags", ())) == answers
        assert "cell-id=" not in json.dumps([c["source"] for c in page["cells"]])
