"""A lesson open in JupyterLab, as a learner would use it."""

import itertools
import json
import os
import re
import time
import urllib.request
from pathlib import Path

import nbformat
import psutil
import pytest
from nbformat.v4 import new_code_cell, new_notebook

from tests.slowness import slowness
from tests.texts import text_beside

_FOLDER = Path(__file__).parents[2] / "notebooks"
LESSONS = sorted(p.name for p in _FOLDER.glob("[0-9]*.ipynb"))  # the glossary runs nothing
_LOOK = Path(__file__).with_name("look.js")


def pairs(names):
    """Return all pairs as parameters of a test; those of no neighbours wait for the soak."""
    names = list(names)
    return [
        pytest.param(a, b, marks=() if abs(i - j) in (1, len(names) - 1) else pytest.mark.soak)
        for (i, a), (j, b) in itertools.permutations(enumerate(names), 2)
    ]


class LessonPage:
    """Open one lesson in its own page, run it, look at it."""

    def __init__(self, browser, lab, name, *, width=1400, dark=False, path="doc/tree"):
        self.address, self.work, self._server = lab
        self.name = name
        self.page = browser.new_page(viewport={"width": width, "height": 1000})
        self.page.add_init_script(path=_LOOK)
        self.console_errors = []
        self.page.on("console", self._note)
        self.page.on("pageerror", lambda e: self.console_errors.append(str(e)))
        self.page.goto(f"{self.address}/{path}/{name}?token=test&reset", timeout=120_000)
        self.page.wait_for_selector(".jp-Notebook .jp-Cell", timeout=120_000)
        if dark:
            self.darken()
        self.page.wait_for_function("() => look.kernelIsReady()", timeout=60_000)

    def _note(self, message):
        if message.type == "error":
            self.console_errors.append(message.text)

    def command(self, name, arguments=None):
        """Execute a JupyterLab command without waiting for its end: a dialog may come first."""
        self.page.evaluate("([name, given]) => look.execute(name, given)", [name, arguments or {}])

    def darken(self):
        """Turn to the dark theme."""
        self.command("apputils:change-theme", {"theme": "JupyterLab Dark"})

    def turn_narrow_and_dark(self):
        """Give an open page 900 pixels and the dark theme; what it shows is drawn again."""
        self.page.set_viewport_size({"width": 900, "height": 1000})
        self.darken()
        self.wait_idle(60)
        self.page.wait_for_selector("body[data-jp-theme-light=false]", state="attached")
        self.settle()
        self.wait_idle(60)  # what the pictures asked for, being narrower

    def wait_idle(self, seconds):
        """Wait until all commands have ended, the kernel is idle and no cell waits."""
        until = time.monotonic() + seconds
        while time.monotonic() < until:
            idle = self.page.query_selector(".jp-Notebook-ExecutionIndicator[data-status='idle']")
            waiting = self.page.evaluate(
                "() => look.commands > 0 || [...document.querySelectorAll('.jp-InputPrompt')]"
                ".some(e => e.textContent.includes('*'))"
            )
            if idle and not waiting:
                return
            time.sleep(0.1)
        raise AssertionError(f"{self.name} is not idle after {seconds} s")

    def soon(self, holds, seconds=15):
        """Wait until `holds()`, however busy the machine; return whether it came true."""
        until = time.monotonic() + seconds
        while not (true := holds()) and time.monotonic() < until:
            self.page.wait_for_timeout(50)
        return bool(true)

    def still(self, place):
        """Wait until an element neither changes nor moves: what was begun there has ended."""
        place.wait_for()
        assert place.evaluate("e => look.still(e)"), f"it moves on: {place}"

    def run_all(self, seconds=120):
        """Run all cells; return the seconds until the first control shows, and until idle.

        With them, how much slower than a quiet machine this one is, before and after.
        """
        self.page.click(".jp-Notebook")
        before = slowness()
        start = time.monotonic()
        self.command("notebook:run-all-cells")
        self.page.evaluate("() => look.firstControl()")
        first = time.monotonic() - start
        self.wait_idle(seconds)
        whole = time.monotonic() - start
        return first, whole, max(1.0, min(before, slowness()))

    def restart(self):
        """Restart the kernel and clear all outputs."""
        self.page.evaluate(
            """async () => {
              await window.jupyterapp.commands.execute('notebook:clear-all-cell-outputs');
              await window.jupyterapp.shell.currentWidget.sessionContext.session.kernel.restart();
            }"""
        )
        self.page.wait_for_function("() => look.kernelIsReady()", timeout=60_000)

    def settle(self):
        """Bring every cell into view once, so that all of it is rendered."""
        self.page.evaluate("() => look.everyCell()")
        self.page.wait_for_timeout(300)

    def trouble(self):
        """Return the text of every error or stderr output."""
        return self.page.evaluate("() => look.trouble()")

    def broken_widgets(self):
        """Return the text of every output that says its widget failed."""
        return self.page.evaluate("() => look.brokenWidgets()")

    def focusable(self):
        """Return what takes focus in outputs, with name and shortcut protection."""
        return self.page.evaluate("() => look.focusable()")

    def cells(self):
        """Return the ids of the notebook's cells; the page may not have drawn all of them yet."""
        return self.page.evaluate(
            "() => Array.from(window.jupyterapp.shell.currentWidget.content.model.cells, c => c.id)"
        )

    def kernel_peak_bytes(self):
        """Return the largest peak memory of the kernels that this server started."""
        peaks = [0]
        for child in psutil.Process(self._server).children(recursive=True):
            try:
                if "ipykernel" in " ".join(child.cmdline()):
                    with open(f"/proc/{child.pid}/status") as status:
                        peak = re.search(r"VmHWM:\s+(\d+) kB", status.read())
                    peaks.append(int(peak.group(1)) * 1024)
            except (psutil.Error, OSError):
                continue
        return max(peaks)

    def close(self):
        """Close the page and shut its kernel down; other open pages keep theirs."""
        self.page.close()
        sessions = json.load(urllib.request.urlopen(f"{self.address}/api/sessions?token=test"))
        for session in (one for one in sessions if one["path"] == self.name):
            request = urllib.request.Request(
                f"{self.address}/api/sessions/{session['id']}?token=test", method="DELETE"
            )
            urllib.request.urlopen(request).close()


