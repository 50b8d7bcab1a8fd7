"""Ranks as processes, forked when PyTorch is loaded, as ``torchrun`` starts them.

The process that forks is the desk where they meet.  It prints what they write, whole lines in the
order of writing, and ends all of them when one fails or nobody can go on.  A graph that several
ranks record alike is translated and compiled by one; the others get its time.
"""

import atexit
import contextlib
import ctypes
import gc
import importlib
import io
import os
import pickle
import random
import selectors
import shutil
import signal
import sys
import tempfile
import threading
import time
import traceback
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass, field
from hashlib import blake2b
from multiprocessing import Pipe
from typing import Any, NamedTuple

import numpy as np
import torch

from trainium_edu.fabric.executor import RanksDisagree
from trainium_edu.torch import core as cores
from trainium_edu.torch.core import Core
from trainium_edu.torch.device import register
from trainium_edu.torch.ranks import group
from trainium_edu.torch.ranks.desk import Desk, Seat
from trainium_edu.torch.ranks.exchange import Exchange
from trainium_edu.torch.refusals import refusal
from trainium_edu.torch.script import called
from trainium_edu.torch.translate import Translation
from trainium_edu.training.parallel.collectives import compiler_for, links
from trainium_edu.training.parallel.lockstep import check_place
from trainium_edu.xla import metrics
from trainium_edu.xla.compiler import Event
from trainium_edu.xla.device import World, world
from trainium_edu.xla.executable.sections import COLLECTIVES

__all__ = ["Outcome", "RankCore", "run_ranks", "variables"]

_GRACE_S = 2.0  #: between asking a process to end and ending it
_LOOK_EVERY_S = 0.05
#: what PyTorch loads late, at the first call on a subclass and at the first optimiser
_LATE = "torch.distributed.tensor", "torch._dynamo"
_DIE_WITH_PARENT = 1  #: PR_SET_PDEATHSIG


@dataclass
class Outcome:
    """The result of a run of all ranks.

    Attributes
    ----------
    code : int
        0, or 1 if any failed, as ``torchrun`` exits.
    results : list
        What each rank's `result` returned; None of one that failed.
    problem : str
        Why, in one sentence; "" if all went well.
    """

    code: int
    results: list
    problem: str


# -- a rank's core ---------------------------------------------------------------------------------


class Known(NamedTuple):
    """A graph that another rank has compiled: its time and its size."""

    outputs: int
    fingerprint: int
    makespan_ns: float
    collectives: tuple[str, ...]
    members: tuple[int, ...]
    nodes: int


