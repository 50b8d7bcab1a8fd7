"""Described graphs, made by script: an MLP's step of some sixty operations, and one like a ViT's.

The times are closed forms of shapes, not of a chip: these graphs test pictures, not compilers.
"""

from itertools import pairwise
from math import prod

RATES = {"tensor": 90e3, "hbm": 400.0}  # FLOP and bytes per ns


class Script:
    """Write recorded operations down, fuse neighbours, and describe what became of them."""

    def __init__(self, name):
        self.name, self.recorded, self.now = name, [], ""

    def __call__(self, operation, shape, *inputs, line="train.py:7", dtype="f32"):
        """Record one operation in the present scope; return its id."""
        at = len(self.recorded)
        self.recorded.append({
            "id": at, "operation": operation, "type": f"{dtype}[{','.join(map(str, shape))}]",
            "inputs": list(inputs), "scope": self.now, "line": line, "shape": shape,
        })  # fmt: skip
        return at

    def shape(self, of):
        return self.recorded[of]["shape"]

    def describe(self):
        """Return the description: elementwise operations join what they read if they alone do."""
        readers = [0] * len(self.recorded)
        for op in self.recorded:
            for i in op["inputs"]:
                readers[i] += 1
        head, groups = {}, {}
        for op in self.recorded:
            into = next((i for i in op["inputs"] if op["operation"] in ELEMENTWISE
                         and readers[i] == 1 and self.recorded[i]["operation"] in ELEMENTWISE
                         and self.recorded[i]["scope"] == op["scope"]), None)  # fmt: skip
            head[op["id"]] = len(groups) if into is None else head[into]
            groups.setdefault(head[op["id"]], []).append(op)
        at, nodes = 0.0, []
        for number, group in groups.items():
            node = self._node(number, group, head, at)
            at = node["end_ns"]
            nodes.append(node)
        slow = sorted(nodes, key=lambda n: n["roofline_ns"] - n["end_ns"] + n["start_ns"])[:3]
        recorded = [{k: v for k, v in op.items() if k != "shape"} for op in self.recorded]
        return {
            "name": self.name, "total_ns": at, "flops": sum(n["flops"] for n in nodes),
            "hbm_bytes": max(n["bytes"] for n in nodes), "nodes": nodes, "recorded": recorded,
            "passes": [
                {"name": "simplify", "nodes_before": len(recorded), "nodes_after": len(recorded)},
                {"name": "fuse", "nodes_before": len(recorded), "nodes_after": len(nodes)},
            ],
            "advice": [
                {"text": f"{n['operation']}: keep its operand in SBUF",
                 "ns": n["end_ns"] - n["start_ns"] - n["roofline_ns"], "nodes": [n["id"]],
                 "line": n["line"]} for n in slow
            ],
        }  # fmt: skip

    def _node(self, number, group, head, at):
        last, engines = group[-1], dict.fromkeys(("tensor", "vector", "scalar", "gpsimd", "dma"), 0)
        size = prod(last["shape"])
        names = [op["operation"] for op in group]
        inside = {op["id"] for op in group}
        reads = [i for op in group for i in op["inputs"] if i not in inside]
        is_leaf, is_dot = names[0] in ("parameter", "constant"), names[0] == "dot"
        flops = 2 * size * self.shape(group[0]["inputs"][0])[-1] if is_dot else size * len(group)
        nbytes = 0 if is_leaf else 4 * (size + sum(prod(self.shape(i)) for i in reads))
        engines["tensor" if is_dot else "vector"] = flops / (60e3 if is_dot else 400.0)
        if set(names) & {"exp", "tanh", "rsqrt"}:
            engines["scalar"] = size / 180.0
        engines["dma"] = 400 + nbytes / 160.0
        if is_leaf:
            flops, engines = 0, dict.fromkeys(engines, 0)
        name = names[0] if len(names) == 1 else "fusion"
        return {
            "id": number, "operation": name, "type": last["type"], "scope": last["scope"],
            "inputs": list(dict.fromkeys(head[i] for i in reads)), "line": last["line"],
            "text": f"%{number} = {last['type']} {name}({', '.join(names)})", "section": 0,
            "start_ns": at, "end_ns": at + max(engines.values()), "engine_ns": engines,
            "bytes": nbytes, "flops": flops, "stands_for": sorted(inside),
            "roofline_ns": max(flops / RATES["tensor"], nbytes / RATES["hbm"]),
        }  # fmt: skip


