"""From addresses to lines of C++: the line table of a program, read without tools.

A machine whose compiler is a wheel has no ``addr2line``.  The table's format is DWARF 4's, which
the compilers are asked for, in an ELF file; of other programs no line is known.
"""

import struct
from bisect import bisect_right
from collections.abc import Callable
from pathlib import Path
from typing import NamedTuple

__all__ = ["LineTable"]


class _Row(NamedTuple):
    """From this address on the code is that of a line."""

    address: int
    file: str
    line: int  #: 0: the sequence ends here


class LineTable:
    """The lines of a program.

    Parameters
    ----------
    program : Path
    is_theirs : callable
        Whether a file is the learner's.
    """

    def __init__(self, program: Path, is_theirs: Callable[[str], bool]):
        known: dict[str, bool] = {}

        def theirs(file: str) -> bool:
            if file not in known:
                known[file] = is_theirs(file)
            return known[file]

        self._starts: list[int] = []
        self._ends: list[int] = []
        self._rows: list[list[_Row]] = []
        sequences = _sequences(_section(program.read_bytes(), b".debug_line"))
        for rows in sorted(sequences, key=lambda rows: rows[0].address):
            self._starts.append(rows[0].address)
            self._ends.append(rows[-1].address)
            self._rows.append([row for row in rows if row.line and theirs(row.file)])

    def at(self, address: int) -> tuple[str, int] | None:
        """Return the (file, line) of the learner's that an address belongs to, or None.

        Code of a header that was inlined belongs to the line before it.
        """
        here = bisect_right(self._starts, address) - 1
        if here < 0 or address >= self._ends[here]:
            return None
        rows = self._rows[here]
        before = bisect_right(rows, address, key=lambda row: row.address) - 1
        return (rows[before].file, rows[before].line) if before >= 0 else None


def _section(elf: bytes, name: bytes) -> bytes:
    """Return a section of a 64-bit little-endian ELF file, b"" if it is something else."""
    if elf[:6] != b"\x7fELF\x02\x01":
        return b""
    (at,), (size, count, names) = struct.unpack_from("<Q", elf, 40), struct.unpack_from(
        "<HHH", elf, 58)  # fmt: skip
    heads = [struct.unpack_from("<IIQQQQ", elf, at + i * size) for i in range(count)]
    table = heads[names][4]
    for offset, _, _, _, begin, length in heads:
        if elf.startswith(name + b"\0", table + offset):
            return elf[begin : begin + length]
    return b""


class _Reader:
    """Numbers and names, one after the other."""

    def __init__(self, data: bytes, at: int):
        self.data, self.at = data, at

    def take(self, code: str) -> int:
        (value,) = struct.unpack_from("<" + code, self.data, self.at)
        self.at += struct.calcsize("<" + code)
        return value

    def name(self) -> str:
        end = self.data.index(b"\0", self.at)
        text, self.at = self.data[self.at : end].decode(errors="replace"), end + 1
        return text

    def number(self, *, signed: bool = False) -> int:
        value = shift = 0
        while True:
            byte = self.take("B")
            value |= (byte & 127) << shift
            shift += 7
            if byte < 128:
                return value - (1 << shift) if signed and byte & 64 else value


def _sequences(data: bytes):
    """Yield the rows of each sequence; addresses rise in it."""
    at = 0
    while at + 4 < len(data):
        reader = _Reader(data, at)
        at += 4 + reader.take("I")
        if reader.take("H") == 4:  # of the C library's own units there may be others
            yield from _unit(reader, at)


def _unit(reader: _Reader, end: int):
    """Run one unit's line program (DWARF 4, section 6.2)."""
    begin = reader.take("I") + reader.at
    step, _, _ = reader.take("B"), reader.take("B"), reader.take("B")
    line_base, line_range, opcode_base = reader.take("b"), reader.take("B"), reader.take("B")
    lengths = [reader.take("B") for _ in range(opcode_base - 1)]
    folders = [""]
    while name := reader.name():
        folders.append(name)
    files = [""]
    while name := reader.name():
        folder, _, _ = reader.number(), reader.number(), reader.number()
        files.append(f"{folders[folder]}/{name}" if folder and name[0] != "/" else name)
    reader.at = begin
    rows: list[_Row] = []
    address, file, line = 0, 1, 1
    while reader.at < end:
        code = reader.take("B")
        if code >= opcode_base:
            code -= opcode_base
            address += code // line_range * step
            line += line_base + code % line_range
            rows.append(_Row(address, files[file], line))
        elif code == 0:
            length = reader.number()
            after = reader.at + length
            kind = reader.take("B")
            if kind == 1:
                rows.append(_Row(address, "", 0))
                if rows[0].address:  # at 0 is what the linker left out
                    yield rows
                rows, address, file, line = [], 0, 1, 1
            elif kind == 2:
                address = reader.take("Q")
            reader.at = after
        elif code == 1:
            rows.append(_Row(address, files[file], line))
        elif code == 2:
            address += reader.number() * step
        elif code == 3:
            line += reader.number(signed=True)
        elif code == 4:
            file = reader.number()
        elif code == 8:
            address += (255 - opcode_base) // line_range * step
        elif code == 9:
            address += reader.take("H")
        else:
            for _ in range(lengths[code - 1]):
                reader.number()
