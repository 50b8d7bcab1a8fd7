"""Compiled graphs: how a training script becomes a program for the chip.

Modelled: PyTorch/XLA's way on Neuron, 2022 to 2026.  Operations on lazy tensors build a graph;
``mark_step`` (or a question for a value) cuts it, looks it up or compiles it, and runs it.  The
graph is immutable and hash-consed and knows nothing of who wrote it; the compiler simplifies and
fuses it and lowers every operation to a NeuronCore's instructions, which are placed, scheduled and
explained as a kernel's are.  A kernel in NKI called with lazy tensors is one node, a custom call.
Left out: compile time (none is invented), layouts other than row-major, what the real compiler
keeps on chip between operations.

Sources: `aws-torch-guide`, `aws-torch-variables`, `aws-caching`, `aws-torch-debug`.  Read first:
``graph.py``, ``operations/table.py``, ``autograd.py``, ``lowering.py``; to write a loop,
``tensor.py``, ``numpy.py`` and ``xm.py``.  Notebook: ``06_lazy_execution``.

>>> from trainium_edu import xla
>>> device = xla.Device()
>>> w = xla.as_tensor([3.0, 4.0], device).requires_grad_()
>>> (w * w).sum().backward()
>>> device.mark_step()
>>> w.grad.numpy().tolist()
[6.0, 8.0]
"""

from trainium_edu import names

_HOMES = {
    "autograd": "gradients",
    "compiler": "Compiler Event difference",
    "control": "cond while_loop",
    "device": "Device World current_world world",
    "executable": "Executable describe",
    "executor": "Plan Setting",
    "graph": "Graph GraphError Type scope",
    "loader": "MpDeviceLoader",
    "metrics": "metrics_report",
    "operations": "OPERATIONS",
    "numpy": "Tensor as_tensor",  # of tensor.py; numpy.py gives tensors their methods
    "tensor": "EarlyRun NotFinite custom_op",
}
# Numba and what it compiles load with the first name needed
__all__, __getattr__, __dir__ = names.late(__name__, _HOMES, "distributed met=metrics numpy xm")
