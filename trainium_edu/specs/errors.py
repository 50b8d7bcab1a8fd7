"""The one error that speaks for the hardware."""

__all__ = ["NkiValidationError"]


class NkiValidationError(ValueError):
    """A limit of the hardware was passed; the name is AWS's own, so that code written here moves.

    The message says what was asked for, the limit, why it exists, and what to try.
    """
