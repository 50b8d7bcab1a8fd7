"""The recorded graph: nodes that never change, each of them once, with shapes, dtypes and lines.

A *node* is one operation on other nodes.  Two requests for the same operation on the same nodes
give the same node (hash-consing).  So a loop that records the same step twice ends at the same
roots, and these alone find the compiled program.  A node knows neither values nor who wrote it.
"""

import json
from collections.abc import Iterable, Iterator, Sequence
from contextlib import AbstractContextManager, contextmanager
from contextvars import ContextVar
from dataclasses import dataclass
from functools import cached_property
from hashlib import md5
from math import prod
from typing import TYPE_CHECKING, Any, NamedTuple

from trainium_edu.neuroncore.recording.dtypes import get_dtype
from trainium_edu.neuroncore.recording.source import SourceLine, source_line
from trainium_edu.specs.signatures import checked, checked_after

__all__ = ["DTYPES", "Graph", "GraphError", "Node", "Type", "Typed", "Unfit", "as_type", "holding",
           "inner_graphs", "intern", "recorded_at", "scope", "type_text", "walk"]  # fmt: skip

#: dtype -> how the text of a graph writes it
DTYPES = {
    "float32": "f32", "tfloat32": "tf32", "bfloat16": "bf16", "float16": "f16",
    "float8_e4m3": "f8e4m3", "float8_e5m2": "f8e5m2", "int32": "s32", "uint32": "u32",
    "uint8": "u8", "bool": "pred",
}  # fmt: skip
FORMAT = 1  #: version of saved graphs
MOST_NODES = 200_000  #: kept for reuse; beyond, recording begins with an empty table


class GraphError(ValueError):
    """Shapes, dtypes or arguments of an operation do not fit; raised at the line that made it."""


class Unfit(GraphError):
    """Why they do not; ``operations.table.fitting`` says before it what was asked for."""


class Type(NamedTuple):
    """Shape and dtype of one value."""

    shape: tuple[int, ...]
    dtype: str

    @property
    def rank(self) -> int:
        """How many axes."""
        return len(self.shape)

    @property
    def size(self) -> int:
        """How many elements."""
        return prod(self.shape)

    @property
    def nbytes(self) -> int:
        """Bytes in HBM."""
        return self.size * get_dtype(self.dtype).itemsize

    @property
    def is_float(self) -> bool:
        """Whether it holds floating-point numbers."""
        return self.dtype.startswith(("float", "bfloat", "tfloat"))

    def __str__(self):
        return f"{DTYPES[self.dtype]}[{','.join(map(str, self.shape))}]"

    @checked_after
    def like(self, shape: Sequence | None = None, dtype: str | None = None) -> "Type":
        """Return the type with another shape, or another dtype."""
        return Type(self.shape if shape is None else tuple(shape), dtype or self.dtype)


def as_type(shape, dtype: str) -> Type:
    """Return a checked type.

    Raises
    ------
    GraphError
        For a dtype that graphs do not know, or sizes that are not integers from 0.
    """
    if dtype not in DTYPES:
        raise GraphError(f"dtype is {dtype!r}; a graph knows {', '.join(DTYPES)}")
    if any(type(n) is not int or n < 0 for n in shape):
        raise GraphError(f"shape is {tuple(shape)}; its sizes must be integers from 0")
    return Type(tuple(shape), dtype)


class Typed:
    """The face of a node with one result, and of a tensor: shape and dtype."""

    __slots__ = ()
    type: Any

    @property
    def shape(self) -> tuple[int, ...]:
        """Its sizes, axis by axis."""
        return self.type.shape

    @property
    def dtype(self) -> str:
        """Its dtype by name."""
        return self.type.dtype


