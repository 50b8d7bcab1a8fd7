"""The loss of class numbers, and its gradient: as one gather each, which decompositions miss."""

from trainium_edu.torch.operations.table import record, row
from trainium_edu.xla import numpy as xnp

__all__: list[str] = []

_NONE, _MEAN, _SUM = 0, 1, 2  #: PyTorch's numbers of reductions


def _rows(x):
    """Return classes, which are axis 1 or the only one, as the last."""
    if x.ndim < 3:
        return x
    return xnp.transpose(x, (0, *range(2, x.ndim), 1))


def _targets(target, weight, ignore_index):
    """Return class numbers that exist, and what each row counts."""
    counts = target != ignore_index
    places = xnp.where(counts, target, 0)
    each = xnp.astype(counts, "float32" if weight is None else weight.dtype)
    return places, each if weight is None else each * xnp.take(weight, places)


@row("nll_loss_forward", "nll_loss2d_forward")
def _nll(self, target, weight, reduction, ignore_index):
    """Return the loss, and the sum of what the rows count."""
    places, each = _targets(target, weight, ignore_index)
    each = xnp.astype(each, self.dtype)
    loss = xnp.negative(record("pick", _rows(self), places) * each)
    if reduction == _NONE:
        return loss, xnp.zeros((), self.dtype, device=self.device)
    total = xnp.sum(each) if each.ndim else each
    loss = xnp.sum(loss) if loss.ndim else loss
    return (loss / total if reduction == _MEAN else loss), total


@row("nll_loss_backward", "nll_loss2d_backward")
def _nll_backward(grad_output, self, target, weight, reduction, ignore_index, total_weight):
    places, each = _targets(target, weight, ignore_index)
    g = grad_output / total_weight if reduction == _MEAN else grad_output
    share = xnp.negative(xnp.astype(each, self.dtype) * g)
    classes = self.shape[1 if self.ndim > 1 else 0]
    out = xnp.one_hot(places, classes, self.dtype) * share[..., None]
    return (
        out if self.ndim < 3 else xnp.transpose(out, (0, self.ndim - 1, *range(1, self.ndim - 1)))
    )
