"""Outcomes of operators in a file, for machines without a compiler: runs, and sentences.

>>> relu = Stored("lesson.json.xz").load("relu", ["relu.cpp"], ["shape.cpp"])  # doctest: +SKIP
>>> relu.run(x)                                                                # doctest: +SKIP

With a compiler everything is compiled and run.  Without one, the stored answer to the same
sources, options and arguments is read; a lesson's author asks once with ``recording=True``.
A message that names a line of a source shows that line below.
"""

import base64
import hashlib
import json
import lzma
import re
import sys
import zlib
from collections.abc import Callable
from os import PathLike
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import numpy as np

from trainium_edu import files
from trainium_edu.neuroncore.gpsimd_cpp import library
from trainium_edu.neuroncore.gpsimd_cpp.compiler import find_compiler
from trainium_edu.neuroncore.gpsimd_cpp.mistakes import (
    CompileError,
    NoCompilerError,
    OperatorError,
)
from trainium_edu.neuroncore.gpsimd_cpp.results import OperatorRun, timed
from trainium_edu.neuroncore.recording.dtypes import DTYPES
from trainium_edu.neuroncore.recording.source import source_line
from trainium_edu.numerics.frameworks import as_array, is_array
from trainium_edu.specs import TRN1
from trainium_edu.specs.record import Record
from trainium_edu.specs.signatures import checked

__all__ = ["Stored", "StoredLibrary", "StoredOperator"]

_KINDS = {kind.__name__: kind for kind in (OperatorError, CompileError)}
_COMPILER = "compiler"


class Stored:
    """A file of outcomes.

    Parameters
    ----------
    path : path
        ``something.json.xz``.
    recording : bool
        Write down what happens; needs a compiler.
    same_compiler : bool
        Read also where the compiler is another one than when it was recorded: how many basic
        blocks a program has, and so its time, is the compiler's own.

    Attributes
    ----------
    missing : NoCompilerError or None
        Why nothing is compiled here.
    """

    @checked
    def __init__(self, path: str | PathLike, *, recording: bool = False,
                 same_compiler: bool = False):  # fmt: skip
        self.path, self.recording = Path(path), recording
        self.missing: NoCompilerError | None = None
        self._told: dict = {}
        if self.path.is_file() and not recording:
            self._told = json.loads(lzma.decompress(self.path.read_bytes()))
        try:
            name = find_compiler().name
        except NoCompilerError as missing:
            if recording:
                raise
            self.missing = missing
            return
        if recording:
            self._told[_COMPILER] = name
        elif same_compiler and name != self._told.get(_COMPILER, name):
            self.missing = NoCompilerError(
                f"what is stored was counted with {self._told[_COMPILER]}, and here is {name}"
            )

    @checked
    def load(self, name: str, compute_srcs, shape_srcs, **options) -> "StoredLibrary":
        """Load a library as :func:`gpsimd_cpp.load` does, or what is stored of it."""
        sources = [*compute_srcs, *shape_srcs]
        texts = {Path(source).name: Path(source).read_text() for source in sources}
        key = _key(len(compute_srcs), list(texts.items()), sorted(options.items()))
        real: library.Library | None = None

        def compiled() -> dict:
            nonlocal real
            real = library.load(name, compute_srcs, shape_srcs, **options)
            return {"name": real.name, "operators": list(real.operators)}

        told = self.told(key, compiled, texts)
        return StoredLibrary(self, key, told, real, texts)

    def told(self, key: str, ask: Callable[[], dict], texts: dict[str, str]) -> dict:
        """Return what is so, or was; raise the sentence that is, or was, with its line's text."""
        if self.missing is None:
            try:
                outcome = ask()
            except OperatorError as problem:
                outcome = {"error": type(problem).__name__, "text": str(problem)}
            if self.recording:
                self._told[key] = outcome
                files.write(self.path, lzma.compress(json.dumps(self._told).encode(), preset=9))
        elif key in self._told:
            outcome = self._told[key]
        else:
            raise NoCompilerError(
                f"{self.missing}; and of these sources and arguments no result is stored"
            )
        if "error" in outcome:
            raise _KINDS[outcome["error"]](_with_line(outcome["text"], texts))
        return outcome

    def recorded(self, shape: tuple[int, ...]) -> list[OperatorRun]:
        """Return the runs in the file whose result has this shape, timed again."""
        outcomes = (o for key, o in self._told.items() if key != _COMPILER)
        runs = (o for o in outcomes if o.get("output", [0, ()])[1] == list(shape))
        return [_again(outcome, "recorded", (), None) for outcome in runs]


