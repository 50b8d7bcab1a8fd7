"""Save a recorded program and load it again: gzipped JSON, a table for each thing that repeats.

Values are not in it; neither is code, so loading runs nothing.  A file is read completely and
checked before a program is made of it: a truncated, edited or foreign file gets one sentence.
"""

import gzip
import io
import json
import re
import zlib
from os import PathLike
from pathlib import Path

import numpy as np

from trainium_edu import aside, files
from trainium_edu.neuroncore.recording.dtypes import get_dtype
from trainium_edu.neuroncore.recording.engine import Engine, Memory
from trainium_edu.neuroncore.recording.memory import Allocation, make_allocation, tensor_shape
from trainium_edu.neuroncore.recording.program import Access, Instruction, Loop, Program
from trainium_edu.neuroncore.recording.source import SourceLine
from trainium_edu.specs.instances import TARGETS
from trainium_edu.specs.signatures import checked

__all__ = ["FORMAT_VERSION", "from_bytes", "load", "save", "short_of", "to_bytes", "unpacked_bytes"]

FORMAT_VERSION = 3
_WHAT = "trainium_edu program"
_CHIPS = {chip.name: chip for chip in TARGETS.values()}
_MAX_BYTES = 2**29  #: of JSON that a file unpacks to: over a million instructions


@checked
def save(program: Program, path: str | PathLike) -> None:
    """Write a program to a file.

    Parameters
    ----------
    program : Program
    path : str or Path
        Its name is up to you; ``.json.gz`` says what it is.

    Examples
    --------
    >>> import tempfile, pathlib
    >>> from trainium_edu.neuroncore import NeuronCore
    >>> core = NeuronCore(values=False)
    >>> core.memset(dst=core.sbuf((128, 8)), value=0.0)
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     save(core.program, pathlib.Path(folder) / "one.json.gz")
    ...     load(pathlib.Path(folder) / "one.json.gz")
    Program('program', 1 instructions, 1 allocations)
    """
    files.write(path, to_bytes(program))


@checked
def to_bytes(program: Program) -> bytes:
    """Return what :func:`save` writes: the same bytes for the same program."""
    text = json.dumps(_to_plain(program), separators=(",", ":"), allow_nan=True).encode()
    if len(text) > _MAX_BYTES:
        raise ValueError(
            f"{program!r} takes {len(text) >> 20} MiB as JSON, and at most {_MAX_BYTES >> 20} can "
            "be read back; save a shorter program"
        )
    return gzip.compress(text, 6, mtime=0)


@checked
def load(path: str | PathLike) -> Program:
    """Read a program that :func:`save` wrote.

    Parameters
    ----------
    path : str or Path

    Returns
    -------
    Program

    Raises
    ------
    FileNotFoundError
        If there is no such file.
    ValueError
        One sentence on what is wrong with it.
    """
    path = Path(path)
    if not path.is_file():
        raise FileNotFoundError(f"there is no saved program {path.name}")
    with path.open("rb") as file:
        data = file.read(_MAX_BYTES + 1)
    return from_bytes(data, path.name)


def from_bytes(data: bytes, name: str) -> Program:
    """Return the program in what :func:`to_bytes` gave; errors call it `name`.

    Raises
    ------
    ValueError
        One sentence on what is wrong with it.
    """
    try:
        size = unpacked_bytes(data)
        if size > _MAX_BYTES:
            raise ValueError(
                f"it is cut off, or unpacks to {size >> 20} MiB, over {_MAX_BYTES >> 20} MiB"
            )
        with gzip.open(io.BytesIO(data), "rb") as file:
            text = file.read(size + 1)
        if len(text) != size:
            raise ValueError("its size differs from the one that it states")
        plain = json.loads(text.decode())
    except (OSError, EOFError, zlib.error, RecursionError, MemoryError, ValueError) as error:
        raise ValueError(
            f"{name} cannot be read as a saved program ({short_of(error)}); save it again"
        ) from None
    if not isinstance(plain, dict) or plain.get("what") != _WHAT:
        raise ValueError(f"{name} is not a program saved by trainium_edu")
    if plain.get("version") != FORMAT_VERSION:
        raise ValueError(
            f"{name} has format version {plain.get('version')!r}, and this trainium_edu reads "
            f"version {FORMAT_VERSION}; save it again with this one"
        )
    try:
        return _from_plain(plain)
    except (KeyError, IndexError, TypeError, AttributeError, ValueError) as error:
        raise ValueError(
            f"{name} is damaged or was edited ({short_of(error)}); save it again"
        ) from None


def unpacked_bytes(data: bytes) -> int:
    """Return the size that gzipped data states for what they unpack to."""
    return int.from_bytes(data[-4:], "little")


def short_of(error) -> str:
    """Return what is wrong, printable and without the file's own bytes, which errors may repeat."""
    said = re.sub(r"b(['\"]).*", "", str(error).split("\n")[0])
    said = "".join(c for c in said if c.isprintable()).strip(" (")[:120]
    return f"{type(error).__name__}: {said}" if said else type(error).__name__


class _Table:
    """Values that repeat, each kept once."""

    def __init__(self):
        self.rows, self._index = [], {}

    def add(self, value) -> int:
        key = repr(value)  # 0.0 and -0.0, 1 and True stay apart
        index = self._index.get(key)
        if index is None:
            index = self._index[key] = len(self.rows)
            self.rows.append(_encode(value))
        return index


