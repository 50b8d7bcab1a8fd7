"""Named passes: graph to graph, each kept with what it was before and after.

=============  ====================================================================================
``auto-cast``  operands of products, or everything, in a narrower dtype (``--auto-cast``)
``simplify``   what needs no instruction: x + 0, reshapes of reshapes, transposes before a product
``fuse``       chains and trees of elementwise operations become one row, ``fusion``
=============  ====================================================================================

Two passes of a textbook are missing because the graph has no need of them.  Equal nodes are one
node, so nothing is computed twice.  A graph holds what its outputs need, so dead code falls out of
every pass.  Parameters that nothing reads stay parameters.

Each step knows for which nodes of the graph before it every node stands, and :func:`stands_for`
follows that back to the recorded ones.
"""

from trainium_edu.xla.flags import Flags
from trainium_edu.xla.graph import Graph, Node
from trainium_edu.xla.passes.auto_cast import CAST_TYPES, auto_cast
from trainium_edu.xla.passes.fuse import fuse
from trainium_edu.xla.passes.rewrite import Step, rewritten
from trainium_edu.xla.passes.simplify import simplify

__all__ = ["CAST_TYPES", "Step", "auto_cast", "fuse", "run_passes", "simplify", "stands_for"]


def run_passes(graph: Graph, flags: Flags, *, is_fused: bool = True) -> list[Step]:
    """Run the passes in their order.

    Parameters
    ----------
    graph : Graph
    flags : flags.Flags
        Of which ``--auto-cast`` and ``--auto-cast-type`` change a graph.
    is_fused : bool
        False leaves every operation alone, to compare.

    Returns
    -------
    list of Step
        (name, before, after, stands_for); the last one's `after` is what is lowered.

    Raises
    ------
    ValueError
        For a mode or a type that the compiler does not know.

    Examples
    --------
    >>> from trainium_edu.xla.graph import Graph, as_type
    >>> from trainium_edu.xla.operations import apply, parameter
    >>> x = parameter(0, as_type((4, 4), "float32"))
    >>> y = apply("exp", apply("negate", apply("negate", x)))
    >>> for step in run_passes(Graph("tiny", (x,), (y,)), Flags()):
    ...     print(step.name, len(step.before.nodes), len(step.after.nodes))
    auto-cast 4 4
    simplify 4 2
    fuse 2 2
    """
    steps = [auto_cast(graph, flags.auto_cast, flags.auto_cast_type)]
    steps.append(simplify(steps[-1].after))
    steps.append(fuse(steps[-1].after) if is_fused else rewritten("fuse", steps[-1].after, {}))
    return steps


def stands_for(steps: list[Step]) -> dict[Node, tuple[Node, ...]]:
    """Return for each node of the final graph the recorded nodes that it stands for."""
    recorded = dict(steps[0].stands_for)
    for step in steps[1:]:
        recorded = {
            node: tuple(dict.fromkeys(old for middle in through for old in recorded[middle]))
            for node, through in step.stands_for.items()
        }
    return recorded
