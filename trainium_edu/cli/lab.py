"""Open JupyterLab on a learner's working copy of the lessons."""

import argparse
import os
import subprocess
import sys
from pathlib import Path

from trainium_edu.cli import update
from trainium_edu.cli.refusals import sentence
from trainium_edu.cli.working_copy import default_folder, make_working_copy

__all__ = ["command", "folder", "make_copy", "open_lab"]

FIRST = "00_start_here.ipynb"
_CONFIG = Path(__file__).with_name("jupyter")  #: turns JupyterLab's news off: nothing is fetched


def folder(text: str) -> Path:
    """Return the folder that an argument names."""
    if not text.strip():
        raise argparse.ArgumentTypeError(sentence("lab.no_name"))
    return Path(text)


def command(options) -> int:
    """Make the copy of the lessons, and open JupyterLab on it."""
    if options.copy_only:
        make_copy(options.folder)
        return 0
    return open_lab(options.folder, options.rest)


def make_copy(work: Path | None = None) -> Path:
    """Make the working copy, or complete it; say where it is, and what is new in the lessons."""
    work = Path(work or default_folder()).resolve()
    new = make_working_copy(work)
    print(f"Your lessons are in {work}" + (f" ({len(new)} new)" if new else ""))
    if waiting := update.waiting(work):
        print(sentence("lab.waiting", count=len(waiting)))
    return work


def open_lab(work: Path | None = None, options=()) -> int:
    """Make the working copy and open JupyterLab on the first lesson, until it is closed.

    Parameters
    ----------
    work : Path, optional
    options : sequence of str
        Passed on to JupyterLab, for example ``--no-browser``.

    Returns
    -------
    code : int
        JupyterLab's exit code.
    """
    work = make_copy(work)
    # A kernel of the same name in the user's home must not win over this environment's.
    paths = filter(None, (str(_CONFIG), os.environ.get("JUPYTER_CONFIG_PATH")))
    ours = {"JUPYTER_PREFER_ENV_PATH": "1", "JUPYTER_CONFIG_PATH": os.pathsep.join(paths)}
    is_root = getattr(os, "geteuid", lambda: 1)() == 0  # JupyterLab refuses to start unless told
    if is_root and "--allow-root" not in options:  # containers; the server listens here only
        print("You are root, as in a container: JupyterLab is told to allow it")
        options = ("--allow-root", *options)
    command = [sys.executable, "-m", "jupyterlab", FIRST, f"--ServerApp.root_dir={work}", *options]
    server = subprocess.Popen(command, cwd=work, env={**os.environ, **ours})
    while True:
        try:
            return server.wait()
        except KeyboardInterrupt:
            continue  # JupyterLab got it too, and asks whether to shut down
