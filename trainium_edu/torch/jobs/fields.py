"""Check fields of jobs: paths of this computer, scripts, dicts with names for keys."""

from pathlib import Path
from urllib.parse import unquote, urlparse

from trainium_edu.specs.arguments import short, text

__all__ = ["named", "path_of", "script_of"]


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


def script_of(entry_point, source_dir) -> tuple[Path, Path | None]:
    """Return the paths of a script and of its folder, if one is named."""
    folder = None if source_dir is None else path_of(source_dir, "source_dir", exists=True)
    if folder and not folder.is_dir():
        raise ValueError(f"source_dir is {short(str(source_dir))}; it must be a folder")
    name = text(str(entry_point) if isinstance(entry_point, Path) else entry_point, "entry_point")
    path = Path(name) if folder is None else folder / name
    if not path.is_file():
        where = "" if folder is None else f" in {folder}"
        raise ValueError(f"entry_point is {short(name)}, and there is no such file{where}")
    if path.suffix != ".py" or (folder is not None and path.parent != folder):
        raise ValueError(f"entry_point is {short(name)}; it must be a Python file"
                         f"{', at the root of source_dir' if folder else ''}")  # fmt: skip
    return path.absolute(), folder


def named(given, what) -> dict:
    """Return a dict with names for keys; an empty one for None."""
    if given is None:
        return {}
    if not isinstance(given, dict) or not all(isinstance(name, str) and name for name in given):
        raise TypeError(f"{what} is {short(given)}; it must be a dict with names for keys")
    return given
