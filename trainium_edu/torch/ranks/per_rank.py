"""Values that differ from rank to rank: one tensor with a leading axis of ranks.

A call on such values is computed for all ranks at once.  The table has the calls that trainings
are made of; what is not in it is done rank by rank.  (``vmap`` is no way: while PyTorch goes
backward, it ends the process.)  What is equal on all ranks has no such axis and is computed once.

Random numbers are those of one process: all ranks' generators were seeded alike, so all draw the
same.
"""

from collections.abc import Callable
from typing import Any

import torch

from trainium_edu.numerics import rounding
from trainium_edu.torch.calls import Call
from trainium_edu.torch.differing import (
    PerRank,
    RankAsked,
    aligned,
    differ,
    rows_of,
)
from trainium_edu.torch.values import Values

__all__ = ["PerRank", "RankAsked", "ValuesOfRanks"]

_aten = torch.ops.aten


class ValuesOfRanks(Values):
    """Computes calls for all ranks at once, and rounds results as the chip rounds.

    Ranks share their random bits, as processes with one seed do.

    Parameters
    ----------
    core : TogetherCore
    narrowed, *how
        As of :class:`Values`.
    """

    def __init__(self, core, narrowed, *how):
        super().__init__(narrowed, *how)
        self.core, self.ranks = core, core.ranks
        self.joins = False  # the rules below are of parts

    def round(self, value, fmt: str):
        """Round FP32 numbers in place; ranks share their random bits."""
        if type(value) is not PerRank:
            return super().round(value, fmt)
        numbers = value.each.numpy()
        self.draw += 1
        numbers[...] = rounding.round_floats(numbers, fmt, self.mode, seed=self.seed,
                                             step=self.draw, rows=self.ranks)  # fmt: skip
        return value

    def compute(self, call, values: list, named: dict) -> Any:
        """Return what a call gives, on all ranks if its operands differ among them."""
        if call.counter.startswith("trainium::"):
            return self.core.exchange(call, values)
        if differ(values) or (named and differ(named.values())):
            call = _OnRanks(call, self.ranks)
        return super().compute(call, values, named)


class _OnRanks:
    """A call that is done on all ranks' values.

    Parameters
    ----------
    call : Call
    ranks : int
    """

    __slots__ = ("_call", "_ranks")

    def __init__(self, call: Call, ranks: int):
        self._call, self._ranks = call, ranks

    def __getattr__(self, name):
        return getattr(self._call, name)

    def __hash__(self):
        return hash(self._call)

    def __eq__(self, other):
        return self._call == getattr(other, "_call", other)

    def run(self, *values, **named):
        """Compute it."""
        call, values = self._call, list(values)
        rule = _RULES.get(call.func.overloadpacket)
        out = NotImplemented if rule is None else rule(call, values, named)
        return _general(call, values, named, self._ranks) if out is NotImplemented else out


def _axes(value) -> int:
    return value.dim() if type(value) is PerRank or isinstance(value, torch.Tensor) else 0


# -- rules: how calls on values of one rank are done on all ranks' ---------------------------------

_Rule = Callable[[Any, list, dict], Any]
_RULES: dict[Any, _Rule] = {}


def _rule(names: str):
    """Let a function be the rule of overload packets, and of those that work in place."""

    def keep(function: _Rule) -> _Rule:
        for name in names.split():
            for full in (name, name + "_"):
                if hasattr(_aten, full):
                    _RULES[getattr(_aten, full)] = function
        return function

    return keep


@_rule(
    "abs add addcdiv addcmul bitwise_and bitwise_not bitwise_or ceil clamp clamp_max clamp_min "
    "clone cos div elu elu_backward eq erf exp floor ge gelu gelu_backward gt hardtanh isfinite "
    "isinf isnan le leaky_relu leaky_relu_backward lerp log log1p logical_and logical_not "
    "logical_or lt masked_fill maximum minimum mul ne neg pow reciprocal relu remainder round "
    "rsqrt rsub sigmoid sigmoid_backward sign silu silu_backward sin softplus sqrt square sub tanh "
    "tanh_backward threshold_backward where fill zero copy"
)
def _elementwise(call, values, named):
    tensors = [v for v in values if type(v) is PerRank or isinstance(v, torch.Tensor)]
    axes = max(v.dim() for v in tensors)
    if axes and any(v.dtype != tensors[0].dtype and not v.dim() for v in tensors):
        return NotImplemented  # a number weighs less when dtypes are promoted
    if named.get("memory_format") in (torch.channels_last, torch.channels_last_3d):
        return NotImplemented
    made = call.run(*[aligned(v, axes) for v in values], **named)
    return values[0] if call.returns_written else PerRank(made)


