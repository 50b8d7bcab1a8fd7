"""The kernel now running: its NeuronCore, its place in the grid, and how its calls reach the core.

Every function of ``nki.isa`` is one line: ``issue("tensor_copy", dst=dst, src=src)``.  Here NKI's
objects become the plain things that ``neuroncore`` knows: tensors become views, functions used as
operators become their names, choices become strings, registers become numbers.
"""

import sys
from contextvars import ContextVar
from enum import Enum
from math import prod
from weakref import ref

import numpy as np

from trainium_edu.nki.mistakes import is_ours
from trainium_edu.nki.objects import enums
from trainium_edu.nki.objects.enums import engine as engine_enum
from trainium_edu.nki.objects.object import NKIObject
from trainium_edu.nki.objects.tensor import NkiTensor
from trainium_edu.nki.objects.virtual_register import VirtualRegister
from trainium_edu.specs.errors import NkiValidationError

__all__ = ["NkiInstruction", "Running", "count_loop", "current", "current_or_none",
           "is_running", "issue", "known_issue", "later_chip"]  # fmt: skip

#: A launch sets it in a context of its own, which ends with the program, however that ends.
_running: ContextVar["Running | None"] = ContextVar("running", default=None)
#: Allocated on this machine, until the tiles that Python still holds are counted.
_MOST_HELD_BYTES = 2**32
_ENGINES = {e: None if e.name == "unknown" else e.name for e in engine_enum}


class Running:
    """One program of a launch.

    Attributes
    ----------
    core : NeuronCore
    program_id, grid : tuple of int    where it stands; () without a grid
    rank, ranks : int                  which participant of a collective it is, of how many
    precise : bool                     False keeps low precision as float32 (``NKI_PRECISE_FP=0``)
    limit : int                        instructions, and turns of dynamic loops, until it is stopped
    launch : Launch or None            the meeting point of its programs
    """

    __slots__ = ("_fresh_bytes", "_tiles", "core", "grid", "launch", "limit", "loops", "ordered",
                 "precise", "program_id", "rank", "ranks", "repeated", "shared",
                 "turns")  # fmt: skip

    def __init__(self, core, *, program_id=(), grid=(), rank=0, ranks=1, precise=True, limit=None,
                 launch=None):  # fmt: skip
        self.core = core
        self.program_id = program_id
        self.grid = grid
        self.rank = rank
        self.ranks = ranks
        self.precise = precise
        self.limit = limit or 1_000_000
        self.launch = launch
        self.turns = 0
        self.loops = ()  #: a mark of each dynamic loop now open
        self.ordered = 0  #: blocks of no_reorder now open
        self.shared = {}
        self.repeated = set()  #: allocations in PSUM that hold what nl.broadcast_to returned
        self._tiles = []  #: weak references to the bytes of on-chip tiles
        self._fresh_bytes = 0  #: allocated since the living were last counted

    def count_tile(self, data) -> None:
        """Stop a kernel that allocates for ever, or whose lists of tiles outgrow this machine."""
        if len(self.core.program.allocations) > self.limit:
            _stop(self, "allocations")
        if data is None:
            return
        self._tiles.append(ref(data))
        self._fresh_bytes += data.nbytes
        if self._fresh_bytes <= _MOST_HELD_BYTES:
            return
        self._tiles = [tile for tile in self._tiles if tile() is not None]
        self._fresh_bytes = sum(tile().nbytes for tile in self._tiles)
        if self._fresh_bytes > _MOST_HELD_BYTES // 2:
            raise NkiValidationError(
                f"the kernel holds {len(self._tiles)} on-chip tiles of "
                f"{self._fresh_bytes >> 20} MiB in all, and SBUF has 24 MiB: a loop probably never "
                "ends, or a list of tiles grows; store what is done to HBM and let tiles go"
            )

    @property
    def index(self) -> int:
        """Its number among all programs of the launch, rank after rank."""
        place = 0
        for size, at in zip(self.grid, self.program_id, strict=True):
            place = place * size + at
        return self.rank * prod(self.grid) + place

    def meet(self, key, value, members=None) -> dict:
        """Wait until every member called ``meet`` with `key`; return {index: value} of all of them.

        Programs run one at a time and hand over only here, so results do not depend on the
        machine.  A meeting that can never come about ends the launch.
        """
        if self.launch is None:
            return {self.index: value}
        return self.launch.meet(self.index, key, value, members)

    def call(self, body):
        """Return ``body(self)``, run as this program; the context is the program's own."""
        __tracebackhide__ = True
        _running.set(self)
        return body(self)


def current() -> Running:
    """Return the program that runs now.

    Raises
    ------
    RuntimeError
        Outside a kernel.
    """
    running = _running.get()
    if running is None:
        raise RuntimeError(
            "no kernel is running: nl and nisa functions work inside a function that nki.jit, "
            "nki.simulate or nki.run started"
        )
    return running


def current_or_none() -> Running | None:
    """Return the program that runs in this thread, if any."""
    return _running.get()


def is_running() -> bool:
    """Whether a kernel runs now."""
    return _running.get() is not None


def known_issue(name: str, *, once=False) -> None:
    """Note that the next instruction belongs to a call that AWS lists as failing on hardware.

    What this package calls itself is no kernel's call.  `name` is one of ``NKI_KNOWN_ISSUES`` in
    specs: "divide", or with the function that it was met in, "broadcasting of add"; `once`: the
    call is one at each turn of a loop.
    """
    running = _running.get()
    if running is None or is_ours(sys._getframe(2).f_code.co_filename):
        return
    if not once or running.shared.setdefault(("known issue", name), True) is True:
        running.shared["known issue", name] = False
        note = "known issue", len(running.core.program.instructions), name, None
        running.core.notes.append(note)


