"""Scripts with one line that does harm, among lines that look as if they did; and who finds it."""

from collections.abc import Sequence
from dataclasses import dataclass

from trainium_edu.exercises.exercise import reject

__all__ = ["Line", "Script", "find_the_lines"]


@dataclass(frozen=True, slots=True)
class Line:
    """A line of a script."""

    text: str
    repaired: str = ""  #: what stops it from doing harm; empty where it does none
    why: str = ""  #: why it does none, to somebody who thought so


@dataclass(frozen=True, slots=True)
class Script:
    """A training script with one line that does harm."""

    lines: tuple[Line, ...]

    @property
    def culprit(self) -> int:
        """The number of that line, counted from 1."""
        return next(i for i, line in enumerate(self.lines, 1) if line.repaired)

    def text(self, *, repaired: bool = False) -> str:
        """Return the script's lines, as they are or with the culprit repaired."""
        return "\n".join((repaired and line.repaired) or line.text for line in self.lines)

    def __str__(self):
        return "\n".join(f"{i:2} {line.text}" for i, line in enumerate(self.lines, 1))

    __repr__ = __str__


def find_the_lines(answer, scripts: Sequence[Script], otherwise: str, harm: str) -> None:
    """Reject any answer but the three culprits' line numbers, with what the line said does do.

    Parameters
    ----------
    answer : object
    scripts : sequence of Script
        Three.
    otherwise : str
        Of a line that says no reason of its own.
    harm : str
        What another line does.
    """
    if not isinstance(answer, list | tuple) or len(answer) != 3 or any(
        type(n) is not int for n in answer
    ):  # fmt: skip
        reject("wrong form", "Three line numbers are asked for, one for each script: [4, 7, 5].")
    right = [script.culprit for script in scripts]
    if list(answer) == right:
        return
    if [n + 1 for n in answer] == right:
        reject("counts from zero", "All three are one off: the lines are numbered from 1.")
    names = "first", "second", "third"
    for i, (said, script) in enumerate(zip(answer, scripts, strict=True)):
        if said == right[i]:
            continue
        if not 1 <= said <= len(script.lines):
            reject("no such line", f"The {names[i]} script has {len(script.lines)} lines.")
        line = script.lines[said - 1]
        reject(
            "a line that does no harm",
            f"The {names[i]} script, line {said}: {line.why or otherwise} {harm}",
        )
