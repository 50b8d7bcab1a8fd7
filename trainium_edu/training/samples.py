"""Real arrays to round: trained weights, their gradients, activations, a digit and a photograph.

They come from the digits network in FP32 after twenty epochs, and from the photographs that
scikit-learn bundles; nothing is made up or downloaded, and the same bits come on every machine
(the photograph as far as JPEG decoders agree).
"""

import functools

import numpy as np

from trainium_edu.aside import load
from trainium_edu.training.data import PIXELS, digits
from trainium_edu.training.reference import HIDDEN, gradient, matmul, train

__all__ = ["SAMPLES", "sample"]

#: Name and one sentence for each array that :func:`sample` gives.
SAMPLES = {
    "weights": "64 × 64 weights of the first layer of the digits network, trained in FP32",
    "gradients": "the gradient of the loss for these weights, one batch of 256 digits",
    "activations": "what the 64 neurons of the first layer answer to 256 digits (after ReLU)",
    "digit": "one handwritten digit, 8 × 8 pixels from 0 to 1 in steps of 1/16",
    "photo": "a photograph (scikit-learn's china.jpg, every third pixel), from 0 to 1",
}


@functools.cache
def sample(name: str) -> np.ndarray:
    """Return one real array, read-only.

    Parameters
    ----------
    name : {"weights", "gradients", "activations", "digit", "photo"}

    Returns
    -------
    float32 array
        ``[64, 64]``, ``[64, 64]``, ``[64, 256]``, ``[8, 8]`` or ``[143, 214, 3]``.

    Raises
    ------
    ValueError
        If there is no such array.

    Examples
    --------
    >>> sample("weights").shape
    (64, 64)
    """
    if name not in SAMPLES:
        raise ValueError(f"there is no sample {str(name)[:40]!r}; there are {', '.join(SAMPLES)}")
    found = {"photo": _photo, "digit": lambda: digits().test_images[3].reshape(8, 8)}
    out = found[name]() if name in found else _from_network(name)
    out = np.ascontiguousarray(out, np.float32).copy()
    out.flags.writeable = False
    return out


@functools.cache
def _trained() -> np.ndarray:
    """Train once: float32[1, 4810]."""
    return np.asarray(train("fp32", learning_rate=0.1, epochs=20, seeds=[0]).weights, np.float32)


def _from_network(name):
    """Return first-layer weights, gradients or activations."""
    weights, images = _trained(), digits().train_images[:256]
    first = slice(0, HIDDEN * PIXELS)
    if name == "weights":
        return weights[0, first].reshape(HIDDEN, PIXELS)
    if name == "gradients":
        grad, _chosen = gradient(weights, images[None], digits().train_labels[None, :256])
        return grad[0, first].reshape(HIDDEN, PIXELS)
    w1, bias = weights[0, first].reshape(HIDDEN, PIXELS), weights[0, first.stop :][:HIDDEN]
    return np.maximum(matmul(w1, images.T) + bias[:, None], 0)


def _photo():
    """Load the photograph: every third pixel, 0 to 1."""
    return load("sklearn.datasets").load_sample_image("china.jpg")[::3, ::3] / np.float32(255)