class RankCore(Core):
    """A core whose graphs are made once for all ranks, and whose clock meets those of others.

    Parameters
    ----------
    exchange : Exchange
    *given, **more
        Of :class:`Core`.
    """

    collectives: Exchange

    def __init__(self, exchange: Exchange, *given, **more):
        super().__init__(*given, **more)
        self.collectives = exchange
        self._seen: dict[int, Known] = {}
        self._asked_ns = 0  #: when the others were asked for a graph
        self._newest: tuple = None, None  #: what was translated and compiled for all

    def _translated(self, tape, live):
        """Translate and compile, unless another rank does, and tell the others what came of it."""
        key, self._asked_ns = digest(tape, live, self.recorder), time.perf_counter_ns()
        answer = self.collectives.ask("graph", key)
        if answer:
            return Translation(answer, [], [])
        known: Known | bool = False
        try:
            translation = super()._translated(tape, live)
            graph = translation.graph
            executable = super()._compiled(translation) if graph.outputs else None
            known = self._seen[graph.fingerprint] = self._known(graph, executable)
        finally:
            if answer is None:
                self.collectives.tell("made", key, known)
        self._newest = translation, executable
        return translation

    def _compiled(self, translation):
        if isinstance(translation.graph, Known):
            return self._take(translation.graph)
        newest, self._newest = self._newest, (None, None)
        return newest[1] if newest[0] is translation else super()._compiled(translation)

    def _known(self, graph, executable) -> Known:
        """Return what the others need not make."""
        nodes = [n for n in graph.nodes if n.operation in COLLECTIVES]
        groups = [n.of["groups"] or (self.collectives.everybody,) for n in nodes]
        return Known(
            len(graph.outputs), graph.fingerprint, executable and self.makespan_ns(executable),
            tuple(f"{n.operation} of {' and '.join(str(i.type) for i in n.inputs[:2])}"
                  for n in nodes),
            tuple(sorted({rank for all_ in groups for group in all_ for rank in group})),
            len(graph.nodes),
        )  # fmt: skip

    def _take(self, known: Known) -> Known:
        """Count what another rank has compiled as found in the cache."""
        is_new = known.fingerprint not in self._seen
        self._seen[known.fingerprint] = known
        if is_new:
            self.compiler.count_compile(self._asked_ns, True)
        else:
            self.compiler.metrics.count("CachedCompile")
        self.compiler.metrics.add("TensorsGraphSize", known.nodes)
        self.compiler.history.append(Event(self.number, "disk" if is_new else "memory",
                                           known.fingerprint, ""))  # fmt: skip
        return known

    def _met_ns(self, executable) -> float:
        known = executable
        if not isinstance(executable, Known):
            known = self._seen[executable.graph.fingerprint]
        if not known.collectives:
            return known.makespan_ns
        clock = self.clock
        ready = max(clock.host_ns, clock.device_free_ns)
        ready, makespan = self.collectives.slowest(ready, known.makespan_ns, known.collectives,
                                                   known.members)  # fmt: skip
        clock.device_free_ns = max(clock.device_free_ns, ready)
        return makespan


def digest(tape, live, recorder) -> int:
    """Return a number that ranks share if they have recorded the same calls."""
    hashed = blake2b(digest_size=8)
    hashed.update(repr((live, recorder.compiler.flags, recorder.narrowed)).encode())
    for place in tape.path:
        call = place.call and place.call.name
        hashed.update(repr((call, place.args, place.kwargs, place.metas, place.first))
                     .replace(f"index={recorder.name.partition(':')[2]})", "index=0)")
                     .encode())  # fmt: skip
    return int.from_bytes(hashed.digest(), "little")


# -- one process -----------------------------------------------------------------------------------


def variables(number: int, ranks: int, nodes: int, master=("127.0.0.1", 29500)) -> dict[str, str]:
    """Return what ``torchrun`` tells a process about its place, as environment variables."""
    local, size = number % ranks, ranks * nodes
    values = {
        "RANK": number, "LOCAL_RANK": local, "WORLD_SIZE": size, "LOCAL_WORLD_SIZE": ranks,
        "GROUP_RANK": number // ranks, "GROUP_WORLD_SIZE": nodes, "ROLE_RANK": number,
        "ROLE_WORLD_SIZE": size, "ROLE_NAME": "default", "MASTER_ADDR": master[0],
        "MASTER_PORT": master[1], "TORCHELASTIC_RESTART_COUNT": 0, "TORCHELASTIC_MAX_RESTARTS": 0,
        "TORCHELASTIC_RUN_ID": "none", "TORCHELASTIC_USE_AGENT_STORE": False,
    }  # fmt: skip
    return {name: str(value) for name, value in values.items()}


@dataclass
class _Process:
    """A rank, as the process that started it knows it."""

    seat: Seat
    pid: int
    outputs: dict[int, Any]  #: file descriptor -> stream of ours
    begun: dict[int, bytes] = field(default_factory=dict)  #: lines without an end yet
    result: Any = None
    problem: str = ""  #: how it failed


