"""What PyTorch says of each aten overload: which arguments it writes, what it returns.

A *call* is learned once per overload from its schema.
"""

from collections.abc import Iterator

import torch
from torch.utils._pytree import tree_map

from trainium_edu.torch.operations import ON_CPU, ROWS, WRITES, decomposes, name_of

__all__ = ["Call", "call_of", "counted", "on_meta"]

#: overloads whose Python numbers are inputs of the graph, so that they may change from step to step
_LIFTED = {
    "add", "sub", "rsub", "mul", "div", "addcmul", "addcdiv", "lerp", "addmm", "addmv", "baddbmm",
    "fill", "masked_fill", "clamp", "clamp_min", "clamp_max", "where", "maximum", "minimum", "full",
    "eq", "ne", "lt", "le", "gt", "ge",
}  # fmt: skip

#: what only moves numbers: nothing is rounded again
_MOVES = {
    "clone", "cat", "stack", "index_select", "gather", "embedding", "select_backward",
    "slice_backward", "repeat", "flip", "roll", "tril", "triu", "_unsafe_view", "alias",
}  # fmt: skip
#: which arguments the Tensor Engine multiplies
_PRODUCTS = {
    "mm": (0, 1), "bmm": (0, 1), "mv": (0, 1), "matmul": (0, 1), "linear": (0, 1),
    "addmm": (1, 2), "addmv": (1, 2), "addbmm": (1, 2), "baddbmm": (1, 2),
    "convolution": (0, 1), "convolution_backward": (0, 1, 2),
}  # fmt: skip


class Call:
    """One overload of an aten operation.

    Attributes
    ----------
    func : torch.ops.OpOverload
    name : str
        ``aten::add.Tensor``.
    counter : str
        ``aten::add``, as the metrics count where it falls back.
    recorded : str
        ``xla::add``, as they count where it is recorded.
    is_list : bool
        It does the same with each tensor of a list, one after the other on XLA.
    times : int
        How often it was recorded since :func:`counted` asked.
    is_view : bool
    writes : tuple of (int or str)
        The arguments written: place, or name of a keyword.
    returns_written, makes : bool
        It returns what it wrote; it returns other tensors.
    returns : int
        How many results it has.
    out : bool
        All that it writes are keywords, as ``out=``.
    composite : bool
        PyTorch makes it of others, by `decompose`; it arrives only in ``torch.inference_mode``.
    turns : bool
        It changes the shape in place, as ``t_``.
    moves : bool
        It moves numbers and computes none.
    products : tuple of int
        The arguments that the Tensor Engine multiplies.
    functional : torch.ops.OpOverload or None
        The overload that computes what this one writes.
    numbers : tuple of (int or str)
        The arguments at which a number of Python is one of the tensors' dtype.
    row : str
        The operation whose row or decomposition says what it does; "" if there is none.
    lifts : bool
    is_single, gives_list : bool
        It returns one tensor, or a list.
    run : callable
        Computes it on CPU tensors.
    special : callable or None
        Takes it in place of recording: moves between host and device, questions for values.
    """

    def __init__(self, func):
        schema = func._schema
        self.func, self.counter = func, schema.name
        self.name = name_of(func)
        self.is_view = bool(func.is_view)
        self.composite = func.has_kernel_for_dispatch_key(
            torch._C.DispatchKey.CompositeImplicitAutograd
        )
        self.decompose = func.decompose
        self.turns = torch.Tag.inplace_view in func.tags
        also = WRITES.get(self.name, ())
        written = [
            (i, a) for i, a in enumerate(schema.arguments) if _is_written(a) or a.name in also
        ]
        self.writes = tuple(a.name if a.kwarg_only else i for i, a in written)
        self.out = bool(written) and all(a.kwarg_only for _, a in written)
        self.returns_written = bool(schema.returns) and all(map(_is_written, schema.returns))
        self.returns = len(schema.returns)
        self.makes = bool(schema.returns) and not self.returns_written
        self.functional = _functional(schema) if written else None
        self.row = self._row()
        bare = schema.name.partition("::")[2].rstrip("_")
        base, self.is_list = bare.removeprefix("_foreach_"), bare.startswith("_foreach_")
        self.recorded, self.times = f"xla::{base}", 0
        self.lifts = base in _LIFTED
        self.moves = base in _MOVES or schema.name.startswith("trainium")  # which rounds itself
        self.products = _PRODUCTS.get(base, ())
        #: not the floats that an operation is configured with, nor what the host counts up
        self.numbers = () if base == "arange" else tuple(
            argument.name if argument.kwarg_only else place
            for place, argument in enumerate(schema.arguments)
            if "number" in str(argument.type) or (place and str(argument.type) == "Tensor")
        )  # fmt: skip
        self.special = None
        kinds = [str(r.type) for r in schema.returns]
        self.is_single, self.gives_list = kinds == ["Tensor"], kinds == ["List[Tensor]"]
        # without the checks in Python that a call from outside needs
        self.run = ON_CPU.get(self.name, func._op)

    def _row(self) -> str:
        if self.composite:
            return ""
        if self.name in ROWS or (decomposes(self.func) and not self.writes):
            return self.name
        if self.functional is None or self.turns or self.out:
            return ""
        name = name_of(self.functional)
        return name if name in ROWS or decomposes(self.functional) else ""

    def __repr__(self):
        return f"Call({self.name!r})"


def _functional(schema):
    """Return the overload that computes what another one writes, or None."""
    space, _, base = schema.name.partition("::")
    wanted = [(a.name, str(a.type)) for a in schema.arguments if not _is_out(a)]
    names = [base.rstrip("_"), f"{base.rstrip('_')}_functional"]
    for packet in (getattr(getattr(torch.ops, space), name, None) for name in names):
        for overload in () if packet is None else packet.overloads():
            other = getattr(packet, overload)._schema
            same = [(a.name, str(a.type)) for a in other.arguments] == wanted
            if same and not other.is_mutable:
                return getattr(packet, overload)
    return None


def _is_written(argument) -> bool:
    return argument.alias_info is not None and argument.alias_info.is_write


def _is_out(argument) -> bool:
    return argument.kwarg_only and _is_written(argument)


_known: dict[int, Call] = {}


def call_of(func) -> Call:
    """Return what is known of an overload."""
    found = _known.get(id(func))  # an overload lives for ever, and its own hash is Python
    if found is None:
        found = _known[id(func)] = Call(func)
    return found


def counted() -> Iterator[tuple[str, int]]:
    """Yield what was recorded, and how often since this was asked before."""
    for call in [*_known.values()]:
        times, call.times = call.times, 0
        if times:
            yield call.recorded, times


def on_meta(given):
    """Return arguments with tensors of which only shape, strides and dtype are known."""

    def hollow(one):
        if isinstance(one, torch.Tensor):
            return torch.empty_strided(one.size(), one.stride(), dtype=one.dtype, device="meta")
        return torch.device("meta") if type(one) is torch.device else one

    return tree_map(hollow, given)
