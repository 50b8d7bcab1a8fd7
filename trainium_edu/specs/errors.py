"""The one error that speaks for the hardware, and sentences that errors of all floors are about."""

from collections.abc import Callable
from functools import cache

from trainium_edu.files import tables

__all__ = ["NkiValidationError", "sentences"]


class NkiValidationError(ValueError, AssertionError):
    """A limit of the hardware was passed; the name is AWS's own, so that code written here moves.

    The message says what was asked for, the limit, why it exists, and what to try.  It is an
    AssertionError too, because AWS's simulator raises one for some limits.
    """


def sentences(module: str) -> Callable[..., str]:
    """Return the function that writes a sentence of ``refusals.toml``, the file beside a module.

    It takes a key such as ``"tensor.not_contiguous"``, and the values that the sentence names.  A
    sentence that fits in a line is written where it is raised; the longer ones are together, to be
    read and compared.

    Parameters
    ----------
    module : str
        Its ``__file__``.
    """

    @cache
    def table():
        return tables(module, "refusals.toml")

    def sentence(key: str, /, **values) -> str:
        subject, name = key.split(".")
        return table()[subject][name].format(**values)

    return sentence
