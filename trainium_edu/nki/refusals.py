"""What kernels are refused for: the sentences of ``refusals.toml``, by name.

A sentence says what was asked for, the limit, why it exists and what to try.
"""

from trainium_edu.specs.errors import NkiValidationError, sentences

__all__ = ["misuse", "refusal", "sentence"]


sentence = sentences(__file__)


def refusal(key: str, /, **values) -> NkiValidationError:
    """Return the error for a limit of the hardware."""
    return NkiValidationError(sentence(key, **values))


def misuse(key: str, /, **values) -> TypeError:
    """Return the error for a value of another kind than a function takes."""
    return TypeError(sentence(key, **values))
