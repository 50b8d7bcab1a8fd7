"""What is wrong with an operator, in one sentence with its line."""

from pathlib import Path

from trainium_edu.specs.errors import NkiValidationError

__all__ = ["CompileError", "NoCompilerError", "OperatorError", "place"]


class OperatorError(NkiValidationError):
    """An operator does what the processors, or their memories, do not take.

    Attributes
    ----------
    file : str
        The C++ source; "" where no line is to blame.
    line : int
    """

    def __init__(self, text: str, file: str = "", line: int = 0):
        super().__init__(f"{place(file, line)}: {text}" if file else text)
        self.file, self.line = file, line

    def _render_traceback_(self):
        """Return what a notebook shows: the sentence, and none of this package's own lines."""
        return [f"{type(self).__name__}: {self}"]


class CompileError(OperatorError):
    """The compiler does not take the C++; its first error."""


class NoCompilerError(RuntimeError):
    """There is no C++ compiler on this machine."""


def place(file: str, line: int) -> str:
    """Return a line of C++ as messages name it: "relu.cpp:12"."""
    return f"{Path(file).name}:{line}" if line else Path(file).name
