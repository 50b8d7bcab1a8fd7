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

from contextvars import copy_context
from functools import partial
from math import prod

import numpy as np

from trainium_edu.neuroncore.execution.deferred import Waiting
from trainium_edu.neuroncore.recording.dtypes import Rounding, get_dtype
from trainium_edu.neuroncore.recording.engine import Engine, Memory
from trainium_edu.neuroncore.recording.indirect import indices_of, out_of_bounds, resolve_scalar
from trainium_edu.neuroncore.recording.instruction_set import INSTRUCTIONS, Call
from trainium_edu.neuroncore.recording.memory import (
    OnChipMemory,
    check_start_partition,
    make_allocation,
    own_buffer,
    tensor_shape,
)
from trainium_edu.neuroncore.recording.program import (
    Access,
    Instruction,
    Program,
    allocation_site,
    source_line,
)
from trainium_edu.neuroncore.recording.views import View, whole
from trainium_edu.specs import TRN1, arguments
from trainium_edu.specs.errors import NkiValidationError
from trainium_edu.specs.signatures import checked

__all__ = ["NeuronCore"]

HBM_BYTES = 16 * 2**30  # per core: half of the chip's 32 GiB
_MOST_KNOWN = 4096


class NeuronCore:
    """A NeuronCore-v2 that computes values and records what it was asked to do.

    Parameters
    ----------
    spec : specs.Record
        ``TRN1`` or ``INF2``; another generation raises, its facts are not in yet.
    values : bool
        False records without computing: shapes, limits and time only.
    rounding : {"nearest", "stochastic"}
    seed : int
        Of stochastic rounding and of the random instructions.
    name : str
        Of the program.
    """

    @checked
    def __init__(
        self, spec=TRN1, *, values: bool = True,
        rounding: str = "nearest", seed: int = 0,
        name: str = "program",
    ):  # fmt: skip
        arguments.choice(rounding, "rounding", ("nearest", "stochastic"))
        seed = arguments.whole(seed, "seed", 0, 2**64 - 1)
        self.spec = _check_spec(spec)
        self.values = bool(values)
        self.rounding = Rounding(rounding, seed)
        self.program = Program(spec, name, rounding)
        self.sbuf_memory = OnChipMemory(Memory.SBUF, spec.sbuf)
        self.psum_memory = OnChipMemory(Memory.PSUM, spec.psum)
        self.hbm_bytes = 0
        self.notes = []  #: (kind, instruction index, text, data): found while running, for warnings
        self.state = {}  #: engines' own registers: random state, accumulators, kept across calls
        self.waiting = Waiting()  #: values that are computed when somebody looks
        self._known = {}  #: checked before: shapes -> what need not be found again
        self._places = {}  #: in the code that issues: what each is called
        quiet = copy_context()  # in which NumPy says nothing about NaN and infinity
        quiet.run(np.seterr, all="ignore")
        self._quietly = quiet.run

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

    def allocate(self, memory, shape, dtype, name=None, address=None, start_partition=0,
                 limits=None) -> View:  # fmt: skip
        """Allocate a buffer and return the view of all of it; `limits`: dtype that has to fit."""
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
        site = (*allocation_site(self._places), shape, dtype.name, memory)
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
        if self.hbm_bytes + size > HBM_BYTES:
            raise NkiValidationError(
                f"{name}: {dtype}{list(shape)} needs {size} bytes of HBM; {self.hbm_bytes} of this "
                f"core's {HBM_BYTES} (half of the chip's 32 GiB) are taken"
            )
        self.hbm_bytes += size

    @checked
    def value(self, view: View) -> np.ndarray:
        """Return a copy of a view's numbers (storage dtype; unwritten reads NaN or 4)."""
        if not self.values:
            raise ValueError("this program was recorded with values=False; there are no numbers")
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
        row = INSTRUCTIONS.get(instruction) if isinstance(instruction, str) else None
        if row is None:
            raise NkiValidationError(
                f"no instruction {arguments.short(instruction)}; see neuroncore.INSTRUCTIONS"
            )
        key = _shapes(row, engine, operands) if row.by_shape else None
        if key is not None:
            known = self._known.get(key)
            if known is not None:
                self._issue_again(known, instruction, name, operands)
                return
        operands = row.complete(operands)
        call = Call(instruction, engine, self, operands)
        is_free = engine is None
        if is_free:
            engine = call.engine = row.choose(operands) if row.choose else row.engines[0]
        else:
            if not isinstance(engine, str) or engine not in list(Engine):
                arguments.choice(engine, "engine", list(Engine))
            engine = call.engine = Engine(engine)
            if engine not in row.engines:
                can = " or ".join(e.title for e in row.engines)
                raise NkiValidationError(
                    f"{instruction} runs on the {can}, not on the {engine.title}"
                )
        accesses = []
        skip = False
        for role, operand in operands.items():
            if type(operand) in _DIRECT:
                continue
            if getattr(operand, "indirect", None) is not None:
                call.is_indirect = True
                skip |= self._find_place(call, role, accesses)
            elif isinstance(operand, list | tuple):
                for item in operand:
                    if getattr(item, "indirect", None) is not None:
                        call.is_indirect = True
                        self._note_index(item.indirect, role, accesses)
        row.check(call)
        for role in row.reads:
            self._note(accesses, operands.get(role), role, False, engine, role in row.writes)
        for role in row.writes:
            self._note(accesses, operands.get(role), role, True, engine)
        line = source_line(self._places)
        record = Instruction(
            0, instruction, engine, tuple(accesses), row.work(call),
            _options(row, operands), line, name,
            row.flops(call) if row.flops else 0, is_free=is_free,
        )  # fmt: skip
        self.program.append(record)
        if key is not None:
            if len(self._known) >= _MOST_KNOWN:
                self._known.clear()
            self._known[key] = (
                row, engine, _tiles(row, operands), record.work, record.options, record.flops,
                is_free,
            )  # fmt: skip
        if self.values and not skip:
            self._execute(row, call)

    def _issue_again(self, known, instruction, name, operands):
        """Issue what was checked before with the same shapes, dtypes, memories and numbers."""
        row, engine, tiles, work, options, flops, is_free = known
        if len(operands) < row.operands:
            operands = row.defaults | operands
        accesses = tuple([
            self._access(operands[role], role, engine, is_write, is_partial)
            for role, is_write, is_partial in tiles
        ])  # fmt: skip
        line = source_line(self._places, 3)
        record = Instruction(0, instruction, engine, accesses, work, options, line, name, flops,
                             is_free=is_free)  # fmt: skip
        self.program.append(record)
        if self.values:
            self._execute(row, Call(instruction, engine, self, operands))

    def _execute(self, row, call):
        """Compute an instruction's values, or let them wait for what it reads."""
        if not (row.waits and self.waiting.buffers and self.waiting.takes(row, call)):
            self._quietly(row.execute, call)

    def finish(self) -> None:
        """Compute all values that were put off; reading a tile does it too."""
        self.waiting.finish()

    def _find_place(self, call, role, accesses):
        """Note the index of an indirect operand; a scalar one becomes a plain view at its place."""
        view = getattr(call, role)
        indirect = view.indirect
        self._note_index(indirect, role, accesses)
        if indirect.is_vector:
            return False
        found = resolve_scalar(view, values=self.values)
        if found is None:
            if str(getattr(call, "oob_mode", "error")) == "skip":
                return True
            raise out_of_bounds(
                view, f"{call.name}: index {int(indices_of(indirect)[0])} of {role}",
                indirect.limit, skipped="accesses" * hasattr(call, "oob_mode"),
            )  # fmt: skip
        setattr(call, role, found)
        return False

    def _note_index(self, indirect, role, accesses):
        if indirect is not None and isinstance(indirect.index, View):
            self._note(accesses, indirect.index, f"{role}.index", False, Engine.DMA)

    def _note(self, accesses, operand, role, is_write, engine, is_partial=False):
        """Append what an operand touches; `is_partial`: read only to keep what it skips."""
        if isinstance(operand, View):
            accesses.append(self._access(operand, role, engine, is_write, is_partial))
        elif isinstance(operand, list | tuple):
            for item in operand:
                self._note(accesses, item, role, is_write, engine)

    def _access(self, view, role, engine, is_write, is_partial) -> Access:
        """Return what an operand touches, checked; `is_partial`: read to keep what it skips."""
        buffer = view.buffer
        info = buffer.info
        known = self.program.allocations
        if info.index >= len(known) or known[info.index] is not info:
            _refuse_owner(view)
        found = view._write if is_write else view._read
        if found is None or found[6] is not role:
            found = _access_of(view, role, is_write)
        if not (is_write or is_partial or buffer.all_written):
            self._note_unwritten(view, role, info)
        if engine is not Engine.DMA and info.memory is not Memory.HBM:
            first = found[1] if view.indirect is None else view.offset // buffer.pitch
            if first or info.start_partition:
                check_start_partition(first + info.start_partition, view.shape[0], view)
        return found

    def _note_unwritten(self, view, role, info):
        if self.values and not view.is_written():
            self.notes.append(("uninitialised", len(self.program), role, info))

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


