"""Outcomes of operators in a folder, for machines without a compiler: runs, and sentences.

>>> relu = Stored("data").load("relu", ["relu.cpp"], ["shape.cpp"])  # doctest: +SKIP
>>> relu.run(x)                                                      # doctest: +SKIP

With a compiler everything is compiled and run.  Without one, what was asked before with the same
sources, options and arguments is read; whoever writes a lesson asks once with ``recording=True``.
"""

import hashlib
import json
from collections.abc import Callable
from os import PathLike
from pathlib import Path

import numpy as np

from trainium_edu import files
from trainium_edu.neuroncore.gpsimd_cpp import library
from trainium_edu.neuroncore.gpsimd_cpp.compiler import find_compiler
from trainium_edu.neuroncore.gpsimd_cpp.mistakes import (
    CompileError,
    NoCompilerError,
    OperatorError,
)
from trainium_edu.neuroncore.gpsimd_cpp.results import WORDS, OperatorRun
from trainium_edu.numerics.frameworks import as_array, is_array
from trainium_edu.specs.signatures import checked

__all__ = ["Stored", "StoredLibrary", "StoredOperator"]

_KINDS = {kind.__name__: kind for kind in (OperatorError, CompileError)}


class Stored:
    """A folder of outcomes.

    Parameters
    ----------
    folder : path
    recording : bool
        Write down what happens; needs a compiler.
    """

    @checked
    def __init__(self, folder: str | PathLike, *, recording: bool = False):
        self.folder, self.recording = Path(folder), recording
        try:
            find_compiler()
            self.missing = None
        except NoCompilerError as missing:
            self.missing = missing
            if recording:
                raise

    @checked
    def load(self, name: str, compute_srcs, shape_srcs, **options) -> "StoredLibrary":
        """Load a library as :func:`gpsimd_cpp.load` does, or what is stored of it."""
        texts = [[Path(source).read_text() for source in sources]
                 for sources in (compute_srcs, shape_srcs)]  # fmt: skip
        key = _key(texts, sorted(options.items()))
        real = None

        def compiled() -> dict:
            nonlocal real
            real = library.load(name, compute_srcs, shape_srcs, **options)
            return {"operators": list(real.operators)}

        told = self._told(key, compiled)
        return StoredLibrary(self, key, told["operators"], real)

    def _told(self, key: str, ask: Callable[[], dict]) -> dict:
        """Return what is so, or was; raise the sentence that was."""
        path = self.folder / f"{key}.json"
        if self.missing is not None:
            if not path.is_file():
                raise NoCompilerError(
                    f"{self.missing}; and of these sources and arguments no result is stored"
                )
            told = json.loads(path.read_text())
            if "error" in told:
                raise _KINDS[told["error"]](told["text"])
            return told
        try:
            told = ask()
        except OperatorError as problem:
            self._keep(path, {"error": type(problem).__name__, "text": str(problem)})
            raise
        self._keep(path, told)
        return told

    def _keep(self, path: Path, told: dict) -> None:
        if self.recording:
            self.folder.mkdir(parents=True, exist_ok=True)
            files.write(path, json.dumps(told))


class StoredLibrary:
    """A library, or what is stored of it; operators are attributes.

    Attributes
    ----------
    real : Library or None
    """

    def __init__(self, stored: Stored, key: str, names: list[str], real):
        self.real = real
        self.operators = {name: StoredOperator(stored, key, name, real) for name in names}

    def __getattr__(self, name):
        operators = self.__dict__.get("operators", {})
        if name not in operators:
            raise AttributeError(f"no operator {name!r}; the library has {', '.join(operators)}")
        return operators[name]

    def __call__(self, *arguments) -> np.ndarray:
        """Call the operator of a library that has one."""
        return np.asarray(self.run(*arguments).outputs)

    def run(self, *arguments) -> OperatorRun:
        """Run the operator of a library that has one."""
        (operator,) = self.operators.values()
        return operator.run(*arguments)


class StoredOperator:
    """One operator of a :class:`StoredLibrary`."""

    def __init__(self, stored: Stored, key: str, name: str, real):
        self._stored, self._key, self.name, self._real = stored, key, name, real

    def __call__(self, *arguments) -> np.ndarray:
        """Return the result."""
        return np.asarray(self.run(*arguments).outputs)

    def run(self, *arguments) -> OperatorRun:
        """Run the operator, or read the run that is stored."""
        key = _key(self._key, self.name, *map(_plain, arguments))
        path = self._stored.folder / f"{key}.run"
        made = None

        def ran() -> dict:
            nonlocal made
            made = getattr(self._real, self.name).run(*arguments)
            if self._stored.recording:
                self._stored.folder.mkdir(parents=True, exist_ok=True)
                made.save(path)
            return {"printed": made.printed}

        told = self._stored._told(key, ran)
        if made is None:
            made = OperatorRun.load(path, words=WORDS)
            print(told["printed"], end="")
        assert isinstance(made, OperatorRun)
        return made


def _plain(argument):
    if not is_array(argument):
        return argument
    array = np.ascontiguousarray(as_array(argument))
    return array.dtype.name, array.shape, hashlib.sha256(array.tobytes()).hexdigest()


def _key(*parts) -> str:
    return hashlib.sha256(json.dumps(parts, default=str).encode()).hexdigest()[:24]
