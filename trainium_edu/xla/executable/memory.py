"""How much HBM a graph needs: parameters, outputs, and what lives between, reused by lifetime."""

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from heapq import nlargest

from trainium_edu.specs.errors import NkiValidationError
from trainium_edu.xla.graph import Graph, Node
from trainium_edu.xla.operations.table import OPERATIONS
from trainium_edu.xla.refusals import sentence

__all__ = ["check", "high_water", "needs"]

#: results that need no room of their own; ranks sum in place
_SAME_BYTES = frozenset({"all_reduce", "item", "reshape", "tuple"})
_NAMED = 3  #: values that an error names


def high_water(graph: Graph, donated: Mapping[int, int], nowhere: Iterable[Node] = (),
               order: Sequence[Node] | None = None) -> tuple:  # fmt: skip
    """Return the most bytes that live at once, and what they are.

    Parameters
    ----------
    graph : Graph
    donated : dict of int to int
        Output → the parameter whose bytes it takes, where nothing reads that any more.
    nowhere : iterable of Node
        Values that are made while they are loaded.
    order : sequence of Node, optional
        In which operations are done; default the graph's.

    Returns
    -------
    bytes : int
    alive : list of Node
        Each with bytes of its own.

    Notes
    -----
    Parameters and constants live from the first operation to the last, a result from its operation
    to its last reader, an output to the end.
    """
    order = graph.nodes if order is None else order
    home = _homes(graph, set(nowhere))
    last: dict[Node, int] = {}
    for place, node in enumerate(order):
        for value in (node, *node.inputs):
            for owner in home[value]:
                last[owner] = place
    taken = _overwritten(graph, donated, home, last, order)
    alive = dict.fromkeys(n for n in graph._all if n.operation in ("parameter", "constant"))
    stays = {*alive, *(owner for value in graph.outputs for owner in home[value])}
    now = most = sum(nbytes(node) for node in alive)
    held = list(alive)
    for place, node in enumerate(order):
        if node in home[node] and node not in alive and node not in taken:
            alive[node] = None
            now += nbytes(node)
            if now > most:
                most, held = now, list(alive)
        for owner in {o for i in (node, *node.inputs) for o in home[i]}:
            if last[owner] == place and owner in alive and owner not in stays:
                del alive[owner]
                now -= nbytes(owner)
    return most, held


def _homes(graph, nowhere):
    """Return each node → the nodes whose bytes hold it; ranks sum in place what only they read."""
    readers = Counter(i for node in graph.nodes for i in node.inputs) + Counter(graph.outputs)
    home: dict[Node, tuple[Node, ...]] = {}
    for node in graph._all:
        is_in_place = node.operation == "all_reduce" and all(readers[i] == 1 for i in node.inputs)
        if node.operation in _SAME_BYTES or node in nowhere or is_in_place:
            home[node] = tuple(dict.fromkeys(o for i in node.inputs for o in home[i]))
        else:
            home[node] = (node,)
    return home


def _overwritten(graph, donated, home, last, order):
    """Return the values that are written over parameters which nothing reads later.

    Several results of one operation count if each has a parameter of its own.
    """
    place = {node: i for i, node in enumerate(order)}
    overwritten, items = set(), Counter()
    for output, parameter_number in donated.items():
        node, parameter = graph.outputs[output], graph.parameters[parameter_number]
        owner = home[node][0]
        if nbytes(node) != nbytes(parameter) or len(home[node]) > 1 or node is parameter:
            continue
        if owner not in place or last.get(parameter, -1) > place[owner]:
            continue
        items[owner] += 1
        parts = len(owner.types)
        if items[owner] == parts and (owner is node or parts > 1):
            overwritten.add(owner)
    return overwritten


def nbytes(node: Node) -> int:
    return sum(type.nbytes for type in node.types)


def check(name: str, most: int, alive: list[Node], available: int) -> None:
    """Raise if a graph does not fit the core's HBM.

    Raises
    ------
    NkiValidationError
        Names the largest values and what to try.
    """
    if most <= available:
        return
    largest = "; ".join(_called(node) for node in nlargest(_NAMED, alive, nbytes))
    gib, count = (most / 2**30, available / 2**30), len(alive)
    raise NkiValidationError(sentence("hbm.full", name=name, gib=gib, count=count, largest=largest))


def needs(graph: Graph, most: int) -> dict[str, int]:
    """Return what one execution of a graph holds, by class, and how much it computes.

    Parameters
    ----------
    graph : Graph
    most : int
        Of :func:`high_water`.

    Returns
    -------
    dict of str to int
        Bytes by the names of ``neuron-monitor``'s classes, and ``flops``.
    """
    constants = sum(nbytes(n) for n in graph._all if n.operation == "constant")
    held = sum(nbytes(n) for n in {*graph.parameters, *graph.outputs})
    tensors = min(held, most - constants)  # an output may take a parameter's bytes
    flops = sum(OPERATIONS[node.operation].flops(node) for node in graph.nodes)
    return {"constants": constants, "tensors": tensors, "flops": flops,
            "model_shared_scratchpad": most - constants - tensors}  # fmt: skip


def _called(node):
    name = node.of.get("name") or node.operation
    return f"{name} {node.type}{node.at}, {nbytes(node) / 2**20:.0f} MiB"
