"""``t[...] = value``: the copy that an assignment to a view stands for."""

from trainium_edu.nki.objects.tensor import NkiTensor
from trainium_edu.nki.objects.virtual_register import VirtualRegister
from trainium_edu.nki.running import issue

__all__ = ["assign"]


def assign(dst: NkiTensor, value) -> None:
    """Copy `value` into `dst`: by DMA to or from HBM, by an engine on chip; numbers by memset."""
    if isinstance(value, NkiTensor):
        if dst._on_chip and value._on_chip:
            issue("tensor_copy", dst=dst, src=value)
        else:
            issue("dma_copy", dst=dst, src=value)
    elif dst._on_chip and _is_number(value):
        value = int(value) if hasattr(value, "__index__") else float(value)
        issue("memset", dst=dst, value=value)
    else:
        from trainium_edu.nki.mistakes import describe

        raise TypeError(
            f"{dst!r} cannot take {describe(value)}: an assignment copies a tensor, or fills an "
            "on-chip tile with a number"
        )


def _is_number(value):
    if isinstance(value, VirtualRegister):  # known on the chip only
        return False
    return hasattr(value, "__float__") and getattr(value, "ndim", 0) == 0
