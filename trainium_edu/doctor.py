"""Check whether this installation can run the lessons, and print what to do if not.

``python -m trainium_edu doctor`` prints every finding; in a notebook ``doctor.check()`` prints
only ``ready``, or the advice.  Each finding is one small function that returns what it saw.
"""

import importlib.metadata
import importlib.util
import json
import re
import subprocess
import sys
import tempfile
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

from trainium_edu import settings

__all__ = ["Finding", "check", "examine", "run"]

MEMORY_NEEDED_BYTES = 2 << 30  # a lesson's peak is at most 1.5 GiB, and the browser wants some
PYTHON = (3, 11)


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
    looks: list[Callable[[], Finding]] = [
        _python, _versions, _lab_extension, _cache, _folder, _memory, _lessons,
    ]  # fmt: skip
    if not quick:
        looks[2:2] = [_kernel]
        looks.append(_compiles)
    return [_guarded(look) for look in looks]


def run(_) -> int:
    """Print the findings; return 1 if one is bad."""
    findings = examine()
    print("\n".join(str(finding) for finding in findings))
    return 0 if all(finding.good for finding in findings) else 1


def _guarded(look):
    """Run one look; what it trips over is a finding too."""
    try:
        return look()
    except Exception as error:
        subject = look.__name__.strip("_").replace("_", " ")
        return Finding(
            subject, False, f"{type(error).__name__}: {error}", "Install trainium_edu again."
        )


def _python():
    have = sys.version_info[:2]
    return Finding(
        "Python", have >= PYTHON, "{}.{}".format(*have),
        "The lessons need Python 3.11 or later: make a new environment with it.",
    )  # fmt: skip


def _versions():
    """Compare what is installed with what the package's own metadata ask for."""
    wrong = []
    names = 0
    for line in importlib.metadata.requires("trainium_edu") or ():
        if "extra ==" in line:
            continue
        name, bounds = re.match(r"([\w.-]+)\s*(.*?)(?:;|$)", line).groups()
        names += 1
        try:
            have = importlib.metadata.version(name)
        except importlib.metadata.PackageNotFoundError:
            wrong.append(f"{name} is missing")
            continue
        if not is_within(have, bounds):
            wrong.append(f"{name} {have} is not {bounds}")
    return Finding(
        "packages", not wrong, "; ".join(wrong) or f"all {names} as needed",
        "Run `python -m pip install --upgrade trainium_edu` (in a clone: `make clean lab`).",
    )  # fmt: skip


def is_within(version, bounds):
    """Return whether a version lies within bounds such as ``>=2.0,<2.6``."""
    have = _release(version)
    for bound in filter(None, bounds.replace(" ", "").strip("()").split(",")):
        operator, limit = re.match(r"(>=|<=|==|!=|~=|<|>)(.*)", bound).groups()
        want = _release(limit)
        width = max(len(have), len(want))
        a, b = (v + (0,) * (width - len(v)) for v in (have, want))
        good = {">=": a >= b, "<": a < b, "==": a == b, "<=": a <= b, ">": a > b, "!=": a != b}
        if not good.get(operator, a >= b):
            return False
    return True


def _release(version):
    return tuple(int(part) for part in re.match(r"\d+(\.\d+)*", version).group().split("."))


def _kernel():
    from jupyter_client.kernelspec import KernelSpecManager, NoSuchKernel

    advice = (
        "Run `python -m ipykernel install --sys-prefix` in this environment, and choose the "
        "kernel 'Python 3 (ipykernel)' in the notebook."
    )
    try:
        command = KernelSpecManager().get_kernel_spec("python3").argv[0]
    except NoSuchKernel:
        return Finding("Jupyter kernel", False, "python3 is not registered", advice)
    own = (
        command in ("python", "python3")
        or Path(command).resolve() == Path(sys.executable).resolve()
    )
    seen = "python3 is this Python" if own else f"python3 is another Python ({command})"
    return Finding("Jupyter kernel", own, seen, advice)


def _lab_extension():
    from jupyter_core.paths import jupyter_path

    wanted = {"anywidget": "anywidget", "@jupyter-widgets/jupyterlab-manager": "jupyterlab_widgets"}
    missing = [
        package
        for extension, package in wanted.items()
        if not any((Path(p) / extension / "package.json").is_file()
                   for p in jupyter_path("labextensions"))
    ]  # fmt: skip
    return Finding(
        "widgets in JupyterLab", not missing,
        f"extension of {', '.join(missing)} is missing" if missing else "both extensions present",
        f"Run `python -m pip install --force-reinstall {' '.join(missing)}`, close JupyterLab, and "
        "open it again with `python -m trainium_edu lab`.",
    )  # fmt: skip


def _cache():
    """Look whether Numba's cache beside the package can be written, or where it goes instead."""
    for candidate in (Path(__file__).parent / "numerics" / "__pycache__", Path.home() / ".cache"):
        try:
            candidate.mkdir(parents=True, exist_ok=True)
            with tempfile.TemporaryFile(dir=candidate):
                return Finding("compile cache", True, "writable")
        except OSError:
            continue
    return Finding(
        "compile cache", False, "cannot be written",
        "Each start compiles again, for a minute. Set NUMBA_CACHE_DIR to a folder of yours.",
    )  # fmt: skip


def _folder():
    folder = settings.data_folder()
    try:
        folder.mkdir(parents=True, exist_ok=True)
        with tempfile.TemporaryFile(dir=folder):
            return Finding("progress", True, "can be kept")
    except OSError as error:
        return Finding(
            "progress", False, f"cannot be kept in {folder} ({error.strerror})",
            "The lessons run all the same. Set TRAINIUM_EDU_HOME to a folder of yours.",
        )  # fmt: skip


def _memory():
    import psutil

    free = psutil.virtual_memory().available
    return Finding(
        "memory", free >= MEMORY_NEEDED_BYTES, f"{free / 2**30:.1f} GiB free",
        "A lesson takes up to 1.5 GiB: close other programs or notebooks.",
    )  # fmt: skip


def _lessons():
    from trainium_edu.exercises import lessons

    try:
        books = lessons.notebooks()
        for book in books:
            json.loads(book.read_text(encoding="utf-8"))
    except FileNotFoundError as error:
        return Finding("lessons", False, "none found", f"{error}.")
    return Finding("lessons", True, f"{sum(b.name != 'glossary.ipynb' for b in books)} found")


def _compiles():
    """Compile and run one small loop in a process of its own, whatever is cached."""
    code = (
        "import numba, numpy\n"
        "@numba.njit\n"
        "def total(a):\n    s = 0.0\n    for x in a:\n        s += x\n    return s\n"
        "assert total(numpy.arange(4.0)) == 6.0"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, timeout=180)
    last = done.stderr.strip().split("\n")[-1][:200]
    return Finding(
        "Numba", done.returncode == 0, "compiles" if done.returncode == 0 else last,
        "Run `python -m pip install --force-reinstall numba llvmlite`.",
    )  # fmt: skip
