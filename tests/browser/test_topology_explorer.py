"""The topology explorer in real JupyterLab: turned, cut, routed and grown.

Judges: the browser's errors and pixels, and what Python says of the same way.
"""

import pytest

from tests.browser.lesson_page import page_of, pairs
from tests.texts import text_beside
from trainium_edu.widgets.topology import MACHINES, TopologyExplorer, topology_explorer

pytestmark = pytest.mark.browser
TRN1 = "trn1.32xlarge: 16 chips"
SOURCE = "from trainium_edu.widgets.topology import topology_explorer\ntopology_explorer()"
TRN1 = "trn1.32xlarge: 16 chips"
#: Chips drawn in the colour of the way; sampled just inside the left edge of each chip.
MARKED = text_beside(__file__, "marked.js.txt")


@pytest.fixture(scope="module")
def explorer(browser, lab):
    page = page_of(browser, lab, "topology_explorer.ipynb", SOURCE)
    page.run_all()
    page.page.wait_for_selector(".te-topo[data-drawn]")
    yield page
    assert (page.console_errors, page.trouble()) == ([], [])
    page.close()


def told(page):
    return page.page.inner_text(".te-topo-told")


def centre(page, selector, number):
    box = page.page.locator(selector).nth(number).bounding_box()
    return box["x"] + box["width"] / 2, box["y"] + box["height"] / 2


def view(page):
    return page.page.get_attribute(".te-topo", "data-view")


def draw_as(page, label):
    page.page.locator(f".te-layouts button:text-is('{label}')").click()
    page.still(page.page.locator(".te-topo"))  # it has grown


def test_pointing_at_a_chip_tells_the_way_there(explorer):
    draw_as(explorer, "flat")
    for chip in (5, 15, 2):
        explorer.page.mouse.move(*centre(explorer, ".te-chip", chip))
        assert explorer.soon(lambda chip=chip: told(explorer) == topology_explorer(end=chip).told)


@pytest.mark.parametrize("drawn_as", ["flat", "torus", "hypercube", "ring 1"])
def test_no_way_is_drawn_through_a_chip_that_is_not_on_it(explorer, drawn_as):
    draw_as(explorer, drawn_as)
    for chip in (10, 8, 3, 6):
        explorer.page.locator(".te-chip").nth(chip).focus()
        way = topology_explorer(end=chip).path
        assert explorer.soon(lambda way=way: explorer.page.evaluate(MARKED) == sorted(way)), chip
        said = TopologyExplorer(TRN1, end=chip, drawn_as=drawn_as.removesuffix(" 1")).told
        assert told(explorer) == said


def test_a_click_on_a_cable_cuts_it_and_another_mends_it(explorer):
    draw_as(explorer, "flat")
    explorer.page.locator(".te-chip").nth(1).focus()
    whole = topology_explorer(end=1)
    assert explorer.soon(lambda: told(explorer) == whole.told)
    explorer.page.mouse.click(*centre(explorer, ".te-wire", 0))  # 0 - 1
    broken = TopologyExplorer(TRN1, end=1, cut="0 - 1")
    assert explorer.soon(lambda: told(explorer) == broken.told)
    cable = explorer.page.locator(".te-wire").first
    assert cable.get_attribute("aria-label").endswith("Enter mends it")
    cable.focus()
    explorer.page.keyboard.press("Enter")
    assert explorer.soon(lambda: told(explorer) == whole.told)


def test_it_turns_by_dragging_and_by_arrow_keys_and_a_drag_cuts_nothing(explorer):
    draw_as(explorer, "hypercube")
    before, said = view(explorer), told(explorer)
    box = explorer.page.locator(".te-topo canvas").bounding_box()
    x, y = box["x"] + 20, box["y"] + 20
    explorer.page.mouse.move(x, y)
    explorer.page.mouse.down()
    explorer.page.mouse.move(x + 90, y + 30, steps=6)
    explorer.page.mouse.up()
    dragged = view(explorer)
    assert dragged != before
    explorer.page.locator(".te-topo-stage").focus()
    explorer.page.keyboard.press("ArrowLeft")
    assert view(explorer) != dragged
    explorer.page.locator(".te-topo input[type=range]").focus()
    explorer.page.keyboard.press("ArrowRight")
    assert view(explorer).endswith(" 0.017")  # one degree through the fourth dimension
    explorer.page.locator("button:text-is('reset view')").click()
    assert (view(explorer), told(explorer)) == (before, said)


@pytest.mark.parametrize(("first", "second"), pairs(MACHINES))
def test_every_machine_follows_every_other(explorer, first, second):
    menu = explorer.page.locator("select[aria-label='Machine']")
    for machine in (first, second):
        menu.select_option(machine)
        chips = MACHINES[machine]().chips
        assert explorer.page.locator(".te-chip").count() == chips
        explorer.page.locator(".te-chip").nth(chips - 1).focus()
        assert explorer.soon(lambda chips=chips: f"→ {chips - 1}: " in told(explorer))
    menu.select_option(TRN1)
