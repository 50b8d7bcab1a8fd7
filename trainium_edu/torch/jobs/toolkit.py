"""What a script finds in the service: arguments and variables, as its training toolkit makes them.

Sources: `sagemaker-variables`, `sagemaker-training-toolkit`.
"""

import json
from pathlib import Path
from urllib.parse import unquote, urlparse

from trainium_edu.specs.arguments import short

__all__ = ["arguments_of", "path_of", "variables_of"]


def path_of(place, argument_name: str, folder: str | Path = "", *, must_exist: bool = True) -> Path:
    """Return a path of this computer, from a path or a ``file://`` address."""
    if not isinstance(place, str | Path) or not str(place):
        raise TypeError(f"{argument_name} is {short(place)}; it must be a path")
    address = urlparse(str(place))
    if address.scheme == "file":
        place = unquote(address.netloc + address.path)
    elif "://" in str(place):
        raise ValueError(f"{argument_name} is {short(place)}; there is no {address.scheme} here: "
                         "give a path of this computer")  # fmt: skip
    path = Path(folder, Path(place).expanduser()).absolute()
    if must_exist and not path.exists():
        raise ValueError(f"{argument_name} is {short(str(place))}; it must be a path that exists")
    return path


def arguments_of(hyperparameters: dict) -> list[str]:
    """Return hyperparameters as the training toolkit passes them to a script.

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
    arguments = []
    for name, value in sorted(hyperparameters.items()):
        if isinstance(value, dict):
            value = ",".join(f"{key}={part}" for key, part in sorted(value.items()))
        hyphens = "--" if len(name) > 1 else "-"
        arguments += [f"{hyphens}{name}", "" if value is None else str(value)]
    return arguments


def variables_of(estimator, folder: Path, name: str, channels: dict[str, Path]) -> dict[str, str]:
    """Return the environment variables that the training toolkit documents.

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
    machine, hosts = estimator.machine, [f"algo-{i + 1}" for i in range(estimator.instance_count)]
    paths = {"input_dir": "input", "input_config_dir": "input/config", "output_dir": "output",
             "output_data_dir": "output/data", "model_dir": "model",
             "module_dir": "code"}  # fmt: skip
    place = {"current_host": hosts[0], "hosts": hosts, "network_interface_name": "eth0"}
    values = place | {key: str(folder / path) for key, path in paths.items()} | {
        "resource_config": place, "log_level": 20, "module_name": estimator.entry_point.stem,
        "input_data_config": {key: {"TrainingInputMode": "File"} for key in channels},
        "framework_module": "sagemaker_pytorch_container.training:main",
        "num_cpus": int(machine.vcpus), "num_gpus": 0, "num_neurons": int(machine.cores),
    }  # fmt: skip
    parameters = estimator.hyperparameters()
    values["training_env"] = values | {
        "job_name": name, "hyperparameters": parameters,
        "channel_input_dirs": {key: str(path) for key, path in channels.items()},
    }  # fmt: skip
    values |= {"hps": parameters, "user_args": arguments_of(parameters),
               "channels": sorted(channels)}  # fmt: skip
    values |= {f"channel_{key}": str(path) for key, path in channels.items()}
    values |= {f"hp_{key}": value for key, value in parameters.items()}
    return {f"SM_{key.upper()}": value if isinstance(value, str) else json.dumps(value)
            for key, value in values.items()}  # fmt: skip