_access = partial(tuple.__new__, Access)  # what Access(...) does, without its Python function


def _access_of(view, role, is_write) -> Access:
    """Return what a view touches, checked to lie inside its storage; the view keeps it."""
    info = view.buffer.info
    if view.indirect is None:
        row, end, low, high, _ = view._extent or view.extent()
        if _leaves(view.buffer, info, end, high):
            _refuse_outside(view, end, high)
    else:
        row, end, low, high = _all_of(view)
    known = view._read or view._write
    geometry = known[7] if known else (view.dtype.name, view.shape, view.strides, view.offset)
    found = _access((info.index, row, end, low, high, is_write, role, geometry))
    if is_write:
        view._write = found
    else:
        view._read = found
    return found


def _refuse_owner(view):
    raise NkiValidationError(
        f"{view!r} belongs to another program, one that ended or runs on another core; its "
        "memory is not this one's: pass data through HBM arguments"
    )


def check_inside(view) -> None:
    """Raise for a pattern that leaves its storage, before its numbers are looked at."""
    _, end, _, high, _ = view.extent()
    if _leaves(view.buffer, view.buffer.info, end, high):
        _refuse_outside(view, end, high)


def _leaves(buffer, info, end, high) -> bool:
    """Whether a rectangle that ends before row `end` and byte `high` leaves its storage."""
    if info.memory is Memory.HBM:
        return end * info.row_bytes > buffer.pitch
    return high > info.row_bytes or end > info.partitions


