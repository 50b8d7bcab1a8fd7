"""Operators of one's own in C++, on the GpSimd Engine's eight processors.

Modelled: Neuron's custom operators as their guide and reference have them.  These are shape and
kernel functions, the tensor library, element, streaming and TCM accessors with 16 KB of TCM for
each processor, coherence policies, several processors, ``printf``, the stack.  The C++ compiler
makes a program of the sources, unmodified, against small headers of our own; it runs in processes
of its own with limits on time and memory, never in Python's.  What it does is counted and priced
from three published throughputs.  Found, and named by line: access out of bounds (tensors, TCM and
the heap are between guarded pages; the compiler checks plain arrays) and memory that was freed.
Also a full pool, a stack that is too deep, a loop without end (also in library calls: several
stacks are looked at), an exception, and races between processors.

Left out: the processors' own instruction set and vectors (a stretch of code has one price), what
streams overlap, conflicts of eight processors for HBM, floating point beyond C++14's.  Compilers
report an uninitialised local variable, or one that is gone, where they are sure; else the former
holds NaN (clang), -1.7e38 (GCC 12 on) or an integer that is not an index.  Not found: use of a
variable that is gone where they are not sure; what another function's pointer to an array does
inside the array's struct, or reads past a plain one (an index by the array's own name is checked in
both).  Of the heap the first 4,000 pieces are guarded, up to 32 MiB each, with glibc.
Programs are the learner's own: the limits keep a notebook alive but do not stop malice.

Sources: `aws-customop-guide`, `aws-customop-api`, `aws-customop-perf`.  Read first: ``library.py``,
``worker.py``, ``cpp/include/torch/tensor.h``, ``cpp/runtime.cpp``.

Decisions
    Threads, processes, files and sockets are refused: the processors' environment is "without
    linux" (documented in the guide); which functions that takes away is our list (``guards.cpp``).
    Processors of one call run one after the other here: they have no way to wait for each other, so
    any order is allowed, and with this one a program gives the same every time.
    An element access returns a plain reference, as in PyTorch; it counts once where it is named,
    so ``a[i] += 1`` counts as one trip.
"""

from trainium_edu import names

_HOMES = {
    "compiler": "find_compiler",
    "library": "Library Operator load load_library",
    "mistakes": "CompileError NoCompilerError OperatorError",
    "results": "OperatorRun",
    "stored": "Stored",
}
__all__, __getattr__, __dir__ = names.late(  # the engines fill the instruction set
    __name__, _HOMES, first=".engines"
)
