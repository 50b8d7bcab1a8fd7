"""``Run``: everything that one call of a kernel left behind."""

import io
import json
import zipfile
import zlib
from collections.abc import Iterable
from functools import cached_property
from os import PathLike
from pathlib import Path

from trainium_edu import files
from trainium_edu.specs.signatures import checked

__all__ = ["Run", "load"]

_WHAT = "trainium_edu run"
_VERSION = 1
_MAX_BYTES = 2**30  #: of all that a saved run unpacks to, its programs still packed
_DEFLATED = zipfile.ZIP_DEFLATED


class Run:
    """What ``nki.run`` returns.

    Attributes
    ----------
    name : str
        The kernel's.
    outputs : array, or tuple, list or dict of arrays
        What the kernel returned (None if recorded with ``values=False``).
    programs : tuple of neuroncore.Program
        One per program of the grid, as recorded.
    notes : tuple of list
        What was noticed while each program ran.
    timelines : tuple of neuroncore.CoreTimeline
        One per program; ``timeline`` is the one that ends last.
    """

    @checked
    def __init__(self, name: str, outputs, programs: Iterable, notes: Iterable, *, buffers=None,
                 optimise=True):  # fmt: skip
        self.name = name
        self.outputs = outputs
        self.programs = tuple(programs)
        self.notes = tuple(notes)
        self.buffers = buffers
        self.optimise = optimise
        self.timelines = self._timed(buffers)

    @classmethod
    def of(cls, name, outputs, cores, *, buffers, optimise) -> "Run":
        """Make the Run of a launch."""
        return cls(
            name, outputs, [core.program for core in cores], [_plain_notes(c) for c in cores],
            buffers=buffers, optimise=optimise,
        )  # fmt: skip

    def _timed(self, buffers):
        from trainium_edu.neuroncore.timing.measure import measure

        return tuple(
            measure(program, buffers=buffers, optimise=self.optimise) for program in self.programs
        )

    def with_buffers(self, buffers) -> "Run":
        """Return the same run, placed and timed with another number of buffers."""
        return Run(self.name, self.outputs, self.programs, self.notes, buffers=buffers,
                   optimise=self.optimise)  # fmt: skip

    @property
    def program(self):
        """The program of the timeline that ends last."""
        return self.programs[self.timelines.index(self.timeline)]

    @property
    def timeline(self):
        """The timeline that ends last: the kernel is as slow as its slowest program."""
        return max(self.timelines, key=lambda timeline: timeline.makespan_ns)

    @property
    def placement(self):
        """Where the tiles are, in the timeline that ends last."""
        return self.timeline.placement

    @cached_property
    def warnings(self) -> list:
        """What costs time or is dangerous, the costliest first; each names line, cost, remedy."""
        from trainium_edu.neuroncore.advice.advise import find_warnings, once

        return once(
            find_warnings(program, timeline.placement, timeline, notes)
            for program, timeline, notes in zip(
                self.programs, self.timelines, self.notes, strict=True
            )
        )

    def why(self):
        """Return where the time went: the critical path in pieces that add up to the makespan."""
        from trainium_edu.neuroncore.timing.why import why

        return why(self.timeline)

    def __repr__(self):
        cores = f", {len(self.programs)} programs" if len(self.programs) > 1 else ""
        return (
            f"Run({self.name!r}, {len(self.program)} instructions, "
            f"{self.timeline.makespan_ns / 1e3:.3f} us{cores})"
        )

    def _repr_pretty_(self, printer, cycle):
        """Show one line and the warnings where a notebook's cell ends with the run."""
        printer.text("\n".join([repr(self), *(f"  warning: {w}" for w in self.warnings)]))

    def __str__(self):
        lines = [str(self.timeline)]
        lines += [f"  warning: {warning}" for warning in self.warnings]
        return "\n".join(lines)

    # -- files --------------------------------------------------------------------------------

    @checked
    def save(self, path: str | PathLike) -> None:
        """Write the run to a file: programs, outputs, notes; ``nki.load`` reads it."""
        import numpy as np

        from trainium_edu.neuroncore.recording import program_io

        arrays = []
        shape = _to_plain(self.outputs, arrays)
        head = {
            "what": _WHAT, "version": _VERSION, "name": self.name, "outputs": shape,
            "dtypes": [array.dtype.name for array in arrays], "buffers": self.buffers,
            "optimise": list(self.optimise) if isinstance(self.optimise, tuple) else self.optimise,
            "programs": len(self.programs), "notes": self.notes,
        }  # fmt: skip
        with files.replacing(path) as whole, zipfile.ZipFile(whole, "w", _DEFLATED) as file:
            _write(file, "run.json", json.dumps(head).encode())
            for k, array in enumerate(arrays):
                data = io.BytesIO()
                np.save(data, np.frombuffer(np.ascontiguousarray(array).tobytes(), np.uint8))
                _write(file, f"output_{k}.npy", data.getvalue())
                _write(file, f"output_{k}.json", json.dumps(array.shape).encode())
            for k, program in enumerate(self.programs):
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


