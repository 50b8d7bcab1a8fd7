"""What a kernel's author can do about a habit, in NKI's own names."""

from trainium_edu.neuroncore.advice.remedies import Words, sentences
from trainium_edu.nki.language.matrix import REPEATING

__all__ = ["WORDS"]

#: The remedies in the words of kernels.
WORDS = Words(
    "kernel", sentences(1), prefix="nl.",
    calls={
        REPEATING: "nl.broadcast_to", "while_register": "while over a register",
        "reinterpret_cast": "reinterpret_cast (or view), then vector_select",
    },
)  # fmt: skip
