"""Random numbers from the counter-based generator: a seed and a step in, so nothing is stored.

Seed and step are values of the graph, so a new step compiles nothing.  Bits depend on (seed,
step, number of the operation, element) alone; ``number`` tells two operations of one graph apart.
A seed with a leading axis of replicas gives each its own numbers.

The instructions draw from the engine's generator instead, whose numbers are others: shape, time
and statistics agree with the values here, single elements do not.
"""

import numpy as np

from trainium_edu import numerics
from trainium_edu.neuroncore.tilings.pieces import load, pieces
from trainium_edu.xla.graph import Type, Unfit, as_type
from trainium_edu.xla.operations.table import carrier, register

__all__: list[str] = []

_BITS = 24  #: as many as an FP32 number has
_FIRST = 2**63  #: of the generator's steps: those below belong to stochastic rounding
_NUMBERS = 2**23  #: most operations in one graph


def _check(seed: Type, step: Type, number):
    for what, given in (("seed", seed), ("step", step)):
        if given.shape or given.dtype not in ("int32", "uint32"):
            raise Unfit(f"its {what} is {given}; it must be one int32 or uint32")
    if not 0 <= number < _NUMBERS:
        raise Unfit(f"number is {number}; operations count from 0 to {_NUMBERS - 1}")


def _uniform(node, seed, step):
    """Return numbers from 0 to below 1, all multiples of 2**-24."""
    key, turn = (int(x) & 0xFFFFFFFF for x in (seed, step))
    bits = numerics.draw_bits(
        node.type.size, seed=key, step=_FIRST + turn * _NUMBERS + node.of["number"],
        n_random_bits=_BITS,
    )  # fmt: skip
    return (bits * np.float32(2.0**-_BITS)).astype(np.float32).reshape(node.shape)


def _infer_uniform(seed: Type, step: Type, shape, number) -> Type:
    _check(seed, step, number)
    return as_type(shape, "float32")


def _infer_keep(seed: Type, step: Type, shape, probability, number, dtype) -> Type:
    _check(seed, step, number)
    if not 0.0 <= probability <= 1.0:
        raise Unfit(f"probability {probability} is not from 0 to 1")
    return as_type(shape, dtype)


def _keep(node, seed, step):
    return (_uniform(node, seed, step) < np.float32(node.of["probability"])).astype(
        carrier(node.dtype)
    )


def _lower(lowering, node):
    """Draw words, keep 24 bits of each, and make numbers or a mask of them."""
    core, out = lowering.core, lowering.out(node)
    _seed(lowering, node)
    step = {"op0": "multiply", "operand0": 2.0**-_BITS}
    if node.operation == "random_keep":
        step |= {"op1": "less", "operand1": node.of["probability"]}
    rows, columns = _tiles(node.type.size)
    flat = out.reshaped(rows, columns)
    for down in pieces(rows, 128):
        words = core.sbuf((down.stop - down.start, columns), "uint32")
        core.rng(dst=words)
        core.tensor_scalar(dst=words, data=words, op0="right_shift", operand0=32 - _BITS)
        tile = core.sbuf(words.shape, out.dtype)
        core.tensor_scalar(dst=tile, data=words, **step)
        core.dma_copy(dst=flat.sliced(down), src=tile)


def _tiles(size):
    """Return rows and columns of that many elements, the columns as many as a tile takes."""
    columns = next(n for n in range(min(max(size // 128, 1), 2048), 0, -1) if size % n == 0)
    return size // columns, columns


def _seed(lowering, node):
    """Set the engine's seed from seed, step and number."""
    core = lowering.core
    seed, step = (load(core, lowering.view(one).reshaped(1, 1)) for one in node.inputs)
    mixed = core.sbuf((1, 1), seed.dtype)
    core.tensor_scalar(dst=mixed, data=seed, op0="bitwise_xor", operand0=node.of["number"] << 8)
    core.tensor_tensor(dst=mixed, data1=mixed, data2=step.as_dtype(seed.dtype), op="bitwise_xor")
    core.set_rng_seed(src_seeds=mixed)


_SAME = {"by_replica": True, "vjp": lambda node, g: (None, None), "lower": _lower}
register("random_uniform", _infer_uniform, value=_uniform, **_SAME)
register("random_keep", _infer_keep, value=_keep, **_SAME)
