"""One row per operation: its type, value, gradient, instructions and work.

A row is written once, in the file of its family, and everything else (recording, gradients, the
executor, the compiler, the text) reads it here.
"""

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

from trainium_edu.xla.graph import Graph, GraphError, Node, Type, Unfit, as_type, intern

__all__ = ["OPERATIONS", "Operation", "apply", "check_dtypes", "constant", "fitting", "parameter",
           "register", "scalar_like", "stretched", "sum_to"]  # fmt: skip

OPERATIONS: dict[str, "Operation"] = {}
#: kind of operand -> whether a type is of that kind, and what it is called in a sentence
_KINDS: dict[str, tuple[Callable[[Type], bool], str]] = {
    "any": (lambda type: True, ""),
    "bool": (lambda type: type.dtype == "bool", "pred; compare with 0 first"),
    "float": (lambda type: type.is_float, "floating-point numbers; cast {}"),
    "number": (lambda type: type.dtype != "bool", "numbers; cast {}, or use logic"),
    "signed": (lambda type: type.is_float or type.dtype == "int32",
               "floating-point numbers; cast {}"),
}  # fmt: skip


@dataclass(frozen=True, slots=True)
class Operation:
    """The definition of one operation.

    Attributes
    ----------
    name : str
    infer : callable -> Type
        ``infer(*types, **attributes)``; raises Unfit with what is wrong.
    value : callable -> array, or None
        ``value(node, *arrays)``.  Arrays are float32 for every floating dtype (the executor rounds
        the result to the node's dtype), int32, uint32 or uint8, and bool.  They may have leading
        axes beyond the node's own, of replicas: address axes from the end.  None: the front that
        uses it brings its own.
    vjp : callable (node, gradient) -> tuple of (Node or None), or None
        One gradient per input, of the input's type; None where no gradient flows.
    lower : callable (lowering, node) -> None
        Issue the instructions that write ``lowering.out(node)`` from ``lowering.view(input)``, or
        let ``lowering.alias(node, view)`` where nothing has to move.  None: the loop around `tile`
        (``loops.lower_elementwise``).
    flops : callable (node) -> int
        As XLA counts them: two per multiply-add, one per element of anything else, 0 for moves.
    tile : callable, or None
        ``tile(core, node, out, *tiles)``, elementwise operations only: issue the instructions for
        one tile; the loop is that of ``lower``, or of a fusion.
    by_replica : bool
        The executor calls `value` for one replica after the other.
    outside : bool
        It asks for what lies above this package: ``value(node, inner, *arrays)`` is called with
        the executor's ``Inner``, ``vjp(node, gradient, gradients)`` with ``autograd.gradients``.
    """

    name: str
    infer: Callable
    value: Callable | None = None
    vjp: Callable | None = None
    lower: Callable | None = None
    flops: Callable = lambda node: node.type.size
    tile: Callable | None = None
    by_replica: bool = False
    outside: bool = False

    @property
    def is_elementwise(self) -> bool:
        """Whether each element of the result depends on the same element of the inputs alone."""
        return self.tile is not None


def register(name: str, infer, **columns) -> Operation:
    """Add a row to the table."""
    if name in OPERATIONS:
        raise ValueError(f"there is an operation {name!r} already")
    row = OPERATIONS[name] = Operation(name, infer, **columns)
    return row


def apply(operation: str, /, *inputs: Node, like: Node | None = None, **attributes) -> Node:
    """Return the node of an operation on nodes.

    Raises
    ------
    GraphError
        If shapes, dtypes or attributes do not fit.
    """
    given = tuple(sorted(attributes.items())) if len(attributes) > 1 else tuple(attributes.items())

    def infer():
        types = [node.type for node in inputs]
        return fitting(operation, OPERATIONS[operation].infer, *types, **attributes)

    return intern(operation, inputs, given, infer, like)


