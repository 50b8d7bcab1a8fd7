"""From a recorded program to its time in one call."""

from collections.abc import Iterable, Mapping
from dataclasses import replace

from trainium_edu.neuroncore.recording.program import Program, copy_of
from trainium_edu.neuroncore.timing.optimise import optimise as run_passes
from trainium_edu.neuroncore.timing.placement import place
from trainium_edu.neuroncore.timing.scheduler import schedule
from trainium_edu.neuroncore.timing.timeline import CoreTimeline
from trainium_edu.specs.errors import NkiValidationError
from trainium_edu.specs.record import Record
from trainium_edu.specs.signatures import checked

__all__ = ["measure"]


@checked
def measure(program: Program, *, spec: Record | None = None, buffers=None,
            optimise: bool | Iterable[str] = True,
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
        Whether the compiler's passes run first, or which; True leaves the choice to the model,
        and the band counts it as one.
    parameters : dict, optional
        See :func:`~trainium_edu.neuroncore.timing.scheduler.schedule`.

    Returns
    -------
    CoreTimeline
        Its ``program`` is the optimised copy; or, where keeping results for later would not fit
        into memory, the program as recorded, with a note in ``placement.notes``.
    """
    if optimise:
        if optimise is True:
            done = run_passes(program)
            done.program.recorded = copy_of(program)
        else:
            done = run_passes(program, optimise)
        placement = _place_or_none(done.program, spec, buffers)
        if placement is None:  # says what does not fit if the recorded program does not either
            placement = place(program, spec, buffers=buffers)
            placement = replace(placement, notes=(*placement.notes, _NOT_OPTIMISED))
        program = placement.program
    else:
        placement = place(program, spec, buffers=buffers)
    return schedule(program, placement, spec, parameters=parameters)


_NOT_OPTIMISED = (
    "timed as recorded: results kept instead of computed again would live longer than fits"
)


def _place_or_none(program, spec, buffers):
    try:
        return place(program, spec, buffers=buffers)
    except NkiValidationError:
        return None