ELEMENTWISE = {"add", "subtract", "multiply", "divide", "maximum", "exp", "tanh", "rsqrt",
               "greater"}  # fmt: skip


def mlp(sizes=(64, 256, 256, 10), batch=1024):
    """Return one step of an MLP with momentum, some sixty operations."""
    op = Script("mlp step")
    x = kept = op("parameter", (batch, sizes[0]))
    weights, before = [], []
    for k, (rows, columns) in enumerate(pairwise(sizes)):
        op.now = f"forward/linear.{k}"
        w, b = op("parameter", (rows, columns)), op("parameter", (1, columns))
        before.append((x, w, b))
        x = op("add", (batch, columns), op("dot", (batch, columns), x, w), b, line="train.py:8")
        weights.append((w, b))
        if k < len(sizes) - 2:
            op.now = f"forward/relu.{k}"
            x = op("maximum", (batch, columns), x, op("constant", (1, 1)))
    op.now = "forward/cross_entropy"
    e = op("exp", (batch, sizes[-1]), x, line="train.py:9")
    p = op("divide", (batch, sizes[-1]), e, op("reduce_sum", (batch, 1), e), line="train.py:9")
    op.now = "backward/cross_entropy"
    g = op("subtract", (batch, sizes[-1]), p, kept, line="train.py:10")
    steps = []
    for k, (given, w, _) in reversed(list(enumerate(before))):
        op.now = f"backward/linear.{k}"
        rows, columns = op.shape(w)
        dw = op("dot", (rows, columns), op("transpose", op.shape(given)[::-1], given), g)
        steps.append((k, dw, op("reduce_sum", (1, columns), g)))
        if k:
            g = op("dot", (batch, rows), g, op("transpose", (columns, rows), w))
            op.now = f"backward/relu.{k - 1}"
            g = op("multiply", (batch, rows), g, op("greater", (batch, rows), given))
    for k, *gradients in reversed(steps):
        op.now = f"update/linear.{k}"
        for old, gradient in zip(weights[k], gradients, strict=True):
            shape = op.shape(old)
            step = op("multiply", shape, gradient, gradient, line="train.py:11")
            op("subtract", shape, old, op("add", shape, step, gradient), line="train.py:11")
    return op.describe()


def vit(blocks=12, batch=16, tokens=197, width=192):
    """Return one step of a deep encoder: about 1500 recorded operations."""
    op = Script("vit step")
    wide = (batch * tokens, width)
    x = op("parameter", wide)
    for phase in ("forward", "backward", "update"):
        for k in range(blocks) if phase != "backward" else reversed(range(blocks)):
            for layer, dots in (("norm1", 0), ("attention", 4), ("norm2", 0), ("mlp", 2)):
                op.now = f"{phase}/encoder.{k}/{layer}"
                line = f"model.py:{20 + len(layer)}"
                for _ in range(dots * (1 + (phase == "backward"))):
                    if phase == "update":
                        x = op("dot", wide, x, op("parameter", (width, width)), line=line)
                    else:
                        x = op("dot", wide, x, op("parameter", (width, width)), line=line)
                m = op("reduce_sum", (wide[0], 1), op("multiply", wide, x, x, line=line))
                r = op("rsqrt", (wide[0], 1), m, line=line)
                y = op("multiply", wide, x, r, line=line)
                x = op("add", wide, op("tanh", wide, y, line=line), x, line=line)
    return op.describe()
