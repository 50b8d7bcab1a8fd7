"""How a core checks and computes an instruction: at once, as its row defines.

``NeuronCore(executor=...)`` takes another that gives the same (``execution.deferred``).
"""

from contextvars import copy_context
from typing import NamedTuple

import numpy as np

from trainium_edu.neuroncore.recording.accesses import is_tensor, look_up, tiles_of
from trainium_edu.neuroncore.recording.engine import Engine
from trainium_edu.numerics.rounding import cast
from trainium_edu.specs import arguments
from trainium_edu.specs.errors import NkiValidationError

__all__ = ["Checked", "Eager", "product_of"]


class Checked(NamedTuple):
    """The result of a check; calls of a ``by_shape`` row that look the same share it."""

    is_free: bool  #: the call named no engine, and was given one
    tiles: tuple  #: see ``accesses.tiles_of``
    work: tuple
    options: tuple
    flops: int


class Eager:
    """Check and compute every instruction at once: the definition of what a core does."""

    def __init__(self):
        quiet = copy_context()  # in which NumPy says nothing about NaN and infinity
        quiet.run(np.seterr, all="ignore")
        self._quietly = quiet.run

    def check(self, call) -> Checked:
        """Choose the engine, look indices up, and raise for what the hardware refuses."""
        row, is_free = call.row, call.engine is None
        row.check_names(call.operands)
        operands = row.defaults | call.operands
        call.engine = _engine(call)
        call.index_accesses = look_up(call)
        row.check(call)
        flops = row.flops(call) if row.flops else 0
        tiles, options = tiles_of(row, operands), _options(row, operands)
        return Checked(is_free, tiles, row.work(call), options, flops)

    def execute(self, call) -> None:
        """Read, compute and write."""
        self._quietly(call.row.execute, call)

    def multiply(self, dst, stationary, moving, add) -> None:
        """Store ``stationary.T @ moving`` in dst.

        Parameters
        ----------
        dst, stationary, moving : View
        add : bool or bool[dst.shape]
            Whether it is added to what dst holds, everywhere or at some places.
        """
        product = product_of(self.widened(stationary), self.widened(moving)).reshape(dst.shape)
        if add is not False:
            total = dst.read() + product
            product = total if add is True else np.where(add, total, product)
        dst.array()[...] = product

    def widened(self, view) -> np.ndarray:
        """Return an operand as the Tensor Engine multiplies it, float32[K, free]."""
        values = view.read_fp32()
        if view.dtype.name == "tfloat32":
            values = cast(values, view.dtype.fmt)
        return values.reshape(values.shape[0], -1)

    def finish(self) -> None:
        """Compute what was deferred: here, nothing."""


def product_of(left, right, out=None) -> np.ndarray:
    """Return ``left.T @ right``, added in the same order whether or not the two are one array."""
    return np.matmul(left.T, right.copy() if right is left else right, out=out)


def _engine(call) -> Engine:
    """Return where a call runs: the engine that it names, or the row's choice."""
    row, engine = call.row, call.engine
    if engine is None:
        return row.choose(row.defaults | call.operands) if row.choose else row.engines[0]
    if not isinstance(engine, str) or engine not in list(Engine):
        arguments.choice(engine, "engine", list(Engine))
    engine = Engine(engine)
    if engine not in row.engines:
        can = " or ".join(e.title for e in row.engines)
        raise NkiValidationError(f"{row.name} runs on the {can}, not on the {engine.title}")
    return engine


def _options(row, operands) -> tuple:
    """Return (name, value) of every operand that is not a tensor, the row's own options first."""
    operand_names = [name for name, value in operands.items() if value is not None]
    options = [
        (name, operands.get(name))
        for name in dict.fromkeys((*row.options, *operand_names))
        if not is_tensor(operands.get(name))
    ]
    for name in operand_names:
        if getattr(operands[name], "indirect", None) is not None:
            options.append(("indirect", name))  # its place is decided by data
    return tuple(options)
