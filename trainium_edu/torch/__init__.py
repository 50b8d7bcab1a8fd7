"""A PyTorch script on the emulated chip (extra ``[torch]``); only here is torch imported.

Modelled: PyTorch/XLA on Neuron, 2022 to 2026: the device ``xla``, which records what a script does
and runs it at ``mark_step``; for inference also ``torch_neuronx.trace``.  PyTorch computes the
values on the CPU, rounded after each operation as the chip rounds; the recorded graph gives the
time.  A kernel in NKI (or an operator in C++) called with tensors of the device is one operation of
that graph, on the chip, as AWS's guide of custom operators has it; ``nki.simulate`` and
``nki.benchmark`` are the host's and take CPU tensors.  Left out: the native ``neuron`` device of
later chips.

Sources: `aws-torch-guide`, `aws-torch-variables`.  Read first: ``tape.py``, ``tensor.py``,
``translate.py``, ``core.py``.  Notebook: ``10_your_own_script``.
"""

from trainium_edu import names

_HOMES = {
    "core": "Core ValuesOff current",
    "running": "activate deactivate last_run run_script",
}
__all__, __getattr__, __dir__ = names.late(__name__, _HOMES)
