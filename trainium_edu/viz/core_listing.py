"""A recorded program as plain data for pictures: names, operands, lines, tiles, and the source."""

import linecache
import re
from functools import cache, partial
from math import prod
from pathlib import Path
from textwrap import dedent

import numpy as np

from trainium_edu.neuroncore.recording.engine import Memory
from trainium_edu.viz.packing import Numbered, pack

__all__ = ["listing_of", "listing_to_bytes"]

#: Numbers of each recorded instruction.
_COLUMNS = ("i_name", "i_text", "i_option", "i_line", "i_call", "i_bytes", "i_flops")
_LONGEST = 200  # lines of a function that are looked through for its ``def``
_GAP = 12  # more silent lines than this in between begin another part
_EMPTY = ("none", "unknown", (), [])  # options that say nothing, as None and False do
_KEYWORDS = "and|as|assert|def|elif|else|False|for|from|if|import|in|None|not|or|raise|return|True"
#: The words of a line of Python that have a colour of their own; the name is their kind.
_WORDS = re.compile(
    r"""(?P<comment>\#.*$)|(?P<string>"(?:[^"\\]|\\.)*"|'(?:[^'\\]|\\.)*')"""
    rf"|\b(?P<keyword>{_KEYWORDS}|while|with)\b|(?P<number>\b\d[\d_.]*\b)"
)
_DTYPE = {"float32": "fp32", "bfloat16": "bf16", "float16": "fp16", "tfloat32": "tf32"}


def listing_of(program) -> dict:
    """Gather what a page needs to name every instruction and tile of a program.

    Parameters
    ----------
    program : Program

    Returns
    -------
    dict
        ``names``, ``operands`` (lists of [role, tile, text, writes]), ``options``, ``lines``,
        ``allocations``, ``sources``, and arrays ``i_name i_text i_option i_line i_call i_bytes
        i_flops`` (one entry per recorded instruction) and ``a_first a_allocation`` (its tiles).
    """
    names, texts, options, lines, sites = (Numbered() for _ in range(5))
    operand = cache(partial(_operand, program.allocations))
    rows, touched, first = [], [], [0]
    for instruction in program.instructions:
        said, sizes = [], [0]
        for access in instruction.accesses:
            text, size = operand(access.allocation, access.geometry, access.role, access.is_write)
            said.append(text)
            sizes.append(size)
            touched.append(access.allocation)
        first.append(len(touched))
        operands = tuple(sorted(said, key=lambda text: not text[3]))
        label = f" “{instruction.label}”" if instruction.label else ""
        callers = instruction.line.callers if instruction.line else ()
        words = names[instruction.name + label], texts[operands], options[_options(instruction)]
        places = (_number(lines, one) for one in (instruction.line, next(reversed(callers), None)))
        rows.append((*words, *places, float(max(sizes)), float(instruction.flops)))
    columns = [*zip(*rows, strict=True)] or [()] * len(_COLUMNS)
    arrays = {n: np.array(column) for n, column in zip(_COLUMNS, columns, strict=True)}
    tiles = []
    for a in program.allocations:
        on_chip = a.memory is not Memory.HBM
        line = a.site[:2] if len(a.site) >= 5 and on_chip else None
        tiles.append(
            {
                "name": a.name,
                "text": _text(a.dtype, a.shape, a.memory),
                "site": sites[a.site] if on_chip else 0,
                "line": _tile_line(lines, line),
                "partitions": a.partitions or 1,
            }
        )
    return {
        "names": list(names),
        "operands": [list(t) for t in texts],
        "options": list(options),
        "lines": [_line(line) for line in lines],
        "allocations": tiles,
        "sources": _sources(lines),
        "arrays": arrays | {"a_first": np.array(first), "a_allocation": np.array(touched, int)},
    }


def listing_to_bytes(listing: dict) -> bytes:
    """Pack a listing for the page."""
    return pack({k: v for k, v in listing.items() if k != "arrays"}, listing["arrays"])


