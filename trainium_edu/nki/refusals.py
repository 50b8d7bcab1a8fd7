"""What kernels are refused for: the sentences of ``refusals.toml``, by name.

A sentence says what was asked for, the limit, why it exists and what to try.  One that fits in a
line is written where it is raised; the longer ones are together, to be read and compared.
"""

from trainium_edu.nki.rows import read
from trainium_edu.specs.errors import NkiValidationError

__all__ = ["misuse", "refusal", "sentence"]


def sentence(key: str, /, **values) -> str:
    """Return a sentence, such as "tensor.not_contiguous", about some values."""
    subject, name = key.split(".")
    return read("refusals.toml")[subject][name].format(**values)


def refusal(key: str, /, **values) -> NkiValidationError:
    """Return the error for a limit of the hardware."""
    return NkiValidationError(sentence(key, **values))


def misuse(key: str, /, **values) -> TypeError:
    """Return the error for a value of another kind than a function takes."""
    return TypeError(sentence(key, **values))
