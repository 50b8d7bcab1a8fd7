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


@_rule("_softmax _log_softmax _safe_softmax cumsum flip")
def _along(call, values, named):
    """Do a call whose only mention of axes is its first argument."""
    value, axis, *rest = values
    if not value.dim():
        return NotImplemented
    return PerRank(call.run(value.each, _later(axis), *rest, **named))


@_rule("_to_copy tril triu")
def _as_it_is(call, values, named):
    return PerRank(call.run(values[0].each, *values[1:], **named))


@_rule("_softmax_backward_data _log_softmax_backward_data")
def _softmax_backward(call, values, named):
    grad, output, axis, dtype = values
    if not output.dim() or type(output) is not PerRank:
        return NotImplemented
    ranks = len(output.each)
    return PerRank(call.run(rows_of(grad, ranks), output.each, _later(axis), dtype))


@_rule("_unsafe_view")
def _unsafe_view(call, values, named):
    value, shape = values
    return PerRank(call.run(value.each, [len(value.each), *shape]))


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
    if call.writes and not call.makes:
        return None  # rows are views, and are written
    if isinstance(made[0], list | tuple):
        return tuple(_stacked(call, one) if isinstance(one[0], torch.Tensor) else one[0]
                     for one in zip(*made, strict=True))  # fmt: skip
    return _stacked(call, made)


def _stacked(call, made) -> PerRank:
    if any(one.shape != made[0].shape for one in made):
        raise RankAsked(f"{call.name} has results of other shapes on each rank")
    return PerRank(torch.stack(made))
