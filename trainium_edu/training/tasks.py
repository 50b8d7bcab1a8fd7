"""What is trained on what: a model, its data, its loss, and what counts as right."""

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

from trainium_edu.training import nn
from trainium_edu.training.data import digits
from trainium_edu.xla.tensor import Tensor

__all__ = ["TASKS", "Task"]


@dataclass(frozen=True, slots=True)
class Task:
    """One thing to train.

    Attributes
    ----------
    name : str
    model : callable () -> Module
        Draws its initial weights from ``nn.manual_seed``.
    data : callable () -> (inputs, labels, test inputs, test labels)
        Arrays whose first axis counts samples; a label of -1 counts for nothing.
    note : str
        What a reader should know of it.
    """

    name: str
    model: Callable[[], nn.Module]
    data: Callable[[], tuple[np.ndarray, ...]]
    note: str = ""


def _digits():
    found = digits()
    return found.train_images, found.train_labels, found.test_images, found.test_labels


TASKS = {
    task.name: task for task in (
        Task("digits-mlp", lambda: nn.MLP(64, 256, 256, 10), _digits),
    )
}  # fmt: skip
