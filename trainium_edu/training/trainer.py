"""The trainer: a job says what is trained how on how many ranks; a trainer takes its steps.

One program is recorded for all ranks, and every value that differs among them has a leading axis of
replicas.  A step is the one that a script would write: batch, forward, backward, all-reduce in
buckets, clip, optimiser, cut.
"""

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field

import numpy as np

from trainium_edu.specs.arguments import whole
from trainium_edu.training import nn, optim
from trainium_edu.training.parallel.collectives import Links, links
from trainium_edu.training.tasks import TASKS, Task
from trainium_edu.xla import numpy as xnp
from trainium_edu.xla import xm
from trainium_edu.xla.compiler import Compiler
from trainium_edu.xla.device import Device, World, world
from trainium_edu.xla.executor import Setting
from trainium_edu.xla.tensor import Tensor, as_tensor

__all__ = ["Job", "Step", "Trainer"]


@dataclass(frozen=True, slots=True)
class Job:
    """All that decides a run; plain data, so that it can be kept, compared and sent.

    Attributes
    ----------
    task : str
        A key of ``TASKS``.
    ranks : int
    batch : int
        Samples per rank and micro-batch.
    accumulate : int
        Micro-batches whose gradients are added before ranks sum them.
    optimizer : {"sgd", "adam", "adamw"}
    lr, momentum, weight_decay : float
    dtype : {"float32", "bfloat16"}
        Of weights and activations.
    rounding : {"nearest", "stochastic"}
        Of everything that is narrower than FP32.
    master_weights : bool
        FP32 weights beside those in `dtype`.
    reduce_dtype : {"float32", "bfloat16"}, optional
        Of the sums over ranks; default `dtype`.
    instance, algorithm : str
        Over which links, and in which order, ranks sum.
    bucket_bytes : int, optional
        Of a gradient bucket; default as ``ALLREDUCE_GRADIENTS_BUCKET_SIZE_MB`` says.
    overlap : bool
        Sums travel while earlier layers are still at work; changes times only.
    zero : bool
        ZeRO-1: each rank keeps and updates its part of the optimiser's state.
    clip : float, optional
        The most that the gradients' norm may be.
    seed : int
        Of weights, order of samples, and tosses.
    """

    task: str = "digits-mlp"
    ranks: int = 32
    batch: int = 32
    accumulate: int = 1
    optimizer: str = "sgd"
    lr: float = 0.1
    momentum: float = 0.0
    weight_decay: float = 0.0
    dtype: str = "bfloat16"
    rounding: str = "stochastic"
    master_weights: bool = False
    reduce_dtype: str | None = None
    instance: str = "trn1.32xlarge"
    algorithm: str = "ring"
    bucket_bytes: int | None = None
    overlap: bool = True
    zero: bool = False
    clip: float | None = None
    seed: int = 0

    @property
    def global_batch(self) -> int:
        """Samples per step."""
        return self.ranks * self.batch * self.accumulate


@dataclass(frozen=True, slots=True)
class Step:
    """What one step gave."""

    number: int  #: from 0
    loss: float  #: mean over the samples of all ranks
    loss_of_rank: np.ndarray = field(repr=False)  #: float32[ranks]
    samples: int
    lr: float


class Trainer:
    """A job in progress.

    Parameters
    ----------
    job : Job
    task : Task, optional
        In place of the one that the job names.
    reached : Links, optional
        In place of the job's links.

    Examples
    --------
    >>> trainer = Trainer(Job(ranks=2, batch=8))
    >>> steps = [trainer.step() for _ in range(2)]
    >>> steps[1].number, steps[1].samples
    (1, 16)
    """

    def __init__(self, job: Job, *, task: Task | None = None, reached: Links | None = None):
        self.job, self.task = job, TASKS[job.task] if task is None else task
        self.links = links(job.ranks, job.instance, algorithm=job.algorithm,
                           rounding=job.rounding, seed=job.seed) if reached is None else reached  # fmt: skip
        setting = Setting(job.rounding, job.seed, replicas=job.ranks, collectives=self.links)
        self.device = Device(setting=setting, compiler=Compiler(times=self.links))
        self.world = World(0, job.ranks, self.links, device=self.device)
        self.images, self.labels, *self.test = self.task.data()
        nn.manual_seed(job.seed)
        self.model = self.task.model().to(self.device, job.dtype)
        kind = {"sgd": optim.SGD, "adam": optim.Adam, "adamw": optim.AdamW}[job.optimizer]
        more = {"momentum": job.momentum} if job.optimizer == "sgd" else {}
        self.optimizer = kind(self.model.parameters(), lr=job.lr, weight_decay=job.weight_decay,
                              master_weights=job.master_weights, **more)  # fmt: skip
        self.optimizer.init_states()
        self.number = 0
        self._batches = self._order()

    def _order(self) -> Iterator[np.ndarray]:
        """Yield the sample numbers of each step, int64[samples]; stands in for the loader."""
        from trainium_edu.training.data import batches

        epoch = 0
        while True:
            yield from batches(len(self.labels), seed=self.job.seed, epoch=epoch,
                               batch=self.job.global_batch)  # fmt: skip
            epoch += 1

    def step(self) -> Step:
        """Take one step: all ranks, one batch each."""
        job, device = self.job, self.device
        chosen = next(self._batches).reshape(job.accumulate, job.ranks, job.batch)
        with world(self.world):
            self.optimizer.zero_grad()
            losses = []
            for part in chosen:
                x = as_tensor(self.images[part], device, job.dtype, per_replica=True)
                y = as_tensor(self.labels[part], device, per_replica=True)
                loss = nn.cross_entropy(self.model(x), y) / job.accumulate
                loss.backward()
                losses.append(loss)
            xm.reduce_gradients(self.optimizer, bucket_bytes=job.bucket_bytes)
            if job.clip is not None:
                optim.clip_grad_norm_(self.model.parameters(), job.clip)
            self.optimizer.step()
            device.mark_step()
            of_rank = sum(loss.numpy() for loss in losses)
        self.number += 1
        return Step(self.number - 1, float(np.mean(of_rank)), of_rank, chosen.size, job.lr)
