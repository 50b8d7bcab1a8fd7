"""One training job: its folder, process, log, end, and what it cost."""

import atexit
import json
import math
import os
import re
import shutil
import signal
import subprocess
import sys
import tarfile
import time
from contextlib import suppress
from datetime import datetime
from pathlib import Path

from trainium_edu import files, settings
from trainium_edu.specs import PRICES
from trainium_edu.specs.arguments import short, text
from trainium_edu.torch.jobs.toolkit import arguments_of, variables_of

__all__ = ["TrainingJob", "UnexpectedStatusException"]

_PACKAGE = Path(__file__).resolve().parents[2]


class UnexpectedStatusException(ValueError):
    """A training job ended otherwise than it should have."""

    def __init__(self, message, allowed_statuses=("Completed",), actual_status="Failed"):
        self.allowed_statuses, self.actual_status = list(allowed_statuses), actual_status
        super().__init__(message)


class TrainingJob:
    """A job: its process, log, folder, and what it cost.  Its process starts when it is made.

    Attributes
    ----------
    name : str
    folder, log : Path
    failure_reason : str
    emulated_s, wall_s : float or None
        Of the run, as its report tells them.
    model_data : str or None
    """

    def __init__(self, estimator, name, channels):
        if not re.fullmatch(r"[A-Za-z0-9](-*[A-Za-z0-9]){0,62}", text(name, "job_name")):
            raise ValueError(f"job_name is {short(name)}; it must be at most 63 letters, digits "
                             "and hyphens")  # fmt: skip
        self.name, self._status, self.failure_reason = name, "InProgress", ""
        self.folder = estimator.output_path.resolve() / name
        if self.folder.exists():
            raise ValueError(f"there is a job {name} in {estimator.output_path}; names are unique")
        self.log, self._estimator = self.folder / "log.txt", estimator
        self.emulated_s = self.wall_s = self.model_data = None
        for part in ("model", "output/data", "output/intermediate", "input/config", "input/data"):
            (self.folder / part).mkdir(parents=True)
        code, source = self.folder / "code", estimator.source_dir
        shutil.copytree(source or estimator.entry_point.parent, code, ignore=self._left_out)
        variables = variables_of(estimator, self.folder, name, self._linked(channels))
        contents = {"hyperparameters": estimator.hyperparameters(),
                    "inputdataconfig": json.loads(variables["SM_INPUT_DATA_CONFIG"]),
                    "resourceconfig": json.loads(variables["SM_RESOURCE_CONFIG"])}  # fmt: skip
        for file, content in contents.items():
            files.write(self.folder / f"input/config/{file}.json", json.dumps(content))
        with self.log.open("ab") as log:
            self._process = subprocess.Popen(
                self._command(), cwd=code, stdin=subprocess.DEVNULL, stdout=log,
                stderr=subprocess.STDOUT, start_new_session=True,
                env=settings.of_child(variables | estimator.environment, _PACKAGE.parent),
            )  # fmt: skip
        atexit.register(self.stop)

    def _left_out(self, folder, names):
        """Return what is not copied: jobs, what Python and git keep, and what lies by a script."""
        estimator, ours = self._estimator, self.folder.parent
        only = None if estimator.source_dir else estimator.entry_point.name
        return [name for name in names if name in (".git", "__pycache__", ".ipynb_checkpoints")
                or Path(folder, name).resolve() == ours or name != (only or name)]  # fmt: skip

    def _linked(self, channels) -> dict[str, Path]:
        """Return the folder of each channel; a file is copied to one of its own."""
        folders = {}
        for name, path in channels.items():
            folders[name] = self.folder / "input/data" / name if path.is_file() else path
            if path.is_file():
                folders[name].mkdir()
                shutil.copy2(path, folders[name])
        return folders

    def _command(self) -> list[str]:
        """Return the command line that the job runs."""
        estimator = self._estimator
        instance = estimator.instance_type.removeprefix("ml.")
        many = ["--nnodes", str(estimator.instance_count), "--nproc_per_node", str(estimator.ranks)]
        launcher = ["torchrun", *many] if estimator.distribution else ["run"]
        return [*_launcher(), *launcher, "--instance", instance, "--report",
                str(self.folder / "report"), *estimator.options, estimator.entry_point.name,
                *arguments_of(estimator.hyperparameters())]  # fmt: skip

    @property
    def status(self) -> str:
        """Status: "InProgress", "Completed", "Failed", "Stopping" or "Stopped"."""
        if self._status in ("InProgress", "Stopping"):
            code = self._process.poll()
            if code is not None:
                self._end(code)
        return self._status

    def _end(self, code) -> None:
        """Read the times of a run that has ended, pack what it saved, set the status."""
        report = self.folder / "report/report.json"
        if report.is_file():
            told = json.loads(report.read_text(encoding="utf-8"))
            self.emulated_s, self.wall_s = told["emulated_ns"] / 1e9, told["wall_s"]
        for part, name in (("model", "model"), ("output/data", "output")):
            saved = sorted((self.folder / part).iterdir())
            if saved or part == "model":
                with (files.replacing(self.folder / f"output/{name}.tar.gz") as file,
                      tarfile.open(fileobj=file, mode="w:gz") as archive):  # fmt: skip
                    for path in saved:
                        archive.add(path, path.name)
        atexit.unregister(self.stop)
        if self._status == "Stopping":
            self._status = "Stopped"
        elif code:
            self._status, self.failure_reason = "Failed", _last_error(self.text(), code)
        else:
            self._status, self.model_data = "Completed", str(self.folder / "output/model.tar.gz")

    def text(self) -> str:
        """Return the log's text."""
        return self.log.read_text(encoding="utf-8", errors="replace")

    def wait(self, logs=True) -> None:
        """Wait for the end of the job; Ctrl-C stops it.

        Parameters
        ----------
        logs : bool
            Whether to print its lines.

        Raises
        ------
        UnexpectedStatusException
            If it fails.
        """
        try:
            with self.log.open(encoding="utf-8", errors="replace") as log:
                has_ended = False
                while not has_ended:
                    has_ended = self.status != "InProgress"  # asked before the last lines are read
                    if logs:
                        print(log.read(), end="", flush=True)
                    time.sleep(0 if has_ended else 0.05)
        except KeyboardInterrupt:
            self.stop()
            raise
        if self.status == "Failed":
            raise UnexpectedStatusException(
                f"training job {self.name} failed: {self.failure_reason}; its log is {self.log}"
            )
        if logs:
            print(self.closing(), flush=True)

    def stop(self) -> None:
        """Stop the job and all its processes."""
        if self.status != "InProgress":
            return
        self._status = "Stopping"
        for number in (signal.SIGINT, signal.SIGTERM, getattr(signal, "SIGKILL", signal.SIGTERM)):
            with suppress(ProcessLookupError):
                if hasattr(os, "killpg"):
                    os.killpg(self._process.pid, number)
                else:
                    self._process.terminate()
            with suppress(subprocess.TimeoutExpired):
                self._process.wait(5)
                break
        self.wait(logs=False)

    @property
    def billable_s(self) -> int | None:
        """Emulated seconds to pay, of one instance: begun ones count."""
        return None if self.emulated_s is None else max(1, math.ceil(self.emulated_s))

    @property
    def price_usd(self) -> float | None:
        """What they cost on all instances; None if the rate of the service is not known here."""
        rate = _rate(self._estimator.instance_type)
        if rate is None or self.billable_s is None:
            return None
        return self.billable_s * self._estimator.instance_count * float(rate) / 3600

    def closing(self) -> str:
        """Return the lines that end a job's log: status, seconds, price."""
        estimator, seconds = self._estimator, self.billable_s
        begin = f"{datetime.now():%Y-%m-%d %H:%M:%S} {self.status} - training job {self.name}\n"
        if seconds is None:
            return f"{begin}Billable seconds: unknown; the run left no times"
        count, kind = estimator.instance_count, estimator.instance_type
        rate = _rate(kind)
        if rate is not None:
            price = (f"{self.price_usd:.4f} USD at {float(rate)} USD/hour ({rate.source}, "
                     f"{rate.as_of}); what is not modelled comes on top")  # fmt: skip
        else:
            rate = PRICES[kind.removeprefix("ml.")].on_demand_usd_per_hour
            price = ("the managed service's is not known here; EC2 on demand would be "
                     f"{seconds * count * float(rate) / 3600:.4f} USD at {float(rate)} USD/hour "
                     f"({rate.source}, {rate.as_of})")  # fmt: skip
        return (f"{begin}Training seconds: {seconds * count} (emulated: {self.emulated_s:.6g} s on "
                f"{count} x {kind}; {self.wall_s:.0f} s here)\nBillable seconds: {seconds * count}"
                f"\nPrice: {price}")  # fmt: skip

    def __repr__(self):
        return f"TrainingJob({self.name!r}, {self.status})"


def _launcher() -> list[str]:
    return [sys.executable, "-m", "trainium_edu"]


def _rate(instance_type):
    """Return the service's price of an instance as a fact; None if it is not known here."""
    return getattr(PRICES[instance_type.removeprefix("ml.")], "sagemaker_usd_per_hour", None)


_ERROR = re.compile(
    r"(?:[\w.-]+ failed.*: )?[A-Za-z_][\w.]*(?:Error|Exception|Interrupt|Exit|Off)\b.*"
)


def _last_error(log, code) -> str:
    """Return the last error that a log tells, in one sentence."""
    lines = [line.strip() for line in log.splitlines() if line.strip()]
    errors = [line for line in lines if _ERROR.fullmatch(line)]
    return f"{(errors or lines or ['it said nothing'])[-1]} (exit code {code})"
