"""What an instructor asks of a kernel file: a small TOML or Python file, read and checked.

::

    kernel = "matmul"                        # the function's name in each KERNEL.py
    reference = "reference.py:matmul"        # NumPy, beside this file: arrays in, array(s) out
    rtol = 0.01

    [[cases]]
    name = "small"
    shapes = [[128, 128], [128, 512]]        # of the kernel's arguments
    dtypes = "bfloat16"
    points = 2

    [[thresholds]]
    case = "small"
    latency_us = 12.5
    points = 3
    points_inside_band = 2                   # where the model cannot tell; by default all

A Python file has the same keys in a dict called ``assignment``, with functions as themselves.
``assignment.toml`` lists them all.  A wrong key, or one whose value makes no sense, is refused in
a sentence that names it, before any kernel is run; so is a reference that fails on its own cases.
"""

import dataclasses
import hashlib
import math
import pickle
import runpy
import tomllib
from collections.abc import Mapping, Sequence
from functools import cached_property
from pathlib import Path

import numpy as np

from trainium_edu.cli.limits import Limits
from trainium_edu.cli.refusals import sentence
from trainium_edu.cli.row import METRICS
from trainium_edu.exercises import plain_data
from trainium_edu.exercises.answers import said_of
from trainium_edu.exercises.request import Blank, Request
from trainium_edu.files import tables
from trainium_edu.neuroncore.recording.dtypes import DType, get_dtype
from trainium_edu.tools.schema import checked

__all__ = ["Assignment", "Case", "Threshold", "read"]


@dataclasses.dataclass(frozen=True)
class Case:
    """One call of the kernel, and what it should give."""

    name: str
    points: int
    rtol: float
    atol: float
    l2: float | None  #: the error's norm as a part of what is expected, instead of the two above
    options: Mapping  #: keywords of kernel and reference
    grid: tuple
    arguments: list[np.ndarray]
    expected: list[np.ndarray]  #: what the reference gives for them

    @property
    def key(self) -> str:
        """What it is called in a report."""
        return f"case {self.name}"

    @property
    def request(self) -> Request:
        """What the kernel is asked with: shapes and dtypes, and no number."""
        blanks = (Blank(a.shape, get_dtype(a.dtype).name) for a in self.arguments)
        return Request(tuple(blanks), tuple(self.options.items()), self.grid)

    @property
    def least_bytes(self) -> int:
        """The bytes of its arguments and of what the reference gives in their widest dtype."""
        width = max((a.itemsize for a in self.arguments), default=4)
        return sum(a.nbytes for a in self.arguments) + sum(e.size * width for e in self.expected)


@dataclasses.dataclass(frozen=True)
class Threshold:
    """What a case's latency, traffic or MFU has to reach, and the points for it."""

    case: str
    metric: str  #: a key of ``METRICS``
    value: float
    points: int
    points_inside_band: int

    @property
    def key(self) -> str:
        """What it is called in a report."""
        return f"{self.case}: {METRICS[self.metric]['asks'].format(self.value)}"


@dataclasses.dataclass(frozen=True)
class Assignment:
    """A checked specification, with its data drawn."""

    name: str
    kernel: str
    cases: list[Case]
    thresholds: list[Threshold]
    files: dict[str, bytes]  #: put beside the kernel's file
    own: set[Path]  #: the files that it is made of, which are no submissions
    forbidden: list[str]
    chip: str
    latency: str  #: "kernel", or "benchmark": with start and stop
    leaderboard: str  #: its case
    writes: list[int]  #: arguments that count as outputs
    limits: Limits
    digest: str  #: of all that a grade depends on but the kernel

    @cached_property
    def parts(self) -> dict[str, int]:
        """Points by key, cases first."""
        parts: list[Case | Threshold] = [*self.cases, *self.thresholds]
        return {part.key: part.points for part in parts}


_MOST_BYTES = 1 << 30  #: of a case's arrays, which stand in this machine's memory several times
_SCHEMA = tables(__file__)
_FORMATS = {"printable": str.isprintable, "callable": callable, "dtype": get_dtype}


def _beside(name: str, folder: Path, key: str) -> Path:
    """Return a file beside the specification, or in a folder there; no other travels with it."""
    path = folder / name
    if not path.resolve().is_relative_to(folder) or not path.is_file():
        raise ValueError(f"{key} names {name}, which is not a file beside this one; copy it here")
    return path


