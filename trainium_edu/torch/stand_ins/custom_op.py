"""``torch_neuronx.xla_impl.custom_op``: operators in C++."""

from trainium_edu.torch.custom_operators import load, load_library

__all__ = ["load", "load_library"]
