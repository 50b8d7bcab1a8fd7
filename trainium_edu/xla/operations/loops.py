"""The loop around elementwise rows: load tiles, compute, store; one row alone or a fused group.

All tensors of a group are seen as the result is: what is stretched has stride 0.  Neighbouring axes
that every tensor walks in one step are merged.  If one axis is left, it is cut so that 128
partitions work; else the longest of the outer axes becomes rows, the last becomes columns, and the
others are looped over.  What does not change from one tile to the next is loaded and computed once.
"""

from collections.abc import Iterator, Sequence
from itertools import product

from trainium_edu.neuroncore.recording.views import View
from trainium_edu.neuroncore.tilings.elementwise import COLUMNS
from trainium_edu.neuroncore.tilings.pieces import load, pieces, store
from trainium_edu.specs.errors import NkiValidationError
from trainium_edu.xla.graph import Node
from trainium_edu.xla.operations.moves import copied
from trainium_edu.xla.operations.table import OPERATIONS, constant_number
from trainium_edu.xla.operations.tiles import is_number

__all__ = ["as_rows", "dense", "lower_elementwise"]

_TILES = 16  # of COLUMNS, in 24 of which SBUF ends: a group with more values has shorter ones


def dense(lowering, x, shape: Sequence[int]) -> View:
    """Return a value (or a view) in another shape; copied first if its strides forbid that."""
    view = lowering.view(x) if isinstance(x, Node) else x
    try:
        return view.reshaped(*shape)
    except NkiValidationError:
        return copied(lowering.core, view).reshaped(*shape)


