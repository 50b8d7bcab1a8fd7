"""Rows of tables by their numbers: what a DMA makes of them, and what bounds it.

Each row that a model looks up is a descriptor of its own, for no two of them need lie side by side.
Up to about 2 KiB a descriptor holds its queue for as long as another, however few bytes it brings;
so short rows are bound by their number, and only rows of several KiB by their bytes.

Left out: that rows far apart in HBM may cost more (seen in one profiled kernel, explained nowhere),
and what sorting the numbers, or keeping popular rows on the chip, would save.

Sources: `nki-dma-overview` for the time of a packet, `nki-dma-guide` for which sizes are poor, good
and best; both as :func:`trainium_edu.neuroncore.timing.durations.dma_row_ns` reads them.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from functools import lru_cache

from trainium_edu.neuroncore.recording.dtypes import get_dtype
from trainium_edu.neuroncore.timing.durations import dma_row_ns, parameters, settle
from trainium_edu.specs import TRN1
from trainium_edu.specs.arguments import whole
from trainium_edu.specs.record import Record
from trainium_edu.specs.signatures import checked
from trainium_edu.xla.executable import Executable
from trainium_edu.xla.graph import Graph, as_type
from trainium_edu.xla.operations import apply, parameter

__all__ = ["Lookups", "Pace", "lookup_paces", "lookup_program", "lookups_of"]

_LONG = 2**15  #: rows of a stream that outlasts a burst


@dataclass(frozen=True, slots=True)
class Lookups:
    """All gathers of a program."""

    rows: int  #: rows looked up, a descriptor each
    bytes: int  #: size of these rows
    dma_ns: (
        float  #: time in which a DMA queue works for them: indices, rows, and where they are put
    )
    rows_ns: float  #: time in which 16 queues take `rows` descriptors, in a burst
    bytes_ns: float  #: time in which they take `bytes` bytes, in long rows

    @property
    def bound(self) -> str:
        """The slower of the two: ``"rows"`` or ``"bytes"``."""
        return "rows" if self.rows_ns > self.bytes_ns else "bytes"

    def __str__(self):
        return (
            f"lookups: {self.rows:,} rows of {self.bytes / self.rows:,.0f} bytes, a descriptor "
            f"each; DMA works {self.dma_ns / 1e3:,.1f} us on them ({self.rows_ns / 1e3:,.1f} us for"
            f" the descriptors, {self.bytes_ns / 1e3:,.2f} us for the bytes): bound by {self.bound}"
        )


@checked
def lookups_of(executable: Executable) -> Lookups | None:
    """Return what a program looks up, and what bounds it; None if it looks up nothing.

    Parameters
    ----------
    executable : Executable

    Examples
    --------
    >>> print(lookups_of(lookup_program(4096, 64)))  # doctest: +ELLIPSIS
    lookups: 4,096 rows of 128 bytes, a descriptor each; ...: bound by rows
    """
    values, spec = settle(executable.spec), executable.spec
    queues, rate = int(spec.dma.queues), values["dma_bytes_per_s"] / 1e9
    rows = moved = 0
    dma_ns = rows_ns = 0.0
    for one in executable.operations():
        if one.node.operation != "gather":
            continue
        table, numbers = (node.type for node in one.node.inputs)
        rows += numbers.size
        moved += numbers.size * table.nbytes // table.shape[0]
        dma_ns += one.engine_ns["dma"]
        rows_ns += numbers.size * values["dma_packet_ns"] / queues
    return Lookups(rows, moved, dma_ns, rows_ns, moved / rate) if rows else None


@dataclass(frozen=True, slots=True)
class Pace:
    """Rows of one width, looked up in a long stream.

    Attributes
    ----------
    width : int
        Numbers in a row.
    row_bytes : int
        Of one descriptor.
    ns_per_row : float
        Of all 16 queues together, as a gather takes it on our clock: its indices, the row, and the
        place it is put in.
    share : float
        Of the documented rate of long rows, that these bytes are fetched at.
    descriptors_alone : (float, float, float)
        The same share from the facts, if nothing moved but the rows: at the slowest, as it is
        taken, at the fastest.
    """

    width: int
    row_bytes: int
    ns_per_row: float
    share: float
    descriptors_alone: tuple[float, float, float]


@checked
def lookup_paces(widths: Sequence[int] = (8, 32, 64, 128, 256, 512, 1024, 2048, 4096), *,
                 dtype: str = "bfloat16", spec: Record = TRN1) -> tuple:  # fmt: skip
    """Return how fast rows of several widths are looked up.

    Parameters
    ----------
    widths : sequence of int
        Numbers in a row.
    dtype : str
        Of the table.
    spec : specs.Record
        ``TRN1`` or ``INF2``.

    Returns
    -------
    tuple of Pace

    Raises
    ------
    ValueError
        If the width is not an integer from 1 to 8,192.

    Examples
    --------
    >>> short, twice = lookup_paces([64, 128])
    >>> short.row_bytes, twice.ns_per_row / short.ns_per_row < 1.01
    (128, True)
    """
    return tuple(_pace(width, dtype, spec) for width in widths)


def _pace(width, dtype, spec) -> Pace:
    ns = lookup_program(_LONG, width, dtype=dtype, spec=spec).makespan_ns / _LONG
    size = width * get_dtype(dtype).itemsize
    rate = float(spec.dma.bytes_per_s) / 1e9
    known = parameters(spec)
    ends = [{name: getattr(one, end) for name, one in known.items()}
            for end in ("slow", "nominal", "fast")]  # fmt: skip
    alone = [size / float(dma_row_ns(size, values)) * int(spec.dma.queues) / rate
             for values in ends]  # fmt: skip
    return Pace(width, size, ns, size / ns / rate, (alone[0], alone[1], alone[2]))


@lru_cache(maxsize=32)
@checked
def lookup_program(rows: int, width: int, *, dtype: str = "bfloat16",
                   spec: Record = TRN1) -> Executable:  # fmt: skip
    """Return a program that looks up rows of a large table, and nothing else.

    Parameters
    ----------
    rows : int
        How many, from 1 to 1,048,576.
    width : int
        Numbers in a row, from 1 to 8,192.
    dtype : str
        Of the table.
    spec : specs.Record
        ``TRN1`` or ``INF2``.

    Returns
    -------
    Executable

    Examples
    --------
    >>> lookup_program(256, 64).final.nodes[-1].operation
    'gather'
    """
    whole(rows, "rows", 1, 2**20)
    whole(width, "width", 1, 8192)
    table = parameter(0, as_type((_LONG, width), dtype), "table")
    numbers = parameter(1, as_type((rows,), "int32"), "numbers")
    return Executable(Graph("lookup", (table, numbers), (apply("gather", table, numbers),)),
                      spec=spec)  # fmt: skip
