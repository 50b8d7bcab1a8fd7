"""What runs now: runs tell it in one small file each, and the tools around a run read it.

A run *begins*, counts its executions, and *closes*; between, a file of its own in a folder of the
user's own says what it is and what it has done.  Counting costs next to nothing: the file is
written aside, at most five times a second, and only after something was counted.  Only the
user can write there (mode 0700, checked before each use), and each field that is read is checked.
A file is removed when its process is gone, or when another process has its number now.

Times are those of the emulated machine.  A run whose host has no emulated clock counts as one whose
NeuronCores work without a pause.

Read first: :class:`Live`, then :func:`runs`.  ``tools.neuron_ls`` and its neighbours show it.
"""

import atexit
import getpass
import json
import math
import os
import re
import stat
import sys
import tempfile
import threading
from collections import deque
from collections.abc import Callable, Mapping
from contextlib import suppress
from copy import deepcopy
from dataclasses import asdict, dataclass, field, fields
from pathlib import Path
from time import monotonic, time
from typing import Any, get_args, get_origin

from trainium_edu import files

__all__ = [
    "MEMORY", "Group", "Live", "LiveError", "Model", "Seen", "Totals", "begin", "current", "folder",
    "runs",
]  # fmt: skip

#: The classes of device memory, as ``neuron-monitor`` names them (``aws-neuron-monitor``).
MEMORY = ("constants", "model_code", "model_shared_scratchpad", "runtime_memory", "tensors")

_EVERY_S = 0.2  #: between two writings
_PERIOD_S = 1.0  #: a period to report on is at least this long, by the clock on the wall
_LATENCIES = 128  #: newest executions whose times are published
_MOST_BYTES = 2**20  #: the largest file that is read
_MOST_TEXT = 4096
_MOST = {int: 2**63, float: math.inf}  #: a number is below it
_SAME_START_S = 1.5  #: up to which two readings of a process's start are equal


class LiveError(OSError):
    """The folder of live runs cannot be trusted, or not be used."""


@dataclass(slots=True)
class Group:
    """The work of NeuronCores that do the same; one core is a group too."""

    first: int
    count: int
    busy_ns: float = 0.0
    flops: float = 0.0
    memory: dict[str, int] = field(default_factory=lambda: dict.fromkeys(MEMORY, 0))


@dataclass(slots=True)
class Totals:
    """All that was counted from a run's beginning up to one moment."""

    elapsed_ns: float = 0.0
    timed: int = 0  #: times that were counted, each for one core or for several that do the same
    untimed: int = 0  #: executions whose time is unknown
    groups: list[Group] = field(default_factory=list)
    completed: int = 0  #: executions, on every core; one that fails ends its script


@dataclass(slots=True)
class Model:
    """An executable on a group of cores."""

    name: str
    uuid: str
    model_id: int
    first: int
    count: int
    flops: float  #: operations of one execution
    memory: dict[str, int]


@dataclass(frozen=True, slots=True)
class Seen:
    """One run, as it stood when its file was written."""

    pid: int
    process_start_s: float  #: since the epoch
    command: str
    instance: str
    run_start_s: float  #: since the epoch
    is_tool: bool  #: reads what others do, and uses no NeuronCore
    cores: tuple[int, ...]  #: it holds, numbered from the first of its first instance
    now: Totals
    before: Totals  #: the totals when its last period began
    period_s: float  #: how long that was, by the clock on the wall
    latencies_ns: tuple[tuple[float, float], ...]  #: on the device and in all, the newest last
    models: tuple[Model, ...]
    age_s: float  #: since it was written

    @property
    def is_idle(self) -> bool:
        """Whether nothing was counted for much longer than its periods last."""
        return self.age_s > max(3.0, 2 * self.period_s)


