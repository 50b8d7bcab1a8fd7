"""``nki.jit``, ``nki.simulate`` and ``nki.run``: how a kernel is made, called and timed.

A kernel is a Python function.  Calling it runs it: every ``nisa`` call checks its limits, computes
its values and is recorded.  ``simulate`` gives the values back, ``run`` the whole story.
"""

import functools
import inspect
import itertools
import math
import types

from trainium_edu import settings
from trainium_edu.aside import load
from trainium_edu.nki.mistakes import (
    describe,
    explain,
    frames_of_kernel,
    warn_of_grid,
    warn_of_lost,
)
from trainium_edu.nki.running import current, is_running
from trainium_edu.specs.arguments import whole
from trainium_edu.specs.errors import NkiValidationError

__all__ = ["Kernel", "execute", "jit", "run", "simulate"]


class Kernel:
    """A function that runs on NeuronCores.

    ``k(...)`` runs it on one, ``k[2](...)`` on a grid of two (``nl.program_id`` tells them apart),
    ``k.with_schedule([("b", "a")])`` lets instruction "b" wait for "a".
    """

    __name__: str

    def __init__(self, function, grid=(), schedule=()):
        self.function = function
        self.grid = grid
        self.schedule = schedule
        functools.update_wrapper(self, function)
        if not hasattr(function, "__name__"):  # a partial function, or an object that is called
            self.__name__ = getattr(function, "func", type(function)).__name__

    def __repr__(self):
        grid = f"[{', '.join(map(str, self.grid))}]" if self.grid else ""
        return f"<kernel {self.__name__}{grid}>"

    def __get__(self, instance, owner=None):
        if instance is None:
            return self
        return Kernel(types.MethodType(self.function, instance), self.grid, self.schedule)

    def __getitem__(self, grid) -> "Kernel":
        """Return the kernel on a grid of programs, such as ``k[2]``."""
        sizes = grid if isinstance(grid, tuple | list) else (grid,)
        for size in sizes:
            if isinstance(size, bool) or not hasattr(size, "__index__"):
                raise TypeError(f"{self.__name__}[{grid!r}]: a grid is whole numbers, such as k[2]")
            if size.__index__() < 1:
                raise ValueError(f"{self.__name__}[{grid!r}]: a grid has at least 1 program")
        sizes = tuple(size.__index__() for size in sizes)
        if math.prod(sizes) > 64:
            raise ValueError(
                f"{self.__name__}[{grid!r}]: {math.prod(sizes)} programs; at most 64 run here"
            )
        return Kernel(self.function, sizes, self.schedule)

    def with_schedule(self, dependencies) -> "Kernel":
        """Return the kernel with order between named instructions: (waits, for whom) pairs."""
        pairs = []
        for pair in dependencies:
            try:
                later, earlier = pair
            except (TypeError, ValueError):
                raise TypeError(f"with_schedule: {pair!r} is no pair (waits, for whom)") from None
            earlier = list(earlier) if isinstance(earlier, list | tuple) else [earlier]
            if not isinstance(later, str) or not all(isinstance(name, str) for name in earlier):
                raise TypeError(f"with_schedule: {pair!r} does not name instructions")
            pairs.append((later, tuple(earlier)))
        return Kernel(self.function, self.grid, tuple(pairs))

    def __call__(self, *args, **kwargs):
        """Run the kernel: arrays in, arrays out; inside another kernel, as a part of it."""
        if is_running():  # a kernel called by a kernel is part of it
            self._check_part()
            return self.function(*args, **kwargs)
        if len(args) == 1 and not kwargs and hasattr(args[0], "report"):
            return args[0].report(self)
        __tracebackhide__ = True
        settings.nki_simulator()  # runs on the CPU whatever it says; a senseless value raises
        ((outputs, _),) = execute(self, [(args, kwargs)])
        return outputs

    def _check_part(self):
        """Raise for a grid of its own inside a running kernel, whose other programs never run."""
        if any(size != 1 for size in self.grid) and self.grid != current().grid:
            raise NkiValidationError(
                f"{self!r} is called inside a running kernel, where no new programs start, so only "
                f"a part of it would run: call {self.__name__}(...) there, and start the outer "
                "kernel on the grid"
            )


_COMPILER_OPTIONS = frozenset({"additional_compile_opt", "debug_kernel", "enable_cache",
                               "experimental_flags", "mode", "show_compiler_tb"})  # fmt: skip


