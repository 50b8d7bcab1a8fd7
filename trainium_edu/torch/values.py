"""Values of calls: by PyTorch on the CPU, rounded after each as the chip rounds.

Of FP32 tensors under ``XLA_USE_BF16``, and of 16-bit ones under stochastic rounding, a result is
computed in FP32 and rounded once.  ``--auto-cast`` rounds operands too.  The executor of ``xla``
rounds once per operation of the compiled graph, here it is once per call of PyTorch: where calls
are fused, or one call is several operations, the two differ by some units of the last place.
"""

from typing import Any

import torch

from trainium_edu.numerics import rounding
from trainium_edu.torch.calls import Call
from trainium_edu.torch.differing import PerRank

__all__ = ["Values"]

_TENSORS = (torch.Tensor, PerRank)

_FORMATS = {torch.bfloat16: "bf16", torch.float16: "fp16", torch.float8_e4m3fn: "fp8_e4m3",
            torch.float8_e5m2: "fp8_e5m2"}  # fmt: skip


class Values:
    """How results are rounded.

    Parameters
    ----------
    narrowed : dict of str to str
        The dtype that the device gives to tensors of a dtype, as ``XLA_USE_BF16`` says.
    mode : {"nearest", "stochastic"}
    seed : int
    cast : {"none", "matmult", "all"}
        As ``--auto-cast`` says.
    cast_type : {"bf16", "fp16", "tf32", "fp8_e4m3"}
    """

    def __init__(self, narrowed, mode: str, seed: int, cast: str = "none", cast_type="bf16"):
        self.mode, self.seed, self.draw = mode, seed, 0
        self.fp32 = narrowed.get("float32") == "bfloat16"
        self.cast, self.cast_type = cast, cast_type
        self.stored = "bf16" if self.fp32 else cast_type if cast == "all" else ""
        self.is_plain = not self.stored and cast == "none" and mode == "nearest"
        self.joins = self.is_plain  #: whether what PyTorch makes of parts may be one call
        self._dtypes: dict[tuple, list] = {}

    def begin(self, step: int) -> None:
        """Draw other random bits from here on: those of a step."""
        self.draw = step * 2**20

    def settle(self, value: torch.Tensor) -> torch.Tensor:
        """Round what came in to what the device holds; in place."""
        if self.fp32 and value.dtype is torch.float32:
            self.round(value, "bf16")
        return value

    def round(self, value: torch.Tensor, fmt: str) -> torch.Tensor:
        """Round FP32 numbers in place, each by bits of its own."""
        numbers = value.numpy()
        self.draw += 1
        how: Any = {"seed": self.seed, "step": self.draw}
        if numbers.flags.c_contiguous:
            rounding.round_floats(numbers, fmt, self.mode, out=numbers, **how)
        else:
            numbers[...] = rounding.round_floats(numbers, fmt, self.mode, **how)
        return value

    def compute(self, call: Call, values: list, named: dict) -> Any:
        """Return what a call gives."""
        if self.is_plain or call.is_view or call.moves:
            return call.run(*values, **named)
        if self.cast == "matmult" and call.products:
            return self._product(call, values, named)
        if self.cast == "all":
            values = [self._narrow(one, i in call.writes) for i, one in enumerate(values)]
        if self.mode == "stochastic" and any(map(_is_narrow, (*values, *named.values()))):
            return self._tossed(call, values, named)
        out = call.run(*values, **named)
        for which in call.writes:
            self._store(named.get(which) if isinstance(which, str) else values[which])
        return out if call.returns_written else self._store(out)

    def _store(self, out):
        """Round FP32 results to what they are kept in; in place."""
        if self.stored:
            for one in out if isinstance(out, tuple | list) else (out,):
                if isinstance(one, _TENSORS) and one.dtype is torch.float32:
                    self.round(one, self.stored)
        return out

    # -- auto-cast --------------------------------------------------------------------------------

    def _narrow(self, given, in_place: bool = False):
        """Return FP32 numbers rounded to the type of auto-cast; in a copy, as a rule."""
        if isinstance(given, list):
            return [self._narrow(one, in_place) for one in given]
        if not isinstance(given, _TENSORS) or given.dtype is not torch.float32:
            return given
        return self.round(given if in_place else given.clone(), self.cast_type)

    def _product(self, call, values, named):
        """Round the operands of a product; sums and results stay FP32."""
        cast = [self._narrow(v) if i in call.products else v for i, v in enumerate(values)]
        out = call.run(*cast, **named)
        if call.counter == "aten::convolution_backward" and out[2] is not None:
            grad = values[0]  # that of the bias is a plain sum
            out = (*out[:2], grad.sum((0, *range(2, grad.dim()))))
        return self._store(out)

    # -- tensors of 16 bits and less, rounded at random -------------------------------------------

    def _tossed(self, call, values, named):
        """Compute in FP32 and round once."""
        kinds = self._kinds(call, values, named)
        wide = [_widened(one) for one in values]
        wide_named = {key: _widened(one) for key, one in named.items()}
        out = call.run(*wide, **wide_named)
        for which in call.writes:
            pair = (named, wide_named) if isinstance(which, str) else (values, wide)
            old, new = (side[which] for side in pair)
            for target, result in _pairs(old, new):
                if target is not result:
                    target.copy_(self.round(result, _FORMATS[target.dtype]))
        results = out if isinstance(out, tuple | list) else (out,)
        found = [self._as(one, kind) for one, kind in zip(results, kinds, strict=True)]
        return type(out)(found) if isinstance(out, tuple | list) else found[0]

    def _as(self, value, kind):
        if not isinstance(value, _TENSORS) or value.dtype is kind:
            return self._store(value)
        return self.round(value.float(), _FORMATS[kind]).to(kind)

    def _kinds(self, call, values, named) -> list:
        """Return the dtypes of results, as PyTorch gives them to these operands."""
        key = call, *map(_kind, values), *named, *map(_kind, named.values())
        found = self._dtypes.get(key)
        if found is None:
            out = call.func(*map(_on_meta, values), **{k: _on_meta(v) for k, v in named.items()})
            results = out if isinstance(out, tuple | list) else (out,)
            found = self._dtypes[key] = [getattr(one, "dtype", None) for one in results]
        return found


def _is_narrow(given) -> bool:
    if isinstance(given, list):
        return any(map(_is_narrow, given))
    if type(given) is torch.dtype:
        return given in _FORMATS
    return isinstance(given, _TENSORS) and given.dtype in _FORMATS


def _widened(given):
    if isinstance(given, list):
        return [_widened(one) for one in given]
    if not _is_narrow(given):
        return given
    return torch.float32 if type(given) is torch.dtype else given.float()


def _pairs(old, new):
    """Yield what was written, and what it was computed in."""
    if isinstance(old, list):
        yield from zip(old, new, strict=True)
    elif old is not None:
        yield old, new


def _kind(given):
    """Return what the dtype of a result may depend on."""
    if isinstance(given, list):
        return tuple(map(_kind, given))
    if isinstance(given, _TENSORS):
        return given.dtype, given.dim() == 0
    return given if type(given) in (torch.dtype, bool) else type(given)


def _on_meta(given):
    if isinstance(given, list):
        return [_on_meta(one) for one in given]
    if type(given) is torch.device:
        return torch.device("meta")
    return given.to("meta") if isinstance(given, _TENSORS) else given
