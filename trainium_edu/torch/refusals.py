"""What scripts are refused for: the sentences of ``refusals.toml``, by name.

A sentence that fits in a line is written where it is raised; the longer ones are together, to be
read and compared.
"""

import tomllib
from pathlib import Path

from trainium_edu.torch.origins import user_line

__all__ = ["refusal", "sentence"]

_SENTENCES = tomllib.loads(Path(__file__).with_name("refusals.toml").read_text(encoding="utf-8"))


def sentence(key: str, /, **values) -> str:
    """Return a sentence, such as "tensors.layout", about some values at the script's line."""
    subject, name = key.split(".")
    return _SENTENCES[subject][name].format(line=user_line() or "the script", **values)


def refusal(key: str, kind: type = RuntimeError, /, **values) -> Exception:
    """Return the error for what the device, or this emulation of it, does not have."""
    return kind(sentence(key, **values))