def _globals(path: Path) -> dict:
    """Run an instructor's Python file and return its names."""
    try:
        return runpy.run_path(str(path))
    except (Exception, SystemExit) as problem:
        why = said_of(problem, str(path), 200)
        raise ValueError(f"{path.name} cannot be used ({why})") from None


def _given(path: Path):
    """Return what a specification says, as it says it."""
    if path.suffix == ".py":
        return _globals(path).get("assignment")
    try:
        return tomllib.loads(path.read_text(encoding="utf-8-sig"))
    except (ValueError, RecursionError) as problem:
        raise ValueError(f"it is not TOML that can be read ({problem})") from None


def read(path: Path, *, salt: str = "") -> Assignment:
    """Read a specification, draw its data and compute what its reference expects.

    Parameters
    ----------
    path : Path
        ``.toml`` or ``.py``.
    salt : str
        Your own word: with it the numbers of all cases are others.

    Returns
    -------
    Assignment

    Raises
    ------
    FileNotFoundError
        If there is no such file.
    ValueError
        One sentence that names the key that is wrong.
    """
    path = Path(path)
    if not path.is_file():
        raise FileNotFoundError(f"there is no assignment {path}")
    try:
        return _assignment(path.resolve(), salt)
    except ValueError as problem:
        raise ValueError(f"{path.name}: {problem}") from None


def _assignment(path: Path, salt: str) -> Assignment:
    folder = path.parent
    given = checked(_given(path), _SCHEMA, _FORMATS) | {"folder": str(folder)}
    files = [_beside(name, folder, "files") for name in given["files"]]
    given |= {"files": {f.name: f.read_bytes() for f in files}, "own": {path, *files}}
    for key in ("reference", "inputs"):
        if isinstance(given[key], str):
            file, _, name = given[key].rpartition(":")
            given["own"].add(beside := _beside(file, folder, key))
            function = _globals(beside).get(name)
            if not callable(function):
                raise ValueError(f"{key} is {given[key]!r}, and {file} has no function {name!r}")
            given[key] = function
    cases = [_case(i, one, given, salt) for i, one in enumerate(given["cases"])]
    _differ([case.key for case in cases])
    names = [case.name for case in cases]
    thresholds = [_threshold(i, one, names) for i, one in enumerate(given["thresholds"])]
    _differ([threshold.key for threshold in thresholds])
    timed = [t.case for t in thresholds if t.metric == "latency_us"]
    board = given["leaderboard"] or [*timed, names[-1]][0]
    if board not in names:
        raise ValueError(f"leaderboard is {board!r}; it must be a case: {', '.join(names)}")
    if not any(case.points for case in cases) and not any(t.points for t in thresholds):
        raise ValueError("points: no case and no threshold gives any")
    asked = {key: given[key] for key in ("seconds", "submission_seconds", "memory_gib")}
    given |= {"name": given["name"] or path.stem, "leaderboard": board, "cases": cases}
    given |= {"thresholds": thresholds, "limits": Limits().but(**asked)}
    given["digest"] = _digest([path, *files], cases)
    return Assignment(**{f.name: given[f.name] for f in dataclasses.fields(Assignment)})


def _differ(keys: list[str]) -> None:
    """Raise if two parts of an assignment have the same key."""
    for key in keys:
        if keys.count(key) > 1:
            raise ValueError(sentence("assignment.twice", key=key))


