"""Grade one kernel file against an assignment: values, latency with its band, traffic, MFU.

The file is imported in a process of its own, which learns shapes and dtypes, and never a number:
neither the arguments, nor the reference, nor a threshold.  It returns the kernel's recorded
program.  Here its instructions are checked and computed again, on the cases' arrays, and
timed here; so a file that changes its own copy of this package, or its clock, changes nothing that
counts.  ``python -m trainium_edu.cli.grade_one`` calls :func:`grade_file`.
"""

import ast
import dataclasses
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from trainium_edu.cli.apart import Apart, Raised, Stopped
from trainium_edu.cli.assignment import Assignment, Case, Threshold
from trainium_edu.cli.limits import Limits, Unreadable, read_text
from trainium_edu.cli.refusals import sentence
from trainium_edu.cli.row import Row, said_of
from trainium_edu.exercises.cells import stated
from trainium_edu.exercises.exercise import Grade
from trainium_edu.exercises.leaderboard import FIGURES, Entry
from trainium_edu.exercises.request import measured
from trainium_edu.files import write
from trainium_edu.neuroncore.advice.evidence import several
from trainium_edu.neuroncore.run import Run
from trainium_edu.nki.chips import chip_named
from trainium_edu.nki.published import device_ns
from trainium_edu.specs.errors import NkiValidationError

__all__ = ["Figures", "Rejected", "difference", "grade_file", "judge", "reach", "read_source",
           "uses"]  # fmt: skip

_MOST_SOURCE = 1 << 20
_MOST_ADVICE, _MOST_CHARACTERS = 3, 800
_PREFIXES = ("neuronxcc.nki.", "trainium_edu.nki.", "nki.")
_USUAL = {"nl": "language", "nisa": "isa", "ncc": "compiler", "np": "numpy"}


class Rejected(Exception):
    """All of the file is rejected: the status of its grades, and why in a sentence."""


@dataclass(frozen=True, slots=True)
class Figures:
    """The time, traffic and MFU of a right kernel in one case."""

    latency_us: float
    low_us: float
    high_us: float
    hbm_bytes: int
    hbm_times: float  #: traffic, as a multiple of the bytes of arguments and outputs
    mfu: float
    mfu_low: float
    mfu_high: float
    instructions: int

    @classmethod
    def of(cls, run: Run, case: Case, latency: str) -> "Figures":
        """Take the figures of a run.

        Parameters
        ----------
        run : Run
        case : Case
        latency : {"kernel", "benchmark"}
            The makespan alone, or with the start and stop that ``nki.benchmark`` reports too.
        """
        band, timeline = run.band, run.timeline
        times = {"middle": band.nominal_ns, "low": band.low_ns, "high": band.high_ns}
        mfu = [timeline.mfu * band.nominal_ns / ns if ns else 0.0 for ns in times.values()]
        if latency == "benchmark":
            times = {which: device_ns(ns, which) for which, ns in times.items()}
        moved, (middle, low, high) = int(timeline.hbm_bytes), (ns / 1e3 for ns in times.values())
        return cls(middle, low, high, moved, moved / max(case.least_bytes, 1), mfu[0], mfu[2],
                   mfu[1], len(run.program))  # fmt: skip


#: The best and the worst end of the band of a metric that has one.
_ENDS = {"latency_us": ("low_us", "high_us"), "mfu": ("mfu_high", "mfu_low")}


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

    def no(status, reason, run=None):
        return Grade(0, case.points, status, reason), run

    try:
        recorded, passes = ask(case.request)
        spec, writes = chip_named(assignment.chip), assignment.writes
        run = measured(recorded, *case.arguments, passes=passes, writes=writes, spec=spec)
    except NkiValidationError as problem:
        return no("error", f"the chip refuses it: {problem}")
    except MemoryError:
        return no("stopped", "it needs more memory than the assignment allows")
    except ValueError as problem:
        return no("error", str(problem))
    if not run.outputs:
        return no("wrong", sentence("grade_kernel.no_output"), run)
    said = difference(run.outputs, case.expected, case.rtol, case.atol, case.l2)
    if said:
        return no("wrong", said, run)
    return Grade(case.points, case.points, "full"), run


