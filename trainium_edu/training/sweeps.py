"""Sweeps: one job at every point of a grid, on any executor, in one table as results come.

Points are independent, so they go to processes here, or to any ``concurrent.futures.Executor``: a
Dask cluster's is ``client.get_executor()``, and begins points of lost workers again by itself.  A
point gives the same bits wherever it runs on one kind of processor: BLAS has one thread, and
nothing else depends on its neighbours.  What is done stays in a folder, a file per point, so a
sweep that was stopped goes on where it was.
"""

import hashlib
import itertools
import json
import threading
import warnings
from collections.abc import Callable, Mapping
from concurrent.futures import BrokenExecutor, Executor, as_completed
from dataclasses import asdict, dataclass, field, fields, replace
from pathlib import Path
from typing import Any

import numpy as np

from trainium_edu import files
from trainium_edu.neuroncore.execution.products import cpus, one_blas_thread
from trainium_edu.specs.arguments import short, whole
from trainium_edu.specs.signatures import checked
from trainium_edu.training.trainer import Job, fit
from trainium_edu.xla.parallel_compile import processes

__all__ = ["Row", "Table", "measure", "sweep"]

_turn = threading.Lock()  #: recording is not made for several threads: one point at a time


@dataclass(frozen=True, slots=True)
class Row:
    """One point of a sweep.

    Attributes
    ----------
    point : dict
        What varies, and its value here.
    result : dict
        What was measured; empty after an error.
    error : str
        Why there is no result; "" if there is one.
    """

    point: dict[str, Any]
    result: dict[str, Any] = field(default_factory=dict)
    error: str = ""


@dataclass(frozen=True, repr=False)
class Table:
    """Rows in the order of the grid: those that are there so far.

    Examples
    --------
    >>> rows = [Row({"seed": s, "lr": r}, {"loss": s + r}) for r in (0.5, 0.25) for s in (1, 3)]
    >>> Table(rows)
    seed    lr  loss
       1   0.5   1.5
       3   0.5   3.5
       1  0.25  1.25
       3  0.25  3.25
    >>> Table(rows).column("loss")
    [1.5, 3.5, 1.25, 3.25]
    """

    rows: list[Row]

    def __len__(self):
        return len(self.rows)

    def __repr__(self):
        cells = [row.point | row.result | ({"error": row.error} if row.error else {})
                 for row in self.rows]  # fmt: skip
        names = dict.fromkeys(name for one in cells for name in one)
        names = [n for n in names if not any(isinstance(one.get(n), list) for one in cells)]
        lines = [names, *([_cell(one.get(name)) for name in names] for one in cells)]
        widths = [max(map(len, column)) for column in zip(*lines, strict=True)]
        return "\n".join(
            "  ".join(f"{cell:>{w}}" for cell, w in zip(line, widths, strict=True)).rstrip()
            for line in lines
        )

    @checked
    def column(self, name: str) -> list:
        """Return what all rows have under a name; None where a row has an error."""
        if not any(name in row.point or name in row.result for row in self.rows):
            known = dict.fromkeys(key for row in self.rows for key in (*row.point, *row.result))
            raise ValueError(f"no row has {name!r}; rows have {', '.join(known)}")
        return [(row.point | row.result).get(name) for row in self.rows]


def _cell(value) -> str:
    if value is None:
        return "-"
    return f"{value:.4g}" if isinstance(value, float) else str(value)


def measure(job: Job, steps: int) -> dict[str, Any]:
    """Train a job, and return its last loss, test accuracy, all losses, and a sum of its weights.

    Equal sums (the first digits of SHA-256 over all weights) mean equal bits.
    """
    run = fit(job, steps, evaluate_every=steps)
    total = hashlib.sha256()
    for array in run.trainer.weights().values():
        total.update(np.ascontiguousarray(array).data)
    return {
        "loss": float(run.loss[-1]), "accuracy": run.accuracy[-1][1],
        "weights": total.hexdigest()[:12], "losses": run.loss.tolist(),
    }  # fmt: skip


