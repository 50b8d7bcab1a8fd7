"""The estimator: a training job under the names of the managed service, and what it cost."""

import json
import math
import os
import shutil
import signal
import subprocess
import sys
from dataclasses import dataclass
from datetime import datetime
from pathlib import Path

from trainium_edu import settings
from trainium_edu.files import tables
from trainium_edu.specs import INSTANCES, PRICES
from trainium_edu.specs.arguments import choice, short, whole
from trainium_edu.torch.jobs.toolkit import arguments_of, path_of, variables_of

__all__ = ["Estimator", "PyTorch", "TrainingJob", "UnexpectedStatusException"]

_TRAINS_ON = {f"ml.{name}": INSTANCES[name]
              for name in ("trn1.2xlarge", "trn1.32xlarge", "trn1n.32xlarge")}  # fmt: skip
_ALL_CORES = {"torch_distributed": {"enabled": True}}  #: a rank for each NeuronCore
_LAUNCHER = [sys.executable, "-m", "trainium_edu"]
_PACKAGE = Path(__file__).resolve().parents[2]

#: Further fields of the service's estimator: taken, and without effect here.
_ACCEPTED = tables(__file__, "fields.toml")["names"]


class UnexpectedStatusException(ValueError):
    """A training job has failed."""


@dataclass
class TrainingJob:
    """One training job.

    Attributes
    ----------
    name : str
    folder : Path
        Holds ``log.txt``, ``report/``, ``model/`` and ``output/model.tar.gz``.
    status : {"InProgress", "Completed", "Failed", "Stopped"}
    emulated_s, wall_s : float or None
        Of the run, as its report says; None if it left none.
    problem : str
        Why it failed.
    """

    name: str
    folder: Path
    status: str = "InProgress"
    emulated_s: float | None = None
    wall_s: float | None = None
    problem: str = ""

    def read_report(self) -> None:
        """Read the times of a run that has ended, and how it failed."""
        path = self.folder / "report/report.json"
        if path.is_file():
            report = json.loads(path.read_text(encoding="utf-8"))
            self.emulated_s, self.wall_s = report["emulated_ns"] / 1e9, report["wall_s"]
            self.problem = report["problem"]
        lines = (self.folder / "log.txt").read_text(encoding="utf-8").split("\n")
        self.problem = self.problem or next(filter(None, reversed(lines)), "it printed nothing")


