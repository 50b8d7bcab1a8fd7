"""What exercises refuse: the sentences of ``refusals.toml``, by name."""

from trainium_edu.specs.errors import sentences

__all__ = ["sentence"]

sentence = sentences(__file__)
