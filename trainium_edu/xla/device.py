"""A lazy device: what was recorded on it and has not run yet; ``mark_step`` runs it.

Data on the device enter a graph as parameters, numbered in the order of their first use since the
last cut.  So a loop that does the same again records the very same nodes, and the cut finds its
executable by the identity of the roots.
"""

import itertools
from collections.abc import Callable, Iterable, Sequence
from contextlib import AbstractContextManager
from contextvars import ContextVar
from dataclasses import dataclass, field, replace
from weakref import WeakValueDictionary, ref

import numpy as np

from trainium_edu import aside, live, settings
from trainium_edu.specs.instances import ends
from trainium_edu.specs.signatures import checked
from trainium_edu.xla import graph as graphs
from trainium_edu.xla.cache import open_cache, print_lines
from trainium_edu.xla.compiler import Compiler, recorded
from trainium_edu.xla.executable import Executable
from trainium_edu.xla.executor import Plan, Setting, as_held
from trainium_edu.xla.flags import parse
from trainium_edu.xla.graph import Graph, GraphError, Node, Type, walk
from trainium_edu.xla.operations import constant, parameter
from trainium_edu.xla.passes.rewrite import on_inputs
from trainium_edu.xla.refusals import sentence

__all__ = ["Device", "World", "apart", "current_world", "of_process", "world"]

_serial = itertools.count()
_MOST_KEPT_BYTES = 2**28  #: of inputs that are kept to look for a NaN
_MOST_SCALARS = 4096


@dataclass(frozen=True, slots=True)
class World:
    """The ranks: the one that records, how many there are, what sums over them."""

    ordinal: int = 0
    size: int = 1
    collectives: object = None  #: has a method for each kind of collective; see ``Setting``
    per_instance: int = 32  #: ranks that share an instance
    device: "Device | None" = None  #: what ``xla_device()`` gives; None: one per rank

    def __post_init__(self):
        if not 0 <= self.ordinal < self.size:
            raise ValueError(sentence("device.ordinal", world=self))


_world: ContextVar[World] = ContextVar("world", default=World())  # noqa: B039


def current_world() -> World:
    """Return the world of this thread; of one rank unless :func:`world` says otherwise."""
    return _world.get()


@checked
def world(given: World) -> AbstractContextManager:
    """Return a context in which what is recorded and run belongs to a world."""
    return graphs.holding(_world, given)


_of_process: ContextVar[dict] = ContextVar("of_process", default={})  # noqa: B039  one for all


def of_process() -> dict:
    """Return what a process has one of, by name; a rank that stands for a process has its own."""
    return _of_process.get()


def apart() -> AbstractContextManager:
    """Return a context with an :func:`of_process` of its own, empty at first."""
    return graphs.holding(_of_process, {})


@dataclass
class Pending:
    """The recording since the last cut."""

    feeds: list = field(default_factory=list)  #: the array behind each leaf, by its number
    leaves: dict = field(default_factory=dict)  #: leaf -> (weak tensor, node it was computed from)
    tensors: WeakValueDictionary = field(default_factory=WeakValueDictionary)  #: by serial number
    number: int = field(default_factory=lambda: next(_serial))


@dataclass(frozen=True, slots=True)
class Execution:
    """One execution, kept to be looked into."""

    executable: Executable
    feeds: list
    setting: Setting
    number: int  #: counts executions from 1


