"""C++ that is a text in a cell: operators of a lesson, and a learner's answer, compiled and tried.

A lesson's operators (:func:`operator`) are compiled where there is a compiler, and read from what
is stored where there is none.  An answer is a :class:`Source`; a check compiles and runs its text
with :func:`tried`, in this process's workers, or, in a grader, in a process behind walls
(``cli/grade_cpp.py``): its text is all that leaves the submission.
"""

import re
import tempfile
from collections.abc import Callable, Sequence
from contextlib import redirect_stdout
from dataclasses import dataclass
from functools import cache
from io import StringIO
from pathlib import Path
from textwrap import dedent
from typing import Any

import numpy as np

from trainium_edu import files, settings
from trainium_edu.exercises.exercise import words_of
from trainium_edu.exercises.judge import NotAttempted, NotChecked, Rejected, reject, reject_if
from trainium_edu.exercises.refusals import sentence
from trainium_edu.neuroncore import gpsimd_cpp
from trainium_edu.neuroncore.engines.custom_op import Work
from trainium_edu.specs.signatures import checked

__all__ = [
    "Job",
    "Outcome",
    "Source",
    "operator",
    "run_here",
    "shape_source",
    "stored",
    "tried",
    "use",
]

_STORED = Path(__file__).with_name("your_own_operator.json.xz")
_CPU_SECONDS = 2  #: of one processor, in a check


def shape_source(
    name: str, arguments: str = "torch::Tensor x", result: str = "x.sizes(), torch::kFloat"
) -> str:
    """Return the file of a shape function: what the result of an operator looks like."""
    return words_of(__file__)["shape"].format(name=name, arguments=arguments, result=result)


@cache
def stored() -> Any:
    """Return the outcomes that are stored for lesson 13."""
    from trainium_edu.neuroncore.gpsimd_cpp.stored import Stored

    return Stored(_STORED, same_compiler=settings.lesson().quiet)


@checked
def operator(name: str, kernel: str, shape: str = "", *, multicore: bool = False):
    """Make an operator of C++ that stands in a cell.

    Parameters
    ----------
    name : str
        Of the kernel function, and of the operator; errors call the text "name.cpp".
    kernel : str
        The kernel function's file.
    shape : str
        The shape function's file; by default the result is like ``x``, in float32.
    multicore : bool
        All eight processors run it.

    Returns
    -------
    gpsimd_cpp.StoredOperator
        Call it with arrays; its :meth:`run` also says how long it takes.

    Raises
    ------
    OperatorError
        One sentence, and the line.
    """
    with tempfile.TemporaryDirectory() as folder:
        paths = _written(Path(folder), name, kernel, shape or shape_source(name))
        library = stored().load(name, *paths, **({"multicore": True} if multicore else {}))
    return library.operators[name]


def _written(folder: Path, name: str, kernel: str, shape: str) -> tuple[list[Path], list[Path]]:
    paths = folder / f"{name}.cpp", folder / f"{name}_shape.cpp"
    for path, text in zip(paths, (kernel, shape), strict=True):
        try:
            files.write(path, text := text.lstrip("\n"))
        except UnicodeEncodeError as bad:
            problem = sentence("cpp.surrogate", letter=text[bad.start])
            line = text.count("\n", 0, bad.start) + 1
            raise gpsimd_cpp.CompileError(problem, path.name, line) from None
    return [paths[0]], [paths[1]]


class Source:
    """C++ as an answer; a check asks it for its text.

    Parameters
    ----------
    text : str
        Lines are counted from the first that is not empty.
    """

    __name__ = "Source"

    @checked
    def __init__(self, text: str):
        self.text = dedent(text.lstrip("\n"))

    def __call__(self) -> str:
        """Return the text."""
        return self.text

    def __repr__(self):
        return "\n".join(f"{i:3} {line}" for i, line in enumerate(self.text.splitlines(), 1))


@dataclass(frozen=True)
class Job:
    """What a check wants to know of a text."""

    name: str
    kernel: str
    shape: str
    multicore: bool
    cases: Sequence[tuple]  #: arguments, arrays and numbers


@dataclass(frozen=True)
class Outcome:
    """What one call gave and took."""

    output: np.ndarray
    works: tuple[Work, ...]
    ns: float


def run_here(job: Job) -> dict:
    """Compile and run a job with this process's compiler.

    Returns
    -------
    dict
        ``outcomes``, one per case that ran; where it ended, ``problem`` ("no compiler",
        "does not compile", "race" or "refused"), ``text``, and the ``line`` of the kernel's text.
    """
    outcomes: list[Outcome] = []
    try:
        with tempfile.TemporaryDirectory() as folder, redirect_stdout(StringIO()):
            paths = _written(Path(folder), job.name, job.kernel, job.shape)
            library = gpsimd_cpp.load(
                job.name, *paths, multicore=job.multicore, cpu_seconds=_CPU_SECONDS
            )
            for case in job.cases:
                run = library.run(*case)
                outcomes.append(Outcome(run.outputs, run.works, float(run.timeline.makespan_ns)))
    except (gpsimd_cpp.NoCompilerError, gpsimd_cpp.OperatorError) as mistake:
        other = "race" if ": race: " in str(mistake) else "refused"
        problem, line = _PROBLEMS.get(type(mistake), other), getattr(mistake, "line", 0)
        return {"outcomes": outcomes, "problem": problem, "text": str(mistake), "line": line}
    return {"outcomes": outcomes}


_PROBLEMS: dict[type, str] = {
    gpsimd_cpp.NoCompilerError: "no compiler",
    gpsimd_cpp.CompileError: "does not compile",
}
_run: list[Callable[[Job], dict]] = [run_here]


def use(run: Callable[[Job], dict]) -> None:
    """Let checks try texts with another function than :func:`run_here`, as a grader does."""
    _run[0] = run


def tried(answer, starter, name, shape, cases, *, multicore=False) -> list[Outcome]:
    """Compile an answer's text and run it on some cases; reject what does not compile or run.

    Parameters
    ----------
    answer : callable
        Returns the text.
    starter : str
        The text that the lesson ships.
    name, shape : str
        Of the kernel function; the shape function's file.
    cases : sequence of tuple
    multicore : bool

    Raises
    ------
    NotChecked
        Where there is no compiler.
    """
    text = answer()
    reject_if(not isinstance(text, str), "no source", name=name)
    if _squeezed(text) in ("", _squeezed(starter)):
        raise NotAttempted("The program is still the one that you found.")
    plain = re.sub(r"//.*|/\*[\s\S]*?\*/", " ", text.replace("\\\n", ""))
    for what, pattern in words_of(__file__)["forbidden"].items():
        if found := re.search(pattern, plain):
            reject("not the interface", what=what, found=found[0].strip())
    told = _run[0](Job(name, text, shape, multicore, tuple(cases)))
    if "problem" not in told:
        return told["outcomes"]
    said, lines = told["text"], text.encode(errors="backslashreplace").decode().splitlines()
    if told["problem"] == "no compiler":
        raise NotChecked(f"Not checked here: {said}.")
    if 0 < told["line"] <= len(lines):
        said = f"{said.rstrip('.')}. Line {told['line']}: {lines[told['line'] - 1].strip()}"
    raise Rejected(told["problem"], said)


def _squeezed(text: str) -> str:
    return re.sub(r"\s+", " ", text).strip()
