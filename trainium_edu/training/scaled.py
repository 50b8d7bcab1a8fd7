"""How a job's step grows with its ranks, and what it keeps in memory: shapes only, nothing trained.

The program of one rank does not depend on how many others there are, but for the batch in strong
scaling, and ZeRO's parts.  So it is compiled once per batch, and each point asks the links of its
own ranks.
"""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import lru_cache
from typing import Literal

from trainium_edu.neuroncore.recording.dtypes import get_dtype
from trainium_edu.specs import INSTANCES
from trainium_edu.specs.arguments import whole
from trainium_edu.specs.instances import ends
from trainium_edu.specs.signatures import checked
from trainium_edu.training import nn
from trainium_edu.training.parallel.collectives import compiler_for, links
from trainium_edu.training.parallel.step import StepReport, step_report
from trainium_edu.training.refusals import sentence
from trainium_edu.training.tasks import Task
from trainium_edu.training.trainer import Job, Trainer
from trainium_edu.xla.compiler import Compiler
from trainium_edu.xla.executable import Executable

__all__ = ["Memory", "Point", "memory", "scaling"]


@dataclass(frozen=True, slots=True)
class Point:
    """A job on a number of ranks.

    Attributes
    ----------
    ranks, instances : int
    batch : int
        Samples per rank and micro-batch.
    report : StepReport
    efficiency : float
        Samples per second and rank, as a share of those at the first point.
    """

    ranks: int
    instances: int
    batch: int
    report: StepReport
    efficiency: float

    @property
    def step_ns(self) -> float:
        """The time of a step."""
        return self.report.step_ns

    @property
    def samples_per_s(self) -> float:
        """Samples of all ranks per second."""
        return self.report.samples_per_s

    def __str__(self):
        exposed = self.report.exposed_ns
        return (
            f"{self.ranks:>6} ranks  batch {self.batch:>5}  step {self.step_ns / 1e3:>10,.1f} us"
            f"  exposed {exposed / 1e3:>9,.1f} us"
            f"  {self.samples_per_s:>13,.0f} samples/s  efficiency {self.efficiency:>6.1%}"
        )


@checked
def scaling(job: Job, ranks: Sequence[int] = (1, 2, 8, 32),
            kind: Literal["weak", "strong"] = "weak", *, task: Task | None = None,
            slowest: float = 1.0) -> list:  # fmt: skip
    """Return what a job's step takes on several numbers of ranks.

    Parameters
    ----------
    job : Job
        Its `ranks` count only in strong scaling, for the global batch.
    ranks : sequence of int
        Up to thousands; each must have a place on the job's instance.
    kind : {"weak", "strong"}
        Weak: every rank keeps the job's batch.  Strong: all ranks share the job's global batch.
    task : Task, optional
        In place of the one that the job names.
    slowest : float
        As for :func:`step_report`.

    Returns
    -------
    list of Point

    Raises
    ------
    ValueError
        If ranks have no place, or the global batch does not split evenly.

    Examples
    --------
    >>> one, many = scaling(Job(task="digits-mlp"), (1, 32))
    >>> many.ranks, many.batch, 0 < many.efficiency < 1
    (32, 32, True)
    """
    points: list[Point] = []
    for count in ranks:
        batch = _batch(job, whole(count, "ranks", 1, 2**20), kind)
        reached = links(count, job.instance, algorithm=job.algorithm)
        program, _ = _program(_shape(job, count, batch), task)
        _ = program.band  # times and ranges of all sections, which every number of ranks shares
        report = step_report(program.with_times(reached), reached, count * batch * job.accumulate,
                             overlap=job.overlap, slowest=slowest)  # fmt: skip
        first = points[0] if points else None
        speed, base = report.samples_per_s / count, first and first.samples_per_s / first.ranks
        instances = 1 if reached is None else reached.topology.instances
        points.append(Point(count, instances, batch, report, speed / base if base else 1.0))
    return points


def _batch(job, ranks, kind) -> int:
    if kind == "weak":
        return job.batch
    batch, rest = divmod(job.global_batch, ranks * job.accumulate)
    if rest or not batch:
        micro = f" and {job.accumulate} micro-batches" if job.accumulate > 1 else ""
        parts = f"{ranks} ranks{micro}"
        raise ValueError(sentence("scaled.uneven", job=job, parts=parts))
    return batch


def _shape(job: Job, ranks: int, batch: int) -> Job:
    """Return the job of two ranks (or one) whose program is the same; ZeRO's parts need all."""
    instance, _ = ends(job.instance.partition(".")[0])
    if job.zero and ranks > 2:
        return replace(job, ranks=ranks, batch=batch, seed=0)
    return replace(job, ranks=min(ranks, 2), batch=batch, instance=instance, algorithm="ring",
                   seed=0)  # fmt: skip