class Node(Typed):
    """One operation on other nodes; made by :func:`intern` alone, so equal nodes are one object.

    Attributes
    ----------
    operation : str
        A name of ``operations.OPERATIONS``.
    inputs : tuple of Node
    attributes : tuple of (str, value)
        In alphabetical order; integers, numbers, strings, bytes, tuples of these, or graphs.
    type : Type, or tuple of Type
        A tuple where the operation has several results (``while``, ``cond``).
    number : int
        Unique in this process, larger than those of its inputs.
    line : SourceLine or None
        The line outside this package that asked for it first.
    scope : str
        The layers around that line, ``"encoder.0/attention"``.
    """

    __slots__ = ("__weakref__", "_of", "attributes", "inputs", "line", "number", "operation",
                 "scope", "type")  # fmt: skip

    if TYPE_CHECKING:  # attached in operations/table.py

        def _formula(self, *other: Any) -> "Node": ...

        __add__ = __sub__ = __rsub__ = __mul__ = __truediv__ = __neg__ = _formula

    def __init__(self, operation, inputs, attributes, type, number, line, scope):
        self.operation, self.inputs, self.attributes = operation, inputs, attributes
        self.type, self.number, self.line, self.scope = type, number, line, scope
        self._of = None

    @property
    def of(self) -> dict[str, Any]:
        """The attributes by name."""
        if self._of is None:
            self._of = dict(self.attributes)
        return self._of

    @property
    def types(self) -> tuple[Type, ...]:
        """The types of its results, of which there is one, or several."""
        return (self.type,) if isinstance(self.type, Type) else self.type

    @property
    def title(self) -> str:
        """Its operation; of a custom call, the name of what it calls."""
        return self.of["name"] if self.operation == "custom_op" else self.operation

    @property
    def at(self) -> str:
        """The end of a sentence that names its line, such as ``" at model.py:7"``; or ``""``."""
        return f" at {self.line}" if self.line else ""

    def __repr__(self):
        return f"%{self.number} = {type_text(self.type)} {self.operation}"


_nodes: dict[tuple, Node] = {}
_places: dict = {}  # lines, as ``source_line`` keeps them
_scope: ContextVar[str] = ContextVar("scope", default="")
_line: ContextVar[SourceLine | None] = ContextVar("line", default=None)
_count = 0


def intern(operation: str, inputs: tuple[Node, ...], attributes: tuple, infer, like=None) -> Node:
    """Return the node of this operation on these nodes, a new one if there was none.

    Parameters
    ----------
    operation : str
    inputs : tuple of Node
    attributes : tuple of (str, value)
        In alphabetical order.
    infer : callable
        Called without arguments for a new node: returns its type, raises GraphError.
    like : Node, optional
        Whose line and scope a new node takes; default, of who asks.
    """
    global _count
    key = operation, inputs, attributes
    node = _nodes.get(key)
    if node is None:
        type = infer()
        if like is None:
            line, where = _line.get() or source_line(_places), _scope.get()
        else:
            line, where = like.line, like.scope
        _count += 1
        node = _nodes[key] = Node(operation, inputs, attributes, type, _count, line, where)
    return node


def forget(*, everything: bool = False) -> None:
    """Empty the table when it has grown too large; nodes in use live on, and stay equal.

    A new script forgets everything, so that its nodes have its own lines.
    """
    if everything or len(_nodes) > MOST_NODES:
        _nodes.clear()


@contextmanager
def holding(variable: ContextVar, value: Any) -> Iterator[Any]:
    """Return a context in which a variable has another value."""
    token = variable.set(value)
    try:
        yield value
    finally:
        variable.reset(token)


@checked
def scope(name: str) -> AbstractContextManager:
    """Put a layer's name on the nodes that are made inside; scopes nest."""
    outer = _scope.get()
    return holding(_scope, f"{outer}/{name}" if outer else name)


@contextmanager
def recorded_at(line: SourceLine | None, name: str = "") -> Iterator[None]:
    """Return a context whose nodes belong to a line and a layer that another recording noted."""
    with holding(_line, line), holding(_scope, name):
        yield


def walk(outputs: Iterable[Node]) -> list[Node]:
    """Return the nodes that outputs need, each after its inputs."""
    done: dict[Node, None] = {}
    for output in outputs:
        stack = [output]
        while stack:
            node = stack[-1]
            if node in done:
                stack.pop()
                continue
            waiting = [i for i in node.inputs if i not in done]
            if waiting:
                stack.extend(reversed(waiting))
            else:
                done[node] = None
                stack.pop()
    return list(done)


