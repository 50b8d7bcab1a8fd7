"""One emulated NeuronCore, as a PyTorch process sees it: what is pending, what ran, how long.

Values are there as soon as they are recorded (``tensor.py`` computes them); what is decided here is
*when the chip would have computed them*: at ``mark_step``, when a value is asked for before, and
around an operation that the chip does not have.
"""

import sys
import warnings
from collections.abc import Callable, Iterable, Sequence
from dataclasses import replace
from typing import Any

import torch

from trainium_edu import live as published
from trainium_edu import settings
from trainium_edu.specs import INSTANCES
from trainium_edu.torch.calls import Call, counted
from trainium_edu.torch.clock import Clock, transfer_ns
from trainium_edu.torch.origins import Origins, user_line
from trainium_edu.torch.refusals import refusal, sentence
from trainium_edu.torch.script import ValuesOff
from trainium_edu.torch.tape import Cell, Place, Tape, Trie
from trainium_edu.torch.translate import Translation, translate
from trainium_edu.torch.values import Values
from trainium_edu.training.run_record import StepRecord
from trainium_edu.xla.compiler import Compiler
from trainium_edu.xla.device import Device, World, current_world
from trainium_edu.xla.executable import Executable
from trainium_edu.xla.executable.memory import nbytes, needs
from trainium_edu.xla.metrics import PROCESS

__all__ = ["Core", "ValuesOff", "current", "is_there", "make_current"]

_MANY_CALLS = 50_000  #: pending, beyond which a warning names mark_step; GPT-2's step has 3 000


