"""One NeuronCore: memories to allocate in, instructions to issue, and the program that results.

>>> import numpy as np
>>> from trainium_edu.neuroncore import NeuronCore
>>> core = NeuronCore()
>>> x = core.hbm(np.arange(256, dtype=np.float32).reshape(128, 2), name="x")
>>> tile = core.sbuf((128, 2), "float32", name="tile")
>>> core.dma_copy(dst=tile, src=x)
>>> core.tensor_scalar(dst=tile, data=tile, op0="multiply", operand0=2.0)
>>> core.value(tile)[1].tolist()
[4.0, 6.0]
>>> [i.name for i in core.program.instructions]
['dma_copy', 'tensor_scalar']
"""

from functools import partial
from math import prod

import numpy as np

from trainium_edu.neuroncore.recording.accesses import touched
from trainium_edu.neuroncore.recording.dtypes import Rounding, get_dtype
from trainium_edu.neuroncore.recording.engine import Engine, Memory
from trainium_edu.neuroncore.recording.executor import Eager
from trainium_edu.neuroncore.recording.instruction_set import INSTRUCTIONS, Call, get_row
from trainium_edu.neuroncore.recording.memory import (
    OnChipMemory,
    make_allocation,
    own_buffer,
    tensor_shape,
)
from trainium_edu.neuroncore.recording.program import Instruction, Program
from trainium_edu.neuroncore.recording.source import allocation_site, source_line
from trainium_edu.neuroncore.recording.views import View, whole
from trainium_edu.specs import TRN1, arguments
from trainium_edu.specs.errors import NkiValidationError
from trainium_edu.specs.signatures import checked

__all__ = ["NeuronCore"]


