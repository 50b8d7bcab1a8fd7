"""An executable as plain data, for the graph explorer and other tools."""

from trainium_edu.specs.arguments import short
from trainium_edu.xla.graph import Graph, Node

__all__ = ["describe"]


def describe(executable) -> dict:
    """Return all that a graph explorer shows, as JSON takes it.

    Parameters
    ----------
    executable : Executable

    Returns
    -------
    dict
        ``name``, ``total_ns``, ``flops``, ``hbm_bytes``; ``nodes`` of the final graph with their
        times, and ``recorded`` ones without, by ids; ``passes``; ``advice``, the costliest first.

    Examples
    --------
    >>> from trainium_edu.xla.executable import Executable
    >>> from trainium_edu.xla.graph import Graph, as_type
    >>> from trainium_edu.xla.operations import apply, parameter
    >>> x = parameter(0, as_type((128, 512), "float32"), "x")
    >>> graph = Graph("tiny", (x,), (apply("exp", apply("negate", x)),))
    >>> told = describe(Executable(graph))
    >>> [(node["operation"], node["stands_for"]) for node in told["nodes"]]
    [('parameter', [0]), ('fusion', [1, 2])]
    """
    if not isinstance(getattr(executable, "final", None), Graph):
        raise TypeError(f"executable is {short(executable)}; it must be an Executable")
    final, recorded = executable.final, executable.graph
    of = {node: i for i, node in enumerate(final.nodes)}
    old = {node: i for i, node in enumerate(recorded._all)}
    text = dict(zip(final._all, _texts(final), strict=True))
    done = executable.operations()
    return {
        "name": executable.name,
        "total_ns": executable.makespan_ns,
        "flops": sum(one.flops for one in done),
        "hbm_bytes": executable.hbm_bytes,
        "nodes": [
            _node(one.node, of) | {
                "text": text[one.node], "section": one.section,
                "start_ns": one.start_ns, "end_ns": one.end_ns, "engine_ns": dict(one.engine_ns),
                "bytes": one.bytes, "flops": one.flops, "roofline_ns": one.roofline_ns,
                "stands_for": [old[n] for n in executable.stands_for[one.node]],
            }
            for one in done
        ],
        "recorded": [_node(node, old) for node in old],
        "passes": [
            {"name": step.name, "nodes_before": len(step.before.nodes),
             "nodes_after": len(step.after.nodes)}
            for step in executable.steps
        ],
        "advice": [
            {
                "text": one.text, "ns": one.ns, "nodes": [of[n] for n in one.nodes],
                "line": str(one.lines[0]) if one.lines else "",
            }
            for one in executable.advice
        ],
    }  # fmt: skip


def _node(node: Node, ids) -> dict:
    return {
        "id": ids[node], "operation": node.operation, "type": ", ".join(map(str, node.types)),
        "inputs": [ids[i] for i in node.inputs], "scope": node.scope,
        "line": str(node.line) if node.line else "",
    }  # fmt: skip


def _texts(graph: Graph) -> list[str]:
    """Return each node's line of the graph's text."""
    lines = graph.text(lines=False).splitlines()
    first = max(i for i, line in enumerate(lines) if line.startswith("ENTRY")) + 1
    return [line.strip().removeprefix("ROOT ") for line in lines[first : first + len(graph._all)]]
