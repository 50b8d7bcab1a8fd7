"""The lesson's training loop over lazy tensors, as a function: the digits, an MLP, SGD.

It is the loop of ``06_lazy_execution``'s first cell, with what its experiments turn as arguments.

>>> from trainium_edu.xla.device import Device
>>> device = Device()
>>> train_digits(device, steps=3, batch=8, hidden=8)
>>> [event.kind for event in device.compiler.history]
['compiled', 'memory', 'memory']
"""

from collections.abc import Callable
from typing import Any

from trainium_edu.specs.arguments import whole
from trainium_edu.specs.signatures import checked
from trainium_edu.training.data import digits
from trainium_edu.training.nn import MLP, cross_entropy
from trainium_edu.training.optim import SGD
from trainium_edu.xla.device import Device
from trainium_edu.xla.tensor import Tensor, as_tensor

__all__ = ["CHANGES", "train_digits", "what_recompiles"]

#: What a script may change from one run to the next -> arguments of :func:`train_digits`.
CHANGES: dict[str, dict] = {
    "nothing; the weights have learnt": {},
    "learning rate 0.1 to 0.05": {"lr": 0.05},
    "momentum 0.9 to 0.8": {"momentum": 0.8},
    "momentum 0.9 to none": {"momentum": 0.0},
    "batch 16 to 17": {"batch": 17},
    "16 hidden units to 17": {"hidden": 17},
}


@checked
def train_digits(device: Device, *, steps: int | None = 8, batch: int = 64, hidden: int = 256,
                 lr: float = 0.1, momentum: float = 0.0, mark_every: int = 1,
                 look: Callable[[Tensor], object] | None = None) -> None:  # fmt: skip
    """Train a new MLP on the digits.

    Parameters
    ----------
    device : Device
    steps : int or None
        None for one pass over all images; what is left over makes a short last batch.
    batch, hidden : int
    lr, momentum : float
        Of SGD.
    mark_every : int
        After how many steps ``mark_step`` is called, and once more at the end; the loader's
        ``batches_per_execution``.
    look : callable (loss), optional
        Called in each step before ``mark_step``.
    """
    batch, mark_every = whole(batch, "batch", 1), whole(mark_every, "mark_every", 1)
    data = digits()
    end = len(data.train_labels) if steps is None else whole(steps, "steps", 0) * batch
    model = MLP(64, hidden, 10).to(device)
    optimizer = SGD(model.parameters(), lr=lr, momentum=momentum)
    optimizer.init_states()
    for begin in range(0, end, batch):
        images = as_tensor(data.train_images[begin : begin + batch], device)
        labels = as_tensor(data.train_labels[begin : begin + batch], device)
        optimizer.zero_grad()
        loss = cross_entropy(model(images), labels)
        loss.backward()
        optimizer.step()
        if look is not None:
            look(loss)
        if (begin // batch + 1) % mark_every == 0 or begin + batch >= end:
            device.mark_step()


@checked
def what_recompiles(device: Device) -> dict[str, str]:
    """Run a small step, change one thing at a time, and note what became of the next graph.

    Returns
    -------
    dict
        change → ``"found in memory"``, or ``"compiled"``.
    """
    base: dict[str, Any] = {"steps": 1, "batch": 16, "hidden": 16, "momentum": 0.9}
    train_digits(device, **base)
    found = {}
    for name, change in CHANGES.items():
        train_digits(device, **base | change)
        kind = device.compiler.history[-1].kind
        found[name] = "compiled" if kind == "compiled" else f"found in {kind}"
    return found
