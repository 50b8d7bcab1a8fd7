"""The training monitor in real JupyterLab: live curves, scrubbing, keys, the switch, the links.

Judge: the browser: what it says, the pixels on its canvas, its own clock.
"""

import pytest

from tests.browser.lesson_page import cells, page_of
from tests.slowness import slowness
from tests.texts import text_beside
from tests.widgets import monitored

pytestmark = pytest.mark.browser
CELLS = cells("training_monitor.py.txt")
#: How many pixels of the torus have the colour of a busy link.
LIT = text_beside(__file__, "lit.js.txt")
#: The milliseconds that the page needs for each of twenty places of a slider, drawing included.
SCRUB = text_beside(__file__, "scrub.js.txt")
RUN, STEP = "steps of the run", "time within one step"


@pytest.fixture(scope="module")
def page(browser, lab):
    lesson = page_of(browser, lab, "training_monitor_test.ipynb", *CELLS)
    lesson.page.click(".jp-Notebook")
    lesson.command("notebook:run-all-cells")
    lesson.seen = []  # steps on the page while the cell runs

    def ended():
        lesson.seen.append(lesson.page.evaluate(
            "() => Number(document.querySelectorAll('.te-tm')[1]?.dataset.done ?? -1)"
        ))  # fmt: skip
        return lesson.seen[-1] == 60

    assert lesson.soon(ended, 90)
    lesson.wait_idle(60)
    lesson.settle()
    yield lesson
    lesson.close()


@pytest.fixture
def monitor(page):
    """The first monitor, at the end of its run and in the middle of its first bucket."""
    box = page.page.locator(".te-tm").first
    box.scroll_into_view_if_needed()
    switch = box.locator("input[type=checkbox]")
    if not switch.is_checked():
        switch.click()
        assert page.soon(switch.is_checked)
    slider(box, RUN).focus()
    page.page.keyboard.press("End")
    return box


def slider(box, label):
    return box.locator(f"input[aria-label='Position: {label}']")


def said(box, part):
    return box.locator(f".te-tm-{part} .te-tm-said").inner_text()


def test_curves_grow_while_the_cell_runs(page):
    assert len({done for done in page.seen if 0 < done < 60}) >= 3
    assert (page.console_errors, page.trouble(), page.broken_widgets()) == ([], [], [])


def test_scrubbing_goes_back_to_when_all_replicas_were_equal(page, monitor):
    assert said(monitor, "run").startswith("After step 60 of 60: loss 0.19")
    odd = monitor.locator(".te-tm-cell[data-kind=differs]")
    assert odd.all_inner_texts() == ["13"]
    page.page.keyboard.press("Home")
    assert said(monitor, "run").startswith("After step 1 of 60: loss 2.38")
    assert odd.count() == 0
    assert monitor.locator(".te-tm-cell[data-kind=equal]").count() == 32
    for _ in range(3):
        page.page.keyboard.press("ArrowRight")
    assert said(monitor, "run").startswith("After step 4 of 60")


def test_the_space_bar_plays_and_no_key_reaches_jupyterlab(page, monitor):
    cells = page.cells()
    for name in (RUN, STEP):
        slider(monitor, name).focus()
        for key in "bdx":
            page.page.keyboard.press(key)
    slider(monitor, RUN).focus()
    page.page.keyboard.press("Home")
    page.page.keyboard.press("Space")
    playing = monitor.locator(".te-tm-run .te-playback[data-playing=yes]")
    assert page.soon(lambda: playing.count() == 1)
    assert page.soon(lambda: "step 1 " not in monitor.locator(".te-readout").first.inner_text())
    page.page.keyboard.press("Space")
    assert page.soon(lambda: playing.count() == 0)
    assert page.cells() == cells


def test_links_are_lit_within_a_bucket_and_dark_outside(page, monitor):
    lanes = monitor.locator(".te-tm-lanes")
    lanes.focus()
    moment = monitor.locator(".te-tm-moment")
    slider(monitor, STEP).focus()
    page.page.keyboard.press("Home")
    assert moment.inner_text() == "0 ns: forward layer 0 · links idle"
    assert page.page.evaluate(LIT) == 0
    lanes.focus()
    for _ in range(5):
        page.page.keyboard.press("ArrowRight")
    assert "backward layer 1 · all-reduce of bucket 0 1, step 1 of 30" in moment.inner_text()
    page.page.keyboard.press("ArrowRight")
    assert "step 2 of 30" in moment.inner_text()
    assert page.page.evaluate(LIT) > 1000


def test_the_switch_shows_the_same_step_without_overlap(page, monitor):
    sums, _ = monitored.bills()
    ends = [monitored.spans(sums, overlap=overlap)[-1].end_ns / 1e3 for overlap in (True, False)]
    assert said(monitor, "step").startswith(f"One step takes {ends[0]:.0f} µs with overlap")
    monitor.locator(".te-tm-lanes").focus()
    page.page.keyboard.press("o")
    without = f"One step takes {ends[1]:.0f} µs without overlap"
    assert page.soon(lambda: said(monitor, "step").startswith(without))
    assert not monitor.locator("input[type=checkbox]").is_checked()
    page.command("notebook:run-all-cells")
    last = page.page.locator(".jp-Cell").last
    assert page.soon(lambda: "True" in last.inner_text(), 60)  # a monitor made anew
    page.wait_idle(60)


@pytest.mark.clock
@pytest.mark.parametrize("label", [RUN, STEP])
def test_a_place_of_a_slider_is_drawn_in_a_blink(page, monitor, label):
    assert page.page.evaluate(SCRUB, label) < 100 * max(1.0, slowness())


def test_everything_that_takes_focus_has_a_name_and_keeps_its_keys(page, monitor):
    found = page.focusable()
    assert len(found) > 15
    assert [one for one in found if not one["name"] or not one["safe"]] == []


@pytest.mark.parametrize("width", [1400, 900])
def test_nothing_is_wider_than_the_page(page, monitor, width):
    page.page.set_viewport_size({"width": width, "height": 1000})
    page.page.wait_for_timeout(300)
    assert page.page.evaluate("() => look.tooWide()") == []
    page.page.set_viewport_size({"width": 1400, "height": 1000})
