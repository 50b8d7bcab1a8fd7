"""``nccom-test`` as a student would run it: the same options, the same table, modelled times."""

import json
import re
from dataclasses import dataclass
from pathlib import Path

import ml_dtypes
import numpy as np

from trainium_edu import files
from trainium_edu.fabric.accounting import Costs, rules
from trainium_edu.fabric.arguments import choice, flag, names_of, real_number, shown
from trainium_edu.fabric.collectives import run
from trainium_edu.fabric.machines import group
from trainium_edu.fabric.published import Comparison, _swap_pairs, model_time_ns
from trainium_edu.fabric.schedule import Collective
from trainium_edu.fabric.topology import FabricError, Topology, known, whole_number
from trainium_edu.specs import NCCOM_TABLES

__all__ = ["DATATYPES", "OPERATIONS", "NccomReport", "bus_factor", "nccom_test", "parse_bytes"]

#: Names and short names of the tool's operations.
OPERATIONS = {
    "all_reduce": Collective.ALL_REDUCE, "allr": Collective.ALL_REDUCE,
    "all_gather": Collective.ALL_GATHER, "allg": Collective.ALL_GATHER,
    "reduce_scatter": Collective.REDUCE_SCATTER, "redsct": Collective.REDUCE_SCATTER,
    "alltoall": Collective.ALL_TO_ALL, "sendrecv": Collective.PERMUTE,
    "permute": Collective.PERMUTE,
}  # fmt: skip
#: Data types of the tool.
DATATYPES = {
    "uint8": np.uint8, "int8": np.int8, "uint16": np.uint16, "int16": np.int16,
    "uint32": np.uint32, "int32": np.int32, "fp16": np.float16, "bf16": ml_dtypes.bfloat16,
    "fp32": np.float32,
}  # fmt: skip
#: The order of the table's columns; that of the JSON report is another.
_HEADS = ("size(B)", "count(elems)", "total_input_size(B)", "total_output_size(B)", "type", "time",
          "algbw(GB/s)", "busbw(GB/s)", "algorithm")  # fmt: skip
_UNITS = {"": 1, "k": 2**10, "m": 2**20, "g": 2**30}
_MOST_LINES = 200
_MOST_CHECKED_BYTES = 64 * 2**20  # of all ranks together
_LARGEST = 2**40


@dataclass(frozen=True, slots=True)
class _Row:
    nbytes: int
    count: int
    datatype: str
    time_us: float
    algorithm: str
    algbw: float  #: GB/s, decimal
    busbw: float
    input_bytes: int
    output_bytes: int


@dataclass(frozen=True, slots=True)
class NccomReport:
    """The report of one run of the tool."""

    operation: str
    ranks: int
    rows: tuple[_Row, ...]
    stats: tuple[str, ...] = ("avg",)
    show_algorithm: bool = False
    show_input_output_size: bool = False
    note: str = ""

    @property
    def average_bus_bandwidth(self) -> float:
        """Mean of the busbw column, decimal GB/s."""
        return sum(r.busbw for r in self.rows) / len(self.rows)

    def to_json(self) -> dict:
        """Return the report as the tool's JSON file holds it."""
        return {"results": [self._fields(row) for row in self.rows]}

    def _fields(self, row):
        out = {"size(B)": row.nbytes, "count(elems)": row.count, "type": row.datatype}
        if self.show_input_output_size:
            out |= {"total_input_size(B)": row.input_bytes,
                    "total_output_size(B)": row.output_bytes}  # fmt: skip
        out |= {"algbw(GB/s)": row.algbw, "busbw(GB/s)": row.busbw}
        out |= {f"time:{s}(us)": row.time_us for s in self.stats}
        return out | ({"algorithm": row.algorithm} if self.show_algorithm else {})

    def __str__(self):
        """Show the table in the tool's layout."""
        rows = [self._fields(row) for row in self.rows]
        heads = sorted(rows[0], key=lambda head: _HEADS.index(head.partition(":")[0]))
        table = [heads]
        for row in rows:
            cells = (row[head] for head in heads)
            table.append([f"{c:.2f}" if isinstance(c, float) else str(c) for c in cells])
        widths = [max(12, len(head)) for head in heads]
        lines = ["    ".join(c.rjust(w) for c, w in zip(cells, widths, strict=True))
                 for cells in table]  # fmt: skip
        lines.append(f"Avg bus bandwidth:\t{self.average_bus_bandwidth:.4f}GB/s")
        return "\n".join(lines + ([self.note] if self.note else []))

    def beside_published(self) -> list[Comparison]:
        """Return the lines of the published tables of the same run, with the model's times."""
        operation = OPERATIONS[self.operation]
        rows = {row.nbytes: row for row in self.rows}
        return [
            Comparison(str(t), nbytes, us, rows[nbytes].time_us, name, rows[nbytes].algorithm)
            for t in NCCOM_TABLES
            if t.ranks == self.ranks and t.operation == operation
            for nbytes, us, name in t.rows.value
            if nbytes in rows
        ]


