"""What fields of jobs may be: paths of this computer, scripts, instances; one sentence if not."""

from pathlib import Path
from urllib.parse import unquote, urlparse

from trainium_edu.specs.arguments import short, text

__all__ = ["folder_of", "named", "neuron_instance", "path_of", "script_of"]

_TRAINS_ON = ("ml.trn1.2xlarge", "ml.trn1.32xlarge", "ml.trn1n.32xlarge")


def path_of(given, what, exists=False) -> Path:
    """Return a path of this computer, from a path or a ``file://`` address."""
    if not isinstance(given, str | Path) or not str(given):
        raise TypeError(f"{what} is {short(given)}; it must be a path or a file:// address")
    address = urlparse(str(given))
    if address.scheme == "file":
        given = unquote(address.netloc + address.path)
    elif "://" in str(given):
        raise ValueError(f"{what} is {short(given)}; there is no {address.scheme} here: give a "
                         "path of this computer or a file:// address")  # fmt: skip
    path = Path(given).expanduser()
    if exists and not path.exists():
        raise ValueError(f"{what} is {short(str(given))}, and there is nothing of that name")
    return path.absolute() if exists else path


def folder_of(given, what) -> Path:
    """Return a folder that is there."""
    path = path_of(given, what, exists=True)
    if not path.is_dir():
        raise ValueError(f"{what} is {short(str(given))}; it must be a folder")
    return path


def script_of(entry_point, folder) -> Path:
    """Return the path of a script that is there."""
    name = text(str(entry_point) if isinstance(entry_point, Path) else entry_point, "entry_point")
    path = Path(name) if folder is None else folder / name
    if not path.is_file():
        where = "" if folder is None else f" in {folder}"
        raise ValueError(f"entry_point is {short(name)}, and there is no such file{where}")
    if path.suffix != ".py" or (folder is not None and path.parent != folder):
        raise ValueError(f"entry_point is {short(name)}; it must be a Python file"
                         f"{', at the root of source_dir' if folder else ''}")  # fmt: skip
    return path.absolute()


def neuron_instance(name) -> str:
    """Return an instance type of the service that has Trainium."""
    if text(name, "instance_type", _TRAINS_ON[1]) not in _TRAINS_ON:
        raise ValueError(f"instance_type is {short(name)}; jobs are emulated on "
                         f"{', '.join(_TRAINS_ON)}")  # fmt: skip
    return name


def named(given, what) -> dict:
    """Return a dict with names for keys; an empty one for None."""
    if given is None:
        return {}
    if not isinstance(given, dict) or not all(isinstance(name, str) and name for name in given):
        raise TypeError(f"{what} is {short(given)}; it must be a dict with names for keys")
    return given
