"""The program now running: its NeuronCore, its place in the grid, and what stops it.

It issues instructions on plain things: views, numbers, names.  How a kernel's objects become these
is said in ``issuing.py``.
"""

import sys
from contextvars import ContextVar
from dataclasses import dataclass, field
from itertools import product
from math import prod
from typing import Any
from weakref import ref

from trainium_edu.neuroncore.recording.views import View
from trainium_edu.nki.chips import chip
from trainium_edu.nki.mistakes import is_ours
from trainium_edu.specs.errors import NkiValidationError

__all__ = ["MOST_INSTRUCTIONS", "Running", "chip_here", "count_loop", "current", "current_or_none",
           "is_running", "known_issue", "later_chip"]  # fmt: skip

MOST_INSTRUCTIONS = 1_000_000  #: of one program, unless a call says otherwise

#: A launch sets it in a context of its own, which ends with the program, however that ends.
_running: ContextVar["Running | None"] = ContextVar("running", default=None)
#: Allocated on this machine, until the tiles that Python still holds are counted.
_MOST_HELD_BYTES = 2**32


@dataclass(slots=True, eq=False, repr=False)
class Running:
    """One program of a launch."""

    core: Any  #: its NeuronCore
    program_id: tuple[int, ...] = ()  #: where it is in the grid; () without one
    grid: tuple[int, ...] = ()
    rank: int = 0  #: which participant of a collective it is
    ranks: int = 1
    precise: bool = True  #: False keeps low precision as float32 (``NKI_PRECISE_FP=0``)
    limit: int = MOST_INSTRUCTIONS  #: and turns of dynamic loops, until it is stopped
    launch: Any = None  #: the Launch that its programs meet in
    turns: int = 0  #: count of turns of dynamic loops
    loops: tuple = ()  #: a mark of each dynamic loop now open
    turn: tuple = ()  #: (loop, turn) of each loop now open whose turns may run in any order
    ordered: int = 0  #: blocks of no_reorder now open
    shared: dict = field(default_factory=dict)  #: what a kernel makes once
    #: what is issued before anything else: an instruction whose destination is not known yet
    waiting: Any = None
    #: allocations in PSUM that hold what nl.broadcast_to returned
    repeated: set[int] = field(default_factory=set)
    _tiles: list = field(default_factory=list)  #: weak references to the bytes of on-chip tiles
    _fresh_bytes: int = 0  #: allocated since the living were last counted

    def issue(self, instruction: str, operands: dict, engine=None, name=""):
        """Issue an instruction on views, numbers and names; return its record in the program."""
        waiting = self.waiting
        if waiting is not None:
            self.waiting = None
            waiting.settle()
        core = self.core
        instructions = core.program.instructions
        if len(instructions) >= self.limit:
            self.stop("instructions")
        try:
            core.issue_with(instruction, engine, name, operands)
        except NkiValidationError:
            if not self.repeated or not self._brings_to_sbuf(operands):
                raise
            core.issue_with(instruction, engine, name, operands)
        return instructions[-1]

    def transpose(self, operands: dict, engine, name=""):
        """Issue ``nc_transpose``; the Vector Engine, asked for by name, goes block by block.

        AWS's pages state 32 x 32 as its limit, and its compiler takes [128, 64]: as blocks.
        """
        data, dst = operands["data"], operands["dst"]
        size = self.core.spec.vector_engine.transpose_block.value
        fits = isinstance(data, View) and isinstance(dst, View) and dst.shape == data.shape[::-1]
        if engine != "vector" or not fits or len(data.shape) != 2 or max(data.shape) <= size:
            return self.issue("nc_transpose", operands, engine, name)
        for row, column in product(*(range(0, n, size) for n in data.shape)):
            rows, columns = (slice(k, min(k + size, n)) for k, n in
                             zip((row, column), data.shape, strict=True))  # fmt: skip
            block = {"data": data.sliced(rows, columns), "dst": dst.sliced(columns, rows)}
            last = self.issue("nc_transpose", operands | block, engine, name)
        return last

    def _brings_to_sbuf(self, operands) -> bool:
        """Copy operands that ``nl.broadcast_to`` left in PSUM to SBUF; return if there were any."""
        is_any = False
        for role, view in operands.items():
            if role == "dst" or not isinstance(view, View):
                continue
            if view.buffer.info.index in self.repeated:
                operands[role] = self.core.sbuf(view.shape, view.dtype)
                self.core.issue("tensor_copy", dst=operands[role], src=view)
                is_any = True
        return is_any

    def stop(self, what: str):
        """Raise for a kernel that reached its limit of instructions, turns or allocations."""
        raise NkiValidationError(
            f"the kernel was stopped after {self.limit} {what}: a loop probably never ends (what "
            "does its condition read, and who writes it?); a kernel that needs more takes "
            "nki.run(..., limit=...)"
        )

    def count_tile(self, data) -> None:
        """Stop a kernel that allocates endlessly, or whose lists of tiles outgrow this machine."""
        if len(self.core.program.allocations) > self.limit:
            self.stop("allocations")
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
                f"{self._fresh_bytes >> 20} MiB in all, and SBUF has "
                f"{self.core.spec.sbuf.capacity_bytes.value >> 20} MiB: a loop probably never "
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

        Programs run one at a time and switch only here, so results do not depend on the
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
            "nki.simulate or nki.run started "
            "(err_nki_api_outside_of_nki_kernel)"
        )
    return running


def current_or_none() -> Running | None:
    """Return the program that runs in this thread, if any."""
    return _running.get()


def is_running() -> bool:
    """Return whether a kernel runs now."""
    return _running.get() is not None


def known_issue(name: str, *, once=False, depth=2) -> None:
    """Note that the next instruction belongs to a call that AWS lists as failing on hardware.

    Calls that this package makes itself do not count.  `name` is one of ``NKI_KNOWN_ISSUES`` in
    specs: "divide", or with the function that it was met in, "broadcasting of add"; `once`: the
    call is one at each turn of a loop; `depth`: how many calls the kernel's line is away.
    """
    running = _running.get()
    if running is None or is_ours(sys._getframe(depth).f_code.co_filename):
        return
    if not once or running.shared.setdefault(("known issue", name), True) is True:
        running.shared["known issue", name] = False
        note = "known issue", len(running.core.program.instructions), name, None
        running.core.notes.append(note)


def count_loop(kind: str) -> None:
    """Count one turn of a dynamic loop, and stop a loop that never ends."""
    running = _running.get()
    if running is not None:
        running.turns += 1
        if running.turns > running.limit:
            running.stop(f"turns of a dynamic {kind}")


def chip_here():
    """Return the chip of the kernel that runs, or the one that would run it."""
    running = current_or_none()
    return running.core.spec if running else chip(None)


def later_chip(name: str, later: str) -> NkiValidationError:
    """Return the error for what the chip does not have, or what is not modelled of it."""
    here = chip_here()
    if (core := here.core_name.value) in later:
        return NkiValidationError(f"{name}, of {later}, is not modelled here")
    return NkiValidationError(
        f"{name} needs {later}; this is a {core} ({here.name}), whose engines do not have it"
    )
