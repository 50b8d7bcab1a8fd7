"""The one error that speaks for the hardware."""

__all__ = ["NkiValidationError"]


class NkiValidationError(ValueError, AssertionError):
    """A limit of the hardware was passed; the name is AWS's own, so that code written here moves.

    The message says what was asked for, the limit, why it exists, and what to try.  It is an
    AssertionError too, because AWS's simulator raises one for some limits.
    """
