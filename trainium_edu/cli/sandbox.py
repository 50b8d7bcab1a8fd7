"""Walls around a submission's kernel: what it sees is Python, this package, and its own folder.

On Linux with bubblewrap (Debian's ``bubblewrap``; no root needed) the kernel lives in namespaces
of its own: no network, no other process, no file but those listed here (the package's solutions
are not), and whatever it starts ends with it.  Without, a grader of root's (Gradescope's is) starts
it as another user, who can read no file of mode 0600; else it runs with the instructor's rights.
Each row of the table says which.

Compiled loops are copied into its folder: Numba reads a cache only where it could write one, and a
cache that submissions could write to would be everybody's.
"""

import functools
import os
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path

import trainium_edu
from trainium_edu.exercises import afterwards
from trainium_edu.files import tables

__all__ = ["as_another_user", "command", "described", "environment", "harden", "missing"]

_TABLES = tables(__file__)
_PACKAGE = Path(trainium_edu.__file__).resolve().parent
_USER, _USER_ID = "nobody", 65534
_AS_USER = [word.format(id=_USER_ID) for word in _TABLES["as_another_user"]]


@functools.cache
def missing() -> str:
    """Return why a submission's kernel cannot be walled off here; empty where it can."""
    if not sys.platform.startswith("linux"):
        return "there are no namespaces on this system"
    if shutil.which("bwrap") is None:
        return "bubblewrap is not installed"
    why = _failure(command(None, [sys.executable, "-c", ""]))
    return why and f"bubblewrap does not start here ({why})"


def _failure(arguments: list, **how) -> str:
    """Run a command; return why it fails, or an empty string."""
    how |= {"stdin": subprocess.DEVNULL, "capture_output": True, "text": True, "timeout": 60}
    try:
        trial = subprocess.run(arguments, **how)
    except (OSError, subprocess.TimeoutExpired) as error:
        return str(error)
    lines = trial.stderr.strip().splitlines() or [f"code {trial.returncode}"]
    return lines[-1][:120] if trial.returncode else ""


def described() -> str:
    """Return what a row says of the walls."""
    if not missing():
        return "bubblewrap"
    return f"none: {missing()}" + (f"; run as {_USER}" if has_another_user() else "")


@functools.cache
def has_another_user() -> bool:
    """Return whether a submission can be started as another user, who can run Python here."""
    if os.name != "posix" or os.geteuid() or shutil.which("setpriv") is None:
        return False
    trial = [*_AS_USER, sys.executable, "-c", "import os, trainium_edu; os.mkdir('mine')"]
    with tempfile.TemporaryDirectory() as folder:
        os.chown(folder, _USER_ID, _USER_ID)
        return not _failure(trial, env=environment(Path(folder)), cwd=folder)


def as_another_user(folder: Path, arguments: list) -> list:
    """Return the command that runs `arguments` without walls, as another user where that can be.

    Parameters
    ----------
    folder : Path
        Where it runs; it is given to that user.
    arguments : list of str

    Returns
    -------
    list of str
    """
    if not has_another_user():
        return arguments
    for place in (folder, *folder.rglob("*")):
        if not place.is_symlink():
            os.chown(place, _USER_ID, _USER_ID)
    return [*_AS_USER, *arguments]


def command(folder: Path | None, arguments: list) -> list:
    """Return the command that runs `arguments` behind walls.

    Parameters
    ----------
    folder : Path or None
        The one place that may be written to; it is where the command runs.  None: there is none.
    arguments : list of str

    Returns
    -------
    list of str
    """
    walls = list(_TABLES["walls"])
    for path in (*_TABLES["places"], *_python()):
        walls += ["--ro-bind-try", path, path]
    if afterwards.FOLDER.is_dir():
        walls += ["--tmpfs", str(afterwards.FOLDER)]
    if folder is None:
        return [*walls, "--", *arguments]
    for loops, copy in _loops_of_its_own(folder):
        walls += ["--bind", str(copy), str(loops)]
    return [*walls, "--bind", str(folder), str(folder), "--chdir", str(folder), "--", *arguments]


def _python():
    """Return the folders that Python itself, its libraries and this package live in."""
    # Not the folder that holds the package: in a checkout the solutions are in it.
    found = {str(_PACKAGE), sys.prefix, sys.base_prefix, os.path.realpath(sys.prefix)}
    found |= {os.path.dirname(os.path.realpath(sys.executable)), os.path.dirname(sys.executable)}
    found |= {path for path in sys.path if Path(path).name in ("site-packages", "dist-packages")}
    return sorted(found)  # a folder before what is in it


def _loops_of_its_own(folder: Path):
    """Copy the compiled loops into a kernel's folder; yield (where they belong, the copy)."""
    kept = os.environ.get("NUMBA_CACHE_DIR")
    places = {p.parent for p in _PACKAGE.rglob("*.nbi")} if not kept else {Path(kept).absolute()}
    for i, place in enumerate(sorted(p for p in places if p.is_dir())):
        copy = folder / ".loops" / str(i)
        shutil.copytree(place, copy, dirs_exist_ok=True)
        yield place, copy


def environment(folder: Path) -> dict:
    """Return the environment of a submission's kernel: what Python needs, nothing of yours."""
    names, families = set(_TABLES["inherited"]), tuple(_TABLES["inherited_families"])
    kept = {key: own for key, own in os.environ.items() if key in names or key.startswith(families)}
    fixed = {key: own.format(folder=folder) for key, own in _TABLES["environment"].items()}
    if missing() and "NUMBA_CACHE_DIR" in kept:  # a cache of its own, as behind walls
        for _, copy in _loops_of_its_own(folder):
            fixed["NUMBA_CACHE_DIR"] = str(copy)
    return {**kept, "PYTHONPATH": str(_PACKAGE.parent), **fixed}


def harden():
    """Close this process to others of the same user, and adopt what its children leave (Linux).

    A process that cannot be dumped cannot be traced, and its memory, environment and open files
    under ``/proc`` are root's.
    """
    try:
        import ctypes

        prctl = ctypes.CDLL(None).prctl
    except (AttributeError, OSError, TypeError):  # not Linux
        return
    prctl(4, 0, 0, 0, 0)  # PR_SET_DUMPABLE
    prctl(36, 1, 0, 0, 0)  # PR_SET_CHILD_SUBREAPER