def jit(fn=None, **kwargs):
    """Make a kernel of a function: ``@nki.jit``, ``@nki.jit()`` or ``nki.jit(f)``.

    Options of AWS's compiler (``debug_kernel=``, ``enable_cache=``, ...) change nothing here;
    ``grid=[2]`` is ``kernel[2]``.

    Raises
    ------
    TypeError
        For an option that this version of NKI does not have.
    """
    if "platform_target" in kwargs:
        raise TypeError(
            "nki.jit takes no platform_target any more; set the environment variable "
            "NEURON_PLATFORM_TARGET_OVERRIDE=trn1, or call nki.run(kernel, ..., spec=TRN1)"
        )
    grid = kwargs.pop("grid", ())
    unknown = set(kwargs) - _COMPILER_OPTIONS
    if unknown:
        raise TypeError(f"nki.jit has no option {', '.join(sorted(unknown))}")
    if fn is None:
        return functools.partial(jit, grid=grid) if grid else jit
    if grid:
        return jit(fn)[grid]
    if isinstance(fn, Kernel):
        return fn
    if not callable(fn):
        raise TypeError(
            f"nki.jit takes a function, not {describe(fn)}; a kernel comes first, and what it is "
            "called with after it: nki.run(kernel, x), nki.simulate(kernel)(x)"
        )
    inner = fn
    while isinstance(inner, functools.partial):
        inner = inner.func
    if isinstance(inner, type | types.BuiltinFunctionType) or type(inner).__name__ == "ufunc":
        raise TypeError(
            f"{describe(inner)} computes on this machine and has no instructions of the chip; a "
            "kernel is a Python function of your own that calls nl and nisa"
        )
    if inspect.isgeneratorfunction(fn) or inspect.iscoroutinefunction(fn):
        raise TypeError(
            f"{fn.__name__} is a generator or a coroutine, which runs later than it is called; a "
            "kernel is a plain function that returns its outputs"
        )
    return Kernel(fn)


def _kernel(given) -> Kernel:
    if given is None:
        raise TypeError("a kernel is a function, and None was given; does its maker return it?")
    return jit(given)


def simulate(kernel):
    """Return a function that runs `kernel` here: arrays in, arrays out.

    Parameters
    ----------
    kernel : Kernel or function

    Returns
    -------
    callable
        Takes NumPy arrays or torch tensors (used in place: what the kernel writes to an argument is
        seen by the caller) and returns the kernel's outputs in the same form.

    Examples
    --------
    >>> import numpy as np
    >>> import trainium_edu.nki as nki
    >>> import trainium_edu.nki.language as nl
    >>> @nki.jit
    ... def double(x):
    ...     out = nl.ndarray(x.shape, x.dtype, buffer=nl.shared_hbm)
    ...     nl.store(out, nl.add(nl.load(x), nl.load(x)))
    ...     return out
    >>> nki.simulate(double)(np.ones((2, 3), np.float32)).tolist()
    [[2.0, 2.0, 2.0], [2.0, 2.0, 2.0]]
    """
    kernel = _kernel(kernel)

    @functools.wraps(kernel.function)
    def simulated(*args, **kwargs):
        __tracebackhide__ = True
        ((outputs, _),) = execute(kernel, [(args, kwargs)])
        return outputs

    return simulated


def run(
    kernel, /, *args, spec=None, buffers=None, optimise=True, values=True, limit=None, **kwargs
):
    """Run a kernel and keep the whole story: outputs, programs, placement, timeline, warnings.

    Parameters
    ----------
    kernel : Kernel or function
    *args, **kwargs
        The kernel's own; a keyword below that the kernel takes too is the kernel's.
    spec : specs.Record, optional
        The chip, ``TRN1`` or ``INF2``; default: the environment's
        ``NEURON_PLATFORM_TARGET_OVERRIDE``, else ``TRN1``.
    buffers : int or dict, optional
        Slots over which each allocation in a loop rotates; default: as many as fit, at most 4.
    optimise : bool or tuple of str
        The passes that the program goes through before it is timed.
    values : bool
        False records without computing: time, but no outputs.
    limit : int, optional
        Instructions after which a kernel is stopped (default 1 000 000).

    Returns
    -------
    Run

    Raises
    ------
    NkiValidationError
        Where a limit of the hardware is passed; also when the tiles do not fit.
    """
    __tracebackhide__ = True
    kernel = _kernel(kernel)
    given = {"spec": spec, "buffers": buffers, "optimise": optimise, "values": values,
             "limit": limit}  # fmt: skip
    spec, buffers, optimise, values, limit = _ours(kernel, given, args, kwargs)
    entries = [(args, kwargs)]
    ((outputs, cores),) = execute(kernel, entries, spec=spec, values=values, limit=limit)
    from trainium_edu.neuroncore.run import Run

    return Run.of(kernel.__name__, outputs, cores, buffers=buffers, optimise=optimise)


