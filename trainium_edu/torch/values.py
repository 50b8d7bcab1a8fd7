"""Values of calls: by PyTorch on the CPU, rounded after each as the chip rounds.

Of FP32 tensors under ``XLA_USE_BF16``, and of 16-bit ones under stochastic rounding, a result is
computed in FP32 and rounded once.  ``--auto-cast`` rounds operands too.  The executor of ``xla``
rounds once per operation of the compiled graph, this module once per call of PyTorch.  Where calls
are fused, or one call is several operations, the two differ by some units of the last place.

Numbers of Python and data of the host are rounded on the host, to nearest, before they get here:
what a 16-bit tensor meets has 16 bits.  So ``0 * torch.finfo(torch.float32).min`` is NaN in BF16,
where that minimum is -infinity.
"""

from functools import lru_cache
from typing import Any

import numpy as np
import torch
from torch.utils._pytree import tree_leaves, tree_map

from trainium_edu.numerics import rounding
from trainium_edu.torch.calls import Call, on_meta

__all__ = ["Values"]

_NUMBERS = {float, int}

_FORMATS = {torch.bfloat16: "bf16", torch.float16: "fp16", torch.float8_e4m3fn: "fp8_e4m3",
            torch.float8_e5m2: "fp8_e5m2"}  # fmt: skip


