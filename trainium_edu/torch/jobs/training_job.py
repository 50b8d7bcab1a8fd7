"""One training job: its folder, process, log, end, and what it cost."""

import atexit
import json
import math
import os
import queue
import re
import shutil
import signal
import subprocess
import sys
import tarfile
import threading
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
    """A job: its process, log, folder, and what it cost.

    Attributes
    ----------
    name, status : str
        ``status`` is "InProgress", "Completed", "Failed", "Stopping" or "Stopped".
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
        self.name, self.status, self.failure_reason = name, "InProgress", ""
        self.folder = estimator.output_path.resolve() / name
        if self.folder.exists():
            raise ValueError(f"there is a job {name} in {estimator.output_path}; names are unique")
        self.log = self.folder / "log.txt"
        self.emulated_s: float | None = None
        self.wall_s: float | None = None
        self.model_data: str | None = None
        self._estimator, self._channels = estimator, channels
        self._lines: queue.Queue[str | None] = queue.Queue()
        self._process: subprocess.Popen | None = None

    def start(self) -> None:
        """Make the job's folder and start its process."""
        estimator, code = self._estimator, self.folder / "code"
        for part in ("model", "output/data", "output/intermediate", "input/config", "input/data"):
            (self.folder / part).mkdir(parents=True)
        if estimator.source_dir is None:
            code.mkdir()
            shutil.copy2(estimator.entry_point, code)
        else:
            shutil.copytree(estimator.source_dir, code, ignore=self._left_out)
        variables = variables_of(estimator, self.folder, self.name, self._linked())
        told = {"hyperparameters": estimator.hyperparameters(),
                "inputdataconfig": json.loads(variables["SM_INPUT_DATA_CONFIG"]),
                "resourceconfig": json.loads(variables["SM_RESOURCE_CONFIG"])}  # fmt: skip
        for name, content in told.items():
            files.write(self.folder / f"input/config/{name}.json", json.dumps(content))
        self._process = subprocess.Popen(
            self._command(), cwd=code, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT, encoding="utf-8", errors="replace", start_new_session=True,
            env=settings.of_child(variables | estimator.environment, _PACKAGE.parent),
        )  # fmt: skip
        atexit.register(self.stop)
        threading.Thread(target=self._follow, name=self.name, daemon=True).start()

    def _left_out(self, folder, names):
        """Return what is not copied: this job, others, and what Python and git keep."""
        ours = self.folder.parent
        return [name for name in names if name in (".git", "__pycache__", ".ipynb_checkpoints")
                or Path(folder, name).resolve() == ours]  # fmt: skip

    def _linked(self) -> dict[str, Path]:
        """Return the folder of each channel; a file is copied to one of its own."""
        found = {}
        for name, path in self._channels.items():
            found[name] = path
            if path.is_file():
                found[name] = self.folder / "input/data" / name
                found[name].mkdir()
                shutil.copy2(path, found[name])
        return found

    def _command(self) -> list[str]:
        """Return the command line that the job runs."""
        estimator = self._estimator
        instance = estimator.instance_type.removeprefix("ml.")
        many = ["--nnodes", str(estimator.instance_count), "--nproc_per_node", str(estimator.ranks)]
        launcher = ["torchrun", *many] if estimator.distribution else ["run"]
        return [*_launcher(), *launcher, "--instance", instance, "--report",
                str(self.folder / "report"), *estimator.options, estimator.entry_point.name,
                *arguments_of(estimator.hyperparameters())]  # fmt: skip

    def _follow(self):
        """Keep the log, and end the job with its process; runs in a thread of its own."""
        try:
            with self.log.open("a", encoding="utf-8") as log:
                for line in self._process.stdout:
                    log.write(line)
                    log.flush()
                    self._lines.put(line)
            self._end(self._process.wait())
        except Exception as error:  # told by wait(), not lost with the thread
            self.status, self.failure_reason = "Failed", f"{type(error).__name__}: {error}"
        atexit.unregister(self.stop)
        self._lines.put(None)

    def _end(self, code) -> None:
        """Say how it ended, pack what it saved, read its times."""
        report = self.folder / "report/report.json"
        if report.is_file():
            told = json.loads(report.read_text(encoding="utf-8"))
            self.emulated_s, self.wall_s = told["emulated_ns"] / 1e9, told["wall_s"]
        for part, name in (("model", "model"), ("output/data", "output")):
            kept = sorted((self.folder / part).iterdir())
            if kept or part == "model":
                with (files.replacing(self.folder / f"output/{name}.tar.gz") as file,
                      tarfile.open(fileobj=file, mode="w:gz") as archive):  # fmt: skip
                    for path in kept:
                        archive.add(path, path.name)
        if self.status == "Stopping":
            self.status = "Stopped"
        elif code:
            self.status, self.failure_reason = "Failed", _last_error(self.log, code)
        else:
            self.status = "Completed"
        if self.status == "Completed":
            self.model_data = str(self.folder / "output/model.tar.gz")

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
            while (line := self._next_line()) is not None:
                if logs:
                    print(line, end="", flush=True)
        except KeyboardInterrupt:
            self.stop()
            raise
        if self.status == "Failed":
            raise UnexpectedStatusException(
                f"training job {self.name} failed: {self.failure_reason}; its log is {self.log}"
            )
        if logs:
            print(self.closing(), flush=True)

    def _next_line(self):
        while True:
            try:
                line = self._lines.get(timeout=0.2)  # so that Ctrl-C is noticed everywhere
            except queue.Empty:
                continue
            if line is None:
                self._lines.put(None)  # for whoever waits once more
            return line

    def stop(self) -> None:
        """Stop the job and all its processes."""
        process = self._process
        if process is None or process.poll() is not None:
            return
        self.status = "Stopping"
        for number in (signal.SIGINT, signal.SIGTERM, getattr(signal, "SIGKILL", signal.SIGTERM)):
            _signal_all(process, number)
            try:
                process.wait(5)
                break
            except subprocess.TimeoutExpired:
                continue
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
        lines = [f"{datetime.now():%Y-%m-%d %H:%M:%S} {self.status} - training job {self.name}"]
        if seconds is None:
            return f"{lines[0]}\nBillable seconds: unknown; the run left no times"
        here = "" if self.wall_s is None else f"; {self.wall_s:.0f} s here"
        count = estimator.instance_count
        lines += [f"Training seconds: {seconds * count} (emulated: {self.emulated_s:.6g} s on "
                  f"{count} x {estimator.instance_type}{here})",
                  f"Billable seconds: {seconds * count}"]  # fmt: skip
        rate = _rate(estimator.instance_type)
        if rate is not None:
            lines.append(f"Price: {self.price_usd:.4f} USD at {float(rate)} USD/hour ({rate.source}"
                         f", {rate.as_of}); what is not modelled comes on top")  # fmt: skip
        else:
            plain = PRICES[estimator.instance_type.removeprefix("ml.")].on_demand_usd_per_hour
            lines.append("Price: the managed service's is not known here; EC2 on demand would be "
                         f"{seconds * count * float(plain) / 3600:.4f} USD at {float(plain)} "
                         f"USD/hour ({plain.source}, {plain.as_of})")  # fmt: skip
        return "\n".join(lines)

    def describe(self) -> dict:
        """Return what the service's ``DescribeTrainingJob`` says of it."""
        estimator = self._estimator
        found = {
            "TrainingJobName": self.name, "TrainingJobStatus": self.status,
            "FailureReason": self.failure_reason or None,
            "HyperParameters": {name: json.dumps(value)
                                for name, value in estimator.hyperparameters().items()},
            "ResourceConfig": {"InstanceType": estimator.instance_type,
                               "InstanceCount": estimator.instance_count,
                               "VolumeSizeInGB": estimator.volume_size},
            "ModelArtifacts": self.model_data and {"S3ModelArtifacts": self.model_data},
            "TrainingTimeInSeconds": self.billable_s, "BillableTimeInSeconds": self.billable_s,
        }  # fmt: skip
        return {name: value for name, value in found.items() if value is not None}

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
    lines = [line.strip() for line in log.read_text(encoding="utf-8").splitlines() if line.strip()]
    errors = [line for line in lines if _ERROR.fullmatch(line)]
    last = (errors or lines or ["it said nothing"])[-1]
    return f"{last} (exit code {code})"


def _signal_all(process, number) -> None:
    """Send a signal to a process and all that it started."""
    try:
        if hasattr(os, "killpg"):
            os.killpg(process.pid, number)
        else:
            process.terminate()
    except ProcessLookupError:
        pass
