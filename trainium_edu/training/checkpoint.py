"""Checkpoints: all that a run needs to go on as if nothing had happened, in one file each.

A checkpoint is a safetensors file with a sum of all its bytes (``sealed``).  It is written
beside and renamed: what is there is whole, unless the disk damaged it later.  Then the one before
it is used, and a warning says so.
"""

import errno
import os
import re
import warnings
from collections.abc import Callable, Mapping
from dataclasses import asdict, dataclass, field, is_dataclass
from pathlib import Path
from typing import Any

import numpy as np

from trainium_edu import files
from trainium_edu.sealed import BROKEN, Damaged, OtherVersion, sealed, split, unsealed
from trainium_edu.specs.arguments import short, whole
from trainium_edu.specs.signatures import checked
from trainium_edu.training.refusals import sentence

__all__ = ["Checkpoint", "CheckpointDamaged", "CheckpointError", "Checkpoints", "load_checkpoint",
           "save_checkpoint", "to_bytes"]  # fmt: skip

FORMAT, VERSION = "trainium_edu checkpoint", 2
_FILE = re.compile(r"step-(\d{8,})\.safetensors")
#: What a job must share with the checkpoint that it goes on from.
_SAME = ("task", "dtype", "optimizer", "momentum", "master_weights", "seed")
#: What changes only times.
_TIMES_ONLY = ("overlap",)


class CheckpointError(ValueError):
    """A checkpoint cannot be written, read, or used for this job."""


class CheckpointDamaged(UserWarning):
    """A checkpoint was damaged or cut; the sentence names it and the one used instead."""


@dataclass(frozen=True, slots=True)
class Checkpoint:
    """The contents of one file.

    Attributes
    ----------
    path : Path
    state : dict
        As it was given to :func:`save_checkpoint`; tuples are lists.
    """

    path: Path
    state: dict = field(repr=False)

    @property
    def step(self) -> int:
        """How many steps were taken."""
        return self.state["number"]

    @property
    def job(self) -> dict[str, Any]:
        """The job's fields."""
        return self.state["job"]


@checked
def save_checkpoint(folder: str | Path, state: Mapping, keep: int = 3) -> Path:
    """Write a checkpoint whole or not at all, and delete the oldest.

    Parameters
    ----------
    folder : str or Path
        Is made if it is not there.
    state : mapping
        Arrays, and plain data as JSON knows them, in mappings and lists; among them ``number``
        (steps taken) and ``job``: what ``Trainer.state()`` returns.
    keep : int
        How many checkpoints, with this one, stay in the folder.

    Returns
    -------
    Path
        The file: ``step-00000020.safetensors`` after 20 steps.

    Raises
    ------
    CheckpointError
        If the disk is full or the folder cannot be written to; older checkpoints are still there.
        If an array holds NaN or infinity: nothing is written.

    Examples
    --------
    >>> import tempfile
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     path = save_checkpoint(folder, {"number": 20, "job": {}, "w": np.ones(3)})
    ...     path.name, load_checkpoint(folder).state["w"].tolist()
    ('step-00000020.safetensors', [1.0, 1.0, 1.0])
    """
    whole(keep, "keep", 1)
    data, folder = to_bytes(state), _made(Path(folder))
    path = folder / f"step-{state['number']:08d}.safetensors"
    try:
        files.write(path, data)
    except OSError as problem:
        raise _not_written(path, problem) from problem
    for old in [one for one in _written(folder) if one.name < path.name][keep - 1 :]:
        old.unlink(missing_ok=True)
    import psutil  # here, because a browser's Python lacks it

    for part in folder.glob(".step-*.part"):  # left by a process that was killed while it wrote
        if not psutil.pid_exists(int(part.name.split(".")[-3])):
            part.unlink(missing_ok=True)
    return path


@checked
def to_bytes(state: Mapping) -> bytes:
    """Return the bytes of a checkpoint's file; arguments and errors as :func:`save_checkpoint`."""
    if odd := [name for name in ("number", "job") if name not in state]:
        raise CheckpointError(f"the state has no {odd[0]!r}; give what Trainer.state() returns")
    step = whole(state["number"], "number", 0)
    arrays: dict[str, np.ndarray] = {}
    plain = split(state, "", arrays)
    for name, array in arrays.items():
        if not np.issubdtype(array.dtype, np.integer) and not np.isfinite(array).all():
            raise CheckpointError(sentence("checkpoint.not_finite", name=name, step=step))
    return sealed(FORMAT, VERSION, plain, arrays)


