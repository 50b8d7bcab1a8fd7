"""``nki.jit`` and its kin in the older interface: how a kernel is made, called and timed.

All of them make a :class:`Kernel`, which is one of the current interface: ``nki.run``,
``nki.simulate`` and ``nki.compare`` take it too.  A grid is one program on one NeuronCore that goes
through its instances one after the other, as AWS's developer guide describes it.
"""

import functools
import inspect
import itertools
import warnings
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from trainium_edu import settings
from trainium_edu.names import near
from trainium_edu.neuroncore import run_io
from trainium_edu.neuroncore.recording.dtypes import get_dtype
from trainium_edu.nki import kernel as current_interface
from trainium_edu.nki import launching
from trainium_edu.nki.beta1.index import forget_asked
from trainium_edu.nki.beta1.operation import settle
from trainium_edu.nki.beta1.tile import Held, Tile, of_tensor
from trainium_edu.nki.beta1.traced_once import annotations_of, warn_of_loops
from trainium_edu.nki.launching.arguments import (
    checked_output,
    is_output,
    leaves_in,
    walk,
    written,
)
from trainium_edu.nki.mistakes import describe
from trainium_edu.nki.objects.tensor import NkiTensor
from trainium_edu.nki.refusals import misuse, refusal
from trainium_edu.nki.running import current
from trainium_edu.specs.arguments import whole
from trainium_edu.specs.instances import GENERATIONS, TARGETS

__all__ = [
    "FrameworkKernel", "Kernel", "baremetal", "benchmark", "jit", "profile", "simulate_kernel",
    "trace",
]  # fmt: skip

_GRID = "grid"  #: the outermost loop, whose turns are the instances
_MODES = ("auto", "baremetal", "benchmark", "jax", "profile", "simulation", "torchxla", "trace")
_NO_INSTANCES = (
    "{}[{!r}]: grid sizes are 1 or more; no page says what 0 does, and AWS's samples start a kernel"
    " (pipelined attention) so for one instance: 0 is taken as 1"
)
_FILES = {"save_neff_name": None, "save_trace_name": None}
_OPTIONS = {
    "benchmark": {"warmup": 10, "iters": 100, "additional_compile_opt": "", **_FILES},
    "baremetal": {"additional_compile_opt": "", **_FILES},
    "profile": {"working_directory": None, "save_neff_name": "file.neff",
                "save_trace_name": "profile.ntff", "overwrite": False, "profile_nth": 1,
                "num_execs": 1, "additional_compile_opt": ""},
}  # fmt: skip
#: Of AWS's compiler and caches; they change nothing here.
_WITHOUT_EFFECT = frozenset({
    "additional_compile_opt", "artifacts_dir", "debug_kernel", "device_count",
    "disable_allocation_opt", "enable_cache", "experimental_flags", "func_name", "keep_artifacts",
    "kernel_return", "num_execs", "save_artifacts_dir", "show_compiler_tb", "verify_ir",
})  # fmt: skip