class Device:
    """One NeuronCore as a lazy device.

    Parameters
    ----------
    name : str
    setting : Setting, optional
        Rounding, seed, replicas, collectives; wins over the switches.
    compiler : Compiler, optional
    follows_switches : bool
        Read AWS's switches from the environment now and at every ``mark_step``.

    Attributes
    ----------
    step : int
        How often ``mark_step`` was called.
    eager : bool
        Compile and run each operation alone, at once.
    narrowed : dict of str to str
        The dtype that data of a dtype get on their way to the device; ``XLA_USE_BF16`` fills it.
    keep_feeds : bool or None
        Whether the inputs of the newest run are kept for :meth:`find_nan`; None: if they are small.

    Examples
    --------
    >>> from trainium_edu.xla.tensor import as_tensor
    >>> device = Device()
    >>> y = as_tensor([1.0, 2.0], device) + 1.5
    >>> device.mark_step()
    >>> y.numpy().tolist(), [event.kind for event in device.compiler.history]
    ([2.5, 3.5], ['compiled'])
    """

    @checked
    def __init__(self, name: str = "xla:0", *, setting: Setting | None = None,
                 compiler: Compiler | None = None, follows_switches: bool = False):  # fmt: skip
        self.name = name
        self.setting = Setting() if setting is None else setting
        self.compiler = Compiler() if compiler is None else compiler
        self.step = self.executions = self.generation = 0
        self.eager = False
        self.narrowed: dict[str, str] = {}
        self.lifted: set[float] | None = None  #: numbers that are inputs; None: all
        self.keep_feeds: bool | None = None
        self.pending = Pending()
        self.trained = WeakValueDictionary()  #: id -> tensors that want gradients, in order
        self._closures: list[tuple[Callable, Sequence]] = []
        self._scalars: dict[tuple, tuple[np.ndarray, Type]] = {}
        self.newest_run: Execution | None = (
            None  #: the newest execution with its inputs, if they were kept
        )
        self.follows_switches, self._rounds_as_told = follows_switches, setting is not None
        self._switches: settings.LazySettings | None = None
        self._target = self.compiler.flags.target  # of flags that name none
        self.follow_switches()

    def __repr__(self):
        return f"device(type='xla', index={self.name.partition(':')[2] or 0})"

    def __str__(self):
        return self.name

    def follow_switches(self) -> None:
        """Apply the environment's switches, if they are followed and have changed.

        Raises
        ------
        ValueError
            If a switch holds what it cannot, or the cache's folder cannot be used.
        """
        if not self.follows_switches:
            return
        now, before = settings.lazy(), self._switches
        if now == before:
            return
        compiler, flags = self.compiler, parse(now.compiler_flags, target=self._target)
        if before is None or (now.cache_url, now.compiler_flags) != (
            before.cache_url, before.compiler_flags
        ):  # fmt: skip
            compiler.cache = None if flags.no_cache else open_cache(
                flags.cache_dir, now.cache_url, retry_failed=flags.retry_failed_compilation,
                log=print_lines(flags.log_level),
            )  # fmt: skip
        compiler.flags, compiler.extracting = flags, now.extract_graphs_only
        compiler.most = now.models_to_keep
        rounding = now.rounding
        if not self._rounds_as_told:
            self.setting = replace(self.setting, rounding=rounding.rounding, seed=rounding.seed)
        self.narrowed, self.eager, self._switches = now.casts, now.eager_debug, now

    @property
    def float_dtype(self) -> str:
        """The dtype that float32 has on the device."""
        return self.narrowed.get("float32", "float32")

    @property
    def executable(self):
        """The executable that ran last; None before the first."""
        return self.compiler.newest

    # -- recording ----------------------------------------------------------------------------

    def leaf(self, array: np.ndarray, type: Type, name: str = "", tensor=None, origin=None) -> Node:
        """Return the parameter that stands for data in the graph being recorded."""
        node = parameter(len(self.pending.feeds), type, name)
        self.pending.feeds.append(array)
        if origin is not None:
            self.pending.leaves[node] = (ref(tensor), origin)
        return node

    def scalar(self, value: float, dtype: str, rank: int) -> Node:
        """Return a Python number as a node: an input, so that it may change from step to step.

        0 and 1 are constants, as in PyTorch/XLA, and so are all but those in ``lifted``.
        """
        if value in (0, 1) or (self.lifted is not None and value not in self.lifted):
            return constant(np.full((1,) * rank, value), dtype)
        key = value, dtype, rank
        held = self._scalars.get(key)
        if held is None:
            type = Type((1,) * rank, dtype)
            limits = np.iinfo(dtype) if dtype in ("int32", "uint32", "uint8") else None
            if limits and not limits.min <= value <= limits.max:
                raise GraphError(f"{value:g} does not fit into {dtype}; cast the tensor first")
            if len(self._scalars) > _MOST_SCALARS:
                self._scalars = {}
            held = self._scalars[key] = as_held(np.full(type.shape, value), type), type
            if self.setting.values:
                self.compiler.metrics.tick("DeviceDataCacheMiss")
        return self.leaf(*held)

    def origin(self, leaf: Node) -> Node | None:
        """Return the node that a leaf's value was computed from since the last cut, or None."""
        found = self.pending.leaves.get(leaf)
        return found and found[1]

    def add(self, tensor) -> None:
        """Remember a tensor; the next cut computes its value if it still lives."""
        self.pending.tensors[next(_serial)] = tensor

    # -- running ------------------------------------------------------------------------------

    @checked
    def mark_step(self, only: Iterable | None = None) -> None:
        """Cut the graph: run all that is pending, then the step closures.

        An error or an interrupt before the closures leaves everything as it was before the call.

        Parameters
        ----------
        only : iterable of Tensor, optional
            What is computed, beside what was changed in place; other tensors have no value then.
            Else one that a profiler keeps alive for a moment would change the graph, and with it
            everybody's random bits.
        """
        self.follow_switches()
        tensors = [t for t in dict.fromkeys(self.pending.tensors.values()) if t.node is not None]
        wanted = set(map(id, tensors if only is None else only))
        unneeded = [t for t in tensors if id(t) not in wanted and t.replaces is None]
        lost = set(map(id, unneeded))
        tensors = [t for t in tensors if id(t) not in lost]
        before = [t.state for t in tensors]
        pending, step, executions = self.pending, self.step, self.executions
        try:
            if tensors:
                self._run(tensors)
            for one in tensors:
                one.forget_node()
            self.pending, self.step = Pending(), step + 1
            for one in unneeded:
                one.let_go()
        except BaseException:
            for one, state in zip(tensors, before, strict=True):
                one.state = state
            self.pending, self.step, self.executions = pending, step, executions
            one = None
            tensors.clear()  # or the traceback would keep alive what the user lets go
            unneeded.clear()
            raise
        graphs.forget()
        self.compiler.metrics.count("MarkStep")
        while self._closures:
            function, arguments = self._closures.pop(0)
            function(*arguments)

    def evaluate(self, tensor) -> None:
        """Run only what one tensor needs; other pending tensors stay pending."""
        before = tensor.state
        try:
            self._run([tensor])
        except BaseException:
            tensor.state = before
            raise

    def _run(self, tensors) -> None:
        roots = tuple(t.node for t in tensors)
        run = self._each_alone if self.eager else self._together
        for tensor, value in zip(tensors, run(roots, [t.replaces for t in tensors]), strict=True):
            tensor.hold(value)

    def _together(self, roots: tuple[Node, ...], replaced: list) -> list[np.ndarray]:
        """Return the values of nodes: one graph, found by its roots, its fingerprint, or new."""
        graph, numbers = recorded(roots, tuple(replaced))
        executable = self.compiler.get(graph, self.step)
        return self._execute(executable, [self.pending.feeds[n] for n in numbers])

    def _each_alone(self, roots: tuple[Node, ...], _=None) -> list[np.ndarray]:
        """Return the values of nodes, each operation a graph of its own."""
        values: dict[Node, np.ndarray] = {}
        for node in walk(roots):
            if node.operation == "parameter":
                values[node] = self.pending.feeds[node.of["number"]]
                continue
            inputs = list(dict.fromkeys(node.inputs))
            leaf = {one: parameter(i, one.type) for i, one in enumerate(inputs)}
            alone = on_inputs(node, tuple(leaf[i] for i in node.inputs))
            graph = Graph(node.operation, tuple(leaf.values()), (alone,))
            executable = self.compiler.get(graph, self.step)
            (values[node],) = self._execute(executable, [values[i] for i in inputs])
        return [values[root] for root in roots]

    def _execute(self, executable, feeds) -> list[np.ndarray]:
        setting = replace(
            self.setting, step=self.executions,
            collectives=self.setting.collectives or current_world().collectives,
        )  # fmt: skip
        values = self.compiler.run(executable, feeds, setting)
        self.executions += 1
        if setting.values and isinstance(executable, Executable):  # one that counts only has plans
            self._publish(executable)
        keep = self.keep_feeds and not self.compiler.extracting
        if self.keep_feeds is None and not self.compiler.extracting:
            keep = sum(f.nbytes for f in feeds) <= _MOST_KEPT_BYTES
        self.newest_run = Execution(executable, feeds, setting, self.executions) if keep else None
        return values

    def _publish(self, executable) -> None:
        """Publish an execution for the tools around a run, which begins here if it has not."""
        if not aside.HAS_THREADS:  # a browser: no other process looks
            return
        run, here, replicas = live.current(), current_world(), self.setting.replicas
        core, count = (0, replicas) if replicas else (here.ordinal % here.per_instance, 1)
        if run is None:
            sizes = ends(self.compiler.flags.target or "trn1")
            run = live.begin(instance=sizes[core + count > 2], cores=range(core, core + count))
        run.ran(self.compiler.history[-1].graph, executable.name, lambda: executable.needs, core,
                executable.known_ns, count=count)  # fmt: skip

    @checked
    def add_step_closure(self, function: Callable, arguments: Sequence = ()) -> None:
        """Call a function after the next cut, in the order of asking."""
        self._closures.append((function, arguments))

    def forget(self) -> None:
        """Drop what is pending; the holder of a tensor of it sets its ``state`` back."""
        self.pending = Pending()
        self._closures = []

    def reset(self) -> None:
        """Drop what is pending; tensors of this device cannot be used any more."""
        self.generation += 1
        self.forget()
        self.newest_run = None
        self.trained = WeakValueDictionary()

    # -- looking for what went wrong ------------------------------------------------------------

    @checked
    def find_nan_of(self, execution: int) -> str:
        """Return :meth:`find_nan` if this execution is the newest and its inputs were kept."""
        return self.find_nan() if getattr(self.newest_run, "number", 0) == execution else ""

    def find_nan(self) -> str:
        """Run the newest graph again and say which operation made the first NaN or infinity.

        An infinity counts only where the run has no NaN: masks are infinite on purpose.

        Returns
        -------
        str
            One sentence; "" if all numbers are finite.

        Raises
        ------
        RuntimeError
            If the inputs of the newest run were not kept; ``keep_feeds = True`` keeps them.
        """
        if self.newest_run is None:
            raise RuntimeError(sentence("device.no_feeds"))
        run, seen = self.newest_run, {"NaN": np.isnan, "infinity": np.isinf}
        first: dict[str, tuple[Node, int, int]] = {}

        def look(node, value):
            for kind, is_so in seen.items():
                is_new = kind not in first and value.dtype.kind == "f"
                if is_new and (count := int(is_so(value).sum())):
                    first[kind] = node, count, value.size

        recorded = run.executable.graph
        for leaf, array in zip(recorded.parameters, run.feeds, strict=True):
            look(leaf, array)
        # as it was recorded; if that is finite, as it was cast and fused
        for plan in (Plan(recorded), run.executable.plan):
            plan.run(run.feeds, run.setting, look=look)
            for kind in seen:
                if kind in first:
                    return _told(kind, *first[kind])
        return ""


def _told(kind: str, node: Node, count: int, size: int) -> str:
    some = f"{count} of its {size} numbers" if size > 1 else "its number"
    if node.operation == "parameter":
        name = node.of["name"] or f"number {node.of['number']}"
        return sentence("device.came_in", kind=kind, name=name, node=node, some=some)
    layer = f" in {node.scope}" if node.scope else ""
    return f"the first {kind} was made by {node.operation}{node.at}{layer}, {node.type}, {some}"