class Values:
    """The rounding of results.

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
        #: what comes in, and what results are stored as, by dtype
        self.held = {dtype: "bf16" for dtype in (torch.float32, torch.float64)
                     if narrowed.get(str(dtype)[6:]) == "bfloat16"}  # fmt: skip
        self.fp32 = torch.float32 in self.held
        self.cast, self.cast_type = cast, cast_type
        self.stored = self.held or ({torch.float32: cast_type} if cast == "all" else {})
        self.is_plain = not self.stored and cast == "none" and mode == "nearest"
        self._dtypes: dict[tuple, list] = {}

    def begin(self, step: int) -> None:
        """Draw other random bits from here on: those of a step."""
        self.draw = step * 2**20

    def settle(self, value: torch.Tensor) -> torch.Tensor:
        """Round what came in to what the device holds, as the host does: to nearest, in place."""
        if value.dtype in self.held:
            value.copy_(value.to(torch.bfloat16))
        return value

    def round(self, value: torch.Tensor, fmt: str) -> torch.Tensor:
        """Round FP32 or FP64 numbers in place, each by bits of its own."""
        if value.dtype is torch.float64:
            return value.copy_(self.round(value.float(), fmt))
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
        if call.numbers and (self.stored or getattr(values[0], "dtype", None) is not torch.float32):
            values, named = self._with_numbers(call, values, named)
        if self.is_plain or call.is_view or call.moves:
            return call.run(*values, **named)
        if self.cast == "matmult" and call.products:
            return self._product(call, values, named)
        if self.cast == "all":
            values = [self._narrow(one, i in call.writes) for i, one in enumerate(values)]
        if self.mode == "stochastic" and any(map(_is_narrow, tree_leaves((values, named)))):
            return self._tossed(call, values, named)
        out = call.run(*values, **named)
        for which in call.writes:
            self._store(named.get(which) if isinstance(which, str) else values[which])
        return out if call.returns_written else self._store(out)

    def _store(self, out):
        """Round results to what they are kept in; in place."""
        if self.stored:
            for one in out if isinstance(out, tuple | list) else (out,):
                if isinstance(one, torch.Tensor) and one.dtype in self.stored:
                    self.round(one, self.stored[one.dtype])
        return out

    def _with_numbers(self, call, values, named):
        """Return arguments with Python's numbers in the format of the tensors that they meet."""
        if not any(map(_is_number, _arguments(call, values, named))):
            return values, named
        formats: dict[bool, set] = {True: set(), False: set()}  # of tensors with axes, and without
        for argument in (*values, *named.values()):
            for tensor in argument[:1] if isinstance(argument, list) else (argument,):
                if isinstance(tensor, torch.Tensor) and tensor.dtype.is_floating_point:
                    fmt = self.stored.get(tensor.dtype) or _FORMATS.get(tensor.dtype)
                    formats[tensor.dim() > 0].add(fmt)
        met, kinds = formats[True] or formats[False], (float, int)
        if not met:  # a float makes FP32 of integers, and so does a factory
            met = {self.stored.get(named.get("dtype") or torch.get_default_dtype())}
            kinds = (float,)
        (fmt,) = met if len(met) == 1 else (None,)

        def held(argument):
            if isinstance(argument, list):
                return [held(part) for part in argument]
            return _in_format(argument, fmt) if type(argument) in kinds else argument

        if fmt is None:
            return values, named
        values = [held(v) if i in call.numbers else v for i, v in enumerate(values)]
        return values, {k: held(v) if k in call.numbers else v for k, v in named.items()}

    # -- auto-cast --------------------------------------------------------------------------------

    def _narrow(self, value, in_place: bool = False):
        """Return FP32 numbers rounded to the type of auto-cast; in a copy, as a rule."""
        if isinstance(value, list):
            return [self._narrow(one, in_place) for one in value]
        if not isinstance(value, torch.Tensor) or value.dtype is not torch.float32:
            return value
        return self.round(value if in_place else value.clone(), self.cast_type)

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
        wide, wide_named = tree_map(_widened, (values, named))
        out = call.run(*wide, **wide_named)
        for which in call.writes:
            pair = (named, wide_named) if isinstance(which, str) else (values, wide)
            old, new = (side[which] for side in pair)
            for target, result in zip(tree_leaves(old), tree_leaves(new), strict=True):
                if target is not result:
                    target.copy_(self.round(result, _FORMATS[target.dtype]))
        results = out if isinstance(out, tuple | list) else (out,)
        found = [self._as(one, kind) for one, kind in zip(results, kinds, strict=True)]
        return type(out)(found) if isinstance(out, tuple | list) else found[0]

    def _as(self, value, kind):
        if not isinstance(value, torch.Tensor) or value.dtype is kind:
            return self._store(value)
        return self.round(value.float(), _FORMATS[kind]).to(kind)

    def _kinds(self, call, values, named) -> list:
        """Return the dtypes of results, as PyTorch gives them to these operands."""
        key = call, *map(_kind, values), *named, *map(_kind, named.values())
        found = self._dtypes.get(key)
        if found is None:
            out = call.func(*on_meta(values), **on_meta(named))
            results = out if isinstance(out, tuple | list) else (out,)
            found = self._dtypes[key] = [getattr(one, "dtype", None) for one in results]
        return found


def _arguments(call, values, named):
    """Yield the arguments that may be numbers of Python."""
    for at in call.numbers:
        if type(at) is str:
            yield named.get(at)
        elif at < len(values):
            yield values[at]


def _is_number(argument) -> bool:
    """Return whether an argument is a number of Python, or a list of some."""
    if type(argument) is list and argument:
        argument = argument[0]
    return type(argument) in _NUMBERS


@lru_cache(4096)
def _in_format(number, fmt: str):
    """Return a number of Python as the host rounds it for the device."""
    with np.errstate(over="ignore"):
        rounded = rounding.round_floats(np.array([number]).astype(np.float32), fmt).item()
    return number if rounded == number else rounded


def _is_narrow(value) -> bool:
    if type(value) is torch.dtype:
        return value in _FORMATS
    return isinstance(value, torch.Tensor) and value.dtype in _FORMATS


def _widened(value):
    if not _is_narrow(value):
        return value
    return torch.float32 if type(value) is torch.dtype else value.float()


def _kind(value):
    """Return what the dtype of a result may depend on."""
    if isinstance(value, list):
        return tuple(map(_kind, value))
    if isinstance(value, torch.Tensor):
        return value.dtype, value.dim() == 0
    return value if type(value) in (torch.dtype, bool) else type(value)
