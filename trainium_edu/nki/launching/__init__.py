"""How one call becomes programs, and their end an answer.

``executing`` runs a kernel's programs, ``arguments`` turns arrays into tensors and back, ``launch``
lets programs wait for each other, ``explaining`` says what an error of Python means for a kernel.
What computes is loaded here, with the first call: ``import trainium_edu.nki`` compiles nothing.
"""

from trainium_edu.aside import load

__all__ = ["execute"]

#: What a call and its ``Run`` import late, here first: where Ctrl-C leaves nothing half imported.
_LATE = (
    "neuroncore.engines", "neuroncore.execution.deferred", "neuroncore.recording.core",
    "neuroncore.timing.measure", "neuroncore.timing.why", "neuroncore.run",
    "neuroncore.advice.advise", "nki.launching.executing",
)  # fmt: skip


def __getattr__(name):
    if name != "execute":
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    for module in _LATE:
        executing = load(f"trainium_edu.{module}")
    globals()[name] = executing.execute
    return executing.execute
