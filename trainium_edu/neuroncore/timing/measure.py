"""From a recorded program to its time in one call."""

from collections.abc import Iterable, Mapping

from trainium_edu.neuroncore.recording.program import Program
from trainium_edu.neuroncore.timing import optimise as compiler
from trainium_edu.neuroncore.timing.placement import place
from trainium_edu.neuroncore.timing.scheduler import schedule
from trainium_edu.neuroncore.timing.timeline import CoreTimeline
from trainium_edu.specs.record import Record
from trainium_edu.specs.signatures import checked

__all__ = ["effects", "measure"]


@checked
def measure(program: Program, *, spec: Record | None = None, buffers=None,
            optimise: bool | Iterable[str] = True,
            passes: bool | Iterable[str] | None = None,
            parameters: Mapping | None = None) -> CoreTimeline:  # fmt: skip
    """Optimise (on a copy), place and schedule a program.

    Parameters
    ----------
    program : Program
    spec : Record, optional
        The chip; default the program's own.
    buffers : int or dict, optional
        See :func:`~trainium_edu.neuroncore.timing.placement.place`.
    optimise : bool or tuple of str
        Whether the compiler's passes run first, or which (``timing.optimise``); True for those
        that AWS's times of current kernels show.
    passes : bool or tuple of str, optional
        The passes of the older compiler, instead of `optimise`; ``()`` is the program as
        written.
    parameters : dict, optional
        See :func:`~trainium_edu.neuroncore.timing.scheduler.schedule`.

    Returns
    -------
    CoreTimeline
        Its ``program`` is the optimised one.  A program of the older interface that does not fit on
        chip is timed with the rest beside it, with a note in ``placement.notes``.
    """
    asked = compiler.DEFAULT_PASSES if optimise is True else optimise
    done = compiler.optimise(program, asked if passes is None else passes)
    placement = place(done, spec, buffers=buffers, beside=passes is not None)
    return schedule(done, placement, spec, parameters=parameters)


@checked
def effects(program: Program, passes: bool | Iterable[str] = True, *,
            buffers=None) -> tuple[compiler.PassEffect, ...]:  # fmt: skip
    """Return what each pass of the older compiler changes, the others being as they are.

    Parameters
    ----------
    program : Program
        As recorded.
    passes : bool or iterable of str
    buffers : int or dict, optional
        As for :func:`measure`.
    """
    names = compiler.check_passes(passes)
    done = measure(program, buffers=buffers, passes=names)
    changes = []
    for name in names:
        others = [other for other in names if other != name]
        without = measure(program, buffers=buffers, passes=others)
        after, before = (compiler.traffic(timed.program) for timed in (done, without))
        changes.append(
            compiler.PassEffect(name, after, before, done.makespan_ns, without.makespan_ns)
        )
    return tuple(changes)
