"""A small text encoder that has read three books: how it was trained, and its weights.

``python -m trainium_edu.training.pretrained`` trains it again and rewrites
``pretrained.safetensors`` beside this file.  As with BERT, words are hidden and the encoder guesses
them; nobody has to say who wrote what.  It reads the training passages of the task ``"authors"``
alone: words of the test passages it has never seen.

Weights are rounded to BF16.  A hidden word becomes ``[UNK]``, as names are already, and only words
that were known are asked.  Matrix products go through BLAS, whose last bits differ by processor: on
one kind of processor the command gives the same file bit for bit, on another nearly the same.
"""

import functools
from pathlib import Path

import ml_dtypes
import numpy as np

from trainium_edu import files
from trainium_edu.numerics import draw_bits
from trainium_edu.specs.arguments import whole
from trainium_edu.specs.signatures import checked
from trainium_edu.training import nn, stored, text
from trainium_edu.training.checkpoint import load_checkpoint, to_bytes
from trainium_edu.training.tasks import Task, adamw
from trainium_edu.training.trainer import Job, Trainer, fit

__all__ = ["COMMAND", "HIDDEN_WORDS", "hidden_words", "pretrain", "pretrained_weights"]

COMMAND = "python -m trainium_edu.training.pretrained"
STEPS = 2000
_COPIES = 8  #: copies of each passage, with other words hidden
_SHARE = 0.2  #: share of the known words that are hidden


def hidden_words(passages: np.ndarray, seed: int) -> tuple[np.ndarray, np.ndarray]:
    """Hide a fifth of the known words.

    Parameters
    ----------
    passages : int32[n, words]
        Places in ``text.vocabulary()``.
    seed : int

    Returns
    -------
    inputs, labels : int32[n, words]
        The passages with hidden words as ``[UNK]``; the words that were hidden, and -1 elsewhere.

    Examples
    --------
    >>> inputs, labels = hidden_words(np.array([[0, 5, 7, 1]], np.int32), seed=2)
    >>> bool((np.where(labels < 0, inputs, labels) == [[0, 5, 7, 1]]).all())
    True
    """
    draws = draw_bits(passages.size, seed=seed, step=0, n_random_bits=24).reshape(passages.shape)
    hidden = (passages > text.UNKNOWN) & (draws < _SHARE * 2**24)
    return (np.where(hidden, np.int32(text.UNKNOWN), passages),
            np.where(hidden, passages, np.int32(-1)))  # fmt: skip


@functools.cache
def _samples() -> tuple[np.ndarray, ...]:
    passages, _, held_out, _ = text.authors()
    copies = [hidden_words(passages, seed) for seed in range(1, _COPIES + 1)]
    inputs, labels = (np.concatenate(each) for each in zip(*copies, strict=True))
    return inputs, labels, *hidden_words(held_out, 0)


#: What is trained: which words are hidden, among the words that all three books use.
HIDDEN_WORDS = Task(
    "hidden-words", lambda: nn.WordGuesser(len(text.vocabulary()), text.WORDS + 1), _samples,
    "Read without labels; the loss is in nats for each hidden word.",
    adamw(0.002, 64, STEPS, 0.01) | {"warmup": 100, "dtype": "float32", "rounding": "nearest"},
)  # fmt: skip


@checked
def pretrain(steps: int = STEPS, *, seed: int = 0) -> Trainer:
    """Train the encoder on one rank, in FP32; all steps take minutes.

    Parameters
    ----------
    steps : int
    seed : int

    Returns
    -------
    Trainer

    Examples
    --------
    >>> pretrain(1).number
    1
    """
    job = Job(ranks=1, seed=seed, **HIDDEN_WORDS.settings)
    return fit(Trainer(job, task=HIDDEN_WORDS), whole(steps, "steps", 0, 10**6)).trainer


@functools.cache
def pretrained_weights() -> dict[str, np.ndarray]:
    """Return the stored weights by name, float32, every number one of BF16's.

    Returns
    -------
    dict
        As ``nn.WordGuesser`` names them; its ``head`` guesses words.

    Examples
    --------
    >>> pretrained_weights()["tokens.weight"].shape
    (706, 64)
    """
    return {name: array.astype(np.float32)
            for name, array in load_checkpoint(stored_file()).state["arrays"].items()}  # fmt: skip


def stored_file() -> Path:
    """Return where the weights are kept."""
    return stored.path_of("pretrained", "safetensors")


def as_checkpoint(trainer: Trainer) -> bytes:
    """Return a checkpoint of a trainer's weights alone, in BF16."""
    arrays = {name: w.astype(ml_dtypes.bfloat16) for name, w in trainer.weights().items()}
    return to_bytes({"number": trainer.number, "arrays": arrays,
                     "job": {"task": HIDDEN_WORDS.name, "command": COMMAND}})  # fmt: skip


if __name__ == "__main__":
    files.write(stored_file(), as_checkpoint(pretrain()))
