"""A run as a file: its programs, outputs and notes; times and advice are worked out again."""

import io
import json
import zipfile
import zlib
from collections.abc import Callable
from dataclasses import dataclass
from os import PathLike
from pathlib import Path
from typing import TypeVar

import numpy as np

from trainium_edu import files
from trainium_edu.neuroncore.recording import program_io
from trainium_edu.neuroncore.recording.dtypes import DTYPES
from trainium_edu.neuroncore.recording.program import Program
from trainium_edu.numerics.frameworks import as_array

__all__ = ["Parts", "load", "save"]

_WHAT = "trainium_edu run"
_VERSION = 1
_MAX_BYTES = 2**30  #: of all that a saved run unpacks to, its programs still packed
_DEFLATED = zipfile.ZIP_DEFLATED

Made = TypeVar("Made")


@dataclass(frozen=True, eq=False)
class Parts:
    """What a file holds of a run: all but its times."""

    name: str
    outputs: object
    programs: tuple[Program, ...]
    notes: tuple
    buffers: object
    optimise: bool | tuple[str, ...]


def save(run: Parts, path: str | PathLike) -> None:
    """Write a run to a file, whole or not at all."""
    arrays: list[np.ndarray] = []
    shape = _to_plain(run.outputs, arrays)
    head = {
        "what": _WHAT, "version": _VERSION, "name": run.name, "outputs": shape,
        "dtypes": [array.dtype.name for array in arrays], "buffers": run.buffers,
        "optimise": list(run.optimise) if isinstance(run.optimise, tuple) else run.optimise,
        "programs": len(run.programs), "notes": run.notes,
    }  # fmt: skip
    with files.replacing(path) as whole, zipfile.ZipFile(whole, "w", _DEFLATED) as file:
        _write(file, "run.json", json.dumps(head).encode())
        for k, array in enumerate(arrays):
            data = io.BytesIO()
            np.save(data, np.frombuffer(np.ascontiguousarray(array).tobytes(), np.uint8))
            _write(file, f"output_{k}.npy", data.getvalue())
            _write(file, f"output_{k}.json", json.dumps(array.shape).encode())
        for k, program in enumerate(run.programs):
            _write(file, f"program_{k}.json.gz", program_io.to_bytes(program))
        _check_size(file)


def _check_size(file):
    """Raise ValueError if a run is too large; zipfile unpacks no more than these sizes."""
    held = sum(entry.file_size for entry in file.infolist())
    if held > _MAX_BYTES:
        raise ValueError(
            f"it unpacks to {held >> 20} MiB and a saved run holds at most {_MAX_BYTES >> 20}; "
            "np.save keeps large outputs"
        )


def _write(file, name, data):
    file.writestr(zipfile.ZipInfo(name, date_time=(1980, 1, 1, 0, 0, 0)), data)


def _to_plain(value, arrays):
    """Return the structure of the outputs, with arrays replaced by their number in `arrays`."""
    if value is None or isinstance(value, bool | int | float | str):
        return {"value": value}
    if isinstance(value, list | tuple):
        kind = "tuple" if isinstance(value, tuple) else "list"
        return {kind: [_to_plain(item, arrays) for item in value]}
    if isinstance(value, dict):
        return {"dict": [[str(k), _to_plain(item, arrays)] for k, item in value.items()]}
    arrays.append(as_array(value))
    return {"array": len(arrays) - 1}


def _from_plain(plain, arrays):
    ((kind, inner),) = plain.items()
    match kind:
        case "value":
            return inner
        case "array":
            return arrays[inner]
        case "list":
            return [_from_plain(item, arrays) for item in inner]
        case "tuple":
            return tuple(_from_plain(item, arrays) for item in inner)
        case "dict":
            return {key: _from_plain(item, arrays) for key, item in inner}
    raise ValueError(f"unknown kind of output {kind!r}")


def load(path: str | PathLike, make: Callable[[Parts], Made]) -> Made:
    """Read a run that ``save`` wrote.

    Parameters
    ----------
    path : path
    make : callable
        Makes something of the parts; where it fails the file is damaged, too.

    Raises
    ------
    FileNotFoundError
        If there is no such file.
    ValueError
        One sentence on what is wrong with it.
    """
    path = Path(path)
    if not path.is_file():
        raise FileNotFoundError(f"there is no saved run {path.name}")
    try:
        with zipfile.ZipFile(path) as file:
            _check_size(file)
            head = json.loads(file.read("run.json"))
            if head.get("what") != _WHAT or head.get("version") != _VERSION:
                raise ValueError(f"it is no run of version {_VERSION}")
            arrays = [_array(file, k, name) for k, name in enumerate(head["dtypes"])]
            names = (f"program_{k}.json.gz" for k in range(head["programs"]))
            programs = tuple(program_io.from_bytes(file.read(name), name) for name in names)
        optimise = head["optimise"]
        return make(Parts(
            head["name"], _from_plain(head["outputs"], arrays), programs,
            tuple([tuple(note) for note in notes] for notes in head["notes"]), head["buffers"],
            tuple(optimise) if isinstance(optimise, list) else optimise,
        ))  # fmt: skip
    except (
        zipfile.BadZipFile, zlib.error, LookupError, TypeError, AttributeError, EOFError, OSError,
        RuntimeError, MemoryError, ArithmeticError, ValueError,
    ) as problem:  # fmt: skip
        raise ValueError(
            f"{path.name} cannot be read as a saved run ({type(problem).__name__}: {problem}); "
            "save it again"
        ) from None


def _array(file, k, dtype):
    packed = io.BytesIO(file.read(f"output_{k}.npy"))
    np.lib.format.read_magic(packed)
    stated, _, kind = np.lib.format.read_array_header_1_0(packed)
    data = np.frombuffer(packed.getbuffer()[packed.tell() :], np.uint8).copy()
    if stated != data.shape or kind != np.uint8:
        raise ValueError(f"output {k} has not the size that it states")
    shape = json.loads(file.read(f"output_{k}.json"))
    storage = DTYPES[dtype].storage if dtype in DTYPES else np.dtype(dtype)
    return data.view(storage).reshape(shape)
