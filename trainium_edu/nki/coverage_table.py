"""The names of NKI's public reference, and how far each is here.

``instructions.toml`` says it of each instruction, ``names.toml`` of all others.  A test compares
the names with the reference's, and looks for each in its test file.  The older interface,
``neuronxcc.nki``, has a list of its own.
"""

import textwrap
from typing import NamedTuple

from trainium_edu.nki.rows import read
from trainium_edu.specs.software import SOFTWARE

__all__ = ["Entry", "coverage", "entries", "rows_of"]


class Entry(NamedTuple):
    """One name of the reference."""

    section: str  #: "nki", "nki.language", "NkiTensor", "tile_size", "nki.isa", "nki.collectives"
    name: str
    state: str  #: "done", "later chip" or "missing"
    where: str  #: the test file, or the chip
    judge: str  #: who says that it is right


_Row = tuple[str, str, str, str, list[str]]  #: section, state, where, judge, names


def rows_of(interface: str) -> list[_Row]:
    """Return the rows of names.toml for an interface: "now", "old" or "newer"."""
    return [
        (row["section"], row["state"], row["where"], row.get("judge", ""), row["names"].split())
        for row in read("names.toml")[interface]
    ]


def _table(interface: str, section: str) -> list[_Row]:
    """Return the rows of an interface, "now" or "old"; `section` is that of its instructions."""
    rows = rows_of(interface)
    groups: dict[tuple, list] = {}
    for name, row in read("instructions.toml").items():
        if interface in row:
            groups.setdefault(_state(row, interface), []).append(name)
    rows += [(section, *state, names) for state, names in groups.items()]
    sections = [row[0] for row in rows]
    return sorted(rows, key=lambda row: sections.index(row[0]))


def _state(row, interface) -> tuple[str, str, str]:
    """Return the state of an instruction, its test or chip or reason, and its judge."""
    if chip := row.get("chip"):
        return "later chip", chip, ""
    if "missing" in row:
        return "missing", row["missing"], ""
    if interface == "old":
        judge = "the reference's stub; values: NumPy"
        return "done", "nki/beta1/test_isa_signatures.py", judge
    test = row["test"] if "/" in row["test"] else f"neuroncore/engines/test_{row['test']}.py"
    return "done", test, row["judge"]


_NOW, _OLD = _table("now", "nki.isa"), _table("old", "neuronxcc.nki.isa")


def entries(*, older=False) -> list[Entry]:
    """Return every name of the reference with its state; those of ``neuronxcc.nki`` if `older`."""
    return [
        Entry(section, name, state, where, judge)
        for section, state, where, judge, names in (_OLD if older else _NOW)
        for name in names
    ]


def coverage() -> None:
    """Print the reference's names: done (with test and judge), later chip, missing.

    Examples
    --------
    >>> from trainium_edu.nki.coverage_table import coverage
    >>> coverage()  # doctest: +ELLIPSIS
    NKI 0.6.0: ... names; ... done, ... for later chips, 0 missing
    ...
    """
    found = entries()
    count = {s: sum(e.state == s for e in found) for s in ("done", "later chip", "missing")}
    print(
        f"NKI {SOFTWARE.nki_version.value}: {len(found)} names; {count['done']} done, "
        f"{count['later chip']} for later chips, {count['missing']} missing"
    )
    _print_rows(_NOW)
    _print_older()
    newest, sdk = SOFTWARE.newest_nki_version, SOFTWARE.newest_sdk_version
    print(
        f"NKI {newest.value} (Neuron {sdk.value}, {newest.as_of}) is the newest release.\n"
        "Followed: Python does not branch on what the chip computes (TypeError). New there:"
    )
    _print_rows(rows_of("newer"))


def _print_rows(rows):
    for section, state, where, judge, names in rows:
        by = f"{state}, tests/{where}; judge: {judge}" if state == "done" else f"{state}: {where}"
        print(f"{section} ({by})")
        print(_wrapped(names))


def _print_older():
    found = entries(older=True)
    print(
        f"neuronxcc.nki (Beta 1, SDK 2.20 to 2.26): {len(found)} names, "
        f"{sum(e.state == 'done' for e in found)} done; the others raise:"
    )
    for section, state, where, _, names in _OLD:
        if state != "done":
            print(f"{section} ({state}: {where})")
            print(_wrapped(names))


def _wrapped(names) -> str:
    return textwrap.fill(" ".join(names), 96, initial_indent="    ", subsequent_indent="    ")
