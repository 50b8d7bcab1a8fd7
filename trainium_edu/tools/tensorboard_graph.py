"""A compiled graph and its times in TensorBoard's own messages.

TensorBoard shows a *trace* only with the package ``tensorboard-plugin-profile``; without it, these:

- **Graphs**: the final graph, nodes grouped by the layers.  With the tag ``step`` (graph
  type "Profile"), "Compute time" and "Memory" colour and list them, as for a profiled step of
  TensorFlow.  Times there are whole microseconds.
- **Text**: how long the step takes, and its longest operations, each with its line, its busiest
  engine and the roofline's bound.

``perfetto`` writes the trace.
"""

import re
from collections.abc import Mapping

from trainium_edu import aside
from trainium_edu.specs.signatures import checked
from trainium_edu.xla.executable import Executable
from trainium_edu.xla.graph import Graph, Node, Type

__all__ = ["graph_def", "run_metadata", "text"]

_DEVICE = "/device:NeuronCore:0"
_LONGEST = 20


def _proto(name: str):
    return aside.load(f"tensorboard.compat.proto.{name}_pb2")


def _types(node: Node) -> tuple[Type, ...]:
    return (node.type,) if isinstance(node.type, Type) else node.type


def _names(graph: Graph) -> dict[Node, str]:
    """Return each node's name: its layers, its operation, its place."""
    found = {}
    for place, node in enumerate(graph.nodes):
        said = node.of.get("name") if node.operation == "parameter" else ""
        parts = [*node.scope.split("/"), f"{said or node.title}_{place}"]
        found[node] = "/".join(re.sub(r"[^\w.>-]", "_", part) for part in parts if part)
    return found


@checked
def graph_def(graph: Graph):
    """Return a graph as the ``GraphDef`` that TensorBoard draws.

    Parameters
    ----------
    graph : Graph

    Returns
    -------
    GraphDef
        A node for each of the graph's, with shapes, dtypes and the line that asked for it.
    """
    shape_of, names = _proto("tensor_shape").TensorShapeProto, _names(graph)
    drawn = _proto("graph").GraphDef()
    drawn.versions.producer = 27  # a version that TensorBoard reads
    for node in graph.nodes:
        one = drawn.node.add(name=names[node], op=node.operation, device=_DEVICE,
                             input=[names[i] for i in node.inputs])  # fmt: skip
        shapes = [shape_of(dim=[shape_of.Dim(size=n) for n in type.shape]) for type in _types(node)]
        one.attr["_output_shapes"].list.shape.extend(shapes)
        one.attr["dtype"].s = ", ".join(type.dtype for type in _types(node)).encode()
        if node.line:
            one.attr["line"].s = str(node.line).encode()
    return drawn


@checked
def run_metadata(executable: Executable):
    """Return the times and bytes of one execution as the ``RunMetadata`` that the graph shows.

    Parameters
    ----------
    executable : Executable

    Returns
    -------
    RunMetadata
    """
    names = _names(executable.final)
    found = _proto("config").RunMetadata()
    device = found.step_stats.dev_stats.add(device=_DEVICE)
    for one in executable.operations():
        lasts = one.end_ns - one.start_ns
        stats = device.node_stats.add(
            node_name=names[one.node], timeline_label=one.node.title,
            all_start_micros=round(one.start_ns / 1e3), all_start_nanos=round(one.start_ns),
            op_end_rel_micros=round(lasts / 1e3), op_end_rel_nanos=round(lasts),
            all_end_rel_micros=round(lasts / 1e3), all_end_rel_nanos=round(lasts),
        )  # fmt: skip
        for slot, type in enumerate(_types(one.node)):
            output = stats.output.add(slot=slot).tensor_description
            output.shape.dim.extend([output.shape.Dim(size=n) for n in type.shape])
            output.allocation_description.requested_bytes = type.nbytes
            output.allocation_description.allocator_name = "HBM"
        stats.memory.add(
            allocator_name="HBM", total_bytes=sum(type.nbytes for type in _types(one.node))
        )
    return found


@checked
def text(executable: Executable) -> str:
    """Return a page in Markdown: the step's time, and its longest operations.

    Parameters
    ----------
    executable : Executable

    Examples
    --------
    >>> from trainium_edu.xla.graph import as_type
    >>> from trainium_edu.xla.operations import apply, parameter
    >>> x = parameter(0, as_type((128, 512), "float32"), "x")
    >>> page = text(Executable(Graph("tiny", (x,), (apply("exp", x),)))).splitlines()
    >>> [cell.strip() for cell in page[4].split("|")[1:4:2]]
    ['exp', '4.5']
    """
    done = executable.operations()
    whole = executable.makespan_ns
    longest = sorted((one for one in done if one.section is not None),
                     key=lambda one: one.start_ns - one.end_ns)[:_LONGEST]  # fmt: skip
    rows = [
        f"| {one.node.title} | {_line(one.node)} | {(one.end_ns - one.start_ns) / 1e3:.1f} | "
        f"{100 * (one.end_ns - one.start_ns) / whole:.0f} % | {_busiest(one.engine_ns)} | "
        f"{one.roofline_ns / 1e3:.1f} |"
        for one in longest
    ]
    return "\n".join([
        f"**{executable.name}**: {whole / 1e3:.1f} µs on the chip, {len(done)} operations, "
        f"{executable.hbm_bytes / 2**20:.1f} MiB of HBM. Operations overlap, so shares can add up "
        "to more than all.",
        "", "| operation | line | µs | of the step | busiest engine | bound in µs |",
        "|---|---|---|---|---|---|", *rows,
    ])  # fmt: skip


def _line(node: Node) -> str:
    said = str(node.line) if node.line else node.scope
    return re.sub(r"[|<>`*]", " ", said)


def _busiest(engine_ns: Mapping[str, float]) -> str:
    engine = max(engine_ns, key=lambda name: engine_ns[name], default="")
    return engine if engine and engine_ns[engine] else ""
