"""``Run``: everything that one run of a kernel, or of a compiled graph, left behind."""

from collections.abc import Iterable
from dataclasses import dataclass, replace
from functools import cached_property
from os import PathLike

from trainium_edu.neuroncore import run_io
from trainium_edu.neuroncore.advice.advise import find_advice, once
from trainium_edu.neuroncore.advice.evidence import Advice
from trainium_edu.neuroncore.advice.remedies import Words
from trainium_edu.neuroncore.recording.core import NeuronCore
from trainium_edu.neuroncore.recording.program import Program
from trainium_edu.neuroncore.timing.bands import Band, Times
from trainium_edu.neuroncore.timing.measure import effects, measure
from trainium_edu.neuroncore.timing.optimise import PassEffect, check_passes
from trainium_edu.neuroncore.timing.placement import Placement
from trainium_edu.neuroncore.timing.timeline import CoreTimeline
from trainium_edu.neuroncore.timing.why import Why, why
from trainium_edu.specs.signatures import checked

__all__ = ["Run"]


@dataclass(frozen=True, eq=False, repr=False)
class Run(run_io.Parts):
    """The result of a front end's run; made by :meth:`of`.

    Attributes
    ----------
    name : str
        The kernel's, or the graph's.
    outputs : array, or tuple, list or dict of arrays
        What it returned (None if recorded without values).
    programs : tuple of Program
        One per NeuronCore, as recorded.
    notes : tuple of list
        What was noticed while each program was recorded.
    buffers, optimise, passes
        As they were asked for.
    timelines : tuple of CoreTimeline
        One per program; ``timeline`` is the one that ends last.
    words : Words
        How the front end says remedies.
    """

    timelines: tuple[CoreTimeline, ...]
    words: Words

    @classmethod
    def of(cls, name: str, outputs, cores: Iterable[NeuronCore], *, words: Words, buffers=None,
           optimise: bool | tuple[str, ...] = True,
           passes: bool | tuple[str, ...] | None = None) -> "Run":  # fmt: skip
        """Time what cores recorded.

        Parameters
        ----------
        name : str
        outputs : array, or tuple, list or dict of arrays
            As the front end gives them back.
        cores : iterable of NeuronCore
        words : Words
            The front end's.
        buffers, optimise, passes
            As for :func:`~trainium_edu.neuroncore.timing.measure.measure`.
        """
        cores = tuple(cores)
        programs, notes = (core.program for core in cores), map(_plain_notes, cores)
        parts = run_io.Parts(name, outputs, tuple(programs), tuple(notes), buffers, optimise,
                             None if passes is None else check_passes(passes))  # fmt: skip
        return cls.timed(parts, words)

    @classmethod
    def timed(cls, of: run_io.Parts, words: Words) -> "Run":
        """Return the run of what a file held, placed and timed."""
        timelines = tuple(
            measure(program, buffers=of.buffers, optimise=of.optimise, passes=of.passes)
            for program in of.programs
        )
        return cls(of.name, of.outputs, of.programs, of.notes, of.buffers, of.optimise, of.passes,
                   timelines, words)  # fmt: skip

    def with_buffers(self, buffers) -> "Run":
        """Return the same run, placed and timed with another number of buffers."""
        return self.timed(replace(self, buffers=buffers), self.words)

    @checked
    def save(self, path: str | PathLike) -> None:
        """Write programs, outputs and notes to a file, which :meth:`load` reads."""
        run_io.save(self, path)

    @classmethod
    @checked
    def load(cls, path: str | PathLike, *, words: Words) -> "Run":
        """Read a run that :meth:`save` wrote.

        Raises
        ------
        FileNotFoundError
            If there is no such file.
        ValueError
            One sentence on what is wrong with it.
        """
        return run_io.load(path, lambda parts: cls.timed(parts, words))

    @property
    def timeline(self) -> CoreTimeline:
        """The timeline that ends last: the run is as slow as its slowest program."""
        return max(self.timelines, key=lambda timeline: timeline.makespan_ns)

    @property
    def program(self) -> Program:
        """The program of the timeline that ends last."""
        return self.programs[self.timelines.index(self.timeline)]

    @property
    def placement(self) -> Placement:
        """The tiles' places in the timeline that ends last."""
        return self.timeline.placement

    @cached_property
    def times(self) -> Times:
        """The makespan at other values of the doubtful parameters."""
        return Times(self.timeline)

    @cached_property
    def effects(self) -> tuple[PassEffect, ...]:
        """The changes by each of the older compiler's passes, the others being as they are."""
        return effects(self.program, self.passes or (), buffers=self.buffers)

    @property
    def band(self) -> Band:
        """The range in which the makespan lies."""
        return self.times.band

    @cached_property
    def advice(self) -> list[Advice]:
        """Advice on costs and dangers, the costliest first; each names line, cost, remedy."""
        programs = zip(self.programs, self.timelines, self.notes, strict=True)
        return once(find_advice(*program, self.words) for program in programs)

    def why(self) -> Why:
        """Return where the time went: the critical path in pieces that add up to the makespan."""
        return why(self.timeline, self.times)

    def __repr__(self):
        cores = f", {len(self.programs)} programs" if len(self.programs) > 1 else ""
        return (
            f"Run({self.name!r}, {len(self.program)} instructions, "
            f"{self.timeline.makespan_ns / 1e3:.3f} us{cores})"
        )

    def _repr_pretty_(self, printer, cycle):
        """Show one line and the advice where a notebook's cell ends with the run."""
        printer.text("\n".join([repr(self), *self._advised()]))

    def __str__(self):
        return "\n".join([str(self.timeline), *self._advised()])

    def _advised(self):
        return (f"  advice: {advice}" for advice in self.advice)


def _plain_notes(core) -> list:
    """Return a core's notes as plain data: [kind, instruction, role, allocation's index or -1]."""
    plain = []
    for kind, instruction, role, info in core.notes:
        index = getattr(info, "index", None)
        plain.append([str(kind), int(instruction), str(role), -1 if index is None else int(index)])
    return plain
