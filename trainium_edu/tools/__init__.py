"""What other programs show: the same data as files that they open, and look-alikes of AWS's tools.

``perfetto`` writes a timeline as Chrome trace JSON: ui.perfetto.dev and chrome://tracing show it.
``tensorboard`` writes a run's curves while it trains, and where a step's time goes.
``neuron_ls``, ``neuron_top`` and ``neuron_monitor`` show what runs now on the emulated machine, as
``live`` publishes it (``python -m trainium_edu neuron-ls``, and so on); ``machine`` is what the
three look at.  ``neuron_profile`` times a kernel that was written as a ``.neff`` and sums it up
under AWS's names (``neuron-profile``, ``neuron-explorer``), or for Perfetto.
``launchers(folder)`` puts all of these commands on a PATH.
Left out: ``neuron-monitor``'s companion scripts and Kubernetes data; system profiles.
Sources: the Trace Event Format (``trace-event-format`` in ``specs.SOURCES``), the guides of the
tools (``aws-neuron-ls``, ``aws-neuron-top``, ``aws-neuron-monitor``, ``aws-neuron-profile``).

Read ``perfetto.py``, then ``machine.py``.  No notebook needs them; in any of them,
``perfetto.write(run, "run.json")``.
"""

from trainium_edu import names

__all__, __getattr__, __dir__ = names.late(
    __name__,
    {"on_path": "launchers"},
    "machine neuron_ls neuron_monitor neuron_profile neuron_top perfetto tensorboard",
)
