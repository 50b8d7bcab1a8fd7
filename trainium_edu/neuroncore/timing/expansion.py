"""A program as flat arrays, its loops unrolled: what placement and scheduling read.

A *row* is one execution of an instruction.  A tile allocated inside a repeated body is another
*instance* in every turn.  Built once per program and kept with it.
"""

from dataclasses import dataclass, field
from functools import lru_cache
from itertools import chain
from math import prod
from typing import NamedTuple

import numpy as np

from trainium_edu.neuroncore.engines.dma import contiguous_run
from trainium_edu.neuroncore.recording.dtypes import get_dtype
from trainium_edu.neuroncore.recording.engine import Engine, Memory
from trainium_edu.neuroncore.recording.program import Program

__all__ = ["Expanded", "Kind", "Packets", "expand"]

MOST_ROWS = 2_000_000
QUEUES = 16
FAR_BYTES = 2**19  # from here on a packet costs more; seen at 7 * 2**17, not at 3 * 2**14
QUEUE_PARTITIONS = 8  # "each DMA engine corresponds to 8 partition lanes"
ENGINES = (Engine.TENSOR, Engine.VECTOR, Engine.SCALAR, Engine.GPSIMD, Engine.SYNC, Engine.DMA)
MEMORIES = (Memory.HBM, Memory.SBUF, Memory.PSUM)
_ENGINE = {engine: i for i, engine in enumerate(ENGINES)}
_MEMORY = {memory: i for i, memory in enumerate(MEMORIES)}


class Packets(NamedTuple):
    """The packets that a transfer is cut into, and the queues that take them."""

    number: int
    are_far: bool  #: whether they begin far apart in HBM
    first_queue: int
    queues: int  #: 0: all
    generator: int  #: the engine whose hardware generator makes its descriptors; -1: none
    is_in_hbm: bool  #: whether it goes from HBM to HBM
    are_lists: bool  #: whether each is a list of several buffers


class Kind(NamedTuple):
    """The properties that the time of an instruction depends on."""

    name: str
    engine: Engine
    work: tuple
    written: int  #: elements per partition
    packets: Packets | None = None  #: a transfer's packets
    loads_another: bool = False  #: whether a matmul's stationary matrix takes the place of another
    left: tuple = ()  #: in a what-if, which parts of lead, fixed part and work are left


@dataclass(slots=True)
class Expanded:
    """Rows, their accesses, and the instances of allocations that they touch."""

    program: Program
    instruction: np.ndarray  #: int32[rows], index into ``program.instructions``
    engine: np.ndarray  #: int8[rows], index into ``ENGINES``
    kind: np.ndarray  #: int32[rows], index into ``kinds``
    kinds: list[Kind]
    row_access: np.ndarray  #: int64[rows + 1], where each row's accesses begin
    access_row: np.ndarray  #: int32[accesses]
    access_instance: np.ndarray  #: int32[accesses]
    rectangle: np.ndarray  #: int64[4, accesses]: first row, row end, first byte, byte end
    is_write: np.ndarray  #: bool[accesses]
    ports: np.ndarray  #: uint8[rows]: 1 touches SBUF, 2 touches PSUM
    allocation: np.ndarray  #: int32[instances], index into ``program.allocations``
    memory: np.ndarray  #: int8[instances], index into ``MEMORIES``
    first: np.ndarray  #: int32[instances]: first row that touches it (`rows` if none)
    last: np.ndarray  #: int32[instances]: last row (-1 if none)
    cache: dict = field(default_factory=dict, repr=False)

    @property
    def rows(self) -> int:
        """How many instructions run."""
        return self.instruction.size


def expand(program: Program) -> Expanded:
    """Unroll a program's loops into flat arrays (kept, as long as the program does not grow).

    Raises
    ------
    ValueError
        If a loop is still being recorded, or more than two million instructions would run.
    """
    key = (len(program.instructions), len(program.allocations), len(program.outputs),
           tuple((x.start, x.end, x.count) for x in program.loops))  # fmt: skip
    kept = program.__dict__.get("_expanded")
    if kept is None or kept[0] != key or kept[1].program is not program:
        kept = program.__dict__["_expanded"] = (key, _expand(program))
    return kept[1]


