"""Few labels: an encoder that has read before, beside one that has not, trained alike.

``python -m trainium_edu.training.fine_tuning`` trains both on several numbers of labelled passages,
five seeds each, and rewrites ``fine_tuning.json`` beside this file; `stored_fine_tuning` reads it.
A seed chooses passages, their order, and all weights that are drawn: those of the head, and from
scratch all.  Both take the same passages, as many steps, and a learning rate of 0.001.  On two
other seeds (100 and 101, with 4 and 32 labels) half of that rate was as good for either, to half a
point; twice that rate, tried from scratch alone, was a point worse.
"""

import functools
from collections.abc import Callable, Sequence
from dataclasses import dataclass

import numpy as np

from trainium_edu.specs.arguments import choice, whole
from trainium_edu.specs.signatures import checked
from trainium_edu.training import nn, stored, text
from trainium_edu.training.data import shuffled
from trainium_edu.training.pretrained import pretrained_weights
from trainium_edu.training.tasks import TASKS, Task, adamw
from trainium_edu.training.trainer import Job, Run, Trainer, fit

__all__ = ["BEGINNINGS", "FineTuned", "few_authors", "fine_tune", "from_pretrained",
           "stored_fine_tuning"]  # fmt: skip

BEGINNINGS = ("pre-trained", "from scratch")
LABELS = (4, 16, 64, 256)
SEEDS = tuple(range(5))
STEPS = 150


@dataclass(frozen=True, slots=True)
class FineTuned(stored.Scored):
    """One beginning with one number of labels: what each seed got right of the test, in per cent.

    Attributes
    ----------
    per_author : int
        Labelled passages of each of the three.
    beginning : {"pre-trained", "from scratch"}
    accuracies : tuple of float
        Of seeds 0, 1, 2 ...
    """

    per_author: int
    beginning: str
    accuracies: tuple[float, ...]


def from_pretrained() -> nn.Encoder:
    """Return the classifier of the task ``"authors"`` that begins with the stored weights.

    Its head, which knows nothing of authors yet, is drawn as ever.
    """
    model = nn.Encoder(len(text.vocabulary()), text.WORDS + 1, len(text.BOOKS))
    own = {name: w for name, w in model.state_dict().items() if name.startswith("head.")}
    model.load_state_dict(pretrained_weights() | own)
    return model


@functools.lru_cache(maxsize=64)
@checked
def few_authors(per_author: int, *, seed: int = 0, beginning: str = "pre-trained") -> Task:
    """Return the task ``"authors"`` with few labelled passages, and all of its test.

    Parameters
    ----------
    per_author : int
        Labelled passages of each book, from 1 to as many as the rarest has.
    seed : int
        Chooses them.
    beginning : {"pre-trained", "from scratch"}

    Returns
    -------
    Task

    Examples
    --------
    >>> len(few_authors(4).data()[0])
    12
    """
    whole(seed, "seed", 0)
    choice(beginning, "beginning", BEGINNINGS)
    inputs, labels, *test = text.authors()
    whole(per_author, "per_author", 1, int(np.bincount(labels).min()))
    order = shuffled(len(labels), seed=seed, epoch=0)
    each = [order[labels[order] == book][:per_author] for book in range(len(text.BOOKS))]
    chosen = np.concatenate(each)
    model = from_pretrained if beginning == "pre-trained" else TASKS["authors"].model
    name = f"{beginning}, {per_author} of each author"
    return Task(name, model, lambda: (inputs[chosen], labels[chosen], *test))


@checked
def fine_tune(per_author: int, beginning: str = "pre-trained", *, seed: int = 0, ranks: int = 4,
              steps: int = STEPS, lr: float = 0.001,
              on_step: Callable | None = None) -> Run:  # fmt: skip
    """Train on few labelled passages, and test at the end.

    Parameters
    ----------
    per_author : int
    beginning : {"pre-trained", "from scratch"}
    seed : int
    ranks : int
        That share the 32 passages of a step.
    steps : int
    lr : float
        At its highest.
    on_step : callable, optional
        Called after each step, as by :func:`fit`.

    Returns
    -------
    Run
        Its last ``accuracy`` is that of the whole test.

    Examples
    --------
    >>> fine_tune(4, steps=1, ranks=1).job.batch
    32
    """
    task = few_authors(per_author, seed=seed, beginning=beginning)
    each, rest = divmod(32, whole(ranks, "ranks", 1, 32))
    if rest:
        raise ValueError(f"{ranks} ranks do not share 32 passages evenly; use a power of two")
    if ranks > 3 * per_author:
        raise ValueError(f"{ranks} ranks cannot share {3 * per_author} labelled passages; use "
                         "fewer ranks, or more labels")  # fmt: skip
    job = Job(task="authors", ranks=ranks, dtype="float32", rounding="nearest", seed=seed,
              **adamw(lr, each, max(steps, 11), weight_decay=0.01))  # fmt: skip
    return fit(Trainer(job, task=task), steps, on_step=on_step, evaluate_every=max(steps, 1))


def measure(per_author: int, beginning: str, seeds: Sequence = SEEDS) -> FineTuned:
    """Train once for each seed, on one rank."""
    runs = (fine_tune(per_author, beginning, seed=seed, ranks=1) for seed in seeds)
    found = tuple(round(100 * run.accuracy[-1][1], 2) for run in runs)
    return FineTuned(per_author, beginning, found)


def stored_fine_tuning() -> tuple[FineTuned, ...]:
    """Return the stored rows.

    Examples
    --------
    >>> stored_fine_tuning()[0].beginning
    'pre-trained'
    """
    return stored.read("fine_tuning", FineTuned)


if __name__ == "__main__":
    rows = (measure(count, beginning) for count in LABELS for beginning in BEGINNINGS)
    stored.write("fine_tuning", rows, seeds=list(SEEDS), steps=STEPS)
