"""``nki.jit``, ``nki.simulate`` and ``nki.run``: how a kernel is made, called and timed.

A kernel is a Python function.  Calling it runs it: every ``nisa`` call checks its limits, computes
its values and is recorded.  ``simulate`` gives the values back, ``run`` the whole story, and
``run_ranks`` that of several ranks which meet in collectives.
"""

import functools
import inspect
import math
import types

from trainium_edu import settings
from trainium_edu.nki import launching
from trainium_edu.nki.chips import chip_for_all
from trainium_edu.nki.mistakes import describe
from trainium_edu.nki.refusals import misuse, refusal
from trainium_edu.nki.remedies import WORDS
from trainium_edu.nki.running import current, is_running
from trainium_edu.specs.arguments import whole
from trainium_edu.specs.record import Record

__all__ = ["Kernel", "chip_for_all", "jit", "load", "run", "run_ranks", "simulate"]

_RANKS_MAX = 64


class Kernel:
    """A function that runs on NeuronCores.

    ``k(...)`` runs it on one, ``k[2](...)`` on a grid of two (``nl.program_id`` tells them apart),
    ``k.with_schedule([("b", "a")])`` lets instruction "b" wait for "a".
    """

    __name__: str
    #: what the older compiler would have changed, unless the call says it: here, nothing
    passes: bool | tuple[str, ...] | None = None
    spec: Record | None = None  #: the chip, where the kernel names one
    must_write = False  #: whether an output that nothing writes to is an error
    instances: tuple[int, ...] = ()  #: of the older interface: a grid that one program goes through

    def __init__(self, function, grid=(), schedule=()):
        self.function = self.source = function
        self.grid = grid
        self.schedule = schedule
        functools.update_wrapper(self, function)
        if not hasattr(function, "__name__"):  # a partial function, or an object that is called
            self.__name__ = getattr(function, "func", type(function)).__name__

    def __repr__(self):
        sizes = self.instances or self.grid
        grid = f"[{', '.join(map(str, sizes))}]" if sizes else ""
        return f"<kernel {self.__name__}{grid}>"

    def __get__(self, instance, owner=None):
        if instance is None:
            return self
        return Kernel(types.MethodType(self.function, instance), self.grid, self.schedule)

    def __getitem__(self, grid) -> "Kernel":
        """Return the kernel on a grid of programs, such as ``k[2]``."""
        sizes = self._sizes(grid, 1, 64)
        if math.prod(sizes) > 64:
            raise ValueError(
                f"{self.__name__}[{grid!r}]: {math.prod(sizes)} programs; at most 64 run here"
            )
        return Kernel(self.function, sizes, self.schedule)

    def _sizes(self, grid, *limits) -> tuple[int, ...]:
        """Return the sizes of a grid as integers."""
        what = f"{self.__name__}[{grid!r}]: a grid size"
        sizes = grid if isinstance(grid, tuple | list) else (grid,)
        return tuple(whole(size, what, *limits) for size in sizes)

    def with_schedule(self, dependencies) -> "Kernel":
        """Return the kernel with order between named instructions: (waits, for whom) pairs."""
        pairs = []
        for pair in dependencies:
            try:
                later, earlier = pair
            except (TypeError, ValueError):
                raise misuse("schedule.not_a_pair", pair=pair) from None
            earlier = list(earlier) if isinstance(earlier, list | tuple) else [earlier]
            if not isinstance(later, str) or not all(isinstance(name, str) for name in earlier):
                raise TypeError(f"with_schedule: {pair!r} does not name instructions")
            pairs.append((later, tuple(earlier)))
        return Kernel(self.function, self.grid, tuple(pairs))

    def __call__(self, *args, **kwargs):
        """Run the kernel: arrays in, arrays out; inside another kernel, as a part of it."""
        __tracebackhide__ = True
        if is_running():  # a kernel called by a kernel is part of it
            if not self._fits_inside():
                raise refusal("kernel.grid_inside", kernel=self)
            return self.source(*args, **kwargs)
        if len(args) == 1 and not kwargs and hasattr(args[0], "report"):
            return args[0].report(self)
        settings.nki_simulator()  # runs on the CPU whatever it says; a senseless value raises
        return self._start(args, kwargs)

    def _start(self, args, kwargs):
        """Run the kernel on the arguments' device, or here."""
        __tracebackhide__ = True
        results = launching.call_on_device(self, args, kwargs)
        if results is not NotImplemented:
            return results
        ((outputs, _),) = launching.execute(self, [(args, kwargs)])
        return outputs

    def _fits_inside(self) -> bool:
        """Return whether a running kernel can call this one: no new programs start there."""
        return math.prod(self.grid) == 1 or self.grid == current().grid


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
        raise misuse("kernel.platform_target")
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
        raise misuse("kernel.not_a_function", fn=describe(fn))
    inner = fn
    while isinstance(inner, functools.partial):
        inner = inner.func
    if isinstance(inner, type | types.BuiltinFunctionType) or type(inner).__name__ == "ufunc":
        raise misuse("kernel.host_function", inner=describe(inner))
    if inspect.isgeneratorfunction(fn) or inspect.iscoroutinefunction(fn):
        raise misuse("kernel.generator", fn=fn)
    return Kernel(fn)


def _kernel(given) -> Kernel:
    if given is None:
        raise TypeError("a kernel is a function, got None; does what makes it return it?")
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
        ((outputs, _),) = launching.execute(kernel, [(args, kwargs)])
        return outputs

    return simulated


