"""Compiled graphs: how a training script becomes a program for the chip.

Modelled: PyTorch/XLA's way on Neuron, 2022 to 2026.  Operations on lazy tensors build a graph;
``mark_step`` (or whoever asks for a value) cuts it, looks it up or compiles it, and runs it.  The
graph is immutable and hash-consed and knows nothing of who wrote it; the compiler simplifies and
fuses it and lowers every operation to a NeuronCore's instructions, which are placed, scheduled and
explained as a kernel's are.  Left out: compile time (none is invented), layouts other than
row-major, what the real compiler keeps on chip between operations.

Sources: `aws-neuron-sdk`'s PyTorch guides of those years.  Read first: ``graph.py``,
``operations/table.py``, ``autograd.py``, ``lowering.py``.  Notebook: ``06_lazy_execution``.
"""
