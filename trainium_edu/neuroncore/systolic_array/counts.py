"""What moves: bytes per memory, and the same product on two machines without an array.

"It hands intermediate results on instead of shuttling them to memory" becomes a number here.  The
register-file and the SIMD machine are textbook machines, counted, not measured: no cache, no
blocking in registers, which real ones have.  Energy is left out.
"""

from collections.abc import Sequence
from dataclasses import dataclass

from trainium_edu.neuroncore.systolic_array.array import TRN1_ARRAY, SystolicArray, whole
from trainium_edu.neuroncore.systolic_array.plan import Pass, plan_gemm
from trainium_edu.numerics.formats import Format
from trainium_edu.specs.signatures import checked

__all__ = ["MachineCounts", "Traffic", "count_machines", "traffic"]

_FP32_BYTES = 4


@dataclass(frozen=True, slots=True)
class Traffic:
    """Bytes that a run moves, per memory."""

    sbuf_stationary_bytes: int  #: read by LoadStationary
    sbuf_moving_bytes: int  #: read by MultiplyMoving
    psum_write_bytes: int
    psum_read_bytes: int  #: read back to be added to


@dataclass(frozen=True, slots=True)
class MachineCounts:
    """The work of one machine for a product, in elements and instructions."""

    machine: str
    instructions: int
    memory_reads: int  #: elements read from the memory that feeds the arithmetic
    memory_writes: int
    register_file_accesses: int  #: reads and writes of a register file with addresses
    handed_on: int  #: values given to a neighbour without any address
    macs: int

    @property
    def memory_per_mac(self) -> float:
        """Memory accesses per multiply-add."""
        return (self.memory_reads + self.memory_writes) / self.macs

    @property
    def register_file_per_mac(self) -> float:
        """Register-file accesses per multiply-add."""
        return self.register_file_accesses / self.macs


@checked
def traffic(passes: Sequence[Pass], formats: tuple[Format, Format]) -> Traffic:
    """Count the bytes of a plan.

    Parameters
    ----------
    passes : sequence of Pass
    formats : (Format, Format)
        Of the stationary and the moving operand.

    Examples
    --------
    >>> from trainium_edu.numerics import BF16
    >>> traffic(plan_gemm(128, 128, 512), (BF16, BF16)).psum_write_bytes
    262144
    """
    left, right = (-(-f.bits // 8) if f.name != "tf32" else _FP32_BYTES for f in formats)
    stationary = moving = written = read = 0
    for p in passes:
        k, m, n = p.shape
        stationary += k * m * left * p.load
        moving += k * n * right
        written += m * n * _FP32_BYTES
        read += m * n * _FP32_BYTES * p.accumulate
    return Traffic(stationary, moving, written, read)


@checked
def count_machines(
    k: int, m: int, n: int, *, array: SystolicArray = TRN1_ARRAY, lanes: int | None = None
) -> tuple[MachineCounts, MachineCounts, MachineCounts]:
    """Count one product on a register-file machine, a SIMD machine and the array.

    Parameters
    ----------
    k, m, n : int
    array : SystolicArray
    lanes : int, optional
        Of the SIMD machine; as many as the array has rows if not given.

    Returns
    -------
    (register-file machine, SIMD machine, systolic array)

    Notes
    -----
    Register-file machine, per multiply-add: two loads, each writing a register, and one
    multiply-add that reads three registers and writes one; one store per result.
    SIMD machine: the same with `lanes` results per instruction; one weight is broadcast to all
    lanes, so that it is loaded once per instruction.
    Array: each operand element is read once per tile it takes part in; a multiply-add hands the
    moving value to the right and the sum down, and no register has an address.

    Examples
    --------
    >>> [round(c.memory_per_mac, 3) for c in count_machines(128, 128, 512)]
    [2.008, 1.016, 0.018]
    """
    k, m, n = whole(k, "K"), whole(m, "M"), whole(n, "N")
    lanes = array.rows if lanes is None else whole(lanes, "lanes")
    macs = k * m * n
    outputs = m * n
    scalar = MachineCounts(
        "register file", 3 * macs + outputs, 2 * macs, outputs, 6 * macs + outputs, 0, macs
    )
    groups = m * -(-n // lanes)
    simd = MachineCounts(
        f"SIMD, {lanes} lanes",
        groups * (3 * k + 1),
        groups * k + macs,
        outputs,
        groups * k + macs + 4 * macs + outputs,
        0,
        macs,
    )
    plan = plan_gemm(k, m, n, array=array)
    reads = writes = 0
    for p in plan:
        pk, pm, pn = p.shape
        reads += pk * pm * p.load + pk * pn + pm * pn * p.accumulate
        writes += pm * pn
    loads = sum(p.load for p in plan)
    systolic = MachineCounts("systolic array", loads + len(plan), reads, writes, 0, 2 * macs, macs)
    return scalar, simd, systolic