def plain(value):
    """Return what ``neuroncore`` knows of an operand."""
    op = getattr(value, "op", None)
    if op is not None:
        return op
    if isinstance(value, NkiTensor):
        return value._view
    if value is None or isinstance(value, str | bool | int | float):
        return value
    if isinstance(value, list | tuple):
        return type(value)(plain(item) for item in value)
    if isinstance(value, Enum):
        return value.name
    if isinstance(value, VirtualRegister):
        return value.value
    if isinstance(value, np.generic):
        return value.item()
    if isinstance(value, NkiInstruction):
        from trainium_edu.nki.mistakes import describe

        raise TypeError(f"a tile is asked for, not {describe(value)}")
    if callable(value):  # nl.max, np.add: an operator, by the name that it has in neuroncore
        from trainium_edu.neuroncore.engines.operators import operator_name

        return operator_name(value) or value
    return value


def issue(instruction: str, *, engine=None, name=None, **operands):
    """Issue one instruction of the running kernel and return a handle on it."""
    running = _running.get() or current()
    core = running.core
    instructions = core.program.instructions
    if len(instructions) >= running.limit:
        _stop(running, "instructions")
    for key, value in operands.items():
        kind = type(value)
        if kind is NkiTensor:
            operands[key] = value._view
        elif kind in _ENUMS:
            operands[key] = value._name_
        elif key in _CHOICES:
            operands[key] = enums.chosen(_CHOICES[key], value, f"{instruction}: {key}").name
        elif kind not in _PLAIN and not (kind is tuple and not value):
            operands[key] = plain(value)
    if engine is _ANY:
        engine = None
    elif engine is not None:
        engine = _engine_name(instruction, engine)
    if name is not None and not isinstance(name, str):
        raise TypeError(f"{instruction}: name is {name!r}; it is a text of your own")
    try:
        core.issue_with(instruction, engine, name or "", operands)
    except NkiValidationError:
        if not running.repeated or not _into_sbuf(running, operands):
            raise
        core.issue_with(instruction, engine, name or "", operands)
    return NkiInstruction(instructions[-1], running.loops)


def _into_sbuf(running, operands) -> bool:
    """Copy operands that ``nl.broadcast_to`` left in PSUM to SBUF; say whether there were any."""
    from trainium_edu.neuroncore.recording.views import View

    found = False
    for key, view in operands.items():
        if isinstance(view, View) and key != "dst" and view.buffer.info.index in running.repeated:
            operands[key] = running.core.sbuf(view.shape, view.dtype)
            running.core.issue("tensor_copy", dst=operands[key], src=view)
            found = True
    return found


_ANY = engine_enum.unknown
_PLAIN = frozenset({str, bool, int, float, type(None)})
_CHOICES = {"reduce_cmd": enums.reduce_cmd, "dge_mode": enums.dge_mode,
            "oob_mode": enums.oob_mode, "perf_mode": enums.matmul_perf_mode}  # fmt: skip
_ENUMS = frozenset(_CHOICES.values())


def _engine_name(instruction, engine):
    return _ENGINES[enums.chosen(engine_enum, engine, f"{instruction}: engine")]


def count_loop(kind: str) -> None:
    """Count one turn of a dynamic loop, and stop a loop that never ends."""
    running = _running.get()
    if running is not None:
        running.turns += 1
        if running.turns > running.limit:
            _stop(running, f"turns of a dynamic {kind}")


def _stop(running, what):
    raise NkiValidationError(
        f"the kernel was stopped after {running.limit} {what}: a loop probably never ends (what "
        "does its condition read, and who writes it?); a kernel that needs more takes "
        "nki.run(..., limit=...)"
    )


def later_chip(name: str, chip: str) -> NkiValidationError:
    """Return the error for what NeuronCore-v2 does not have."""
    return NkiValidationError(
        f"{name} needs {chip}; this is a NeuronCore-v2 (Trainium, Inferentia2), whose engines do "
        "not have it"
    )


class NkiInstruction(NKIObject):
    """A handle on an issued instruction."""

    __slots__ = ("_instruction", "_loops")

    def __init__(self, handle, loops=()):
        self._instruction = handle
        self._loops = loops

    def __repr__(self):
        return f"NkiInstruction({self._instruction!r})"

    def depends_on(self, *producers: "NkiInstruction") -> "NkiInstruction":
        """Let this instruction wait for `producers` besides the data that it reads.

        Raises
        ------
        TypeError
            For something that no ``nisa`` function returned.
        NkiValidationError
            For a producer that was issued later (both would wait for ever), or inside a dynamic
            loop that this instruction is not in.
        """
        for producer in producers:
            if not isinstance(producer, NkiInstruction):
                raise TypeError(f"depends_on takes what nisa functions return, not {producer!r}")
            if producer._instruction.index >= self._instruction.index:
                raise NkiValidationError(
                    f"instruction {self._instruction!r} cannot wait for {producer._instruction!r}, "
                    "which comes later in the same in-order streams"
                )
            if self._loops[: len(producer._loops)] != producer._loops:
                raise NkiValidationError(
                    f"instruction {self._instruction!r} cannot wait for {producer._instruction!r}, "
                    "which is in a dynamic loop that it is not in: a loop that runs no turn, or "
                    "many, would signal never, or too often; both go into the same loop"
                )
            self._instruction.after = (*self._instruction.after, producer._instruction.index)
        return self
