"""Grade one kernel file against an assignment: values, latency with its band, traffic, MFU.

The file is imported in a process of its own, which learns shapes and dtypes, and never a number:
neither the arguments, nor the reference, nor a threshold.  It returns the kernel's recorded
program.  Here its instructions are checked and computed again, on the cases' arrays, and
timed here; so a file that changes its own copy of this package, or its clock, changes nothing that
counts.  ``python -m trainium_edu.cli.grade_one`` calls :func:`grade_file`.
"""

import ast
import dataclasses
import operator
from collections.abc import Callable, Iterable, Mapping
from pathlib import Path
from typing import Any

import numpy as np

from trainium_edu.cli.apart import Apart, Raised, Stopped
from trainium_edu.cli.assignment import Assignment, Case, Threshold
from trainium_edu.cli.limits import Limits, Unreadable, read_text
from trainium_edu.cli.refusals import sentence
from trainium_edu.cli.row import METRICS, Row, plain
from trainium_edu.exercises.answers import said_of
from trainium_edu.exercises.cells import stated
from trainium_edu.exercises.exercise import Grade
from trainium_edu.exercises.leaderboard import FIGURES
from trainium_edu.exercises.request import measured
from trainium_edu.files import write
from trainium_edu.neuroncore.advice.evidence import several
from trainium_edu.neuroncore.run import Run
from trainium_edu.nki.chips import chip_named
from trainium_edu.nki.published import device_ns
from trainium_edu.specs.errors import NkiValidationError

__all__ = ["Rejected", "difference", "figures_of", "grade_file", "judge", "reach", "uses"]

_MOST_SOURCE = 1 << 20
_MOST_ADVICE = 3
_PREFIXES = ("neuronxcc.nki.", "trainium_edu.nki.", "nki.")
_USUAL = {"nl": "language", "nisa": "isa", "ncc": "compiler", "np": "numpy"}


class Rejected(Exception):
    """All of the file is rejected: the status of its grades, and why in a sentence."""


def figures_of(run: Run, case: Case, latency: str) -> dict[str, float]:
    """Return the time, traffic and MFU of a kernel in one case, by the names of a row.

    Parameters
    ----------
    run : Run
    case : Case
    latency : {"kernel", "benchmark"}
        The makespan alone, or with the start and stop that ``nki.benchmark`` reports too.
    """
    band, timeline, moved = run.band, run.timeline, int(run.timeline.hbm_bytes)
    ns = {"middle": band.nominal_ns, "low": band.low_ns, "high": band.high_ns}
    mfu = {end: timeline.mfu * band.nominal_ns / time if time else 0.0 for end, time in ns.items()}
    if latency == "benchmark":
        ns = {end: device_ns(time, end) for end, time in ns.items()}
    return {
        "latency_us": ns["middle"] / 1e3,
        "low_us": ns["low"] / 1e3,
        "high_us": ns["high"] / 1e3,
        "hbm_bytes": moved,
        "hbm_times": moved / max(case.least_bytes, 1),
        "mfu": mfu["middle"],
        "mfu_low": mfu["high"],
        "mfu_high": mfu["low"],
        "instructions": len(run.program),
    }


def judge(case: Case, ask: Callable, assignment: Assignment) -> tuple[Grade, Run | None]:
    """Grade a kernel's program: issue it again and compare its outputs with the reference.

    Parameters
    ----------
    case : Case
    ask : callable
        Takes a Request; returns what the kernel recorded, and the older compiler's passes that it
        goes through (as ``nki.run`` takes them); or raises ValueError with a sentence.
    assignment : Assignment

    Returns
    -------
    grade : Grade
    run : Run or None
        None where the program could not be issued again.
    """
    run, status = None, "error"
    try:
        recorded, passes = ask(case.request)
        spec, writes = chip_named(assignment.chip), assignment.writes
        run = measured(recorded, *case.arguments, passes=passes, writes=writes, spec=spec)
        reason = difference(run.outputs, case.expected, case.rtol, case.atol, case.l2)
        status = "wrong" if reason else "full"
    except NkiValidationError as problem:
        reason = f"the chip refuses it: {problem}"
    except MemoryError:
        status, reason = "stopped", "it needs more memory than the assignment allows"
    except ValueError as problem:
        reason = str(problem)
    return Grade(case.points if status == "full" else 0, case.points, status, reason), run