class Live:
    """The published counts of one run; :func:`begin` makes it.

    Parameters
    ----------
    command : str
        What was started, as a user would type it.
    instance : str
        An instance type.
    cores : iterable of int
        NeuronCores that the run holds, numbered from the first of its first instance.
    is_tool : bool
        For what only reads along.

    Attributes
    ----------
    problem : str
        Why nothing is published, in a sentence; "" if it is.
    """

    def __init__(self, command: str, instance: str, cores=(0,), *, is_tool: bool = False):
        import psutil  # here, so that who publishes nothing need not load it

        self._pid, self.problem = os.getpid(), ""
        self._head = {
            "pid": self._pid, "process_start_s": psutil.Process().create_time(),
            "instance": instance, "command": command[:_MOST_TEXT], "run_start_s": time(),
            "is_tool": is_tool, "cores": sorted(set(cores)),
        }  # fmt: skip
        self._groups: dict[tuple[int, int], Group] = {}
        self._models: dict[tuple, Model] = {}
        self._totals = Totals()
        self._host_ns: float | None = None
        self._latencies: deque[tuple[float, float]] = deque(maxlen=_LATENCIES)
        self._marks = [(monotonic(), Totals()), (monotonic(), Totals())]  # older, newer
        self._lock, self._waits, self._closed = threading.Lock(), False, False
        self._path: Path | None = None
        try:
            with suppress(FileExistsError):
                folder().mkdir(mode=0o700)
            _trust(folder())
            self._path = folder() / f"{self._pid}{'t' * is_tool}.json"
            runs()  # which removes what the dead left
        except OSError as problem:
            self.problem, self._closed = str(problem), True
        self.publish()
        atexit.register(self.close)

    def __repr__(self):
        return f"Live({self._head['command']!r}, {self._head['instance']!r})"

    # -- what the run counts ----------------------------------------------------------------------

    def executed(self, core: int, ns: float | None, *, count: int = 1, model=None,
                 total_ns: float | None = None) -> None:  # fmt: skip
        """Count one execution on each of some NeuronCores.

        Parameters
        ----------
        core : int
            The first of them.
        ns : float or None
            What it took on the emulated device; None if unknown.
        count : int
            How many NeuronCores did the same.
        model : optional
            The key under which it was loaded.
        total_ns : float, optional
            With waiting in queues; default `ns`.
        """
        group = self._groups.get((core, count)) or self._group(core, count)
        totals = self._totals
        totals.completed += count
        if ns is None:
            totals.untimed += count
        else:
            group.busy_ns += ns
            if model is not None:
                group.flops += self._models[model, core, count].flops
            totals.timed += 1
            self._latencies.append((ns, ns if total_ns is None else total_ns))
        self._wake()

    def ran(self, key: int, name: str, needs: Callable[[], Mapping[str, float]], core: int,
            ns: float | None, *, count: int = 1,
            total_ns: float | None = None) -> None:  # fmt: skip
        """Count one execution of a model, which is loaded the first time.

        Parameters
        ----------
        key : int
            Of the model, such as its graph's fingerprint.
        name : str
        needs : callable () -> mapping
            What :meth:`load` takes by name; asked once.
        core, ns, count, total_ns
            As in :meth:`executed`.
        """
        if (key, core, count) not in self._models:
            self.load(key, name, core, count, **needs())  # type: ignore[arg-type]
        self.executed(core, ns, count=count, model=key, total_ns=total_ns)

    def host_now_ns(self, ns: float) -> None:
        """Set the emulated host's clock, counted from the run's beginning."""
        self._host_ns = ns

    def load(self, key: int, name: str, core: int = 0, count: int = 1, *, flops: float = 0.0,
             **classes: int) -> None:  # fmt: skip
        """Count a model as loaded, with what its executions need.

        Its shared scratchpad and its tensors become the cores' own: the largest scratchpad serves
        all models, and the newest model's tensors are those that are there.

        Parameters
        ----------
        key : int
            Of the model, such as its graph's fingerprint.
        name : str
        core, count : int
            Where.
        flops : float
            Operations of one execution on one core.
        **classes : int
            Bytes of each, by the names in :data:`MEMORY`.
        """
        if strange := ", ".join(sorted(classes.keys() - set(MEMORY))):
            raise ValueError(f"{strange}: no such class of memory; there are {', '.join(MEMORY)}")
        group = self._groups.get((core, count)) or self._group(core, count)
        number = 10001 + len(self._models)  # as the guide's numbers look
        needs = dict.fromkeys(MEMORY, 0) | classes
        self._models[key, core, count] = Model(
            name, f"{key:032x}", number, core, count, flops, needs
        )
        mine = [m.memory for m in self._models.values() if (m.first, m.count) == (core, count)]
        for kind in ("constants", "model_code", "runtime_memory"):
            group.memory[kind] = sum(memory[kind] for memory in mine)
        group.memory["model_shared_scratchpad"] = max(m["model_shared_scratchpad"] for m in mine)
        group.memory["tensors"] = mine[-1]["tensors"]
        self._wake()

    def _group(self, core, count) -> Group:
        group = self._groups[core, count] = Group(core, count)
        held = self._head["cores"]
        self._head["cores"] = sorted({*held, *range(core, core + count)})
        return group

    # -- what is written --------------------------------------------------------------------------

    def _wake(self):
        """Have the file written soon, in another thread, with what is counted until then."""
        if self._waits:
            return
        self._waits = True
        if self._closed or self._pid != os.getpid():  # for good
            return
        timer = threading.Timer(_EVERY_S, self.publish)
        timer.daemon, timer.name = True, "trainium_edu tells what runs"
        try:
            timer.start()
        except BaseException as problem:
            self._waits = False
            if not isinstance(problem, RuntimeError):  # that means: the interpreter ends
                raise

    def publish(self) -> None:
        """Write the file now."""
        self._waits = False
        if self._pid != os.getpid():  # a child has the parent's object, not its file
            return
        with self._lock:
            if self._closed or self._path is None:
                return
            now, totals = monotonic(), self._counted()
            if now - self._marks[1][0] >= _PERIOD_S:
                self._marks = [self._marks[1], (now, totals)]
            then, before = self._marks[0]
            said = {
                **self._head, "now": totals, "before": before, "period_s": now - then,
                "latencies_ns": list(self._latencies), "models": list(self._models.values()),
            }  # fmt: skip
            try:
                files.write(self._path, json.dumps(said, default=asdict))
                self.problem = ""
            except OSError as problem:  # the run goes on
                self.problem = f"{self._path}: {problem.strerror or problem}"

    def _counted(self) -> Totals:
        totals = deepcopy(self._totals)
        totals.groups = deepcopy(list(self._groups.values()))
        busiest = max((group.busy_ns for group in totals.groups), default=0.0)
        totals.elapsed_ns = busiest if self._host_ns is None else self._host_ns
        return totals

    def close(self) -> None:
        """End the run, and remove its file; a second time does nothing."""
        global _current
        if self._pid != os.getpid():
            return
        with self._lock:
            if not self._closed and self._path is not None:
                with suppress(OSError):
                    self._path.unlink(missing_ok=True)
            self._closed = True
        atexit.unregister(self.close)
        if _current is self:
            _current = None