class Kernel(current_interface.Kernel):
    """A function in the older interface that runs on a NeuronCore.

    ``k(...)`` runs it; ``k[4, 2](...)`` runs eight instances that ``nl.program_id`` tells apart.
    Two kernels of one function are equal.

    Attributes
    ----------
    mode : str
        How it was made: "simulation", "benchmark", ...
    passes : bool or tuple of str
        What AWS's compiler decided, by name (``neuroncore.timing.optimise``): the passes that its
        programs go through before they are timed; True for all, ``()`` for none.
    benchmark_result : BenchmarkResult
        After a call in the modes "benchmark" and "profile".
    """

    passes = must_write = True

    def __init__(self, source, mode="auto", grid=(), options=None, spec=None):
        self.mode = mode
        self.options = options or {}
        self.spec = spec
        self.protects = mode not in ("trace", "baremetal", "benchmark", "profile")
        self.ignores_addresses = False  #: those of ``nki.compiler``
        self.whole = self  #: the kernel whose ``[grid]`` this is; has its ``benchmark_result`` too
        super().__init__(_adapted(source, self), ())
        self.source = source  #: the function as it was written
        self.instances = grid

    def __eq__(self, other):
        if isinstance(other, Kernel):
            return self.source == other.source and self.instances == other.instances
        return self.source == other

    def __hash__(self):
        return hash(self.source)

    def __get__(self, instance, owner=None):
        return self if instance is None else self.changed(source=self.source.__get__(instance))

    def __getitem__(self, grid) -> "Kernel":
        sizes = self._sizes(grid, 0)
        if 0 in sizes:
            warnings.warn(_NO_INSTANCES.format(self.__name__, grid), UserWarning, stacklevel=2)
            sizes = tuple(size or 1 for size in sizes)
        on_grid = self.changed(instances=sizes)
        on_grid.whole = self.whole
        return on_grid

    def changed(self, **what) -> "Kernel":
        """Return the same kernel with another source, mode, grid, options, spec or passes."""
        made_with = ("source", "mode", "instances", "options", "spec")
        kernel = Kernel(*(what.get(name, getattr(self, name)) for name in made_with))
        for name in ("passes", "ignores_addresses", "protects"):
            setattr(kernel, name, what.get(name, getattr(self, name)))
        return kernel

    @property
    def _dge(self) -> bool | None:
        """False where the kernel's own compiler flags say so."""
        flags = str(self.options.get("additional_compile_opt")).split()
        return False if "--disable-dge" in flags else None

    def _fits_inside(self) -> bool:
        return all(size == 1 for size in self.instances)

    def _start(self, args, kwargs):
        """Run the kernel in its mode."""
        __tracebackhide__ = True
        if self.mode in ("auto", "jax", "torchxla", "trace"):
            results = launching.call_on_device(self, args, kwargs)
            if results is not NotImplemented:
                return results
        if self.mode in ("benchmark", "profile"):
            return self._timed(args, kwargs)
        files = {name: self.options.get(name) for name in _FILES}
        if not any(files.values()):
            return _outputs(self, args, kwargs, simulated=self.mode == "simulation")
        run = current_interface.run(self, *args, spec=self.spec, dge=self._dge, **kwargs)
        _write(run, **files)
        return run.outputs

    def _timed(self, args, kwargs):
        """Predict the latency; return arrays without numbers, as those of AWS hold none either."""
        ((outputs, cores),) = launching.execute(
            self, [(args, kwargs)], spec=self.spec, values=False, give=_without_numbers,
            dge=self._dge,
        )  # fmt: skip
        (run,) = current_interface._kept(self, [(None, cores)])
        options = self.options
        if self.mode == "profile":
            neff, *traces = _artifacts(options)
            _write(run, neff)
            for trace in traces:
                _write(run, save_trace_name=trace)
        else:
            _write(run, **{name: options.get(name) for name in _FILES})
        self.benchmark_result = self.whole.benchmark_result = BenchmarkResult(Latency(run))
        _say(self, run)
        return outputs


def _outputs(kernel, args, kwargs, *, simulated):
    """Return what a kernel returns.

    AWS's simulator of this interface keeps low precision as float32 (its own test of an activation
    into BF16 compares at 1e-5), unless NKI_PRECISE_FP is set to 1.
    """
    precise = None
    if simulated and settings.variable("NKI_PRECISE_FP") is None:
        precise = False
    ((outputs, _),) = launching.execute(kernel, [(args, kwargs)], spec=kernel.spec, precise=precise)
    return outputs


def _write(run, save_neff_name=None, save_trace_name=None):
    if save_neff_name:
        run_io.write_neff(run, save_neff_name)
    if save_trace_name:
        run_io.write_trace(run, save_trace_name)


def _artifacts(options) -> list[Path]:
    """Return where nki.profile writes the program, and the traces of the runs that it profiles.

    They are numbered as AWS's unit test of it expects: ``profile_exec_2.ntff`` for the second.
    """
    where, nth = options["working_directory"], options["profile_nth"]
    if not where or not Path(where).is_absolute():
        raise ValueError(
            f"nki.profile: working_directory is {where!r}; it has to be an absolute path"
        )
    nth = whole(nth, "nki.profile: profile_nth", 1)
    where, trace = Path(where), Path(options["save_trace_name"])
    where.mkdir(parents=True, exist_ok=True)
    runs = range(nth, max(nth, options["num_execs"]) + 1, nth)
    names = [trace.name if n == 1 else f"{trace.stem}_exec_{n}{trace.suffix}" for n in runs]
    paths = [where / name for name in (options["save_neff_name"], *names)]
    there = [path.name for path in paths if path.exists()]
    if there and not options["overwrite"]:
        raise FileExistsError(f"nki.profile: {where} holds {there[0]} already; overwrite=True?")
    return paths


def _without_numbers(result, _):
    """Return arrays of NaN, or of zeros where the dtype has none."""

    def array(tensor):
        kind = get_dtype(checked_output(tensor).dtype).storage
        return np.full(tensor.shape, np.nan if kind.kind in "fV" else 0, kind)

    return walk(result, is_output, array)


@dataclass(frozen=True, slots=True)
class BenchmarkResult:
    """The result of ``nki.benchmark``."""

    nc_latency: "Latency"


