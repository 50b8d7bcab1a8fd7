"""One JupyterLab and one Chromium for all browser tests; lessons open as learners open them."""

import os
import shutil
import socket
import subprocess
import sys
import time
import urllib.request
from contextlib import contextmanager
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
CHROMIUM_FLAGS = ["--no-sandbox", "--disable-gpu", "--disable-quic", "--no-first-run",
                  "--disable-background-networking", "--disable-component-update",
                  "--disable-sync"]  # fmt: skip


@pytest.fixture(scope="session")
def chromium():
    """The path of Chromium; its absence is a failure, for this lane exists to use it."""
    path = os.environ.get("CHROMIUM") or shutil.which("chromium") or shutil.which("google-chrome")
    if not path:
        pytest.fail("no Chromium found: install it (Debian: apt-get install chromium)")
    return path


OPTIONS = {  # of each program that opens notebooks
    "jupyterlab": [
        "--LabApp.expose_app_in_browser=True",
        "--LabApp.news_url=None",
        "--LabApp.check_for_updates_class=jupyterlab.NeverCheckForUpdate",
    ],
    "notebook": ["--JupyterNotebookApp.expose_app_in_browser=True"],
}


@contextmanager
def running_lab(home, program="jupyterlab"):
    """A running JupyterLab over a learner's working copy, made by the same call as `make lab`."""
    from trainium_edu.cli import working_copy

    work = home / "work"
    working_copy.make_working_copy(work)
    quiet = home / "settings/@jupyterlab/apputils-extension"
    quiet.mkdir(parents=True)
    (quiet / "notification.jupyterlab-settings").write_text(
        '{"fetchNews": "false", "checkForUpdates": false}'
    )
    with socket.socket() as s:
        s.bind(("127.0.0.1", 0))
        port = s.getsockname()[1]
    environment = {k: v for k, v in os.environ.items() if k != "TRAINIUM_EDU_COMMITTED"} | {
        "JUPYTER_CONFIG_DIR": str(home / "config"),
        "JUPYTERLAB_SETTINGS_DIR": str(home / "settings"),
        "JUPYTERLAB_WORKSPACES_DIR": str(home / "workspaces"),
        "TRAINIUM_EDU_HOME": str(home / "progress"),
    }
    options = ["--no-browser", "--allow-root", f"--port={port}", "--ip=127.0.0.1",
               "--IdentityProvider.token=test", f"--ServerApp.root_dir={work}",
               *OPTIONS[program]]  # fmt: skip
    with open(home / "server.log", "w") as log:
        server = subprocess.Popen([sys.executable, "-m", program, *options], env=environment,
                                  stdout=log, stderr=log, cwd=ROOT)  # fmt: skip
        address = f"http://127.0.0.1:{port}"
        try:
            for _ in range(240):
                try:
                    urllib.request.urlopen(f"{address}/api?token=test", timeout=1).close()
                    break
                except OSError:
                    time.sleep(0.25)
            else:
                log = (home / "server.log").read_text()
                pytest.fail(f"{program} did not start: {log[-2000:]}")
            yield address, work, server.pid
        finally:
            server.terminate()
            try:
                server.wait(10)
            except subprocess.TimeoutExpired:
                server.kill()


@pytest.fixture(scope="session")
def lab(tmp_path_factory):
    """One JupyterLab for all tests."""
    with running_lab(tmp_path_factory.mktemp("lab")) as running:
        yield running


@pytest.fixture(scope="session")
def browser(chromium):
    from playwright.sync_api import sync_playwright

    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=chromium, args=CHROMIUM_FLAGS)
        yield browser
        browser.close()