@checked
def sweep(job: Job, over: Mapping, *, steps: int, executor: Executor | None = None,
          on_result: Callable | None = None, folder: str | Path | None = None,
          measure: Callable = measure) -> Table:  # fmt: skip
    """Train a job at every point of a grid, and return one table.

    Parameters
    ----------
    job : Job
        What all points share.
    over : dict of str to values
        Fields of the job and the values they take; the last one varies fastest.
    steps : int
        That each point takes.
    executor : concurrent.futures.Executor, optional
        What points run on, and who shuts it down is who made it; by default one process per CPU.
    on_result : callable (Row), optional
        Called with every row as it comes.
    folder : str or Path, optional
        Keeps finished points, which then are not run again.
    measure : callable (Job, steps) -> dict of plain data, optional
        What is done at a point, for executors with processes a function of a module.

    Returns
    -------
    Table
        A point that raised an error is a row with its message.

    Raises
    ------
    ValueError
        For a field that jobs do not have, no values, or a value twice.
    BrokenExecutor, KeyboardInterrupt
        If a worker was killed; on Ctrl-C.  Its attribute ``table`` has what is done.

    Examples
    --------
    >>> from concurrent.futures import ThreadPoolExecutor
    >>> with ThreadPoolExecutor() as executor:
    ...     table = sweep(Job(ranks=2, batch=8), {"seed": range(2)}, steps=1, executor=executor)
    >>> table.column("seed")
    [0, 1]
    """
    whole(steps, "steps", 1, 2**31)
    points, rows, todo = _points(over), {}, {}
    for i, point in enumerate(points):
        try:
            one = replace(job, **point)
        except (TypeError, ValueError) as problem:
            rows[i] = Row(point, error=str(problem))
            continue
        file = None if folder is None else Path(folder) / f"{_key(one, steps, measure)}.json"
        if file is not None and (result := _kept(file)) is not None:
            rows[i] = Row(point, result)
        else:
            todo[i] = one, file
    if folder is not None:
        Path(folder).mkdir(parents=True, exist_ok=True)
    pool, running = executor or processes(max(1, min(cpus(), len(todo)))), {}
    try:
        for i, (one, _) in todo.items():
            running[pool.submit(_at_point, measure, one, steps)] = i
        for future in as_completed(running):
            i = running[future]
            result, error = _outcome(future)
            if (file := todo[i][1]) is not None and not error:
                files.write(file, json.dumps([file.stem, result]))
            rows[i] = Row(points[i], result, error)
            if on_result is not None:
                on_result(rows[i])
    except BaseException as problem:
        table = problem.table = Table([rows[i] for i in sorted(rows)])  # type: ignore[attr-defined]
        if isinstance(problem, BrokenExecutor):
            waiting = "; ".join(_told(points[i]) for i in todo if i not in rows)
            problem.add_note(
                "a worker was killed (short of memory? a script without `if __name__ == "
                f"'__main__':`?) while one of these ran or waited: {waiting}; begin again with "
                "the same folder" + (" and a new executor" if executor else "")
            )
        stays = f"stay in {folder}" if folder is not None else "are in its attribute 'table'"
        problem.add_note(f"{len(table)} of {len(points)} points are done and {stays}")
        raise
    finally:
        busy = [future for future in running if not future.cancel() and not future.done()]
        if executor is None:
            for worker in list((getattr(pool, "_processes", None) or {}).values()) if busy else ():
                worker.terminate()
            pool.shutdown(cancel_futures=True)
    return Table([rows[i] for i in sorted(rows)])


def _outcome(future) -> tuple[dict, str]:
    """Return what a point gave, and what went wrong on the way; raise if its pool is broken."""
    try:
        return future.result()
    except BrokenExecutor:
        raise
    except Exception as problem:  # of the executor: Dask has tried it again
        return {}, f"{type(problem).__name__}: {problem}"


def _at_point(work, job, steps) -> tuple[dict, str]:
    """Return what a point gives, and what went wrong."""
    try:
        with _turn, one_blas_thread():
            return json.loads(json.dumps(work(job, steps))), ""
    except Exception as problem:
        return {}, f"{type(problem).__name__}: {problem}"


def _points(over: Mapping) -> list[dict[str, Any]]:
    """Return the grid, the last name varying fastest."""
    known = [one.name for one in fields(Job)]
    if odd := [name for name in over if name not in known]:
        raise ValueError(f"over has {short(odd[0])}, which no job has; use {', '.join(known)}")
    values = {name: list(some) for name, some in over.items()}
    for name, some in values.items():
        if not some or len(set(map(repr, some))) < len(some):
            told = "no values" if not some else "a value twice"
            raise ValueError(f"over[{name!r}] has {told}; give each value once")
    return [dict(zip(values, one, strict=True)) for one in itertools.product(*values.values())]


def _key(job: Job, steps: int, work: Callable) -> str:
    """Return the name under which a point is kept."""
    named = f"{getattr(work, '__module__', '')}.{getattr(work, '__qualname__', repr(work))}"
    said = json.dumps([asdict(job), steps, named], sort_keys=True, default=str)
    return hashlib.sha256(said.encode()).hexdigest()[:24]


def _kept(path: Path) -> dict | None:
    """Return the result that a file keeps; None without one."""
    if not path.exists():
        return None
    try:
        key, result = json.loads(path.read_text(encoding="utf-8"))
    except (OSError, ValueError, TypeError):
        key = result = None
    if key == path.stem:
        return result
    warnings.warn(f"{path} is damaged; its point runs again", stacklevel=3)
    return None


def _told(point: Mapping) -> str:
    return " ".join(f"{name}={value}" for name, value in point.items()) or "the job as it is"
