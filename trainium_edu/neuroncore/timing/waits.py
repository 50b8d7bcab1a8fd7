"""The words for waiting: why an instruction started no earlier, and which causes to take away."""

from enum import IntEnum

__all__ = ["CAUSES", "Wait"]


class Wait(IntEnum):
    """The last thing that held an instruction back; the numbers are those of ``_loops``."""

    words: str

    def __new__(cls, number, words=""):
        """Return a number of ``_loops`` that knows its words."""
        wait = int.__new__(cls, number)
        wait._value_, wait.words = number, words
        return wait

    START = 0, "nothing: the program begins"
    ENGINE = 1, "its engine was busy"
    OPERANDS = 2, "its operands were not there yet"
    OVERWRITES = 3, "an older write to the same bytes was not finished"
    PLACE = 4, "the place that it writes was still being read"
    PORT = 5, "another engine had the memory's port"
    QUEUE = 6, "its DMA queue was busy"
    CHAIN = 7, "the result of the instruction before it was still in the pipeline"
    STATED = 8, "it was told to wait for an instruction"
    GENERATOR = 9, "the hardware was still making descriptors of a transfer before it"


#: What :func:`~trainium_edu.neuroncore.timing.causes.without` can take away, and what that means.
CAUSES = {
    "dma": "transfers take no time",
    "ports": "engines share the memories' ports freely",
    "buffers": "every tile has bytes of its own",
    "fixed": "no fixed overheads, result latencies or DMA start",
}
