"""The words for waiting: why an instruction started no earlier, and which causes to take away."""

from enum import IntEnum

__all__ = ["CAUSES", "Wait"]


class Wait(IntEnum):
    """What held an instruction back last; the numbers are those of ``_loops``."""

    START = 0
    ENGINE = 1
    OPERANDS = 2
    OVERWRITES = 3
    PLACE = 4
    PORT = 5
    QUEUE = 6
    CHAIN = 7
    STATED = 8

    @property
    def words(self) -> str:
        """The wait in words."""
        return _WORDS[self]


_WORDS = {
    Wait.START: "nothing: the program begins",
    Wait.ENGINE: "its engine was busy",
    Wait.OPERANDS: "its operands were not there yet",
    Wait.OVERWRITES: "an older write to the same bytes was not finished",
    Wait.PLACE: "the place that it writes was still being read",
    Wait.PORT: "another engine had the memory's port",
    Wait.QUEUE: "its DMA queue was busy",
    Wait.CHAIN: "the result of the instruction before it was still in the pipeline",
    Wait.STATED: "it was told to wait for an instruction",
}

#: What :func:`~trainium_edu.neuroncore.timing.causes.without` can take away, and what that means.
CAUSES = {
    "dma": "transfers take no time",
    "ports": "engines share the memories' ports freely",
    "buffers": "every tile has bytes of its own",
    "fixed": "no fixed overheads, result latencies or DMA start",
}