@checked
def load_checkpoint(folder: str | Path) -> Checkpoint:
    """Read the newest good checkpoint of a folder, or one file.

    Parameters
    ----------
    folder : str or Path

    Returns
    -------
    Checkpoint

    Raises
    ------
    CheckpointError
        If there is none, or none that is whole; if the newest has a format of another version.

    Warns
    -----
    CheckpointDamaged
        If newer ones are damaged or cut.
    """
    folder = Path(folder)
    if folder.is_file():
        try:
            return _read(folder)
        except Damaged as damage:
            raise CheckpointError(f"{folder} cannot be used: {damage}") from None
    damaged = []
    for path in _written(folder):
        try:
            checkpoint = _read(path)
        except Damaged as damage:
            damaged.append(f"{path.name} {damage}")
            continue
        if damaged:
            told = f"{'; '.join(damaged)}; {checkpoint.path.name}, the one before, is used instead"
            warnings.warn(told, CheckpointDamaged, stacklevel=2)
        return checkpoint
    if damaged:
        raise CheckpointError(sentence("checkpoint.whole", files="; ".join(damaged), folder=folder))
    raise CheckpointError(sentence("checkpoint.none", folder=folder))


class Checkpoints:
    """The checkpoints of one run: the newest to begin with, and another every so many steps.

    Parameters
    ----------
    folder : str or Path
        Is made if it is not there.
    every : int
        Steps from one to the next.
    keep : int
        How many stay.
    """

    @checked
    def __init__(self, folder: str | Path, every: int = 100, keep: int = 3):
        self.every, self.keep = whole(every, "every", 1), whole(keep, "keep", 1)
        self.folder = _made(Path(folder))

    def newest(self, job) -> Checkpoint | None:
        """Return the checkpoint that a job goes on from; None if it begins.

        Parameters
        ----------
        job : Job

        Raises
        ------
        CheckpointError
            If the folder's is of another job, or none is whole.

        Warns
        -----
        UserWarning
            If the run goes on otherwise: on other ranks, at another learning rate.
        """
        if not is_dataclass(job) or isinstance(job, type):
            raise TypeError(f"job is {short(job)}; it must be a Job")
        if not _written(self.folder):
            return None
        newest = load_checkpoint(self.folder)
        now = split(asdict(job), "job", {})
        differ = [name for name in now if name in newest.job and now[name] != newest.job[name]]
        for name in [one for one in differ if one in _SAME]:
            both = newest.job[name], now[name]
            raise CheckpointError(sentence("checkpoint.other", newest=newest, name=name, both=both))
        if differ := [name for name in differ if name not in _TIMES_ONLY]:
            told = ", ".join(f"{name} {newest.job[name]!r} -> {now[name]!r}" for name in differ)
            warnings.warn(sentence("checkpoint.goes_on", newest=newest, told=told), stacklevel=3)
        return newest

    @checked
    def after(self, steps: int, state: Callable[[], Mapping], *, last: bool = False) -> Path | None:
        """Write a checkpoint if it is time; return its file, or None.

        Parameters
        ----------
        steps : int
            How many were taken.
        state : callable
            Returns what :func:`save_checkpoint` takes; called only if it is time.
        last : bool
            This is the last step: write in any case.
        """
        if whole(steps, "steps", 0) % self.every and not last:
            return None
        return save_checkpoint(self.folder, state(), self.keep)


def _written(folder: Path) -> list[Path]:
    """Return the checkpoints of a folder, the newest first."""
    names = os.listdir(folder) if folder.is_dir() else ()
    found = {int(one[1]): folder / name for name in names if (one := _FILE.fullmatch(name))}
    return [found[step] for step in sorted(found, reverse=True)]


def _made(folder: Path) -> Path:
    """Make a folder that can be written to."""
    try:
        folder.mkdir(parents=True, exist_ok=True)
        if not os.access(folder, os.W_OK | os.X_OK):
            raise PermissionError(errno.EACCES, os.strerror(errno.EACCES))
    except OSError as problem:
        raise _not_written(folder, problem) from problem
    return folder


def _not_written(path: Path, problem: OSError) -> CheckpointError:
    why = problem.strerror or problem
    if problem.errno in (errno.ENOSPC, errno.EDQUOT, errno.EFBIG):
        why = f"the disk is full or the quota used up ({why})"
    return CheckpointError(sentence("checkpoint.not_written", path=path, why=why))


def _read(path: Path) -> Checkpoint:
    """Read one file, and check every byte of it."""
    try:
        checkpoint = Checkpoint(path, unsealed(path.read_bytes(), FORMAT, VERSION))
        whole(checkpoint.step, "number", 0)
        dict(checkpoint.job)
    except OSError as problem:
        raise Damaged(f"cannot be read ({problem.strerror})") from None
    except OtherVersion as problem:
        raise CheckpointError(f"{path} {problem}; use the trainium_edu that wrote it") from None
    except BROKEN as problem:
        raise Damaged(f"does not hold what its header says ({short(problem)})") from None
    return checkpoint