def _encode(value):
    """Return JSON for numbers, texts, None, tuples and lists (tuples stay tuples)."""
    if value is None or isinstance(value, bool | str):
        return str(value) if isinstance(value, str) else value
    if isinstance(value, int | float):
        return value
    if isinstance(value, np.generic):
        return _encode(value.item())
    if isinstance(value, tuple):
        return {"t": [_encode(v) for v in value]}
    if isinstance(value, list):
        return [_encode(v) for v in value]
    if isinstance(value, np.ndarray):
        return _encode(value.tolist())
    if hasattr(value, "itemsize") and hasattr(value, "fmt"):
        return value.name  # a DType
    raise TypeError(f"an option of type {type(value).__name__} cannot be saved: {value!r}")


def _decode(value):
    if isinstance(value, dict):
        return tuple(_decode(v) for v in value["t"])
    if isinstance(value, list):
        return [_decode(v) for v in value]
    return value


def _to_plain(program: Program) -> dict:
    geometry, work, options, lines, sites = (_Table() for _ in range(5))
    instructions = [
        [
            i.name, str(i.engine), work.add(i.work), options.add(i.options),
            None if i.line is None else lines.add(tuple(i.line)), i.label, int(i.flops),
            list(i.loops), list(i.after),
            [[*map(int, a[:5]), int(a.is_write), a.role, geometry.add(a.geometry)]
             for a in i.accesses], i.is_free,
        ]
        for i in program.instructions
    ]  # fmt: skip
    allocations = [
        [a.name, str(a.memory), list(map(int, a.shape)), a.dtype.name, sites.add(a.site),
         a.address, a.start_partition]
        for a in program.allocations
    ]  # fmt: skip
    return {
        "what": _WHAT,
        "version": FORMAT_VERSION,
        "chip": program.spec.name,
        "name": program.name,
        "rounding": program.rounding,
        "outputs": list(program.outputs),
        "turns": program.turns,
        "loops": [
            [x.start, x.end, x.count, x.first_allocation, x.end_allocation] for x in program.loops
        ],
        "allocations": allocations,
        "instructions": instructions,
        "geometry": geometry.rows,
        "work": work.rows,
        "options": options.rows,
        "lines": lines.rows,
        "sites": sites.rows,
    }


def _from_plain(plain: dict) -> Program:
    if plain["chip"] not in _CHIPS:
        raise ValueError(f"unknown chip {plain['chip']!r}")
    program = Program(_CHIPS[plain["chip"]], str(plain["name"]), str(plain["rounding"]))
    tables = {
        name: [_decode(row) for row in plain[name]]
        for name in ("geometry", "work", "options", "lines", "sites")
    }
    program.allocations = [
        _allocation(index, row, tables["sites"]) for index, row in enumerate(plain["allocations"])
    ]
    program.loops = [Loop(*map(_count, row)) for row in plain["loops"]]
    program.turns = [tuple(map(_count, row)) for row in plain.get("turns", ())]
    program.outputs = [_within(i, program.allocations) for i in plain["outputs"]]
    tables["lines"] = [_source_line(*row) for row in tables["lines"]]
    tables["rows"] = aside.load("trainium_edu.neuroncore").INSTRUCTIONS  # filled by the front door
    for index, row in enumerate(plain["instructions"]):
        program.instructions.append(_instruction(index, row, tables, program))
    return program


def _source_line(file, line, function, callers=()) -> SourceLine:
    callers = tuple((str(f), _count(n), str(w)) for f, n, w in callers)
    return SourceLine(str(file), _count(line), str(function), callers)


def _allocation(index, row, sites) -> Allocation:
    name, memory, shape, dtype, site, address, start = row
    shape = tensor_shape(tuple(shape), str(name))
    return make_allocation(
        index, str(name), Memory(memory), shape, get_dtype(dtype), sites[_count(site)],
        None if address is None else _count(address), _count(start),
    )  # fmt: skip


def _instruction(index, row, tables, program) -> Instruction:
    name, engine, work, options, line, label, flops, loops, after, accesses, is_free = row
    if name not in tables["rows"] or Engine(engine) not in tables["rows"][name].engines:
        raise ValueError(f"instruction {index} is {name!r} on {engine!r}")
    for loop in loops:
        _within(loop, program.loops)
    for earlier in after:
        _within(earlier, program.instructions)
    return Instruction(
        index, name, Engine(engine),
        tuple(_access(a, tables["geometry"], program) for a in accesses),
        tables["work"][_count(work)], tables["options"][_count(options)],
        None if line is None else tables["lines"][_count(line)], str(label), _count(flops),
        tuple(loops), tuple(after), bool(is_free),
    )  # fmt: skip


def _access(row, geometry, program) -> Access:
    tile, first_row, end_row, first_byte, end_byte, is_write, role, form = row
    _within(tile, program.allocations)
    if not 0 <= first_row < end_row or not 0 <= first_byte < end_byte:
        raise ValueError(f"an access of tile {tile} covers no bytes")
    info = program.allocations[tile]
    if info.memory is not Memory.HBM and (end_row > info.partitions or end_byte > info.row_bytes):
        raise ValueError(f"an access leaves its tile {info.name}")
    dtype, shape, strides, offset = geometry[_count(form)]
    get_dtype(dtype)
    return Access(
        tile, first_row, end_row, first_byte, end_byte, bool(is_write), str(role),
        (dtype, shape, strides, offset),
    )  # fmt: skip


def _count(number) -> int:
    if isinstance(number, bool) or not isinstance(number, int) or number < 0:
        raise ValueError(f"{number!r} where a count was expected")
    return number


def _within(index, things) -> int:
    if _count(index) >= len(things):
        raise ValueError(f"number {index} of {len(things)}")
    return index