@dataclass(frozen=True, slots=True)
class Latency:
    """A predicted latency, start and stop of the kernel included."""

    run: Any

    @property
    def nanoseconds(self) -> float:
        """The predicted latency in ns."""
        return self.run.timeline.makespan_ns + _start_and_stop_ns(self.run)

    @property
    def band_us(self) -> tuple[float, float]:
        """The range in which the prediction lies, in microseconds."""
        low, high = self.run.timeline.spec.measured.start_and_stop_ns.value
        band = self.run.band
        return (band.low_ns + low) / 1e3, (band.high_ns + high) / 1e3

    def get_latency_percentile(self, percentile: int) -> float:
        """Return a percentile of the latency in microseconds: all equal the prediction.

        Parameters
        ----------
        percentile : int
            0, 1, 10, 25, 50, 90, 99 or 100.
        """
        if percentile not in _PERCENTILES:
            raise ValueError(
                f"percentile {percentile!r}; known are {', '.join(map(str, _PERCENTILES))}"
            )
        return self.nanoseconds / 1e3


def _start_and_stop_ns(run) -> float:
    return sum(run.timeline.spec.measured.start_and_stop_ns.value) / 2


_PERCENTILES = (0, 1, 10, 25, 50, 90, 99, 100)
_said: set = set()


def _say(kernel, run):
    """Print the prediction, and say once what it is."""
    latency = kernel.benchmark_result.nc_latency
    if not _said:
        _said.add("benchmark")
        print(
            "nki.benchmark predicts here: nothing is run on a chip, so every percentile is the "
            "same prediction (start and stop included), and the arrays that come back hold no "
            "results."
        )
    low, high = latency.band_us
    print(
        f"{kernel.__name__}: latency {latency.nanoseconds / 1e3:.2f} us predicted, between "
        f"{low:.2f} and {high:.2f}"
    )


def _adapted(source, kernel):
    """Return a function on the current interface's tensors that runs one on tiles."""

    @functools.wraps(source)
    def function(*args, **kwargs):
        __tracebackhide__ = True
        running = current()
        args, kwargs = walk((args, kwargs), _is_tensor, of_tensor)
        mutable = _protect(source, args, kwargs) if kernel.protects else {}
        result = None
        warn_of_loops(source)
        forget_asked()
        running.core.sbuf_memory.is_virtual = True
        running.grid = kernel.instances
        running.shared["source"] = code = getattr(source, "__code__", None)
        running.shared["annotated"] = list((code and annotations_of(code, code.co_filename)) or ())
        running.shared["ignores addresses"] = kernel.ignores_addresses
        shared = running.shared.setdefault("shared HBM", {})
        for place in itertools.product(*map(range, kernel.instances)):
            running.program_id = place
            running.turn = ((_GRID, place),)
            shared["turn"] = 0
            result = source(*args, **kwargs)
            settle()
        running.grid = running.program_id = running.turn = ()
        _check_returned(mutable, result, written(running.core.program))
        return walk(result, _is_tile, _given_back)

    if not hasattr(source, "__name__"):
        function.__name__ = getattr(source, "func", type(source)).__name__
    return function


def _is_tensor(value):
    return isinstance(value, NkiTensor)


def _is_tile(value):
    return isinstance(value, Held)


def _given_back(tile):
    if isinstance(tile, Tile):
        return tile.tensor
    raise refusal("kernel.returns_chip_tile", tile=tile)


def _protect(source, args, kwargs) -> dict:
    """Mark the arguments that a kernel may not write: all but those that say nt.mutable_tensor.

    Returns
    -------
    dict of str to list of Tile
        The mutable ones.
    """
    mutable: dict = {}
    try:
        bound = inspect.signature(source).bind(*args, **kwargs)
    except (TypeError, ValueError):
        return mutable
    for name, value in bound.arguments.items():
        note = bound.signature.parameters[name].annotation
        if "mutable_tensor" in (note if isinstance(note, str) else getattr(note, "__name__", "")):
            mutable[name] = leaves_in(value, _is_tile)
            continue
        for tile in leaves_in(value, _is_tile):
            tile.storage.is_input = name
    return mutable


def _check_returned(mutable, result, changed: set) -> None:
    """Raise for a mutable argument that was written and is not returned."""
    returned = {tile.storage.view().buffer.info.index for tile in leaves_in(result, _is_tile)
                if isinstance(tile, Tile)}  # fmt: skip
    for name, tiles in mutable.items():
        indices = {tile.storage.view().buffer.info.index for tile in tiles}
        if indices & changed and not indices & returned:
            raise refusal("kernel.mutable_not_returned", name=name)


