"""One call of a kernel: its programs run, and what they leave behind goes back to the caller."""

import inspect
import itertools
import warnings

from trainium_edu import settings
from trainium_edu.neuroncore.execution.deferred import Deferred
from trainium_edu.neuroncore.execution.products import one_blas_thread
from trainium_edu.neuroncore.recording.core import NeuronCore
from trainium_edu.nki.chips import chip
from trainium_edu.nki.launching.arguments import Arguments, give_back, tensors_in, written
from trainium_edu.nki.launching.explaining import explain, frames_of_kernel
from trainium_edu.nki.launching.launch import Launch
from trainium_edu.nki.refusals import refusal
from trainium_edu.nki.running import MOST_INSTRUCTIONS, Running, is_running
from trainium_edu.specs.arguments import flag, whole
from trainium_edu.specs.errors import NkiValidationError

__all__ = ["execute"]


def execute(kernel, entries, *, spec=None, values=True, limit=None, precise=None,
            give=None, dge=None) -> list:  # fmt: skip
    """Run a kernel's programs, all ranks in one launch, and return (outputs, cores) of each rank.

    Parameters
    ----------
    kernel : Kernel
    entries : list of (args, kwargs)
        What the kernel is called with, one entry per rank.
    spec, values, limit, dge
        As for ``nki.run``.
    precise : bool, optional
        False keeps low precision as float32; default: as the environment says.
    give : callable, optional
        Makes outputs of what the kernel returned and its ``Arguments``; default arrays, and
        without values None.

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
        return _execute(kernel, entries, spec, values, limit, precise, give, dge)
    except BaseException as problem:  # Ctrl-C too shows where the kernel was
        problem.__traceback__ = frames_of_kernel(problem)
        raise


def _execute(kernel, entries, spec, values, limit, precise, give, dge) -> list:
    if is_running():
        raise RuntimeError(
            f"{kernel.__name__} is started inside a running kernel; call it directly, then it is "
            "part of the one that runs"
        )
    values = flag(values, "values")
    flags = settings.variable("NEURON_CC_FLAGS") or ""
    dge = "--disable-dge" not in flags.split() if dge is None else flag(dge, "dge")
    names = [_check_call(kernel, *entry) for entry in entries]
    spec = chip(spec)
    if limit is not None:
        limit = whole(limit, "limit", 1, why=": it counts instructions")
    rounding = settings.rounding()
    precise = settings.precise_fp() if precise is None else precise
    arguments_by_rank = [
        Arguments(*entry, precise=precise, names=known)
        for entry, known in zip(entries, names, strict=True)
    ]
    places = list(itertools.product(*map(range, kernel.grid)))
    runnings = []
    for rank, place in itertools.product(range(len(entries)), places):
        name = kernel.__name__ + (f" on rank {rank}" if len(entries) > 1 else "")
        seed = rounding.seed + rank
        core = NeuronCore(
            spec, values=values, rounding=rounding.rounding, seed=seed, name=name,
            executor=Deferred(), dge=dge,
        )  # fmt: skip
        if len(places) > 1:
            core.notes.append(("grid", -1, str(len(places)), None))
        runnings.append(
            Running(
                core, place, kernel.grid, rank, len(entries), precise, limit or MOST_INSTRUCTIONS
            )
        )
    if len(places) > 2:
        _warn_of_grid(kernel.function, len(places))

    def program(running):
        found_args, found_kwargs = arguments_by_rank[running.rank].for_program(running)
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
    outcomes = []
    for rank, (result, arguments) in enumerate(zip(results, arguments_by_rank, strict=True)):
        cores = [running.core for running in runnings if running.rank == rank]
        _note_unwritten(kernel, cores, result, arguments.allocations(cores[0]), values)
        make = give or give_back
        outcomes.append((make(result, arguments) if values or give else None, cores))
        arguments.update()
        if result is None:
            _warn_of_lost(kernel.function, cores[0].program, arguments.allocations(cores[0]))
    return outcomes


def _check_call(kernel, args, kwargs):
    """Return {id of an argument: its name}; raise TypeError if the signature does not fit."""
    try:
        bound = inspect.signature(kernel.function).bind(*args, **kwargs)
    except TypeError as problem:
        raise TypeError(f"kernel {kernel.__name__}: {problem}") from None
    except ValueError:  # a built-in without a signature
        return {}
    return {id(value): name for name, value in bound.arguments.items()}


def _mark_outputs(program, value):
    """Note the allocations of returned tensors: they outlive the program."""
    for tensor in tensors_in(value):
        index = tensor._view.buffer.info.index
        if index not in program.outputs:
            program.outputs.append(index)


def _note_unwritten(kernel, cores, value, arguments: set, values: bool):
    """Note, and warn of, returned tensors of which a part was never written.

    Without values only a tensor that no instruction writes to is known.  AWS's compiler refuses
    both in the older interface (``err_tensor_output_not_written_to``).
    """
    changed = {index for core in cores for index in written(core.program)} | arguments
    for tensor in tensors_in(value):
        info = tensor._view.buffer.info
        part = "no part" if info.index not in changed else "only a part"
        if tensor._on_chip or (part == "only a part" and (not values or tensor._view.is_written())):
            continue
        core = cores[0]
        if values:
            core.notes.append(("unwritten output", len(core.program), "returned", info))
        text = (
            f"the kernel {kernel.__name__} returns {info.name}, of which {part} is written: do the "
            "loops run, and reach the last rows and columns? (err_tensor_output_not_written_to)"
        )
        if part == "no part" and kernel.must_write:
            raise NkiValidationError(text)
        _warn(kernel.function, text)


def _apply_schedule(kernel, program):
    """Add the order that ``with_schedule`` asked for."""
    if not kernel.schedule:
        return
    named = {i.label: i for i in program.instructions if i.label}
    for later, earlier in kernel.schedule:
        for name in (later, *earlier):
            if name not in named:
                raise refusal("schedule.unknown_name", name=name)
        for name in earlier:
            if named[name].index >= named[later].index:
                raise refusal("schedule.later_name", later=later, name=name)
            named[later].after = (*named[later].after, named[name].index)


def _warn_of_lost(function, program, arguments: set) -> None:
    """Warn of a kernel that returns nothing, though all it wrote to HBM is a tensor of its own."""
    changed = written(program)
    lost = [program.allocations[index] for index in sorted(changed)]
    lost = [info for info in lost if info.memory.name == "HBM"]
    if lost and not changed & arguments:
        _warn(
            function,
            f"the kernel {getattr(function, '__name__', '')} returns nothing, so what it wrote to "
            f"{lost[-1].name} (allocated in line {lost[-1].site[1]}) is lost: return that tensor",
        )


def _warn_of_grid(function, count: int) -> None:
    """Warn of more programs than any launch takes, also where the run is not looked at."""
    _warn(
        function,
        f"{count} programs are launched, and AWS's compiler takes 1, or 2 where two NeuronCores "
        "are one logical core (Trn2, Trn3; nki-lnc in specs.SOURCES): loop over the parts instead",
    )


def _warn(function, text):
    code = getattr(inspect.unwrap(function), "__code__", _warn.__code__)
    warnings.warn_explicit(text, UserWarning, code.co_filename, code.co_firstlineno)