@_rule("_to_copy")
def _same_axes(call, values, named):
    return PerRank(call.run(values[0].each, *values[1:], **named))


@_rule("ones_like zeros_like full_like empty_like rand_like randn_like new_empty new_full "
       "new_zeros new_ones new_empty_strided")  # fmt: skip
def _made_like(call, values, named):
    return call.run(values[0].each[0], *values[1:], **named)  # equal on all ranks


@_rule("mean sum amax amin prod argmax argmin any all logsumexp")
def _reduction(call, values, named):
    value, *rest = values
    axes = value.dim()
    if not axes:
        return NotImplemented
    if call.name in ("aten::mean", "aten::sum") or (rest and rest[0] in (None, [])):
        if call.name.startswith(("aten::mean", "aten::sum")):
            keeps = len(rest) > 1 and rest[1]
            made = (_aten.mean.dim if "mean" in call.name else _aten.sum.dim_IntList)(
                value.each, list(range(1, axes + 1)), keeps, **named)  # fmt: skip
            return PerRank(made)
        return NotImplemented
    if not rest:
        return NotImplemented
    return PerRank(call.run(value.each, _later(rest[0]), *rest[1:], **named))


def _later(axis):
    """Return an axis, or axes, behind that of ranks; negative ones count from the end."""
    if isinstance(axis, list | tuple):
        return [_later(one) for one in axis]
    return axis + 1 if axis >= 0 else axis


@_rule("_softmax _log_softmax unsqueeze squeeze select slice unbind split split_with_sizes "
       "cumsum flip tril triu _safe_softmax")  # fmt: skip
def _along(call, values, named):
    """Do a call whose only mention of axes is its first argument (or second, of a split)."""
    value, *rest = values
    base = call.counter.removeprefix("aten::")
    if base in ("tril", "triu"):
        return PerRank(call.run(value.each, *rest, **named))
    if not value.dim() and base != "unsqueeze":
        return NotImplemented
    place = 1 if base.startswith("split") else 0
    if base == "squeeze" and not rest:
        return NotImplemented
    default = 0 if base in ("unbind", "slice", "split", "split_with_sizes") else None
    if len(rest) <= place:
        rest += [default] * (place + 1 - len(rest))
    if rest[place] is None:
        return NotImplemented
    rest[place] = _later(rest[place])
    made = call.run(value.each, *rest, **named)
    return [PerRank(one) for one in made] if isinstance(made, list | tuple) else PerRank(made)


@_rule("_softmax_backward_data _log_softmax_backward_data")
def _softmax_backward(call, values, named):
    grad, output, axis, dtype = values
    if not output.dim() or type(output) is not PerRank:
        return NotImplemented
    ranks = len(output.each)
    return PerRank(call.run(rows_of(grad, ranks), output.each, _later(axis), dtype))


@_rule("t transpose permute view _unsafe_view reshape expand alias detach")
def _view(call, values, named):
    value, *rest = values
    each, base = value.each, call.counter.removeprefix("aten::")
    if base == "t":
        made = each.transpose(1, 2) if value.dim() == 2 else _aten.alias(each)
    elif base == "transpose":
        made = _aten.transpose.int(each, _later(rest[0]), _later(rest[1]))
    elif base == "permute":
        axes = [axis % value.dim() for axis in rest[0]]
        made = _aten.permute(each, [0, *_later(axes)])
    elif base == "expand":
        made = _aten.expand(aligned(value, len(rest[0])), [len(each), *rest[0]])
    elif base in ("alias", "detach"):
        made = _aten.alias(each)
    elif call.name == "aten::view.dtype":
        return NotImplemented
    else:
        made = call.run(each, [len(each), *rest[0]])
    return PerRank(made)


