"""Take pictures of widgets in Chromium: what a stored notebook shows where no kernel runs."""

import base64
import importlib.util
import os
import shutil
import sys
import sysconfig
from pathlib import Path

WIDTH = 900  # CSS pixels
SCALE = 1.5  # image pixels per CSS pixel
THEME = "share/jupyter/lab/themes/@jupyterlab/theme-light-extension/index.css"
PAGE = """<!doctype html><meta charset="utf-8"><style>{theme}
body {{ margin: 0; background: #fff; font: 13px/1.4 "DejaVu Sans", sans-serif; }}
#picture {{ width: {width}px; padding: 5px; box-sizing: border-box; }}</style>
<body data-jp-theme-light="true"><div id="picture"></div>"""
FLAGS = ["--no-sandbox", "--disable-gpu", "--no-first-run", "--disable-background-networking",
         "--font-render-hinting=none", "--force-color-profile=srgb"]  # fmt: skip
QUESTION = "Prediction"  # asks, and has nothing to show
AT_ITS_END = "TrainingPlayer"  # tells most there; other players tell most half way
TRIES = 40


class Camera:
    """Chromium with an empty page, open as long as the ``with`` block runs."""

    def __enter__(self):
        path = os.environ.get("CHROMIUM") or next(
            filter(None, map(shutil.which, ("chromium", "google-chrome"))), None
        )
        if not path or not importlib.util.find_spec("playwright"):
            sys.exit(
                "the pictures of stored lessons are taken in Chromium by playwright, and "
                f"{'playwright is not installed' if path else 'there is no Chromium here'}: "
                f"{'run `make notebooks`' if path else 'install it (Debian: apt-get install'}"
                f"{', which installs it' if path else ' chromium), or name it with CHROMIUM=path'}"
            )
        from playwright.sync_api import sync_playwright

        self._playwright = sync_playwright().start()
        self._browser = self._playwright.chromium.launch(executable_path=path, args=FLAGS)
        return self

    def __exit__(self, *_):
        self._browser.close()
        self._playwright.stop()

    def picture(self, state, buffers):
        """Return one widget as PNG bytes, and its height in CSS pixels.

        Parameters
        ----------
        state : dict
            The widget's synced traits.
        buffers : list of (path, base64 text)
            Those of its traits that are bytes.
        """
        page = self._browser.new_page(
            viewport={"width": WIDTH, "height": 1000}, device_scale_factor=SCALE,
            reduced_motion="reduce", color_scheme="light",
        )  # fmt: skip
        failed = []
        page.on("pageerror", lambda error: failed.append(str(error)))
        theme = Path(sysconfig.get_path("data"), THEME).read_text(encoding="utf-8")
        page.set_content(PAGE.format(theme=theme, width=WIDTH))
        page.add_script_tag(path=Path(__file__).with_name("pictures.js"))
        page.evaluate("(widget) => show(widget)", {"state": state, "buffers": buffers})
        page.evaluate("(share) => go(share)", 1 if name_of(state) == AT_ITS_END else 0.5)
        shown = page.locator("#picture")
        png, before = shown.screenshot(), b""
        for _ in range(TRIES):  # until it stands still
            if png == before or failed:
                break
            page.wait_for_timeout(50)
            png, before = shown.screenshot(), png
        height = round(shown.bounding_box()["height"])
        page.close()
        if failed or png != before:
            raise RuntimeError(
                f"{name_of(state)}: {'; '.join(failed) or 'it does not stand still'}"
            )
        return png, height


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


def add_pictures(notebook, states, buffers, view, camera):
    """Give every output that shows a widget, and has no picture from Python, one from the page."""
    for cell in notebook.cells:
        for output in cell.get("outputs", ()):
            data = output.get("data", {})
            if view not in data or "image/png" in data:
                continue
            model = drawn(data[view]["model_id"], states)
            if model:
                parts = [[b["path"], b["data"]] for b in buffers.get(model, {}).values()]
                png, height = camera.picture(states[model], parts)
                data["image/png"] = base64.b64encode(png).decode() + "\n"
                output["metadata"] = {"image/png": {"width": WIDTH, "height": height}}