class NeuronCore:
    """A NeuronCore that computes values and records its instructions.

    Parameters
    ----------
    spec : specs.Record
        ``TRN1``, ``INF2`` or ``TRN2``.
    values : bool
        False records without computing: shapes, limits and time only.
    rounding : {"nearest", "stochastic"}
    seed : int
        Of stochastic rounding and of the random instructions.
    name : str
        Of the program.
    executor : executor.Eager, optional
        One of its own, which checks and computes; default ``Eager()``.  Kernels run with
        ``execution.deferred.Deferred()``: the same values, faster.
    line_of : callable, optional
        Returns the ``SourceLine`` of the instruction being issued; default: who called.
    dge : bool
        Whether a chip that can makes descriptors of transfers when they are due; False: all are
        written before the program starts.
    """

    @checked
    def __init__(
        self, spec=TRN1, *, values: bool = True,
        rounding: str = "nearest", seed: int = 0,
        name: str = "program",
        executor=None, line_of=None, dge: bool = True,
    ):  # fmt: skip
        arguments.choice(rounding, "rounding", ("nearest", "stochastic"))
        seed = arguments.whole(seed, "seed", 0, 2**64 - 1)
        self.spec = _check_spec(spec)
        self.values, self.dge = bool(values), bool(dge)
        self.rounding = Rounding(rounding, seed)
        self.program = Program(spec, name, rounding)
        self.sbuf_memory = OnChipMemory(Memory.SBUF, spec.sbuf)
        self.psum_memory = OnChipMemory(Memory.PSUM, spec.psum)
        self.hbm_bytes = 0
        self.notes = []  #: (kind, instruction index, text, data): found while running, for advice
        self.state = {}  #: engines' own registers: random state, accumulators, kept across calls
        self.executor = Eager() if executor is None else executor
        self._places = {}  #: in the code that issues: what each is called
        self.line_of = partial(source_line, self._places) if line_of is None else line_of
        self.caller = None  #: (code, line): where the way to an allocation begins, if known

    def __repr__(self):
        return f"NeuronCore({self.spec.name}, {len(self.program)} instructions recorded)"

    # -- memory -------------------------------------------------------------------------------

    def sbuf(self, shape, dtype="float32", *, address=None, start_partition=0, name=None) -> View:
        """Allocate a tile in SBUF, [partition, free, ...]; `address` is a byte of a partition."""
        return self.allocate(Memory.SBUF, shape, dtype, name, address, start_partition)

    def psum(self, shape, dtype="float32", *, address=None, start_partition=0, name=None) -> View:
        """Allocate a tile in PSUM; matmul results go to one 2 KiB bank of each partition."""
        return self.allocate(Memory.PSUM, shape, dtype, name, address, start_partition)

    def hbm(self, data_or_shape, dtype=None, *, name=None) -> View:
        """Put an array into HBM (used in place, not copied), or allocate a shape there."""
        if isinstance(data_or_shape, np.ndarray):
            return self._adopt(data_or_shape, dtype, name)
        return self.allocate(Memory.HBM, data_or_shape, "float32" if dtype is None else dtype, name)

    def site(self) -> tuple:
        """Return what identifies the line that allocates now, for ``allocate`` later on."""
        return allocation_site(self._places, self.caller)

    def allocate(self, memory, shape, dtype, name=None, address=None, start_partition=0,
                 limits=None, site=None) -> View:  # fmt: skip
        """Allocate a buffer and return the view of all of it.

        The dtype `limits` has to fit; `site` is where it was asked for, if not here.
        """
        dtype = get_dtype(dtype)
        if name is not None:
            arguments.text(name, "name")
        if address is not None:
            arguments.whole(address, "address")
        if type(start_partition) is not int:
            arguments.whole(start_partition, "start_partition")
        name = name or f"{memory}_{len(self.program.allocations)}"
        shape = tensor_shape(shape, name)
        on_chip = self.sbuf_memory if memory is Memory.SBUF else self.psum_memory
        if memory is Memory.HBM:
            self._count_hbm(shape, dtype, name)
        else:
            on_chip.check(shape, dtype if limits is None else get_dtype(limits), name, address,
                          start_partition)  # fmt: skip
            address = address if limits is None else None  # a stand-in of another size has no place
        site = allocation_site(self._places, self.caller) if site is None else site
        site = (*site, shape, dtype.name, memory)
        number = len(self.program.allocations)
        info = make_allocation(number, name, memory, shape, dtype, site, address, start_partition)
        self.program.allocations.append(info)
        if address is None or not self.values:
            buffer = own_buffer(info, values=self.values)
        else:
            buffer = on_chip.buffer(info)
        return whole(buffer)

    def _adopt(self, array, dtype, name):
        dtype = get_dtype(array.dtype if dtype is None else dtype)
        if array.dtype != dtype.storage:
            array = array.astype(dtype.storage)
        array = np.ascontiguousarray(array)
        view = self.allocate(Memory.HBM, array.shape or (1,), dtype, name)
        if self.values:
            view.buffer.adopt(array.reshape(-1).view(np.uint8))
        return view

    def _count_hbm(self, shape, dtype, name):
        size = dtype.itemsize * prod(shape)
        chip = self.spec
        if self.hbm_bytes + size > chip.hbm_bytes_per_core.value:
            part = "half" if chip.cores.value == 2 else f"1/{chip.cores.value}"
            raise NkiValidationError(
                f"{name}: {dtype}{list(shape)} needs {size} bytes of HBM; {self.hbm_bytes} of this "
                f"core's {chip.hbm_bytes_per_core.value} ({part} of the chip's "
                f"{chip.hbm_bytes.pretty}) are taken"
            )
        self.hbm_bytes += size

    @checked
    def value(self, view: View) -> np.ndarray:
        """Return a copy of a view's numbers (storage dtype; unwritten reads NaN or 4)."""
        if not self.values:
            raise ValueError("this program was recorded with values=False, so it has no numbers")
        return np.array(view.read())

    # -- instructions -------------------------------------------------------------------------

    def issue(self, instruction: str, *, engine=None, name="", **operands) -> None:
        """Check, compute and record one instruction.

        Parameters
        ----------
        instruction : str
            A name of :data:`trainium_edu.neuroncore.INSTRUCTIONS`.
        engine : Engine, optional
            Where several can run it; default the row's first.
        name : str
            A label of your own.
        **operands
            Views, numbers and options by the instruction's own names.
        """
        self.issue_with(instruction, engine, arguments.text(name, "name"), operands)

    def issue_with(self, instruction: str, engine, name: str, operands: dict) -> None:
        """Issue an instruction with its operands in a dict; see ``issue``."""
        row = get_row(instruction)
        call = Call(row, engine, self, operands)
        is_free, tiles, work, options, flops = self.executor.check(call)
        if not self.dge and call.engine is Engine.DMA:
            options = (*options, ("dge_mode", "none"))
        accesses = call.index_accesses + touched(call, tiles)
        if self.values and not call.is_skipped:
            self.executor.execute(call)
        self.program.append(
            Instruction(0, instruction, call.engine, accesses, work, options, self.line_of(), name,
                        flops, is_free=is_free)
        )  # fmt: skip

    def finish(self) -> None:
        """Compute all deferred values; reading a tile does so too."""
        self.executor.finish()

    def repeat(self, count: int):
        """Record what follows once, timed `count` times; see ``Program.repeat``."""
        return self.program.repeat(count)

    def __getattr__(self, name):  # core.tensor_copy(dst=..., src=...) issues that instruction
        if name.startswith("_") or name not in INSTRUCTIONS:
            raise AttributeError(f"a NeuronCore has no attribute or instruction {name!r}")

        def issue(*, engine=None, name="", **operands):
            self.issue_with(instruction, engine, name, operands)

        instruction = issue.__name__ = name
        return issue

    def __dir__(self):
        return sorted({*super().__dir__(), *INSTRUCTIONS})


def _check_spec(spec):
    if getattr(spec, "tensor_engine", None) is None or spec.tensor_engine.rows.value != 128:
        raise ValueError(f"{spec!r} has no NeuronCore; take specs.TRN1, INF2 or TRN2")
    return spec
