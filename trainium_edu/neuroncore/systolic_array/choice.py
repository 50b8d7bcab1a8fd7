"""Which operand should stay, and how a convolution becomes a product."""

import numpy as np

from trainium_edu.neuroncore.systolic_array.array import TRN1_ARRAY, SystolicArray
from trainium_edu.neuroncore.systolic_array.cycles import gemm_cycles
from trainium_edu.neuroncore.systolic_array.plan import plan_gemm
from trainium_edu.specs.signatures import Numbers, checked

__all__ = ["choice_cycles", "convolution_operands"]


@checked
def choice_cycles(
    k: int, rows: int, columns: int, *, array: SystolicArray = TRN1_ARRAY
) -> dict[str, dict[str, int]]:
    """Count both ways to run ``x[rows, k] @ W[k, columns]``.

    Parameters
    ----------
    k, rows, columns : int
    array : SystolicArray

    Returns
    -------
    dict of dict of int
        For ``W stays`` and ``x stays``: cycles of the ``array``, and by the ``documented`` price
        of each tile, ``max(min(64, stationary columns), moving columns)``.

    Examples
    --------
    >>> choice_cycles(128, 1, 4096)["W stays"]["documented"]
    2048

    References
    ----------
    `nki-isa-2.26` in :data:`trainium_edu.specs.SOURCES`.
    """
    prices = {}
    for name, m, n in (("W stays", columns, rows), ("x stays", rows, columns)):
        plan = plan_gemm(k, m, n, array=array)
        documented = sum(max(min(64, p.m1 - p.m0), p.n1 - p.n0) for p in plan)
        prices[name] = {"array": gemm_cycles(k, m, n, array), "documented": documented}
    return prices


@checked
def convolution_operands(images: Numbers, kernels: Numbers) -> tuple[np.ndarray, np.ndarray]:
    """Lay a convolution out as one product: kernels stay, patches of the images move.

    Parameters
    ----------
    images : float array [count, height, width]
    kernels : float array [filters, kernel height, kernel width]

    Returns
    -------
    stationary : float32[kernel height * kernel width, filters]
    moving : float32[kernel height * kernel width, count * out height * out width]
        ``dst[f]`` reshaped to [count, out height, out width] is what filter f sees (no padding,
        kernels not flipped, as in neural networks).

    Raises
    ------
    ValueError
        If a kernel is larger than an image, or a shape is wrong.

    Examples
    --------
    >>> stationary, moving = convolution_operands(np.ones((2, 8, 8)), np.ones((4, 3, 3)))
    >>> stationary.shape, moving.shape
    ((9, 4), (9, 72))
    """
    images, kernels = np.asarray(images, np.float32), np.asarray(kernels, np.float32)
    if images.ndim != 3 or kernels.ndim != 3:
        raise ValueError(
            f"images have shape {list(images.shape)}, kernels {list(kernels.shape)}: both take "
            "three axes, [count, height, width]"
        )
    if any(a > b for a, b in zip(kernels.shape[1:], images.shape[1:], strict=True)):
        raise ValueError(
            f"kernels of {list(kernels.shape[1:])} do not fit on images of "
            f"{list(images.shape[1:])}; take smaller kernels"
        )
    patches = np.lib.stride_tricks.sliding_window_view(images, kernels.shape[1:], axis=(1, 2))
    taps = kernels.shape[1] * kernels.shape[2]
    stationary = np.ascontiguousarray(kernels.reshape(len(kernels), taps).T)
    return stationary, np.ascontiguousarray(patches.reshape(-1, taps).T)
