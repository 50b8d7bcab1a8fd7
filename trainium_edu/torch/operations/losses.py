"""Losses and their gradients."""

from trainium_edu.torch.operations.arithmetic import log1p
from trainium_edu.torch.operations.table import fixed, record, row
from trainium_edu.xla import numpy as xnp

__all__: list[str] = []

_NONE, _MEAN, _SUM = 0, 1, 2  #: PyTorch's numbers of reductions


def _reduced(x, reduction):
    return {_NONE: lambda x: x, _MEAN: xnp.mean, _SUM: xnp.sum}[reduction](x)


def _shared(grad_output, slope, reduction):
    """Return the gradient of a reduced loss, given the slope of each element."""
    g = slope * grad_output
    return g * fixed(g, 1 / g.size) if reduction == _MEAN else g


# -- of differences -------------------------------------------------------------------------------


@row("mse_loss")
def _mse(self, target, reduction=_MEAN):
    return _reduced(xnp.square(self - target), reduction)


@row("mse_loss_backward")
def _mse_backward(grad_output, self, target, reduction):
    apart = self - target
    return _shared(grad_output, apart * fixed(apart, 2.0), reduction)


def _bent(apart, within, flat):
    """Return a square up to a bound, `flat` times the distance beyond."""
    size = xnp.abs(apart)
    inner = xnp.square(apart) * (0.5 * flat / within if within else 0.0)
    return xnp.where(size < within, inner, (size - 0.5 * within) * flat)


def _bent_slope(apart, within, flat):
    inner = apart * (flat / within if within else 0.0)
    return xnp.where(xnp.abs(apart) < within, inner, xnp.sign(apart) * flat)


@row("smooth_l1_loss")
def _smooth_l1(self, target, reduction=_MEAN, beta=1.0):
    return _reduced(_bent(self - target, beta, 1.0), reduction)


@row("smooth_l1_loss_backward")
def _smooth_l1_backward(grad_output, self, target, reduction, beta):
    return _shared(grad_output, _bent_slope(self - target, beta, 1.0), reduction)


@row("huber_loss")
def _huber(self, target, reduction=_MEAN, delta=1.0):
    return _reduced(_bent(self - target, delta, delta), reduction)


@row("huber_loss_backward")
def _huber_backward(grad_output, self, target, reduction, delta):
    return _shared(grad_output, _bent_slope(self - target, delta, delta), reduction)


# -- of probabilities -----------------------------------------------------------------------------


def _weighted(x, weight):
    return x if weight is None else x * weight


@row("binary_cross_entropy")
def _bce(self, target, weight=None, reduction=_MEAN):
    one = fixed(self, 1.0)
    yes, no = (xnp.maximum(xnp.log(p), -100) for p in (self, one - self))
    loss = (target - one) * no - target * yes
    return _reduced(_weighted(loss, weight), reduction)


@row("binary_cross_entropy_backward")
def _bce_backward(grad_output, self, target, weight=None, reduction=_MEAN):
    spread = xnp.maximum((fixed(self, 1.0) - self) * self, fixed(self, 1e-12))
    slope = (self - target) / spread
    return _shared(grad_output, _weighted(slope, weight), reduction)


@row("binary_cross_entropy_with_logits")
def _bce_with_logits(self, target, weight=None, pos_weight=None, reduction=_MEAN):
    one = fixed(self, 1.0)
    less = xnp.minimum(self, 0) - log1p(xnp.exp(-xnp.abs(self)))
    if pos_weight is None:
        loss = (one - target) * self - less
    else:
        loss = (one - target) * self - ((pos_weight - one) * target + one) * less
    return _reduced(_weighted(loss, weight), reduction)


@row("soft_margin_loss")
def _soft_margin(self, target, reduction=_MEAN):
    x = -self * target
    return _reduced(xnp.maximum(x, 0) + log1p(xnp.exp(-xnp.abs(x))), reduction)


@row("soft_margin_loss_backward")
def _soft_margin_backward(grad_output, self, target, reduction):
    return _shared(grad_output, -target * xnp.sigmoid(-self * target), reduction)


# -- of classes: axis 1, or the only one ----------------------------------------------------------


def _rows(x):
    """Return classes as the last axis."""
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
