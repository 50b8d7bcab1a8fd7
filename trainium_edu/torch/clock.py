"""The clock of a script: it moves when the chip works and when the host has to wait.

Between device work it stands still: Python costs nothing here, since a laptop's Python says nothing
about a server's.  A step waits for the one before it, is queued, and the script goes on; a value
that is asked for waits for all that is queued.  Loading of samples (``loading``) and copies between
host and chip are modelled and added.

:class:`emulated` shows this clock to a script instead of the real one: ``time.time``,
``perf_counter``, ``monotonic`` (also with ``_ns``, also imported by name before), ``timeit`` and
``tqdm``; ``time.sleep`` adds to it and sleeps not.  Left alone, since they name days and files:
``datetime.now()``, ``time.strftime()`` and ``localtime()``; also ``process_time``.  Python's own
modules, PyTorch and notebooks' machinery go on seeing the real clock, which their timeouts need;
so do processes that a script starts, such as the workers of a ``DataLoader``.
"""

import functools
import os
import sys
import sysconfig
import threading
import time
import timeit
from contextlib import contextmanager

from trainium_edu.specs import SOURCES
from trainium_edu.specs.arguments import choice, number
from trainium_edu.specs.signatures import checked

__all__ = ["HOST_BYTES_PER_S", "HOST_LATENCY_NS", "READING_NS", "Clock", "emulated", "is_shown"]

_assumed = SOURCES["emulator"].says
HOST_BYTES_PER_S = _assumed(
    8e9, "bytes/s", "copies between host and chip",
    note="of one NeuronCore: half a chip's PCI Express link of 16 GB/s; AWS states no rate",
)  # fmt: skip
HOST_LATENCY_NS = _assumed(
    10e3, "ns", "copies between host and chip",
    note="the driver's call and the link's round trip, as commonly measured on accelerators",
)  # fmt: skip
READING_NS = _assumed(
    1000, "ns", "a script's readings of the clock",
    note="each shows one microsecond more, so that no two are equal (a difference can be divided "
    "by) and a loop that waits for a time comes to its end; the chip's time does not contain it",
)  # fmt: skip


class Clock:
    """Host time and the end of what is queued on one NeuronCore, in ns since the run began.

    Examples
    --------
    >>> clock = Clock()
    >>> clock.execute(300.0), clock.execute(200.0)
    ((0.0, 300.0), (300.0, 500.0))
    >>> clock.host_ns  # the second step waited for the first, and is not over
    300.0
    >>> clock.wait()
    500.0
    """

    def __init__(self):
        self.host_ns = 0.0
        self.device_free_ns = 0.0
        self.spent_ns: dict[str, float] = {}  #: what the host waited for, and how long
        self.waits: list[tuple[float, float, str]] = []  #: (begin, end, what), but for the chip
        self.read_ns = 0.0  #: added by readings of the clock
        self.of_models: dict[int, Clock] = {}  #: of the NeuronCores of models that threads call
        self.of_threads: dict[threading.Thread, Clock] = {}  #: where each waited last
        self._aside = False

    def here(self) -> "Clock":
        """Return the clock of the thread that asks.

        A thread that called a traced model has that of the NeuronCore on which it runs; the main
        one has this, and has waited for threads that ended.
        """
        thread = threading.current_thread()
        if thread in self.of_threads or thread is not threading.main_thread():
            return self.of_threads.get(thread, self)
        for one in list(self.of_threads):
            if not one.is_alive():
                self.join(self.of_threads.pop(one, self))
        if not self.of_threads:
            self.of_models.clear()
        return self

    def join(self, other: "Clock") -> None:
        """Wait until it is as late as on another clock."""
        self.wait_for(other.host_ns, "threads")
        self.read_ns = max(self.read_ns, other.read_ns)

    @checked
    def execute(self, makespan_ns: float) -> tuple[float, float]:
        """Queue an execution behind the previous one, which the host waits for.

        Parameters
        ----------
        makespan_ns : float

        Returns
        -------
        begin_ns, end_ns : float
        """
        makespan_ns = number(makespan_ns, "makespan_ns", 0)
        begin = self.wait()
        self.device_free_ns = begin + makespan_ns
        return begin, self.device_free_ns

    def wait(self) -> float:
        """Wait for all that is queued, and return the host's time in ns."""
        return self.wait_for(self.device_free_ns, "device")

    def wait_for(self, ns: float, what: str = "device") -> float:
        """Wait until a time has come (for nothing if it has), and return the host's time in ns.

        Parameters
        ----------
        ns : float
            The time.
        what : str
            That the host waits for, for ``spent_ns``.
        """
        if ns > self.host_ns:
            self.add_host(ns - self.host_ns, what)
            self.host_ns = max(self.host_ns, ns)  # the sum may be rounded down
        return self.host_ns

    def add_host(self, ns: float, what: str) -> None:
        """Keep the host busy for a while; the clock never runs backwards.

        Raises
        ------
        ValueError
            If `ns` is below zero.
        """
        ns = number(ns, f"time for {what}", 0)
        if ns and what != "device":
            begin = self.host_ns
            if self.waits and self.waits[-1][1:] == (begin, what):
                begin = self.waits.pop()[0]
            self.waits.append((begin, self.host_ns + ns, what))
        self.host_ns += ns
        self.spent_ns[what] = self.spent_ns.get(what, 0.0) + ns

    @checked
    def transfer(self, size_bytes: int, direction: str) -> float:
        """Copy between host and chip, and return the ns it takes (0 inside :meth:`aside`).

        Parameters
        ----------
        size_bytes : int
        direction : {"to", "from"}
            Whatever comes from the chip is waited for first.

        Notes
        -----
        ``HOST_LATENCY_NS + size / HOST_BYTES_PER_S``.
        """
        choice(direction, "direction", ("to", "from"))
        if self._aside:
            return 0.0
        if direction == "from":
            self.wait()
        ns = transfer_ns(size_bytes)
        self.add_host(ns, "transfer")
        return ns

    @contextmanager
    def aside(self):
        """Return a context in which copies cost nothing, for those that another thread makes."""
        before, self._aside = self._aside, True
        try:
            yield
        finally:
            self._aside = before

    def __repr__(self):
        return f"Clock(host {self.host_ns:.6g} ns, device free at {self.device_free_ns:.6g} ns)"