def _ours(kernel, given, args, kwargs) -> list:
    """Return the options of ``run``; those that the kernel still needs by that name it gets."""
    defaults = run.__kwdefaults__ or {}
    for name in given.keys() & set(_parameters(kernel)[len(args) :]):
        if given[name] is not defaults[name]:
            kwargs[name] = given[name]
        given[name] = defaults[name]
    return list(given.values())


def _parameters(kernel) -> list:
    try:
        return list(inspect.signature(kernel.function).parameters)
    except ValueError:  # a built-in without a signature
        return []


def execute(kernel, entries, *, spec=None, values=True, limit=None) -> list:
    """Run a kernel's programs, all ranks in one launch, and return (outputs, cores) of each rank.

    Parameters
    ----------
    kernel : Kernel
    entries : list of (args, kwargs)
        What the kernel is called with, one entry per rank.
    spec, values, limit
        As for :func:`run`.

    Returns
    -------
    list of (outputs, list of NeuronCore)
        One pair per rank; a core per program of the grid.

    Raises
    ------
    Exception
        What the kernel raises, its traceback without what lies between the call and the kernel.
    """
    __tracebackhide__ = True  # IPython and pytest show the caller's line and the kernel's
    try:
        return _execute(kernel, entries, spec, values, limit)
    except BaseException as problem:  # Ctrl-C too shows where the kernel was
        problem.__traceback__ = frames_of_kernel(problem)
        raise


#: What a call and its ``Run`` import late, here first: where Ctrl-C leaves nothing half imported.
_LATE = (
    "neuroncore.engines", "neuroncore.execution.deferred", "neuroncore.recording.core",
    "neuroncore.timing.measure", "neuroncore.timing.why", "nki.launching.arguments",
    "nki.launching.launch", "neuroncore.run", "neuroncore.advice.advise",
)  # fmt: skip


def _execute(kernel, entries, spec, values, limit) -> list:
    for name in _LATE:
        load(f"trainium_edu.{name}")
    from trainium_edu.neuroncore import NeuronCore
    from trainium_edu.neuroncore.execution.deferred import Deferred
    from trainium_edu.neuroncore.execution.products import one_blas_thread
    from trainium_edu.nki.launching.arguments import Arguments, give_back
    from trainium_edu.nki.launching.launch import Launch
    from trainium_edu.nki.running import Running

    if is_running():
        raise RuntimeError(
            f"{kernel.__name__} is started inside a running kernel; call it directly, then it is "
            "part of the one that runs"
        )
    if not isinstance(values, bool):
        raise TypeError(f"values is {values!r}; it is True or False")
    names = [_check_call(kernel, *entry) for entry in entries]
    spec, limit = _chip(spec), _limit(limit)
    rounding, precise = settings.rounding(), settings.precise_fp()
    given = [
        Arguments(*entry, precise=precise, names=known)
        for entry, known in zip(entries, names, strict=True)
    ]
    ranks, places = len(entries), _places(kernel.grid)
    runnings = [
        Running(
            NeuronCore(spec, values=values, rounding=rounding.rounding, seed=rounding.seed + rank,
                       name=kernel.__name__ + (f" on rank {rank}" if ranks > 1 else ""),
                       executor=Deferred()),
            program_id=place, grid=kernel.grid, rank=rank, ranks=ranks, precise=precise,
            limit=limit,
        )
        for rank in range(ranks) for place in places
    ]  # fmt: skip

    if len(places) > 1:
        for running in runnings:
            running.core.notes.append(("grid", -1, str(len(places)), None))
        if len(places) > 2:
            warn_of_grid(kernel.function, len(places))

    def program(running):
        found_args, found_kwargs = given[running.rank].for_program(running)
        try:
            result = kernel.function(*found_args, **found_kwargs)
        except (TypeError, AttributeError) as problem:
            explain(problem, names[running.rank])
            raise
        _mark_outputs(running.core.program, result)
        _apply_schedule(kernel, running.core.program)
        running.core.finish()
        return result

    with one_blas_thread():  # the programs of a rank share what they return
        results = Launch(runnings).run(program)[:: len(places)]
    found = []
    for rank, (result, arguments) in enumerate(zip(results, given, strict=True)):
        cores = [running.core for running in runnings if running.rank == rank]
        if values:
            _note_unwritten(cores[0], result)
        found.append((give_back(result, arguments) if values else None, cores))
        arguments.update(cores)
        if result is None:
            warn_of_lost(kernel.function, cores[0].program, arguments.allocations(cores[0]))
    return found


