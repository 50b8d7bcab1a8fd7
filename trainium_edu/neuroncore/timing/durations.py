"""How long each instruction takes, in pieces, and which facts each piece rests on.

An instruction holds its engine for ``fixed + work``; its result is visible to others ``result``
later (the pipeline drains, and the engine may already run the next).  Before its work a matmul
loads its stationary matrix and a transfer starts up: the ``lead``, which may pass while the engine
or queue is still busy with something else.  FP32 matrices are loaded in parts, one for each pass,
and those loads are seen: they are the matmul's fixed part.  A result is written as it comes, so a
dependent instruction on the *same* engine waits only for the first elements: ``chain`` after the
start.

A transfer's share of a queue lasts as long as the longest of several times.  One is the least
turnaround.  One is its packets (runs that are contiguous in HBM, or all runs of one partition, near
each other) at the packet rate.  One is its bytes at the queue's rate: each row adds a little, and
each of several runs of one partition, a DMA buffer of its own, a little more.  From HBM to HBM one
is its bytes, read and written, at the queue's part of HBM's bandwidth.  That is the pace of
long streams.  A queue may be ahead of it by ``dma_burst_ns``, and is quicker until then: short
kernels were seen at 385 to 400 GB/s, long ones at 250 to 263.  Lists of short buffers were seen at
one pace only; none costs more than a packet of its own.

A chip with hardware for it makes a transfer's descriptors when it is due, for one transfer at a
time: ``dge_ns`` for Sync, and so for Scalar.

Every piece is a multiple of 2**-20 ns, so that sums of float64 are exact.
"""

import math
from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np

from trainium_edu.neuroncore.engines.custom_op import PRICES, custom_op_ns
from trainium_edu.neuroncore.recording.engine import Engine
from trainium_edu.neuroncore.recording.instruction_set import INSTRUCTIONS, cycles_of
from trainium_edu.neuroncore.timing.expansion import Expanded
from trainium_edu.specs.record import Record
from trainium_edu.specs.signatures import checked

__all__ = ["OPERATOR_PARAMETERS", "Durations", "Parameter", "dma_row_ns", "durations", "parameters",
           "quantise", "settle", "table"]  # fmt: skip

#: prices of what operators in C++ do; no other instruction depends on them
OPERATOR_PARAMETERS = frozenset(f"operator_{name}" for name in PRICES)
_GROUPS = {"element_ns": "element accesses", "copy_start_ns": "TCM copies", "block_ns": "C++ code",
           "library_ns": "tensor library", "curve_ns": "tensor library"}  # fmt: skip
TICK_NS = 2.0**-20


def table(ns: str, at: str) -> np.dtype:
    """Return the dtype of a loop's table: fields of times, and of numbers, by their names."""
    return np.dtype([(name, np.float64) for name in ns.split()]
                    + [(name, np.int64) for name in at.split()])  # fmt: skip


def quantise(ns):
    """Round nanoseconds (number or array) to multiples of 2**-20 ns, half to even."""
    return np.rint(np.multiply(ns, 2.0**20)) * TICK_NS


@dataclass(frozen=True, slots=True)
class Parameter:
    """One number that times depend on, and between which bounds it may truly lie."""

    name: str
    nominal: float
    unit: str
    fast: float  #: the bound that makes programs shorter; equal to `slow` where nothing is doubted
    slow: float
    group: str  #: parameters of one group move together
    facts: tuple  #: dotted names in the chip's record
    may_be_zero: bool = False
    only: str = ""  #: the one instruction that depends on it; "" for others

    def __str__(self):
        doubt = "" if self.fast == self.slow else f", between {self.fast:g} and {self.slow:g}"
        return f"{self.name} = {self.nominal:g} {self.unit}{doubt} ({self.group})"


def check_chip(spec: Record) -> None:
    """Raise ValueError for a chip whose facts about time are missing."""
    if getattr(spec, "timing", None) is None:
        raise ValueError(
            f"{spec!r} cannot be timed: the emulator has the facts of TRN1, INF2 and TRN2"
        )


