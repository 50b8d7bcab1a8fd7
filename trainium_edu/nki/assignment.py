"""``t[...] = value``: the copy that an assignment to a view stands for."""

from trainium_edu.nki.running import issue
from trainium_edu.nki.tensor import NkiTensor

__all__ = ["assign"]


def assign(dst: NkiTensor, value) -> None:
    """Copy `value` into `dst`: by DMA to or from HBM, by an engine on chip; numbers by memset."""
    if isinstance(value, NkiTensor):
        if dst._on_chip and value._on_chip:
            issue("tensor_copy", dst=dst, src=value)
        else:
            issue("dma_copy", dst=dst, src=value)
    elif isinstance(value, int | float) and dst._on_chip:
        issue("memset", dst=dst, value=value)
    else:
        raise TypeError(
            f"{dst!r} cannot take {value!r}: an assignment copies a tensor, or fills an on-chip "
            "tile with a number"
        )