def fitting(operation: str, rule: Callable, /, *types, **attributes):
    """Return what a rule makes of operands' types; an error of it says first what was asked for."""
    try:
        return rule(*types, **attributes)
    except Unfit as why:
        told = ", ".join(f"{name} {value}" for name, value in attributes.items()
                         if not isinstance(value, bytes | Graph | Type))  # fmt: skip
        asked = f"{operation} of {' and '.join(map(str, types))}" if types else operation
        raise GraphError(f"{asked}{f' with {told}' if told else ''}: {why}") from None


def parameter(number: int, type: Type, name: str = "") -> Node:
    """Return the graph's input of that number."""
    return apply("parameter", number=number, name=name, type=type)


def constant(value, dtype: str = "float32") -> Node:
    """Return a constant: a number, or a small array."""
    array = np.asarray(value, carrier(dtype))
    return apply("constant", data=array.tobytes(), type=as_type(array.shape, dtype))


def scalar_like(node: Node, value: float) -> Node:
    """Return a constant that stretches to a node's shape."""
    return constant(np.full((1,) * node.type.rank, value), node.dtype)


def _arithmetic(operation):
    """Return the method that combines a node with a node or a number."""

    def method(a, b):
        return apply(operation, a, b if isinstance(b, Node) else scalar_like(a, b))

    return method


# so that a gradient reads as its formula, g * (1.0 - y)
for _name, _method in {
    "add": _arithmetic("add"), "sub": _arithmetic("subtract"), "mul": _arithmetic("multiply"),
    "truediv": _arithmetic("divide"), "neg": lambda node: apply("negate", node),
    "rsub": lambda b, a: apply("subtract", scalar_like(b, a), b),
}.items():  # fmt: skip
    setattr(Node, f"__{_name}__", _method)


def carrier(dtype: str) -> np.dtype:
    """Return the NumPy dtype in which the executor holds a dtype's values."""
    plain = dtype if dtype in ("int32", "uint32", "uint8", "bool") else "float32"
    return np.dtype(plain)


def constant_array(node: Node) -> np.ndarray:
    """Return the numbers of a constant."""
    type = node.of["type"]
    return np.frombuffer(node.of["data"], carrier(type.dtype)).reshape(type.shape)


def constant_number(node: Node) -> float | None:
    """Return the number that a constant of one element is, or None."""
    if node.operation != "constant" or node.type.size != 1:
        return None
    return float(constant_array(node).item())


def sum_to(node: Node, type: Type) -> Node:
    """Add up the axes along which a value of this type was stretched; the gradient of stretching.

    Parameters
    ----------
    node : Node
        Of the same rank.
    type : Type
        Sizes are those of `node`, or 1.
    """
    axes = tuple(
        i - type.rank for i in range(type.rank) if type.shape[i] == 1 and node.shape[i] != 1
    )
    return apply("reduce_sum", node, axes=axes, keep=True) if axes else node


def stretched(*types: Type) -> tuple[int, ...]:
    """Return the shape to which shapes stretch, as NumPy's do: sizes are equal, or 1.

    Raises
    ------
    Unfit
        With the axis that does not fit.
    """
    shapes = [t.shape for t in types]
    if shapes.count(shapes[0]) == len(shapes):
        return shapes[0]
    shape = []
    for axis in range(-1, -max(map(len, shapes)) - 1, -1):
        sizes = [one[axis] for one in shapes if len(one) >= -axis]
        wide = {n for n in sizes if n != 1}
        if len(wide) > 1:
            raise Unfit(f"axis {axis} (from the end) has sizes {' and '.join(map(str, sizes))}, "
                        "which must be equal, or one of them 1")  # fmt: skip
        shape.append(wide.pop() if wide else 1)
    return tuple(shape[::-1])


def check_dtypes(kind: str, *types: Type) -> None:
    """Raise unless operands are of one kind ("any", "bool", "float", ...) and of one dtype."""
    fits, words = _KINDS[kind]
    if not all(map(fits, types)):
        raise Unfit(f"it takes {words.format('both' if len(types) > 1 else 'it first')}")
    if any(t.dtype != types[0].dtype for t in types[1:]):
        raise Unfit("both must have one dtype; cast one of them")
