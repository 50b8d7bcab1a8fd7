"""Make a learner's working copy of the lessons, and open JupyterLab on it.

Learners work in ``work/``, where no answer stands under its question: outputs are stripped.  A
second copy of each lesson as it was handed out (the base) is kept in ``work/.trainium_edu/base``,
so that ``update`` can tell what the learner changed.
"""

import json
import os
import subprocess
import sys
from pathlib import Path

from trainium_edu import files
from trainium_edu.exercises import lessons

__all__ = ["default_folder", "make_working_copy", "open_lab", "stripped"]

FIRST = "00_start_here.ipynb"


def default_folder() -> Path:
    """Return ``work`` beside the lessons of a clone, or in the present folder if installed."""
    beside = lessons.folder().parent
    installed = (beside / "exercises").is_dir()
    return (Path.cwd() if installed else beside) / "work"


def stripped(notebook: dict) -> dict:
    """Return a notebook without outputs, execution counts and widget states.

    Parameters
    ----------
    notebook : dict

    Returns
    -------
    notebook : dict
        A new one.
    """
    copy = json.loads(json.dumps(notebook))
    copy.get("metadata", {}).pop("widgets", None)
    for cell in copy["cells"]:
        if cell["cell_type"] == "code":
            cell["outputs"], cell["execution_count"] = [], None
            cell.get("metadata", {}).pop("execution", None)
    return copy


def base_folder(work: Path) -> Path:
    """Return where the lessons are kept as they were handed out."""
    return work / ".trainium_edu" / "base"


def write(path: Path, notebook: dict):
    """Write a notebook whole or not at all."""
    path.parent.mkdir(parents=True, exist_ok=True)
    files.write(path, json.dumps(notebook, indent=1, ensure_ascii=False) + "\n")


def make_working_copy(work: Path) -> list[Path]:
    """Copy the lessons that are missing in a folder; touch none that is there.

    Parameters
    ----------
    work : Path

    Returns
    -------
    new : list of Path
        The copies that were made.
    """
    work = Path(work)
    new = []
    for source in lessons.notebooks():
        target = work / source.name
        if target.exists() or target.is_symlink():
            continue
        copy = stripped(json.loads(source.read_text(encoding="utf-8")))
        write(target, copy)
        write(base_folder(work) / source.name, copy)
        new.append(target)
    return new


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
    from trainium_edu.cli import update

    work = Path(work or default_folder()).resolve()
    new = make_working_copy(work)
    print(f"Your lessons are in {work}" + (f" ({len(new)} new)" if new else ""))
    if waiting := update.waiting(work):
        print(
            f"{len(waiting)} lessons have a newer version: `python -m trainium_edu update` brings "
            "it and keeps what you wrote"
        )
    # A kernel of the same name in the user's home must not win over this environment's.
    environment = {**os.environ, "JUPYTER_PREFER_ENV_PATH": "1"}
    if _is_root() and "--allow-root" not in options:  # containers; the server listens here only
        print("You are root, as in a container: JupyterLab is told to allow it")
        options = ("--allow-root", *options)
    command = [sys.executable, "-m", "jupyterlab", FIRST, f"--ServerApp.root_dir={work}", *options]
    server = subprocess.Popen(command, cwd=work, env=environment)
    while True:
        try:
            return server.wait()
        except KeyboardInterrupt:
            continue  # JupyterLab got it too, and asks whether to shut down


def _is_root() -> bool:
    """Whether a Unix superuser runs this; JupyterLab refuses to start for one unless told."""
    return getattr(os, "geteuid", lambda: 1)() == 0