def difference(
    outputs: Iterable, expected: Iterable, rtol: float, atol: float, l2: float | None = None
) -> str:
    """Return how outputs differ from what is expected, in a sentence; empty where they do not.

    A number is right if it is within ``atol + rtol * abs(expected)``, and NaN where NaN is
    expected; or with `l2`, an output is right if the norm of its error is within that part of the
    norm of what is expected.
    """
    outputs, expected = list(outputs), list(expected)
    if not outputs:
        return sentence("grade_kernel.no_output")
    if len(outputs) != len(expected):
        return f"it returns {several(len(outputs), 'output')}; {len(expected)} expected"
    for i, (out, wanted) in enumerate(zip(outputs, expected, strict=True), 1):
        which = f"output {i}" if len(outputs) > 1 else "the output"
        if out.shape != wanted.shape:
            return f"{which} has shape {out.shape}; {wanted.shape} expected"
        found, true = np.asarray(out, np.float64), np.asarray(wanted, np.float64)
        wrong, key = np.isnan(found) & ~np.isnan(true), "grade_kernel.empty"
        if not wrong.any():
            key = "grade_kernel.wrong"
            with np.errstate(invalid="ignore", over="ignore"):
                wrong = ~np.isclose(found, true, rtol, atol, equal_nan=True)
                off = np.linalg.norm(found - true) / np.maximum(np.linalg.norm(true), 1e-300)
            if l2 is not None and not off <= l2:
                return sentence("grade_kernel.l2", off=off, which=which, l2=l2)
            if l2 is not None or not wrong.any():
                continue
        place = tuple(np.argwhere(wrong)[0].tolist())
        values = {"wrong": int(wrong.sum()), "size": out.size, "which": which, "place": place}
        values |= {"found": found[place], "true": true[place], "rtol": rtol, "atol": atol}
        return sentence(key, **values)
    return ""


def reach(threshold: Threshold, figures: Mapping | None, *, right: bool = True) -> Grade:
    """Return the points for a threshold.

    Parameters
    ----------
    threshold : Threshold
    figures : dict or None
        Of its case; None where the program could not be timed.
    right : bool
        Whether the kernel is right in all cases: a fast wrong kernel earns nothing.

    Returns
    -------
    Grade
        Its status is "inside the band" where the band holds the threshold, so that the model
        cannot tell; the assignment says what that is worth.
    """
    most, metric = threshold.points, threshold.metric
    if figures is None or not right:
        return Grade(0, most, "wrong", "counts only for a kernel that is right in every case")
    said = METRICS[metric]["said"].format(**figures)
    reaches = operator.ge if metric == "mfu" else operator.le
    best, worst = METRICS[metric].get("band", (metric, metric))
    if reaches(figures[worst], threshold.value):
        return Grade(most, most, "full", said)
    if not reaches(figures[best], threshold.value):
        return Grade(0, most, "wrong", said)
    side = "reaches" if reaches(figures[metric], threshold.value) else "misses"
    points = threshold.points_inside_band
    reason = sentence("grade_kernel.inside_band", said=said, side=side, points=points, most=most)
    return Grade(points, most, "inside the band", reason)


def uses(source: str, names: Iterable[str]) -> str:
    r"""Return which of some names a source uses first, and in which line; empty if none.

    Parameters
    ----------
    source : str
    names : iterable of str
        ``"nl.matmul"``, ``"numpy"``: with all below it, by whatever name it is imported.

    Raises
    ------
    SyntaxError
        If it is not Python.

    Examples
    --------
    >>> uses("import neuronxcc.nki.language as lang\nlang.matmul(x, y)", ["nl.matmul"])
    'line 2 uses nl.matmul'
    """
    tree = ast.parse(source)
    called = dict(_USUAL)
    full_names = {name: _full(name, called) for name in names}
    nodes = sorted((n for n in ast.walk(tree) if hasattr(n, "lineno")), key=lambda n: n.lineno)
    for node in nodes:
        used: list[str] = []
        match node:
            case ast.Import(aliases):
                used = [alias.name for alias in aliases]
                called |= {alias.asname: alias.name for alias in aliases if alias.asname}
            case ast.ImportFrom(module, aliases):
                used = [f"{module}.{alias.name}" for alias in aliases]
                called |= {a.asname or a.name: f"{module}.{a.name}" for a in aliases}
            case ast.Attribute() | ast.Name():
                used = [ast.unparse(node)]
            case ast.Call(args=[owner, ast.Constant(str(name)), *_]):  # getattr(nl, "matmul")
                used = [f"{ast.unparse(owner)}.{name}"]
        chains = [f"{_full(chain, called)}." for chain in used]
        for name, full in full_names.items():
            if any(chain.startswith(f"{full}.") for chain in chains):
                return f"line {node.lineno} uses {name}"
    return ""


