"""The trainer: a job says what is trained how on how many ranks; a trainer takes its steps.

One program is recorded for all ranks, and every value that differs among them has a leading axis of
replicas.  A step is the one that a script would write: batch, forward, backward, all-reduce in
buckets, clip, optimiser, cut.

Decisions
---------
*Micro-batches are added in FP32*, whatever the weights' dtype: BF16 sums would lose what the next
micro-batch brings (AWS's libraries add in FP32 for the same reason).  The sum is rounded once, to
the weights' dtype, before ranks meet.
*A short last batch* is shared out as evenly as it goes; places without a sample get label -1, whose
loss is 0, and the loss is scaled to be the mean over the samples that are there.  So all steps are
one graph, and no sample is left out.
*A step is all or nothing*: after an error or Ctrl-C the trainer is where it was before it.
"""

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass, field, fields
from functools import lru_cache
from pathlib import Path
from typing import Any

import numpy as np

from trainium_edu.fabric import ALGORITHMS
from trainium_edu.specs.arguments import choice, flag, number, short, whole
from trainium_edu.specs.signatures import checked
from trainium_edu.training import nn, optim
from trainium_edu.training.checkpoint import Checkpoints
from trainium_edu.training.data import shuffled
from trainium_edu.training.loader import check_shares, deal
from trainium_edu.training.parallel.agreement import RanksDisagree, check_replicas
from trainium_edu.training.parallel.collectives import Links, compiler_for, reach
from trainium_edu.training.parallel.step import StepReport, step_report
from trainium_edu.training.parallel.zero import ZeroRedundancyOptimizer
from trainium_edu.training.refusals import sentence
from trainium_edu.training.tasks import TASKS, Task
from trainium_edu.xla import numpy as xnp
from trainium_edu.xla import xm
from trainium_edu.xla.device import Device, World, world
from trainium_edu.xla.executor import Setting
from trainium_edu.xla.tensor import Tensor, as_tensor

__all__ = ["Diverged", "Job", "Run", "Step", "Trainer", "fit"]

_OPTIMIZERS = {"sgd": optim.SGD, "adam": optim.Adam, "adamw": optim.AdamW}
_CHOICES = {
    "optimizer": tuple(_OPTIMIZERS), "schedule": ("constant", "cosine"),
    "dtype": ("float32", "bfloat16"), "rounding": ("nearest", "stochastic"),
    "algorithm": tuple(ALGORITHMS), "task": TASKS,
}  # fmt: skip
_AT_LEAST = {"ranks": 1, "batch": 1, "accumulate": 1, "warmup": 0, "schedule_steps": 1, "seed": 0,
             "bucket_bytes": 0}  # fmt: skip
_FLAGS = ("master_weights", "overlap", "zero", "drop_last")
_MOST_REMEMBERED = 64
_MOST_TESTED = 512  #: samples that are evaluated at a time


