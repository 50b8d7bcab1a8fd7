"""What scripts are refused for: the sentences of ``refusals.toml``, by name."""

from trainium_edu.specs.errors import sentences
from trainium_edu.torch.origins import user_line

__all__ = ["refusal", "sentence"]

_written = sentences(__file__)


def sentence(key: str, /, **values) -> str:
    """Return a sentence, such as "tensors.layout", about some values at the script's line."""
    return _written(key, line=user_line() or "the script", **values)


def refusal(key: str, kind: type = RuntimeError, /, **values) -> Exception:
    """Return the error for what the device, or this emulation of it, does not have."""
    return kind(sentence(key, **values))
