"""Take README's pictures again: the one above the fold, and stills of the first sixty seconds.

Usage: python .ci/stills.py [FOLDER]    (``.github/docs`` by default)

The first is the zoom that lesson 00 stores.  The stills are that lesson in JupyterLab, in Chromium,
opened, run and answered as a learner would: so playwright and Chromium are needed (`make
test-browser` installs the one, the system the other; CHROMIUM names another).
"""

import base64
import io
import json
import os
import shutil
import sys
import tempfile
from pathlib import Path

from PIL import Image

ROOT = Path(__file__).parents[1]
sys.path.insert(0, str(ROOT))

LESSON = "00_start_here.ipynb"
SIZE, COLOURS = (1200, 800), 64


def write(picture: bytes, path: Path, width: int) -> None:
    """Write a picture narrower and with few colours: text stays sharp, the file small."""
    image = Image.open(io.BytesIO(picture)).convert("RGB")
    height = round(image.height * width / image.width)
    small = image.resize((width, height), Image.Resampling.LANCZOS)
    small.quantize(COLOURS, dither=Image.Dither.NONE).save(path, optimize=True)
    print(f"{path}: {path.stat().st_size // 1000} kB")


def stored_zoom() -> bytes:
    """Return the picture that lesson 00 stores below its first cell."""
    cells = json.loads((ROOT / "notebooks" / LESSON).read_text(encoding="utf-8"))["cells"]
    outputs = next(c["outputs"] for c in cells if c["id"] == "zoom")
    pictures = [o["data"]["image/png"] for o in outputs if "image/png" in o.get("data", {})]
    return base64.b64decode("".join(pictures[0]))


def take(lesson, cell):
    """Yield the name and the picture of each still, in the order of a learner's first minute."""
    page = lesson.page
    page.locator(".jp-CodeCell .cm-content").first.click()
    page.keyboard.press("Shift+Enter")
    page.locator("button:has-text('fly through')").first.click()
    page.wait_for_timeout(6_000)  # in flight
    yield "first-picture", page.screenshot()
    lesson.run_all()
    asked = cell(lesson, "light-predict")
    asked.locator("input[type=text]").fill("93")
    asked.locator("button:text-is('Commit')").click()
    cell(lesson, "light-run").locator("text=the work of a single worker").wait_for()
    cell(lesson, "light-predict")
    page.wait_for_timeout(1_000)
    yield "first-answer", page.screenshot()
    asked = cell(lesson, "training-predict")
    asked.locator("input[type=text]").fill("300")
    asked.locator("button:text-is('Commit')").click()
    cell(lesson, "training-reveal").locator("text=Your prediction").wait_for()
    film = cell(lesson, "training-run")
    page.wait_for_timeout(2_500)
    film.locator("button[aria-label^='Play:']").click()
    lesson.soon(lambda: int(film.locator("[data-wrong]").get_attribute("data-wrong")) < 60)
    yield "first-training", page.screenshot()


def main(arguments):
    """Take them."""
    from playwright.sync_api import sync_playwright

    from tests.browser.conftest import CHROMIUM_FLAGS, running_lab
    from tests.browser.lesson_page import LessonPage
    from tests.browser.test_start_here import cell

    folder = Path(arguments[0] if arguments else ROOT / ".github" / "docs")
    folder.mkdir(parents=True, exist_ok=True)
    write(stored_zoom(), folder / "zoom.png", 1400)
    chromium = (
        os.environ.get("CHROMIUM") or shutil.which("chromium") or shutil.which("google-chrome")
    )
    if not chromium:
        sys.exit("stills are taken in Chromium: install it, or name one in CHROMIUM")
    with (
        tempfile.TemporaryDirectory() as home,
        running_lab(Path(home)) as lab,
        sync_playwright() as playwright,
    ):
        browser = playwright.chromium.launch(executable_path=chromium, args=CHROMIUM_FLAGS)
        lesson = LessonPage(browser, lab, LESSON, width=SIZE[0])
        lesson.page.set_viewport_size({"width": SIZE[0], "height": SIZE[1]})
        for name, picture in take(lesson, cell):
            write(picture, folder / f"{name}.png", SIZE[0])
        lesson.close()
        browser.close()


if __name__ == "__main__":
    main(sys.argv[1:])
