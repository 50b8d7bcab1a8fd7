"""A prediction in real JupyterLab: hidden, committed by keyboard, saved, and still there later.

Judge: the browser and the file that JupyterLab saves.
"""

import json
import os
import socket
import subprocess
import sys
import time
from pathlib import Path

import nbformat
import pytest
from nbformat.v4 import new_code_cell, new_notebook

from trainium_edu.widgets.prediction import MIME

pytestmark = pytest.mark.browser
CELLS = [
    "from trainium_edu.widgets import prediction as predict",
    "p = predict.number('99/n', 'At which sum does adding 1 in BF16 stop?', unit='terms')\np",
    "c = predict.choice('99/c', 'Which is fastest for 1 GiB?', ['Mesh', 'RDH', 'KangaRing'])\nc",
    "o = predict.order('99/o', 'From smallest to largest range?', ['BF16', 'FP16', 'FP8 E4M3'])\no",
    "import ipywidgets\np.reveal(256, 'BF16 keeps 8 bits.',"
    " show=lambda: ipywidgets.IntSlider(description='gated'))",
    "c.reveal('KangaRing', 'It moves the fewest bytes.')",
    "o.reveal(['FP8 E4M3', 'FP16', 'BF16'])",
    "p.gate('a gated line')",
]


@pytest.fixture
def page_and_path(tmp_path, browser):
    """JupyterLab of its own on a folder with the notebook above."""
    folder = tmp_path / "nb"
    folder.mkdir()
    book = new_notebook(cells=[new_code_cell(source) for source in CELLS])
    book.metadata["kernelspec"] = {"name": "python3", "display_name": "Python 3 (ipykernel)"}
    nbformat.write(book, folder / "predict.ipynb")
    with socket.socket() as s:
        s.bind(("127.0.0.1", 0))
        port = s.getsockname()[1]
    quiet = tmp_path / "settings" / "@jupyterlab" / "apputils-extension"
    quiet.mkdir(parents=True)
    (quiet / "notification.jupyterlab-settings").write_text('{"fetchNews": "false"}')
    if os.environ.get("SEE_DARK"):
        (quiet / "themes.jupyterlab-settings").write_text('{"theme": "JupyterLab Dark"}')
    env = {
        **os.environ,
        "JUPYTER_CONFIG_DIR": str(tmp_path / "config"),
        "JUPYTERLAB_SETTINGS_DIR": str(tmp_path / "settings"),
        "JUPYTERLAB_WORKSPACES_DIR": str(tmp_path / "workspaces"),
        "TRAINIUM_EDU_HOME": str(tmp_path / "home"),
        "TRAINIUM_EDU_COMMITTED": "0",
    }
    with (tmp_path / "server.log").open("w") as log:
        server = subprocess.Popen(
            [sys.executable, "-m", "jupyterlab", "--no-browser", "--allow-root",
             f"--port={port}", "--ip=127.0.0.1", "--IdentityProvider.token=see",
             f"--ServerApp.root_dir={folder}", "--LabApp.expose_app_in_browser=True",
             "--LabApp.news_url=None"],
            env=env, stdout=log, stderr=log,
        )  # fmt: skip
    try:
        for _ in range(600):
            try:
                socket.create_connection(("127.0.0.1", port), 0.2).close()
                break
            except OSError:
                time.sleep(0.1)
        page = browser.new_page(viewport={"width": 1200, "height": 1000})
        page.add_init_script(path=Path(__file__).with_name("look.js"))
        page.goto(
            f"http://127.0.0.1:{port}/doc/tree/predict.ipynb?token=see&reset", timeout=120_000
        )
        page.wait_for_selector(".jp-Notebook .jp-Cell", timeout=120_000)
        page.wait_for_function("() => look.kernelIsReady()", timeout=60_000)
        page.click(".jp-Notebook")
        yield page, folder / "predict.ipynb"
        page.close()
    finally:
        server.terminate()
        server.wait(20)