def _case(i: int, found: Mapping, given: Mapping, salt: str) -> Case:
    """Check a case, draw its arrays, and ask the reference what they give."""
    where, shapes, dtypes = f"cases[{i}].", found["shapes"], found["dtypes"]
    if bool(shapes) == bool(given["inputs"]):
        state = "given, and so is inputs" if given["inputs"] else "missing"
        raise ValueError(sentence("assignment.one_of_both", where=where, state=state))
    if found["sizes"] and not given["inputs"]:
        raise ValueError(f"{where}sizes are for inputs, a function that makes the arrays")
    dtypes = [dtypes] if isinstance(dtypes, str) else dtypes
    kinds = [get_dtype(dtype) for dtype in dtypes] * (len(shapes) if len(dtypes) == 1 else 1)
    if shapes and len(kinds) != (count := len(shapes)):
        raise ValueError(f"{where}dtypes has {len(kinds)} of them, and there are {count} shapes")
    drawn = [*zip(shapes, kinds, strict=False)]
    size = sum(math.prod(shape) * dtype.itemsize for shape, dtype in drawn)
    if size > _MOST_BYTES:
        most = _MOST_BYTES
        raise ValueError(sentence("assignment.too_large", where=where, size=size, most=most))
    try:
        plain_data.dumps(found["options"])
    except plain_data.NotPlain as problem:
        raise ValueError(f"{where}options holds {problem}; a kernel gets plain data") from None
    name = found["name"] or str(i + 1)
    words = hashlib.sha256(salt.encode()).digest()[:8] if salt else b""
    rng = np.random.default_rng([found["seed"], *words])
    if given["inputs"]:
        arrays = _called("inputs", given, name, rng, **found["sizes"])
    else:
        arrays = [_array(rng, *about) for about in drawn]
    for number, array in enumerate(arrays, 1):
        try:
            get_dtype(array.dtype)
        except (TypeError, ValueError) as problem:
            raise ValueError(f"inputs: array {number} of case {name}: {problem}") from None
    outside = [i for i in given["writes"] if i >= len(arrays)]
    if outside:
        raise ValueError(f"writes has {outside[0]}, and case {name} has {len(arrays)} arguments")
    copies = [array.copy() for array in arrays]
    expected = _called("reference", given, name, *copies, **found["options"])
    rtol, atol, l2 = (given[k] if found[k] is None else found[k] for k in ("rtol", "atol", "l2"))
    points, options, grid = found["points"], found["options"], tuple(found["grid"])
    return Case(name, points, rtol, atol, l2, options, grid, arrays, expected)


def _threshold(i: int, found: Mapping, names: list) -> Threshold:
    where = f"thresholds[{i}]."
    metrics = [metric for metric in METRICS if found[metric] is not None]
    if len(metrics) != 1:
        raise ValueError(f"{where[:-1]} needs one of {', '.join(METRICS)}, and has {len(metrics)}")
    case = found["case"] or (names[0] if len(names) == 1 else "")
    if case not in names:
        had = f"is {case!r}" if case else "is missing"
        raise ValueError(f"{where}case {had}; the cases are {', '.join(names)}")
    (metric,), points, inside = metrics, found["points"], found["points_inside_band"]
    if inside is not None and inside > points:
        raise ValueError(f"{where}points_inside_band is {inside}, more than its {points} points")
    if inside is not None and "band" not in METRICS[metric]:
        raise ValueError(f"{where}points_inside_band makes no sense here: bytes have no band")
    return Threshold(case, metric, found[metric], points, points if inside is None else inside)


def _array(rng: np.random.Generator, shape: Sequence[int], dtype: DType) -> np.ndarray:
    """Draw normal numbers, or whole ones up to 4 for integers."""
    kind = np.dtype(dtype.storage).kind
    if kind in "iub":
        return rng.integers(-4 if kind == "i" else 0, 5, shape).astype(dtype.storage)
    return rng.standard_normal(shape, np.float32).astype(dtype.storage)


def _called(key: str, given: Mapping, case: str, /, *arguments, **keywords) -> list[np.ndarray]:
    """Call an instructor's function for a case; return its arrays."""
    try:
        found = given[key](*arguments, **keywords)
    except (Exception, SystemExit) as problem:
        said = said_of(problem, given["folder"], 200)
        raise ValueError(f"{key} fails in case {case} ({said})") from None
    arrays = [np.asarray(one) for one in (found if isinstance(found, tuple | list) else [found])]
    if any(array.dtype == object or not array.size for array in arrays):
        raise ValueError(f"{key} gives no numbers in case {case}; it returns arrays")
    return arrays


def _digest(files: list[Path], cases: list[Case]) -> str:
    """Return a hash of all that the specification says and brings."""
    hashed = hashlib.sha256()
    for file in files:
        hashed.update(file.read_bytes())
    for case in cases:
        hashed.update(pickle.dumps((case.arguments, case.expected)))
    return hashed.hexdigest()[:32]
