"""A compiled graph as rows: layers inside phases, operations inside layers, and what each takes.

What a description must hold is said in ``NODE`` and ``RECORDED``.  Its operations are grouped by
scope, in order of execution.

Operations overlap: an engine loads the next one's weights while another still works.  So that
times add up to the step, an operation's *time* is by how much it ends later than all that ended
before it; what was hidden behind others takes none.  How long it ran itself, and how long each
engine was at work, stand beside that.
"""

from collections.abc import Iterable
from dataclasses import dataclass, field
from math import isfinite

from trainium_edu.specs.arguments import short
from trainium_edu.viz.units import size_text, time_text

__all__ = ["ENGINES", "GraphRows", "Row", "numbered", "rows_of", "table_text"]

ENGINES = ("tensor", "vector", "scalar", "gpsimd", "dma")  #: in the order of every bar
PHASES = ("forward", "backward", "update")
#: Keys of an operation that a script recorded, and their kinds.
RECORDED = {"id": int | str, "operation": str, "type": str, "inputs": list | tuple, "scope": str,
            "line": str}  # fmt: skip
#: Keys that a compiled operation has besides; an engine that is not named does nothing.
NODE = RECORDED | {
    "text": str, "section": int | str | None, "start_ns": float, "end_ns": float,
    "engine_ns": dict, "bytes": float, "flops": float, "roofline_ns": float,
    "stands_for": list | tuple,
}  # fmt: skip
_ABOUT = {"name": str, "total_ns": float, "flops": float, "hbm_bytes": float, "nodes": list | tuple,
          "recorded": list | tuple, "passes": list | tuple, "advice": list | tuple}  # fmt: skip
_PASS = {"name": str, "nodes_before": int, "nodes_after": int}
_ADVICE = {"text": str, "ns": float, "nodes": list | tuple, "line": str}


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
    """One graph as the page takes it: operations with numbers in place of ids, and its rows."""

    nodes: list[dict]
    rows: list[Row]
    numbers: dict  #: by id, in order


def rows_of(description: dict) -> dict[str, GraphRows]:
    """Return the rows of a described executable.

    Parameters
    ----------
    description : dict
        As ``Executable.describe`` gives it; see ``NODE`` and ``RECORDED``.

    Returns
    -------
    dict of GraphRows
        ``compiled`` and ``recorded``.  A compiled operation has ``others``, the numbers of the
        recorded ones that it stands for, and a recorded one those of the compiled ones.

    Raises
    ------
    ValueError
        If a key is missing or of another kind, an id is used twice, or one that is named is not
        there.
    """
    _check(description, _ABOUT, "the description")
    for part, keys in (("nodes", NODE), ("recorded", RECORDED), ("passes", _PASS),
                       ("advice", _ADVICE)):  # fmt: skip
        for k, entry in enumerate(description[part]):
            _check(entry, keys, f"{part}[{k}]")
    made, given = description["nodes"], description["recorded"]
    numbers, before = _numbers(made, "nodes"), _numbers(given, "recorded")
    compiled = [_plain(n, numbers) | {k: n[k] for k in NODE if k not in RECORDED} for n in made]
    recorded = [_plain(n, before) | {"others": []} for n in given]
    for k, (node, ns) in enumerate(zip(compiled, _advances(made), strict=True)):
        node["ns"] = ns
        node["others"] = numbered(node.pop("stands_for"), before, node["operation"])
        node["engine_ns"] = [float(node["engine_ns"].get(e, 0.0)) for e in ENGINES]
        for other in node["others"]:
            recorded[other]["others"].append(k)
    return {
        "compiled": GraphRows(compiled, _rows(compiled), numbers),
        "recorded": GraphRows(recorded, _rows(recorded), before),
    }


def _check(entry, keys, what):
    """Raise a ValueError unless an entry has these keys, each of its kind, and finite numbers."""
    if not isinstance(entry, dict):
        raise ValueError(f"{what} is {short(entry)}; it must be a dict with {', '.join(keys)}")
    for key, kind in keys.items():
        if key not in entry:
            raise ValueError(f"{what} has no {key!r}; it must have {', '.join(keys)}")
        value = entry[key]
        is_number = isinstance(value, int | float) and not isinstance(value, bool)
        if kind is float:
            right = is_number and isfinite(value) and value >= 0
        else:
            right = isinstance(value, kind) and not isinstance(value, bool)
        if not right:
            named = "a finite number from 0" if kind is float else getattr(kind, "__name__", kind)
            raise ValueError(f"{key!r} of {what} is {short(value)}; it must be {named}")


