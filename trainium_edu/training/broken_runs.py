"""Runs of lesson 09b: equal bits with ZeRO-1, a rank that fails, a step that gives NaN."""

import tempfile
from dataclasses import replace

import numpy as np

from trainium_edu.specs.arguments import whole
from trainium_edu.specs.signatures import checked
from trainium_edu.training.checkpoint import Checkpoints
from trainium_edu.training.refusals import sentence
from trainium_edu.training.trainer import Diverged, Job, Run, Trainer, fit

__all__ = ["RankFailed", "broken_and_resumed", "fail", "not_a_number", "same_bits", "weights_equal"]


class RankFailed(RuntimeError):
    """A rank is gone, and the others would wait for it."""


@checked
def fail(trainer: Trainer, rank: int, *, at_step: int) -> None:
    """Make a rank fail in the middle of a step: it is gone when the others sum with it.

    Parameters
    ----------
    trainer : Trainer
        Cannot take that step; a new one can, from a checkpoint.
    rank : int
    at_step : int
        Counts from 0.

    Examples
    --------
    >>> trainer = Trainer(Job(ranks=2, batch=8))
    >>> fail(trainer, 1, at_step=3)
    """
    if trainer.links is None:
        raise ValueError("a job of one rank sums with nobody; use two or more ranks")
    whole(rank, "rank", 0, trainer.job.ranks - 1)
    links = _Failing(trainer, rank, whole(at_step, "at_step", trainer.number))
    trainer.device.setting = replace(trainer.device.setting, collectives=links)


class _Failing:
    """Links over which one rank answers no more from a step on."""

    def __init__(self, trainer, rank, at_step):
        self.trainer, self.rank, self._at_step = trainer, rank, at_step

    def __getattr__(self, name):
        if self.trainer.number >= self._at_step:
            raise RankFailed(sentence("broken_runs.rank_failed", failing=self, name=name))
        return getattr(self.trainer.links, name)


@checked
def same_bits(one: Job, other: Job, steps: int = 5) -> bool:
    """Return whether two jobs have equal weights after some steps, bit for bit.

    Parameters
    ----------
    one, other : Job
    steps : int

    Examples
    --------
    >>> same_bits(Job(ranks=2, batch=8, seed=1), Job(ranks=2, batch=8, seed=2), 1)
    False
    """
    first, second = (fit(job, steps).trainer for job in (one, other))
    return weights_equal(first, second)


@checked
def weights_equal(one: Trainer, other: Trainer) -> bool:
    """Return whether two trainers of one task hold the same weights, bit for bit.

    Parameters
    ----------
    one, other : Trainer

    Examples
    --------
    >>> weights_equal(*(Trainer(Job(ranks=2, batch=8)) for _ in range(2)))
    True
    """
    pairs = zip(one.weights().values(), other.weights().values(), strict=True)
    return all(np.array_equal(a.view(np.uint32), b.view(np.uint32)) for a, b in pairs)


@checked
def broken_and_resumed(job: Job, steps: int, *, rank: int, fails_at: int,
                       every: int) -> tuple[str, Run]:  # fmt: skip
    """Train until a rank fails, then continue from the newest checkpoint.

    Parameters
    ----------
    job : Job
    steps : int
        In all.
    rank, fails_at : int
        Which rank, in which step from 0.
    every : int
        Steps between checkpoints.

    Returns
    -------
    said : str
        What the failure said.
    run : Run
        The second part; its ``steps`` begin after the checkpoint.

    Examples
    --------
    >>> said, run = broken_and_resumed(Job(ranks=2, batch=8), 4, rank=1, fails_at=3, every=2)
    >>> said[:16], [step.number for step in run.steps]
    ('rank 1 of 2 fail', [2, 3])
    """
    said = ""
    with tempfile.TemporaryDirectory() as folder:
        checkpoints = Checkpoints(folder, every=every)
        trainer = Trainer(job)
        fail(trainer, rank, at_step=fails_at)
        try:
            fit(trainer, steps, checkpoints=checkpoints)
        except RankFailed as failed:
            said = str(failed)
        return said, fit(job, steps, checkpoints=checkpoints)


@checked
def not_a_number(job: Job, steps: int = 30) -> str:
    """Return what a run says that stops for NaN or infinity; "" if none does.

    Parameters
    ----------
    job : Job
    steps : int

    Examples
    --------
    >>> not_a_number(Job(ranks=2, batch=8), 2)
    ''
    """
    try:
        fit(job, steps)
    except Diverged as stopped:
        return str(stopped)
    return ""
