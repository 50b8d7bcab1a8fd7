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
from collections.abc import Callable, Mapping
from functools import cached_property
from pathlib import Path

import numpy as np

from trainium_edu.cli.limits import Limits
from trainium_edu.cli.refusals import sentence
from trainium_edu.exercises import plain_data
from trainium_edu.exercises.answers import said_of
from trainium_edu.exercises.request import Blank, Request
from trainium_edu.files import tables, write
from trainium_edu.neuroncore.recording.dtypes import get_dtype
from trainium_edu.tools.schema import checked

__all__ = ["METRICS", "Assignment", "Case", "Threshold", "read"]

#: What a threshold can bound → how a report says it.
METRICS = {
    "latency_us": "at most {:g} µs",
    "hbm_bytes": "at most {:,.0f} bytes to and from HBM",
    "hbm_times": "at most {:g} times the bytes of arguments and outputs",
    "mfu": "MFU of at least {:.1%}",
}


@dataclasses.dataclass(frozen=True)
class Case:
    """One call of the kernel, and what it should give."""

    name: str
    points: int
    rtol: float
    atol: float
    l2: float | None  #: the error's norm as a part of what is expected, instead of the two above
    seed: int
    shapes: tuple = ()
    dtypes: tuple = ()
    grid: tuple = ()
    options: Mapping = dataclasses.field(default_factory=dict)  #: keywords of kernel and reference
    sizes: Mapping = dataclasses.field(default_factory=dict)  #: keywords of the generator
    arguments: tuple = ()  #: the arrays, once drawn
    expected: tuple = ()  #: what the reference gives for them

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
        return f"{self.case}: {METRICS[self.metric].format(self.value)}"


@dataclasses.dataclass(frozen=True)
class Assignment:
    """A checked specification, with its data drawn."""

    name: str
    kernel: str
    cases: tuple[Case, ...]
    thresholds: tuple[Threshold, ...]
    files: tuple[Path, ...]  #: put beside the kernel's file
    own: frozenset[Path]  #: the files that it is made of, which are no submissions
    forbidden: tuple[str, ...]
    chip: str
    latency: str  #: "kernel", or "benchmark": with start and stop
    board: str  #: the case of the leaderboard
    writes: tuple[int, ...]  #: arguments that count as outputs
    limits: Limits
    digest: str  #: of all that a grade depends on but the kernel

    @cached_property
    def parts(self) -> dict[str, int]:
        """Points by key, cases first."""
        parts: tuple[Case | Threshold, ...] = (*self.cases, *self.thresholds)
        return {part.key: part.points for part in parts}

    def save(self, path: Path) -> None:
        """Write it for the processes that grade; only they may read such a file."""
        write(path, pickle.dumps(self))

    @staticmethod
    def load(path: Path) -> "Assignment":
        """Read what :meth:`save` wrote."""
        return pickle.loads(Path(path).read_bytes())


_MOST_BYTES = 1 << 30  #: of a case's arrays, which stand in this machine's memory several times
_SCHEMA = tables(__file__)
_FORMATS: dict[str, Callable] = {
    "printable": str.isprintable,
    "name": str.isidentifier,
    "callable": callable,
    "dtype": get_dtype,
}


def _beside(name: str, folder: Path, key: str) -> Path:
    """Return a file beside the specification, or in a folder there; no other travels with it."""
    path = folder / name
    if not path.resolve().is_relative_to(folder):
        raise ValueError(f"{key} names {name}, which does not stand beside this file; copy it here")
    if not path.is_file():
        raise ValueError(f"{key} names {name}, and there is no such file beside this one")
    return path


def _function(value, folder: Path, key: str) -> Callable:
    """Return a function: itself, or the one that "FILE.py:name" names."""
    if not isinstance(value, str):
        return value
    file, _, name = value.rpartition(":")
    found = _globals(_beside(file, folder, key)).get(name)
    if not callable(found):
        raise ValueError(f"{key} is {value!r}, and {file} has no function {name!r}")
    return found


def _globals(path: Path) -> dict:
    """Run an instructor's Python file and return its names."""
    try:
        return runpy.run_path(str(path))
    except (Exception, SystemExit) as problem:
        raise ValueError(
            f"{path.name} cannot be used ({said_of(problem, str(path), 200)})"
        ) from None


def _given(path: Path) -> dict:
    """Return what a specification says, as it says it."""
    if path.suffix == ".py":
        found = _globals(path).get("assignment")
        if not isinstance(found, Mapping):
            raise ValueError("a Python file needs a dict called assignment")
        return dict(found)
    try:
        return tomllib.loads(path.read_text(encoding="utf-8-sig"))
    except (tomllib.TOMLDecodeError, UnicodeDecodeError) as problem:
        raise ValueError(f"it is not TOML ({problem})") from None
    except RecursionError:
        raise ValueError("it is not TOML that can be read (brackets in too many others)") from None


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
    functions = {key: given[key] for key in ("reference", "inputs") if given[key] is not None}
    given["files"] = tuple(_beside(name, folder, "files") for name in given["files"])
    own = {path, *given["files"]}
    own |= {folder / f.rpartition(":")[0] for f in functions.values() if isinstance(f, str)}
    given.update({key: _function(value, folder, key) for key, value in functions.items()})
    cases = [_case(i, one, given) for i, one in enumerate(given["cases"])]
    names = [case.name for case in cases]
    for name in names:
        if names.count(name) > 1:
            raise ValueError(f"cases: two of them have the name {name!r}")
    cases = [_drawn(case, given, salt) for case in cases]
    thresholds = [_threshold(i, one, names) for i, one in enumerate(given["thresholds"])]
    keys = [threshold.key for threshold in thresholds]
    for i, key in enumerate(keys):
        if key in keys[:i]:
            raise ValueError(f"thresholds[{i}] says what another one says: {key}")
    timed = [t.case for t in thresholds if t.metric == "latency_us"]
    board = given["leaderboard"] or [*timed, names[-1]][0]
    if board not in names:
        raise ValueError(f"leaderboard is {board!r}; it must be a case: {', '.join(names)}")
    if not sum(case.points for case in cases) + sum(t.points for t in thresholds):
        raise ValueError("points: no case and no threshold gives any")
    asked = {key: given[key] for key in ("seconds", "submission_seconds", "memory_gib")}
    return Assignment(
        given["name"] or path.stem, given["kernel"], tuple(cases), tuple(thresholds),
        given["files"], frozenset(own), tuple(given["forbidden"]), given["chip"], given["latency"],
        board, tuple(given["writes"]), Limits().but(**asked), _digest(path, given, cases),
    )  # fmt: skip