@_rule("cat stack")
def _joined(call, values, named):
    parts, *rest = values
    axis = rest[0] if rest else 0
    ranks = next(len(one.each) for one in parts if type(one) is PerRank)
    if any(_axes(one) != _axes(parts[0]) for one in parts):
        return NotImplemented  # an empty part may have one axis
    return PerRank(call.run([rows_of(one, ranks) for one in parts], _later(axis), **named))


@_rule("mm")
def _mm(call, values, named):
    a, b = values
    if type(b) is not PerRank:
        ranks, rows, inner = a.each.shape
        return PerRank(torch.mm(a.each.reshape(ranks * rows, inner), b).view(ranks, rows, -1))
    return PerRank(torch.bmm(rows_of(a, len(b.each)), b.each))


@_rule("addmm")
def _addmm(call, values, named):
    bias, a, b = values
    if type(bias) is not PerRank and type(b) is not PerRank and bias.dim() < 2:
        ranks, rows, inner = a.each.shape
        flat = call.run(bias, a.each.reshape(ranks * rows, inner), b, **named)
        return PerRank(flat.view(ranks, rows, -1))
    ranks = next(len(v.each) for v in values if type(v) is PerRank)
    return PerRank(torch.baddbmm(aligned(bias, 2), rows_of(a, ranks), rows_of(b, ranks), **named))


@_rule("bmm baddbmm")
def _bmm(call, values, named):
    ranks = next(len(v.each) for v in values if type(v) is PerRank)
    *bias, a, b = (rows_of(v, ranks) for v in values)
    if bias and bias[0].dim() != 4:
        return NotImplemented
    flat = [one.reshape(-1, *one.shape[2:]) for one in (a, b)]
    if bias:
        bias = [bias[0].expand(ranks, a.shape[1], *bias[0].shape[2:]).flatten(0, 1)]
    return PerRank(call.run(*bias, *flat, **named).view(ranks, a.shape[1], a.shape[2], -1))


@_rule("_adaptive_avg_pool2d _adaptive_avg_pool2d_backward avg_pool2d avg_pool2d_backward "
       "max_pool2d_with_indices max_pool2d_with_indices_backward convolution")  # fmt: skip
def _as_one_batch(call, values, named):
    """Do a call on pictures of all ranks as on those of one long batch."""
    ranks = next((len(v.each) for v in values if type(v) is PerRank and v.dim() == 4), 0)
    plain = 1 if call.counter == "aten::convolution" else len(values)
    if not ranks or named or differ(values[plain:]):
        return NotImplemented
    batch = [rows_of(v, ranks).flatten(0, 1) if type(v) is PerRank or isinstance(v, torch.Tensor)
             else v for v in values[:plain]]  # fmt: skip
    made = call.run(*batch, *values[plain:])
    if isinstance(made, torch.Tensor):
        return PerRank(made.unflatten(0, (ranks, -1)))
    return tuple(PerRank(one.unflatten(0, (ranks, -1))) for one in made)


@_rule("convolution_backward")
def _convolution_backward(call, values, named):
    grad, given, weight, *rest, wanted = values
    if not all(type(one) is PerRank and one.dim() == 4 for one in (grad, given)) or differ(
        [weight]
    ):
        return NotImplemented
    ranks = len(grad.each)
    back = None
    if wanted[0]:
        flat = [one.each.flatten(0, 1) for one in (grad, given)]
        back = call.run(*flat, weight, *rest, [True, False, False])[0]
        back = PerRank(back.unflatten(0, (ranks, -1)))
    own = _in_turn(call, [grad, given, weight, *rest, [False, *wanted[1:]]], named, ranks)
    return (back, *own[1:])


@_rule("native_layer_norm_backward")
def _layer_norm_backward(call, values, named):
    grad, given, *rest, wanted = values
    if type(given) is not PerRank or differ([rest[-1], rest[-2]]):
        return NotImplemented
    ranks = len(given.each)
    whole = [one.each if type(one) is PerRank else one for one in rest]
    back = call.run(rows_of(grad, ranks), given.each, *whole, [wanted[0], False, False])[0]
    own = _in_turn(call, [grad, given, *rest, [False, *wanted[1:]]], named, ranks)
    return (PerRank(back) if wanted[0] else None, *own[1:])


