"""Loops, the grid, and what looks at both."""

import sys

from trainium_edu.nki import language as current_interface
from trainium_edu.nki.beta1.index import AnyOrder
from trainium_edu.nki.beta1.operation import Operation, copied, op_name, operation, settle, tile
from trainium_edu.nki.beta1.promotion import as_dtype
from trainium_edu.nki.beta1.tile import allocate
from trainium_edu.nki.beta1.traced_once import begin_loop, turns_of
from trainium_edu.nki.language.rules import refuse
from trainium_edu.nki.mistakes import is_whole
from trainium_edu.nki.refusals import refusal
from trainium_edu.nki.running import current, current_or_none

__all__ = [
    "affine_range", "all_reduce", "device_print", "loop_reduce", "nc", "num_programs", "program_id",
    "program_ndim", "sequential_range", "spmd_dim", "static_range",
]  # fmt: skip


def _range(name, args, more=()):
    refuse(name, more, ("directives", "precise_schedule"))
    if not args or len(args) > 3 or not all(map(is_whole, args)):
        raise TypeError(f"nl.{name} takes one to three whole numbers, not {args}; a // b gives one")
    running = current_or_none()
    addresses = running and running.shared.get("addresses")
    if addresses:
        begin_loop(sys._getframe(2), addresses)
    return range(*args)


def affine_range(*args, **kwargs):
    """Return a loop whose turns may run in any order, but for sums (AWS's compiler traces it once).

    Here the turns are recorded one after the other; two that write to one place are refused.  The
    keywords of published kernels (``directives``, ``precise_schedule``) change nothing here.
    """
    return AnyOrder(_range("affine_range", args, kwargs))


def sequential_range(*args, **kwargs):
    """Return a loop whose turns depend on those before."""
    return _range("sequential_range", args, kwargs)


def static_range(*args):
    """Return a loop that is unrolled."""
    return _range("static_range", args)


def loop_reduce(x, op, loop_indices, *, dtype=None, mask=None, **kwargs):
    """Return the reduction of `x` over the turns of loops so far.

    In the first turn (all indices 0) it is `x` itself; later turns combine it with what came
    before, in the same turn of the other loops around: with k outside and q inside, every q has a
    sum over k of its own.

    Parameters
    ----------
    x : tile
    op : operator
        ``nl.add``, ``np.max``, ...
    loop_indices : loop index, or list of them
    dtype : dtype, optional
        Of the result; default: that of `x`.
    mask : mask, optional
    """
    indices = loop_indices if isinstance(loop_indices, list | tuple) else [loop_indices]
    frame, running, name = sys._getframe(1), current(), op_name(op)
    key = "loop_reduce", running.program_id, frame.f_code, frame.f_lasti
    totals = running.shared.setdefault(key, _Totals())
    turns = turns_of(frame)
    total = totals.of(turns, indices)
    if total is None or all(index == 0 for index in indices):
        total = _begun(x, dtype)
        total.storage.is_sum = True
        totals.begin(turns, total)
        return total
    if isinstance(x, Operation) and name == "add" and x.accumulates_into(total):
        x.accumulate(total)
        return total
    x = tile(x, "nl.loop_reduce: x")
    operation("tensor_tensor", total.shape, total.kind, mask=mask, data1=total, data2=x,
              op=name).into(total)  # fmt: skip
    return total


class _Totals:
    """The running totals of one call of ``loop_reduce``, by the turns of the loops around it.

    An index is a plain number here, so which loop it counts is found by comparing: the loops whose
    variable has had an index's value in every call.
    """

    def __init__(self):
        self.known = []  #: (turns, total)
        self.reduced = None  #: the loops that are reduced, as far as calls have told

    def of(self, turns, indices):
        """Return the total that this turn goes on with, or None."""
        equal = {loop for loop, value in turns.items() if is_whole(value) and value in indices}
        self.reduced = equal if self.reduced is None else self.reduced & equal
        if not self.reduced:  # an index of no loop that was found: one total
            return self.known[-1][1] if self.known else None
        kept = [loop for loop in turns if loop not in self.reduced]
        for before, total in reversed(self.known):
            if all(before.get(loop) == turns[loop] for loop in kept):
                return total
        return None

    def begin(self, turns, total) -> None:
        """Keep a new total, and let go of those that loops further out are done with."""
        outer = []
        for loop in turns:
            if loop in self.reduced:
                break
            outer.append(loop)
        self.known = [
            (before, old) for before, old in self.known
            if self.reduced and all(before.get(loop) == turns[loop] for loop in outer)
            and any(before.get(loop) != turns[loop] for loop in turns)
        ]  # fmt: skip
        self.known.append((turns, total))


def _begun(x, dtype):
    """Return the tile of a reduction, with what its first turn gives."""
    is_sum_of_products = isinstance(x, Operation) and x.is_product
    if is_sum_of_products and dtype is None:
        total = allocate(x.shape, "float32", x.region)
        x.into(total)
        return total
    return copied(tile(x, "nl.loop_reduce: x"), dtype and as_dtype(dtype))


def all_reduce(x, op, program_axes, *, dtype=None, mask=None, parallel_reduce=True,
               asynchronous=False, **kwargs):  # fmt: skip
    """Refuse: instances of a grid run one after the other here."""
    raise refusal("loops.all_reduce")


# -- the grid ---------------------------------------------------------------------------------


def program_id(axis) -> int:
    """Return this instance's index along an axis of the grid (0 without a grid)."""
    return current_interface.program_id(axis)


def num_programs(axes=None) -> int:
    """Return how many instances there are along `axes`, or in all."""
    if axes is None:
        return current_interface.num_programs()
    return current_interface.num_programs(axes)


program_ndim = current_interface.program_ndim


class nc(int):
    """A size of a grid's dimension that is distributed over physical NeuronCores (Trainium2).

    Here one NeuronCore goes through all instances, so it is the plain number.
    """

    def __mul__(self, other):
        return nc(int(self) * int(other))

    __rmul__ = __mul__


def spmd_dim(outer, inner) -> nc:
    """Return a grid's dimension of two parts, one of them over physical NeuronCores."""
    return nc(int(outer) * int(inner))


def device_print(prefix, x, *, mask=None, **kwargs) -> None:
    """Print a tile's values, now."""
    settle()
    current_interface.device_print(prefix, tile(x, "nl.device_print: x", on_chip=None).tensor)
