"""How a kernel's call reaches its core: ``issue("tensor_copy", dst=dst, src=src)``.

Every function of ``nki.isa`` is such a line.  Here NKI's objects become the plain things that
``neuroncore`` knows: tensors become views, functions used as operators become their names, choices
become strings, registers become numbers.
"""

from enum import Enum

import numpy as np

from trainium_edu.nki.mistakes import describe
from trainium_edu.nki.objects import enums
from trainium_edu.nki.objects.object import NKIObject
from trainium_edu.nki.objects.tensor import NkiTensor
from trainium_edu.nki.objects.virtual_register import VirtualRegister
from trainium_edu.nki.refusals import refusal
from trainium_edu.nki.running import current

__all__ = ["HANDLE", "NkiInstruction", "issue", "plain"]

HANDLE = "nisa functions return a handle, not a tile: the result is in the tile given as dst"
_PLAIN = frozenset({str, bool, int, float, type(None)})
_CHOICES = {"reduce_cmd": enums.reduce_cmd, "dge_mode": enums.dge_mode,
            "oob_mode": enums.oob_mode, "perf_mode": enums.matmul_perf_mode}  # fmt: skip
_ENUMS = frozenset(_CHOICES.values())


def plain(value):
    """Return an operand as ``neuroncore`` takes it."""
    op = getattr(value, "op", None)
    if op is not None:
        return op
    if isinstance(value, NkiTensor):
        return value._view
    if value is None or isinstance(value, str | bool | int | float):
        return value
    if isinstance(value, list | tuple):
        return type(value)(plain(item) for item in value)
    if isinstance(value, Enum):
        return value.name
    if isinstance(value, VirtualRegister):
        return value.value
    if isinstance(value, np.generic):
        return value.item()
    if isinstance(value, NkiInstruction):
        raise TypeError(f"a tile is needed here, not {describe(value)}")
    if callable(value):  # nl.max, np.add: an operator, by its name
        return getattr(value, "__name__", value)
    return value


def issue(instruction: str, *, engine=None, name=None, **operands):
    """Issue one instruction of the running kernel and return a handle on it."""
    running = current()
    for key, value in operands.items():
        kind = type(value)
        if kind is NkiTensor:
            operands[key] = value._view
        elif kind in _ENUMS:
            operands[key] = value._name_
        elif key in _CHOICES:
            operands[key] = enums.chosen(_CHOICES[key], value, f"{instruction}: {key}").name
        elif kind not in _PLAIN and not (kind is tuple and not value):
            operands[key] = plain(value)
    engine = enums.engine_name(engine, instruction)
    if name is not None and not isinstance(name, str):
        raise TypeError(f"{instruction}: name is {name!r}; it must be a string")
    if instruction == "nc_transpose":
        return NkiInstruction(running.transpose(operands, engine, name or ""), running.loops)
    return NkiInstruction(running.issue(instruction, operands, engine, name or ""), running.loops)


class NkiInstruction(NKIObject):
    """A handle on an issued instruction."""

    __slots__ = ("_instruction", "_loops")

    def __init__(self, handle, loops=()):
        self._instruction = handle
        self._loops = loops

    def __repr__(self):
        return f"NkiInstruction({self._instruction!r})"

    def _described(self):
        return f"what {self._instruction.name} returned ({HANDLE})"

    def depends_on(self, *producers: "NkiInstruction") -> "NkiInstruction":
        """Make this instruction wait for `producers`, and for the data that it reads.

        Raises
        ------
        TypeError
            For something that no ``nisa`` function returned.
        NkiValidationError
            For a producer that was issued later (both would wait forever), or inside a dynamic
            loop that this instruction is not in.
        """
        for producer in producers:
            if not isinstance(producer, NkiInstruction):
                raise TypeError(f"depends_on takes what nisa functions return, not {producer!r}")
            if producer._instruction.index >= self._instruction.index:
                raise refusal("schedule.waits_for_later", handle=self, producer=producer)
            if self._loops[: len(producer._loops)] != producer._loops:
                raise refusal("schedule.waits_for_loop", handle=self, producer=producer)
            self._instruction.after = (*self._instruction.after, producer._instruction.index)
        return self
