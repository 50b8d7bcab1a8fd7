"""The collective player in real JupyterLab: every change from one machine to another, and the dark.

Judge: the browser: its errors, the pixels on the canvas, and the buttons over the chips.
"""

import pytest

from tests.browser.lesson_page import page_of, pairs
from tests.texts import text_beside
from trainium_edu.widgets.collective_player import MACHINES

pytestmark = pytest.mark.browser
SOURCE = (
    "from trainium_edu.widgets.collective_player import collective_explorer\ncollective_explorer()"
)
PAIRS = pairs(MACHINES)
#: Share of a canvas that is painted, and of the picture's places for chips that hold a chip.
INKED = text_beside(__file__, "inked.js.txt")
CHIPS_PAINTED = text_beside(__file__, "chips_painted.js.txt")


def open_explorer(browser, lab, name, **look):
    page = page_of(browser, lab, name, SOURCE, **look)
    page.run_all()
    page.page.wait_for_selector(".te-coll[data-drawn]")
    return page


@pytest.fixture(scope="module")
def explorer(browser, lab):
    page = open_explorer(browser, lab, "explorer.ipynb")
    yield page
    page.close()


def choose(page, machine):
    """Choose a machine from the menu; wait until the player shows it."""
    chips, ranks = MACHINES[machine]().chips, MACHINES[machine]().ranks
    page.page.locator("select[aria-label='machine']").select_option(machine)
    spots = page.page.locator(".te-spot.te-chip")
    assert page.soon(lambda: spots.count() == chips, 30), (machine, page.console_errors)
    assert page.soon(lambda: f": {ranks} ranks" in page.page.inner_text(".te-coll-title"))


@pytest.mark.parametrize(("first", "second"), PAIRS)
@pytest.mark.parametrize("playing", [False, True], ids=["resting", "playing"])
def test_every_machine_follows_every_other(explorer, first, second, playing):
    choose(explorer, first)
    explorer.console_errors.clear()
    if playing:
        explorer.page.locator(".te-coll button[aria-label^='Play:']").click()
        explorer.page.wait_for_timeout(200)
    choose(explorer, second)
    assert explorer.page.inner_text(".te-coll .te-readout").startswith("step 0 /")
    painted = explorer.page.evaluate(CHIPS_PAINTED)
    assert len(painted) == MACHINES[second]().chips
    assert all(painted)
    assert explorer.page.evaluate(INKED, ".te-coll-cells canvas") > 0.5
    before = int(explorer.page.get_attribute(".te-coll", "data-drawn"))
    explorer.page.locator(".te-coll button[aria-label^='To the first']").click()
    explorer.page.locator(".te-coll button[aria-label^='One step forward']").click()
    assert explorer.soon(
        lambda: int(explorer.page.get_attribute(".te-coll", "data-drawn")) > before
    )
    assert (explorer.console_errors, explorer.trouble()) == ([], [])


def test_controls_stand_above_the_picture(explorer):
    box = {
        name: explorer.page.locator(f".te-coll {name}").first.bounding_box()
        for name in (".te-playback", ".te-coll-stage")
    }
    assert box[".te-playback"]["y"] < box[".te-coll-stage"]["y"]