def _numbers(entries, what) -> dict:
    numbers = {entry["id"]: k for k, entry in enumerate(entries)}
    if len(numbers) < len(entries):
        raise ValueError(f"{what} has {len(entries)} operations and {len(numbers)} ids")
    return numbers


def numbered(ids: Iterable, numbers: dict, who: object) -> list[int]:
    """Return the numbers of operations, given their ids; `who` named them, for the error."""
    missing = [i for i in ids if not isinstance(i, int | str) or i not in numbers]
    if missing:
        raise ValueError(f"{who} names operation {short(missing[0])}, which is not in the graph")
    return [numbers[i] for i in ids]


def _plain(node, numbers) -> dict:
    kept = {k: node[k] for k in ("operation", "type", "scope", "line")}
    return kept | {"id": str(node["id"]), "inputs": numbered(node["inputs"], numbers, node["id"])}


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
        is_layer = isinstance(key, str)
        of = key if level == 0 else phase
        row = Row(key if is_layer else below["operation"], level, of)
        rows.append(row)
        first = len(rows)
        if is_layer:
            _unfold(below, level + 1, of, rows)
            for part in rows[first:]:
                if part.node >= 0:
                    _add(row, part)
        else:
            row.node, row.operations = key, 1
            row.ns, row.flops, row.bytes = (below.get(k, 0.0) for k in ("ns", "flops", "bytes"))
            row.engine_ns = below.get("engine_ns", row.engine_ns)
        row.end = len(rows)


def _add(row, part):
    row.operations += 1
    row.ns += part.ns
    row.flops += part.flops
    row.bytes += part.bytes
    row.engine_ns = [a + b for a, b in zip(row.engine_ns, part.engine_ns, strict=True)]


def _advances(nodes) -> list[float]:
    """Return by how much each operation ends later than all that ended before it."""
    found, latest = [0.0] * len(nodes), 0.0
    for k in sorted(range(len(nodes)), key=lambda k: nodes[k]["end_ns"]):
        found[k] = nodes[k]["end_ns"] - latest
        latest = nodes[k]["end_ns"]
    return found


def table_text(description: dict, rows: GraphRows, count: int, by: str) -> str:
    """Return the operations, or layers, that take longest, as a table.

    Parameters
    ----------
    description : dict
    rows : GraphRows
        The compiled ones.
    count : int
        How many.
    by : str
        ``"operation"`` or ``"layer"``.

    Returns
    -------
    text : str
        Of an operation also how many times its roofline the busiest engine works for it, and its
        line; of a layer its operations and bytes.
    """
    is_layer = by == "layer"
    found = [k for k, row in enumerate(rows.rows) if (row.node < 0) == is_layer]
    whole = description["total_ns"] or 1.0
    lines = [["layer", "operations", "time", "share", "HBM traffic", ""] if is_layer else
             ["operation", "result", "time", "share", "× roofline", "layer, line"]]  # fmt: skip
    for k in sorted(found, key=lambda k: -rows.rows[k].ns)[:count]:
        row, path = rows.rows[k], _path(rows.rows, k)
        times = [time_text(row.ns), f"{row.ns / whole:.1%}"]
        if is_layer:
            lines.append([path, str(row.operations), *times, size_text(row.bytes), ""])
            continue
        node = rows.nodes[row.node]
        bound = node["roofline_ns"]
        over = f"{max(node['engine_ns']) / bound:.1f}" if bound else "-"
        where = ", ".join(filter(None, (path.rpartition("/")[0], node["line"])))
        lines.append([node["operation"], node["type"], *times, over, where])
    widths = [max(map(len, column)) for column in zip(*lines, strict=True)]
    left = (0, 5) if is_layer else (0, 1, 5)
    return "\n".join(
        "  ".join(
            f"{text:<{wide}}" if k in left else f"{text:>{wide}}"
            for k, (text, wide) in enumerate(zip(line, widths, strict=True))
        ).rstrip()
        for line in lines
    )


def _path(rows, k) -> str:
    """Return the names of the layers down to a row."""
    names, level = [rows[k].name], rows[k].level
    for row in reversed(rows[:k]):
        if row.level < level:
            names.append(row.name)
            level = row.level
    return "/".join(reversed(names))