def _plain_notes(core) -> list:
    """Return a core's notes as plain data: [kind, instruction, role, allocation's index or -1]."""
    plain = []
    for kind, instruction, role, info in core.notes:
        index = getattr(info, "index", None)
        plain.append([str(kind), int(instruction), str(role), -1 if index is None else int(index)])
    return plain


def _to_plain(value, arrays):
    """Return the structure of the outputs, with arrays replaced by their number in `arrays`."""
    if value is None or isinstance(value, bool | int | float | str):
        return {"value": value}
    if isinstance(value, list | tuple):
        kind = "tuple" if isinstance(value, tuple) else "list"
        return {kind: [_to_plain(item, arrays) for item in value]}
    if isinstance(value, dict):
        return {"dict": [[str(k), _to_plain(item, arrays)] for k, item in value.items()]}
    from trainium_edu.numerics.frameworks import as_array

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


@checked
def load(path: str | PathLike) -> Run:
    """Read a run that ``Run.save`` wrote.

    Raises
    ------
    FileNotFoundError
        If there is no such file.
    ValueError
        One sentence on what is wrong with it.
    """
    from trainium_edu.neuroncore.recording import program_io

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
            programs = [program_io.from_bytes(file.read(name), name) for name in names]
        outputs = _from_plain(head["outputs"], arrays)
        optimise = head["optimise"]
        optimise = tuple(optimise) if isinstance(optimise, list) else optimise
        notes = [[tuple(note) for note in notes] for notes in head["notes"]]
        return Run(head["name"], outputs, programs, notes, buffers=head["buffers"],
                   optimise=optimise)  # fmt: skip
    except (
        zipfile.BadZipFile, zlib.error, LookupError, TypeError, AttributeError, EOFError, OSError,
        RuntimeError, MemoryError, ArithmeticError, ValueError,
    ) as problem:  # fmt: skip
        raise ValueError(
            f"{path.name} cannot be read as a saved run ({type(problem).__name__}: {problem}); "
            "save it again"
        ) from None


def _array(file, k, dtype):
    import numpy as np

    from trainium_edu.neuroncore.recording.dtypes import DTYPES

    packed = io.BytesIO(file.read(f"output_{k}.npy"))
    np.lib.format.read_magic(packed)
    stated, _, kind = np.lib.format.read_array_header_1_0(packed)
    data = np.frombuffer(packed.getbuffer()[packed.tell() :], np.uint8).copy()
    if stated != data.shape or kind != np.uint8:
        raise ValueError(f"output {k} has not the size that it states")
    shape = json.loads(file.read(f"output_{k}.json"))
    storage = DTYPES[dtype].storage if dtype in DTYPES else np.dtype(dtype)
    return data.view(storage).reshape(shape)
