"""What a submission may take, and how its file is opened."""

import contextlib
import dataclasses
import os
import stat
import subprocess
from pathlib import Path
from typing import Any

import psutil

__all__ = [
    "Limits",
    "Unreadable",
    "end_family",
    "limit_this_process",
    "read_bytes",
    "read_text",
    "start",
]

_LARGEST_BYTES = 100 << 20


@dataclasses.dataclass(frozen=True, slots=True)
class Limits:
    """What one submission may take."""

    seconds: float = 30.0  #: one cell, or one call of an answer
    submission_seconds: float = 240.0  #: all of it
    memory_bytes: int = 4 << 30  #: address space of its kernel
    print_bytes: int = 1_000_000
    file_bytes: int = 256 << 20  #: one file that it writes

    def but(self, *, memory_gib: float | None = None, **others: float | None) -> "Limits":
        """Return these limits with others in place of some; None leaves one as it is."""
        asked: dict[str, Any] = {**others, "memory_bytes": int((memory_gib or 0) * 2**30)}
        return dataclasses.replace(self, **{name: most for name, most in asked.items() if most})


class Unreadable(Exception):
    """What was handed in is no submission; says why in half a sentence."""


def read_bytes(path: Path) -> bytes:
    """Read a regular file of up to 100 MB; a pipe or a device is never waited for.

    Raises
    ------
    Unreadable
        With the reason in words.
    """

    def opener(name, flags):
        return os.open(name, flags | getattr(os, "O_NONBLOCK", 0))

    try:
        with open(path, "rb", opener=opener) as file:
            about = os.fstat(file.fileno())
            if not stat.S_ISREG(about.st_mode):
                raise Unreadable("not a regular file (a pipe or a device)")
            if about.st_size > _LARGEST_BYTES:
                raise Unreadable("larger than 100 MB: clear its outputs")
            return file.read()
    except OSError as error:
        raise Unreadable(f"cannot be read ({error.strerror})") from None


def read_text(path: Path, kind: str) -> str:
    """Return the text of what should be "a notebook", or a file of another kind.

    Raises
    ------
    Unreadable
        With the reason in words.
    """
    try:
        return read_bytes(path).decode("utf-8-sig")
    except UnicodeDecodeError:
        raise Unreadable(f"not {kind} (not text)") from None


def limit_this_process(limits: Limits):
    """Set the limits that kernels started from here inherit; where the system has them."""
    try:
        import resource
    except ImportError:  # Windows
        return
    most = {"AS": limits.memory_bytes, "FSIZE": limits.file_bytes, "CORE": 0}
    for name, value in most.items():
        which = getattr(resource, f"RLIMIT_{name}")
        with contextlib.suppress(ValueError, OSError):
            resource.setrlimit(which, (value, resource.getrlimit(which)[1]))


def start(arguments: list, folder: Path | str, environment: dict) -> subprocess.Popen:
    """Start a process in a folder, with two pipes to talk to it, in a session of its own."""
    how: dict[str, Any] = {"cwd": folder, "env": environment, "start_new_session": True}
    how |= {"stdin": subprocess.PIPE, "stdout": subprocess.PIPE, "stderr": subprocess.DEVNULL}
    return subprocess.Popen(arguments, **how)


def end_family(process: subprocess.Popen | None):
    """Kill a process and all that it started; with None, all that this one started."""
    with contextlib.suppress(psutil.Error):
        for child in psutil.Process(process and process.pid).children(recursive=True):
            with contextlib.suppress(psutil.Error):
                child.kill()
    if process:
        with contextlib.suppress(OSError):
            process.kill()
        process.wait()