def _check_call(kernel, args, kwargs):
    """Return {id of an argument: its name}; raise TypeError if the signature does not fit."""
    try:
        bound = inspect.signature(kernel.function).bind(*args, **kwargs)
    except TypeError as problem:
        raise TypeError(f"kernel {kernel.__name__}: {problem}") from None
    except ValueError:  # a built-in without a signature
        return {}
    return {id(value): name for name, value in bound.arguments.items()}


def _limit(limit):
    if limit is None:
        return None
    return whole(limit, "limit", 1, why=": it counts instructions")


def _places(grid):
    return list(itertools.product(*map(range, grid)))


_CHIPS = {"trn1": "TRN1", "gen2": "TRN1", "inf2": "INF2"}
_LATER = {"trn2": "NeuronCore-v3 (Trainium2)", "gen3": "NeuronCore-v3 (Trainium2)",
          "trn3": "NeuronCore-v4 (Trainium3)", "gen4": "NeuronCore-v4 (Trainium3)"}  # fmt: skip


_for_all = None


def chip_for_all(target: str | None) -> str | None:
    """Let every kernel run on one chip whatever the environment says; return the one before."""
    global _for_all
    before, _for_all = _for_all, target
    return before


def _chip(spec):
    """Return the chip's record: the one given, or the environment's choice."""
    if spec is not None:
        return spec
    from trainium_edu import specs

    target = _for_all or settings.platform_target()
    if target in _LATER:
        raise NkiValidationError(
            f"NEURON_PLATFORM_TARGET_OVERRIDE={target} asks for {_LATER[target]}; its facts are "
            "not in yet: this emulator is a NeuronCore-v2 (trn1, inf2). Kernels that do without "
            "later features run with nki.run(kernel, ..., spec=TRN1), or a script with "
            "`python -m trainium_edu run --platform trn1 script.py`"
        )
    return getattr(specs, _CHIPS[target or "trn1"])


def _returned(value):
    """Return the tensors in what a kernel returns."""
    from trainium_edu.nki.launching.arguments import walk
    from trainium_edu.nki.objects.tensor import NkiTensor

    found = []
    walk(value, lambda item: isinstance(item, NkiTensor), lambda item: found.append(item) or item)
    return found


def _mark_outputs(program, value):
    """Note the allocations of returned tensors: they outlive the program."""
    for tensor in _returned(value):
        index = tensor._view.buffer.info.index
        if index not in program.outputs:
            program.outputs.append(index)


def _note_unwritten(core, value):
    """Note returned tensors of which a part was never written."""
    for tensor in _returned(value):
        if not tensor._on_chip and not tensor._view.is_written():
            info = tensor._view.buffer.info
            core.notes.append(("unwritten output", len(core.program), "returned", info))


def _apply_schedule(kernel, program):
    """Add the order that ``with_schedule`` asked for."""
    if not kernel.schedule:
        return
    named = {i.label: i for i in program.instructions if i.label}
    for later, earlier in kernel.schedule:
        for name in (later, *earlier):
            if name not in named:
                raise NkiValidationError(
                    f"with_schedule names {name!r}, and no instruction has that name; give it "
                    f"one: nisa.tensor_copy(..., name={name!r})"
                )
        for name in earlier:
            if named[name].index >= named[later].index:
                raise NkiValidationError(
                    f"with_schedule: {later!r} waits for {name!r}, which is issued after it; "
                    "change their order in the kernel"
                )
            named[later].after = (*named[later].after, named[name].index)