class Core:
    """The part of the chip that one process has.

    Parameters
    ----------
    compiler : Compiler
    instance : str
    values : "all", "none" or int
        Whether values are computed: always, never, or up to that step.
    setting : Setting, optional
        Rounding and seed; wins over the switches.
    ordinal : int
        Number of the device on the instance.
    world : World, optional
        Default: the current one.

    Attributes
    ----------
    clock : Clock
    steps : list of StepRecord
        Of an execution that another rank has made the executable for, it holds what is known of it.
    """

    def __init__(self, compiler: Compiler | None = None, *, instance: str = "trn1.2xlarge",
                 values: str | int = "all", ordinal: int = 0, clock: Any = None,
                 world: World | None = None):  # fmt: skip
        self.compiler = Compiler() if compiler is None else compiler
        self.compiler.counts_operations = False
        self.world = world or current_world()  #: who takes part, in every thread
        self.instance, self.values, self.clock = instance, values, clock or Clock()
        self.machine: Any = INSTANCES[instance]
        self.device = torch.device("xla", ordinal)
        #: records what is translated, and follows AWS's switches
        self.recorder = Device(f"xla:{ordinal}", compiler=self.compiler, follows_switches=True)
        self.recorder.setting = replace(self.recorder.setting, values=False)
        self.steps: list[StepRecord] = []
        self.number = 0  #: number of the current step
        self.taken = 0  #: steps that ran something; a loader marks one before anything is recorded
        self.closures: list[tuple[Callable, Sequence]] = []
        self.problem = ""  #: that ended the script
        self.counts_on_host = False  #: DDP makes its map of the weights that were used
        self.spawned: Any = None  #: what ranks did that the script has started itself
        self.collectives: Any = None  #: of ``ranks``: moves and sums values; None: alone
        self.trie = Trie()
        self.tape: Tape = self.trie.begin()
        self.newest: Translation | None = None
        self.origins = Origins()
        self._sent: set[float] = set()
        self._rounds_by: tuple | None = None
        self._timed: tuple | None = None  # the newest executable, and its time
        self.follow()

    # -- values -----------------------------------------------------------------------------------

    def follow(self) -> None:
        """Apply AWS's switches, if they have changed, and the step's number."""
        device = self.recorder
        device.follow_switches()
        setting, flags = device.setting, device.compiler.flags
        key = (tuple(device.narrowed.items()), setting.rounding, setting.seed, flags.auto_cast,
               flags.auto_cast_type)  # fmt: skip
        if key != self._rounds_by:
            self._rounds_by, self.rounded = key, Values(device.narrowed, *key[1:])
        self.rounded.begin(self.number)
        self.computes = self.values == "all" or (
            type(self.values) is int and self.taken < self.values
        )

    def follow_at_first(self) -> None:
        """Follow the switches before the first call: scripts set some after their imports."""
        if not self.number and not self.tape.path:
            self.follow()

    def held(self, value: torch.Tensor, strides) -> torch.Tensor:
        """Return a copy of data as the device holds them."""
        kept = torch.empty_strided(value.size(), strides, dtype=value.dtype)
        return self.rounded.settle(kept.copy_(value))

    # -- cutting ----------------------------------------------------------------------------------

    def mark_step(self) -> None:
        """Run all that is pending on the chip, then the step closures."""
        self.follow()
        tape = self.tape
        live = tape.live()
        try:
            if live:
                self._execute(tape, live, "step")
                self.taken += 1
        finally:  # what could not run is left out: the next step begins with an empty tape
            self.tape = self.trie.begin()
        self.number += 1
        self.origins.forget()
        self.follow()
        self.compiler.metrics.count("MarkStep")
        self._explain(1, self.compiler.metrics.analysis)
        while self.closures:
            function, arguments = self.closures.pop(0)
            function(*arguments)

    def ask(self, cell: Cell, kind: str = "value", operation: str = "") -> torch.Tensor:
        """Return a value; the chip runs what it needs first, if that is still pending.

        Raises
        ------
        ValuesOff
            If values are not computed, with the script's line.
        """
        self.run_early(cell, kind, operation)
        self.clock.wait()
        if cell.value is None:
            since = f" after step {self.values}" if type(self.values) is int else " (--values none)"
            raise refusal("tensors.value", ValuesOff, since=since)
        self.transfer(cell.value, "from")
        return cell.value

    def transfer(self, value, direction: str) -> None:
        """Copy a value to the chip or from it."""
        nbytes = value.numel() * value.element_size()
        self.clock.transfer(nbytes, direction)
        self.compiler.metrics.transferred(direction, transfer_ns(nbytes), nbytes)

    def send(self, numbers: list[float]) -> None:
        """Count Python's numbers that become inputs, each when it is sent for the first time."""
        if not self._sent.issuperset(numbers):
            self.compiler.metrics.tick("DeviceDataCacheMiss", len({*numbers} - self._sent))
            self._sent.update(numbers)

    def run_early(self, cell: Cell, kind: str = "value", operation: str = "") -> None:
        """Compute one tensor on the chip now; other pending tensors stay pending."""
        tape = self.tape
        if tape.is_pending(cell):
            self._execute(tape, ((cell.slot, -1),), kind, operation)
            tape.ran(cell)

    def _execute(self, tape: Tape, live, kind: str, operation: str = "") -> None:
        place = tape.here
        key = live, self.recorder.compiler.flags, tuple(self.recorder.narrowed.items())
        translation = place.cuts.get(key)
        if translation is None:
            translation = place.cuts[key] = self._translated(tape, live)
        self.newest = translation
        if not translation.graph.outputs:
            return
        executable = self._compiled(translation)
        event = self.compiler.history[-1]
        line = user_line() if kind != "step" or event.kind != "memory" else None
        if isinstance(executable, Executable):
            if event.kind != "memory":
                self._explain(1, lambda: _analysis("Compilation", kind, executable))
            self._explain(2, lambda: _analysis("Execution", kind, executable))
        self.ran(executable, translation.graph, kind, line, event.why, operation)

    def _explain(self, level: int, lines: Callable[[], Iterable[str]]) -> None:
        """Write what PyTorch/XLA's debugging tool writes, on the first rank, where it is wanted."""
        switches = settings.lazy()
        if switches.debug_level < level or self.world.ordinal % self.world.per_instance:
            return
        text = "".join(f"{line}\n" for line in lines())
        if switches.debug_file is None:
            print(text, end="", file=sys.stderr)
        else:
            with open(switches.debug_file, "a", encoding="utf-8") as file:
                file.write(text)

    def ran(self, executable, graph, kind: str, line, why: str = "", operation: str = "") -> None:
        """Queue an execution, and keep a record of it."""
        begin, end = self.clock.execute(self._met_ns(executable))
        self.compiler.metrics.add("ExecuteTime", end - begin)
        self._publish(graph, executable, end - begin)
        self.steps.append(
            StepRecord(self.number, begin, end, kind, executable, line, why, operation)
        )

    def _publish(self, graph, executable, ns: float) -> None:
        """Publish an execution for the tools around a run."""
        core = self.world.ordinal if self.world.size > 1 else self.device.index or 0
        run = published.current()
        if run is None:
            run = published.begin(instance=self.instance, cores=[core])
        run.host_now_ns(self.clock.device_free_ns)
        if isinstance(executable, Executable):
            name, size = executable.name, executable.hbm_bytes
            run.ran(graph.fingerprint, name, lambda: needs(graph, size), core, ns)
        else:  # made by another rank, or written down only
            run.executed(core, ns)

    def _translated(self, tape: Tape, live) -> Translation:
        return translate(tape.path, live, tape.fed, self.recorder)

    def _compiled(self, translation: Translation):
        return self.compiler.get(translation.graph, self.number)

    def _met_ns(self, executable) -> float:
        """Return the time of one execution, when those that exchange in it have met."""
        return self.makespan_ns(executable)

    def makespan_ns(self, executable) -> float:
        """Return the time of one execution."""
        if not isinstance(executable, Executable):
            return 0.0  # a graph that was only written down
        if self._timed is None or self._timed[0] is not executable:
            self._timed = executable, executable.makespan_ns
        return self._timed[1]

    # -- recording --------------------------------------------------------------------------------

    def new_place(self, call: Call | None, args, kwargs, first: int, metas: list) -> Place:
        """Return a place for a call that comes for the first time after those before."""
        line, scope = self.origins.find()
        if len(self.tape.path) == _MANY_CALLS:
            warnings.warn(sentence("tensors.many", count=_MANY_CALLS), stacklevel=2)
        return Place(call, args, kwargs, first, line, scope, metas)


