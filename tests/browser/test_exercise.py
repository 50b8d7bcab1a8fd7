"""An exercise in real JupyterLab: a hint before any attempt, a wrong answer, a solution, a pass.

Judge: the browser; and the grader's note on the notebook that JupyterLab saved.
"""

import json
import os
from pathlib import Path

import nbformat
import pytest

from tests.browser.lesson_page import LessonPage
from trainium_edu.cli import grade_one

pytestmark = pytest.mark.browser
LESSON = "01_number_formats.ipynb"
WRONG = "def counts_to(mantissa_bits):\n    return 2**mantissa_bits"
RIGHT = "def counts_to(mantissa_bits):\n    return 2 ** (mantissa_bits + 1)"
CELLS = ("student", "ex-count", "ex-count-check")


class ExercisePage(LessonPage):
    """A lesson of which only an exercise is used."""

    def run(self, source=None):
        """Run the exercise's cells, its answer replaced."""
        self.page.evaluate(
            """async ([ids, source]) => {
              const notebook = window.jupyterapp.shell.currentWidget.content;
              for (const id of ids) {
                notebook.activeCellIndex = notebook.widgets.findIndex(w => w.model.id === id);
                if (source && id === ids[ids.length - 2])
                  notebook.activeCell.model.sharedModel.setSource(source);
                await window.jupyterapp.commands.execute("notebook:run-cell");
              }
            }""",
            [[*CELLS], source],
        )
        self.wait_idle(60)

    @property
    def card(self):
        return self.page.locator(".jp-Cell:has(.widget-button) .jp-OutputArea").first

    def press(self, text):
        """Press a button by keyboard; return by how many pixels the card moved."""
        button = self.card.get_by_role("button", name=text)
        button.scroll_into_view_if_needed()
        before = self.card.bounding_box()["y"]
        button.focus()
        self.page.keyboard.press("Enter")
        self.page.wait_for_timeout(500)
        return abs(self.card.bounding_box()["y"] - before)

    def says(self, text):
        return self.soon(lambda: text in self.card.inner_text())

    def shot(self, name):
        if folder := os.environ.get("SEE_SHOTS"):
            Path(folder).mkdir(parents=True, exist_ok=True)
            self.page.screenshot(path=f"{folder}/{self.width}-{name}.png")


@pytest.mark.parametrize(("width", "dark"), [(1400, False), (900, True)])
def test_hint_wrong_solution_pass_and_challenge(browser, lab, width, dark):
    page = ExercisePage(browser, lab, LESSON, width=width, dark=dark)
    page.width = width
    home = lab[1].parent / "progress" / "progress.jsonl"
    home.unlink(missing_ok=True)
    saved = lab[1] / LESSON
    as_it_was = saved.read_bytes()
    try:
        page.run()
        assert page.says("not attempted yet")
        cells = page.cells()
        page.page.locator(".jupyter-button").first.focus()
        page.page.keyboard.type("bddx")
        assert page.press("Hint 1 of 3") < 2
        assert page.says("From which power of two on")
        assert page.cells() == cells
        page.shot("1-hint")

        page.run(WRONG)
        assert page.says("You count the stored bits only")
        assert page.says("Hint 1 of 3: From which")
        page.press("Hint 2 of 3")
        page.press("Hint 3 of 3")
        assert page.says("check with BF16")
        page.shot("2-wrong")
        assert page.press("Show a solution") < 2
        assert page.says("return 2 ** (mantissa_bits + 1)")
        assert page.page.evaluate("() => look.trouble()") == []
        page.shot("3-solution")

        page.run(RIGHT)
        assert page.says("public checks passed")
        assert page.says("With m stored bits and the hidden one")
        assert page.press("Next challenge") < 2
        assert page.says("FP32 stores 23 bits")
        page.shot("4-passed")
        controls = [c for c in page.focusable() if "jupyter-button" in c["what"]]
        assert controls
        assert [c for c in controls if not c["name"] or not c["safe"]] == []
        assert page.page.evaluate("() => look.tooWide()") == []

        events = [json.loads(line) for line in home.read_text().split("\n") if line]
        assert [(e["status"], e["answer"]) for e in events if e["status"] == "solution"] == [
            ("solution", "before the pass")
        ]
        page.command("docmanager:save")
        page.wait_idle(60)  # the file is there before its content is
        notes = page.soon(lambda: grade_one.suspicions(nbformat.read(saved, as_version=4), "01"))
        assert notes
        assert grade_one.suspicions(nbformat.read(saved, as_version=4), "01") == [
            "saw the solution of 01/counts-to before it passed"
        ]
    finally:
        page.close()
        saved.write_bytes(as_it_was)