_current: Live | None = None


def begin(command: str = "", instance: str = "trn1.2xlarge", cores=(0,)) -> Live:
    """Begin to publish what this process runs, in place of what it published before.

    Parameters
    ----------
    command : str
        What was started; default ``python`` and ``sys.argv``.
    instance : str
    cores : iterable of int
        NeuronCores that the run holds.

    Returns
    -------
    Live

    Examples
    --------
    >>> run = begin("python train.py", "trn1.32xlarge", range(32))
    >>> run.executed(0, 1.5e6, count=32)
    >>> run.publish()
    >>> [(one.command, one.now.completed) for one in runs() if one.pid == os.getpid()]
    [('python train.py', 32)]
    >>> run.close()
    """
    global _current
    if _current is not None:
        _current.close()
    _current = Live(command or " ".join(["python", *sys.argv]), instance, cores)
    return _current


def current() -> Live | None:
    """Return what this process publishes; None if nothing."""
    return _current


def _forget():
    """Forget the run in a forked child: the file is the parent's."""
    global _current
    _current = None


if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_forget)


# -- reading ------------------------------------------------------------------------------------


def folder() -> Path:
    """Return the folder of this user's live runs; it need not be there."""
    who = os.getuid() if hasattr(os, "getuid") else getpass.getuser()
    return Path(tempfile.gettempdir()) / f"trainium_edu-live-{who}"


