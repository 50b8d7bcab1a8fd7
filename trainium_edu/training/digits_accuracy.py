"""A convolutional network on 32 ranks, four ways to keep its weights: the table, and its command.

``python -m trainium_edu.training.digits_accuracy`` trains everything again and rewrites
``digits_accuracy.json`` beside this file; `stored_digits_accuracy` reads it.  Twenty epochs by
Adam, at two learning rates: at the larger one an update is more than half of what separates two
BF16 weights, and how they are rounded makes little difference; at the smaller one it is less for
weights above 1/16 (spacing 2^-11), nearest-even gives back the old weight, and these stand still.

Other than in ``accuracy_sweep``, where only weights are narrow, every result of a BF16 graph is
rounded, gradients and their sums at every hop included.  Matrix products go through BLAS, whose
last bits differ by processor: a seed's accuracy comes back to within a few images, the means stand.
"""

from collections.abc import Sequence

from trainium_edu.specs.arguments import choice, whole
from trainium_edu.specs.signatures import checked
from trainium_edu.training import stored
from trainium_edu.training.accuracy_sweep import Row
from trainium_edu.training.trainer import Job, fit

__all__ = ["ARMS_OF_JOB", "run_digits_accuracy", "stored_digits_accuracy"]

EPOCHS, STEPS_PER_EPOCH = 20, 23
LEARNING_RATES = (0.003, 0.0002)
SEEDS = tuple(range(10))
#: Arm of ``training.ARMS`` → what a job says.
ARMS_OF_JOB: dict[str, dict] = {
    "fp32": {"dtype": "float32"},
    "master": {"rounding": "nearest", "master_weights": True},
    "nearest": {"rounding": "nearest"},
    "stochastic": {"rounding": "stochastic"},
}


@checked
def run_digits_accuracy(learning_rate: float, arm: str, seeds: Sequence[int] = SEEDS,
                        epochs: int = EPOCHS) -> Row:  # fmt: skip
    """Train one arm at one learning rate, a seed at a time.

    Examples
    --------
    >>> run_digits_accuracy(0.003, "fp32", seeds=[0], epochs=1).arm
    'fp32'
    """
    choice(arm, "arm", tuple(ARMS_OF_JOB))
    whole(epochs, "epochs", 1, 1000)
    found = []
    for seed in seeds:
        job = Job("digits-cnn", 32, batch=2, optimizer="adam", lr=learning_rate, seed=seed,
                  **ARMS_OF_JOB[arm])  # fmt: skip
        run = fit(job, epochs * STEPS_PER_EPOCH)
        found.append(round(100 * run.trainer.evaluate(), 2))
    return Row(learning_rate, epochs, arm, tuple(found))


def stored_digits_accuracy() -> tuple[Row, ...]:
    """Return the stored rows; their accuracies are those of seeds 0, 1, 2 ...

    Examples
    --------
    >>> print(stored_digits_accuracy()[0].arm)
    fp32
    """
    return stored.read("digits_accuracy", Row)


if __name__ == "__main__":
    rows = (run_digits_accuracy(rate, arm) for rate in LEARNING_RATES for arm in ARMS_OF_JOB)
    stored.write("digits_accuracy", rows, seeds=list(SEEDS))
