"""What one call of an operator left behind: its result, its time, and where that goes."""

from collections.abc import Sequence

import numpy as np

from trainium_edu.neuroncore.advice.remedies import Remedy, Words, sentences
from trainium_edu.neuroncore.engines.custom_op import Work, label_of, parts_ns
from trainium_edu.neuroncore.gpsimd_cpp.mistakes import place
from trainium_edu.neuroncore.recording.core import NeuronCore
from trainium_edu.neuroncore.recording.program import Instruction
from trainium_edu.neuroncore.run import Run
from trainium_edu.neuroncore.timing.durations import OPERATOR_PARAMETERS

__all__ = ["WORDS", "OperatorRun", "timed"]

_OWN = sentences(1, "Operators in C++") | {
    Remedy.REACH_THE_END: "Write every element of it; where nothing was written it reads NaN or 4",
}
_ELSE = "Look at what the operator's program does there"  # no finder of operators asks for others
WORDS = Words("operator", {remedy: _OWN.get(remedy, _ELSE) for remedy in Remedy})


class OperatorRun(Run):
    """One call of an operator; besides what every run has, what its processors did.

    ``outputs`` is the result.
    """

    @property
    def instruction(self) -> Instruction:
        """The instruction that the call is."""
        return self.programs[0].instructions[0]

    @property
    def _options(self) -> dict:
        return dict(self.instruction.options)

    @property
    def works(self) -> tuple[Work, ...]:
        """The counted work of each processor."""
        return tuple(Work(*work) for work in self._options["works"])

    @property
    def sites(self) -> list[tuple[str, int, int, int, int]]:
        """(line, elements named, elements streamed, TCM copies, their bytes), over all processors.

        A line is "relu.cpp:12".
        """
        return [(place(file, line), *counts) for file, line, *counts in self._options["sites"]]

    @property
    def printed(self) -> str:
        """The program's output, and its warnings."""
        return self._options["said"]

    def parts_ns(self) -> dict[str, float]:
        """Return where the slowest processor's time goes: elements, copies, code, library, bulks.

        Fixed overhead and latency of the instruction come on top.
        """
        values = self.timeline.parameters
        prices = {name.removeprefix("operator_"): values[name] for name in OPERATOR_PARAMETERS}
        return max((parts_ns(w, prices) for w in self.works), key=lambda parts: sum(parts.values()))


def timed(name: str, arguments: Sequence, output: np.ndarray, spec, options: dict, line,
          holes=()) -> OperatorRun:  # fmt: skip
    """Record a call as a program of one instruction, and time it.

    Parameters
    ----------
    name : str
        The operator's.
    arguments : sequence of array or float
    output : array
    spec : specs.Record
    options : dict
        The instruction's, beside its operands.
    line : SourceLine or None
        Who called.
    holes : sequence of int
        Elements that no processor wrote.
    """
    core = NeuronCore(spec, values=False, name=name, line_of=lambda: line)
    given = [a for a in arguments if isinstance(a, np.ndarray)]
    srcs = [
        core.hbm(a.shape or (1,), a.dtype.name, name=f"argument {i}")
        for i, a in enumerate(given) if a.size
    ]  # fmt: skip
    dst = core.hbm(tuple(max(1, n) for n in output.shape) or (1,), output.dtype.name, name="result")
    label = label_of(spec, name, options["sites"], options.get("hot", ()))
    core.custom_op(dst=dst, srcs=srcs, operator=name, name=label, **options)
    core.program.outputs.append(dst.buffer.info.index)
    if len(holes):
        core.notes.append(("unwritten output", 0, "dst", dst.buffer.info))
    made = OperatorRun.of(name, output, [core], words=WORDS)
    assert isinstance(made, OperatorRun)
    return made
