"""Optimisers over lazy tensors: SGD and Adam, with weights in FP32 or BF16 and states in FP32.

One step records the update of every parameter into the graph; the arithmetic is FP32, and what is
kept is rounded once, to its own dtype.  Numbers such as the learning rate are inputs of the graph:
changing them compiles nothing.  States are made in the first step, as PyTorch does, so the first
graph differs from all others; after ``init_states()`` there is one graph only.

On the chip, the compile-time facts differ here: AWS's guides name "optimizer and its
hyper-parameters" among what compiles again; PyTorch/XLA passes Python's numbers as data, except 0
and 1.  This file does the same, and passes 0 and 1 too.
"""

import math
from collections.abc import Callable, Iterable, Mapping, Sequence

import numpy as np

from trainium_edu.neuroncore.recording.dtypes import get_dtype
from trainium_edu.specs.arguments import flag, number
from trainium_edu.specs.signatures import checked
from trainium_edu.training.nn import on_replicas
from trainium_edu.training.refusals import sentence
from trainium_edu.xla import numpy as xnp
from trainium_edu.xla.graph import scope
from trainium_edu.xla.operations.shapes import zeros
from trainium_edu.xla.tensor import Tensor, as_tensor

__all__ = ["SGD", "Adam", "AdamW", "Optimizer", "clip_grad_norm_", "warmup_cosine"]


class Optimizer:
    """The base of all optimisers: parameters, their states, and the step.

    Parameters
    ----------
    parameters : iterable of Tensor
        On a device already: ``model.to(device)`` comes first.
    lr : float
    weight_decay : float
    master_weights : bool
        Keep FP32 weights beside those of the model, and update these.

    Attributes
    ----------
    lr : float
        May change from step to step.
    steps : int
        How many were taken.
    states : list of dict
        By parameter; empty until the first step or :meth:`init_states`.
    """

    names: tuple[str, ...] = ()  #: names of the states

    @checked
    def __init__(self, parameters: Iterable, lr: float, *, weight_decay: float = 0.0,
                 master_weights: bool = False):  # fmt: skip
        self.parameters = on_device(parameters)
        self.lr, self.weight_decay = number(lr, "lr", 0), number(weight_decay, "weight_decay", 0)
        self.steps = 0
        self.master_weights = flag(master_weights, "master_weights")
        self.states: list[dict[str, Tensor]] = [{} for _ in self.parameters]

    def init_states(self) -> None:
        """Make all states now, as data on the device."""
        for weight, state in zip(self.parameters, self.states, strict=True):
            for name in self.names:
                empty = np.zeros(weight.shape, np.float32)
                state[name] = on_replicas(empty, weight.device)
            if self.master_weights:
                wide = weight.type.like(dtype="float32")
                state["master"] = Tensor(weight.device, wide, data=weight.numpy())

    def tensors(self) -> list[Tensor]:
        """Return all that is kept on the device."""
        return [tensor for state in self.states for tensor in state.values()]

    def state_arrays(self) -> list[dict[str, np.ndarray]]:
        """Return the states by parameter and name, at their width, as one rank has them."""
        return [
            {name: of_rank_0(t, as_stored=True) for name, t in state.items()}
            for state in self.states
        ]

    @checked
    def load_state_arrays(self, arrays: Sequence[Mapping[str, np.ndarray]]) -> None:
        """Take states over; they must be as :meth:`state_arrays` gives them."""
        if len(arrays) != len(self.states):
            raise ValueError(sentence("optim.states", given=len(arrays), own=len(self.states)))
        for state, given in zip(self.states, arrays, strict=True):
            for name, tensor in state.items():
                tensor.set_(on_replicas(given[name], tensor.device, tensor.dtype))

    def _make(self, weight, state):
        """Record a parameter's states."""
        kind = weight.type.like(dtype="float32")
        for name in self.names:
            state[name] = Tensor(weight.device, kind, zeros(kind))
        if self.master_weights:
            state["master"] = _wide(weight).detach()

    def zero_grad(self) -> None:
        """Forget the gradients."""
        for weight in self.parameters:
            weight.grad = None

    def step(self) -> None:
        """Record the update of every parameter that has a gradient."""
        self.steps += 1
        if not self.parameters:
            return
        device = self.parameters[0].device
        numbers = {
            name: as_tensor(np.float32(number), device, name=name)
            for name, number in self._numbers().items()
        }
        for weight, state in zip(self.parameters, self.states, strict=True):
            if weight.grad is None:
                continue
            if not state:
                self._make(weight, state)
            with scope("update"):
                self._record_update(weight, state, numbers)

    def _record_update(self, weight, state, numbers):
        """Record the update of one parameter."""
        kept = state.get("master", weight)
        before = {name: state[name] for name in self.names}
        new, after = self._update(_wide(kept), _wide(weight.grad), before, numbers)
        for name, value in after.items():
            state[name].set_(value)
        kept.set_(xnp.astype(new, kept.dtype))
        if kept is not weight:
            weight.set_(xnp.astype(new, weight.dtype))

    def _numbers(self) -> dict[str, float]:
        """Return what the update reads, as of this step."""
        raise NotImplementedError

    def _update(self, weight, gradient, state, numbers) -> tuple[Tensor, dict[str, Tensor]]:
        """Return the new weight and states, all FP32."""
        raise NotImplementedError


