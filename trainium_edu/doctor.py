"""Check whether this installation can run the lessons, and print what to do if not.

``python -m trainium_edu doctor`` prints every finding; in a notebook ``doctor.check()`` prints
only ``ready``, or the advice.  Each look is one small function that returns whether all is good and
what it saw; ``doctor.toml`` says what it is about, and what to do where it is not good.
"""

import importlib.metadata
import importlib.util
import json
import subprocess
import sys
import tempfile
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path

from trainium_edu import settings
from trainium_edu.files import tables

__all__ = ["Finding", "check", "examine", "run"]

MEMORY_NEEDED_BYTES = 2 << 30  # a lesson's peak is at most 1.5 GiB, and the browser wants some
PYTHON = (3, 11)
_WORDS = tables(__file__)


@dataclass(frozen=True, slots=True)
class Finding:
    """One thing that was looked at."""

    subject: str
    good: bool
    seen: str
    advice: str = ""  #: what to do, where it is not good

    def __str__(self):
        line = f"[{'ok' if self.good else '!!'}] {self.subject}: {self.seen}"
        return f"{line}\n     {self.advice}" if not self.good and self.advice else line


def check():
    """Print ``ready``, or what is wrong and what to do about it; for a notebook's first cell.

    Examples
    --------
    >>> check()  # doctest: +SKIP
    ready
    """
    wrong = [finding for finding in examine(quick=True) if not finding.good]
    for finding in wrong:
        print(f"{finding.subject}: {finding.seen}. {finding.advice}")
    if not wrong:
        print("ready")


def examine(*, quick: bool = False) -> list[Finding]:
    """Look at everything that a lesson needs.

    Parameters
    ----------
    quick : bool
        Leave out what a running notebook has already proved (its kernel), and start no process.

    Returns
    -------
    findings : list of Finding
    """
    return [_finding(look) for look in _LOOKS if not (quick and look in _NOT_IN_A_NOTEBOOK)]


def run(_) -> int:
    """Print the findings; return 1 if one is bad."""
    findings = examine()
    print("\n".join(str(finding) for finding in findings))
    return 0 if all(finding.good for finding in findings) else 1


def _finding(look) -> Finding:
    """Run one look; what it trips over is a finding too."""
    words = _WORDS[look.__name__.strip("_")]
    try:
        good, seen, *values = look()
    except Exception as error:
        seen = f"{type(error).__name__}: {error}"
        return Finding(words["subject"], False, seen, "Install trainium_edu again.")
    return Finding(words["subject"], good, seen, words["advice"].format(*values))


# -- looks: whether all is good, what was seen, and what the advice names --------------------------


def _python():
    have = sys.version_info[:2]
    return have >= PYTHON, "{}.{}".format(*have)


def _packages():
    """Compare what is installed with what the package's own metadata ask for."""
    from packaging.requirements import Requirement

    lines = importlib.metadata.requires("trainium_edu") or ()
    needs = [Requirement(line) for line in lines if "extra ==" not in line]
    wrong = []
    for need in needs:
        try:
            have = importlib.metadata.version(need.name)
        except importlib.metadata.PackageNotFoundError:
            wrong.append(f"{need.name} is missing")
            continue
        if not need.specifier.contains(have, prereleases=True):
            wrong.append(f"{need.name} {have} is not {need.specifier}")
    return not wrong, "; ".join(wrong) or f"all {len(needs)} as needed"


def _kernel():
    from jupyter_client.kernelspec import KernelSpecManager, NoSuchKernel

    try:
        command = KernelSpecManager().get_kernel_spec("python3").argv[0]
    except NoSuchKernel:
        return False, "python3 is not registered"
    own = (
        command in ("python", "python3")
        or Path(command).resolve() == Path(sys.executable).resolve()
    )
    return own, "python3 is this Python" if own else f"python3 is another Python ({command})"


def _widgets():
    from jupyter_core.paths import jupyter_path

    wanted = {"anywidget": "anywidget", "@jupyter-widgets/jupyterlab-manager": "jupyterlab_widgets"}
    folders = [Path(folder) for folder in jupyter_path("labextensions")]
    missing = [
        package
        for extension, package in wanted.items()
        if not any((folder / extension / "package.json").is_file() for folder in folders)
    ]
    if missing:
        return False, f"extension of {', '.join(missing)} is missing", " ".join(missing)
    return True, "both extensions present", ""


def _cache():
    """Look whether Numba's cache beside the package can be written, or where it goes instead."""
    for folder in (Path(__file__).parent / "numerics" / "__pycache__", Path.home() / ".cache"):
        with suppress(OSError):
            _write_in(folder)
            return True, "writable"
    return False, "cannot be written"


def _progress():
    folder = settings.data_folder()
    try:
        _write_in(folder)
    except OSError as error:
        return False, f"cannot be kept in {folder} ({error.strerror})"
    return True, "can be kept"


def _write_in(folder):
    folder.mkdir(parents=True, exist_ok=True)
    tempfile.TemporaryFile(dir=folder).close()


def _memory():
    import psutil

    free = psutil.virtual_memory().available
    return free >= MEMORY_NEEDED_BYTES, f"{free / 2**30:.1f} GiB free"


def _lessons():
    from trainium_edu.exercises import lessons

    try:
        books = lessons.notebooks()
        for book in books:
            json.loads(book.read_text(encoding="utf-8"))
    except FileNotFoundError as error:
        return False, "none found", error
    return True, f"{sum(b.name != 'glossary.ipynb' for b in books)} found", ""


def _numba():
    """Compile and run one small loop in a process of its own, whatever is cached."""
    code = _WORDS["numba"]["code"]
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, timeout=180)
    last = done.stderr.strip().split("\n")[-1][:200]
    return done.returncode == 0, "compiles" if done.returncode == 0 else last


_LOOKS = (_python, _packages, _kernel, _widgets, _cache, _progress, _memory, _lessons, _numba)
#: What a running notebook has proved (its kernel), and what starts a process.
_NOT_IN_A_NOTEBOOK = (_kernel, _numba)
