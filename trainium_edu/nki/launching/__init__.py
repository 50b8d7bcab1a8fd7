"""How one call becomes programs, and their results an answer.

``executing`` runs a kernel's programs, ``arguments`` turns arrays into tensors and back, and
``launch`` lets programs wait for each other.  ``explaining`` says what an error of Python means for
a kernel; ``recorded`` makes a kernel on a device's tensors a part of its graph.
What computes is loaded here, with the first call: ``import trainium_edu.nki`` compiles nothing.
"""

from trainium_edu.aside import load

__all__ = ["call_on_device", "execute"]

#: What a call and its ``Run`` import late, here first: where Ctrl-C leaves nothing half imported.
_LATE = (
    "neuroncore.engines", "neuroncore.execution.deferred", "neuroncore.recording.core",
    "neuroncore.timing.measure", "neuroncore.timing.why", "neuroncore.run",
    "neuroncore.advice.advise", "nki.launching.executing", "nki.launching.recorded",
)  # fmt: skip


def __getattr__(name):
    if name not in __all__:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    for module in _LATE:
        home = load(f"trainium_edu.{module}")
    globals().update({one: getattr(home, one) for one in __all__})
    return globals()[name]


def __dir__():
    return __all__
