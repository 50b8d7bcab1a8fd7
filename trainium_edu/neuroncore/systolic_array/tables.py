"""The numbers behind the pictures, as text: what the lesson prints."""

from collections.abc import Sequence

from trainium_edu.neuroncore.systolic_array.array import TRN1_ARRAY, SystolicArray
from trainium_edu.neuroncore.systolic_array.choice import choice_cycles
from trainium_edu.neuroncore.systolic_array.counts import count_machines
from trainium_edu.neuroncore.systolic_array.cycles import (
    documented_issue_cycles,
    steady_interval,
    tile_cycles,
    utilisation,
)
from trainium_edu.neuroncore.systolic_array.dataflows import (
    Dataflow,
    dataflow_cycles,
    dataflow_traffic,
)
from trainium_edu.neuroncore.systolic_array.evidence import evidence
from trainium_edu.specs import TRN1, Record
from trainium_edu.specs.signatures import checked

__all__ = [
    "choice_table", "dataflow_table", "evidence_table", "interval_table", "machine_table",
]  # fmt: skip


@checked
def machine_table(k: int, m: int, n: int, array: SystolicArray = TRN1_ARRAY) -> str:
    """Return a table of what three machines do for one product, per multiply-add.

    Examples
    --------
    >>> print(machine_table(128, 128, 512).splitlines()[0])
    per multiply-add        memory  register file  handed on
    """
    lines = [f"{'per multiply-add':<22} {'memory':>7} {'register file':>14} {'handed on':>10}"]
    for c in count_machines(k, m, n, array=array):
        handed = c.handed_on / c.macs
        lines.append(
            f"{c.machine:<22} {c.memory_per_mac:>7.3f} {c.register_file_per_mac:>14.3f} "
            f"{handed:>10.0f}"
        )
    return "\n".join(lines)


@checked
def interval_table(
    moving: Sequence[int] = (1, 16, 32, 64, 128, 512), array: SystolicArray = TRN1_ARRAY
) -> str:
    """Return a table of what a 128 x 128 tile costs, for some numbers of moving vectors."""
    m = array.columns
    lines = [
        "            one tile alone        each further tile (cycles)        documented",
        "    N    cycles  utilisation   same weights   new weights   not behind   max(N, 64)",
    ]
    slow = SystolicArray(array.rows, m, load_speed=array.load_speed, background_load=False)
    for n in moving:
        lines.append(
            f"{n:>5} {tile_cycles(m, n, array):>9} "
            f"{utilisation(array.rows, m, n, array, tiles=1):>12.1%}"
            f"{steady_interval(m, n, array, reuse=True):>15}{steady_interval(m, n, array):>14}"
            f"{steady_interval(m, n, slow):>13}{documented_issue_cycles(n, array=array):>13}"
        )
    return "\n".join(lines)


@checked
def choice_table(cases: Sequence[tuple[int, int, int]], array: SystolicArray = TRN1_ARRAY) -> str:
    """Return a table of both choices' cycles for some products ``x[rows, k] @ W[k, columns]``.

    Parameters
    ----------
    cases : list of (rows, k, columns)
    array : SystolicArray
    """
    lines = ["   x [rows, k]    W [k, columns]   cycles: W stays  x stays   documented: W     x"]
    for rows, k, columns in cases:
        prices = choice_cycles(k, rows, columns, array=array)
        w, x = prices["W stays"], prices["x stays"]
        lines.append(
            f"{f'[{rows}, {k}]':>14} {f'[{k}, {columns}]':>17} {w['array']:>17} {x['array']:>8}"
            f" {w['documented']:>15} {x['documented']:>5}"
        )
    return "\n".join(lines)


@checked
def dataflow_table(
    shapes: Sequence[tuple[str, int, int, int]], array: SystolicArray = TRN1_ARRAY
) -> str:
    """Return a table of the cycles and edge traffic of the three dataflows.

    Parameters
    ----------
    shapes : list of (label, K, M, N)
    array : SystolicArray
    """
    lines = [f"{'product':<16} {'stays':<19} {'cycles':>7} {'elements':>10} {'sums read back':>15}"]
    for label, k, m, n in shapes:
        for flow in Dataflow:
            moved = dataflow_traffic(flow, k, m, n, array)
            lines.append(
                f"{label:<16} {flow.removesuffix('-stationary'):<19} "
                f"{dataflow_cycles(flow, k, m, n, array):>7} {moved.total:>10} "
                f"{moved.sum_reads:>15}"
            )
    return "\n".join(lines)


def evidence_table(spec: Record = TRN1) -> str:
    """Return a table of which inner detail is documented, and which is a textbook's guess."""
    details = evidence(spec)
    width, lines = max(map(len, details)), []
    for name, fact in details.items():
        value, unit = fact.value, fact.unit
        if unit == "Hz":
            value, unit = value / 1e9, "GHz"
        most = "up to " if fact.note.startswith('"up to"') else ""
        said = f"{most}{value} {unit}".strip()
        lines.append(f"{fact.kind:<11} {name:<{width}}  {said}  [{fact.source}]")
    return "\n".join(lines)
