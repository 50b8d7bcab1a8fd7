"""From many elements to few: sums and what is built of them.  Axes count from the end."""

from trainium_edu.xla.graph import GraphError, Type
from trainium_edu.xla.operations.table import apply, register

__all__: list[str] = []


def _infer(x: Type, axes, keep) -> Type:
    if any(not -x.rank <= a < 0 for a in axes) or len(set(axes)) != len(axes):
        raise GraphError(f"a reduction of {x} over axes {list(axes)}: they must be different ones")
    gone = {a + x.rank for a in axes}
    sizes = [1 if i in gone else n for i, n in enumerate(x.shape) if keep or i not in gone]
    return x.like(tuple(sizes))


def _stretch_back(node, g):
    x = node.inputs[0]
    kept = apply("reshape", g, shape=_infer(x.type, node.of["axes"], True).shape)
    return (apply("broadcast", kept, shape=x.shape),)


register(
    "reduce_sum", _infer,
    value=lambda node, x: x.sum(node.of["axes"], keepdims=node.of["keep"], dtype=x.dtype),
    vjp=_stretch_back, flops=lambda node: node.inputs[0].type.size,
)  # fmt: skip