@checked
def parameters(spec: Record) -> dict[str, Parameter]:
    """Return every parameter of time by name, as the chip's facts have them.

    Examples
    --------
    >>> from trainium_edu.specs import TRN1
    >>> print(parameters(TRN1)["dma_start_ns"])
    dma_start_ns = 1300 ns, between 1200 and 2400 (DMA start)
    """
    t, d = spec.timing, spec.dma
    share = t.result_share_range.value
    entries = []

    def add(name, nominal, unit, group, facts, low_high=None, *, zero=True, more_is_faster=False):
        low, high = low_high or (nominal, nominal)
        fast, slow = (high, low) if more_is_faster else (low, high)
        entries.append(Parameter(name, float(nominal), unit, float(fast), float(slow), group,
                               facts, zero))  # fmt: skip

    for engine in ("tensor", "vector", "scalar", "gpsimd"):
        path = f"{engine}_engine.clock_hz"
        add(f"{engine}_clock_hz", float(spec.find(path)), "Hz", "clocks", (path,), zero=False)
    add("work_factor", 1.0, "of the printed cycles", "instruction formulas",
        ("timing.formula_range",), t.formula_range.value, zero=False)  # fmt: skip
    add("fixed_cycles", float(spec.cycles.fixed_overhead_cycles), "cycles", "fixed overhead",
        ("cycles.fixed_overhead_cycles", "timing.fixed_overhead_range"),
        t.fixed_overhead_range.value)  # fmt: skip
    for engine in ("tensor", "vector", "scalar", "gpsimd"):
        path = f"timing.{engine}_result_cycles"
        cycles = float(spec.find(path))
        bounds = (share[0] * cycles, share[1] * cycles)
        add(f"{engine}_result_cycles", cycles, "cycles", "result latency",
            (path, "timing.result_share_range"), bounds)  # fmt: skip
    add("load_stationary_speedup", float(spec.tensor_engine.load_stationary_speedup), "",
        "instruction formulas", ("tensor_engine.load_stationary_speedup",), zero=False)  # fmt: skip
    add("dma_start_ns", float(d.start_ns), "ns", "DMA start",
        ("dma.start_ns", "timing.dma_start_range_ns"), t.dma_start_range_ns.value)  # fmt: skip
    add("dma_bytes_per_s", float(d.bytes_per_s), "bytes/s", "DMA rate",
        ("dma.bytes_per_s", "timing.dma_rate_range"), t.dma_rate_range.value, zero=False,
        more_is_faster=True)  # fmt: skip
    for name, unit, group, more_is_faster in (
        ("dma_packet_ns", "ns per packet", "DMA packets", False),
        ("dma_far_packet_ns", "ns per packet", "DMA packets", False),
        ("dma_buffer_ns", "ns per buffer", "DMA packets", False),
        ("dma_row_ns", "ns per row", "DMA rate", False),
        ("dma_turnaround_ns", "ns per transfer and queue", "DMA turnaround", False),
        ("dma_burst_turnaround_ns", "ns per transfer and queue", "DMA turnaround", False),
        ("dma_burst_speedup", "times the sustained rate", "DMA bursts", True),
        ("dma_burst_ns", "ns ahead of the sustained rate", "DMA bursts", True),
        ("fp32_load_speedup", "", "FP32 stationary loads", True),
        ("dge_ns", "ns per transfer and generator", "DMA descriptors", False),
    ):
        if not hasattr(t, name):
            continue  # a chip without generators
        add(name, spec.find(f"timing.{name}").value, unit, group,
            (f"timing.{name}", f"timing.{name}_range"), spec.find(f"timing.{name}_range").value,
            zero=name not in ("dma_burst_speedup", "fp32_load_speedup"),
            more_is_faster=more_is_faster)  # fmt: skip
    for name, (fact, doubt) in PRICES.items():
        paths = (fact, doubt) if doubt else (fact,)
        price = spec.find(fact)
        low, high = spec.find(doubt).value if doubt else (float(price),) * 2
        entries.append(Parameter(f"operator_{name}", float(price), price.unit, low, high,
                               _GROUPS.get(name, "DMA rate"), paths, name.endswith("_ns"),
                               only="custom_op"))  # fmt: skip
    return {p.name: p for p in entries}