@dataclass(frozen=True, slots=True)
class Job:
    """All that decides a run; plain data, so that it can be kept, compared and sent.

    Attributes
    ----------
    task : str
        A key of ``TASKS``, where one of your own can be added.
    ranks : int
    batch : int
        Samples per rank and micro-batch.
    accumulate : int
        Micro-batches whose gradients are added, in FP32, before ranks sum them.
    drop_last : bool
        Leave out the samples of an epoch that do not fill a step; else they make a short one.
    optimizer : {"sgd", "adam", "adamw"}
    lr, momentum, weight_decay : float
    schedule : {"constant", "cosine"}
        Of the learning rate: after `warmup` steps up to `lr`, down to 0 at `schedule_steps`.
    warmup, schedule_steps : int
    dtype : {"float32", "bfloat16"}
        Of weights, activations, and the sums over ranks.
    rounding : {"nearest", "stochastic"}
        Of everything that is narrower than FP32; of sums, at every hop.
    master_weights : bool
        FP32 weights beside those in `dtype`.
    instance, algorithm : str
        Over which links, and in which order, ranks sum.
    bucket_bytes : int, optional
        Of a gradient bucket; default as ``ALLREDUCE_GRADIENTS_BUCKET_SIZE_MB`` says.
    overlap : bool
        Sums travel while earlier layers are still at work; changes times only.
    zero : bool
        ZeRO-1: each rank keeps and updates its part of the optimiser's state.
    clip : float, optional
        The most that the norm of all gradients together, after their sum, may be.
    seed : int
        Of weights, order of samples, and tosses.

    Raises
    ------
    TypeError, ValueError
        For what cannot be, or contradicts itself.

    Examples
    --------
    >>> Job(ranks=8, batch=4, accumulate=2).global_batch
    64
    """

    task: str = "digits-mlp"
    ranks: int = 32
    batch: int = 32
    accumulate: int = 1
    drop_last: bool = False
    optimizer: str = "sgd"
    lr: float = 0.1
    momentum: float = 0.0
    weight_decay: float = 0.0
    schedule: str = "constant"
    warmup: int = 0
    schedule_steps: int | None = None
    dtype: str = "bfloat16"
    rounding: str = "stochastic"
    master_weights: bool = False
    instance: str = "trn1.32xlarge"
    algorithm: str = "ring"
    bucket_bytes: int | None = None
    overlap: bool = True
    zero: bool = False
    clip: float | None = None
    seed: int = 0

    def __post_init__(self):
        for name, allowed in _CHOICES.items():
            choice(getattr(self, name), name, allowed)
        optional = {f.name for f in fields(self) if f.default is None}
        for name, least in _AT_LEAST.items():
            if name not in optional or getattr(self, name) is not None:
                whole(getattr(self, name), name, least, 2**31)
        for name in _FLAGS:
            flag(getattr(self, name), name)
        number(self.lr, "lr", above=0)
        number(self.momentum, "momentum", 0, below=1)
        number(self.weight_decay, "weight_decay", 0)
        if self.clip is not None:
            number(self.clip, "clip", above=0)
        cannot = {
            "job.wide_already": self.master_weights and self.dtype == "float32",
            "job.two_means": self.momentum and self.optimizer != "sgd",
            "job.no_end": self.schedule != "constant" and self.schedule_steps is None,
            "job.warmup": self.schedule_steps is not None and self.warmup >= self.schedule_steps,
        }
        for key, is_so in cannot.items():
            if is_so:
                raise ValueError(sentence(key, job=self))

    @property
    def global_batch(self) -> int:
        """Samples per step."""
        return self.ranks * self.batch * self.accumulate

    def rate(self, step: int) -> float:
        """Return the learning rate of a step, which counts from 0."""
        if self.schedule == "constant":
            return self.lr * min(1.0, (step + 1) / self.warmup) if self.warmup else self.lr
        steps = self.schedule_steps or 0
        return optim.warmup_cosine(min(step, steps), peak=self.lr, warmup=self.warmup, steps=steps)


class Diverged(ArithmeticError):
    """A step gave NaN or infinity; the sentence names the operation that began it."""


@dataclass(frozen=True, slots=True)
class Step:
    """The results of one step."""

    number: int  #: number of the step, from 0
    loss: float  #: mean over the samples of all ranks
    loss_of_rank: np.ndarray = field(repr=False)  #: float32[ranks], whose mean is the loss
    samples: int
    lr: float
    agree: bool  #: whether all replicas hold the same bits after it
    norm: float | None = None  #: of all gradients, before clipping; None where nothing clips
    epoch: int = 0