def _case(i: int, found: Mapping, given: Mapping) -> Case:
    where = f"cases[{i}]."
    if bool(found["shapes"]) == bool(given["inputs"]):
        state = "given, and so is inputs" if given["inputs"] else "missing"
        raise ValueError(sentence("assignment.one_of_both", where=where, state=state))
    if found["sizes"] and not given["inputs"]:
        raise ValueError(f"{where}sizes are for inputs, a function that makes the arrays")
    shapes, dtypes = tuple(map(tuple, found["shapes"])), found["dtypes"]
    count, dtypes = len(shapes), (dtypes,) if isinstance(dtypes, str) else tuple(dtypes)
    if count and len(dtypes) not in (1, count):
        raise ValueError(f"{where}dtypes has {len(dtypes)} of them, and there are {count} shapes")
    dtypes = dtypes * count if len(dtypes) == 1 else dtypes
    size = sum(math.prod(shape) * get_dtype(dtype).itemsize
               for shape, dtype in zip(shapes, dtypes, strict=False))  # fmt: skip
    if size > _MOST_BYTES:
        most = _MOST_BYTES
        raise ValueError(sentence("assignment.too_large", where=where, size=size, most=most))
    try:
        plain_data.dumps(found["options"])
    except plain_data.NotPlain as problem:
        raise ValueError(f"{where}options holds {problem}; a kernel gets plain data") from None
    closeness = {k: given[k] if found[k] is None else found[k] for k in ("rtol", "atol", "l2")}
    name = found["name"] or str(i + 1)
    return Case(**{**found, **closeness, "name": name, "shapes": shapes, "dtypes": dtypes,
                   "grid": tuple(found["grid"])})  # fmt: skip


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
    if inside is not None and metric.startswith("hbm"):
        raise ValueError(f"{where}points_inside_band makes no sense here: bytes have no band")
    return Threshold(case, metric, found[metric], points, points if inside is None else inside)


def _drawn(case: Case, given: Mapping, salt: str) -> Case:
    """Draw a case's arrays, and ask the reference what they give."""
    words = hashlib.sha256(salt.encode()).digest()[:8] if salt else b""
    rng = np.random.default_rng([case.seed, *words])
    if given["inputs"]:
        arrays = _called("inputs", given, case, (rng,), case.sizes)
    else:
        arrays = [_array(rng, *about) for about in zip(case.shapes, case.dtypes, strict=True)]
    arrays = [np.asarray(a) for a in arrays]
    for i, array in enumerate(arrays):
        try:
            get_dtype(array.dtype)
        except (TypeError, ValueError) as problem:
            raise ValueError(f"inputs: array {i + 1} of {case.key}: {problem}") from None
    outside = [i for i in given["writes"] if i >= len(arrays)]
    if outside:
        raise ValueError(f"writes has {outside[0]}, and {case.key} has {len(arrays)} arguments")
    copies = tuple(array.copy() for array in arrays)
    expected = _called("reference", given, case, copies, case.options)
    return dataclasses.replace(case, arguments=tuple(arrays), expected=tuple(expected))


def _array(rng: np.random.Generator, shape: tuple, dtype: str) -> np.ndarray:
    """Draw normal numbers, or whole ones up to 4 for integers."""
    storage = get_dtype(dtype).storage
    if np.dtype(storage).kind in "iub":
        least = -4 if np.dtype(storage).kind == "i" else 0
        return rng.integers(least, 5, shape).astype(storage)
    return rng.standard_normal(shape, np.float32).astype(storage)


def _called(key: str, given: Mapping, case: Case, args: tuple, keywords: Mapping) -> list:
    """Call an instructor's function for a case; return its arrays."""
    try:
        found = given[key](*args, **keywords)
    except (Exception, SystemExit) as problem:
        said = said_of(problem, given["folder"], 200)
        raise ValueError(f"{key} fails in {case.key} ({said})") from None
    arrays = [np.asarray(one) for one in (found if isinstance(found, tuple | list) else [found])]
    for array in arrays:
        if array.dtype == object or not array.size:
            raise ValueError(f"{key} gives no numbers in {case.key}; it returns arrays")
    return arrays


def _digest(path: Path, given: Mapping, cases: list[Case]) -> str:
    """Return a hash of all that the specification says and brings."""
    hashed = hashlib.sha256(path.read_bytes())
    for file in given["files"]:
        hashed.update(file.read_bytes())
    for case in cases:
        for array in (*case.arguments, *case.expected):
            hashed.update(repr((array.shape, array.dtype.name)).encode())
            hashed.update(np.ascontiguousarray(array).tobytes())
    return hashed.hexdigest()[:32]