def _full(chain: str, called: Mapping) -> str:
    """Return a chain by its module's own name, the interface's prefix taken off."""
    first, dot, rest = chain.partition(".")
    whole = f"{called.get(first, first)}{dot}{rest}"
    prefix = next(filter(whole.startswith, _PREFIXES), "")
    return whole.removeprefix(prefix)


class _Kernel(Apart):
    """A kernel file in its own process."""

    def __init__(self, *load: str, **how: Any):
        super().__init__("kernel_call", **how)
        self._load = load

    def load(self):
        """Import the file, in a new process; raise Rejected if that fails."""
        self.stop()
        try:
            self.ask("load", *self._load, doing="importing it")
        except (Stopped, Raised) as problem:
            status = "stopped" if isinstance(problem, Stopped) else "error"
            raise Rejected(status, f"its file: {problem}") from None

    def record(self, request):
        """Return what the kernel records, and the passes that it goes through."""
        match self.ask("ask", request):
            case recorded, (True | None | ()) as passes:
                return recorded, passes
        raise self.stopped()


def grade_file(
    path: Path, row: Row, assignment: Assignment, *, limits: Limits, folder: Path, say: Callable
) -> None:
    """Grade a kernel file.

    Parameters
    ----------
    path : Path
    row : Row
        States the student, by default whom the file names in a line ``student = "..."``; grades,
        figures, advice and the entry of a leaderboard go there.
    assignment : Assignment
    limits : Limits
    folder : Path
        Where its process runs.
    say : callable
        Called with the row as each case is graded.

    Raises
    ------
    Unreadable
        If there is no such file, or it is not text.
    """
    if path.suffix == ".ipynb":
        raise Unreadable("a notebook; a Python file with the kernel is asked for")
    source = read_text(path, "a Python file")
    if len(source) > _MOST_SOURCE:
        raise Unreadable("larger than 1 MB; a kernel file is a page or two")
    row.lesson = assignment.name
    row.states(stated(source, "student") or "")
    try:
        _refuse(source, assignment.forbidden)
        place = folder / "submission"  # not where Python looks first: a file may be called numpy.py
        for name, content in {path.name: source.encode(), **assignment.files}.items():
            write(place / name, content, makes_folder=True)
        load = str(place / path.name), assignment.kernel, assignment.chip
        with _Kernel(*load, folder=folder, limits=limits, walls=row.has_walls) as kernel:
            kernel.load()
            for case in assignment.cases:
                row.add(case.key, _grade_case(case, assignment, kernel, row))
                say(row)
    except Rejected as all_of_it:
        row.figures = {}
        for key, points in assignment.parts.items():
            row.add(key, Grade(0, points, *all_of_it.args))
        return
    right = all(row.exercises[case.key]["status"] == "full" for case in assignment.cases)
    for threshold in assignment.thresholds:
        row.add(threshold.key, reach(threshold, row.figures.get(threshold.case), right=right))
    if right:
        best = row.figures[assignment.leaderboard]
        entry = {"case": assignment.leaderboard, **{field: best[field] for field in FIGURES}}
        row.enter(assignment.name, entry, stated(source, "pseudonym") or "")


def _refuse(source, forbidden):
    """Raise Rejected if a source uses forbidden names, or is not Python."""
    try:
        used = uses(source, forbidden)
    except (SyntaxError, ValueError, RecursionError, MemoryError) as problem:
        raise Rejected("error", said_of(problem, "<unknown>")) from None
    if used:
        raise Rejected("error", f"{used}, which this assignment forbids")


def _grade_case(case: Case, assignment: Assignment, kernel: _Kernel, row: Row) -> Grade:
    """Grade one case; its figures, and advice on the leaderboard's, go into the row."""
    try:
        grade, run = judge(case, kernel.record, assignment)
        if run is not None:
            row.figures[case.name] = figures_of(run, case, assignment.latency)
            if case.name == assignment.leaderboard:
                row.advice = [plain(str(advice)) for advice in run.advice[:_MOST_ADVICE]]
        return dataclasses.replace(grade, reason=plain(grade.reason))
    except Stopped as stop:
        kernel.load()  # in a new process, for the next case
        return Grade(0, case.points, "stopped", str(stop))
    except Exception as problem:  # a program can be forged
        said = f"its program cannot be issued again ({type(problem).__name__}: {problem})"
        return Grade(0, case.points, "error", plain(said))
