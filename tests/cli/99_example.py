"""A small lesson for the tests of the grader."""

import numpy as np

from trainium_edu.exercises.exercise import exercise
from trainium_edu.exercises.judge import reject


@exercise(
    "99/double", title="Double it", answer="double", points=2, tests="doubling",
    hints=("What is x + x?", "Multiply by two."),
    numbers=lambda draw: {"x": draw.integer("x", 3, 999)},
)  # fmt: skip
def double(answer, numbers):
    got = answer(numbers.x)
    if got == numbers.x**2:
        reject("squares", "That is the square.")
    if got != 2 * numbers.x:
        reject("other", "Not the double.")


@exercise(
    "99/row", title="Find the row", answer="bad_row", points=1, tests="looking", literal=True,
    hints=("Look.", "Look again."), numbers=lambda draw: {"row": draw.integer("row", 1, 1000)},
)  # fmt: skip
def row(answer, numbers):
    if answer == numbers.row + 1:
        reject("counts from one", "Rows count from 0.")
    if answer != numbers.row:
        reject("other", "Another row.")


@exercise(
    "99/sum", title="Sum arrays", answer="total", points=3,
    tests="arrays across the process border", hints=("Add.", "Add all."),
    numbers=lambda draw: {"seed": draw.seed("seed")},
)  # fmt: skip
def total(answer, numbers):
    x = np.random.default_rng(numbers.seed).integers(0, 100, 50).astype(np.float32)
    got = answer(x)
    if not isinstance(got, np.ndarray) or got.dtype != np.float32:
        reject("no array", "Return a float32 array.")
    if not np.array_equal(got, np.cumsum(x)):
        reject("other", "Not the running sum.")
