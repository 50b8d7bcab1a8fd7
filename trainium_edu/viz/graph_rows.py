"""A compiled graph as rows: layers inside phases, operations inside layers, and what each takes.

Operations are grouped by scope, in order of execution.

Operations overlap: an engine loads the next one's weights while another still works.  So that
times add up to the step, an operation's *time* is by how much it ends later than all that ended
before it; what was hidden behind others takes none.  How long it ran itself, and how long each
engine was at work, stand beside that.
"""

from dataclasses import dataclass, field

import numpy as np

__all__ = ["ENGINES", "GraphRows", "Row", "rows_of"]

ENGINES = ("tensor", "vector", "scalar", "gpsimd", "dma")  #: in the order of every bar
PHASES = ("forward", "backward", "update")


@dataclass(slots=True)
class Row:
    """A layer, or one operation; rows stand in order, a layer's own right below it."""

    name: str
    level: int  #: 0 is a phase
    phase: str  #: of PHASES, "inputs" or "step"
    node: int = -1  #: number of the operation, -1 for a layer
    end: int = 0  #: number of the first row below that is no part of it
    ns: float = 0.0
    engine_ns: list[float] = field(default_factory=lambda: [0.0] * len(ENGINES))
    flops: float = 0.0
    bytes: float = 0.0
    operations: int = 0


@dataclass(frozen=True, slots=True)
class GraphRows:
    """One graph as the page takes it: its operations, and its rows."""

    nodes: list[dict]
    rows: list[Row]


def rows_of(description: dict) -> dict[str, GraphRows]:
    """Return the rows of a described executable.

    Parameters
    ----------
    description : dict
        As :func:`trainium_edu.xla.executable.describe` gives it: an operation's id is its place.

    Returns
    -------
    dict of GraphRows
        ``compiled`` and ``recorded``.  A compiled operation has ``others``, the numbers of the
        recorded ones that it stands for, and a recorded one those of the compiled ones.
    """
    recorded = [node | {"others": []} for node in description["recorded"]]
    compiled = []
    for k, (node, ns) in enumerate(zip(description["nodes"], _advances(description), strict=True)):
        engine_ns = [node["engine_ns"].get(engine, 0.0) for engine in ENGINES]
        others = node["stands_for"]
        compiled.append(node | {"ns": ns, "others": others, "engine_ns": engine_ns})
        for other in others:
            recorded[other]["others"].append(k)
    sides = {"compiled": compiled, "recorded": recorded}
    return {side: GraphRows(nodes, _rows(nodes)) for side, nodes in sides.items()}


def _place_of(node) -> tuple[str, ...]:
    """Return phase and layers of an operation: in its scope the phase may stand anywhere.

    What has layers and names no phase belongs to the forward pass; what has neither are the inputs
    of the step, and the step.
    """
    parts = [part for part in node["scope"].split("/") if part]
    loose = "inputs" if node["operation"] == "parameter" else "step"
    phase = next((p for p in parts if p in PHASES), "forward" if parts else loose)
    return phase, *(p for p in parts if p != phase)


def _rows(nodes) -> list[Row]:
    """Return a graph's layers and operations in order; a layer stands where it begins.

    What reads nothing (a parameter, a constant) stands right before its first reader, and the
    inputs of no layer before all others.
    """
    first = list(range(len(nodes)))
    for k, node in reversed(list(enumerate(nodes))):
        for i in node["inputs"]:
            first[i] = first[i] if nodes[i]["inputs"] else k
    root: dict = {"inputs": {}}
    for k, node in sorted(enumerate(nodes), key=lambda entry: (first[entry[0]], entry[0])):
        inner = root
        for part in _place_of(node):
            inner = inner.setdefault(part, {})
        inner[k] = node
    rows: list[Row] = []
    _unfold({phase: inner for phase, inner in root.items() if inner}, 0, "step", rows)
    return rows


def _unfold(inner, level, phase, rows) -> None:
    """Append the rows of a layer."""
    for key, below in inner.items():
        of = key if level == 0 else phase
        if isinstance(key, str):
            rows.append(row := Row(key, level, of))
            first = len(rows)
            _unfold(below, level + 1, of, rows)
            leaves = [part for part in rows[first:] if part.node >= 0]
            row.operations = len(leaves)
            for name in ("ns", "flops", "bytes"):
                setattr(row, name, sum(getattr(leaf, name) for leaf in leaves))
            row.engine_ns = [sum(ns) for ns in zip(*(x.engine_ns for x in leaves), strict=True)]
        else:
            took = {k: below[k] for k in ("ns", "flops", "bytes", "engine_ns") if k in below}
            rows.append(row := Row(below["operation"], level, of, key, operations=1, **took))
        row.end = len(rows)


def _advances(description) -> list[float]:
    """Return by how much each operation ends later than all that ended before it."""
    ends = np.array([node["end_ns"] for node in description["nodes"]], float)
    order = np.argsort(ends, kind="stable")
    ends[order] = np.diff(ends[order], prepend=0.0)
    return ends.tolist()