class _Compiled(Exception):
    """Carries the executable of a step that is not run."""


class _CompileOnly(Compiler):
    """Stops where a step would run."""

    def run(self, executable, feeds, setting):
        raise _Compiled(executable)


@lru_cache(maxsize=64)
def _program(job: Job, task: Task | None) -> tuple[Executable, dict[str, int]]:
    """Return the program of one rank, and the bytes of what it keeps."""
    with nn.shapes_only():
        trainer = Trainer(job, task=task)
        compiler = compiler_for(job.instance, trainer.links, job.overlap)
        trainer.device.compiler = _CompileOnly(compiler.flags, times=trainer.links,
                                               overlaps=job.overlap)  # fmt: skip
        try:
            trainer.step()
        except _Compiled as stopped:
            (executable,) = stopped.args
    weights, optimizer = trainer.model.parameters(), trainer.optimizer
    parts = []
    if job.zero:
        optimizer = optimizer.base_optimizer
        parts = optimizer.parameters
    held = [(name, tensor) for state in optimizer.states for name, tensor in state.items()]
    parts = [*parts, *(tensor for name, tensor in held if name == "master")]
    states = [tensor for name, tensor in held if name != "master"]
    kept = {"weights": weights, "master": parts, "states": states}
    return executable, {name: sum(t.nbytes for t in tensors) for name, tensors in kept.items()}


_PARTS = ("weights", "gradients", "master", "states", "inputs", "activations")


@dataclass(frozen=True, slots=True)
class Memory:
    """The bytes that one NeuronCore keeps in HBM.

    Attributes
    ----------
    weights, gradients, master, states : int
        ``master`` are the FP32 weights beside narrower ones; with ZeRO-1, this rank's part of the
        weights, which it updates.  So are ``states`` then its part of the optimiser's.
    inputs : int
        A step's samples, labels and numbers.
    activations : int
        What forward keeps for backward, at its most, and what else lives in between.
    available : int
    """

    weights: int
    gradients: int
    master: int
    states: int
    inputs: int
    activations: int
    parameters: int  #: how many
    available: int

    @property
    def total(self) -> int:
        """All of it at once."""
        return sum(getattr(self, part) for part in _PARTS)

    @property
    def bytes_per_parameter(self) -> float:
        """Weights, gradients, master weights and states: 2 + 2 + K of the ZeRO paper."""
        kept = self.weights + self.gradients + self.master + self.states
        return kept / max(1, self.parameters)

    @property
    def fits(self) -> bool:
        """Whether one NeuronCore's HBM holds it."""
        return self.total <= self.available

    def __str__(self):
        names = {part: part for part in (*_PARTS, "total")} | {"of": "available"}
        return "\n".join(f"{name:<12}{getattr(self, part) / 2**20:>12,.2f} MiB"
                         for name, part in names.items())  # fmt: skip


@checked
def memory(job: Job, *, task: Task | None = None) -> Memory:
    """Return what a job keeps in each NeuronCore's HBM.

    Parameters
    ----------
    job : Job
    task : Task, optional
        In place of the one that the job names.

    Returns
    -------
    Memory

    Examples
    --------
    >>> plain = Job(optimizer="adamw", master_weights=True)
    >>> memory(plain).bytes_per_parameter, memory(replace(plain, zero=True)).bytes_per_parameter
    (16.0, 4.375...)

    Notes
    -----
    What lives at once comes from the compiled program, in the order of its schedule; the
    optimiser's temporary values count as activations.  With ZeRO-1 each number of ranks is a
    program of its own, and its parts are padded to equal lengths.

    References
    ----------
    Rajbhandari et al. 2020, ZeRO, section 3: 2 + 2 + K bytes per parameter.
    """
    executable, kept = _program(_shape(job, job.ranks, job.batch), task)
    wide = "float32" if job.accumulate > 1 else job.dtype
    count = kept["weights"] // get_dtype(job.dtype).itemsize
    gradients = count * get_dtype(wide).itemsize
    held = sum(p.type.nbytes for p in executable.final.parameters)
    inputs = held - sum(kept.values())
    between = max(0, executable.hbm_bytes - held - gradients)
    available = int(INSTANCES[job.instance].chip.hbm_bytes_per_core)
    return Memory(
        kept["weights"], gradients, kept["master"], kept["states"], inputs, between, count,
        available,
    )  # fmt: skip