def _trust(path: Path) -> None:
    """Raise unless a folder is the user's own, and nobody else can write there."""
    found = path.lstat()
    is_own = not hasattr(os, "geteuid") or (
        found.st_uid == os.geteuid() and not stat.S_IMODE(found.st_mode) & 0o077
    )
    if not (stat.S_ISDIR(found.st_mode) and is_own):
        raise LiveError(
            f"{path} is not a folder that only you can use, so what it says of live runs is not "
            "believed; remove it, or set TMPDIR to a folder of your own"
        )


def runs() -> list[Seen]:
    """Return the runs of this user that live, the oldest first, and remove what the dead left.

    Raises
    ------
    LiveError
        If somebody else could have written what is there.
    """
    path = folder()
    try:
        _trust(path)
    except FileNotFoundError:
        return []
    found = [seen for file in path.glob("*.json") if (seen := _read(file)) is not None]
    return sorted(found, key=lambda seen: (seen.run_start_s, seen.pid))


def _read(file: Path) -> Seen | None:
    """Return what a file says if its process lives; remove it if that is gone."""
    name = re.fullmatch(r"([0-9]{1,10})t?", file.stem)  # t: a tool
    if name is None:
        return None
    pid = int(name[1])
    try:
        if not stat.S_ISREG(file.lstat().st_mode) or file.stat().st_size > _MOST_BYTES:
            return None
        stored = json.loads(file.read_text(encoding="utf-8"))
        age_s = max(0.0, time() - file.stat().st_mtime)
        run = _checked(Seen, {**stored, "age_s": age_s})
        if run.pid != pid:
            raise ValueError
    except FileNotFoundError:  # it ended just now
        return None
    except (ValueError, KeyError, TypeError, OSError, RecursionError):
        run = None
    start = _start_of(pid)
    if start is None or (run and abs(start - run.process_start_s) > _SAME_START_S):
        for dead in (file, *file.parent.glob(f".{file.name}.*.part")):
            with suppress(OSError):
                dead.unlink(missing_ok=True)
        return None
    return run


def _start_of(pid: int) -> float | None:
    """Return when a process started; None if there is none, or only what is left of one."""
    import psutil

    try:
        process = psutil.Process(pid)
        return None if process.status() == psutil.STATUS_ZOMBIE else process.create_time()
    except psutil.NoSuchProcess:
        return None
    except psutil.AccessDenied:  # somebody else's: not who wrote here
        return -math.inf


def _checked(kind: Any, value: Any, field_name: str = "") -> Any:
    """Return what was said as a value of a kind; raise if it is not one."""
    if field_name == "memory":
        return {name: _checked(int, value[name]) for name in MEMORY}
    if hasattr(kind, "__dataclass_fields__"):
        return kind(**{f.name: _checked(f.type, value[f.name], f.name) for f in fields(kind)})
    if parts := get_args(kind):
        if parts[-1] is Ellipsis or get_origin(kind) is list:
            parts = parts[:1] * len(value)
        pairs = zip(parts, value, strict=True)
        return get_origin(kind)(_checked(part, item) for part, item in pairs)
    if kind is float and type(value) is int:
        value = float(value)
    if type(value) is not kind or (kind in _MOST and not 0 <= value < _MOST[kind]):
        raise ValueError
    if kind is not str:
        return value
    if len(value) > _MOST_TEXT:
        raise ValueError
    return "".join(item if item.isprintable() else " " for item in value)  # what no terminal obeys