def _operand(allocations, number, geometry, role, is_write):
    """Return an operand in words, and its bytes."""
    (dtype, shape, _, _), allocation = geometry, allocations[number]
    text = _text(dtype, shape, allocation.memory)
    return (role, allocation.name, text, bool(is_write)), prod(shape) * allocation.dtype.itemsize


def _text(dtype, shape, memory):
    return f"{_DTYPE.get(str(dtype), dtype)}[{', '.join(map(str, shape))}] in {memory.upper()}"


def _options(instruction):
    told = (
        (name, f"{value:g}" if isinstance(value, float) else str(value))
        for name, value in instruction.options
        if value is not None and value is not False and value not in _EMPTY
    )
    return ", ".join(f"{n}={text if len(text) <= 60 else f'{text[:59]}…'}" for n, text in told)


def _number(lines, line):
    return -1 if line is None else lines[tuple(line[:3])]


def _tile_line(lines, place):
    """Return the number of a tile's source line; its function is that of a line around it."""
    if place is None:
        return -1
    for known, number in lines.items():
        if known[:2] == place:
            return number
    function = _function_at(linecache.getlines(place[0]), place[1])
    return lines[(*place, function)]


def _line(line):
    file, number, function = line
    text = linecache.getline(file, number).strip()
    return {"file": _file(file), "line": number, "function": function, "text": text}


def _file(name):
    """Return a file's name; a notebook cell has one that says so."""
    path = Path(name)
    return "this notebook" if "ipykernel" in name or name.startswith("<") else path.name


def _sources(lines):
    """Cut out the functions (or the parts of a cell) whose lines recorded something."""
    by_part = {}
    for k, line in enumerate(sorted(lines, key=lambda line: line[:2])):
        file, number, _ = line
        text = linecache.getlines(file)
        if 1 <= number <= len(text):
            key = file, _def_above(text, number)
            part = by_part.setdefault(key, [])
            if key[1] is None and part and number - part[-1][0] > _GAP:  # a cell: cut at gaps
                by_part[file, -k] = by_part.pop(key)
                part = by_part.setdefault(key, [])
            part.append((number, lines[line]))
    return [_part(file, found) for (file, _), found in by_part.items()]


def _part(file, found):
    """Return one stretch of source, with the number of each line that recorded something."""
    text, numbers = linecache.getlines(file), dict(found)
    first, last = found[0][0], found[-1][0]
    low = _def_above(text, first) or max(1, first - 1)
    high = last + bool(
        "".join(text[last : last + 1]).strip()
    )  # the line below, if it says anything
    body = dedent("".join(text[low - 1 : high]).expandtabs(4)).rstrip("\n").split("\n")
    return {
        "file": _file(file),
        "function": _function_at(text, first),
        "first": low,
        "text": body,
        "words": list(map(words_of, body)),
        "lines": [numbers.get(n, -1) for n in range(low, high + 1)],
    }


def words_of(text) -> list[tuple[str, str]]:
    """Cut a line of Python into words and their kinds; the kind of what lies between is ""."""
    found, last = [], 0
    for word in _WORDS.finditer(text):
        found += [(text[last : word.start()], ""), (word[0], word.lastgroup or "")]
        last = word.end()
    return [part for part in (*found, (text[last:], "")) if part[0]]


def _def_above(text, number):
    """Return the line of the nearest ``def`` above that is indented less, or None."""
    if not 1 <= number <= len(text):
        return None
    depth = len(text[number - 1]) - len(text[number - 1].lstrip())
    for n in range(number, max(0, number - _LONGEST), -1):
        bare = text[n - 1].lstrip()
        if bare.startswith("def ") and (n == number or len(text[n - 1]) - len(bare) < depth):
            return n
    return None


def _function_at(text, number) -> str:
    """Return the name of the function that a line stands in."""
    at = _def_above(text, number)
    return text[at - 1].split("def ", 1)[1].split("(")[0].strip() if at else ""
