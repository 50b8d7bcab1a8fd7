"""What an instruction costs: the documented formulas, evaluated.

A formula is a fact of the chip's record, text in the names N (free elements per partition), MIN
(the least initiation interval) and a few more; nothing here repeats its numbers.
"""

from functools import lru_cache

from trainium_edu.specs import TRN1

__all__ = ["price", "priced", "strided"]


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


def priced(name, *tiles, any_stride=False, fast=None, when=None) -> dict:
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
    """
    names = (name,) if fast is None else (name, fast)
    facts = [f"cycles.{each}" for each in names]
    if any("MIN" in getattr(TRN1.cycles, each).value for each in names):
        facts.append("cycles.min_initiation_cycles")

    def work(call):
        found = (call.__dict__[tiles[0]].free_size,)
        if not any_stride:
            found += (strided(call, *tiles),)
        return found if when is None else (*found, when(call))

    def cycles(chip, engine, n, is_strided=False, is_fast=False):
        return price(chip, fast if is_fast else name, n, is_strided=is_strided)

    return {"work": work, "cycles": cycles, "facts": tuple(facts)}


@lru_cache(maxsize=256)
def _compiled(formula: str, names: tuple):
    """Return a fact's formula as a function of N, MIN and further names."""
    arguments = ", ".join(("N", "MIN", *names))
    return eval(
        compile(f"lambda {arguments}: {formula}", f"<{formula}>", "eval"),
        {"__builtins__": {}, "max": max, "min": min},
    )


def strided(call, *roles) -> bool:
    """Whether the innermost stride of an operand is over the 16 bytes of a full-rate access."""
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