class StoredLibrary:
    """A library, or what is stored of it; operators are attributes.

    Attributes
    ----------
    real : Library or None
    """

    def __init__(self, stored: Stored, key: str, told: dict, real, texts: dict[str, str]):
        self.real = real
        self.operators = {
            name: StoredOperator(stored, key, told["name"], name, real, texts)
            for name in told["operators"]
        }

    def __getattr__(self, name):
        operators = self.__dict__.get("operators", {})
        if name not in operators:
            raise AttributeError(f"no operator {name!r}; the library has {', '.join(operators)}")
        return operators[name]

    def __call__(self, *arguments) -> np.ndarray:
        """Call the operator of a library that has one."""
        return np.asarray(self.run(*arguments).outputs)

    def run(self, *arguments, spec: Record = TRN1) -> OperatorRun:
        """Run the operator of a library that has one."""
        (operator,) = self.operators.values()
        return operator.run(*arguments, spec=spec)


class StoredOperator(library.Operator):
    """One operator of a :class:`StoredLibrary`; a node of a graph like any other."""

    def __init__(self, stored: Stored, key: str, library_name: str, name: str, real,
                 texts: dict[str, str]):  # fmt: skip
        self._stored, self._key, self.name, self._texts = stored, key, name, texts
        self._real: Any = getattr(real, name, None)
        self.library = SimpleNamespace(name=library_name)  # type: ignore[assignment]
        self.digest = _key(key, name)

    def __repr__(self):
        return f"StoredOperator({self.library.name}.{self.name})"

    def __call__(self, *arguments) -> np.ndarray:
        """Return the result."""
        return np.asarray(self.run(*arguments).outputs)

    def run(self, *arguments, spec: Record = TRN1) -> OperatorRun:
        """Run the operator, or time again what is stored of its run."""
        result: OperatorRun | None = None

        def ran() -> dict:
            nonlocal result
            result = self._real.run(*arguments, spec=spec)
            options = {k: v for k, v in result.instruction.options if k != "operator"}
            left = bool(any(note[0] == "unwritten output" for note in result.notes[0]))
            return {"output": _packed(result.outputs), "options": options, "left": left}

        outcome = self._outcome("run", arguments, ran)
        if result is None:
            values = [as_array(a) if is_array(a) else a for a in arguments]
            said = outcome["options"]["said"]
            print(said, end="" if not said or said.endswith("\n") else "\n")
            line = source_line({}, sys._getframe(1))
            result = _again(outcome, self.name, values, line, spec)
        return result

    def shape(self, *types) -> tuple[tuple[int, ...], str]:
        """Return what the shape function says, or said."""
        return self._of_types("shape", types)

    def typical(self, *types) -> tuple:
        """Return what the processors do, or did, with arguments of these types."""
        return self._of_types("typical", types)

    def _of_types(self, what, types):
        told = self._outcome(what, types, lambda: {"value": getattr(self._real, what)(*types)})
        return _frozen(told["value"])

    def _outcome(self, what, arguments, ask) -> dict:
        key = _key(self.digest, what, *map(_plain, arguments))
        return self._stored.told(key, ask, self._texts)


def _again(told, name, values, line, spec: Record = TRN1) -> OperatorRun:
    """Time a stored run again."""
    options = {k: _frozen(v) for k, v in told["options"].items()}
    return timed(name, values, _unpacked(told["output"]), spec, options, line, (0,) * told["left"])


def _plain(argument):
    if not is_array(argument):
        return argument
    array = np.ascontiguousarray(as_array(argument))
    return array.dtype.name, array.shape, hashlib.sha256(array.tobytes()).hexdigest()


def _packed(array) -> list:
    data = base64.b64encode(zlib.compress(np.ascontiguousarray(array).tobytes())).decode()
    return [array.dtype.name, list(array.shape), data]


def _unpacked(packed) -> np.ndarray:
    dtype, shape, data = packed
    plain = np.frombuffer(zlib.decompress(base64.b64decode(data)), DTYPES[dtype].storage)
    return plain.reshape(shape).copy()


def _frozen(value):
    return tuple(map(_frozen, value)) if isinstance(value, list | tuple) else value


def _with_line(text: str, texts: dict[str, str]) -> str:
    """Return a message with the line that it names below it."""
    found = re.match(r"(\S+):(\d+): ", text)
    lines = texts.get(found[1], "").splitlines() if found else []
    if not found or not 0 < int(found[2]) <= len(lines):
        return text
    return f"{text}\n  {found[2]} | {lines[int(found[2]) - 1].strip()}"


def _key(*parts) -> str:
    return hashlib.sha256(json.dumps(parts, default=str).encode()).hexdigest()[:24]
