"""From a recorded program to its time in one call."""

from trainium_edu.neuroncore.core_timeline import CoreTimeline
from trainium_edu.neuroncore.placement import place
from trainium_edu.neuroncore.program import Program
from trainium_edu.neuroncore.scheduler import schedule
from trainium_edu.specs.record import Record

__all__ = ["measure"]


def measure(program: Program, *, spec: Record | None = None, buffers=None, optimise=True,
            parameters=None) -> CoreTimeline:  # fmt: skip
    """Optimise (on a copy), place and schedule a program.

    Parameters
    ----------
    program : Program
    spec : Record, optional
        The chip; default the program's own.
    buffers : int or dict, optional
        See :func:`~trainium_edu.neuroncore.placement.place`.
    optimise : bool or tuple of str
        Whether the compiler's passes run first, or which.
    parameters : dict, optional
        See :func:`~trainium_edu.neuroncore.scheduler.schedule`.

    Returns
    -------
    CoreTimeline
        Its ``program`` is the optimised copy.
    """
    if optimise:
        from trainium_edu.neuroncore.optimise import optimise as run_passes

        done = run_passes(program) if optimise is True else run_passes(program, optimise)
        program = done.program
    return schedule(program, place(program, spec, buffers=buffers), spec, parameters=parameters)