def _expand(program):
    rows, starts = _rows(program)
    instructions, allocations = program.instructions, program.allocations
    n = rows.size
    # one line per access of the recorded program
    counts = np.fromiter((len(i.accesses) for i in instructions), np.intp, len(instructions))
    flat = list(chain.from_iterable(i.accesses for i in instructions))
    table = np.array([a[:6] for a in flat], np.int64).reshape(-1, 6)
    kind_of, kinds, engines = _kinds(instructions, allocations)
    memory_of = np.fromiter((_MEMORY[a.memory] for a in allocations), np.int8, len(allocations))
    bits = np.zeros(len(instructions), np.uint8)
    recorded_row = np.repeat(np.arange(len(instructions)), counts)
    np.bitwise_or.at(bits, recorded_row, memory_of[table[:, 0]].astype(np.uint8))
    # rows of the run
    first_access = np.concatenate(([0], np.cumsum(counts)))
    row_counts = counts[rows]
    row_access = np.concatenate(([0], np.cumsum(row_counts)))
    access_row = np.repeat(np.arange(n, dtype=np.int32), row_counts)
    recorded = np.arange(row_access[-1]) + np.repeat(first_access[rows] - row_access[:-1],
                                                     row_counts)  # fmt: skip
    table = table[recorded]
    access_instance, allocation = _instances(program, starts, n, table[:, 0], access_row)
    first = np.full(allocation.size, n, np.int32)
    last = np.full(allocation.size, -1, np.int32)
    first[access_instance[::-1]] = access_row[::-1]
    last[access_instance] = access_row
    if program.outputs:
        last[np.isin(allocation, program.outputs) & (last >= 0)] = n - 1
    return Expanded(
        program, rows, engines[rows], kind_of[rows], kinds, row_access, access_row,
        access_instance, np.ascontiguousarray(table[:, 1:5].T), table[:, 5].astype(bool),
        bits[rows], allocation, memory_of[allocation], first, last,
    )  # fmt: skip


