"""What the author of a training script can do about a habit of its graph."""

from trainium_edu.neuroncore.advice.remedies import Words, sentences

__all__ = ["WORDS"]

#: The remedies in the words of graphs.
WORDS = Words("graph", sentences(2))
