"""Take pictures of widgets in Chromium: what a stored notebook shows where no kernel runs."""

import base64
import importlib.util
import os
import shutil
import sys
import sysconfig
from contextlib import contextmanager
from pathlib import Path

VIEW = "application/vnd.jupyter.widget-view+json"
WIDTH = 900  # CSS pixels
SCALE = 1.5  # image pixels per CSS pixel
THEME = "share/jupyter/lab/themes/@jupyterlab/theme-light-extension/index.css"
PAGE = """<!doctype html><meta charset="utf-8"><style>{theme}
body {{ margin: 0; background: #fff; font: 13px/1.4 "DejaVu Sans", sans-serif; }}
#picture {{ width: {width}px; padding: 5px; box-sizing: border-box; }}</style>
<body data-jp-theme-light="true"><div id="picture"></div>"""
FLAGS = [
    "--no-sandbox",
    "--disable-gpu",
    "--no-first-run",
    "--disable-background-networking",
    "--font-render-hinting=none",
    "--force-color-profile=srgb",
]
QUESTION = "Prediction"  # asks, and has nothing to show
AT_ITS_END = "TrainingPlayer"  # tells most there; other players tell most half way
TRIES = 40  # of 50 ms
LEAST = 100  # CSS pixels: lower than this, a widget is not there yet


@contextmanager
def chromium():
    """Open Chromium, or exit with a sentence on what is missing."""
    path = os.environ.get("CHROMIUM") or shutil.which("chromium") or shutil.which("google-chrome")
    why = "the pictures of stored lessons are taken in Chromium by playwright, and "
    if not path:
        sys.exit(
            f"{why}there is no Chromium here: install it (Debian: apt-get install chromium), or "
            "name it with CHROMIUM=path"
        )
    if not importlib.util.find_spec("playwright"):
        sys.exit(f"{why}playwright is not installed: `make notebooks` installs it")
    from playwright.sync_api import sync_playwright

    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=path, args=FLAGS)
        yield browser
        browser.close()


def take(browser, state, buffers):
    """Return one widget's picture as PNG bytes, and its height in CSS pixels.

    Parameters
    ----------
    browser : playwright's Browser
    state : dict
        The widget's synced traits.
    buffers : list of (path, base64 text)
        Those of its traits that are bytes.
    """
    page = browser.new_page(
        viewport={"width": WIDTH, "height": 1000},
        device_scale_factor=SCALE,
        reduced_motion="reduce",
        color_scheme="light",
    )
    failed = []
    page.on("pageerror", lambda error: failed.append(str(error)))
    theme = Path(sysconfig.get_path("data"), THEME).read_text(encoding="utf-8")
    page.set_content(PAGE.format(theme=theme, width=WIDTH))
    page.add_script_tag(path=Path(__file__).with_name("pictures.js"))
    page.evaluate("(widget) => show(widget)", {"state": state, "buffers": buffers})
    shown = page.locator("#picture")
    page.wait_for_function(f"() => document.getElementById('picture').offsetHeight > {LEAST}")
    _standing_still(page, shown)
    page.evaluate("(share) => go(share)", 1 if name_of(state) == AT_ITS_END else 0.5)
    png = _standing_still(page, shown)
    height = round(shown.bounding_box()["height"])
    page.close()
    if failed or not png:
        raise RuntimeError(f"{name_of(state)}: {'; '.join(failed) or 'it does not stand still'}")
    return png, height


def _standing_still(page, shown) -> bytes:
    """Return the picture once two in a row are equal, or nothing if it goes on moving."""
    png, before = shown.screenshot(), b""
    for _ in range(TRIES):
        if png == before:
            return png
        page.wait_for_timeout(50)
        png, before = shown.screenshot(), png
    return b""


def name_of(state) -> str:
    """Return the class of an anywidget, or nothing for other widgets."""
    return state.get("_anywidget_id", "").rpartition(".")[2]


def drawn(model, states):
    """Return the first widget at or below `model` that the page draws, or None."""
    state = states.get(model, {})
    if name_of(state):
        return None if name_of(state) == QUESTION else model
    below = (drawn(c.removeprefix("IPY_MODEL_"), states) for c in state.get("children", ()))
    return next(filter(None, below), None)


def add_pictures(notebook, states, buffers, browser):
    """Give every output that shows a widget, and has no picture from Python, one from the page."""
    for cell in notebook.cells:
        for output in cell.get("outputs", ()):
            data = output.get("data", {})
            model = drawn(data[VIEW]["model_id"], states) if VIEW in data else None
            if model and "image/png" not in data:
                parts = [[b["path"], b["data"]] for b in buffers.get(model, {}).values()]
                png, height = take(browser, states[model], parts)
                data["image/png"] = base64.b64encode(png).decode() + "\n"
                output["metadata"] = {"image/png": {"width": WIDTH, "height": height}}
