"""What a kernel's author can do about a habit, in NKI's own names."""

from trainium_edu.neuroncore.advice.remedies import CUSTOM_OPERATORS, Remedy, Words
from trainium_edu.nki.language.matrix import REPEATING

__all__ = ["WORDS"]

_BF16_LOADS = "oad the operands as BF16 (the DMA casts on the way)"
_BF16_RESULTS = "et what computes {tiles} write BF16, as its dst's dtype says"
_BF16_SUMS = "; sums stay FP32 in PSUM"

_REMEDIES = {
    **CUSTOM_OPERATORS,
    Remedy.LOAD_WIDER: (
        "Load wider tiles: more contiguous columns of each row, and fewer transfers"
    ),
    Remedy.OTHER_LAYOUT: (
        "The tensor's rows in HBM are this short: only another layout there, in which what goes to "
        "one partition lies side by side, has longer ones"
    ),
    Remedy.TURN_ON_TENSOR_ENGINE: (
        "A DMA moves a transpose element by element: load the rows as they lie and turn the tile "
        "on the Tensor Engine (nisa.nc_transpose), which takes well under a microsecond for "
        "128 x 128"
    ),
    Remedy.LOAD_ONCE: (
        "Load once before the loop, keep the tile in SBUF, or block the loops so that what is "
        "loaded is used up"
    ),
    Remedy.LOAD_AHEAD: (
        "Let loads run ahead: allocate their tiles inside the loop, give it more buffers, or use "
        "smaller tiles so that more fit"
    ),
    Remedy.LOAD_FIRST_TILE_IN_PIECES: (
        "Nothing can begin before the first tile is there: load it in pieces, and begin with the "
        "first"
    ),
    Remedy.LOAD_FIRST_TILE_FIRST: (
        "Nothing can begin before the first tile is there, and its rows are too short to come in "
        "pieces: issue this load before the others, and give the engine work meanwhile that needs "
        "none"
    ),
    Remedy.LOAD_LESS: (
        "Loads come as fast as the queues can: load less (keep tiles in SBUF, block the loops, a "
        "narrower dtype), in rows of 4 KiB"
    ),
    Remedy.STORE_WIDER: "Store fewer, longer rows: collect several results in one wide tile",
    Remedy.WORK_SIDE_BY_SIDE: (
        "Put several rows of work side by side, so that one instruction does what several do now"
    ),
    Remedy.TURN_TILE: "Put the longer axis on the partitions",
    Remedy.SPREAD: (
        "Spread the elements over 128 partitions, in shorter rows, if the step allows it"
    ),
    Remedy.CONTIGUOUS: (
        "Lay the tile out so that the last axis is contiguous: let the instruction before write it "
        "so, or pack it once with a copy if it is used more than twice"
    ),
    Remedy.LOAD_BF16: f"L{_BF16_LOADS}{_BF16_SUMS}",
    Remedy.COMPUTE_BF16: f"L{_BF16_RESULTS}{_BF16_SUMS}",
    Remedy.LOAD_AND_COMPUTE_BF16: f"L{_BF16_LOADS}, and l{_BF16_RESULTS}{_BF16_SUMS}",
    Remedy.REPEAT_BF16: (
        "Give {call} a BF16 tile where its 8 bits do: FP32 is repeated exactly, which takes all "
        "the passes"
    ),
    Remedy.SEVERAL_BANKS: "Let results take turns over several banks. {then}",
    Remedy.MORE_BUFFERS: "Give {whom} more buffers (buffers={buffers})",
    Remedy.SEVERAL_ADDRESSES: "Let several addresses take turns, so that work runs ahead",
    Remedy.ALLOCATE_INSIDE: (
        "Allocate it inside the loop instead of before it, so that turns take different places"
    ),
    Remedy.NO_ROOM: "There is no room for more: use smaller tiles, or let tiles die earlier",
    Remedy.NO_ROOM_TO_SPARE: (
        "More for it would be taken from tiles that need theirs as much: use smaller tiles, or let "
        "tiles die earlier"
    ),
    Remedy.OTHER_PORT: (
        "Move work from one of the two engines, or to another memory than {memory}"
    ),
    Remedy.LEAVE_ROOM: "{sites} could use more: smaller tiles leave room for that",
    Remedy.NOTHING: "That is fine: every tile has the buffers that were asked for",
    Remedy.WRITE_FIRST: "Write all of it first (nisa.memset, nisa.dma_copy), or read less",
    Remedy.REACH_THE_END: (
        "Check that the loops reach the last rows and columns: do the sizes divide by the tiles?"
    ),
    Remedy.OVERWRITE_FIRST: "Let the first matmul overwrite (accumulate=None or False)",
    Remedy.ADD_AFTERWARDS: (
        "Let the first matmul overwrite, and add the value afterwards on the Vector Engine"
    ),
    Remedy.FINITE_NUMBERS: (
        "Write finite numbers instead (the lowest float32, not -inf), or turn tiles of up to "
        "32 x 32 on the Vector Engine, which moves bits"
    ),
    Remedy.NUMBERS_IN_RANGE: "Bring the numbers into the stated range first",
    Remedy.KNOWN_ISSUE: "{note}",
    Remedy.LOOK: "To look is fine; what Python then does with it, no chip can",
    Remedy.ONE_PROGRAM: (
        "Loop over the parts in one program, or start a rank per NeuronCore (nki.run_ranks)"
    ),
    Remedy.ADDRESSES_APART: (
        "Give them addresses that do not meet, or read the first before the second is written; a "
        "tile without an address gets a place of its own"
    ),
}

#: The remedies in the words of kernels.
WORDS = Words(
    "kernel", _REMEDIES, prefix="nl.",
    calls={
        REPEATING: "nl.broadcast_to", "while_register": "while over a register",
        "reinterpret_cast": "reinterpret_cast (or view), then vector_select",
    },
)  # fmt: skip
