"""From addresses to lines of C++: the line table of a program, read without the machine's tools.

A machine whose compiler is a wheel has no ``addr2line``, so pyelftools reads the DWARF 4 that the
compilers are asked for.  The lines of other programs are not known.
"""

from bisect import bisect_right
from collections.abc import Callable, Iterator
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

from trainium_edu.aside import load

if TYPE_CHECKING:
    from elftools.elf.elffile import ELFFile

__all__ = ["LineTable"]


class _Row(NamedTuple):
    """A row of the table: from this address on, the code belongs to this line."""

    address: int
    file: str
    line: int


class _Sequence(NamedTuple):
    """A stretch of code, and those of its rows that belong to the learner's files."""

    begin: int
    end: int
    rows: list[_Row]


class LineTable:
    """The lines of a program.

    Parameters
    ----------
    program : Path
    is_theirs : callable
        Whether a file is the learner's.
    """

    def __init__(self, program: Path, is_theirs: Callable[[str], bool]):
        self._sequences: list[_Sequence] = []
        elf = load("elftools.elf.elffile")  # late: most sessions read no program
        with program.open("rb") as file:
            try:
                self._sequences = sorted(_sequences(elf.ELFFile(file), cache(is_theirs)))
            except elf.ELFError:
                return  # not an ELF file, such as a program of macOS

    def at(self, address: int) -> tuple[str, int] | None:
        """Return the learner's (file, line) that an address belongs to, or None.

        Code of a header that was inlined belongs to the line before it.
        """
        number = bisect_right(self._sequences, address, key=lambda sequence: sequence.begin) - 1
        if number < 0 or address >= self._sequences[number].end:
            return None
        rows = self._sequences[number].rows
        before = bisect_right(rows, address, key=lambda row: row.address) - 1
        return (rows[before].file, rows[before].line) if before >= 0 else None


def _sequences(elf: "ELFFile", is_theirs: Callable[[str], bool]) -> Iterator[_Sequence]:
    """Yield the sequences of the units that have the learner's files."""
    dwarf = elf.get_dwarf_info()
    for unit in dwarf.iter_CUs() if dwarf.has_debug_info else ():
        program = dwarf.line_program_for_CU(unit)
        if program is None or program["version"] > 4:  # as units of the C library may be
            continue
        folders = program["include_directory"]
        files = ["", *(_path(entry, folders) for entry in program["file_entry"])]
        if not any(map(is_theirs, files[1:])):
            continue
        rows: list[_Row] = []
        for state in filter(None, (entry.state for entry in program.get_entries())):
            rows.append(_Row(state.address, files[state.file], state.line))
            if state.end_sequence:
                if rows[0].address:  # the linker puts code that it left out at address 0
                    theirs = [row for row in rows[:-1] if row.line and is_theirs(row.file)]
                    yield _Sequence(rows[0].address, state.address, theirs)
                rows = []


def _path(entry, folders) -> str:
    """Return the path of a file of a unit's table."""
    name = entry.name.decode(errors="replace")
    if not entry.dir_index or name.startswith("/"):
        return name
    return f"{folders[entry.dir_index - 1].decode(errors='replace')}/{name}"