class Estimator:
    """The description of a training job: script, instances, hyperparameters.

    Parameters
    ----------
    entry_point : str
        The script, in `source_dir` if there is one.
    source_dir : str or Path, optional
        Folder with all that the script needs; default: it needs nothing.
    instance_type : {"ml.trn1.32xlarge", "ml.trn1.2xlarge", "ml.trn1n.32xlarge"}
    instance_count : int
    hyperparameters : dict, optional
        What the script finds as arguments: ``{"lr": 0.1}`` as ``--lr 0.1``.
    distribution : dict, optional
        ``{"torch_distributed": {"enabled": True}}``: a rank for each NeuronCore; default one rank.
    output_path : str or Path
        Folder for the folders of jobs.
    base_job_name : str
    environment : dict, optional
        More environment variables for the script.
    options : sequence of str
        Of ``python -m trainium_edu torchrun``, such as ``("--values", "none")``.
    **more
        Other fields of the service's estimator, such as ``role`` and ``framework_version``: taken,
        and without effect; this computer's Python and PyTorch run the script.

    Raises
    ------
    TypeError, ValueError
        For a field that it does not have, or a value that cannot be.

    Examples
    --------
    >>> import tempfile
    >>> from trainium_edu import files
    >>> folder = Path(tempfile.mkdtemp())
    >>> files.write(folder / "train.py", "print('trained')")
    >>> estimator = Estimator(entry_point="train.py", source_dir=folder, role="any",
    ...                       hyperparameters={"lr": 0.1, "epochs": 2})
    >>> arguments_of(estimator.hyperparameters())
    ['--epochs', '2', '--lr', '0.1']
    """

    def __init__(self, entry_point, source_dir=None, *, instance_type="ml.trn1.32xlarge",
                 instance_count=1, hyperparameters=None, distribution=None, output_path="jobs",
                 base_job_name="pytorch-training", environment=None, options=(),
                 **more):  # fmt: skip
        if unknown := sorted(set(more) - {*_ACCEPTED}):
            raise TypeError(f"Estimator takes no {unknown[0]!r}; it has the fields of the managed "
                            "service's PyTorch estimator, version 2")  # fmt: skip
        self.source_dir = source_dir and path_of(source_dir, "source_dir")
        self.entry_point = path_of(entry_point, "entry_point", self.source_dir or "")
        self.instance_type = choice(instance_type, "instance_type", _TRAINS_ON)
        self.machine = _TRAINS_ON[self.instance_type]  #: its record in ``specs.INSTANCES``
        self.instance_count = whole(instance_count, "instance_count", 1)
        if distribution and distribution != _ALL_CORES:
            raise ValueError(f"distribution is {short(distribution)}; on Trn1 the service has "
                             f"{json.dumps(_ALL_CORES)}")  # fmt: skip
        #: that ``torchrun`` starts on each instance; 0 if it is not used
        self.ranks = int(self.machine.cores) if distribution else 0
        if self.instance_count > 1 and not self.ranks:
            raise ValueError(f"instance_count is {self.instance_count} without distribution; give "
                             f"{json.dumps(_ALL_CORES)}")  # fmt: skip
        self.output_path = path_of(output_path, "output_path", must_exist=False)
        self.base_job_name = base_job_name
        self.environment, self.options = dict(environment or {}), tuple(options)
        self._hyperparameters = _named(hyperparameters, "hyperparameters")
        self.latest_training_job: TrainingJob | None = None

    def hyperparameters(self) -> dict:
        """Return what the script is given as arguments."""
        return dict(self._hyperparameters)

    def fit(self, inputs=None, wait=True, logs="All", job_name=None) -> None:
        """Run the training job; Ctrl-C stops it.

        Parameters
        ----------
        inputs : dict of str to path, path, or None
            Channels, which the script finds as ``SM_CHANNEL_TRAIN`` and so on: folders, files,
            ``file://`` addresses.  One path alone is the channel "training".
        wait : bool
            Taken: a job here has ended when this returns.
        logs : object
            False or None: the log is not shown, only stored.
        job_name : str, optional

        Raises
        ------
        UnexpectedStatusException
            If the script fails, with its error.
        """
        inputs = {"training": inputs} if isinstance(inputs, str | Path) else inputs
        channels = {name: path_of(place, f"channel {name}")
                    for name, place in _named(inputs, "inputs").items()}  # fmt: skip
        name = job_name or f"{self.base_job_name}-{datetime.now():%Y-%m-%d-%H-%M-%S-%f}"
        job = TrainingJob(name, self.output_path / name)
        command = self._prepare(job, channels)
        self.latest_training_job = job
        with (job.folder / "log.txt").open("a", 1, "utf-8") as log, command as process:
            try:
                for line in process.stdout or ():
                    log.write(line)
                    if logs:
                        print(line, end="", flush=True)
            except BaseException:
                job.status = "Stopped"
                process.send_signal(signal.SIGINT if os.name == "posix" else signal.SIGTERM)
                process.wait()
                raise
        job.read_report()
        for part, archive in (("model", "model"), ("output/data", "output")):
            shutil.make_archive(str(job.folder / "output" / archive), "gztar", job.folder / part)
        job.status = "Failed" if process.returncode else "Completed"
        if process.returncode:
            raise UnexpectedStatusException(
                f"training job {name} failed: {job.problem} (exit code {process.returncode}); its "
                f"log is {job.folder / 'log.txt'}"
            )
        if logs:
            here = "" if job.wall_s is None else f" ({job.wall_s:.0f} s here)"
            print(f"{datetime.now():%Y-%m-%d %H:%M:%S} {job.status} - training job {name}{here}")
            print(self.bill())

    def _prepare(self, job: TrainingJob, channels: dict[str, Path]) -> subprocess.Popen:
        """Make the job's folders, and start its process."""
        folder = job.folder
        if folder.exists():
            raise ValueError(f"job_name is {job.name}; {self.output_path} has a job of that name")
        for part in ("model", "output/data", "input/config", "input/data", "code"):
            (folder / part).mkdir(parents=True)
        if self.source_dir:
            shutil.copytree(self.source_dir, folder / "code", ignore=self._left_out,
                            dirs_exist_ok=True)  # fmt: skip
        else:
            shutil.copy2(self.entry_point, folder / "code")
        for name, path in channels.items():
            if path.is_file():
                channels[name] = folder / "input/data" / name
                channels[name].mkdir()
                shutil.copy2(path, channels[name])
        variables = variables_of(self, folder, job.name, channels)
        many = ["--nnodes", str(self.instance_count), "--nproc_per_node", str(self.ranks)]
        command = [*_LAUNCHER, *(["torchrun", *many] if self.ranks else ["run"]),
                   "--instance", self.machine.name, "--report", str(folder / "report"),
                   *self.options, self.entry_point.name,
                   *arguments_of(self._hyperparameters)]  # fmt: skip
        return subprocess.Popen(
            command, cwd=folder / "code", stdin=subprocess.DEVNULL, stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT, encoding="utf-8", errors="replace",
            env=settings.of_child(variables | self.environment, _PACKAGE.parent),
        )  # fmt: skip

    def _left_out(self, folder, names) -> list[str]:
        """Return which of a folder's files are not copied: jobs, and what tools keep."""
        return [name for name in names if name in (".git", "__pycache__", ".ipynb_checkpoints")
                or Path(folder, name) == self.output_path]  # fmt: skip

    def bill(self) -> str:
        """Return what the newest job costs: its emulated seconds, their price, what is left out."""
        job, count = self.latest_training_job, self.instance_count
        if job is None or job.emulated_s is None:
            return "Billable seconds: unknown; no run has left its times"
        seconds = count * max(1, math.ceil(job.emulated_s))  # begun ones count
        prices = PRICES[self.machine.name]
        rate = getattr(prices, "sagemaker_usd_per_hour", None)
        of_whom = "" if rate else "not known here; EC2 on demand would be "
        rate = rate or prices.on_demand_usd_per_hour
        price = seconds * float(rate) / 3600
        return (f"Billable seconds: {seconds} (emulated: {job.emulated_s:.6g} s on {count} x"
                f" {self.instance_type})\nPrice: {of_whom}{price:.4f} USD at "
                f"{float(rate)} USD/hour ({rate.source}, {rate.as_of})\n"
                "What is not modelled comes on top.")  # fmt: skip

    @property
    def model_data(self) -> str:
        """``model.tar.gz`` of the newest job."""
        job = self.latest_training_job
        if job is None or job.status != "Completed":
            raise ValueError("there is no training job with a model yet; call fit() first")
        return str(job.folder / "output/model.tar.gz")

    def deploy(self, *given, entry_point=None, source_dir=None, **more):
        """Serve the newest job's model; see :meth:`PyTorchModel.deploy`."""
        from trainium_edu.torch.jobs.serving import PyTorchModel  # loads PyTorch; jobs need not

        return PyTorchModel(self.model_data, entry_point or self.entry_point.name,
                            source_dir or self.source_dir).deploy(*given, **more)  # fmt: skip


def _named(mapping, argument_name: str) -> dict:
    """Return a copy of a dict whose keys are names and whose values JSON can hold."""
    if mapping is not None and not isinstance(mapping, dict):
        raise TypeError(f"{argument_name} is {short(mapping)}; it must be a dict")
    try:
        json.dumps(mapping, default=str if argument_name == "inputs" else None)
    except (TypeError, ValueError) as problem:
        raise TypeError(f"{argument_name} is {short(mapping)}; the service sends it as JSON: "
                        f"{problem}") from None  # fmt: skip
    return dict(mapping or {})


PyTorch = Estimator
