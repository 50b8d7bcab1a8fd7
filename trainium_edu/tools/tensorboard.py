"""Write a run's curves as TensorBoard event files, while it trains.

``fit(job, 100, on_step=TensorBoard("logs"))``, and ``tensorboard --logdir logs`` shows them: loss,
learning rate, accuracy where it was tested, the times of the emulated machine, and (under Text)
where a step's time goes.  TensorBoard's own writer makes the files; it comes with the extra
``[tensorboard]``.  ``TensorBoard("logs").profile(executable)`` writes of any executable how long it
takes, and its longest operations, each with its line, its busiest engine and the roofline's bound.
TensorBoard shows a trace only with one more package; ``perfetto`` writes one.
"""

import re
import time
from collections.abc import Mapping
from functools import partial
from os import PathLike, fspath
from typing import Any

from trainium_edu import aside
from trainium_edu.files import tables
from trainium_edu.specs.signatures import checked
from trainium_edu.xla.executable import Executable

__all__ = ["TensorBoard", "text"]

_WORDS = tables(__file__)
_LONGEST = 20  #: operations on a page


class TensorBoard:
    """A callback of ``fit`` that writes scalars to a folder; its file is whole after every step.

    Parameters
    ----------
    folder : str or Path
        Is made if it is not there; a run that goes on adds a file to it.

    Raises
    ------
    ModuleNotFoundError
        Without TensorBoard; the sentence says how to install it.
    """

    @checked
    def __init__(self, folder: str | PathLike):
        try:
            writer = aside.load("tensorboard.summary.writer.event_file_writer")
            self._event = aside.load("tensorboard.compat.proto.event_pb2").Event
            self._summary = aside.load("tensorboard.compat.proto.summary_pb2").Summary
            self._text = aside.load("tensorboard.plugins.text.summary_v2").text_pb
        except ModuleNotFoundError as missing:
            raise ModuleNotFoundError(
                "TensorBoard is not installed, and its own writer makes the files; "
                "install it: pip install 'trainium_edu[tensorboard]'"
            ) from missing
        self._new_file = partial(writer.EventFileWriter, fspath(folder))
        self._writer: Any = None
        self._run: Any = None
        self._report = self._executable = None
        self._told: set[int] = set()  #: graphs that are written, by their fingerprints

    def begin(self, run) -> None:
        """Begin a file for a run, whose accuracy and times are written too; ``fit`` calls it."""
        self._run = run
        self._writer = self._new_file()

    def end(self) -> None:
        """End the file, and the writer's thread; ``fit`` calls it, however the run ends."""
        if self._writer is not None:
            self._writer.close()

    def __call__(self, step) -> None:
        """Write what one step gave.

        Parameters
        ----------
        step : Step
        """
        scalars = {name: getattr(step, key) for key, name in _WORDS["step"].items()}
        scalars["replicas agree"] = step.agree
        tested = self._run.accuracy
        if tested and tested[-1][0] == step.number + 1:
            scalars["accuracy"] = tested[-1][1]
        report = self._newest_report(self._run.trainer)
        for key, (name, factor) in _WORDS["report"].items() if report is not None else ():
            scalars[name] = getattr(report, key) * factor
        known = {name: float(value) for name, value in scalars.items() if value is not None}
        values = [self._summary.Value(tag=n, simple_value=value) for n, value in known.items()]
        self._add(step.number, summary=self._summary(value=values))
        if isinstance(self._executable, Executable):
            self.profile(self._executable, step.number)
        self._writer.flush()

    @checked
    def profile(self, executable: Executable, step: int = 0) -> None:
        """Write where the time of one execution of a compiled graph goes, once for each graph.

        Parameters
        ----------
        executable : Executable
            Is timed if it was not.
        step : int
            From which on it ran.
        """
        if executable.graph.fingerprint in self._told:
            return
        if self._writer is None:
            self._writer = self._new_file()
        page = self._text(f"where the time goes/from step {step}", text(executable))
        self._add(step, summary=page)
        self._told.add(executable.graph.fingerprint)
        self._writer.flush()

    def _add(self, step: int = 0, **what) -> None:
        self._writer.add_event(self._event(wall_time=time.time(), step=step, **what))

    def _newest_report(self, trainer):
        """Return the report of the newest graph; other steps of it take as long."""
        if trainer.device.executable is not self._executable:
            self._executable = trainer.device.executable
            self._report = getattr(trainer, "report", None)
        return self._report


@checked
def text(executable: Executable) -> str:
    """Return a page in Markdown: the step's time, and its longest operations.

    Parameters
    ----------
    executable : Executable

    Examples
    --------
    >>> from trainium_edu.xla.graph import Graph, as_type
    >>> from trainium_edu.xla.operations import apply, parameter
    >>> x = parameter(0, as_type((128, 512), "float32"), "x")
    >>> page = text(Executable(Graph("tiny", (x,), (apply("exp", x),)))).splitlines()
    >>> [cell.strip() for cell in page[4].split("|")[1:4:2]]
    ['exp', '4.5']
    """
    done = executable.operations()
    whole = executable.makespan_ns
    working = (one for one in done if one.section is not None)
    longest = sorted(working, key=lambda one: one.start_ns - one.end_ns)[:_LONGEST]
    about = {"us": whole / 1e3, "count": len(done), "mib": executable.hbm_bytes / 2**20}
    lines = [_WORDS["page"].format(name=executable.name, **about)]
    for one in longest:
        line = re.sub(r"[|<>`*]", " ", str(one.node.line or one.node.scope))
        ns, bound = one.end_ns - one.start_ns, f"{one.roofline_ns / 1e3:.1f}"
        times = (f"{ns / 1e3:.1f}", f"{100 * ns / whole:.0f} %", _busiest(one.engine_ns), bound)
        lines.append(f"| {' | '.join((one.node.title, line, *times))} |")
    return "\n".join(lines)


def _busiest(engine_ns: Mapping[str, float]) -> str:
    working = {engine: ns for engine, ns in engine_ns.items() if ns}
    return max(working, key=working.__getitem__, default="")
