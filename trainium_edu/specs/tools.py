"""What the tools around a run print of a machine, and how often they look."""

from trainium_edu.specs.sources import stated

__all__ = ["TOOLS"]

TOOLS = stated("neuron-ls, neuron-top, neuron-monitor and neuron-profile")