def parse_bytes(text, name: str = "a size") -> int:
    """Return a number of bytes from 32, "32", "32M", "1kb" or "1GB" (powers of 1024).

    Examples
    --------
    >>> parse_bytes("1kb"), parse_bytes("32M")
    (1024, 33554432)
    """
    if isinstance(text, int | np.integer) and not isinstance(text, bool):
        value = int(text)
    else:
        plain = text.strip().lower() if isinstance(text, str) else ""
        match = re.fullmatch(r"([0-9]{1,15})\s*([kmg]?)i?b?", plain)
        if not match:
            raise FabricError(f"{name} is {shown(text)}; write it as 1024, 1kb, 32M or 1GB")
        value = int(match[1]) * _UNITS[match[2]]
    if not 1 <= value <= _LARGEST:
        raise FabricError(f"{name} is {shown(value)} bytes; it goes from 1 byte to 1024 GB")
    return value


def bus_factor(operation: str, ranks: int) -> float:
    """Return busbw / algbw: what an operation needs of each rank's link, as NCCL defines it.

    Examples
    --------
    >>> bus_factor("allr", 2), bus_factor("allg", 32)
    (1.0, 0.96875)
    """
    ranks = whole_number(ranks, "the number of ranks", most=200_000)
    match OPERATIONS[choice(operation, OPERATIONS, "operation")]:
        case Collective.ALL_REDUCE:
            return 2 * (ranks - 1) / ranks
        case Collective.PERMUTE:
            return 1.0
    return (ranks - 1) / ranks


def nccom_test(
    operation: str = "allr",
    *,
    nworkers: int = 2,
    nnodes: int = 1,
    minbytes="32M",
    maxbytes="32M",
    stepfactor: float | None = None,
    stepbytes=None,
    datatype: str = "uint8",
    check: str | bool = False,
    show_algorithm: bool = False,
    show_input_output_size: bool = False,
    stats=("avg",),
    report_to_json_file=None,
    topology: Topology | None = None,
    costs: Costs | None = None,
) -> NccomReport:
    """Run the benchmark on the model: a line per size, times from the chosen algorithm.

    Parameters
    ----------
    operation : str
        A key of :data:`OPERATIONS`.
    nworkers, nnodes : int
        Ranks in all, and instances they are spread over (``-r``, ``-N``).
    minbytes, maxbytes : int or str
        First and last size: ``1024``, ``"1kb"``, ``"32M"``.  For an all-gather the output's.
    stepfactor : float, optional
        How sizes grow: by a factor above 1.
    stepbytes : int or str, optional
        Or by this number of bytes; a tenth of the range unless said otherwise.
    datatype : str
        A key of :data:`DATATYPES`.
    check : bool, "random" or "all_ones"
        Run the collective on data, too, and compare with NumPy (at most 64 MiB in all; of larger
        buffers a shorter one stands in, and the report says so).
    show_algorithm, show_input_output_size : bool
        More columns.
    stats : sequence of str
        "avg" and percentiles such as "p50"; a model has no spread, so all are equal.
    report_to_json_file : path, optional
        Where to write the JSON report.
    topology : Topology, optional
        Another machine with `nworkers` ranks.
    costs : Costs, optional

    Returns
    -------
    NccomReport
        Print it.

    Raises
    ------
    FabricError
        For what the tool would refuse.

    Examples
    --------
    >>> report = nccom_test("allr", nworkers=2, minbytes="1kb", maxbytes="1kb", datatype="fp32")
    >>> print(report)  # doctest: +NORMALIZE_WHITESPACE
         size(B)    count(elems)            type    time:avg(us)     algbw(GB/s)     busbw(GB/s)
            1024             256            fp32            3.01            0.34            0.34
    Avg bus bandwidth: 0.3406GB/s

    References
    ----------
    `nccom-test-guide` in :data:`trainium_edu.specs.SOURCES`.
    """
    operation = choice(operation, OPERATIONS, "operation")
    datatype = choice(datatype, DATATYPES, "datatype")
    if not isinstance(check, bool):
        choice(check, ("random", "all_ones"), "way to check")
    for stat in names_of(stats, "stats"):
        if not re.fullmatch(r"avg|p\d{1,2}|p100", stat):
            raise FabricError(f"{shown(stat)} is not a statistic; use avg, p50, p99, ...")
    flag(show_algorithm, "show_algorithm"), flag(show_input_output_size, "show_input_output_size")
    costs, path = rules(costs), None
    if report_to_json_file is not None:
        if not isinstance(report_to_json_file, str | Path):
            raise FabricError(f"report_to_json_file is {shown(report_to_json_file)}; it is a path")
        path = Path(report_to_json_file)
    topology = _machine(nworkers, nnodes, topology)
    collective, ranks = OPERATIONS[operation], topology.ranks
    if collective is not Collective.ALL_REDUCE and topology.instances > 1:
        raise FabricError(f"several instances are modelled for all_reduce only, not {operation}")
    width = np.dtype(DATATYPES[datatype]).itemsize
    rows, shortened = [], False
    for nbytes in _sizes(minbytes, maxbytes, stepfactor, stepbytes):
        nbytes = max(nbytes - nbytes % width, width)
        ns, algorithm = model_time_ns(topology, collective, nbytes, costs)
        if check:
            shortened |= _check(topology, collective, nbytes, datatype, check, algorithm)
        rate = nbytes / ns
        factor = bus_factor(operation, ranks)
        inputs = nbytes // ranks if collective is Collective.ALL_GATHER else nbytes
        outputs = nbytes // ranks if collective is Collective.REDUCE_SCATTER else nbytes
        rows.append(
            _Row(nbytes, nbytes // width, datatype, ns / 1e3, algorithm, rate, rate * factor,
                 inputs, outputs)
        )  # fmt: skip
    note = "checked on shorter buffers: at most 64 MiB in all" if shortened else ""
    report = NccomReport(
        operation, ranks, tuple(rows), tuple(stats), show_algorithm, show_input_output_size, note
    )
    if path is not None:
        try:
            files.write(path, json.dumps(report.to_json(), indent=4) + "\n")
        except (OSError, ValueError) as why:  # a folder, no permission; a null byte in the name
            raise FabricError(f"the report cannot be written to {shown(path)}: {why}") from None
    return report


