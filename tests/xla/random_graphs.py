"""Random graphs of elementwise operations, products, reductions and moves, with their inputs."""

import numpy as np

from trainium_edu.xla.graph import Graph, Type
from trainium_edu.xla.operations import apply, constant, parameter

PAIRS = "add", "subtract", "multiply", "maximum", "minimum"
FUNCTIONS = "negate", "exp", "tanh", "absolute", "relu"
SHAPES = (12, 16), (1, 16), (12, 1), (16, 12), (12, 12)


def random_graph(seed: int, length: int = 30) -> tuple[Graph, list[np.ndarray]]:
    """Return a graph, among whose operations are many that a pass can drop, and its feeds."""
    draw = np.random.default_rng(seed)
    parameters = [parameter(i, Type(shape, "float32")) for i, shape in enumerate(SHAPES)]
    nodes = list(parameters)
    for _ in range(length):
        nodes.append(_next(draw, nodes))
    outputs = [nodes[-1], *(nodes[int(i)] for i in draw.integers(len(SHAPES), len(nodes), 2))]
    feeds = [draw.uniform(-1, 1, p.shape).astype(np.float32) for p in parameters]
    return Graph("random", tuple(parameters), tuple(outputs)), feeds


def _next(draw, nodes):
    x = nodes[int(draw.integers(max(0, len(nodes) - 8), len(nodes)))]
    match int(draw.integers(8)):
        case 0 | 1:
            return apply("tanh", apply(str(draw.choice(FUNCTIONS)), x))
        case 2 | 3:
            fits = [n for n in nodes if _stretch(n.shape, x.shape)]
            return apply(str(draw.choice(PAIRS)), x, fits[int(draw.integers(len(fits)))])
        case 4:
            number = constant(np.full((1, 1), draw.choice([0.0, 1.0, 0.5])))
            return apply(str(draw.choice(PAIRS[:3])), x, number)
        case 5:
            turned = apply("transpose", x, perm=(-1, -2))
            return apply("transpose", turned, perm=(-1, -2)) if draw.integers(2) else turned
        case 6:
            flat = apply("reshape", x, shape=(x.type.size,))
            return apply("reshape", flat, shape=x.shape)
        case _:
            turned = apply("transpose", x, perm=(-1, -2))
            return apply("tanh", apply("dot", x, turned, turn_a=False, turn_b=False))


def _stretch(a, b):
    return all(n == m or 1 in (n, m) for n, m in zip(a, b, strict=True))