def run(
    kernel, /, *args, spec=None, buffers=None, optimise=True, passes=None, values=True, limit=None,
    dge=None, **kwargs
):  # fmt: skip
    """Run a kernel and keep the whole story: outputs, programs, placement, timeline, advice.

    Parameters
    ----------
    kernel : Kernel or function
    *args, **kwargs
        The kernel's own; a keyword below that the kernel takes too is the kernel's.
    spec : specs.Record, optional
        The chip, ``TRN1``, ``INF2`` or ``TRN2``; default: the environment's
        ``NEURON_PLATFORM_TARGET_OVERRIDE``, else ``TRN1``.
    buffers : int or dict, optional
        Slots over which each allocation in a loop rotates; default: as many as fit, at most 4.
    optimise : bool or tuple of str
        The passes that the program goes through before it is timed.
    passes : bool or tuple of str, optional
        What the older compiler would have changed, by name (``timing.optimise``), in place of
        ``optimise=True``; ``()`` times the program as it was written.  Default: the kernel's own
        ``passes``, all for ``neuronxcc.nki``.
    values : bool
        False records without computing: time, but no outputs.
    limit : int, optional
        Instructions after which a kernel is stopped (default 1,000,000).
    dge : bool, optional
        False: descriptors of transfers are written before the kernel starts; otherwise Trainium2
        makes them when they are due, which takes as long as a short transfer.  Default: False with
        ``--disable-dge`` in ``NEURON_CC_FLAGS``.

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
    given = {"spec": spec, "buffers": buffers, "optimise": optimise, "passes": passes,
             "values": values, "limit": limit, "dge": dge}  # fmt: skip
    spec, buffers, optimise, passes, values, limit, dge = _ours(kernel, given, args, kwargs)
    entries = [(args, kwargs)]
    results = launching.execute(kernel, entries, spec=spec, values=values, limit=limit, dge=dge)
    return _kept(kernel, results, passes, buffers=buffers, optimise=optimise)[0]


def load(path):
    """Read a run that ``Run.save`` wrote.

    Parameters
    ----------
    path : str or path

    Returns
    -------
    Run

    Raises
    ------
    FileNotFoundError
        If there is no such file.
    ValueError
        One sentence on what is wrong with it.
    """
    from trainium_edu.neuroncore.run import Run

    return Run.load(path, words=WORDS)


def _kept(kernel, results, passes=None, **options) -> list:
    """Return a Run of what each rank's launch recorded."""
    from trainium_edu.neuroncore.run import Run

    options["passes"] = kernel.passes if passes is None else passes
    return [Run.of(kernel.__name__, outputs, cores, words=WORDS, **options)
            for outputs, cores in results]  # fmt: skip


def _ours(kernel, options, args, kwargs) -> list:
    """Return the options of ``run``; hand the kernel those that its own parameters name."""
    defaults = run.__kwdefaults__ or {}
    for name in options.keys() & set(_parameters(kernel)[len(args) :]):
        if options[name] is not defaults[name]:
            kwargs[name] = options[name]
        options[name] = defaults[name]
    return list(options.values())


def _parameters(kernel) -> list:
    try:
        return list(inspect.signature(kernel.function).parameters)
    except ValueError:  # a built-in without a signature
        return []


def run_ranks(kernel, arguments, *, spec=None, buffers=None, optimise=True, passes=None,
              values=True, limit=None):  # fmt: skip
    """Run a kernel on as many ranks as there are entries of arguments.

    AWS starts one process per rank; here the ranks are programs of one launch, each with its own
    NeuronCore, its own arguments and its own ``Run``.

    Parameters
    ----------
    kernel : Kernel or function
        May use ``nki.collectives``; ``kernel[2]`` gives every rank a grid of two programs.
    arguments : list of tuple
        The arguments of each rank; arrays are used in place.
    spec, buffers, optimise, passes, values, limit
        As for ``nki.run``.

    Returns
    -------
    list of Run
        One per rank: outputs, programs, timeline.  Every rank is timed as if all ranks reached each
        collective together.

    Raises
    ------
    NkiValidationError
        Where a limit of the hardware is passed, or ranks wait for each other forever.

    Examples
    --------
    >>> import numpy as np
    >>> import trainium_edu.nki as nki
    >>> import trainium_edu.nki.language as nl
    >>> from trainium_edu.nki import collectives as ncc
    >>> @nki.jit
    ... def total(x):
    ...     out = nl.ndarray(x.shape, x.dtype, buffer=nl.shared_hbm)
    ...     ncc.all_reduce([x], [out], ncc.ReplicaGroup([[0, 1]]), nl.add)
    ...     return out
    >>> one, two = nki.run_ranks(total, [(np.float32([1, 2]),), (np.float32([10, 20]),)])
    >>> one.outputs.tolist(), bool((one.outputs == two.outputs).all())
    ([11.0, 22.0], True)
    """
    __tracebackhide__ = True
    entries = [(entry, {}) for entry in _checked(arguments)]
    kernel = _kernel(kernel)
    results = launching.execute(kernel, entries, spec=spec, values=values, limit=limit)
    return _kept(kernel, results, passes, buffers=buffers, optimise=optimise)


def _checked(arguments):
    if not isinstance(arguments, list | tuple) or not arguments:
        raise TypeError("run_ranks takes a list with a tuple of arguments for each rank")
    if len(arguments) > _RANKS_MAX:
        raise refusal("kernel.many_ranks", count=len(arguments), ranks_max=_RANKS_MAX)
    for rank, entry in enumerate(arguments):
        if not isinstance(entry, list | tuple):
            raise TypeError(f"arguments[{rank}] is {type(entry).__name__}; it must be a tuple")
    return [tuple(entry) for entry in arguments]
