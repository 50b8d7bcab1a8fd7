"""Issue a recorded program again: on another core, with other data, or after optimising it.

The recorded accesses and options say everything about an instruction but its values, so a program
is enough to run it again.  That is how tests show that an optimised program computes the same, and
how a program recorded for one chip is checked against the limits of another.
"""

from contextlib import ExitStack

from trainium_edu.exercises.refusals import sentence
from trainium_edu.neuroncore import NeuronCore
from trainium_edu.neuroncore.recording.dtypes import get_dtype
from trainium_edu.neuroncore.recording.engine import Memory
from trainium_edu.neuroncore.recording.program import Instruction, Program
from trainium_edu.neuroncore.recording.views import View

__all__ = ["replay"]

_LISTS = ("srcs",)  # operands that are lists of views, even of one


def replay(program: Program, core: NeuronCore, data=None) -> list[View]:
    """Issue every instruction of a program on a fresh core.

    Parameters
    ----------
    program : Program
    core : NeuronCore
        With ``values=False`` only limits are checked.
    data : dict of int or str to ndarray, optional
        What HBM tensors hold, by index in ``program.allocations`` or by name.

    Returns
    -------
    tiles : list of View
        Every allocation on the new core, in the program's order.

    Raises
    ------
    NkiValidationError
        Where the core's chip refuses an instruction.
    ValueError
        For an instruction whose operands were placed by data: their places were not recorded.

    Examples
    --------
    >>> import numpy as np
    >>> core = NeuronCore(values=False)
    >>> x, y = core.hbm((128, 4), name="x"), core.sbuf((128, 4))
    >>> core.dma_copy(dst=y, src=x)
    >>> again = NeuronCore()
    >>> tiles = replay(core.program, again, {"x": np.ones((128, 4), np.float32)})
    >>> float(again.value(tiles[1]).sum())
    512.0
    """
    tiles: list[View] = []

    def allocate(count):  # in order, inside the loops they belong to
        for info in program.allocations[len(tiles) : count]:
            tiles.append(_allocated(core, info, data or {}))

    open_loops: list[tuple[int, ExitStack]] = []

    def close():
        number, repeat = open_loops.pop()
        allocate(program.loops[number].end_allocation)
        repeat.close()

    for at, instruction in enumerate(program.instructions):
        while open_loops and open_loops[-1][0] not in instruction.loops:
            close()
        for number in instruction.loops[len(open_loops) :]:
            loop, repeat = program.loops[number], ExitStack()
            allocate(loop.first_allocation)
            repeat.enter_context(core.repeat(loop.count))
            open_loops.append((number, repeat))
        allocate(1 + max((a.allocation for a in instruction.accesses), default=-1))
        _issue(core, instruction, tiles, at)
        issued = core.program.instructions[-1]
        issued.after, issued.is_free = instruction.after, instruction.is_free
        issued.line = instruction.line  # advice names the kernel's lines
    while open_loops:
        close()
    allocate(len(program.allocations))
    return tiles


def _allocated(core, info, data):
    if info.memory is Memory.HBM:
        array = data.get(info.index, data.get(info.name))
        if array is not None and core.values:
            return core.hbm(array, info.dtype, name=info.name)
    return core.allocate(
        info.memory, info.shape, info.dtype, info.name, info.address, info.start_partition
    )


def _issue(core: NeuronCore, instruction: Instruction, tiles, at):
    operands: dict = {}
    for name, value in instruction.options:
        if name == "indirect":
            raise ValueError(sentence("replay.placed_by_data", at=at, name=instruction.name))
        if value is not None:
            operands[name] = value
    for access in instruction.accesses:
        dtype, shape, strides, offset = access.geometry
        buffer = tiles[access.allocation].buffer
        view = View(buffer, get_dtype(dtype), tuple(shape), tuple(strides), offset)
        if access.role in _LISTS:
            operands.setdefault(access.role, []).append(view)
        else:
            operands[access.role] = view
    core.issue(instruction.name, engine=instruction.engine, name=instruction.label, **operands)
