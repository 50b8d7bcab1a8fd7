"""What can be done about a habit; a front end words it, with its :class:`Words`."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from enum import StrEnum, auto
from pathlib import Path

from trainium_edu.specs.tables import rows

__all__ = ["Remedy", "Words", "sentences"]


class Remedy(StrEnum):
    """A remedy; braces in a comment name the gaps that a finder fills in."""

    # transfers
    LOAD_WIDER = auto()
    OTHER_LAYOUT = auto()  #: rows in HBM are this short
    TURN_ON_TENSOR_ENGINE = auto()  #: instead of a DMA that transposes
    LOAD_ONCE = auto()
    LOAD_AHEAD = auto()
    LOAD_FIRST_TILE_IN_PIECES = auto()
    LOAD_FIRST_TILE_FIRST = auto()
    LOAD_LESS = auto()
    STORE_WIDER = auto()
    # arithmetic
    WORK_SIDE_BY_SIDE = auto()
    TURN_TILE = auto()  #: its longer axis onto the partitions
    SPREAD = auto()  #: over 128 partitions
    CONTIGUOUS = auto()
    LOAD_BF16 = auto()
    COMPUTE_BF16 = auto()  #: {tiles}
    LOAD_AND_COMPUTE_BF16 = auto()  #: {tiles}
    REPEAT_BF16 = auto()  #: {call} multiplies with ones
    # places
    SEVERAL_BANKS = auto()  #: {then}: another remedy
    MORE_BUFFERS = auto()  #: {whom}, {buffers}
    SEVERAL_ADDRESSES = auto()
    ALLOCATE_INSIDE = auto()
    NO_ROOM = auto()
    NO_ROOM_TO_SPARE = auto()
    OTHER_PORT = auto()  #: {memory}
    LEAVE_ROOM = auto()  #: {sites} could use more
    NOTHING = auto()  #: SBUF is full, and every tile has its buffers
    # values
    WRITE_FIRST = auto()
    REACH_THE_END = auto()
    OVERWRITE_FIRST = auto()
    ADD_AFTERWARDS = auto()
    FINITE_NUMBERS = auto()
    NUMBERS_IN_RANGE = auto()
    # operators in C++
    THROUGH_TCM = auto()
    LONGER_COPIES = auto()
    SEVERAL_PROCESSORS = auto()
    SHARE_EVENLY = auto()
    SMALLER_STACK = auto()
    # what the chip does otherwise
    KNOWN_ISSUE = auto()  #: {note}
    LOOK = auto()
    ONE_PROGRAM = auto()
    ADDRESSES_APART = auto()


def sentences(column: int, heading: str = "") -> dict[Remedy, str]:
    """Return the sentences of ``remedies.md`` for kernels (column 1) or graphs (2)."""
    table = rows(Path(__file__).with_name("remedies.md"), heading)
    return {Remedy(cells[0]): cells[column] or cells[1] for cells in table}


@dataclass(frozen=True, slots=True)
class Words:
    """The remedies in the words of one front end.

    Attributes
    ----------
    noun : str
        What it runs: "kernel", "graph".
    remedies : dict of Remedy to str
        A sentence for each, with gaps such as ``{buffers}``; no full stop at its end.
    calls : dict of str to str
        How users write a call that a note or a tile of the front end's own names.
    prefix : str
        In front of every other call that a note names.
    """

    noun: str
    remedies: Mapping[Remedy, str]
    calls: Mapping[str, str] = field(default_factory=dict)
    prefix: str = ""

    def __post_init__(self):
        missing = [remedy.name for remedy in Remedy if not self.remedies.get(remedy)]
        if missing:
            raise ValueError(f"the words of a {self.noun} lack {', '.join(missing)}")

    def say(self, remedy: Remedy, gaps: Mapping) -> str:
        """Return the sentence; a gap may hold another remedy, which has the other gaps."""
        plain = {name: gap for name, gap in gaps.items() if not isinstance(gap, Remedy)}
        said = {name: self.remedies[gap].format(**plain)
                for name, gap in gaps.items() if isinstance(gap, Remedy)}  # fmt: skip
        return self.remedies[remedy].format(**plain, **said)