def cells(name):
    """Return the cells of a file in the folder ``texts``; its ROOT is the repository's."""
    text = text_beside(__file__, name).removesuffix("\n").replace("ROOT", repr(str(_FOLDER.parent)))
    return text.split("\n# %%\n")


def page_of(browser, lab, name, *sources, **look):
    """Open a notebook of these cells, written into the working copy."""
    book = new_notebook(cells=[new_code_cell(source) for source in sources])
    book.metadata["kernelspec"] = {"name": "python3", "display_name": "Python 3 (ipykernel)"}
    nbformat.write(book, lab[1] / name)
    return LessonPage(browser, lab, name, **look)


def lesson_fixture(notebook):
    """Return a fixture: the page of a lesson, whose learner has done nothing yet."""
    dark_page = pytest.param((900, True), id="dark", marks=pytest.mark.soak)

    @pytest.fixture(scope="module", params=[pytest.param((1400, False), id="light"), dark_page])
    def lesson(request, browser, lab):
        width, dark = request.param
        for journal in (lab[1].parent / "progress").glob("*.jsonl"):
            journal.unlink()
        page = LessonPage(browser, lab, notebook, width=width, dark=dark)
        page.shots = f"{os.environ.get('SEE_SHOTS', '')}/{'dark' if dark else 'light'}-{width}"
        yield page
        page.close()

    return lesson


def shot(lesson, name, after=0):
    """Take a picture of the page, some milliseconds later, where one is asked for."""
    if os.environ.get("SEE_SHOTS"):
        lesson.page.wait_for_timeout(after)
        Path(lesson.shots).mkdir(parents=True, exist_ok=True)
        lesson.page.screenshot(path=f"{lesson.shots}/{name}.png")
