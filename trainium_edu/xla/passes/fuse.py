"""Fusion: a tree of elementwise operations passes its tiles on in SBUF and stores one result.

What a compiler saves by it is HBM traffic: two transfers for each value that only the tree reads.
A node joins the tree of its readers if all of them are in one tree, it has the tree's shape, and
nobody outside wants it.  A product that reads a cast loads in that dtype (DMA casts on the way), so
that needs no fusion; products with an elementwise epilogue stay two operations here.
"""

from collections.abc import Iterable

from trainium_edu.xla.graph import Graph, Node
from trainium_edu.xla.operations.table import OPERATIONS, apply, constant_number, parameter
from trainium_edu.xla.passes.rewrite import Step, on_inputs, rewritten

__all__ = ["MOST_OPERANDS", "fuse"]

#: Tiles of full size that one tree loads.  Assumed: twelve of 128 x 2048 FP32 numbers, each in two
#: places so that loads run ahead, fill SBUF; four are left for what is computed on the way.
MOST_OPERANDS = 8
#: Operations of one tree, which is walked by recursion.  Assumed.
MOST_MEMBERS = 128


def fuse(graph: Graph) -> Step:
    """Put each tree of elementwise operations into one row.

    Examples
    --------
    >>> from trainium_edu.xla.graph import Graph, as_type
    >>> from trainium_edu.xla.operations import apply, parameter
    >>> x = parameter(0, as_type((4, 4), "float32"))
    >>> y = apply("multiply", apply("exp", x), x)
    >>> [node.operation for node in fuse(Graph("tree", (x,), (y,))).after.nodes]
    ['parameter', 'fusion']
    """
    image: dict[Node, Node] = {}
    members = _trees(graph)
    inner = {node: root for root, tree in members.items() for node in tree if node is not root}
    for node in graph.nodes:
        tree = members.get(node, ())
        if node.operation == "parameter" or node in inner:
            continue
        if len(tree) < 2:
            image[node] = on_inputs(node, tuple(image.get(i, i) for i in node.inputs))
            continue
        operands, body = _body(tree, node)
        fused = apply("fusion", *(image.get(i, i) for i in operands), like=node, graph=body)
        image |= dict.fromkeys(tree, fused)
    return rewritten("fuse", graph, image)


def _trees(graph: Graph) -> dict[Node, list[Node]]:
    """Return {root: its tree, each node after its readers}."""
    root_of: dict[Node, Node] = {}
    trees: dict[Node, list[Node]] = {}
    outputs = set(graph.outputs)
    for node in reversed(graph.nodes):
        if not OPERATIONS[node.operation].is_elementwise:
            continue
        roots = {root_of.get(user) for user in graph.users[node]}
        root = roots.pop() if len(roots) == 1 else None
        if root is None or node in outputs or not _may_join(node, root, trees[root]):
            root = node
        root_of[node] = root
        trees.setdefault(root, []).append(node)
    return trees


def _may_join(node, root, tree):
    """Return whether a node may join a tree; a cast that rounds ends one: inside nothing does."""
    if len(tree) >= MOST_MEMBERS or node.shape != root.shape:
        return False
    if node.operation == "cast" and _loses(node):
        return False
    return sum(i.shape == root.shape for i in _operands([*tree, node])) <= MOST_OPERANDS


def _loses(cast):
    before, after = cast.inputs[0].type, cast.type
    is_exact = after.dtype == "float32" and (before.is_float or before.dtype in ("bool", "uint8"))
    return not is_exact and before.dtype != after.dtype


def _operands(tree: Iterable[Node]) -> list[Node]:
    """Return what a tree reads from outside; numbers are in the instructions."""
    inside = set(tree)
    read = dict.fromkeys(i for node in reversed(list(tree)) for i in node.inputs)
    return [i for i in read if i not in inside and constant_number(i) is None]


def _body(tree, root):
    operands = _operands(tree)
    own = {node: parameter(number, node.type) for number, node in enumerate(operands)}
    for node in reversed(tree):
        own[node] = on_inputs(node, tuple(own.get(i, i) for i in node.inputs))
    return operands, Graph("fused", tuple(own[i] for i in operands), (own[root],))