class Trainer:
    """A job in progress.

    Parameters
    ----------
    job : Job
    task : Task, optional
        In place of the one that the job names.
    reached : Links, optional
        In place of the job's links.
    strict : bool
        Replicas that differ are an error; else ``Step.agree`` says so.

    Attributes
    ----------
    number : int
        Steps taken.
    epoch, begin : int
        Where in the order of samples the next step begins.

    Examples
    --------
    >>> trainer = Trainer(Job(ranks=2, batch=8))
    >>> steps = [trainer.step() for _ in range(2)]
    >>> steps[1].number, steps[1].samples, steps[1].agree
    (1, 16, True)
    """

    @checked
    def __init__(self, job: Job, *, task: Task | None = None, reached: Links | None = None,
                 strict: bool = True):  # fmt: skip
        known = TASKS[choice(job.task, "task", TASKS)]
        self.job, self.task, self.strict = job, known if task is None else task, strict
        self.links = reach(reached, job.ranks, job.instance, algorithm=job.algorithm,
                           rounding=job.rounding, seed=job.seed)  # fmt: skip
        self.inputs, self.labels, *self.test = self.task.data()
        count = len(self.labels)
        check_shares(count, job.ranks)
        if job.drop_last and job.global_batch > count:
            raise ValueError(sentence("trainer.drops_all", job=job, count=count))
        setting = Setting(job.rounding, job.seed, replicas=job.ranks, collectives=self.links)
        compiler = compiler_for(job.instance, self.links, job.overlap)
        self.device = Device(setting=setting, compiler=compiler)
        self.world = World(0, job.ranks, self.links, device=self.device)
        nn.manual_seed(job.seed)
        self.model = self.task.model().to(self.device, job.dtype)
        self.optimizer = self._optimizer()
        self.number = self.epoch = self.begin = 0
        self._judge: nn.Module | None = None

    def _optimizer(self):
        job, weights = self.job, self.model.parameters()
        kind = _OPTIMIZERS[job.optimizer]
        more: dict[str, Any] = {"lr": job.lr, "weight_decay": job.weight_decay}
        if job.optimizer == "sgd":
            more["momentum"] = job.momentum
        if job.zero:
            with world(self.world):
                return ZeroRedundancyOptimizer(
                    weights, kind, "float32" if job.master_weights else job.dtype,
                    grad_clipping=job.clip is not None, max_norm=job.clip,
                    bucket_bytes=job.bucket_bytes, **more,
                )  # fmt: skip
        optimizer = kind(weights, master_weights=job.master_weights, **more)
        optimizer.init_states()
        return optimizer

    def __repr__(self):
        return f"Trainer({self.task.name}, {self.job.ranks} ranks, {self.number} steps taken)"

    # -- which samples --------------------------------------------------------------------------

    def _next(self) -> tuple[np.ndarray, int, int]:
        """Return sample numbers int64[accumulate, ranks, batch], -1 for none, and what follows."""
        job, count = self.job, len(self.labels)
        end = min(self.begin + job.global_batch, count)
        chosen = _order(count, seed=job.seed, epoch=self.epoch)[self.begin : end]
        (table,) = deal(chosen, ranks=job.ranks, batch=job.batch, accumulate=job.accumulate)
        needed = job.global_batch if job.drop_last else 1
        follows = (self.epoch, end) if end + needed <= count else (self.epoch + 1, 0)
        return table, *follows

    # -- one step -------------------------------------------------------------------------------

    @checked
    def step(self, samples: np.ndarray | None = None) -> Step:
        """Take one step: all ranks, one batch each.

        Parameters
        ----------
        samples : int array [accumulate, ranks, batch], optional
            Sample numbers, -1 for none, in place of those whose turn it is.

        Returns
        -------
        Step

        Raises
        ------
        RanksDisagree
            If replicas of a weight differ afterwards and the trainer is strict.
        Diverged
            If the loss or a weight is not finite afterwards.
        """
        job = self.job
        shape = job.accumulate, job.ranks, job.batch
        if samples is not None and samples.shape != shape:
            raise ValueError(sentence("trainer.samples_shape", samples=samples, shape=shape))
        if samples is not None and not ((samples < len(self.labels)).all() and samples.max() >= 0):
            raise ValueError(sentence("trainer.samples_range", count=len(self.labels)))
        place, before = self._place(), [(t, t.state) for t in self._kept()]
        try:
            return self._step(samples)
        except BaseException:
            self._go_to(place)
            self.device.forget()
            for tensor, state in before:
                tensor.state = state
            self.optimizer.zero_grad()
            raise

    def _step(self, samples) -> Step:
        job, device, epoch = self.job, self.device, self.epoch
        if samples is None:
            chosen, *follows = self._next()
        else:
            chosen, *follows = samples, self.epoch, self.begin
        labels = self.labels[chosen]
        labels[chosen < 0] = -1
        counted = labels >= 0
        rate = self.optimizer.lr = job.rate(self.number)
        norm = None
        with world(self.world):
            share = labels.size / max(1, counted.sum())  # 1 but in an epoch's last step
            scale = as_tensor(np.float32(share / job.accumulate), device, name="scale")
            losses = self._gradients(chosen, labels, scale)
            if not job.zero:  # which sums and clips parts, in its step
                xm.reduce_gradients(self.optimizer, bucket_bytes=job.bucket_bytes)
                if job.clip is not None:
                    norm = optim.clip_grad_norm_(self.model.parameters(), job.clip)
            self.optimizer.step()
            norm = self.optimizer.grad_norm if job.zero else norm
            kept = self._kept()
            device.mark_step([*kept, *(one.grad for one in kept), *losses, norm])
            of_rank = sum(loss.state[1] for loss in losses)  # numpy() would warn of a NaN
            self._check_finite(of_rank)
            agree = self._agree()
        self.optimizer.zero_grad()
        self.number, (self.epoch, self.begin) = self.number + 1, follows
        return Step(
            self.number - 1, float(np.mean(of_rank, dtype=np.float64)), of_rank,
            int((chosen >= 0).sum()), rate, agree,
            None if norm is None else float(norm.numpy().reshape(-1)[0]), epoch,
        )  # fmt: skip

    def _gradients(self, chosen, labels, scale) -> list[Tensor]:
        """Record forward and backward of each micro-batch, and add up; return the losses."""
        job, device = self.job, self.device
        dtype = job.dtype if self.inputs.dtype.kind == "f" else None
        wide = "float32" if job.accumulate > 1 else None
        sums: list[Tensor | None] = [None] * len(self.optimizer.parameters)
        losses = []
        for part, right in zip(chosen, labels, strict=True):
            self.optimizer.zero_grad()
            x = as_tensor(self.inputs[part], device, dtype, per_replica=True)
            y = as_tensor(right, device, per_replica=True)
            loss = nn.cross_entropy(self.model(x), y) * scale
            loss.backward()
            losses.append(loss)
            for i, weight in enumerate(self.optimizer.parameters):
                if weight.grad is not None:
                    grad = weight.grad if wide is None else xnp.astype(weight.grad, wide)
                    sums[i] = grad if sums[i] is None else sums[i] + grad
        for weight, total in zip(self.optimizer.parameters, sums, strict=True):
            weight.grad = None if total is None else xnp.astype(total, job.dtype)
        return losses

    # -- all or nothing -------------------------------------------------------------------------

    def _kept(self):
        """Return weights and states."""
        return [*self.model.parameters(), *self.optimizer.tensors()]

    def _place(self) -> dict[str, Any]:
        """Return how far the run is: what a step counts, as plain data."""
        return {
            "number": self.number, "epoch": self.epoch, "begin": self.begin,
            "optimizer_steps": self.optimizer.steps, "executions": self.device.executions,
            "dropouts": [one.step for one in self._dropouts()],
        }  # fmt: skip

    def _go_to(self, place: Mapping) -> None:
        """Count on from a place."""
        self.number, self.epoch, self.begin = (place[k] for k in ("number", "epoch", "begin"))
        self.optimizer.steps = place["optimizer_steps"]
        self.device.step, self.device.executions = self.number, place["executions"]
        for dropout, drawn in zip(self._dropouts(), place["dropouts"], strict=True):
            dropout.step = drawn

    def _dropouts(self) -> list[nn.Dropout]:
        """Return what counts its calls to draw other bits in each."""
        return [one for one in self.model.modules() if isinstance(one, nn.Dropout)]

    # -- looking --------------------------------------------------------------------------------

    def _check_finite(self, of_rank):
        """Raise if the loss or a weight is NaN or infinite, and say which operation began it."""
        named = [("the loss", of_rank)]
        named += [(f"parameter {n}", p.state[1][0]) for n, p in self.model.named_parameters()]
        odd = next((name for name, values in named if not np.isfinite(values).all()), "")
        if not odd:
            return
        try:
            told = self.device.find_nan()
        except RuntimeError as unknown:
            told = str(unknown)
        raise Diverged(sentence("trainer.diverged", trainer=self, odd=odd, told=told))

    def _agree(self) -> bool:
        """Return whether all replicas of every weight hold the same bits; if strict, raise."""
        try:
            check_replicas([(name, w.state[1]) for name, w in self.model.named_parameters()])
        except RanksDisagree:
            if self.strict:
                raise
            return False
        return True

    def weights(self) -> dict[str, np.ndarray]:
        """Return the weights of rank 0 by name, float32."""
        return {name: optim.of_rank_0(w) for name, w in self.model.named_parameters()}

    def evaluate(self) -> float:
        """Return the share of test samples that rank 0 names right; see :meth:`predictions`."""
        wanted = self.test[1]
        return float((self.predictions() == wanted)[wanted >= 0].mean())

    def predictions(self) -> np.ndarray:
        """Return what rank 0 says of the test samples: int64, in the shape of their labels."""
        return np.concatenate([logits.argmax(axis=-1) for logits in self._judged()])

    def probabilities(self) -> np.ndarray:
        """Return how likely each class of each test sample is to rank 0: float64, sums of 1."""
        logits = np.concatenate([one.astype(np.float64) for one in self._judged()])
        raised = np.exp(logits - logits.max(axis=-1, keepdims=True))
        return raised / raised.sum(axis=-1, keepdims=True)

    def judge(self) -> nn.Module:
        """Return rank 0's model, ready to be asked, on a device of its own that rounds to nearest.

        So looking changes no toss.
        """
        if self._judge is None:
            with nn.shapes_only():
                self._judge = self.task.model().to(Device(), self.job.dtype).eval()
        self._judge.load_state_dict(self.weights())
        return self._judge

    def _judged(self) -> Iterator[np.ndarray]:
        """Yield the logits of the test samples, some samples at a time."""
        model = self.judge()
        device = model.parameters()[0].device
        inputs, labels = self.test
        size = min(_MOST_TESTED, len(labels))
        kind = self.job.dtype if inputs.dtype.kind == "f" else None
        for begin in range(0, len(labels), size):
            place = np.arange(begin, begin + size) % len(labels)
            logits = model(as_tensor(inputs[place], device, kind))
            device.mark_step()
            yield logits.numpy()[: len(labels) - begin]

    @property
    def report(self) -> StepReport:
        """The time of a full step of the newest program on the chip, by what takes it."""
        if self.device.executable is None:
            raise RuntimeError("a program has times once it is compiled; take a step first")
        return step_report(self.device.executable, self.links, self.job.global_batch,
                           overlap=self.job.overlap)  # fmt: skip

    @checked
    def upset(self, rank: int, seed: int = 0) -> str:
        """Flip one bit of one weight on one rank, as radiation might, and say which.

        Parameters
        ----------
        rank : int
        seed : int
            Chooses the weight, the element and the bit of its fraction, 0 its last place.
        """
        whole(rank, "rank", 0, self.job.ranks - 1)
        random = np.random.default_rng(whole(seed, "seed", 0))
        named = list(self.model.named_parameters())
        name, weight = named[random.integers(len(named))]
        element = int(random.integers(weight.size))
        below = 16 if weight.dtype == "bfloat16" else 0  # FP32's bits that BF16 does not have
        bit = int(random.integers(23 - below))
        values = weight.numpy()
        words = values.reshape(self.job.ranks, -1).view(np.uint32)
        words[rank, element] ^= np.uint32(1 << below + bit)
        weight.set_(as_tensor(values, self.device, weight.dtype, per_replica=True))
        self.device.mark_step()
        return f"bit {bit} of element {element} of {name} on rank {rank}"

    # -- state ----------------------------------------------------------------------------------

    def state(self) -> dict[str, Any]:
        """Return all that the next steps depend on: plain data, and arrays under ``"arrays"``.

        Returns
        -------
        dict
            ``job`` (dict), ``number``, ``epoch``, ``begin``, ``optimizer_steps``, ``executions``
            (which seed the tosses), ``dropouts`` (how often each drew), and ``arrays``: name →
            array of the dtype that it is kept in, in the shape of one rank, so that any number of
            ranks can take it.
        """
        return {"job": asdict(self.job), **self._place(), "arrays": self._arrays()}

    def _arrays(self) -> dict[str, np.ndarray]:
        arrays = {f"model/{name}": optim.of_rank_0(w, as_stored=True)
                  for name, w in self.model.named_parameters()}  # fmt: skip
        for name, state in zip(self.weights(), self.optimizer.state_arrays(), strict=True):
            arrays |= {f"optimizer/{name}/{kind}": value for kind, value in state.items()}
        return arrays

    @checked
    def load_state(self, state: Mapping) -> None:
        """Continue from a state; bit for bit, if job and data are equal.

        Parameters
        ----------
        state : dict
            As :meth:`state` returned it, of this task, this optimiser and these dtypes; the number
            of ranks may be another.

        Raises
        ------
        ValueError
            For arrays that are missing, unknown or of another shape; nothing is loaded then.
        """
        if lacking := [name for name in ("arrays", *self._place()) if name not in state]:
            raise ValueError(f"the state has no {lacking[0]!r}; load what Trainer.state() returned")
        arrays, held = state["arrays"], self._arrays()
        if odd := sorted(held.keys() ^ arrays.keys()):
            kind = "is missing" if odd[0] in held else "is not of this job"
            raise ValueError(f"{odd[0]!r} {kind}; load a state of the same task and optimiser")
        for name, value in held.items():
            if np.shape(arrays[name]) != value.shape:
                raise ValueError(f"{name!r} has shape {np.shape(arrays[name])}, and this job takes "
                                 f"{value.shape}; load a state of the same task")  # fmt: skip
        states: list[dict[str, np.ndarray]] = []
        for name, weight in self.model.named_parameters():
            value = np.asarray(arrays[f"model/{name}"], np.float32)
            weight.set_(nn.on_replicas(value, self.device, weight.dtype))
            begin = f"optimizer/{name}/"
            states.append({key.removeprefix(begin): np.asarray(value, np.float32)
                           for key, value in arrays.items() if key.startswith(begin)})  # fmt: skip
        self.optimizer.load_state_arrays(states)
        self.device.mark_step()
        self.device.forget()
        self._go_to(state)


