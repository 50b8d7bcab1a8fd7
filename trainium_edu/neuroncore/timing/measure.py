"""From a recorded program to its time in one call."""

import math
from collections.abc import Iterable, Mapping
from dataclasses import replace

from trainium_edu.neuroncore.recording.program import Program, copy_of
from trainium_edu.neuroncore.timing.optimise import optimise as run_passes
from trainium_edu.neuroncore.timing.placement import place
from trainium_edu.neuroncore.timing.rewrites import PassEffect, check_passes, rewrite, traffic
from trainium_edu.neuroncore.timing.scheduler import schedule
from trainium_edu.neuroncore.timing.timeline import CoreTimeline
from trainium_edu.specs.errors import NkiValidationError
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
        Whether the compiler's passes run first, or which; True leaves the choice to the model,
        and the band counts it as one.
    passes : bool or tuple of str, optional
        What the older compiler would have changed before (``timing.rewrites``); ``()`` is the
        program as written.  They take the place of ``optimise=True``.
    parameters : dict, optional
        See :func:`~trainium_edu.neuroncore.timing.scheduler.schedule`.

    Returns
    -------
    CoreTimeline
        Its ``program`` is the optimised copy; or, where keeping results for later would not fit
        into memory, the program as recorded, with a note in ``placement.notes``.  The same goes for
        what `passes` did.
    """
    done = program if passes is None else rewrite(program, passes)
    is_rewritten = done is not program
    if optimise is True and passes is None:
        done = run_passes(program).program
        done.recorded = copy_of(program)
    elif optimise is not True and optimise:
        done = run_passes(done, optimise).program
    placement = None if done is program else _place_or_none(done, spec, buffers)
    if placement is None:  # says what does not fit if the recorded program does not either
        placement = place(program, spec, buffers=buffers)
        if done is not program:
            why = _NOT_REWRITTEN if is_rewritten else _NOT_OPTIMISED
            placement = replace(placement, notes=(*placement.notes, why))
    if placement.program.spills:
        note = _SPILLED.format(len(placement.program.spills))
        placement = replace(placement, notes=(*placement.notes, note))
    return schedule(placement.program, placement, spec, parameters=parameters)


_NOT_REWRITTEN = "timed as recorded: what the older compiler's passes give does not fit"
_NOT_OPTIMISED = (
    "timed as recorded: results kept instead of computed again would live longer than fits"
)

_SPILLED = (
    "SBUF is too small for what is alive at once: {} tiles went to HBM and came back, wherever "
    "their next use was furthest ahead (assumed: AWS says that its compiler spills, not what)"
)


def _place_or_none(program, spec, buffers):
    try:
        return place(program, spec, buffers=buffers)
    except NkiValidationError:
        return None


@checked
def effects(program: Program, passes: bool | Iterable[str] = True, *,
            buffers=None) -> tuple[PassEffect, ...]:  # fmt: skip
    """Return what each pass of the older compiler changes, the others being as they are.

    Parameters
    ----------
    program : Program
        As recorded.
    passes : bool or iterable of str
    buffers : int or dict, optional
        As for :func:`measure`.
    """
    names = check_passes(passes)
    stages = [program]
    for name in names:
        stages.append(rewrite(stages[-1], [name]))
    after, ns = traffic(stages[-1]), _ns(stages[-1], buffers)
    found = []
    for at, name in enumerate(names):
        without = rewrite(stages[at], names[at + 1 :])
        found.append(PassEffect(name, after, traffic(without), ns, _ns(without, buffers)))
    return tuple(found)


def _ns(program, buffers):
    """Return the predicted time of a program as it stands; infinite if it does not fit."""
    placement = _place_or_none(program, program.spec, buffers)
    return math.inf if placement is None else schedule(program, placement).makespan_ns