def as_rows(lowering, node: Node) -> View:
    """Return a value as [rows, last axis]."""
    width = node.shape[-1] if node.shape else 1
    return dense(lowering, node, (node.type.size // width, width))


def lower_elementwise(lowering, nodes: Sequence[Node], outputs: Sequence[Node]) -> None:
    """Issue the tile loop of elementwise nodes whose values between them stay in SBUF.

    Parameters
    ----------
    lowering : Lowering
        ``view(x)`` is asked for every input from outside, ``out(output)`` for the result.
    nodes : sequence of Node
        Elementwise, each after its inputs; all shapes stretch to the output's.
    outputs : sequence of one Node
        The last of `nodes`.  Values between are FP32 for every floating dtype; only this is
        rounded to its own.
    """
    (output,) = outputs
    inside = set(nodes)
    feeds = dict.fromkeys(i for node in nodes for i in node.inputs if i not in inside)
    numbers = {node: value for node in feeds if (value := constant_number(node)) is not None}
    views = {node: lowering.view(node) for node in feeds if node not in numbers}
    views[output] = lowering.out(output)
    group = _Group(lowering.core, nodes, output, numbers)
    for part in _blocks(views, output.shape or (1,)):
        group.run(part)


# -- how tensors are walked -------------------------------------------------------------------


def _blocks(views, shape) -> Iterator[dict[Node, View]]:
    """Yield the tensors as [rows, columns], with stride 0 where one is stretched."""
    axes = _merged([_stretched(view, shape) for view in views.values()], shape)
    if not axes:
        axes = [(1, [0] * len(views))]
    if len(axes) == 1:
        yield from _packed(views, *axes[0])
        return
    *outer, columns = axes
    rows = max(outer, key=lambda axis: axis[0])
    outer.remove(rows)
    for place in product(*(range(size) for size, _ in outer)):
        block = {}
        for i, (node, view) in enumerate(views.items()):
            moved = sum(p * steps[i] for p, (_, steps) in zip(place, outer, strict=True))
            shape, steps = (rows[0], columns[0]), (rows[1][i], columns[1][i])
            block[node] = View(view.buffer, view.dtype, shape, steps, view.offset + moved)
        yield block


def _stretched(view, shape):
    """Return a view's strides on the result's axes."""
    return [0 if have == 1 else step for have, step in zip(view.shape, view.strides, strict=True)]


def _merged(strides, shape):
    """Return (size, stride of each tensor) of the axes that are left."""
    axes: list[tuple[int, list[int]]] = []
    for size, *steps in zip(shape, *strides, strict=True):
        if size == 1:
            continue
        if axes and all(a == b * size for a, b in zip(axes[-1][1], steps, strict=True)):
            axes[-1] = axes[-1][0] * size, steps
        else:
            axes.append((size, steps))
    return axes


def _packed(views, size, steps):
    """Cut one axis into as many rows as there are partitions, and a rest if it must be."""
    whole = next((p for p in range(128, 63, -1) if size % p == 0), None)
    cuts = [(0, 128, size // 128), (size - size % 128, 1, size % 128)]
    if whole:
        cuts = [(0, whole, size // whole)]
    for start, rows, columns in cuts:
        if rows * columns:
            yield {
                node: View(view.buffer, view.dtype, (rows, columns), (step * columns, step),
                           view.offset + start * step)
                for (node, view), step in zip(views.items(), steps, strict=True)
            }  # fmt: skip


# -- the loop ---------------------------------------------------------------------------------


class _Group:
    """One group of nodes on one block after the other."""

    def __init__(self, core, nodes, output, numbers):
        self.core, self.nodes, self.output, self.numbers = core, nodes, output, numbers
        self.partitions = int(core.spec.limits.tile_partitions_max.value)

    def run(self, views) -> None:
        """Issue all tiles of a block of [rows, columns]."""
        self.views, self.held = views, {}
        self.walks = {node: _walks(view) for node, view in views.items()}
        for node in self.nodes:
            found = [self.walks[i] for i in node.inputs if i not in self.numbers]
            self.walks.setdefault(node, tuple(any(w[k] for w in found) for k in (0, 1)))
        dst = views[self.output]
        rows, columns = dst.shape
        count = len(views) + len(self.nodes) - 1
        width = COLUMNS if count <= _TILES else max(256, COLUMNS * _TILES // count // 64 * 64)
        self.most = min(rows, self.partitions)
        for across in pieces(columns, width):
            for down in pieces(rows, self.partitions):
                piece = dst.sliced(down, across)
                result = self.core.sbuf(piece.shape, piece.dtype)
                self.compute(self.output, result, down, across)
                store(self.core, piece, result)

    def tile(self, node, down, across):
        """Return a node's tile for a piece (or its number), made when it is first asked for."""
        if node in self.numbers:
            return self.numbers[node]
        by_row, by_column = self.walks[node]
        key = by_row and down.start, by_column and across.start
        held = self.held.get(node)
        if held is None or held[0] != key:
            part = down if by_row else slice(0, self.most)
            shape = part.stop - part.start, across.stop - across.start if by_column else 1
            if node in self.views:
                tile = self.load(node, part, across, shape)
            elif node.operation == "broadcast":
                tile = self.tile(node.inputs[0], down, across)
            else:
                tile = self.core.sbuf(shape, "float32" if node.type.is_float else node.dtype)
                self.compute(node, tile, part, across)
            held = self.held[node] = key, tile
        tile, rows = held[1], down.stop - down.start
        return tile if is_number(tile) or tile.shape[0] == rows else tile.sliced(slice(0, rows))

    def load(self, node, down, across, shape):
        """Bring a piece to SBUF; what is stretched over rows goes onto all partitions."""
        view, (by_row, by_column) = self.views[node], self.walks[node]
        across = across if by_column else slice(0, 1)
        down = down if by_row else slice(0, 1)
        part = view.sliced(down, across).broadcast(*shape)
        is_scalar = shape[1] == 1 and node.type.is_float
        return load(self.core, part, "float32" if is_scalar else None)

    def compute(self, node, out, down, across):
        """Issue a node's own instructions for one tile."""
        operands = [self.tile(i, down, across) for i in node.inputs]
        OPERATIONS[node.operation].tile(self.core, node, out, *operands)


def _walks(view):
    """Return whether a tensor changes from row to row, and from column to column."""
    axes = zip(view.shape, view.strides, strict=True)
    return tuple(size > 1 and step != 0 for size, step in axes)
