"""What the author of a training script can do about a habit of its graph."""

from trainium_edu.neuroncore.advice.remedies import CUSTOM_OPERATORS, Remedy, Words

__all__ = ["WORDS"]

_BF16 = (
    "et the compiler cast (--auto-cast matmult, --auto-cast-type bf16), or cast the tensors "
    "yourself; sums stay FP32 in PSUM"
)
_FUSE = (
    "Let elementwise operations read and write each other's results directly, so that they fuse "
    "and nothing between them goes through HBM"
)
_COMPILER = (
    "Tiles and buffers are the compiler's business: a larger batch gives it more to overlap, and "
    "an NKI kernel in the operation's place is yours to arrange"
)
_SHAPES = "sizes that are multiples of 128 (the batch, the width, the vocabulary) fill all lanes"

_REMEDIES = {
    **CUSTOM_OPERATORS,
    Remedy.LOAD_WIDER: (
        "Make the last axis longer: a larger width, or heads and small matrices side by side in "
        "one operation instead of one after the other"
    ),
    Remedy.OTHER_LAYOUT: (
        "The last axis is this short in HBM: reshape or transpose once so that a long axis is last"
    ),
    Remedy.TURN_ON_TENSOR_ENGINE: (
        "A DMA moves a transpose element by element: transpose right before a product, which turns "
        "the tile on the Tensor Engine, or keep the tensor in the order in which it is read"
    ),
    Remedy.LOAD_ONCE: (
        "The operand does not fit on chip beside the rest and is loaded again: split the batch, "
        "or use a narrower dtype"
    ),
    Remedy.LOAD_AHEAD: _COMPILER,
    Remedy.LOAD_FIRST_TILE_IN_PIECES: (
        "Nothing can begin before the first tile is there: a larger batch makes that a smaller part"
    ),
    Remedy.LOAD_FIRST_TILE_FIRST: (
        "Nothing can begin before the first tile is there: a larger batch makes that a smaller part"
    ),
    Remedy.LOAD_LESS: (
        "Loads come as fast as the queues can: raise the batch so that weights are used more "
        "often, store tensors in BF16, and let elementwise operations fuse"
    ),
    Remedy.STORE_WIDER: _FUSE,
    Remedy.WORK_SIDE_BY_SIDE: (
        f"Do more in one operation: batch the small ones (all heads, all layers' norms), since "
        f"{_SHAPES}"
    ),
    Remedy.TURN_TILE: "Put the longer axis first, so that it lies on the partitions",
    Remedy.SPREAD: f"Reshape so that rows are shorter and there are at least 128: {_SHAPES}",
    Remedy.CONTIGUOUS: "Reshape or transpose once, so that what is read together lies together",
    Remedy.LOAD_BF16: f"L{_BF16}",
    Remedy.COMPUTE_BF16: f"L{_BF16}",
    Remedy.LOAD_AND_COMPUTE_BF16: f"L{_BF16}",
    Remedy.REPEAT_BF16: f"Numbers are repeated by a product with ones ({{call}}): l{_BF16}",
    Remedy.SEVERAL_BANKS: "{then}",
    Remedy.MORE_BUFFERS: _COMPILER,
    Remedy.SEVERAL_ADDRESSES: _COMPILER,
    Remedy.ALLOCATE_INSIDE: _COMPILER,
    Remedy.NO_ROOM: "There is no room for more: a smaller width or a narrower dtype leaves some",
    Remedy.NO_ROOM_TO_SPARE: (
        "More for it would be taken from tiles that need theirs as much: a narrower dtype leaves "
        "room for both"
    ),
    Remedy.OTHER_PORT: (
        "Two engines share a port to {memory}: fewer elementwise operations around this one, or "
        "ones that fuse, leave it free"
    ),
    Remedy.LEAVE_ROOM: "{sites} could use more; a narrower dtype leaves room for that",
    Remedy.NOTHING: "That is fine: every tile has the buffers that it asked for",
    Remedy.WRITE_FIRST: "This is the emulator's mistake and not yours: please report the operation",
    Remedy.REACH_THE_END: (
        "This is the emulator's mistake and not yours: please report the operation and its shapes"
    ),
    Remedy.OVERWRITE_FIRST: (
        "This is the emulator's mistake and not yours: please report the operation"
    ),
    Remedy.ADD_AFTERWARDS: (
        "This is the emulator's mistake and not yours: please report the operation"
    ),
    Remedy.FINITE_NUMBERS: "Mask with a finite number (the lowest float32, not -inf)",
    Remedy.NUMBERS_IN_RANGE: "Bring the numbers into the stated range first (clamp)",
    Remedy.KNOWN_ISSUE: "{note}",
    Remedy.LOOK: "To look at a value runs the graph so far: ask after mark_step, not every step",
    Remedy.ONE_PROGRAM: "Run one process per NeuronCore",
    Remedy.ADDRESSES_APART: _COMPILER,
}

#: The remedies in the words of graphs.
WORDS = Words("graph", _REMEDIES)
