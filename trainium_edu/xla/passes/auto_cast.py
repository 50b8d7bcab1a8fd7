"""``--auto-cast``: FP32 graphs in a narrower dtype, without a change to the script.

``matmult`` rounds the operands of products and convolutions and keeps their FP32 results, as sums
in PSUM are; ``all`` computes and stores every FP32 operation in the type.  Parameters and outputs
keep their dtypes, so weights stay FP32 from step to step.
"""

from trainium_edu.neuroncore.recording.dtypes import get_dtype
from trainium_edu.numerics import rounding
from trainium_edu.xla.graph import Graph, Node, Type, intern
from trainium_edu.xla.operations.table import OPERATIONS, apply, constant, constant_array
from trainium_edu.xla.passes.rewrite import Step, images, on_inputs, rewrite, rewritten

__all__ = ["CAST_TYPES", "PRODUCTS", "auto_cast"]

#: ``--auto-cast-type`` -> dtype
CAST_TYPES = {"bf16": "bfloat16", "fp16": "float16", "tf32": "tfloat32", "fp8_e4m3": "float8_e4m3"}
#: What runs on the Tensor Engine: rows with an attribute `dtype`, of their results.
PRODUCTS = frozenset({"dot", "convolution", "convolution_of_input", "convolution_of_filter"})
_WIDE = "float32"


def auto_cast(graph: Graph, mode: str, type: str = "bf16") -> Step:
    """Cast as the flag says.

    Parameters
    ----------
    graph : Graph
    mode : {"none", "matmult", "all"}
    type : {"bf16", "fp16", "tf32", "fp8_e4m3"}

    Raises
    ------
    ValueError
        For another mode or type.

    Examples
    --------
    >>> from trainium_edu.xla.graph import Graph, as_type
    >>> from trainium_edu.xla.operations import apply, parameter
    >>> x = parameter(0, as_type((4, 4), "float32"))
    >>> y = apply("dot", x, x, turn_a=False, turn_b=False)
    >>> after = auto_cast(Graph("square", (x,), (y,)), "matmult").after
    >>> [str(node.type) for node in after.nodes]
    ['f32[4,4]', 'bf16[4,4]', 'f32[4,4]']
    """
    if type not in CAST_TYPES:
        raise ValueError(f"auto-cast-type is {type!r}; it must be one of {', '.join(CAST_TYPES)}")
    narrow = CAST_TYPES[type]
    match mode:
        case "none":
            return rewritten("auto-cast", graph, {})
        case "matmult":
            return rewrite("auto-cast", graph, lambda node, inputs: _product(node, inputs, narrow))
        case "all":
            return _everything(graph, narrow)
    raise ValueError(f"auto-cast is {mode!r}; it must be none, matmult or all")


def _product(node, inputs, narrow):
    if node.operation not in PRODUCTS or node.dtype != _WIDE:
        return on_inputs(node, inputs)
    cast = [_as(i, narrow, node) if i.dtype == _WIDE else i for i in inputs]
    return apply(node.operation, *cast, like=node, **node.of | {"dtype": _WIDE})


def _everything(graph, narrow):
    def rule(node: Node, inputs):
        if not all(isinstance(i.type, Type) for i in inputs):  # picks one of several results
            return on_inputs(node, inputs)
        if node.operation == "custom_op" or any(isinstance(v, Graph) for v in node.of.values()):
            # what is inside keeps its dtypes
            own = [_as(new, old.dtype, node) for new, old in zip(inputs, node.inputs, strict=True)]
            return on_inputs(node, tuple(own))
        if node.operation == "constant" and node.dtype == _WIDE:
            values = rounding.cast(constant_array(node), get_dtype(narrow).fmt)
            return constant(values, narrow)
        inputs = tuple(_as(i, narrow, node) if i.dtype == _WIDE else i for i in inputs)
        given = tuple((name, _narrowed(value, narrow)) for name, value in node.attributes)
        row, types = OPERATIONS[node.operation], [i.type for i in inputs]
        return intern(node.operation, inputs, given, lambda: row.infer(*types, **dict(given)), node)

    image = images(graph, rule)
    for node in graph.outputs:
        image[node] = _as(image[node], node.dtype, node)
    return rewritten("auto-cast", graph, image)


def _as(node, dtype, like):
    return node if node.dtype == dtype else apply("cast", node, like=like, dtype=dtype)


def _narrowed(value, narrow):
    """Return an attribute in which FP32, where it says a dtype, is the narrower one."""
    if isinstance(value, Type):
        return value.like(dtype=narrow) if value.dtype == _WIDE else value
    return narrow if value == _WIDE else value
