"""What a kernel's author can do about a habit, in NKI's own names."""

from trainium_edu.neuroncore.advice.remedies import CUSTOM_OPERATORS, Remedy, Words
from trainium_edu.nki.language.matrix import REPEATING
from trainium_edu.nki.rows import read

__all__ = ["WORDS"]

_REMEDIES = CUSTOM_OPERATORS | {
    Remedy(name): sentence for name, sentence in read("remedies.toml").items()
}

#: The remedies in the words of kernels.
WORDS = Words(
    "kernel", _REMEDIES, prefix="nl.",
    calls={
        REPEATING: "nl.broadcast_to", "while_register": "while over a register",
        "reinterpret_cast": "reinterpret_cast (or view), then vector_select",
    },
)  # fmt: skip