_order = lru_cache(maxsize=4)(shuffled)  #: order of samples, in which :func:`deal` deals


# -- runs ---------------------------------------------------------------------------------------


@dataclass(repr=False)
class Run:
    """The history of a training.

    Attributes
    ----------
    job : Job
    trainer : Trainer
        As the last good step left it.
    steps : list of Step
    accuracy : list of (int, float)
        Steps taken, and the share of test samples that were named right then.
    remembered : dict of int to dict
        The number of a step → the trainer's state before it; of every tenth step, and further apart
        in long runs.
    """

    job: Job
    trainer: Trainer
    steps: list[Step] = field(default_factory=list)
    accuracy: list[tuple[int, float]] = field(default_factory=list)
    remembered: dict[int, dict] = field(default_factory=dict)
    remembers_every: int = 10  #: steps
    is_tested: bool = True  #: unless `fit` says that it is never

    def remember(self) -> None:
        """Keep the trainer's state now and then, so that any step can be taken again soon."""
        if self.trainer.number % self.remembers_every == 0:
            self.remembered[self.trainer.number] = self.trainer.state()
        if len(self.remembered) > _MOST_REMEMBERED:
            self.remembers_every *= 2
            kept = range(0, self.trainer.number + 1, self.remembers_every)
            self.remembered = {n: state for n, state in self.remembered.items() if n in kept}

    @property
    def loss(self) -> np.ndarray:
        """The loss of every step, float64."""
        return np.array([step.loss for step in self.steps])

    @property
    def report(self) -> StepReport:
        """The time of a step on the chip, by what takes it."""
        return self.trainer.report

    def __repr__(self):
        told = f"{self.trainer.task.name}, {self.job.ranks} ranks, {len(self.steps)} steps"
        if self.steps:
            told += f", loss {self.steps[-1].loss:.3f}"
        if self.accuracy:
            told += f", accuracy {100 * self.accuracy[-1][1]:.1f} %"
        return f"Run({told})"


