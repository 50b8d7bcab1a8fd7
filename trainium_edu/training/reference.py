"""The smallest honest training loop: a 64-64-10 network on real digits, in plain NumPy.

Forward, backward and update are written out here, for many replicas (seeds) at once, with every
sum in a stated order, so that the same seed gives the same bits on every processor.  `train` runs
them; with ``fast=True`` through the compiled twin in ``_loops.py``, which a test holds equal to
this file bit for bit.

All parameters of a replica lie in one row, as an optimizer sees them: w1[64, 64], b1[64],
w2[10, 64], b2[10].  Activations are ``[features, batch]``.  In the BF16 arms everything that
enters a multiplication is BF16 (nearest-even), products are summed in FP32, as the Tensor Engine
does it, and the weight gradient is rounded to BF16; what differs between the two BF16-weight arms
is the rounding of the update, and nothing else.
"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

import ml_dtypes
import numpy as np

from trainium_edu import settings
from trainium_edu.numerics import draw_bits, round_to
from trainium_edu.numerics.launch import launch, launch_parallel
from trainium_edu.numerics.random_bits import check_count
from trainium_edu.specs.arguments import choice, flag, number, short, whole
from trainium_edu.specs.signatures import checked
from trainium_edu.training import _loops
from trainium_edu.training.arms import Arm, get_arm
from trainium_edu.training.data import BATCH, CLASSES, PIXELS, batches, digits, uniform

__all__ = [
    "HIDDEN", "PARAMETERS", "Epoch", "History", "epochs", "exp", "gradient", "initial_weights",
    "logits", "matmul", "predict", "train", "update",
]  # fmt: skip

HIDDEN = 64
PARAMETERS = HIDDEN * PIXELS + HIDDEN + CLASSES * HIDDEN + CLASSES  #: 4,810
MAX_SEEDS, MAX_EPOCHS = 100, 5000
_REPLICAS_PER_LAUNCH = 32  # keeps one compiled call below 0.2 s
_F32 = np.float32


# --- arithmetic in a fixed order ----------------------------------------------------------------


def matmul(a, b):
    """Multiply matrices in FP32, adding the products one by one, k rising from 0.

    ``a @ b`` would add in an order that depends on the processor.

    Parameters
    ----------
    a : float32[..., m, k]
    b : float32[..., k, n]

    Returns
    -------
    float32[..., m, n]

    Examples
    --------
    >>> matmul(np.float32([[1, 2]]), np.float32([[3], [4]])).item()
    11.0
    """
    shape = np.broadcast_shapes(a.shape[:-2], b.shape[:-2])
    total = np.zeros((*shape, a.shape[-2], b.shape[-1]), _F32)
    for k in range(a.shape[-1]):
        total += a[..., :, k, None] * b[..., k, None, :]
    return total


def exp(x):
    """Return e**x for float32 x <= 0: 2**n times a polynomial on [-ln2/2, ln2/2].

    NumPy's own float32 ``exp`` has several versions and picks one by processor; their last bits
    differ.  Below -60 it stays at e**-60, which moves no weight.

    Examples
    --------
    >>> round(float(exp(np.float32(-1))), 6)
    0.367879
    """
    x = np.where(x < _F32(-60), _F32(-60), x)
    n = np.floor(x * _F32(1.4426950408889634) + _F32(0.5))
    r = (x - n * _F32(0.693145751953125)) - n * _F32(1.428606765330187e-06)
    p = np.full_like(r, 1 / 720)
    for divisor in (120, 24, 6, 2, 1, 1):
        p = p * r + _F32(1 / divisor)
    with np.errstate(invalid="ignore"):  # after a divergence x is NaN, and so is the result
        return p * ((n.astype(np.int32) + 127) << 23).view(_F32)


def _in_order(a, axis):
    """Sum along an axis from the first to the last; ``np.sum`` adds in pairs."""
    return np.cumsum(a, axis=axis, dtype=_F32).take(-1, axis=axis)


# --- the network --------------------------------------------------------------------------------


@checked
def initial_weights(seeds: Sequence[int], *, narrow: bool = False):
    """Draw He-uniform weights and zero biases, one row per seed.

    Parameters
    ----------
    seeds : sequence of int
    narrow : bool, optional
        Round them to BF16, for an arm that has nothing wider.

    Returns
    -------
    float32[len(seeds), 4810]
    """
    rows = np.zeros((len(seeds), PARAMETERS), _F32)
    for row, seed in zip(rows, seeds, strict=True):
        w1, _b1, w2, _b2 = parts(row)
        draws = uniform(w1.size + w2.size, seed=seed)
        w1[:] = (draws[: w1.size] * _F32((6 / PIXELS) ** 0.5)).reshape(w1.shape)
        w2[:] = (draws[w1.size :] * _F32((6 / HIDDEN) ** 0.5)).reshape(w2.shape)
    return round_to(rows, "bf16") if narrow else rows


@checked
def gradient(weights: np.ndarray, images: np.ndarray, labels: np.ndarray, *, bf16: bool = False):
    """Differentiate the mean cross-entropy loss of one batch, forward and backward.

    Parameters
    ----------
    weights : float32[replicas, 4810]
    images : float32[replicas, batch, 64]
    labels : int64[replicas, batch]
    bf16 : bool, optional
        Round what enters a multiplication, and the result, to BF16.

    Returns
    -------
    gradient : float32[replicas, 4810]
    chosen : float32[replicas, batch]
        Probability given to the right class; the loss is the mean of ``-log(chosen)``.

    Notes
    -----
    Judged by central differences in float64 and by PyTorch.
    """
    _check_shape(weights, "weights", "replicas", PARAMETERS)
    _check_shape(images, "images", len(weights), "batch", PIXELS)
    _check_shape(labels, "labels", *images.shape[:2])
    if labels.dtype.kind not in "iu" or not ((labels >= 0) & (labels < CLASSES)).all():
        raise ValueError(f"labels are integers from 0 to {CLASSES - 1}, got {short(labels)}")
    narrow = to_bf16 if bf16 else np.asarray
    w1, b1, w2, b2 = parts(weights)
    x = np.swapaxes(images, -1, -2)
    h = matmul(w1, x) + b1[..., None]
    h = narrow(np.where(h < 0, _F32(0), h))
    z = matmul(w2, h) + b2[..., None]

    e = exp(z - z.max(axis=-2, keepdims=True))
    p = e / _in_order(e, axis=-2)[..., None, :]
    chosen = np.take_along_axis(p, labels[..., None, :], axis=-2)[..., 0, :]
    wanted = (np.arange(CLASSES)[:, None] == labels[..., None, :]).astype(_F32)

    dz = narrow((p - wanted) * (_F32(1) / _F32(images.shape[-2])))
    out = np.empty_like(weights)
    dw1, db1, dw2, db2 = parts(out)
    dw2[:] = matmul(dz, np.swapaxes(h, -1, -2))
    db2[:] = _in_order(dz, axis=-1)
    dh = matmul(np.swapaxes(w2, -1, -2), dz)
    dh = narrow(np.where(h > 0, dh, _F32(0)))
    dw1[:] = matmul(dh, images)
    db1[:] = _in_order(dh, axis=-1)
    return narrow(out), chosen


def update(stored, grad, learning_rate, arm, *, random_bits=None):
    """Step downhill: compute in FP32, then round to what the arm keeps.

    Parameters
    ----------
    stored, grad : float32[replicas, 4810]
    learning_rate : float
    arm : Arm or str
    random_bits : uint16[replicas, 4810], optional
        Random bits, where the arm rounds stochastically.

    Returns
    -------
    float32[replicas, 4810]
    """
    arm = get_arm(arm)
    exact = stored - _F32(learning_rate) * grad
    if arm.weights == "fp32":
        return exact
    return round_to(exact, "bf16", arm.rounding, random_bits=random_bits)


@checked
def logits(weights: np.ndarray, images: np.ndarray, *, bf16: bool = False):
    """Run the network forward on test images.

    Parameters
    ----------
    weights : float32[replicas, 4810]
    images : float32[n, 64]
    bf16 : bool, optional

    Returns
    -------
    float32[replicas, 10, n]
    """
    _check_shape(weights, "weights", "replicas", PARAMETERS)
    _check_shape(images, "images", "n", PIXELS)
    weights = np.ascontiguousarray(to_bf16(weights) if bf16 else weights, _F32)
    turned = np.ascontiguousarray(images.T, _F32)
    out = np.empty((len(weights), CLASSES, len(images)), _F32)
    h = np.empty((HIDDEN, len(images)), _F32)
    launch(_loops.logits, turned, weights, HIDDEN, bf16, h, out)
    return out


@checked
def predict(weights: np.ndarray, images: np.ndarray, *, bf16: bool = False):
    """Name the digit on each image: int64[replicas, n]."""
    return logits(weights, images, bf16=bf16).argmax(axis=1)


def _check_shape(values, what, *sizes):
    """Refuse an array of another shape; a size in words may be any."""
    fits = len(sizes) == values.ndim and all(
        isinstance(size, str) or size == have
        for size, have in zip(sizes, values.shape, strict=True)
    )
    if not fits or 0 in values.shape:
        wanted = ", ".join(map(str, sizes))
        raise ValueError(f"{what} have shape {list(values.shape)}; it is [{wanted}]")


# --- training -----------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True, repr=False)
class Epoch:
    """The state after one pass over the training images."""

    number: int  #: counted from 1
    loss: np.ndarray  #: float64[replicas], mean over the pass
    accuracy: np.ndarray  #: float64[replicas], on the test images
    weights: np.ndarray  #: float32[replicas, 4810], what the arm keeps; a view, copy to keep

    def __repr__(self):
        return f"Epoch({self.number}, accuracy {100 * self.accuracy.mean():.1f} %)"


@dataclass(frozen=True, slots=True, repr=False)
class History:
    """The record of a training run."""

    arm: Arm
    learning_rate: float
    seeds: tuple[int, ...]
    loss: np.ndarray  #: float64[epochs, replicas]
    accuracy: np.ndarray  #: float64[epochs, replicas]
    weights: np.ndarray  #: [replicas, 4810] in the arm's own dtype

    @property
    def final_accuracy(self) -> np.ndarray:
        """Test accuracy after the last epoch, float64[replicas]."""
        return self.accuracy[-1]

    def __repr__(self):
        return (
            f"History({self.arm.label}; learning rate {self.learning_rate:g}, "
            f"{len(self.loss)} epochs, {len(self.seeds)} seeds, "
            f"accuracy {100 * self.final_accuracy.mean():.1f} %)"
        )


def train(arm="bf16", *, learning_rate: float = 0.01, epochs: int = 60, seeds=range(10),
          rounding: str | None = None, rounding_seed: int | None = None,
          fast: bool = True) -> History:  # fmt: skip
    """Train the 64-64-10 network on the digits, one replica per seed, with plain SGD.

    Parameters
    ----------
    arm : {"fp32", "master", "nearest", "stochastic", "bf16"} or Arm
        ``"bf16"`` keeps the weights in BF16 and rounds the update as `rounding` says.
    learning_rate : float
    epochs : int
        Passes over the 1,437 training images, 44 batches of 32 each.
    seeds : sequence of int
        Start, shuffling and random bits of each replica, which learns as it would alone.
    rounding : {"nearest", "stochastic"}, optional
        For ``arm="bf16"``.  Not given: what ``NEURON_RT_STOCHASTIC_ROUNDING_EN`` says.
    rounding_seed : int, optional
        Seed of the rounding.  Not given: what ``NEURON_RT_STOCHASTIC_ROUNDING_SEED`` says.
    fast : bool, optional
        Use the compiled loops; without them the same bits, about fifty times slower.

    Returns
    -------
    History

    Raises
    ------
    TypeError, ValueError
        For a learning rate that is not positive, a seed that is not an integer, ...

    Examples
    --------
    >>> run = train("stochastic", learning_rate=0.1, epochs=2, seeds=[0])
    >>> run.loss.shape, str(run.weights.dtype)
    ((2, 1), 'bfloat16')

    References
    ----------
    `aws-rounding-modes` in :data:`trainium_edu.specs.SOURCES`.
    """
    plan = _plan(arm, learning_rate, epochs, seeds, rounding, rounding_seed)
    passes, arm = list(_run(plan, flag(fast, "fast"))), plan.arm
    return History(
        arm, plan.learning_rate, plan.seeds,
        np.array([p.loss for p in passes]), np.array([p.accuracy for p in passes]),
        passes[-1].weights.astype(ml_dtypes.bfloat16 if arm.weights == "bf16" else _F32),
    )  # fmt: skip


def epochs(arm="bf16", *, fast: bool = True, **how) -> Iterator[Epoch]:
    """Train as :func:`train` does, and hand out one :class:`Epoch` after the other.

    Everything is checked at once; the work is done as the epochs are asked for, so the caller
    can stop at any time.

    Examples
    --------
    >>> next(epochs("fp32", seeds=[0])).number
    1
    """
    return _run(_plan(arm, **how), flag(fast, "fast"))


@dataclass(frozen=True, slots=True)
class _Plan:
    """Checked arguments of a run."""

    arm: Arm
    learning_rate: float
    epochs: int
    seeds: tuple[int, ...]
    rounding_seed: int


def _plan(arm, learning_rate=0.01, epochs=60, seeds=range(10), rounding=None,
          rounding_seed=None) -> _Plan:  # fmt: skip
    """Check all arguments, and read the documented switches once for what is not given."""
    if rounding is not None:
        choice(rounding, "rounding", ("nearest", "stochastic"))
    if isinstance(arm, str) and arm == "bf16":
        arm = rounding if rounding is not None else settings.rounding().rounding
    elif rounding is not None:
        raise ValueError("rounding goes with arm='bf16'; the other arms have settled theirs")
    if isinstance(seeds, str | bytes) or not hasattr(seeds, "__iter__"):
        raise TypeError(f"seeds is {short(seeds)}; it must be a list of integers")
    if hasattr(seeds, "__len__"):
        whole(len(seeds), "the number of seeds", 1, MAX_SEEDS)
    seeds = tuple(check_count(seed, "seed") for seed in seeds)
    whole(len(seeds), "the number of seeds", 1, MAX_SEEDS)
    if rounding_seed is None:
        rounding_seed = settings.rounding().seed
    return _Plan(get_arm(arm), number(learning_rate, "learning_rate", above=0),
                 whole(epochs, "epochs", 1, MAX_EPOCHS), seeds,
                 check_count(rounding_seed, "rounding_seed"))  # fmt: skip


def _run(plan, fast, parts=1) -> Iterator[Epoch]:
    """Yield one Epoch after the other, or the state after each of its parts."""
    data = digits()
    narrow = plan.arm.compute == "bf16"
    stored = initial_weights(plan.seeds, narrow=plan.arm.weights == "bf16")
    one_epoch = _fast_epoch if fast else _plain_epoch
    for epoch in range(plan.epochs):
        order = np.stack(
            [batches(len(data.train_labels), seed=seed, epoch=epoch) for seed in plan.seeds]
        )
        bits = _random_bits(plan, epoch, order.shape[1])
        for some in np.array_split(np.arange(order.shape[1]), parts):
            steps = slice(some[0], some[-1] + 1)
            part = np.ascontiguousarray(order[:, steps]), np.ascontiguousarray(bits[:, steps])
            chosen = one_epoch(plan, data, *part, stored)
            with np.errstate(invalid="ignore", divide="ignore"):  # a run may diverge
                loss = -np.log(chosen.astype(np.float64)).mean(axis=(1, 2))
            named = predict(stored, data.test_images, bf16=narrow)
            yield Epoch(epoch + 1, loss, (named == data.test_labels).mean(axis=1), stored)


def _random_bits(plan, epoch, steps):
    """Return uint16[replicas, steps, 4810]; weight i in step t is element 4810 t + i."""
    if plan.arm.rounding != "stochastic":
        return np.empty((len(plan.seeds), 0, PARAMETERS), np.uint16)
    n = steps * PARAMETERS
    drawn = [
        draw_bits(n, seed=plan.rounding_seed, step=seed, offset=epoch * n) for seed in plan.seeds
    ]
    return np.stack(drawn).reshape(-1, steps, PARAMETERS)


def _plain_epoch(plan, data, order, bits, stored):
    """Train one epoch with the functions above; `stored` changes in place."""
    narrow = plan.arm.compute == "bf16"
    chosen = np.empty(order.shape, _F32)
    for step in range(order.shape[1]):
        picked = order[:, step]
        weights = to_bf16(stored) if narrow else stored
        grad, chosen[:, step] = gradient(
            weights, data.train_images[picked], data.train_labels[picked], bf16=narrow
        )
        some = bits[:, step] if bits.shape[1] else None
        stored[:] = update(stored, grad, plan.learning_rate, plan.arm, random_bits=some)
    return chosen


def _fast_epoch(plan, data, order, bits, stored):
    """Train one epoch with the compiled twin; `stored` changes in place."""
    chosen = np.empty(order.shape, _F32)
    for first in range(0, len(stored), _REPLICAS_PER_LAUNCH):
        some = slice(first, first + _REPLICAS_PER_LAUNCH)
        launch_parallel(
            _loops.train_parallel, _loops.train_serial,
            data.train_images, data.train_labels, order[some], HIDDEN,
            _F32(plan.learning_rate), plan.arm.compute == "bf16", plan.arm.has_master,
            bits[some], stored[some], chosen[some],
        )  # fmt: skip
    return chosen


def parts(flat):
    """Return views (w1, b1, w2, b2) of flat[..., 4810]."""
    w1, b1, w2, b2 = np.split(flat, np.cumsum([HIDDEN * PIXELS, HIDDEN, CLASSES * HIDDEN]), axis=-1)
    lead = flat.shape[:-1]
    return w1.reshape(*lead, HIDDEN, PIXELS), b1, w2.reshape(*lead, CLASSES, HIDDEN), b2


def to_bf16(x):
    """Round to BF16, nearest-even, and go on in FP32."""
    return round_to(x, "bf16")


assert BATCH % 2 == 0  # the compiled matmul takes rows in pairs