def _refuse_outside(view, end, high):
    """Raise for a pattern that leaves its storage (made freely, refused where it is used)."""
    info = view.buffer.info
    if info.memory is Memory.HBM:
        raise NkiValidationError(
            f"{view!r}: the pattern reaches byte {(end - 1) * info.row_bytes + high - 1}, and "
            f"{info!r} has {view.buffer.pitch} bytes"
        )
    raise NkiValidationError(
        f"{view!r}: the pattern reaches partition {end - 1} and byte {high - 1} of each partition; "
        f"the storage {info!r} has {info.partitions} partitions of {info.row_bytes} bytes"
    )


def _all_of(view):
    """Return the rectangle of the whole buffer: where data decides, any part may be touched."""
    info = view.buffer.info
    if info.memory is not Memory.HBM:
        return 0, info.partitions, 0, info.row_bytes
    return 0, prod(info.shape[:-1]), 0, info.row_bytes


def _shapes(row, engine, operands):
    """Return all that a check by shape looks at, or None where there is more to look at."""
    key = [row.name, engine, *operands]
    for value in operands.values():
        kind = type(value)
        if kind is View:
            layout = value.dtype.name, value.shape, value.strides, value.buffer.info.memory
            if row.by_place:
                info = value.buffer.info
                layout += (value._extent or value.extent(), info.address, info.start_partition)
            key.append(layout)
        elif kind is str or value is None:
            key.append(value)
        elif kind is float:
            key.append((kind, value or str(value)))  # 0.0 and -0.0 differ
        elif kind in _PLAIN or (kind is tuple and set(map(type, value)) <= {int}):
            key.append((kind, value))
        else:
            return None
    return tuple(key)


def _tiles(row, operands):
    """Return (role, whether written, whether read to be kept) of each tile, reads first."""
    reads = ((role, False, role in row.writes) for role in row.reads)
    writes = ((role, True, False) for role in row.writes)
    return tuple(tile for tile in (*reads, *writes) if type(operands[tile[0]]) is View)


def _options(row, operands):
    """Return (name, value) of every operand that is no tensor, the row's own options first."""
    listed = row.options
    found = [
        (name, value)
        for name in listed
        if type(value := operands.get(name)) in _PLAIN
        or not (isinstance(value, View) or _views(value))
    ]
    for name, value in operands.items():
        if value is None or name in listed:
            continue
        if type(value) in _PLAIN or not (isinstance(value, View) or _views(value)):
            found.append((name, value))
    for name, value in operands.items():
        if type(value) not in _DIRECT and getattr(value, "indirect", None) is not None:
            found.append(("indirect", name))  # its place is decided by data
    return tuple(found)


_PLAIN = {int, float, bool, str, type(None)}
_DIRECT = _PLAIN | {View}


def _views(value):
    return isinstance(value, list | tuple) and any(isinstance(item, View) for item in value)


def _check_spec(spec):
    if getattr(spec, "tensor_engine", None) is None or spec.tensor_engine.rows.value != 128:
        raise ValueError(
            f"{spec!r} is no NeuronCore-v2; the emulator knows Trainium (TRN1) and Inferentia2 "
            "(INF2), and the facts of other generations are not in yet"
        )
    return spec
