"""Four arms, three learning rates, ten seeds: the table that takes minutes, and its command.

``python -m trainium_edu.training.accuracy_sweep`` trains everything again and rewrites
``accuracy_sweep.json`` beside this file; `stored_sweep` reads it.  Training is the same on every
processor, so a test can ask that the stored accuracies come back exactly.
"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from trainium_edu.specs.signatures import checked
from trainium_edu.training import stored
from trainium_edu.training.arms import ARMS, footprint
from trainium_edu.training.reference import train

__all__ = ["SETTINGS", "Row", "accuracy_table", "run_sweep", "stored_digits_accuracy",
           "stored_sweep"]  # fmt: skip

#: (learning rate, epochs): a small rate needs more of them.
SETTINGS = ((0.1, 60), (0.01, 300), (0.003, 500))
SEEDS = tuple(range(10))


@dataclass(frozen=True, slots=True)
class Row(stored.Scored):
    """One arm at one learning rate: test accuracies in per cent, one per seed."""

    learning_rate: float
    epochs: int
    arm: str
    accuracies: tuple[float, ...]  #: rounded to 0.01


@checked
def run_sweep(settings: Sequence[tuple[float, int]] = SETTINGS, *,
              arms: Sequence[str] = tuple(ARMS), seeds=SEEDS) -> list[Row]:  # fmt: skip
    """Train every arm at every (learning rate, epochs).

    Parameters
    ----------
    settings : sequence of (float, int)
    arms : sequence of str
    seeds : sequence of int

    Returns
    -------
    list of Row

    Examples
    --------
    >>> [row.arm for row in run_sweep([(0.1, 1)], arms=["fp32"], seeds=[0])]
    ['fp32']
    """
    return list(_rows(settings, arms, seeds))


def _rows(settings, arms, seeds) -> Iterator[Row]:
    for learning_rate, epochs in settings:
        for arm in arms:
            run = train(arm, learning_rate=learning_rate, epochs=epochs, seeds=seeds)
            percent = tuple(round(100 * float(a), 2) for a in run.final_accuracy)
            yield Row(learning_rate, epochs, arm, percent)


def stored_sweep() -> tuple[Row, ...]:
    """Return the stored rows.

    Examples
    --------
    >>> len(stored_sweep())
    12
    """
    return stored.read("accuracy_sweep", Row)


def stored_digits_accuracy() -> tuple[Row, ...]:
    """Return the rows of a convolutional network on 32 ranks; accuracies of seeds 0, 1, 2 ...

    ``tests/golden/make_digits_accuracy.py`` makes them.

    Examples
    --------
    >>> print(stored_digits_accuracy()[0].arm)
    fp32
    """
    return stored.read("digits_accuracy", Row)


@checked
def accuracy_table(rows: Sequence[Row], *, optimizer: str = "sgd") -> str:
    """Write rows as text: accuracies beside the bytes that each arm keeps and moves.

    Parameters
    ----------
    rows : sequence of Row
    optimizer : {"sgd", "momentum", "adam"}
        Whose state is counted.

    Returns
    -------
    str
        Mean and standard deviation over the seeds, in percent; bytes per parameter.

    Examples
    --------
    >>> print(accuracy_table(stored_sweep()[:1]).splitlines()[-1])
    FP32                                 97.1 ± 0.4       4       12
    """
    lines, shown = [], None
    for row in rows:
        setting = (row.learning_rate, row.epochs)
        if setting != shown:
            shown = setting
            head = f"learning rate {row.learning_rate:g}, {row.epochs} epochs"
            lines += [""] * bool(lines) + [f"{head:34}  accuracy %    kept    moved"]
        count = footprint(row.arm, optimizer)
        lines.append(
            f"{ARMS[row.arm].label:34}  {row.mean:5.1f} ± {row.spread:3.1f}"
            f"{count.stored_bytes:8d}{count.update_traffic_bytes:9d}"
        )
    return "\n".join(lines)


if __name__ == "__main__":
    stored.write("accuracy_sweep", _rows(SETTINGS, ARMS, SEEDS), seeds=list(SEEDS))