def difference(
    outputs: Iterable, expected: Iterable, rtol: float, atol: float, l2: float | None = None
) -> str:
    """Return how outputs differ from what is expected, in a sentence; empty where they do not.

    A number is right if it is within ``atol + rtol * abs(expected)``, and NaN where NaN is
    expected; or with `l2`, an output is right if the norm of its error is within that part of the
    norm of what is expected.
    """
    outputs, expected = list(outputs), list(expected)
    if len(outputs) != len(expected):
        return f"it returns {several(len(outputs), 'output')}; {len(expected)} expected"
    for i, (out, wanted) in enumerate(zip(outputs, expected, strict=True), 1):
        which = f"output {i}" if len(outputs) > 1 else "the output"
        if out.shape != wanted.shape:
            return f"{which} has shape {out.shape}; {wanted.shape} expected"
        found, true = np.asarray(out, np.float64), np.asarray(wanted, np.float64)
        with np.errstate(invalid="ignore", over="ignore"):
            right = np.isclose(found, true, rtol=rtol, atol=atol, equal_nan=True)
            off = np.linalg.norm(found - true) / np.maximum(np.linalg.norm(true), 1e-300)
        if right.all() if l2 is None else off <= l2:
            continue
        empty = np.isnan(found) & ~np.isnan(true)
        if l2 is not None and not empty.any():
            return f"the error of {which} is {off:.3g} of it, in the L2 norm; {l2:g} is allowed"
        wrong = empty if empty.any() else ~right
        place = tuple(np.argwhere(wrong)[0].tolist())
        about = {"wrong": int(wrong.sum()), "size": out.size, "which": which, "place": place}
        if empty.any():
            return sentence("grade_kernel.empty", **about)
        about |= {"found": found[place], "true": true[place], "rtol": rtol, "atol": atol}
        return sentence("grade_kernel.wrong", **about)
    return ""


def reach(threshold: Threshold, figures: Figures | None, *, right: bool = True) -> Grade:
    """Return the points for a threshold.

    Parameters
    ----------
    threshold : Threshold
    figures : Figures or None
        Of its case; None where the program could not be timed.
    right : bool
        Whether the kernel is right in all cases: a fast wrong kernel earns nothing.

    Returns
    -------
    Grade
        Its status is "inside the band" where the band holds the threshold, so that the model
        cannot tell; the assignment says what that is worth.
    """
    most = threshold.points
    if figures is None or not right:
        return Grade(0, most, "wrong", "counts only for a kernel that is right in every case")
    metric = threshold.metric
    said = said_of(dataclasses.asdict(figures), metric)
    sign = -1 if metric == "mfu" else 1  # the more, the better
    ends = (metric, *_ENDS.get(metric, (metric, metric)))
    found, better, worse = (sign * getattr(figures, name) for name in ends)
    value = sign * threshold.value
    if worse <= value:
        return Grade(most, most, "full", said)
    if better > value:
        return Grade(0, most, "wrong", said)
    side, points = "reaches" if found <= value else "misses", threshold.points_inside_band
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
    known = {name: _full(name, called) for name in names}
    nodes = sorted((n for n in ast.walk(tree) if hasattr(n, "lineno")), key=lambda n: n.lineno)
    for node in nodes:
        used = []
        if isinstance(node, ast.Import | ast.ImportFrom):
            place = f"{node.module}." if isinstance(node, ast.ImportFrom) else ""
            for alias in node.names:
                root = alias.name if place or alias.asname else alias.name.partition(".")[0]
                called[alias.asname or root] = place + root
                used.append(_full(place + alias.name, {}))
        elif isinstance(node, ast.Attribute | ast.Name):
            used = [_full(ast.unparse(node), called)]
        elif isinstance(node, ast.Call) and len(node.args) > 1:  # getattr(nl, "matmul")
            which = getattr(node.args[1], "value", None)
            used = [_full(f"{ast.unparse(node.args[0])}.{which}", called)]
        for name, full in known.items():
            if any(f"{chain}.".startswith(f"{full}.") for chain in used):
                return f"line {node.lineno} uses {name}"
    return ""