def transfer_ns(size_bytes) -> float:
    """Return the time, in ns, of a copy of `size_bytes` bytes between host and chip."""
    return float(HOST_LATENCY_NS) + size_bytes / float(HOST_BYTES_PER_S) * 1e9


#: Installed packages that show times to people, and so see the script's clock.
_SHOWN = {"tqdm", "transformers", "accelerate", "lightning", "pytorch_lightning", "timm",
          "tensorboard", "tensorboardX", "ignite", "rich", "fastprogress", "evaluate"}  # fmt: skip
_READINGS = {"time": 1e9, "perf_counter": 1e9, "monotonic": 1e9,
             "time_ns": 1, "perf_counter_ns": 1, "monotonic_ns": 1}  # fmt: skip
_REAL = {name: getattr(time, name) for name in (*_READINGS, "sleep")}
_state: "_Shown | None" = None  # what scripts see now
_OURS = os.path.dirname(os.path.dirname(os.path.abspath(__file__))) + os.sep
_STANDARD = tuple(sysconfig.get_path(name) + os.sep for name in ("stdlib", "platstdlib"))


class _Shown:
    """A clock that is shown to scripts: when it began, and how often it was read."""

    def __init__(self, clock):
        self.clock, self.thread = clock, threading.get_ident()
        self.began = {name: real() for name, real in _REAL.items() if name != "sleep"}

    def now(self, name):
        clock = self.clock.here()
        clock.read_ns += float(READING_NS)
        passed = clock.host_ns + clock.read_ns
        began, unit = self.began[name], _READINGS[name]
        return began + int(passed) if unit == 1 else began + passed / unit


@functools.cache
def _is_script(file) -> bool:
    """Return whether code of this file sees the script's clock."""
    if not file or file.startswith("<"):
        return not file.startswith("<frozen")
    path = os.path.abspath(file)
    for folder in ("site-packages", "dist-packages"):
        _, found, rest = path.partition(f"{os.sep}{folder}{os.sep}")
        if found:
            return rest.split(os.sep)[0].removesuffix(".py") in _SHOWN
    return not path.startswith((_OURS, *_STANDARD))


def _reading(name):
    real = _REAL[name]

    @functools.wraps(real)
    def read():
        shown = _state
        if shown is None or not _is_script(sys._getframe(1).f_code.co_filename):
            return real()
        return shown.now(name)

    return read


def _sleep(seconds):
    shown = _state
    if (
        shown is None
        or threading.get_ident() != shown.thread
        or not _is_script(sys._getframe(1).f_code.co_filename)
    ):
        return _REAL["sleep"](seconds)
    _REAL["sleep"](min(seconds, 0))  # refuses what the real one refuses, and lets others run
    shown.clock.add_host(seconds * 1e9, "sleep")
    return None


def is_shown() -> bool:
    """Return whether scripts see an emulated clock now."""
    return _state is not None


_SHOWING = {name: _reading(name) for name in _READINGS}
_SHOWING["sleep"] = functools.wraps(time.sleep)(_sleep)
_TIMERS = timeit.Timer.__init__, timeit.timeit, timeit.repeat  # have the timer as a default


@contextmanager
def emulated(clock: Clock | None):
    """Show a clock to scripts in place of the real one, until the context ends.

    Parameters
    ----------
    clock : Clock or None
        None changes nothing (``--clock wall``).

    Raises
    ------
    RuntimeError
        If another one is shown already.

    Examples
    --------
    >>> clock = Clock()
    >>> namespace = {"clock": clock}
    >>> with emulated(clock):
    ...     exec(compile('''
    ... import time
    ... begin = time.perf_counter()
    ... clock.execute(2e9), clock.wait(), time.sleep(3600)
    ... took = time.perf_counter() - begin
    ... ''', "<script>", "exec"), namespace)
    >>> round(namespace["took"], 3)
    3602.0
    """
    global _state
    if clock is None:
        yield
        return
    if _state is not None:
        raise RuntimeError("a script's clock is shown already; end that run before the next one")
    _state = _Shown(clock)
    _replace(_REAL, _SHOWING)
    try:
        yield
    finally:
        _state = None
        _replace(_SHOWING, _REAL)


def _replace(old, new):
    """Put functions in place of others, wherever modules have them by name."""
    by_id = {id(old[name]): new[name] for name in old}
    for module in list(sys.modules.values()):
        names = getattr(module, "__dict__", {})
        if module in (time, timeit) or _is_script(_file_of(names)):
            for name, value in list(names.items()):
                if id(value) in by_id:
                    names[name] = by_id[id(value)]
    for function in _TIMERS:
        defaults = function.__defaults__
        function.__defaults__ = tuple(by_id.get(id(value), value) for value in defaults)


def _file_of(names) -> str:
    """Return the file of a module by its names; one without a file is the script or Python's."""
    main = names.get("__name__") == "__main__"
    return names.get("__file__") or ("<script>" if main else "<frozen>")


def _in_child():
    global _state
    _state = None


if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_in_child)
