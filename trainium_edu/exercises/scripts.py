"""Scripts with one line that does harm, among lines that look as if they did; and who finds it.

Their lines are the table ``scripts`` of a lesson's TOML file.
"""

from collections.abc import Mapping
from dataclasses import dataclass

from trainium_edu.exercises.exercise import Draw
from trainium_edu.exercises.judge import has_form, reject, reject_if

__all__ = ["Line", "Script", "draw_scripts", "find_the_lines"]


@dataclass(frozen=True, slots=True)
class Line:
    """A line of a script."""

    text: str = ""
    repaired: str = ""  #: what stops it from doing harm; empty where it does none
    why: str = ""  #: why it does none, to somebody who thought so
    place: int = -1  #: where in its script it may stand; -1 is a line of all scripts


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


def draw_scripts(draw: Draw, words: Mapping, harmless: int = 4) -> list[Script]:
    """Draw three scripts, each with another culprit among lines that do no harm.

    Parameters
    ----------
    draw : Draw
    words : mapping
        A lesson's table ``scripts``: ``frame``, ``culprits`` and ``decoys`` are lines.  One of
        the frame with a place stands there unless a drawn one does.
    harmless : int
        How many decoys a script has at most.
    """
    kinds = "frame", "culprits", "decoys"
    frame, culprits, decoys = ([Line(**row) for row in words[kind]] for kind in kinds)
    made = []
    for i, culprit in enumerate(draw.shuffled("culprits", culprits)[:3]):
        same = culprit.text.split("=")[0]  # a line that sets the same would undo the harm
        others = [
            line
            for line in draw.shuffled(f"decoys {i}", decoys)
            if line.text.split("=")[0] != same and line.text != culprit.repaired
        ]
        drawn = draw.shuffled(f"order {i}", [culprit, *others[:harmless]])
        placed = ([x for x in drawn if x.place == line.place] or [line] for line in frame)
        made.append(Script(tuple(line for lines in placed for line in lines if line.text)))
    return made


def find_the_lines(answer, scripts: list[Script], words: Mapping) -> None:
    """Reject any answer but the three culprits' line numbers, with what the line said does do.

    Parameters
    ----------
    answer : object
    scripts : list of Script
        Three.
    words : mapping
        ``otherwise``: of a line that says no reason of its own; ``harm``: what another line does.
    """
    asked = "Three line numbers are asked for, one for each script: [4, 7, 5]."
    reject_if(not has_form(answer, int, int, int), "wrong form", asked)
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
        why = script.lines[said - 1].why or words["otherwise"]
        why = f"The {names[i]} script, line {said}: {why} {words['harm']}"
        reject("a line that does no harm", why)
