"""What a script finds in the service: arguments and variables, as its training toolkit makes them.

Sources: `sagemaker-variables`, `sagemaker-training-toolkit`.
"""

import json
from pathlib import Path

from trainium_edu.specs import INSTANCES

__all__ = ["arguments_of", "variables_of"]


def arguments_of(hyperparameters: dict) -> list[str]:
    """Return hyperparameters as the training toolkit hands them to a script.

    Parameters
    ----------
    hyperparameters : dict

    Returns
    -------
    list of str
        In the order of names; one letter has one hyphen; a dict is written ``a=1,b=2``.

    References
    ----------
    `sagemaker-training-toolkit` in :data:`trainium_edu.specs.SOURCES`: ``mapping.py``.

    Examples
    --------
    >>> arguments_of({"n": 3, "data": {"b": 1, "a": 2}, "flag": True, "none": None})
    ['--data', 'a=2,b=1', '--flag', 'True', '-n', '3', '--none', '']
    """
    found = []
    for name in sorted(hyperparameters):
        value = hyperparameters[name]
        if isinstance(value, dict):
            value = ",".join(f"{key}={each}" for key, each in sorted(value.items()))
        found += [f"--{name}" if len(name) > 1 else f"-{name}", "" if value is None else str(value)]
    return found


def variables_of(estimator, folder: Path, name: str, channels: dict) -> dict[str, str]:
    """Return the environment variables that the training toolkit sets for a script.

    Parameters
    ----------
    estimator : Estimator
    folder : Path
        Of the job: what is ``/opt/ml`` in the service.
    name : str
        Of the job.
    channels : dict of str to Path

    Returns
    -------
    dict of str to str
        Strings as they are, the rest as JSON.

    References
    ----------
    `sagemaker-variables` in :data:`trainium_edu.specs.SOURCES`.
    """
    kind = INSTANCES[estimator.instance_type.removeprefix("ml.")]
    hosts = [f"algo-{i + 1}" for i in range(estimator.instance_count)]
    given, script = estimator.hyperparameters(), estimator.entry_point
    paths = {"input_dir": "input", "input_config_dir": "input/config", "output_dir": "output",
             "output_data_dir": "output/data", "output_intermediate_dir": "output/intermediate",
             "model_dir": "model", "module_dir": "code"}  # fmt: skip
    group = {"instance_group_name": "homogeneousCluster", "hosts": hosts,
             "instance_type": estimator.instance_type}  # fmt: skip
    file = {"TrainingInputMode": "File", "S3DistributionType": "FullyReplicated",
            "RecordWrapperType": "None"}  # fmt: skip
    found = {
        "hosts": hosts, "current_host": hosts[0], "network_interface_name": "eth0",
        "current_instance_type": estimator.instance_type,
        "current_instance_group": group["instance_group_name"], "instance_groups": [group],
        "instance_groups_dict": {group["instance_group_name"]: group}, "is_hetero": False,
        "distribution_instance_groups": [group["instance_group_name"]],
        "current_instance_group_hosts": hosts,
        "resource_config": {"current_host": hosts[0], "hosts": hosts, "instance_groups": [group],
                            "current_instance_type": estimator.instance_type,
                            "network_interface_name": "eth0"},
        "hps": given, "user_entry_point": script.name, "module_name": script.stem,
        "user_args": arguments_of(given), "framework_params": {},
        "framework_module": "sagemaker_pytorch_container.training:main", "log_level": 20,
        "input_data_config": dict.fromkeys(channels, file), "channels": sorted(channels),
        "num_cpus": int(kind.vcpus), "num_gpus": 0, "num_neurons": int(kind.cores),
        **{key: str(folder / path) for key, path in paths.items()},
    }  # fmt: skip
    left_out = ("hps", "user_args", "channels", "framework_params", "is_hetero")
    inside = {key: found[key] for key in found if key not in left_out}
    found["training_env"] = inside | {
        "job_name": name, "hyperparameters": given,
        "channel_input_dirs": {key: str(path) for key, path in channels.items()},
    }  # fmt: skip
    found |= {f"channel_{key}": str(path) for key, path in channels.items()}
    found |= {f"hp_{key}": value for key, value in given.items()}
    return {f"SM_{key.upper()}": _written(value) for key, value in found.items()}


def _written(value) -> str:
    if value is None or isinstance(value, str):
        return value or ""
    return json.dumps(value, sort_keys=True, separators=(",", ":"))