def _analysis(what: str, kind: str, executable: Executable) -> list[str]:
    """Return why a graph is compiled or executed, and for one that is compiled what it holds."""
    graph, line = executable.graph, user_line()
    cause = "user torch_xla.sync" if kind == "step" else (
        "most likely user code trying to access tensor value before torch_xla.sync")  # fmt: skip
    lines = [f"{what} Cause", f"  {cause}", "Graph Info:", f"  Graph Hash: {graph.fingerprint:x}",
             f"  Number of Graph Inputs: {len(graph.parameters)}",
             f"  Number of Graph Outputs: {len(graph.outputs)}",
             "Python Frame Triggered Execution:"]  # fmt: skip
    lines += [f"  {line.function} ({line.file}:{line.line})"] if line else []
    blocks = {f"{what} Analysis: ": lines}
    if what == "Compilation":
        sizes = {"Graph input": graph.parameters, "Graph output": graph.outputs,
                 "Aliased Input": [graph.parameters[n] for _, n in graph.donated]}  # fmt: skip
        held = {name: sum(map(nbytes, nodes)) for name, nodes in sizes.items()}
        held["Intermediate tensor"] = executable.needs["model_shared_scratchpad"]
        blocks[f"Post {what} Analysis: "] = [
            f"{name} size: {size / 2**30:.6f} GB" for name, size in held.items()
        ]
    return [prefix + line for prefix, block in blocks.items()
            for line in ("=" * 80, *block, "-" * 80, "=" * 80)]  # fmt: skip


_tensors: dict[str, int] = {}  # counted before


def _gather() -> None:
    """Add to the process's metrics what was recorded since they were read before."""
    for name, times in counted():
        PROCESS.tick(name, times)
    for name, count in Cell.counted().items():
        if count > _tensors.get(name, 0):
            PROCESS.tick(name, count - _tensors.get(name, 0))
        _tensors[name] = count


PROCESS.gather = _gather
_current: Core | None = None


def current() -> Core:
    """Return this process's core.

    Raises
    ------
    RuntimeError
        Before ``trainium_edu.torch.activate``.
    """
    if _current is None:
        raise RuntimeError("there is no emulated device yet; call trainium_edu.torch.activate()")
    return _current


def is_there() -> bool:
    """Return whether this process has a core."""
    return _current is not None


def make_current(core: Core | None) -> Core | None:
    """Make a core this process's; return the one before."""
    global _current
    before, _current = _current, core
    return before
