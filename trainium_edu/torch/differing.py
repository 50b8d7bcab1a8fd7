"""A value that differs from rank to rank, in the place of a tensor."""

import torch

__all__ = ["PerRank", "RankAsked", "aligned", "differ", "rows_of"]


class RankAsked(BaseException):
    """A script whose ranks run together needs what differs among them.

    No ``Exception``: a script's own handlers are not meant for it.
    """


class PerRank:
    """A tensor's values on all ranks.

    Parameters
    ----------
    each : torch.Tensor [ranks, ...]
    """

    __slots__ = ("each",)

    def __init__(self, each: torch.Tensor):
        self.each = each

    def __repr__(self):
        return f"PerRank({list(self.each.shape)}, {self.each.dtype})"

    # what a tensor would say of itself, on one rank

    def size(self) -> torch.Size:
        """Return the shape that one rank sees."""
        return self.each.shape[1:]

    def stride(self) -> tuple:
        """Return the strides that one rank sees."""
        return self.each.stride()[1:]

    def dim(self) -> int:
        """Return the number of axes that one rank sees."""
        return self.each.dim() - 1

    def numel(self) -> int:
        """Return the number of elements that one rank sees."""
        return self.each[0].numel()

    def element_size(self) -> int:
        """Return the bytes of an element."""
        return self.each.element_size()

    @property
    def shape(self) -> torch.Size:
        """The shape that one rank sees."""
        return self.each.shape[1:]

    @property
    def dtype(self) -> torch.dtype:
        """Of its elements."""
        return self.each.dtype

    @property
    def layout(self) -> torch.layout:
        """Dense."""
        return self.each.layout

    def is_equal_on_all(self) -> bool:
        """Return whether all ranks have the same bits after all."""
        rows = self.each.reshape(len(self.each), -1).contiguous().view(torch.uint8)
        return bool((rows == rows[:1]).all())

    # what rounding does with a tensor

    def copy_(self, source) -> "PerRank":
        """Take other values over."""
        self.each.copy_(aligned(source, self.dim()))
        return self

    def clone(self) -> "PerRank":
        """Return a copy."""
        return PerRank(self.each.clone())

    def float(self) -> "PerRank":
        """Return the same in FP32."""
        return PerRank(self.each.float())

    def to(self, what):
        """Return the same in another dtype; on the device meta, what one rank sees."""
        made = self.each.to(what)
        return made[0] if made.device.type == "meta" else PerRank(made)

    def sum(self, axes) -> "PerRank":
        """Return sums along axes that are counted from the front."""
        return PerRank(self.each.sum([axis + 1 for axis in axes]))


def differ(values) -> bool:
    """Return whether any operand differs among ranks."""
    for one in values:
        kind = type(one)
        if kind is PerRank or (kind is list and differ(one)):
            return True
    return False


def aligned(value, axes: int):
    """Return what broadcasts to [ranks, ...] with so many axes of one rank."""
    if type(value) is not PerRank:
        return value
    each = value.each
    missing = axes + 1 - each.dim()
    return each[(slice(None), *[None] * missing)] if missing else each


def rows_of(value, ranks: int) -> torch.Tensor:
    """Return [ranks, ...], also of what is equal on all."""
    return value.each if type(value) is PerRank else value.expand(ranks, *value.shape)
