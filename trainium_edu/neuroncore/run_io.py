"""A run as a file: its programs, outputs and notes; times and advice are worked out again.

There are three kinds of one format, a zip of JSON and packed programs.  A *run* holds everything,
a ``.neff`` what a profiler needs to time it (no outputs), a ``.ntff`` that and the times.  Only the
names of these two are those of AWS's files, which hold machine code and hardware events.
"""

import hashlib
import io
import json
import math
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

__all__ = ["Parts", "Profiled", "digest_of", "load", "read_neff", "read_trace", "save",
           "write_neff", "write_trace"]  # fmt: skip

_RUN, _NEFF, _NTFF = "trainium_edu run", "trainium_edu neff", "trainium_edu ntff"
_SAID = {_RUN: "saved run", _NEFF: "compiled kernel (.neff)", _NTFF: "profile (.ntff)"}
_AGAIN = {
    _RUN: "save it again",
    _NEFF: "write it again, for example with nki.benchmark(save_neff_name=...)",
    _NTFF: "capture it again with neuron-profile capture",
}
_VERSION = 1
_MAX_BYTES = 2**30  #: of all that a saved run unpacks to, its programs still packed
_DEFLATED = zipfile.ZIP_DEFLATED

Made = TypeVar("Made")


@dataclass(frozen=True, eq=False)
class Parts:
    """The parts of a run in a file: all but its times."""

    name: str
    outputs: object
    programs: tuple[Program, ...]
    notes: tuple
    buffers: object
    optimise: bool | tuple[str, ...]
    passes: tuple[str, ...] | None  #: None: not the older compiler's


@dataclass(frozen=True, eq=False)
class Profiled:
    """The contents of a ``.neff`` or ``.ntff``: a run without outputs."""

    parts: Parts
    digest: str  #: 40 hex digits, the same for the same programs timed in the same way
    makespans_ns: tuple[float, ...]  #: one per program in a ``.ntff``, none in a ``.neff``


def save(run: Parts, path: str | PathLike) -> None:
    """Write a run to a file, whole or not at all."""
    _write_all(run, path, _RUN, run.outputs)


def write_neff(run: Parts, path: str | PathLike) -> None:
    """Write what a profiler needs to time a run, without its outputs, as a ``.neff``."""
    _write_all(run, path, _NEFF)


def write_trace(run, path: str | PathLike) -> None:
    """Write a timed run (a ``Run``, with ``timelines``), without its outputs, as a ``.ntff``."""
    _write_all(run, path, _NTFF, makespans_ns=[each.makespan_ns for each in run.timelines])


def _write_all(run, path, what, outputs=None, **more):
    arrays: list[np.ndarray] = []
    shape = _to_plain(outputs, arrays)
    head = {
        "what": what, "version": _VERSION, "name": run.name, "outputs": shape,
        "dtypes": [array.dtype.name for array in arrays], "buffers": run.buffers,
        "optimise": list(run.optimise) if isinstance(run.optimise, tuple) else run.optimise,
        "passes": run.passes, "programs": len(run.programs), "notes": run.notes, **more,
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
        _check_size(file, "; np.save keeps large outputs" if arrays else "")


def _check_size(file, remedy=""):
    """Raise ValueError if a file is too large; zipfile unpacks no more than these sizes."""
    held = sum(entry.file_size for entry in file.infolist())
    if held > _MAX_BYTES:
        raise ValueError(
            f"it unpacks to {held >> 20} MiB and a saved run holds at most {_MAX_BYTES >> 20}"
            + remedy
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
    return _read_all(path, _RUN, lambda *held: make(_parts(*held)))


def read_neff(path: str | PathLike) -> Profiled:
    """Read a ``.neff`` that ``write_neff`` wrote; raises as ``load`` does."""
    return _read_all(path, _NEFF, lambda *held: Profiled(_parts(*held), _digest(*held), ()))


def digest_of(path: str | PathLike) -> str:
    """Return the digest of a ``.neff`` without reading its programs; raises as ``load`` does."""
    return _read_all(path, _NEFF, _digest)


def read_trace(path: str | PathLike) -> Profiled:
    """Read a ``.ntff`` that ``write_trace`` wrote; raises as ``load`` does."""

    def made(head, *held):
        times = tuple(float(ns) for ns in head["makespans_ns"])
        if len(times) != head["programs"] or not all(0 <= ns < math.inf for ns in times):
            raise ValueError(f"its times are {str(times)[:60]}")
        return Profiled(_parts(head, *held), _digest(head, *held), times)

    return _read_all(path, _NTFF, made)


def _digest(head, arrays, packed) -> str:
    """Name the programs and how they are timed; of each, gzip's sum and size of what it packed."""
    if not packed:
        raise ValueError("there is no program in it")
    how = [head["name"], head["buffers"], head["optimise"], head.get("passes")]
    held = b"".join([json.dumps(how).encode(), *(data[-8:] for data in packed)])
    return hashlib.sha1(held, usedforsecurity=False).hexdigest()


def _parts(head, arrays, packed) -> Parts:
    programs = (program_io.from_bytes(data, f"program {k}") for k, data in enumerate(packed))
    optimise = head["optimise"]
    return Parts(
        head["name"], _from_plain(head["outputs"], arrays), tuple(programs),
        tuple([tuple(note) for note in notes] for notes in head["notes"]), head["buffers"],
        tuple(optimise) if isinstance(optimise, list) else optimise,
        None if head.get("passes") is None else tuple(head["passes"]),
    )  # fmt: skip


def _read_all(path, kind, make):
    """Return what `make` makes of a file's head, arrays and packed programs."""
    path = Path(path)
    label, again = _SAID[kind], _AGAIN[kind]
    if not path.is_file():
        raise FileNotFoundError(f"there is no {label} {path.name}")
    try:
        with zipfile.ZipFile(path) as file:
            _check_size(file)
            head = json.loads(file.read("run.json"))
            if head.get("what") != kind:
                raise ValueError(f"it is a {_SAID.get(head.get('what'), 'file of another kind')}")
            if head.get("version") != _VERSION:
                raise ValueError(
                    f"its format version is {str(head.get('version'))[:20]}, and this trainium_edu "
                    f"reads version {_VERSION}"
                )
            arrays = [_array(file, k, name) for k, name in enumerate(head["dtypes"])]
            packed = [file.read(f"program_{k}.json.gz") for k in range(head["programs"])]
        return make(head, arrays, packed)
    except (
        zipfile.BadZipFile, zlib.error, LookupError, TypeError, AttributeError, EOFError, OSError,
        RuntimeError, MemoryError, ArithmeticError, ValueError,
    ) as problem:  # fmt: skip
        raise ValueError(
            f"{path.name} cannot be read as a {label} ({program_io.short_of(problem)}); {again}"
        ) from None


def _array(file, k, dtype):
    packed = io.BytesIO(file.read(f"output_{k}.npy"))
    np.lib.format.read_magic(packed)
    stated, _, kind = np.lib.format.read_array_header_1_0(packed)
    data = np.frombuffer(packed.getbuffer()[packed.tell() :], np.uint8).copy()
    if stated != data.shape or kind != np.uint8:
        raise ValueError(f"output {k} does not have the size that it states")
    shape = json.loads(file.read(f"output_{k}.json"))
    storage = DTYPES[dtype].storage if dtype in DTYPES else np.dtype(dtype)
    return data.view(storage).reshape(shape)
