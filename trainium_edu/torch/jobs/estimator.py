"""The estimator: what a training job needs, checked, under the names of the managed service."""

import json
import re
from datetime import datetime
from pathlib import Path

from trainium_edu.specs import INSTANCES
from trainium_edu.specs.arguments import choice, short, text, whole
from trainium_edu.torch.jobs.fields import named, path_of, script_of
from trainium_edu.torch.jobs.model import PyTorchModel
from trainium_edu.torch.jobs.training_job import TrainingJob

__all__ = ["Estimator", "PyTorch"]

_TRAINS_ON = ("ml.trn1.2xlarge", "ml.trn1.32xlarge", "ml.trn1n.32xlarge")

#: Further fields of the service's estimator: taken, and without effect here.
_ACCEPTED = {
    "checkpoint_local_path", "checkpoint_s3_uri", "code_location", "compiler_config",
    "container_log_level", "debugger_hook_config", "dependencies", "disable_output_compression",
    "disable_profiler", "enable_network_isolation", "enable_sagemaker_metrics",
    "encrypt_inter_container_traffic", "framework_version", "image_uri", "input_mode",
    "keep_alive_period_in_seconds", "max_retry_attempts", "max_run", "max_wait",
    "metric_definitions", "output_kms_key", "profiler_config", "py_version", "role", "rules",
    "sagemaker_session", "security_group_ids", "subnets", "tags", "use_spot_instances",
    "volume_kms_key", "volume_size",
}  # fmt: skip


class Estimator:
    """A training job to be: script, instances, hyperparameters.

    Parameters
    ----------
    entry_point : str
        The script, in `source_dir` if there is one.
    source_dir : str or Path, optional
        Folder with all that the script needs.
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
    >>> from trainium_edu.torch.jobs.toolkit import arguments_of
    >>> arguments_of(estimator.hyperparameters())
    ['--epochs', '2', '--lr', '0.1']
    """

    def __init__(self, entry_point, source_dir=None, *, instance_type="ml.trn1.32xlarge",
                 instance_count=1, hyperparameters=None, distribution=None, output_path="jobs",
                 base_job_name="pytorch-training", environment=None, options=(),
                 **more):  # fmt: skip
        for name in more:
            if name not in _ACCEPTED:
                raise TypeError(f"Estimator takes no {name!r}; it has the fields of the managed "
                                "service's PyTorch estimator, version 2")  # fmt: skip
        self.entry_point, self.source_dir = script_of(entry_point, source_dir)
        self.instance_type = choice(instance_type, "instance_type", _TRAINS_ON)
        self.instance_count = whole(instance_count, "instance_count", 1)
        self.distribution = named(distribution, "distribution")
        self.ranks = self._ranks()
        self.output_path = path_of(output_path, "output_path")
        self.base_job_name = text(base_job_name, "base_job_name", "pytorch-training")
        if not re.fullmatch(r"[A-Za-z0-9](-*[A-Za-z0-9]){0,38}", self.base_job_name):
            raise ValueError(f"base_job_name is {short(base_job_name)}; it must be at most 39 "
                             "letters, digits and hyphens")  # fmt: skip
        self.environment, self.options = dict(environment or {}), tuple(options)
        self._hyperparameters = dict(named(hyperparameters, "hyperparameters"))
        for name, value in self._hyperparameters.items():
            try:
                json.dumps(value)
            except (TypeError, ValueError):
                raise TypeError(f"hyperparameter {name} is {short(value)}; the service sends it as "
                                "JSON: give a number, string, list or dict") from None  # fmt: skip
        self.jobs: list[TrainingJob] = []

    def _ranks(self) -> int:
        """Return how many ranks each instance has."""
        given = self.distribution
        if other := sorted(set(given) - {"torch_distributed"}):
            raise ValueError(f"distribution names {other[0]!r}; on Trn1 the service has "
                             '{"torch_distributed": {"enabled": True}}')  # fmt: skip
        enabled = named(given.get("torch_distributed"), "torch_distributed").get("enabled", False)
        if not isinstance(enabled, bool):
            raise TypeError(f"enabled is {short(enabled)}; it must be True or False")
        if not enabled and self.instance_count > 1:
            raise ValueError(f"instance_count is {self.instance_count} without distribution; give "
                             '{"torch_distributed": {"enabled": True}}')  # fmt: skip
        return int(INSTANCES[self.instance_type.removeprefix("ml.")].cores) if enabled else 1

    def hyperparameters(self) -> dict:
        """Return what the script is given as arguments."""
        return dict(self._hyperparameters)

    def fit(
        self, inputs=None, wait=True, logs="All", job_name=None, experiment_config=None
    ) -> None:
        """Run the training job.

        Parameters
        ----------
        inputs : dict of str to path, path, or None
            Channels, which the script finds as ``SM_CHANNEL_TRAIN`` and so on: folders, files,
            ``file://`` addresses.  One path alone is the channel "training".
        wait : bool
            Whether to return only when the job has ended.
        logs : object
            False or None: the log is not shown, only kept.
        job_name : str, optional
        experiment_config : optional
            Taken, and not looked at.

        Raises
        ------
        UnexpectedStatusException
            If the script fails, with its last error.
        """
        if inputs is None or isinstance(inputs, str | Path):
            inputs = {} if inputs is None else {"training": inputs}
        channels = {text(name, "a channel", "train"): path_of(given, f"channel {name}", exists=True)
                    for name, given in named(inputs, "inputs").items()}  # fmt: skip
        now = datetime.now().strftime("%Y-%m-%d-%H-%M-%S-%f")[:-3]
        self.jobs.append(TrainingJob(self, job_name or f"{self.base_job_name}-{now}", channels))
        if wait:
            self.jobs[-1].wait(logs=bool(logs))

    @property
    def latest_training_job(self) -> "TrainingJob | None":
        """The newest job; None before the first."""
        return self.jobs[-1] if self.jobs else None

    def _latest(self) -> "TrainingJob":
        if not self.jobs:
            raise ValueError("there is no training job yet; call fit() first")
        return self.jobs[-1]

    @property
    def training_job_name(self) -> str:
        """Name of the newest job."""
        return self._latest().name

    @property
    def model_data(self) -> str:
        """``model.tar.gz`` of the newest job."""
        job = self._latest()
        if job.status != "Completed":
            raise ValueError(f"training job {job.name} is {job.status}; it has no model")
        return job.model_data

    def logs(self) -> None:
        """Print the newest job's log, to its end."""
        print(self._latest().text(), end="")

    def create_model(self, entry_point=None, source_dir=None, **more) -> "PyTorchModel":
        """Return the newest job's model."""
        folder = source_dir or (None if entry_point and Path(entry_point).is_file() else
                                self._latest().folder / "code")  # fmt: skip
        return PyTorchModel(self.model_data, entry_point=entry_point or self.entry_point.name,
                            source_dir=folder, **more)  # fmt: skip

    def deploy(self, initial_instance_count=1, instance_type="ml.c5.xlarge", serializer=None,
               deserializer=None, *, entry_point=None, source_dir=None, **more):  # fmt: skip
        """Serve the newest job's model; see :meth:`PyTorchModel.deploy`."""
        return self.create_model(entry_point, source_dir).deploy(
            initial_instance_count, instance_type, serializer, deserializer, **more
        )


PyTorch = Estimator