def run_ranks(
    main: Callable[[], Any], *, ranks: int = 1, nodes: int = 1, instance: str = "trn1.2xlarge",
    values: str | int = "all", algorithm: str = "ring", clock: Callable[[], Any] | None = None,
    master: tuple[str, int] = ("127.0.0.1", 29500), result: Callable[[Core], Any] | None = None,
    modules: Iterable[str] = (),
) -> Outcome:  # fmt: skip
    """Run a function once per rank, each in a process of its own.

    Parameters
    ----------
    main : callable ()
        What the script does; called in each process, whose core is the current one.
    ranks, nodes : int
        Ranks per instance, and instances.
    instance, algorithm : str
        Over which links, and in which order, ranks sum.
    values : "all", "none" or int
        As of :class:`~trainium_edu.torch.core.Core`.
    clock : callable, optional
        Makes each rank's clock.
    master : (str, int)
        ``MASTER_ADDR`` and ``MASTER_PORT``.
    result : callable (core), optional
        Called in each process after `main`; what it returns is pickled for :class:`Outcome`.
    modules : iterable of str
        To load once, before there are ranks, which then share them; one that cannot be is left to
        `main`.

    Returns
    -------
    Outcome

    Raises
    ------
    RuntimeError
        Where processes cannot be forked, as on Windows.
    KeyboardInterrupt
        Ctrl-C, when all processes have ended.

    Examples
    --------
    >>> from trainium_edu.torch.ranks import collectives
    >>> def main():
    ...     x = torch.ones(2).to("xla")
    ...     return collectives.all_reduce("sum", x).cpu().tolist()
    >>> run_ranks(lambda: None, ranks=2, result=lambda core: main()).results
    [[2.0, 2.0], [2.0, 2.0]]
    """
    if not hasattr(os, "fork"):
        raise refusal("ranks.fork", ranks=ranks, platform=sys.platform)
    check_place(ranks, nodes, instance)
    reached = links(ranks * nodes, instance, algorithm=algorithm)
    folder = tempfile.mkdtemp(prefix="ranks")
    processes: list[_Process] = []
    sys.stdout.flush()
    sys.stderr.flush()
    pipes = [Pipe() for _ in range(ranks * nodes)]
    seats = [Seat(i, ours) for i, (ours, _) in enumerate(pipes)]
    for name in (*_LATE, *modules):
        with contextlib.suppress(Exception):
            importlib.import_module(name)
    gc.collect()
    gc.freeze()  # or the ranks' collectors would write to, and so copy, all that they share

    def be(number: int) -> int:
        """Be a rank, in a process of its own; return the exit code."""
        environment = variables(number, ranks, nodes, master)
        _look_started(number, environment, max(1, (os.cpu_count() or 1) // len(seats)))
        for other, (ours, theirs) in enumerate(pipes):
            ours.close()
            if other != number:
                theirs.close()
        exchange = Exchange(number, seats, pipes[number][1], folder)
        core = RankCore(exchange, compiler_for(instance, reached), instance=instance, values=values,
                        ordinal=number % ranks, clock=clock and clock(),
                        world=World(number, len(seats), exchange, ranks))  # fmt: skip
        return _run(main, core, result)

    try:
        for seat in seats:
            processes.append(_fork(seat, be))
        gc.unfreeze()
        for _, theirs in pipes:
            theirs.close()
        reason = _Launcher(processes, Desk(seats, reached)).run()
    finally:
        _end(processes)
        for seat in seats:
            seat.row.close()
            seat.result.close()
            seat.line.close()
        shutil.rmtree(folder, ignore_errors=True)
    failed = any(process.seat.code != 0 for process in processes)
    return Outcome(int(failed or bool(reason)), [process.result for process in processes], reason)


def _fork(seat: Seat, be: Callable[[int], int]) -> _Process:
    """Start one rank."""
    read, write = zip(os.pipe(), os.pipe(), strict=True)
    parent = os.getpid()
    pid = os.fork()
    if pid == 0:
        code = 1
        try:
            os.setpgid(0, 0)  # Ctrl-C reaches the launcher, which passes it on; all end together
            if sys.platform == "linux":
                ctypes.CDLL(None).prctl(_DIE_WITH_PARENT, signal.SIGKILL)
                if os.getppid() != parent:
                    os._exit(1)
            for fd, place in zip(write, (1, 2), strict=True):
                os.dup2(fd, place)
            for fd in (*read, *write):
                os.close(fd)
            code = be(seat.number)
        except BaseException:
            traceback.print_exc()
        finally:
            with contextlib.suppress(Exception):
                sys.stdout.flush()
                sys.stderr.flush()
            os._exit(code)
    for fd in write:
        os.close(fd)
    with contextlib.suppress(OSError):
        os.setpgid(pid, pid)
    return _Process(seat, pid, dict(zip(read, (sys.stdout, sys.stderr), strict=True)))


def _look_started(number: int, environment: dict[str, str], threads: int) -> None:
    """Make this process look as one that ``torchrun`` has started."""
    signal.signal(signal.SIGINT, signal.default_int_handler)
    signal.signal(signal.SIGTERM, signal.SIG_DFL)
    atexit._clear()
    for fd, name in ((1, "stdout"), (2, "stderr")):
        stream = io.TextIOWrapper(
            io.FileIO(fd, "w", closefd=False), "utf-8", "backslashreplace", line_buffering=True
        )
        setattr(sys, name, stream)
        setattr(sys, f"__{name}__", stream)
    os.environ.update(environment)
    os.environ.setdefault("OMP_NUM_THREADS", str(threads))
    torch.set_num_threads(threads)
    random.seed(number)
    np.random.seed(number)  # noqa: NPY002
    torch.manual_seed(number)
    register()
    group.register()
    metrics.clear_all()  # of what was before


def _run(main: Callable[[], Any], core: RankCore, result: Callable[[Core], Any] | None) -> int:
    """Run the script in this process, and tell the desk how it went; return its exit code."""
    cores.make_current(core)
    exchange = core.collectives

    def leave(code: int, reason: str = "") -> None:
        returned = None
        with contextlib.suppress(*() if code == 0 else (Exception,)):  # the first error counts
            returned = result(core) if result is not None else None
        sys.stdout.flush()
        sys.stderr.flush()
        exchange.tell("end", code, reason, returned)

    exchange.dismissed = leave
    with world(core.world):
        try:
            code, reason = called(main)
        except KeyboardInterrupt:
            code, reason = 130, ""
        threading._shutdown()  # type: ignore[attr-defined]
        atexit._run_exitfuncs()
        leave(code & 0xFF, reason or core.problem)
    return code & 0xFF


# -- all processes ---------------------------------------------------------------------------------


class _Launcher:
    """Listens to all ranks until they have ended, or one keeps the others from going on."""

    def __init__(self, processes: list[_Process], desk: Desk):
        self.processes, self.desk = processes, desk
        self.selector = selectors.DefaultSelector()
        for process in processes:
            self.selector.register(process.seat.line, selectors.EVENT_READ, (process, None))
            for fd in process.outputs:
                self.selector.register(fd, selectors.EVENT_READ, (process, fd))

    def run(self) -> str:
        """Return why not all have ended well; "" if they have."""
        try:
            while any(process.pid for process in self.processes):
                for process in self._events(_LOOK_EVERY_S):
                    self._hear(process)
                reason = self._reap()
                if reason:
                    return self._dismiss(reason)
            return ""
        except RanksDisagree as problem:
            return self._dismiss(str(problem))
        except KeyboardInterrupt:
            _end(self.processes, signal.SIGINT, self._drain)
            raise
        finally:
            self._drain()
            for process in self.processes:
                for fd, data in process.begun.items():
                    self._write(process, fd, data + b"\n")
            self.selector.close()

    def _events(self, seconds: float) -> Iterator[_Process]:
        """Print what was written, and yield who has something to say."""
        ready = [key.data for key, _ in self.selector.select(seconds)]
        for process, fd in ready:
            if fd is not None:
                self._print(process, fd)
        for process, fd in ready:
            if fd is None:
                yield process

    def _hear(self, process: _Process, ends: bool = False) -> None:
        try:
            message = pickle.loads(process.seat.line.recv_bytes())
        except (EOFError, OSError):
            self.selector.unregister(process.seat.line)
            return
        self._drain()  # what ranks wrote before they met comes before what they write after
        if message[0] == "end":
            _, code, process.problem, process.result = message
            if code == 0 and not ends:
                self.desk.ended(process.seat, code)
        elif not ends:
            self.desk.hear(process.seat, message)

    def _dismiss(self, reason: str) -> str:
        """Collect what waiting ranks did so far; return `reason`."""
        waiting = [process for process in self.processes if self.desk.dismiss(process.seat)]
        until = time.monotonic() + _GRACE_S
        while waiting and time.monotonic() < until:
            for process in self._events(_LOOK_EVERY_S):
                self._hear(process, ends=True)
                if process in waiting:
                    waiting.remove(process)
        return reason

    def _reap(self) -> str:
        """Note who has ended; return why all must, or ""."""
        for process in self.processes:
            if process.pid and (ended := os.waitpid(process.pid, os.WNOHANG))[0]:
                self._drain()
                code = os.waitstatus_to_exitcode(ended[1])
                group, process.pid = process.pid, 0
                if code != 0:
                    with contextlib.suppress(OSError):  # whatever it has started itself
                        os.killpg(group, signal.SIGKILL)
                    process.seat.code = code
                    return self._failed(process)
                if process.seat.code is None:
                    self.desk.ended(process.seat, code)
        return ""

    def _failed(self, process: _Process) -> str:
        how = f"exit code {process.seat.code}"
        if process.seat.code is not None and process.seat.code < 0:
            how = f"signal {signal.Signals(-process.seat.code).name}"
        waiting = [str(seat) for seat in self.desk.seats if seat.request is not None]
        reason = f"rank {process.seat.number} ended with {how}"
        reason += f": {process.problem}" if process.problem else ""
        return f"{reason}; {waiting[0]}, and all others are ended" if waiting else (
            f"{reason}; all others are ended")  # fmt: skip

    def _print(self, process: _Process, fd: int) -> None:
        """Write the whole lines that have come."""
        data = os.read(fd, 2**16)
        if not data:
            self.selector.unregister(fd)
            os.close(fd)
        data = process.begun.pop(fd, b"") + data
        end = max(data.rfind(b"\n"), data.rfind(b"\r")) + 1
        if len(data) > end:
            process.begun[fd] = data[end:]
        if end:
            self._write(process, fd, data[:end])

    def _write(self, process: _Process, fd: int, data: bytes) -> None:
        stream = process.outputs[fd]
        stream.write(data.decode("utf-8", "replace"))
        stream.flush()

    def _drain(self) -> None:
        """Print all that was written so far."""
        while True:
            ready = [k.data for k, _ in self.selector.select(0) if k.data[1] is not None]
            if not ready:
                return
            for process, fd in ready:
                self._print(process, fd)


def _end(processes: list[_Process], first: int = signal.SIGTERM,
         meanwhile: Callable[[], None] = lambda: None) -> None:  # fmt: skip
    """End all processes that are left, and whatever they have started."""
    for sent, wait in ((first, _GRACE_S), (signal.SIGTERM, _GRACE_S), (signal.SIGKILL, 60.0)):
        running = [process for process in processes if process.pid]
        for process in running:
            with contextlib.suppress(OSError):  # an interrupt is for the script, not its workers
                (os.kill if sent == signal.SIGINT else os.killpg)(process.pid, sent)
        until = time.monotonic() + wait
        while running and time.monotonic() < until:
            for process in running:
                pid, status = os.waitpid(process.pid, os.WNOHANG)
                if pid:
                    process.pid, process.seat.code = 0, os.waitstatus_to_exitcode(status)
            running = [process for process in running if process.pid]
            meanwhile()
            if running:
                time.sleep(0.005)
