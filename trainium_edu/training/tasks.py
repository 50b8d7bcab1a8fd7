"""What is trained on what: a model, its data, its loss, and what counts as right."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from functools import partial
from typing import Any

import numpy as np

from trainium_edu.files import tables
from trainium_edu.training import nn, text
from trainium_edu.training.data import digits
from trainium_edu.training.shop import ITEMS, baskets

__all__ = ["TASKS", "Task"]

_NOTES = tables(__file__)


@dataclass(frozen=True, slots=True)
class Task:
    """One thing to train.

    Attributes
    ----------
    name : str
    model : callable () -> Module
        Draws its initial weights from ``nn.manual_seed``.
    data : callable () -> (inputs, labels, test inputs, test labels)
        Arrays whose first axis counts samples; integers are fed as they are.  Labels have
        the logits' shape without its last axis; a label of -1 counts for nothing.
    note : str
        What a reader should know of it.
    settings : mapping
        With which a ``Job`` on 32 ranks trains it well in as many steps as its schedule has.
    """

    name: str
    model: Callable[[], nn.Module]
    data: Callable[[], tuple[np.ndarray, ...]]
    note: str = ""
    settings: Mapping[str, Any] = field(default_factory=dict, repr=False, compare=False)


def _digits(*shape):
    """Return the digits, each image in a shape."""
    found = digits()
    train, test = (images.reshape(-1, *shape) for images in (found.train_images, found.test_images))
    return train, found.train_labels, test, found.test_labels


def _convolutional():
    """Return two convolutions and a classifier for images [N, 1, 8, 8]."""
    return nn.Sequential(
        nn.Conv2d(1, 16, 3, padding=1), nn.ReLU(), nn.MaxPool2d(2),
        nn.Conv2d(16, 32, 3, padding=1), nn.ReLU(), nn.MaxPool2d(2),
        nn.Flatten(), nn.Linear(32 * 2 * 2, 10),
    )  # fmt: skip


def _baskets():
    shop = baskets()
    return shop.inputs, shop.labels, shop.test_inputs, shop.test_labels


def adamw(lr: float, batch: int, steps: int, weight_decay: float = 0.0) -> dict[str, Any]:
    """Return the settings of a job that warms up and then slows down along a cosine."""
    return {"optimizer": "adamw", "lr": lr, "batch": batch, "weight_decay": weight_decay,
            "schedule": "cosine", "warmup": 10, "schedule_steps": steps}  # fmt: skip


TASKS = {
    task.name: task for task in (
        Task("digits-mlp", lambda: nn.MLP(64, 256, 256, 10), partial(_digits, 64)),
        Task("digits-cnn", _convolutional, partial(_digits, 1, 8, 8), _NOTES["digits-cnn"],
             adamw(0.01, 8, 150, weight_decay=0.1)),
        Task("digits-vit", lambda: nn.ViT(patch=4), partial(_digits, 1, 8, 8), "",
             adamw(0.003, 8, 200, weight_decay=0.1)),
        Task("letters", lambda: nn.Decoder(len(text.alphabet(text.read("alice"))), text.LENGTH),
             text.letters, _NOTES["letters"], adamw(0.01, 4, 200)),
        Task("authors",
             lambda: nn.Encoder(len(text.vocabulary()), text.WORDS + 1, len(text.BOOKS)),
             text.authors, _NOTES["authors"], adamw(0.002, 4, 200)),
        Task("baskets", lambda: nn.Recommender(ITEMS), _baskets, _NOTES["baskets"],
             adamw(0.03, 32, 320)),
    )
}  # fmt: skip
