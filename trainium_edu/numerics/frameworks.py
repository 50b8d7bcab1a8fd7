"""Arrays of other frameworks as NumPy's, and back, bit for bit.

Neither torch nor JAX is imported here: who hands an array of theirs over has imported it.  BF16 and
FP8, which NumPy has through ml_dtypes and torch by itself, go through a view of the bits.
"""

import sys

import numpy as np

__all__ = ["as_array", "framework_of", "in_framework", "is_array", "is_torch"]

_TORCH_BITS = {
    "bfloat16": ("int16", "bfloat16"),
    "float8_e5m2": ("uint8", "float8_e5m2"),
    "float8_e4m3fn": ("uint8", "float8_e4m3fn"),
}


def is_torch(value) -> bool:
    """Return whether a value is a torch tensor."""
    torch = sys.modules.get("torch")
    return torch is not None and isinstance(value, torch.Tensor)


def _is_jax(value) -> bool:
    jax = sys.modules.get("jax")
    return jax is not None and isinstance(value, jax.Array)


def is_array(value) -> bool:
    """Return whether a value is an array of NumPy, torch or JAX."""
    return isinstance(value, np.ndarray) or is_torch(value) or _is_jax(value)


def framework_of(value) -> str:
    """Return whose array a value is: "torch", "jax", or "numpy" for all else."""
    return "torch" if is_torch(value) else "jax" if _is_jax(value) else "numpy"


def as_array(value) -> np.ndarray:
    """Return the numbers of an array or a torch tensor, sharing memory where that is possible."""
    if not is_torch(value):
        return np.asarray(value)
    value = value.detach().cpu()
    bits = _TORCH_BITS.get(str(value.dtype).removeprefix("torch."))
    if bits is None:
        return value.numpy()
    import ml_dtypes

    array = value.contiguous().view(getattr(sys.modules["torch"], bits[0])).numpy()
    return array.view(getattr(ml_dtypes, bits[1]))


def in_framework(array: np.ndarray, framework: str):
    """Return an array as one of "numpy" (itself), "torch" or "jax", with the same bits.

    Examples
    --------
    >>> in_framework(np.float32([1.5, 2]), "numpy").tolist()
    [1.5, 2.0]
    """
    if framework == "torch":
        return _to_torch(array)
    return sys.modules["jax"].numpy.asarray(array) if framework == "jax" else array


def _to_torch(array):
    torch = sys.modules["torch"]
    for name, (bits, ours) in _TORCH_BITS.items():
        if array.dtype.name == ours:
            return torch.from_numpy(array.view(bits).copy()).view(getattr(torch, name))
    if array.dtype.kind == "u" and array.itemsize > 1:
        bits = array.itemsize * 8
        return torch.from_numpy(array.view(f"int{bits}").copy()).view(getattr(torch, f"uint{bits}"))
    return torch.from_numpy(np.array(array))