@dataclass(frozen=True)
class Graph:
    """A function of parameters: what is compiled, run, drawn, saved.

    Attributes
    ----------
    name : str
    parameters : tuple of Node
        Operation ``parameter``, in the order in which values are passed.
    outputs : tuple of Node
    donated : tuple of (int, int)
        Numbers of an output and of the parameter whose bytes it takes: weights in, weights out.
    """

    name: str
    parameters: tuple[Node, ...]
    outputs: tuple[Node, ...]
    donated: tuple[tuple[int, int], ...] = ()

    def __post_init__(self):
        known = set(self.parameters)
        lost = [n for n in self.nodes if n.operation == "parameter" and n not in known]
        if lost:
            raise GraphError(f"graph {self.name!r} uses {lost[0]!r}, which is none of its own")

    @cached_property
    def nodes(self) -> tuple[Node, ...]:
        """All nodes that the outputs need, each after its inputs."""
        return tuple(walk(self.outputs))

    @cached_property
    def users(self) -> dict[Node, tuple[Node, ...]]:
        """The nodes that read each node."""
        found: dict[Node, list[Node]] = {node: [] for node in self.nodes}
        for node in self.nodes:
            for one in dict.fromkeys(node.inputs):
                found[one].append(node)
        return {node: tuple(users) for node, users in found.items()}

    @cached_property
    def fingerprint(self) -> int:
        """A hash of structure, shapes and dtypes: equal for equal graphs, in every process."""
        text = "\n".join([*_lines(self, with_source=False), self._aliases])
        return int.from_bytes(md5(text.encode(), usedforsecurity=False).digest()[:8], "big")

    def __repr__(self):
        return (
            f"Graph({self.name!r}, {len(self.nodes)} nodes, {len(self.parameters)} parameters, "
            f"{len(self.outputs)} outputs)"
        )

    def __str__(self):
        return self.text()

    @checked
    def text(self, *, lines: bool = True) -> str:
        """Return the graph as text in the manner of XLA's HLO; `lines`: with source lines."""
        takes = ", ".join(type_text(p.type) for p in self.parameters)
        gives = ", ".join(type_text(o.type) for o in self.outputs)
        layout = f"entry_computation_layout={{({takes})->({gives})}}"
        head = f"HloModule {self.name}, {self._aliases}{layout}"
        return "\n".join([head, "", *_computations(self, lines)])

    @property
    def _aliases(self) -> str:
        if not self.donated:
            return ""
        pairs = ", ".join(f"{{{o}}}: ({p}, {{}}, may-alias)" for o, p in self.donated)
        return f"input_output_alias={{ {pairs} }}, "

    def to_json(self) -> str:
        """Return the graph as JSON, which :meth:`from_json` reads."""
        number = {node: i for i, node in enumerate(self._all)}
        rows = [
            {
                "operation": n.operation, "inputs": [number[i] for i in n.inputs],
                "attributes": {k: _plain(v) for k, v in n.attributes}, "type": _plain(n.type),
                "line": n.line and list(n.line[:3]), "scope": n.scope,
            }
            for n in self._all
        ]  # fmt: skip
        return json.dumps(
            {
                "format": FORMAT, "name": self.name, "nodes": rows,
                "parameters": [number[p] for p in self.parameters],
                "outputs": [number[o] for o in self.outputs], "donated": self.donated,
            }
        )  # fmt: skip

    def __reduce__(self):  # not node within node: a graph is deeper than pickle may go
        return Graph.from_json, (self.to_json(),)

    @property
    def _all(self):
        """Nodes, and parameters that nothing reads."""
        return dict.fromkeys((*self.parameters, *self.nodes))

    @classmethod
    def from_json(cls, text: str) -> "Graph":
        """Read what :meth:`to_json` wrote.

        Raises
        ------
        ValueError
            If it is damaged, or of another format.
        """
        try:
            saved = json.loads(text)
            if saved["format"] != FORMAT:
                raise ValueError(
                    f"its format is {saved['format']}, and this release reads {FORMAT}"
                )
            nodes: list[Node] = []
            for row in saved["nodes"]:
                nodes.append(_node_of(row, nodes))
            parameters, outputs = ([nodes[i] for i in saved[k]] for k in ("parameters", "outputs"))
            donated = tuple((output, number) for output, number in saved["donated"])
            return cls(saved["name"], tuple(parameters), tuple(outputs), donated)
        except (KeyError, IndexError, TypeError, AttributeError, ValueError) as problem:
            raise ValueError(f"this is not a saved graph: {problem}") from None


