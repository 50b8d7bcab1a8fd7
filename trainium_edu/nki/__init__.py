"""AWS's kernel language on a laptop: ``import trainium_edu.nki as nki``, or ``nki.activate()``.

Names, argument order, defaults, limits and errors follow the public reference of NKI (its version:
``specs.SOFTWARE.nki_version``) as far as NeuronCore-v2 can do it; ``nki.coverage()`` lists all.

Modelled: values (FP32 inside, one rounding at the end), every limit, time with its reasons.
Left out: AWS's compiler; a kernel runs as Python, so it may do more than the compiler accepts.
Refused or said: branches on what the chip computes (``asking.py``), what AWS lists as failing on
hardware (``specs.NKI_KNOWN_ISSUES``, ``neuroncore/advice/only_here.py``; values stay).
Ours beside it: ``nki.run`` → ``Run`` (outputs, programs, placement, timeline, advice), and
``nki.compare(before, after)``: how many times as fast, and how sure that is.

Read ``kernel.py`` first, then ``instructions.toml``, ``issuing.py`` and ``running.py``; what a
kernel is refused for is in ``refusals.toml``.  Used by the notebook ``05_kernels``.
Decision: an NkiTensor holds a view and is none; NKI counts in elements, engines in bytes.
"""

from trainium_edu import names
from trainium_edu.nki import isa, language
from trainium_edu.nki.earlier import names_of
from trainium_edu.nki.objects.dtypes import DType as dtype

__all__, __getattr__, __dir__ = names.late(__name__, {
    "coverage_table": "coverage",
    "drop_in": "activate deactivate",
    "kernel": "jit load run run_ranks simulate",
    ".neuroncore.run": "Run",
    ".neuroncore.scoreboard": "compare",
}, "collectives typing", missing=names_of(__name__, "nki"))  # fmt: skip
__all__ += ["dtype", "isa", "language"]
