"""What lesson 09 tries: a batch on many ranks, number formats, a rate that grows with the ranks."""

from collections.abc import Iterable, Mapping
from typing import Any

import numpy as np

from trainium_edu.fabric import execute, plan, trn1_32xlarge
from trainium_edu.specs.signatures import checked
from trainium_edu.training import nn
from trainium_edu.training.tasks import TASKS, Task
from trainium_edu.training.trainer import Job, Run, Trainer, fit

__all__ = ["WIDE", "formats", "in_us", "linear_rule", "one_sum", "step_table", "weights_after"]

#: A network whose gradients take a while: 3.2 million weights.
WIDE = Task("digits-wide-mlp", lambda: nn.MLP(64, *[1024] * 4, 10), TASKS["digits-mlp"].data)
_EXACT: dict[str, Any] = {"dtype": "float32", "rounding": "nearest"}


@checked
def weights_after(ranks: int, images: int = 256) -> np.ndarray:
    """Return the weights after one step in FP32 on the same images, split over ranks.

    Parameters
    ----------
    ranks, images : int
        The ranks divide the images.

    Returns
    -------
    float32[weights]

    Examples
    --------
    >>> bool(np.allclose(weights_after(1, 32), weights_after(4, 32), atol=1e-6))
    True
    """
    trainer = Trainer(Job(ranks=ranks, batch=images // ranks, **_EXACT))
    trainer.step()
    return np.concatenate([weights.reshape(-1) for weights in trainer.weights().values()])


@checked
def one_sum(algorithm: str, seed: int = 0) -> np.float32:
    """Return the sum of one FP32 number from each of 32 ranks, as an algorithm adds them.

    Parameters
    ----------
    algorithm : str
        A key of ``fabric.ALGORITHMS``.
    seed : int

    Examples
    --------
    >>> round(float(one_sum("ring")), 3) == round(float(one_sum("mesh")), 3)
    True
    """
    given = np.random.default_rng(seed).normal(0, 1, (32, 32)).astype(np.float32)
    return execute(plan(trn1_32xlarge(), "all_reduce", algorithm), given)[0][0]


@checked
def linear_rule(ranks: Iterable = (2, 8, 32), *, passes: int = 20, per_rank: float = 0.05,
                on_step=()) -> dict[tuple[int, bool], Run]:  # fmt: skip
    """Train on the digits for the same passes on several numbers of ranks, 32 images each.

    Parameters
    ----------
    ranks : iterable of int
    passes : int
        Over the training images.
    per_rank : float
        The learning rate, times ranks where it grows with them, times the first number where not.
    on_step : callable, optional
        Watches each run, as in ``fit``.

    Returns
    -------
    dict
        (ranks, whether the rate grows) → run; for the first number both are the same.

    Examples
    --------
    >>> runs = linear_rule([2, 4], passes=1)
    >>> [(key, run.job.lr, len(run.steps)) for key, run in runs.items()][1:]
    [((4, False), 0.1, 12), ((4, True), 0.2, 12)]
    """
    first, *more = ranks
    found = {}
    for count, grows in [(first, False), *((n, g) for n in more for g in (False, True))]:
        job = Job(ranks=count, lr=per_rank * (count if grows else first), **_EXACT)
        images = len(Trainer(job).labels)
        steps = passes * -(-images // job.global_batch)
        found[count, grows] = fit(job, steps, on_step=on_step, evaluate_every=steps)
    return found


@checked
def formats(steps: int = 60, *, ranks: int = 32, lr: float = 0.1, on_step=()) -> dict[str, Run]:
    """Train on the digits in FP32 and in BF16, rounded to nearest and with random bits.

    Parameters
    ----------
    steps, ranks : int
    lr : float
    on_step : callable, optional
        Watches each run, as in ``fit``.

    Returns
    -------
    dict
        Name → run.

    Examples
    --------
    >>> [run.job.rounding for run in formats(1, ranks=2).values()]
    ['nearest', 'nearest', 'stochastic']
    """
    nearest: dict[str, Any] = {"rounding": "nearest"}
    kinds = {"FP32": _EXACT, "BF16, to nearest": nearest, "BF16, with dice": {}}
    return {n: fit(Job(ranks=ranks, lr=lr, **k), steps, on_step=on_step) for n, k in kinds.items()}


@checked
def step_table(reports: Mapping) -> str:
    """Return a line for each report: the step, and what it is made of.

    Parameters
    ----------
    reports : dict of str to StepReport

    Examples
    --------
    >>> from trainium_edu.training import scaling
    >>> print(step_table({"two": scaling(Job(), [2])[0].report}).splitlines()[0].split()[:3])
    ['step', 'compute', 'sums']
    """
    width = max(len(str(name)) for name in reports) + 2
    lines = [f"{'':{width}}{'step':>10}{'compute':>11}{'sums':>10}{'of these show':>15}"
             f"{'images per second':>20}"]  # fmt: skip
    for name, r in reports.items():
        lines.append(f"{name!s:{width}}{in_us(r.step_ns):>10}{in_us(r.compute_ns):>11}"
                     f"{in_us(r.communication_ns):>10}{in_us(r.exposed_ns):>15}"
                     f"{r.samples_per_s / 1e6:>14.1f} million")  # fmt: skip
    return "\n".join(lines)


def in_us(ns) -> str:
    """Return a time in µs, with three digits.

    Examples
    --------
    >>> in_us(4_512), in_us(540_600)
    ('4.5 µs', '541 µs')
    """
    return f"{ns / 1e3:.{int(ns < 99_950)}f} µs"
