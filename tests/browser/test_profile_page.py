"""The page of ``neuron-profile view`` in Chromium; judge: the run's own numbers."""

import numpy as np
import pytest

import trainium_edu.nki as nki
from trainium_edu.cli.profile_page import page
from trainium_edu.nki.examples.vector_add import add_tiles
from trainium_edu.tools.neuron_profile import summary

pytestmark = pytest.mark.browser


@pytest.mark.parametrize(("scheme", "paper"), [("light", 255), ("dark", 17)])
def test_the_page_draws_the_timeline_by_itself(browser, tmp_path, scheme, paper):
    run = nki.run(add_tiles, *(np.zeros((128, 1024), np.float32),) * 2)
    file = tmp_path / "profile.html"
    file.write_text(page("mine", run))
    tab, problems = browser.new_page(color_scheme=scheme), []
    tab.on("pageerror", lambda problem: problems.append(str(problem)))
    tab.on("request", lambda asked: problems.append(asked.url) if "file:" not in asked.url else 0)
    tab.goto(file.as_uri())
    explorer = tab.locator(".te-core[data-makespan]")
    explorer.wait_for(timeout=20_000)
    assert float(explorer.get_attribute("data-makespan")) == pytest.approx(
        run.timeline.makespan_ns, abs=1e-3
    )
    lanes = tab.locator(".te-core-lanes")
    assert lanes.bounding_box()["height"] > 300  # engines, 16 queues, two levels over time
    color = tab.evaluate("getComputedStyle(document.body).backgroundColor")
    assert color.startswith(f"rgb({paper}, ")
    lanes.focus()
    tab.keyboard.press("Home")
    tab.keyboard.press("ArrowRight")
    assert tab.locator(".te-core-details").inner_text()
    told = tab.locator("#summary").inner_text()
    assert f"{summary(run)['hbm_read_bytes']:,}" in told
    assert problems == []
    tab.close()