def settle(spec: Record, changes=None) -> dict[str, float]:
    """Return the values to time with: the nominal ones, with `changes` by name.

    Raises
    ------
    ValueError
        For an unknown name, a number that is not finite, negative, or zero where it divides.
    """
    check_chip(spec)
    by_name = parameters(spec)
    values = {name: p.nominal for name, p in by_name.items()}
    if changes is None:
        return values
    if not isinstance(changes, Mapping):
        raise TypeError(
            f"parameters is {changes!r}; it must be a dict such as {{'dma_start_ns': 2000}}"
        )
    for name, value in changes.items():
        if name not in by_name:
            raise ValueError(f"no parameter {name!r}; choose one of {', '.join(by_name)}")
        if isinstance(value, bool) or not isinstance(value, int | float | np.number):
            raise ValueError(f"{name} is {value!r}; it must be a number of {by_name[name].unit}")
        low = 0 if by_name[name].may_be_zero else math.ulp(0.0)
        if not math.isfinite(value) or value < low:
            raise ValueError(
                f"{name} is {value!r}; it must be a finite number {'>= 0' if low == 0 else '> 0'}"
                " (to take a cause away altogether, use without(...))"
            )
        values[name] = float(value)
    return values


def dma_row_ns(row_bytes, values: Mapping, queues: int = 16, packets=1.0, far=False):
    """Return the nanoseconds for which one row (descriptor) holds one queue, in a long stream.

    The longer of two: what its packets cost (up to about 2.4 KiB "the packet rate, not HBM
    bandwidth, is the limiting factor"), and its bytes at the queue's rate.

    Parameters
    ----------
    row_bytes : number or array
        Contiguous bytes of a row.
    values : mapping
        Parameters from :func:`settle`.
    packets : number or array, optional
        Packets per row: under 1 where rows of several partitions lie one after another in HBM.
    far : bool or array, optional
        Whether they are at least 512 KiB apart in HBM.
    """
    rate = values["dma_bytes_per_s"] / queues / 1e9  # bytes per ns
    bytes_ns = values["dma_row_ns"] + np.asarray(row_bytes, np.float64) / rate
    packet_ns = np.where(far, values["dma_far_packet_ns"], values["dma_packet_ns"])
    return np.maximum(packets * packet_ns, bytes_ns)


@dataclass(frozen=True, slots=True)
class Durations:
    """Pieces in ns for each kind of instruction (``Expanded.kinds``), and rows of transfers."""

    lead: np.ndarray  #: load stationary, or DMA start
    fixed: np.ndarray  #: a transfer: the least that its share holds a queue
    work: np.ndarray  #: a transfer: of one row on one queue
    result: np.ndarray
    chain: np.ndarray
    descriptors: np.ndarray  #: int64, 0 for instructions
    quick: np.ndarray  #: ``work`` of a transfer in a burst
    quick_fixed: np.ndarray  #: its ``fixed`` in a burst
    making: np.ndarray  #: for how long a transfer holds the generator of its descriptors
    lanes: np.ndarray  #: int64[kinds, 3]: a transfer's first queue, how many (0: all), generator
    tolerance: float  #: by how many ns of the sustained pace a queue may be ahead

    @property
    def hold(self):
        """For how long the engine is held; of a transfer, one row its queue."""
        return np.where(self.descriptors > 0, self.work, self.fixed + self.work)


def _documented(run: Expanded, spec: Record):
    """Return each kind's cycles, and whether they hold a fixed part; kept while the chip is."""
    kept = run.cache.get("documented")
    if kept is not None and kept[0] is spec:
        return kept[1:]
    cycles = np.zeros(len(run.kinds))
    has_fixed = [has_own_fixed_part(kind.name, spec) for kind in run.kinds]
    for k, kind in enumerate(run.kinds):
        if kind.engine is Engine.DMA:
            continue
        cycles[k] = cycles_of(kind.name, kind.work, kind.engine, spec)
        if not 0 <= cycles[k] < 1e12:
            raise ValueError(f"{kind.name}{kind.work}: its cost function returns {cycles[k]}")
    run.cache["documented"] = (spec, cycles, has_fixed)
    return cycles, has_fixed


def has_own_fixed_part(name: str, spec: Record) -> bool:
    """Whether the printed formula begins with a constant ("150 + N") of its own."""
    row = INSTRUCTIONS.get(name)
    for path in row.facts if row else ():
        text = spec.find(path).value
        if isinstance(text, str) and text.split("+")[0].strip().isdigit():
            return True
    return False


