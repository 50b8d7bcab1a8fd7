"""A prediction in real JupyterLab: hidden, committed by keyboard, saved, and still there later.

Judge: the browser and the file that JupyterLab saves.
"""

import json
import os
from pathlib import Path

import pytest

from tests.browser.lesson_page import cells, page_of
from trainium_edu.widgets.prediction import MIME

pytestmark = pytest.mark.browser
NAME = "predict.ipynb"
CELLS = cells("prediction.py.txt")


@pytest.fixture
def lesson(browser, lab):
    """The notebook above, open; ``SEE_DARK`` opens it in the dark theme."""
    page = page_of(browser, lab, NAME, *CELLS, width=1200, dark=bool(os.environ.get("SEE_DARK")))
    yield page
    page.close()


def saved(lesson):
    """Save in JupyterLab; return the stored predictions and the stored plain texts."""
    lesson.wait_idle(20)  # what the last commit set off is in the notebook
    lesson.command("docmanager:save")
    lesson.wait_idle(20)
    cells = json.loads((lesson.work / NAME).read_text())["cells"]
    outputs = [out for cell in cells for out in cell.get("outputs", ())]
    data = [out["data"] for out in outputs if "data" in out]
    texts = ["".join(d.get("text/plain", "")) for d in data]
    return {d[MIME]["key"]: d[MIME] for d in data if MIME in d}, texts


def shot(page, name):
    if folder := os.environ.get("SEE_SHOTS"):
        Path(folder).mkdir(parents=True, exist_ok=True)
        page.screenshot(path=f"{folder}/{name}.png")


def test_predictions_are_committed_by_keyboard_and_stay_in_the_saved_notebook(lesson):
    page, errors = lesson.page, []
    page.on("pageerror", lambda e: errors.append(str(e)))
    lesson.run_all()
    lesson.settle()
    page.locator("text=Commit your prediction above").last.wait_for()
    cells = page.locator(".jp-Notebook .jp-Cell").count()
    shown = " ".join(page.locator(".jp-OutputArea-output").all_inner_texts())
    assert "Commit your prediction above" in shown
    for hidden in ("Answer", "8 bits", "fewest bytes", "a gated line"):
        assert hidden not in shown
    assert page.locator(".widget-slider, .jupyter-widget-hslider").count() == 0
    shot(page, "1-asked")

    # by keyboard alone; "b" and "d" would insert and delete cells, were they taken as commands
    page.locator(".te-predict input[type=text]").focus()
    page.keyboard.type("bdd")
    page.keyboard.press("Enter")
    page.wait_for_selector("text=is not a number")
    shot(page, "2-refused")
    page.keyboard.press("Control+A")
    page.keyboard.type("128")
    page.keyboard.press("Enter")
    page.wait_for_selector("text=2 times too small")
    focused = "document.activeElement.className"
    assert lesson.soon(lambda: page.evaluate(focused) == "te-predict-status")
    assert lesson.soon(lambda: page.locator(".jupyter-widgets.widget-hslider").count() == 1)

    page.locator(".te-predict input[type=radio]").first.focus()
    page.keyboard.press("Space")
    page.keyboard.press("ArrowDown")
    page.keyboard.press("Tab")
    page.keyboard.press("Enter")
    page.wait_for_selector("text=Not this one.")

    page.locator("button[aria-label='Move FP8 E4M3 up']").focus()
    page.keyboard.press("ArrowUp")
    page.keyboard.press("Enter")
    for _ in range(9):
        if page.evaluate("document.activeElement.textContent") == "Commit":
            break
        page.keyboard.press("Tab")
    page.keyboard.press("Enter")
    page.wait_for_selector("text=1 of 3 in the right place.")
    shot(page, "3-committed")
    assert page.locator(".jp-Notebook .jp-Cell").count() == cells

    predictions, texts = saved(lesson)
    assert {k: v["value"] for k, v in predictions.items()} == {
        "99/n": 128, "99/c": "RDH", "99/o": ["FP8 E4M3", "BF16", "FP16"],
    }  # fmt: skip
    assert any("Answer: 256 terms" in text for text in texts)

    lesson.command("notebook:run-all-cells")  # in the same kernel
    again, _ = saved(lesson)
    assert again == predictions
    assert page.locator(".jp-InputPrompt").first.inner_text() != "[1]:"

    lesson.command("notebook:restart-run-all")
    page.click(".jp-Dialog .jp-mod-accept", timeout=20_000)
    page.wait_for_selector(".jp-InputPrompt:text-is('[1]:')", timeout=60_000)  # a new kernel
    page.wait_for_selector("text=2 times too small", timeout=60_000)
    lesson.wait_idle(60)
    later, _ = saved(lesson)
    assert later == predictions

    page.locator("button:text-is('Change my prediction')").first.click()
    page.keyboard.type("256")
    page.keyboard.press("Enter")
    page.wait_for_selector("text=changed after the answer: 256 terms")
    shot(page, "4-changed")
    changed, _ = saved(lesson)
    assert (changed["99/n"]["value"], changed["99/n"]["changes_after_answer"]) == (128, 1)
    assert errors == []
