"""Write a run's curves as TensorBoard event files, while it trains.

``fit(job, 100, on_step=TensorBoard("logs"))``, and ``tensorboard --logdir logs`` shows them: loss,
learning rate, accuracy where it was tested, and the times of the emulated machine.  TensorBoard's
own writer makes the files; it comes with the extra ``[tensorboard]``.  TensorBoard shows a trace
only with one more package; ``perfetto`` writes one.
"""

import time
from functools import partial
from os import PathLike, fspath
from typing import Any

from trainium_edu import aside
from trainium_edu.specs.signatures import checked

__all__ = ["TensorBoard"]

#: Of a step.
_OF_STEP = {"loss": "loss", "lr": "learning rate", "norm": "gradient norm", "epoch": "epoch"}
#: Of a report on a step: the scalar's name, and what it is multiplied by.
_OF_REPORT = {
    "step_ns": ("time/step in µs", 1e-3), "exposed_ns": ("time/exposed communication in µs", 1e-3),
    "compute_ns": ("time/compute in µs", 1e-3), "samples_per_s": ("time/samples per s", 1),
    "mfu": ("time/MFU", 1),
}  # fmt: skip


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
        except ModuleNotFoundError as missing:
            raise ModuleNotFoundError(
                "TensorBoard is not installed, and its own writer makes the files; "
                "install it: pip install 'trainium_edu[tensorboard]'"
            ) from missing
        self._new_file = partial(writer.EventFileWriter, fspath(folder))
        self._writer: Any = None
        self._run: Any = None
        self._report = self._executable = None

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
        scalars = {name: getattr(step, key) for key, name in _OF_STEP.items()}
        scalars["replicas agree"] = step.agree
        tested = self._run.accuracy
        if tested and tested[-1][0] == step.number + 1:
            scalars["accuracy"] = tested[-1][1]
        report = self._newest_report(self._run.trainer)
        for key, (name, factor) in _OF_REPORT.items() if report is not None else ():
            scalars[name] = getattr(report, key) * factor
        values = [self._summary.Value(tag=name, simple_value=float(value))
                  for name, value in scalars.items() if value is not None]  # fmt: skip
        self._writer.add_event(self._event(wall_time=time.time(), step=step.number,
                                           summary=self._summary(value=values)))  # fmt: skip
        self._writer.flush()

    def _newest_report(self, trainer):
        """Return the report of the newest graph; other steps of it take as long."""
        if trainer.device.executable is not self._executable:
            self._executable = trainer.device.executable
            self._report = getattr(trainer, "report", None)
        return self._report