def durations(run: Expanded, spec: Record, values: Mapping, without=()) -> Durations:
    """Return the pieces of every kind of instruction in a program.

    Parameters
    ----------
    run : Expanded
    spec : Record
    values : mapping
        Parameters from :func:`settle`.
    without : collection of str
        ``"dma"``: transfers take no time; ``"fixed"``: no fixed overhead, result latency, loading
        of stationary matrices or DMA start.
    """
    n = len(run.kinds)
    cycles, has_fixed = _documented(run, spec)
    lead, fixed, work, result, chain = (np.zeros(n) for _ in range(5))
    descriptors = np.zeros(n, np.int64)
    least = float(spec.cycles.min_initiation_cycles)
    queues = int(spec.dma.queues)
    row_bytes, packets, lanes = np.zeros(n), np.ones(n), np.zeros((n, 3), np.int64)
    far, in_hbm, has_lists = np.zeros((3, n), bool)
    for k, kind in enumerate(run.kinds):
        name, engine, sizes = kind[:3]
        if kind.packets is not None:
            descriptors[k], row_bytes[k] = sizes[1:3]
            count, far[k], *lanes[k], in_hbm[k], has_lists[k] = kind.packets
            packets[k] = max(count, min(sizes[1], lanes[k, 1] or queues)) / max(sizes[1], 1)
            continue
        ns = 1e9 / values[f"{engine.clock}_clock_hz"]
        full = cycles[k] * values["work_factor"]
        work[k] = full * ns
        if name == "custom_op":
            prices = {price: values[f"operator_{price}"] for price in PRICES}
            work[k] = custom_op_ns(sizes, prices)
        if engine is Engine.SYNC:
            continue
        result[k] = values[f"{engine.clock}_result_cycles"] * ns
        if engine is Engine.TENSOR:
            if name == "nc_matmul":  # as many passes as it multiplies in, at up to 4 x the speed
                floor = float(spec.tensor_engine.min_initiation_cycles)
                passes = cycles[k] / max(min(floor, sizes[1]), sizes[2])
                load = sizes[1] * passes * ns
                if passes > 1 and kind.loads_another:  # each pass loads a part of a new FP32 matrix
                    fixed[k] = load / values["fp32_load_speedup"]
                else:
                    lead[k] = load / values["load_stationary_speedup"]
        elif not has_fixed[k]:
            fixed[k] = values["fixed_cycles"] * ns
        first = min(full, max(least, full / max(kind.written, 1)))
        chain[k] = first * ns
    is_dma = descriptors > 0
    dge_ns = 0.0 if {"dma", "fixed"} & {*without} else values.get("dge_ns", 0.0)
    making = np.where(is_dma & (lanes[:, 2] >= 0), dge_ns, 0.0)
    lead[is_dma] = values["dma_start_ns"]
    work[is_dma] = dma_row_ns(row_bytes, values, queues, packets, far)[is_dma]
    fixed[is_dma] = values["dma_turnaround_ns"]
    hbm_rate = float(spec.hbm_bytes_per_s_per_core) / queues / 1e9  # bytes per ns
    both_ns = np.where(in_hbm, 2 * row_bytes / hbm_rate, 0)  # read there and written there
    rate, burst = values["dma_bytes_per_s"] / queues / 1e9, max(values["dma_burst_speedup"], 1.0)
    lists_ns = np.where(has_lists, values["dma_buffer_ns"] + row_bytes / rate, 0)
    alone_ns = dma_row_ns(row_bytes, values, queues)  # in a packet of its own
    work = np.maximum.reduce((work, both_ns, np.minimum(lists_ns, alone_ns)))
    quick = np.maximum.reduce((work / burst, both_ns, np.minimum(lists_ns, alone_ns / burst)))
    quick_fixed = np.minimum(fixed, values["dma_burst_turnaround_ns"])
    if "dma" in without:
        lead[is_dma] = fixed[is_dma] = quick_fixed[is_dma] = work[is_dma] = quick[is_dma] = 0
    if "fixed" in without:
        lead[:] = fixed[:] = quick_fixed[:] = result[:] = 0
    for k, kind in enumerate(run.kinds):
        if kind.left:
            lead[k], fixed[k], work[k] = np.multiply(kind.left, (lead[k], fixed[k], work[k]))
            quick_fixed[k], quick[k] = np.multiply(kind.left[1:], (quick_fixed[k], quick[k]))
    lead, fixed, work, result, chain, quick, quick_fixed, making = map(
        quantise, (lead, fixed, work, result, chain, quick, quick_fixed, making)
    )
    engine_chain = np.where(is_dma, 0, np.minimum(fixed + chain, fixed + work) + result)
    return Durations(
        lead, fixed, work, result, engine_chain, descriptors, quick, quick_fixed,
        making, lanes,
        float(quantise(values["dma_burst_ns"])),
    )  # fmt: skip