def _made(function, mode, options):
    """Return a kernel of a function, or of a kernel made before; of None, a decorator."""
    if function is None:
        return functools.partial(_made, mode=mode, options=options)
    options = dict(options)
    defaults = _OPTIONS.get(mode, {})
    spec = _spec(options.pop("platform_target", None))
    grid = options.pop("grid", ())
    unknown = set(options) - set(defaults) - _WITHOUT_EFFECT
    if unknown:
        first = min(unknown)
        raise TypeError(
            f"nki.{mode} has no option {first}{near(first, {*defaults, *_WITHOUT_EFFECT})}"
        )
    options = {**defaults, **{name: value for name, value in options.items() if name in defaults}}
    if isinstance(function, Kernel):
        kept = mode if mode != "auto" else function.mode
        changed = function.changed(mode=kept, options=options or function.options,
                                 spec=spec or function.spec)  # fmt: skip
        changed.protects = function.protects and mode != "trace"
        return changed
    if isinstance(function, current_interface.Kernel):
        raise misuse("kernel.of_other_interface", function=function)
    current_interface.jit(function)  # raises for other values than functions
    return Kernel(function, mode, tuple(grid), options, spec)


def _spec(target):
    if target is None:
        return None
    if str(target) in ("trn3", "gen4"):
        said = f"platform_target={target!r} runs as trn1 here: this is a NeuronCore-v2"
        warnings.warn(said, UserWarning, stacklevel=4)
    elif target not in TARGETS | GENERATIONS:
        raise ValueError(f"platform_target is {target!r}; it must be one of {', '.join(TARGETS)}")
    return (TARGETS | GENERATIONS).get(target, TARGETS["trn1"])


def jit(func=None, mode="auto", **kwargs):
    """Make a kernel of a function: ``@nki.jit``, ``@nki.jit(mode=...)``, ``nki.jit(f, ...)``.

    Parameters
    ----------
    func : function or Kernel
    mode : str
        "auto", "baremetal", "benchmark", "jax", "profile", "simulation", "torchxla" or "trace".
        All run here.
    **kwargs
        ``platform_target`` ("trn1", "inf2", "trn2"; a later chip runs as trn1, and says so), the
        options of :func:`benchmark` in that mode, and options of AWS's compiler, which change
        nothing.
    """
    if mode not in _MODES:
        raise ValueError(f"nki.jit: mode is {mode!r}; it is one of {', '.join(_MODES)}")
    if func is None:
        return functools.partial(jit, mode=mode, **kwargs)
    if isinstance(func, Kernel) and func.mode in _OPTIONS and mode == "auto":
        return func.changed(options={**func.options, **kwargs})
    return _made(func, mode, kwargs)


def trace(func=None, **kwargs):
    """Make a kernel whose outputs are arguments: what it stores there, the caller sees."""
    return _made(func, "trace", kwargs)


def baremetal(kernel=None, **kwargs):
    """Make a kernel that takes and returns NumPy arrays.

    Parameters
    ----------
    kernel : function or Kernel
    save_neff_name, save_trace_name : path, optional
        Where the recorded program, and its timeline, are written: files that this package's
        ``neuron-profile`` reads.
    additional_compile_opt : str
        Flags of AWS's compiler; ``--disable-dge`` counts (see ``nki.run``), others change nothing.
    """
    return _made(kernel, "baremetal", kwargs)


def benchmark(kernel=None, **kwargs):
    """Make a kernel whose calls predict its latency.

    After a call ``kernel.benchmark_result.nc_latency.get_latency_percentile(99)`` is the prediction
    in microseconds, start and stop of the kernel included; all percentiles are equal.  The arrays
    that a call returns hold no results (AWS's are undefined too).

    Parameters
    ----------
    kernel : function or Kernel
    warmup, iters : int
        Accepted; a prediction needs no repetition.
    save_neff_name, save_trace_name, additional_compile_opt
        As for :func:`baremetal`.
    """
    return _made(kernel, "benchmark", kwargs)


def profile(func=None, **kwargs):
    """Make a kernel whose calls write a profile into ``working_directory``, an absolute path."""
    return _made(func, "profile", kwargs)


def simulate_kernel(kernel, /, *args, **kwargs):
    """Run a kernel on NumPy arrays and return its outputs; what it writes to arguments stays.

    Examples
    --------
    >>> import numpy as np
    >>> from trainium_edu.nki.beta1 import language as nl
    >>> @trace
    ... def double(x, out):
    ...     nl.store(out, nl.load(x) * 2)
    >>> out = np.zeros((2, 3), np.float32)
    >>> simulate_kernel(double, np.ones((2, 3), np.float32), out)
    >>> out.tolist()
    [[2.0, 2.0, 2.0], [2.0, 2.0, 2.0]]
    """
    __tracebackhide__ = True
    if not callable(kernel):
        raise misuse("kernel.simulate_kernel", kernel=describe(kernel))
    kernel = kernel if isinstance(kernel, Kernel) else trace(kernel)
    return _outputs(kernel, args, kwargs, simulated=True)


class FrameworkKernel:
    """Refuse: how AWS's package puts compiled kernels into a framework's graph."""

    def __init__(self, *_, **__):
        raise refusal("kernel.framework_kernel")