def command(page, name):
    """Execute a JupyterLab command without waiting for its end (a dialog may be in between)."""
    page.evaluate("(name) => { window.jupyterapp.commands.execute(name); }", name)


def wait_idle(page):
    until = time.monotonic() + 60
    while time.monotonic() < until:
        page.wait_for_timeout(300)
        idle = page.query_selector(".jp-Notebook-ExecutionIndicator[data-status='idle']")
        prompts = page.locator(".jp-InputPrompt").all_inner_texts()
        if idle and not any("*" in prompt for prompt in prompts):
            page.wait_for_timeout(500)
            return
    raise AssertionError("the notebook is not idle after 60 s")


def run_all(page):
    wait_idle(page)
    first = page.locator(".jp-InputPrompt").first
    before = first.inner_text()
    command(page, "notebook:run-all-cells")
    until = time.monotonic() + 60
    while time.monotonic() < until and first.inner_text() in (before, "[*]:"):
        page.wait_for_timeout(100)  # the first cell has run, anew
    wait_idle(page)


def saved(page, path):
    """Save in JupyterLab; return the stored predictions and the stored plain texts."""
    before = path.stat().st_mtime_ns
    command(page, "docmanager:save")
    until = time.monotonic() + 20
    cells = None
    while cells is None and time.monotonic() < until:
        page.wait_for_timeout(200)
        try:  # the file is there before its content is
            if path.stat().st_mtime_ns != before:
                cells = json.loads(path.read_text())["cells"]
        except ValueError:
            continue
    assert cells is not None, "JupyterLab did not save"
    outputs = [out for cell in cells for out in cell.get("outputs", ())]
    data = [out["data"] for out in outputs if "data" in out]
    texts = ["".join(d.get("text/plain", "")) for d in data]
    return {d[MIME]["key"]: d[MIME] for d in data if MIME in d}, texts


def shot(page, name):
    if folder := os.environ.get("SEE_SHOTS"):
        Path(folder).mkdir(parents=True, exist_ok=True)
        page.screenshot(path=f"{folder}/{name}.png")


def test_predictions_are_committed_by_keyboard_and_stay_in_the_saved_notebook(page_and_path):
    page, path = page_and_path
    errors = []
    page.on("pageerror", lambda e: errors.append(str(e)))
    run_all(page)
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
    page.wait_for_selector("text=A factor of 2 below the answer")
    page.wait_for_timeout(300)
    assert page.evaluate("document.activeElement.className") == "te-predict-status"
    assert page.locator(".jupyter-widgets.widget-hslider").count() == 1

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

    predictions, texts = saved(page, path)
    assert {k: v["value"] for k, v in predictions.items()} == {
        "99/n": 128, "99/c": "RDH", "99/o": ["FP8 E4M3", "BF16", "FP16"],
    }  # fmt: skip
    assert any("Answer: 256 terms" in text for text in texts)

    run_all(page)  # the same kernel
    again, _ = saved(page, path)
    assert again == predictions
    assert page.locator(".jp-InputPrompt").first.inner_text() != "[1]:"

    command(page, "notebook:restart-run-all")
    page.click(".jp-Dialog .jp-mod-accept", timeout=20_000)
    page.wait_for_selector(".jp-InputPrompt:text-is('[1]:')", timeout=60_000)  # a new kernel
    page.wait_for_selector("text=A factor of 2 below the answer", timeout=60_000)
    wait_idle(page)
    later, _ = saved(page, path)
    assert later == predictions

    page.locator("button:text-is('Change my prediction')").first.click()
    page.keyboard.type("256")
    page.keyboard.press("Enter")
    page.wait_for_selector("text=changed after the answer: 256 terms")
    shot(page, "4-changed")
    changed, _ = saved(page, path)
    assert changed["99/n"]["value"] == 128
    assert changed["99/n"]["changes_after_answer"] == 1
    assert errors == []
