"""What instructions take beside tiles: choices, keywords that are not documented, results."""

from trainium_edu.names import near
from trainium_edu.nki.beta1.operation import operation, settle, tile
from trainium_edu.nki.beta1.promotion import as_dtype
from trainium_edu.nki.objects.enums import chosen
from trainium_edu.specs.errors import NkiValidationError

__all__ = ["also_written", "cast", "choice", "more", "same_dtype"]

#: Taken although the signatures do not show them: where the result lives, and its name.
_ALSO = ("buffer", "name")


def more(instruction: str, given: dict, known=(), also=_ALSO) -> dict:
    """Return the keywords beyond the documented ones; raise TypeError for an unknown one.

    Parameters
    ----------
    instruction : str
    given : dict
        What came as ``**kwargs``.
    known : iterable of str
        The documented keywords, for a hint.
    also : iterable of str
        What is taken beside them.
    """
    for name in given:
        if name not in also:
            raise TypeError(
                f"nisa.{instruction} has no keyword {name!r}{near(name, {*known, *also})}"
            )
    return given


def choice(kind, value, asks: str) -> str:
    """Return the name of a member of an enum, given as itself or by its value."""
    return chosen(kind, value, asks).name


def also_written(value, who: str):
    """Return a second result as a tile, or None: what was written there before moves out first."""
    if value is None:
        return None
    value = tile(value, who)
    settle()
    if value.storage.aliases:
        value.storage.before_write()
    return value


def same_dtype(instruction: str, value, dtype) -> None:
    """Raise where `dtype` asks for another than a tile has, of an instruction that cannot cast."""
    if dtype is not None and as_dtype(dtype) != value.kind:
        raise NkiValidationError(
            f"{instruction}: dtype is {as_dtype(dtype)}, and {value!r} is {value.kind}; this "
            "instruction does not cast, so leave dtype out and tensor_copy the result"
        )


def cast(value, dtype, mask=None):
    """Return a result of an instruction that moves bits, copied where another dtype is asked."""
    if dtype is None or as_dtype(dtype) == value.kind:
        return value
    return operation("tensor_copy", value.shape, dtype, mask=mask, src=value)