@checked
def fit(job: Job | Trainer, steps: int, *, on_step: Callable | Sequence | None = None,
        evaluate_every: int | None = None,
        checkpoints: str | Path | Checkpoints | None = None) -> Run:  # fmt: skip
    """Take steps, and keep what they gave.

    Parameters
    ----------
    job : Job or Trainer
        A trainer goes on from where it is.
    steps : int
    on_step : callable (Step), or sequence of them, optional
        Called after every step, in order.  One with a method ``begin(run)`` or ``end()`` hears
        of the run as well, however it ends (``widgets.training_monitor``).
    evaluate_every : int, optional
        Test after every this many steps, and after the last one; without it, never.
    checkpoints : str, Path or Checkpoints, optional
        A folder: the run goes on from its newest checkpoint, if there is one, until `steps` are
        taken in all; another is written every 100 steps (``Checkpoints(folder, every)`` says how
        often) and after the last one.

    Returns
    -------
    Run

    Raises
    ------
    Exception
        Whatever a callback or a step raises, KeyboardInterrupt too.  Its attribute ``run`` has the
        steps that were taken, and ``run.trainer`` can go on.

    Examples
    --------
    >>> run = fit(Job(ranks=2, batch=8, dtype="float32"), 3, evaluate_every=3)
    >>> len(run.loss), run.accuracy[0][0], run.trainer.number
    (3, 3, 3)
    """
    whole(steps, "steps", 0, 2**31)
    if evaluate_every is not None:
        whole(evaluate_every, "evaluate_every", 1, 2**31)
    trainer = job if isinstance(job, Trainer) else Trainer(job)
    alone = [] if on_step is None else [on_step]
    calls: list[Any] = list(on_step) if isinstance(on_step, Sequence) else alone
    for call in calls:
        if not callable(call):
            raise TypeError(f"on_step has {short(call)}; it must be a function of a Step")
    store = Checkpoints(checkpoints) if isinstance(checkpoints, str | Path) else checkpoints
    if store is not None and (found := store.newest(trainer.job)) and found.step > trainer.number:
        trainer.load_state(found.state)
    run = Run(trainer.job, trainer, is_tested=bool(evaluate_every))
    begin = trainer.number if store is not None else 0
    for call in calls:
        getattr(call, "begin", lambda run: None)(run)
    try:
        for i in range(begin, steps):
            run.remember()
            run.steps.append(trainer.step())
            if evaluate_every and ((i + 1) % evaluate_every == 0 or i + 1 == steps):
                run.accuracy.append((trainer.number, trainer.evaluate()))
            if store is not None:
                store.after(trainer.number, trainer.state, last=i + 1 == steps)
            for call in calls:
                call(run.steps[-1])
    except BaseException as problem:
        problem.run = run  # type: ignore[attr-defined]
        problem.add_note(f"{begin + len(run.steps)} of {steps} steps were taken; the error's "
                         "run.trainer holds the last good state")  # fmt: skip
        raise
    finally:
        for call in calls:
            if hasattr(call, "end"):
                call.end()
    return run
