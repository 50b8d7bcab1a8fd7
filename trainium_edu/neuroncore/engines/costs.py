"""What an instruction costs: the documented formulas, evaluated.

A formula is a fact of the chip's record, text in the names N (free elements per partition), MIN
(the least initiation interval) and a few more; nothing here repeats its numbers.
"""

from functools import lru_cache

from trainium_edu.neuroncore.recording.engine import Engine, Memory

__all__ = ["mode", "packed", "price", "priced", "strided"]


def price(chip, name: str, n: float, /, *, is_strided=False, **more) -> float:
    """Return the cycles that the formula ``chip.cycles.<name>`` gives for `n` elements.

    Parameters
    ----------
    chip : specs.Record
    name : str
    n : float
        Free elements per partition.
    is_strided : bool
        An operand's innermost stride is over 16 bytes, so its port runs at half speed.
    **more
        Further names of the formula: ``P``, ``F``, ``K``, ``valid_indices``, ...

    Examples
    --------
    >>> from trainium_edu.specs import TRN1
    >>> price(TRN1, "tensor_tensor", 512)
    1024.0
    """
    costs = chip.cycles
    if is_strided:
        n = n / chip.limits.long_stride_factor.value
    formula = _compiled(getattr(costs, name).value, tuple(more))
    return float(formula(n, costs.min_initiation_cycles.value, *more.values()))


def priced(name, *tiles, any_stride=False, fast=None, when=None, has_modes=False) -> dict:
    """Return the work, cycles and facts of a row whose time is a formula of N.

    Parameters
    ----------
    name : str
        The formula's.
    *tiles : str
        Operands whose strides matter; the first gives N.
    any_stride : bool
        No stride matters.
    fast : str, optional
        Another formula, which holds where ``when(call)``.
    when : callable, optional
    has_modes : bool
        The Vector Engine of later chips is twice or four times as fast on narrow or packed tiles.
    """

    def work(call):
        amounts = (call.__dict__[tiles[0]].free_size,)
        if not any_stride:
            amounts += (strided(call, *tiles),)
        if when is not None:
            amounts += (when(call),)
        if has_modes and hasattr(call.core.spec.cycles, f"{name}_2x"):
            amounts = (*amounts, *(False,) * (3 - len(amounts)), mode(call, *tiles))
        return amounts

    def cycles(chip, engine, n, is_strided=False, is_fast=False, mode=""):
        if mode and engine is Engine.VECTOR:
            return price(chip, f"{name}_{mode}", n, is_strided=is_strided)
        return price(chip, fast if is_fast else name, n, is_strided=is_strided)

    facts = tuple(f"cycles.{each}" for each in (name, fast) if each)
    return {"work": work, "cycles": cycles, "facts": facts}


def mode(call, *roles) -> str:
    """Return the Vector Engine's performance mode for some tiles, "4x" or "2x", or "" for none.

    A lane takes four 16-bit numbers in a cycle, or two others; two where two tiles are read.
    """
    tiles = [call.__dict__[role] for role in roles]
    is_narrow = all(tile.dtype.name in ("bfloat16", "float16") for tile in tiles)
    if len(tiles) > 2:
        return "2x" if is_narrow and all(t.memory is Memory.SBUF for t in tiles[1:]) else ""
    in_sbuf = all(tile.memory is Memory.SBUF for tile in tiles)
    return ("", "", "2x", "4x")[is_narrow + all(map(packed, tiles)) + in_sbuf]


def packed(view) -> bool:
    """Return whether each partition's elements lie one after another."""
    step = view.dtype.itemsize
    for size, stride in zip(reversed(view.shape[1:]), reversed(view.strides[1:]), strict=True):
        if size > 1 and stride != step:
            return False
        step *= size
    return True


@lru_cache(maxsize=256)
def _compiled(formula: str, names: tuple):
    """Return a fact's formula as a function of N, MIN and further names."""
    arguments = ", ".join(("N", "MIN", *names))
    return eval(
        compile(f"lambda {arguments}: {formula}", f"<{formula}>", "eval"),
        {"__builtins__": {}, "max": max, "min": min},
    )


def strided(call, *roles) -> bool:
    """Return whether an operand's innermost stride exceeds the 16 bytes of a full-rate access."""
    for role in roles:
        view = call.__dict__.get(role)
        strides = getattr(view, "strides", None)
        if strides is None or (strides[-1] <= 16 and view.shape[-1] > 1):
            continue
        for axis in range(len(strides) - 1, 0, -1):
            if view.shape[axis] > 1:
                if strides[axis] > 16:
                    return True
                break
    return False