@_rule("embedding_dense_backward")
def _embedding_backward(call, values, named):
    """Give each rank a table of its own, one behind the other."""
    grad, indices, count, padding, scales = values
    if type(grad) is not PerRank or padding >= 0 or scales:
        return NotImplemented
    ranks = len(grad.each)
    begins = (torch.arange(ranks) * count).view(ranks, *[1] * indices.dim())
    made = call.run(grad.each, rows_of(indices, ranks) + begins, ranks * count, padding, scales)
    return PerRank(made.unflatten(0, (ranks, count)))


@_rule("native_layer_norm")
def _layer_norm(call, values, named):
    if type(values[0]) is not PerRank or differ(values[1:]):
        return NotImplemented
    made = call.run(values[0].each, *values[1:])
    return tuple(PerRank(one) for one in made)


@_rule("embedding")
def _embedding(call, values, named):
    table, indices, *rest = values
    if type(table) is PerRank:
        return NotImplemented
    return PerRank(call.run(table, indices.each, *rest))


@_rule("nll_loss_backward")
def _nll_loss_backward(call, values, named):
    """Give the gradient of all ranks' as that of one long batch, its mean taken by hand."""
    grad, scores, target, weight, reduction, ignored, total = values
    if type(scores) is not PerRank or scores.dim() != 2 or differ([weight]) or not reduction:
        return NotImplemented
    ranks, rows, classes = scores.each.shape
    grads = rows_of(grad, ranks)
    if reduction == 1:
        grads = grads / rows_of(total, ranks)
    flat = grads.reshape(ranks, 1).expand(ranks, rows).reshape(-1)
    targets = rows_of(target, ranks).reshape(-1)
    made = call.run(flat, scores.each.reshape(-1, classes), targets, weight, 0, ignored,
                    flat.new_zeros(()))  # fmt: skip
    return PerRank(made.view(ranks, rows, classes))


@_rule("nll_loss_forward")
def _one_by_one(call, values, named):
    ranks = next(len(v.each) for v in values if type(v) is PerRank)
    return _in_turn(call, values, named, ranks)


# -- the general way ------------------------------------------------------------------------------


def _general(call, values, named, ranks: int):
    """Do any call on all ranks' values."""
    if call.is_view:
        return _any_view(call, values, named)
    return _in_turn(call, values, named, ranks)


def _any_view(call, values, named):
    """Look at each rank's storage as the call looks at the first one's."""
    value, *rest = values
    each = value.each
    first = call.run(each[0], *rest, **named)
    made = [
        PerRank(each.as_strided((len(each), *one.shape), (each.stride(0), *one.stride()),
                                one.storage_offset()))
        for one in (first if isinstance(first, list | tuple) else [first])
    ]  # fmt: skip
    return made if isinstance(first, list | tuple) else made[0]


def _in_turn(call, values, named, ranks):
    """Do a call rank by rank, all with the same random numbers."""

    def of(given, rank):
        if type(given) is PerRank:
            return given.each[rank]
        if type(given) is list:
            return [of(one, rank) for one in given]
        return given

    draws = torch.Tag.nondeterministic_seeded in call.func.tags
    state, made = torch.get_rng_state() if draws else None, []
    for rank in range(ranks):
        if draws:
            torch.set_rng_state(state)
        made.append(call.func(*[of(one, rank) for one in values],
                              **{key: of(one, rank) for key, one in named.items()}))  # fmt: skip
    if call.writes:
        return None  # rows are views, and are written
    if isinstance(made[0], list | tuple):
        return tuple(_stacked(call, one) if isinstance(one[0], torch.Tensor) else one[0]
                     for one in zip(*made, strict=True))  # fmt: skip
    return _stacked(call, made)


def _stacked(call, made) -> PerRank:
    if any(one.shape != made[0].shape for one in made):
        raise RankAsked(f"{call.name} has results of other shapes on each rank")
    return PerRank(torch.stack(made))
