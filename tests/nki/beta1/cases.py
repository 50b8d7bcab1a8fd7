"""What kernels of the older interface have in common."""

import trainium_edu.nki.beta1.language as nl


def stored(tile, dtype=None):
    """Return a new output of a kernel that `tile` is stored to."""
    out = nl.ndarray(tile.shape, dtype or tile.dtype, buffer=nl.shared_hbm)
    nl.store(out, tile)
    return out
