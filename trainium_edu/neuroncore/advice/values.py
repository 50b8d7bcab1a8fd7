"""Values that are not what they seem: read before they were written, or outside what is defined."""

from trainium_edu.neuroncore.advice.evidence import called, several
from trainium_edu.neuroncore.advice.only_here import NOTED
from trainium_edu.neuroncore.advice.remedies import Remedy

__all__ = ["unwritten_reads"]

_NOTES = {
    "uninitialised": (
        "reads {name} ({role}), part of which was never written: floats read NaN, integers 4",
        Remedy.WRITE_FIRST,
    ),
    "accumulate-unwritten": (
        "accumulates into {name}, which nothing was written to: undefined on hardware",
        Remedy.OVERWRITE_FIRST,
    ),
    "accumulate-on-value": (
        "accumulates onto a value that no matmul wrote to {name}: undefined on NeuronCore-v2",
        Remedy.ADD_AFTERWARDS,
    ),
    "transposed-infinity": (
        "turns {name} by a matmul with the identity; it holds infinities or NaN, and on "
        "NeuronCore-v2 these times zero make whole rows NaN", Remedy.FINITE_NUMBERS,
    ),
}  # fmt: skip


def unwritten_reads(run):
    """Find instructions that read what was never written, and other notes on values."""
    groups = {}  #: (kind, line, instruction, role, an output's name) -> {tile: its name}
    instructions, allocations = run.recorded.instructions, run.recorded.allocations
    for kind, index, role, allocation in run.notes:
        if kind in NOTED:
            continue
        instruction = instructions[index] if index < len(instructions) else None
        line = instruction.line if instruction else None
        reader = instruction.name if instruction else "an instruction"
        name = called(allocations[allocation]) if allocation >= 0 else ""
        key = kind, line, reader, role, name if kind == "unwritten output" else ""
        groups.setdefault(key, {})[allocation] = name
    for (kind, line, reader, role, _), names in groups.items():
        name, *others = names.values()
        if others:
            name = f"{name} and {several(len(others), 'more tile')} of this line"
        if kind == "unwritten output":
            line = None
            text = f"the {run.words.noun} returns {name}, part of which was never written"
            remedy = Remedy.REACH_THE_END
        elif kind in _NOTES:
            text, remedy = _NOTES[kind]
            text = f"{reader} {text.format(name=name, role=role)}"
        else:
            text, remedy = f"{reader}: {role}", Remedy.NUMBERS_IN_RANGE
        yield run.advice(kind, line, text, remedy)