def _packets(transfer, allocations) -> Packets:
    """Return the packets of a transfer.

    A packet is one run of contiguous bytes in HBM, in whatever order a tile takes them.  A
    transposed load reads whole rows of HBM, too, and sends every element to another partition, as a
    load of neighbours does.  From HBM to HBM one order serves both sides.  Where each partition has
    several runs of its own, near each other, they are one packet: a list of buffers.  A transfer
    with a row for every queue takes them all, a smaller one those of its partitions: each serves
    eight.
    """
    count, packets, lanes, far, partitions = transfer.work[1], 0, [], False, 0
    inside = all(
        allocations[a.allocation].memory is Memory.HBM or a.role.endswith(".index")
        for a in transfer.accesses
    )
    for access in transfer.accesses:
        info = allocations[access.allocation]
        if info.memory is Memory.HBM:
            dtype, shape, strides, _ = access.geometry
            if not inside:
                shape, strides = _as_it_lies(shape, strides)
            run = contiguous_run(shape, strides, get_dtype(dtype).itemsize, 0)
            packets = max(packets, prod(shape) // run)
            far = far or _step(shape, strides, run) >= FAR_BYTES
        elif not access.role.endswith(".index"):
            lanes += [info.start_partition + row for row in (access.first_row, access.end_row - 1)]
            partitions = access.end_row - access.first_row
    is_plain = transfer.name == "dma_copy" or (transfer.name == "dma_transpose" and not inside)
    is_plain &= {("indirect", "src"), ("indirect", "dst")}.isdisjoint(transfer.options)
    packets = min(packets, count) if packets and is_plain else count
    has_lists = is_plain and not far and 0 < partitions < packets == count
    packets = partitions if has_lists else packets
    generator = _generator(dict(transfer.options))
    if not lanes or count >= QUEUES:
        return Packets(packets, far, 0, 0, generator, not lanes, has_lists)
    first, last = min(lanes) // QUEUE_PARTITIONS, max(lanes) // QUEUE_PARTITIONS
    return Packets(packets, far, first, last - first + 1, generator, False, has_lists)


def _generator(options) -> int:
    """Return the engine that asks for a transfer's descriptors, on a chip that makes them."""
    if "indirect" in options or str(options.get("dge_mode")) in ("none", "swdge"):
        return -1  # made before the kernel starts, or by software on GpSimd
    return _ENGINE[Engine(options.get("asked_by") or Engine.SYNC)]


@lru_cache(4096)
def _as_it_lies(shape, strides):
    """Return shape and strides with the axes in the order of memory, what repeats outermost."""
    order = sorted(range(len(shape)), key=lambda a: (strides[a] != 0, -abs(strides[a])))
    return tuple(shape[a] for a in order), tuple(strides[a] for a in order)


def _step(shape, strides, run):
    """Return by how many bytes one contiguous run lies behind the next; 0 if there is one."""
    for size, stride in zip(reversed(shape), reversed(strides), strict=True):
        if run <= 1 and size > 1:
            return abs(stride)
        run //= size
    return 0


def _kinds(instructions, allocations):
    """Index each distinct kind: durations are computed once for each."""
    numbers, number_of, stationary = {}, [], None  # `stationary`: the newest matmul's
    for i in instructions:
        written, loads_another = 0, False
        for a in i.accesses:
            if a[5]:
                written = prod(a[7][1][1:])
                break
        packets = _packets(i, allocations) if i.engine is Engine.DMA else None
        if i.name == "nc_matmul":
            now = next((a[0], a[7]) for a in i.accesses if a[6] == "stationary")
            loads_another, stationary = stationary not in (None, now), now
        key = i.name, i.engine, i.work, written, packets, loads_another
        number_of.append(numbers.setdefault(key, len(numbers)))
    kinds, kind_of = [Kind(*key) for key in numbers], np.array(number_of, np.int32)
    return kind_of, kinds, np.array([_ENGINE[k.engine] for k in kinds], np.int8)[kind_of]


def _rows(program):
    """Return the executed instruction indices, and per loop the rows on which a turn begins."""
    loops = program.loops
    if any(x.end < 0 for x in loops):
        raise ValueError("a loop of this program is still being recorded; time it after the block")
    inside, outermost, open_now = [[] for _ in loops], [], []
    for index, loop in enumerate(loops):  # a loop is listed before those inside it
        while open_now and not (
            loops[open_now[-1]].start <= loop.start
            and loop.end <= loops[open_now[-1]].end
            and loop.end_allocation <= loops[open_now[-1]].end_allocation
            and loop.first_allocation >= loops[open_now[-1]].first_allocation
        ):
            open_now.pop()
        (inside[open_now[-1]] if open_now else outermost).append(index)
        open_now.append(index)

    def length(start, end, children):
        body = [(loops[c], inside[c]) for c in children]
        more = sum(length(x.start, x.end, inner) * x.count - (x.end - x.start) for x, inner in body)
        return end - start + more

    total = length(0, len(program.instructions), outermost)
    if total > MOST_ROWS:
        raise ValueError(
            f"{program.name} runs {total} instructions, and the emulator times at most "
            f"{MOST_ROWS}; time a part of it (fewer turns of a loop) and scale"
        )

    def run(start, end, children):
        pieces, starts, at, length = [], {}, start, 0
        for c in children:
            x = loops[c]
            pieces.append(np.arange(at, x.start, dtype=np.int32))
            length += x.start - at
            body, inner = run(x.start, x.end, inside[c])
            pieces.append(np.tile(body, x.count))
            turns = length + body.size * np.arange(x.count)
            starts[c] = turns
            for k, found in inner.items():
                starts[k] = (turns[:, None] + found).ravel()
            length += body.size * x.count
            at = x.end
        pieces.append(np.arange(at, end, dtype=np.int32))
        return np.concatenate(pieces), starts

    return run(0, len(program.instructions), outermost)


def _instances(program, starts, rows, access_allocation, access_row):
    """Make the instances: one per allocation and turn of the loop around it."""
    loop_of = np.full(len(program.allocations), -1)
    for index, loop in enumerate(program.loops):  # inner loops come later and win
        if starts[index].size and loop.end > loop.start:
            loop_of[loop.first_allocation : loop.end_allocation] = index
    turns = np.ones(loop_of.size, np.intp)
    for index in np.unique(loop_of[loop_of >= 0]):
        turns[loop_of == index] = starts[index].size
    base = np.concatenate(([0], np.cumsum(turns)))
    instance = base[access_allocation].copy()
    for index in np.unique(loop_of[loop_of >= 0]):
        turn_of_row = np.maximum(
            np.searchsorted(starts[index], np.arange(rows), side="right") - 1, 0
        )
        mine = loop_of[access_allocation] == index
        instance[mine] += turn_of_row[access_row[mine]]
    allocation = np.repeat(np.arange(loop_of.size, dtype=np.int32), turns)
    return instance.astype(np.int32), allocation
