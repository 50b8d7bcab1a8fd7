"""Gradients: nodes in, nodes out; one vjp per operation, in reverse order."""

from collections.abc import Callable, Sequence

from trainium_edu.specs.signatures import checked
from trainium_edu.xla.graph import GraphError, Node, Type, scope, walk
from trainium_edu.xla.operations.control import items
from trainium_edu.xla.operations.table import OPERATIONS, apply

__all__ = ["gradients"]


@checked
def gradients(
    output: Node, wanted: Sequence[Node], gradient: Node, *,
    behind: Callable[[Node], Node | None] = lambda leaf: None,
) -> list[Node | None]:  # fmt: skip
    """Return the gradient of an output with respect to other nodes.

    Parameters
    ----------
    output : Node
    wanted : sequence of Node
    gradient : Node
        Of the output itself, of its type: ones for a loss.
    behind : callable, optional
        Returns the node that a leaf was computed from, where a value was asked for on the way and
        the leaf stands for it; None where it is a leaf indeed.

    Returns
    -------
    list of Node or None
        None where the output does not depend on it.

    Raises
    ------
    GraphError
        If an operation on the way has no gradient; names it and its line.
    """
    order = walk([output])
    origins = {node: origin for node in order if (origin := behind(node)) is not None}
    while new := [o for o in origins.values() if o not in set(order)]:
        order = walk([*new, *order])
        origins |= {n: o for n in order if (o := behind(n)) is not None}
    needed = set(wanted)
    for node in order:  # only what leads to something wanted gets a gradient
        reached = any(i in needed for i in node.inputs) or origins.get(node) in needed
        if reached:
            needed.add(node)
    sums: dict[Node, Node] = {output: gradient}
    for node in reversed(order):
        total = sums.get(node)
        if total is None or node not in needed:
            continue
        if node in origins:
            _add(sums, origins[node], total)
            continue
        if not node.inputs or node in wanted:
            continue
        row = OPERATIONS[node.operation]
        if row.vjp is None:
            raise GraphError(f"{node.operation}{node.at} has no gradient; compute it another way")
        outside = (gradients,) if row.outside else ()
        with scope(f"backward/{node.scope}" if node.scope else "backward"):
            parts = row.vjp(node, total, *outside)
        for one, part in zip(node.inputs, parts, strict=True):
            if part is not None and one in needed:
                _add(sums, one, part)
    return [sums.get(node) for node in wanted]


def _add(sums, node, part):
    before = sums.get(node)
    sums[node] = part if before is None else _sum(before, part, node)


def _sum(a, b, like):
    if isinstance(a.type, Type):
        return apply("add", a, b, like=like)
    parts = [_sum(x, y, like) for x, y in zip(items(a), items(b), strict=True)]
    return apply("tuple", *parts, like=like)