def _machine(nworkers, nnodes, topology):
    whole_number(nworkers, "the number of workers (-r)", most=200_000)
    whole_number(nnodes, "the number of nodes (-N)", most=6250)
    if topology is not None:
        if known(topology).ranks != nworkers:
            raise FabricError(f"{topology.name} has {topology.ranks} ranks; -r says {nworkers}")
        return topology
    if nnodes > 1 and nworkers != 32 * nnodes:
        raise FabricError(
            f"{nworkers} workers on {nnodes} nodes; trn1.32xlarge has 32 ranks: use -r"
            f" {32 * nnodes}"
        )
    if nnodes == 1 and nworkers > 32:
        raise FabricError(f"{nworkers} workers do not fit one node of 32 ranks; add -N")
    return group(nworkers)


def _sizes(minbytes, maxbytes, stepfactor, stepbytes):
    first, last = parse_bytes(minbytes, "minbytes"), parse_bytes(maxbytes, "maxbytes")
    if first > last:
        raise FabricError(f"minbytes ({first}) is above maxbytes ({last}); swap them")
    if stepfactor is not None:
        real_number(stepfactor, "stepfactor", least=1, above=True)
        grow = [first]
        while grow[-1] * stepfactor <= last and len(grow) <= _MOST_LINES:
            grow.append(max(int(grow[-1] * stepfactor), grow[-1] + 1))
    else:
        step = max(1, (last - first) // 10) if stepbytes is None else parse_bytes(
            stepbytes, "stepbytes")  # fmt: skip
        count = (last - first) // step + 1
        grow = [first + i * step for i in range(min(count, _MOST_LINES + 1))]
    if len(grow) > _MOST_LINES:
        raise FabricError(f"that makes over {_MOST_LINES} lines; take a larger step")
    return grow


def _check(topology, collective, nbytes, datatype, pattern, algorithm):
    """Run the collective on data and compare with NumPy; return whether the buffer was cut."""
    ranks, dtype = topology.ranks, np.dtype(DATATYPES[datatype])
    count = nbytes // dtype.itemsize
    if collective is Collective.ALL_GATHER:
        count = max(1, count // ranks)
    most = max(1, _MOST_CHECKED_BYTES // (ranks * dtype.itemsize * ranks))
    used = min(count, most)
    rng = np.random.default_rng(1)
    if pattern == "all_ones":
        data = np.ones((ranks, used), dtype)
    else:  # small integers, whose sums every type holds exactly
        data = rng.integers(0, 2, (ranks, used)).astype(dtype)
    options = {}
    if collective is Collective.PERMUTE:
        options["target"] = _swap_pairs(ranks)
    name = "hierarchical" if algorithm == "hier" else algorithm
    got = run(topology, collective, data, name, **options)
    total = data.astype(np.float64).sum(axis=0)
    for rank in range(ranks):
        match collective:
            case Collective.ALL_REDUCE:
                right = total
            case Collective.REDUCE_SCATTER:
                right = np.array_split(total, ranks)[rank]
            case Collective.ALL_GATHER:
                right = data.reshape(-1)
            case Collective.ALL_TO_ALL:
                right = np.concatenate([np.array_split(d, ranks)[rank] for d in data])
            case _:
                right = data[options["target"].index(rank)]
        if not np.array_equal(got[rank].astype(np.float64), right.astype(np.float64)):
            raise FabricError(f"check failed: rank {rank} of {collective} differs from NumPy")
    return used < count
