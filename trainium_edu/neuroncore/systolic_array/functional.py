"""The product itself, and how far apart two orders of addition can be."""

import numpy as np

from trainium_edu.neuroncore.systolic_array.operands import check_operands
from trainium_edu.specs.signatures import checked

__all__ = ["matmul", "reordering_bound"]

_UNIT = 2.0**-24  # half a spacing of FP32 at 1
_UNDERFLOW = 2.0**-149


@checked
def matmul(stationary, moving, *, fmt=None) -> np.ndarray:
    """Multiply as the Tensor Engine does, in whatever order BLAS adds.

    Parameters
    ----------
    stationary : array [K, M]
    moving : array [K, N]
        Dtypes that the engine takes, or any real numbers with `fmt`.
    fmt : Format or str, optional
        Round both operands to this format first.

    Returns
    -------
    dst : float32[M, N]
        ``stationary.T @ moving`` of the rounded operands, accumulated in FP32.

    Examples
    --------
    >>> matmul([[1.0, 2.0]], [[3.0]], fmt="bf16").tolist()
    [[3.0], [6.0]]
    """
    operands = check_operands(stationary, moving, fmt)
    with np.errstate(over="ignore", invalid="ignore"):
        return np.ascontiguousarray(operands.stationary.T) @ operands.moving


@checked
def reordering_bound(stationary, moving, *, fmt=None) -> np.ndarray:
    """Bound the distance between the array's result and the functional one, for finite results.

    Parameters
    ----------
    stationary, moving, fmt
        As in :func:`matmul`.

    Returns
    -------
    bound : float64[M, N]

    Notes
    -----
    A sum of n terms in FP32, in any order, is off by at most ``g(n) * sum |w x|`` with
    ``g(n) = n u / (1 - n u)`` and ``u = 2^-24``.  Products of the short formats are exact; in FP32
    the array adds 4 K exact products, the functional model rounds K of them.  Two such results
    differ by at most the sum of their bounds; numbers below the normal range add half of the
    smallest subnormal each.
    """
    operands = check_operands(stationary, moving, fmt)
    k, _, _ = operands.shape
    parts = len(operands.passes)
    magnitude = np.abs(operands.stationary.T.astype(np.float64)) @ np.abs(
        operands.moving.astype(np.float64)
    )
    # one addition per product and row, and one per tile in PSUM (never more than rows)
    return (_growth(parts * k + k) + _growth(k + 1)) * magnitude + (parts + 1) * k * _UNDERFLOW


def _growth(n: int) -> float:
    return n * _UNIT / (1 - n * _UNIT)
