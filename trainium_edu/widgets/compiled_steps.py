"""A lazy device's steps and graphs, shown: its history as a strip, an executable opened, a table.

``open_alone`` is what a click on an operation shows: the operation compiled by itself, its
instructions over time, and for a product how a small systolic array works through one.
"""

from collections.abc import Callable
from itertools import zip_longest

import ipywidgets
import numpy as np

from trainium_edu import aside
from trainium_edu.files import tables
from trainium_edu.neuroncore.systolic_array import SystolicArray
from trainium_edu.specs.signatures import checked
from trainium_edu.widgets.cache_strip import CacheStrip
from trainium_edu.widgets.card import Prose
from trainium_edu.widgets.graph_explorer import GraphExplorer
from trainium_edu.widgets.timeline_explorer import timeline_explorer
from trainium_edu.xla.device import Device
from trainium_edu.xla.executable import Executable, describe
from trainium_edu.xla.graph import Graph, Node, intern
from trainium_edu.xla.operations import parameter

__all__ = [
    "alone",
    "explore",
    "fusion_table",
    "history",
    "open_alone",
    "size_of",
    "time_on_chip",
    "where_time_goes",
]

_SAYS = tables(__file__)
_SIDE, _VECTORS = 8, 12  # of the small array that shows a product


@checked
def history(device: Device, since: int = 0) -> CacheStrip:
    """Return what became of each graph that a device was asked for, as a strip.

    Parameters
    ----------
    device : Device
    since : int
        How many of the first events to leave out.
    """
    return CacheStrip(device.compiler.history[since:])


@checked
def explore(what: Executable | Device) -> GraphExplorer:
    """Open an executable, or the one that a device used last, in the graph explorer.

    Parameters
    ----------
    what : Executable or Device

    Examples
    --------
    >>> from trainium_edu.xla.graph import as_type, scope
    >>> from trainium_edu.xla.operations import apply
    >>> x = parameter(0, as_type((128, 512), "float32"))
    >>> with scope("forward/act"):
    ...     explorer = explore(Executable(Graph("one", (x,), (apply("exp", x),))))
    >>> explorer.sides["compiled"].nodes[-1]["operation"]
    'exp'
    """
    executable = what if isinstance(what, Executable) else what.compiler.newest
    return GraphExplorer(describe(executable), open_alone(executable))


@checked
def open_alone(executable: Executable) -> Callable:
    """Return a function that shows one operation of an executable, by its number there."""

    def opened(number: int):
        node = executable.final.nodes[number]
        if node.operation in ("parameter", "constant"):
            return None
        run = alone(node).run
        numbers = {"count": len(run.timeline.program), "us": run.timeline.makespan_ns / 1e3}
        told = _told("alone", node=node, **numbers)
        shown = [told, timeline_explorer(run, memory=False, sliders=False)]
        return ipywidgets.VBox(shown + (_product(node, run) if node.operation == "dot" else []))

    return opened


@checked
def alone(node: Node) -> Executable:
    """Return an operation compiled by itself, its inputs handed in.

    Examples
    --------
    >>> from trainium_edu.xla.graph import as_type
    >>> from trainium_edu.xla.operations import apply
    >>> x = parameter(0, as_type((64, 64), "float32"))
    >>> alone(apply("exp", apply("negate", x))).final.nodes[-1].operation
    'exp'
    """
    leaves = {x: parameter(i, x.type) for i, x in enumerate(dict.fromkeys(node.inputs))}
    inputs = tuple(leaves[x] for x in node.inputs)
    by_itself = intern(node.operation, inputs, node.attributes, lambda: node.type, node)
    return Executable(Graph(node.operation, tuple(leaves.values()), (by_itself,)))


def _product(node, run) -> list:
    """Return widgets on a matrix product: what it asks of the array, and a small array at work."""
    products = [i for i in run.timeline.program.instructions if i.name == "nc_matmul"]
    draw = np.random.default_rng(0)
    players = aside.load("trainium_edu.widgets.systolic_array")  # loads Matplotlib, not used before
    small = players.array_player(
        draw.integers(-3, 4, (_SIDE, _SIDE)).tolist(),
        draw.integers(0, 4, (_SIDE, _VECTORS)).tolist(),
        array=SystolicArray(_SIDE, _SIDE, load_speed=1),
        cycle=0,
    )
    return [_told("product", node=node, count=len(products), side=_SIDE), small]


def _told(key, **numbers) -> ipywidgets.HTML:
    return ipywidgets.HTML(Prose(_SAYS[key].format(**numbers))._repr_html_())


@checked
def where_time_goes(executable: Executable, n: int = 5) -> str:
    """Return a table of an executable's critical path: by cause, and by operation.

    Parameters
    ----------
    executable : Executable
    n : int
        How many of each.
    """
    why = executable.why()
    both = (why.share_by_cause(), why.share_by_operation())
    sides = [[f"{share:6.1%}  {name}" for name, share in list(all_.items())[:n]] for all_ in both]
    wide = max(map(len, sides[0])) + 3
    rows = zip_longest(["waiting for, or work of", *sides[0]], ["in", *sides[1]], fillvalue="")
    return "\n".join(f"{left:{wide}}{right}".rstrip() for left, right in rows)


@checked
def fusion_table(executable: Executable) -> str:
    """Return what fusion saves: the same graph compiled with and without it."""
    apart = Executable(executable.graph, executable.flags, is_fused=False)
    rows = [f"{'':14}{'operations':>10}{'HBM traffic':>14}{'time':>10}"]
    for name, one in (("without fusion", apart), ("with fusion", executable)):
        done = [o for o in one.operations() if o.node.operation not in ("parameter", "constant")]
        moved = sum(o.bytes for o in done)
        rows.append(f"{name:14}{len(done):10}{moved / 1e3:11.1f} kB{one.makespan_ns / 1e3:7.1f} µs")
    return "\n".join(rows)


@checked
def time_on_chip(device: Device) -> str:
    """Return how many graphs a device compiled and ran, and their time on the chip."""
    ns = {e.graph.fingerprint: e.makespan_ns for e in device.compiler.executables}
    ran = [ns[event.graph] for event in device.compiler.history]
    return f"{len(ns):3} compiled, {len(ran):3} runs, {sum(ran) / 1e3:6.1f} µs on the chip"


@checked
def size_of(executable: Executable, steps: int = 1) -> str:
    """Return how large an executable is, and how long it takes for each of its steps."""
    return (
        f"{len(executable.graph.nodes):4} operations, {executable.hbm_bytes / 1e3:6.0f} kB of HBM,"
        f" {executable.makespan_ns / steps / 1e3:5.1f} µs a step"
    )