def on_device(parameters: Iterable) -> list[Tensor]:
    """Return parameters as a list; raise if one is not on a device yet."""
    found = list(parameters)
    if not all(isinstance(p, Tensor) for p in found):
        raise ValueError(sentence("optim.on_host"))
    return found


def of_rank_0(tensor: Tensor, as_stored: bool = False) -> np.ndarray:
    """Return the value of the first of replicas that have storage of their own.

    It is float32; `as_stored`, it has the tensor's own width.
    """
    values = tensor.numpy()
    values = values[0].copy() if values.ndim > tensor.ndim else values
    return values.astype(get_dtype(tensor.dtype).storage) if as_stored else values


def _wide(x: Tensor) -> Tensor:
    return xnp.astype(x, "float32")


class SGD(Optimizer):
    """``v = momentum v + g; w = w - lr v``, with the decay added to the gradient."""

    def __init__(self, parameters, lr: float, momentum: float = 0.0, **options):
        super().__init__(parameters, lr, **options)
        self.momentum = number(momentum, "momentum", 0)
        self.names = ("momentum",) if self.momentum else ()

    def _numbers(self):
        return {"lr": self.lr, "momentum": self.momentum, "decay": self.weight_decay}

    def _update(self, weight, gradient, state, numbers):
        if self.weight_decay:
            gradient = gradient + weight * numbers["decay"]
        after = {}
        if self.momentum:
            gradient = after["momentum"] = state["momentum"] * numbers["momentum"] + gradient
        return weight - gradient * numbers["lr"], after


class Adam(Optimizer):
    """Steps of about `lr`: the gradient's running mean over the root of its running square.

    The decay is added to the gradient; in :class:`AdamW` it shrinks the weights.
    """

    names = ("mean", "square")
    decouples = False

    @checked
    def __init__(self, parameters, lr: float = 1e-3, betas: tuple[float, float] = (0.9, 0.999),
                 eps: float = 1e-8, **options):  # fmt: skip
        super().__init__(parameters, lr, **options)
        self.betas = tuple(number(beta, "betas", 0, below=1) for beta in betas)
        self.eps = number(eps, "eps", 0)

    def _numbers(self):
        """Put both corrections of the start into the step's size and eps, as the paper does."""
        first, second = self.betas
        root = math.sqrt(1 - second**self.steps)
        return {
            "size": self.lr * root / (1 - first**self.steps), "eps": self.eps * root,
            "new_mean": 1 - first, "new_square": 1 - second, "decay": self.weight_decay,
            "shrink": 1 - self.lr * self.weight_decay,
        }  # fmt: skip

    def _update(self, weight, gradient, state, numbers):
        if self.weight_decay and not self.decouples:
            gradient = gradient + weight * numbers["decay"]
        mean, square = state["mean"], state["square"]
        mean = mean + (gradient - mean) * numbers["new_mean"]
        square = square + (xnp.square(gradient) - square) * numbers["new_square"]
        change = mean / (xnp.sqrt(square) + numbers["eps"]) * numbers["size"]
        if self.weight_decay and self.decouples:
            weight = weight * numbers["shrink"]
        return weight - change, {"mean": mean, "square": square}


class AdamW(Adam):
    """Adam whose decay shrinks the weights themselves (PyTorch's default 0.01)."""

    decouples = True

    def __init__(self, parameters, lr: float = 1e-3, *, weight_decay: float = 0.01, **options):
        super().__init__(parameters, lr, weight_decay=weight_decay, **options)


@checked
def clip_grad_norm_(parameters: Iterable[Tensor], max_norm: float, *,
                    over_ranks: Callable | None = None) -> Tensor:  # fmt: skip
    """Scale all gradients down together, so that their common norm is `max_norm` at most.

    Parameters
    ----------
    parameters : iterable of Tensor
    max_norm : float
    over_ranks : callable (Tensor) -> Tensor, optional
        Adds up the sums of squares of ranks that hold parts of the gradients.

    Returns
    -------
    Tensor
        The norm before, float32.
    """
    wide = [(p, p.grad.dtype, _wide(p.grad)) for p in parameters if p.grad is not None]
    if not wide:
        raise ValueError("no parameter has a gradient; call backward() before clip_grad_norm_()")
    squares = [xnp.sum(xnp.square(gradient)) for _, _, gradient in wide]
    total = sum(squares[1:], squares[0])
    norm = xnp.sqrt(total if over_ranks is None else over_ranks(total))
    most = as_tensor(np.float32(number(max_norm, "max_norm", 0)), norm.device, name="max_norm")
    factor = xnp.minimum(most / (norm + 1e-6), 1.0)
    for weight, dtype, gradient in wide:
        weight.grad = xnp.astype(gradient * factor, dtype)
    return norm


@checked
def warmup_cosine(step: int, *, peak: float, warmup: int, steps: int) -> float:
    """Return the learning rate of a step (from 0): up to `peak`, then down a cosine to 0.

    Examples
    --------
    >>> [round(warmup_cosine(s, peak=1.0, warmup=2, steps=6), 3) for s in range(6)]
    [0.5, 1.0, 1.0, 0.854, 0.5, 0.146]
    """
    if not 0 <= warmup < steps:
        raise ValueError(f"warmup is {warmup} of {steps} steps; it must be from 0 to below that")
    if step < warmup:
        return peak * ((step + 1) / warmup)
    gone = min(1.0, (step - warmup) / (steps - warmup))
    return peak * (1 + math.cos(math.pi * gone)) / 2
