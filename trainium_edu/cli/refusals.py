"""What commands refuse: the sentences of ``refusals.toml``, by name; and what an error says."""

from trainium_edu.specs.errors import sentences

__all__ = ["sentence", "sentence_of"]

sentence = sentences(__file__)


def sentence_of(error: OSError | ValueError) -> str:
    """Return what an error says to who gave a command: a file's with its name."""
    if isinstance(error, OSError) and error.strerror:
        return f"{error.filename or 'this computer'}: {error.strerror}"
    return str(error)
