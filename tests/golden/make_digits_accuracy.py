"""Train a convolutional network on 32 ranks, four ways to keep its weights, and store the table.

Usage: python -m tests.golden.make_digits_accuracy

Rewrites ``digits_accuracy.json`` in ``trainium_edu/training``, which lesson 09 shows; half an hour.
Twenty epochs by Adam, at two learning rates: at the larger one an update is more than half of what
separates two BF16 weights, and how they are rounded makes little difference; at the smaller one it
is less for weights above 1/16 (spacing 2^-11), nearest-even gives back the old weight, and these
stand still.

Other than in ``accuracy_sweep``, where only weights are narrow, every result of a BF16 graph is
rounded, gradients and their sums at every hop included.  Matrix products go through BLAS, whose
last bits differ by processor: a seed's accuracy comes back to within a few images, the means stand.
"""

from trainium_edu.training import stored
from trainium_edu.training.accuracy_sweep import Row
from trainium_edu.training.trainer import Job, fit

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


def accuracies(learning_rate, arm, seeds=SEEDS):
    """Train one arm at one learning rate, a seed at a time."""
    found = []
    for seed in seeds:
        job = Job("digits-cnn", 32, batch=2, optimizer="adam", lr=learning_rate, seed=seed,
                  **ARMS_OF_JOB[arm])  # fmt: skip
        run = fit(job, EPOCHS * STEPS_PER_EPOCH)
        found.append(round(100 * run.trainer.evaluate(), 2))
    return Row(learning_rate, EPOCHS, arm, tuple(found))


if __name__ == "__main__":
    rows = (accuracies(rate, arm) for rate in LEARNING_RATES for arm in ARMS_OF_JOB)
    stored.write(
        "digits_accuracy", rows, "python -m tests.golden.make_digits_accuracy", seeds=list(SEEDS)
    )
