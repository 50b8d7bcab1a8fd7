"""Take README's pictures again: the zoom, and the film of a network that learns.

Usage: python .ci/stills.py [FOLDER]    (``.github/docs`` by default)

The first is the picture that lesson 00 stores.  The film is that lesson in JupyterLab, in Chromium,
run and answered as a learner would: so playwright and Chromium are needed (`make test-browser`
installs the one, the system the other; CHROMIUM names another).
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
SIZE, COLOURS, FILM_COLOURS = (1200, 900), 64, 32
#: Quarters of a pass between two pictures of the film: most happens at the beginning.
STEPS, EVERY_MS = (1, 1, 1, 1, 1, 1, 2, 2, 2, 4, 4, 4, 8, 8, 8, 16, 16), 400


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


def film(lesson, cell):
    """Return pictures of the training as it plays, once a learner has made a prediction."""
    lesson.run_all()
    asked = cell(lesson, "training-predict")
    asked.locator("input[type=text]").fill("300")
    asked.locator("button:text-is('Commit')").click()
    cell(lesson, "training-reveal").locator("text=Your prediction").wait_for()
    player = cell(lesson, "training-run").locator(".jp-OutputArea-output").last
    lesson.still(player)
    player.locator("button:text-is('|◀')").click()
    pictures = [player.screenshot()]
    for steps in STEPS:  # not played: how fast this machine is must not show
        for _ in range(steps):
            player.locator("button:text-is('+1')").click()
        lesson.page.wait_for_timeout(300)
        pictures.append(player.screenshot())
    return pictures


def write_film(pictures, path: Path, width: int) -> None:
    """Write a moving picture with one palette for all frames, so that what rests costs nothing."""
    images = [Image.open(io.BytesIO(picture)).convert("RGB") for picture in pictures]
    size = (width, round(images[0].height * width / images[0].width))
    images = [image.resize(size, Image.Resampling.LANCZOS) for image in images]
    palette = images[len(images) // 2].quantize(FILM_COLOURS, dither=Image.Dither.NONE)
    frames = [image.quantize(palette=palette, dither=Image.Dither.NONE) for image in images]
    times = [EVERY_MS] * (len(frames) - 1) + [3_000]  # the end rests before it begins again
    frames[0].save(path, save_all=True, append_images=frames[1:], duration=times, loop=0)
    print(f"{path}: {path.stat().st_size // 1000} kB, {len(frames)} frames")


def main(arguments):
    """Take both pictures."""
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
        sys.exit("the film is taken in Chromium: install it, or name one in CHROMIUM")
    with (
        tempfile.TemporaryDirectory() as home,
        running_lab(Path(home)) as lab,
        sync_playwright() as playwright,
    ):
        browser = playwright.chromium.launch(executable_path=chromium, args=CHROMIUM_FLAGS)
        lesson = LessonPage(browser, lab, LESSON, width=SIZE[0])
        lesson.page.set_viewport_size({"width": SIZE[0], "height": SIZE[1]})
        write_film(film(lesson, cell), folder / "training.gif", 800)
        lesson.close()
        browser.close()


if __name__ == "__main__":
    main(sys.argv[1:])
