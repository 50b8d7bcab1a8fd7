"""Make a rank fail: to see what a run loses, and what a checkpoint keeps."""

from dataclasses import replace

from trainium_edu.specs.arguments import whole
from trainium_edu.specs.signatures import checked
from trainium_edu.training.trainer import Trainer

__all__ = ["RankFailed", "fail"]


class RankFailed(RuntimeError):
    """A rank is gone, and the others would wait for it."""


@checked
def fail(trainer: Trainer, rank: int, *, at_step: int) -> None:
    """Let a rank fail in the middle of a step: it is gone when the others sum with it.

    Parameters
    ----------
    trainer : Trainer
        Cannot take that step; a new one can, from a checkpoint.
    rank : int
    at_step : int
        Counts from 0.

    Examples
    --------
    >>> from trainium_edu.training.trainer import Job
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
        self._trainer, self._rank, self._at_step = trainer, rank, at_step

    def __getattr__(self, name):
        if self._trainer.number >= self._at_step:
            raise RankFailed(
                f"rank {self._rank} of {self._trainer.job.ranks} failed in step "
                f"{self._trainer.number}, before {name}; the others would wait for it for ever: "
                "start again from the newest checkpoint, on as many ranks or on fewer"
            )
        return getattr(self._trainer.links, name)