def _full(chain: str, called: Mapping) -> str:
    """Return a chain by its module's own name, the interface's prefix taken off."""
    first, dot, rest = chain.partition(".")
    whole = f"{called.get(first, first)}{dot}{rest}"
    prefix = next(filter(whole.startswith, _PREFIXES), "")
    return whole.removeprefix(prefix)


def read_source(path: Path) -> str:
    """Read a kernel file.

    Raises
    ------
    Unreadable
        With the reason in words.
    """
    if path.suffix == ".ipynb":
        raise Unreadable("a notebook; a Python file with the kernel is asked for")
    text = read_text(path, "a Python file")
    if len(text) > _MOST_SOURCE:
        raise Unreadable("larger than 1 MB; a kernel file is a page or two")
    return text


class _Kernel(Apart):
    """A kernel file in its own process."""

    def __init__(self, name: str, source: str, assignment: Assignment, limits: Limits,
                 folder: Path, walls: bool):  # fmt: skip
        place = folder / "submission"  # not where Python looks first: a file may be called numpy.py
        place.mkdir()
        write(place / name, source)
        for path in assignment.files:
            write(place / path.name, path.read_bytes())
        home = str(folder / ".home")
        super().__init__("kernel_call", folder, limits, walls=walls, TRAINIUM_EDU_HOME=home)
        self._load = str(place / name), assignment.kernel, assignment.chip

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
    source = read_source(path)
    row.lesson = assignment.name
    row.states(stated(source, "student") or "")
    try:
        if used := _parsed(source, assignment.forbidden):
            raise Rejected("error", f"{used}, which this assignment forbids")
        with _Kernel(path.name, source, assignment, limits, folder, row.has_walls) as kernel:
            kernel.load()
            figures = _grade_cases(assignment, kernel, row, say)
    except Rejected as all_of_it:
        for key, points in assignment.parts.items():
            row.add(key, Grade(0, points, *all_of_it.args))
        return
    right = all(row.exercises[case.key]["status"] == "full" for case in assignment.cases)
    for threshold in assignment.thresholds:
        row.add(threshold.key, reach(threshold, figures.get(threshold.case), right=right))
    row.figures = {case: dataclasses.asdict(found) for case, found in figures.items()}
    if right:
        name, best = stated(source, "pseudonym") or row.student or path.stem, row.figures
        best = {field: best[assignment.board][field] for field in FIGURES}
        entry = Entry(assignment.name, assignment.board, _plain(name)[:40], **best)
        row.leaderboard = dataclasses.asdict(entry)


def _parsed(source, forbidden):
    try:
        return uses(source, forbidden)
    except SyntaxError as problem:
        reason = f"line {problem.lineno}: SyntaxError: {problem.msg}"
    except (ValueError, RecursionError, MemoryError) as problem:
        reason = f"it cannot be read as Python ({type(problem).__name__})"
    raise Rejected("error", reason)


def _plain(text: str) -> str:
    """Return text, some of which a submission may have chosen, as one short printable line."""
    return "".join(c for c in " ".join(text.split()) if c.isprintable())[:_MOST_CHARACTERS]


def _grade_cases(assignment: Assignment, kernel: _Kernel, row: Row, say) -> dict[str, Figures]:
    figures: dict[str, Figures] = {}
    for case in assignment.cases:
        try:
            grade, run = judge(case, kernel.record, assignment)
            if run is not None:
                figures[case.name] = Figures.of(run, case, assignment.latency)
                if case.name == assignment.board:
                    row.advice = [_plain(str(one)) for one in run.advice[:_MOST_ADVICE]]
        except Stopped as stop:
            grade = Grade(0, case.points, "stopped", str(stop))
            kernel.load()  # in a new process, for the next case
        except Exception as problem:  # a program can be forged
            said = f"its program cannot be issued again ({type(problem).__name__}: {problem})"
            grade = Grade(0, case.points, "error", said)
        row.add(case.key, dataclasses.replace(grade, reason=_plain(grade.reason)))
        say(row)
    return figures