def _node_of(row, nodes) -> Node:
    attributes = tuple((k, _rich(v)) for k, v in sorted(row["attributes"].items()))
    type = _rich(row["type"])
    inputs = tuple(nodes[i] for i in row["inputs"])
    line = row["line"] and SourceLine(*row["line"])
    like = Node("", (), (), None, 0, line, row["scope"])
    return intern(row["operation"], inputs, attributes, lambda: type, like)


def _plain(value):
    """Return an attribute as JSON takes it; kinds that JSON lacks become small objects."""
    if isinstance(value, Type):
        return {"type": [list(value.shape), value.dtype]}
    if isinstance(value, tuple):
        return {"tuple": [_plain(v) for v in value]}
    if isinstance(value, bytes):
        return {"bytes": value.hex()}
    if isinstance(value, Graph):
        return {"graph": value.to_json()}
    return value


def _rich(value):
    if not isinstance(value, dict):
        return value
    ((kind, inner),) = value.items()
    if kind == "type":
        return as_type(inner[0], inner[1])
    if kind == "tuple":
        return tuple(_rich(v) for v in inner)
    return bytes.fromhex(inner) if kind == "bytes" else Graph.from_json(inner)


def type_text(type: Type | tuple[Type, ...]) -> str:
    """Return how the text of a graph writes a node's type."""
    return str(type) if isinstance(type, Type) else f"({', '.join(map(str, type))})"


def _lines(graph: Graph, with_source: bool) -> Iterator[str]:
    """Yield one line per node; numbers count from 0 in every graph."""
    number = {node: i for i, node in enumerate(graph._all)}
    for node, i in number.items():
        arguments = [f"%{number[x]}" for x in node.inputs]
        arguments += [f"{k}={_attribute_text(v)}" for k, v in node.attributes]
        root = "ROOT " if len(graph.outputs) == 1 and node is graph.outputs[0] else ""
        made = f"{type_text(node.type)} {node.operation}({', '.join(arguments)})"
        told = with_source and (node.line or node.scope)
        yield f"  {root}%{i} = {made}" + (f", metadata={{{_where(node)}}}" if told else "")
    if len(graph.outputs) != 1:
        yield f"  ROOT tuple({', '.join(f'%{number[o]}' for o in graph.outputs)})"


def _where(node) -> str:
    scope = f'op_name="{node.scope}" ' if node.scope else ""
    return (scope + (f'source="{node.line}"' if node.line else "")).strip()


def _attribute_text(value) -> str:
    if isinstance(value, Graph):
        return f"{value.name}.{value.fingerprint:x}"
    if isinstance(value, bytes):
        return value.hex() if len(value) <= 16 else f"md5:{md5(value).hexdigest()[:16]}"
    if isinstance(value, tuple):
        return "{" + ",".join(map(_attribute_text, value)) + "}"
    return repr(value) if isinstance(value, float) else str(value)


def inner_graphs(graph: Graph) -> list[Graph]:
    """Return the graphs in the attributes of nodes, each once, behind those inside it."""
    found: dict[Graph, None] = {}
    for node in graph.nodes:
        for _, value in node.attributes:
            if isinstance(value, Graph):
                found |= dict.fromkeys((*inner_graphs(value), value))
    return list(found)


def _computations(graph: Graph, lines: bool) -> Iterator[str]:
    """Yield the texts of inner graphs, then of this one."""
    for one in inner_graphs(graph):
        yield from (f"%{one.name}.{one.fingerprint:x} {{", *_lines(one, lines), "}", "")
    yield from (f"ENTRY %{graph.name} {{", *_lines(graph, lines), "}")
