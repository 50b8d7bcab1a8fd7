"""What a kernel does here but not on the chip, or not with AWS's compiler: advice, no error.

These are calls on AWS's list of known issues (``specs.NKI_KNOWN_ISSUES``), grids of more programs
than a logical core has, and Python that looked at numbers.  Also tiles whose stated addresses
overlap, so that one is read after the other was written.
"""

from collections import defaultdict

from trainium_edu.neuroncore.advice.evidence import called
from trainium_edu.neuroncore.advice.remedies import Remedy
from trainium_edu.specs import NKI_KNOWN_ISSUES, SOFTWARE

__all__ = ["NOTED", "not_on_the_chip"]

NOTED = "known issue", "grid", "looks"  #: kinds of notes that are said here


def not_on_the_chip(run):
    """Find what runs here and fails, or gives something else, there."""
    instructions = run.recorded.instructions
    by_kind = defaultdict(dict)  #: kind -> {role: [lines]}
    for kind, index, role, _ in run.notes:
        line = instructions[index].line if 0 <= index < len(instructions) else None
        by_kind[kind].setdefault(role, {})[line] = None
    for role, lines in by_kind["known issue"].items():
        yield _known_issue(run, role, *lines)
    for role in by_kind["looks"]:
        yield run.advice("looks", None, role, Remedy.LOOK)
    for role in by_kind["grid"]:
        text = _grid(int(role), run.recorded.spec)
        yield run.advice("grid", None, text, Remedy.ONE_PROGRAM)
    yield from _overwritten(run)


def _known_issue(run, role, line, *others):
    issue, _, call = role.partition(" of ")
    fact = getattr(NKI_KNOWN_ISSUES, issue)
    call = run.words.calls.get(issue, f"{run.words.prefix}{call or issue}")
    more = f" (and in {len(others)} more line{'s' if len(others) > 1 else ''})" if others else ""
    text = f"{call}{more}: {fact.value} ({fact.source}, {fact.locator})"
    return run.advice("known issue", line, text, Remedy.KNOWN_ISSUE, {"note": fact.note})


def _grid(number, spec):
    degrees = SOFTWARE.logical_core_degrees
    text = (
        f"{number} programs run side by side here, each on a NeuronCore of its own, and a launch "
        f"takes as many as a logical core has NeuronCores: one on {spec.name} ({degrees.note}; "
        f"{degrees.source}, {degrees.locator})"
    )
    if number not in degrees.value:
        text += f", {degrees.value[-1]} on later chips, and {number} are an error on all (nki-lnc)"
    return text


def _overwritten(run):
    """Find each read of a tile, part of which another has overwritten since."""
    infos = run.recorded.allocations
    stated = {
        info.index: (info.memory, *_place(info)) for info in infos if info.address is not None
    }
    places = set(stated.values())
    near = {
        place: [other for other in places if other[0] is place[0] and _both(place[1:], other[1:])]
        for place in places
    }
    writes = {place: [] for place in places}  #: [(rectangle, by which tile)], the last one last
    reported = set()
    for instruction in run.recorded.instructions if len(stated) > 1 else ():
        for access in sorted(instruction.accesses, key=lambda a: a.is_write):
            info = infos[access.allocation]
            if info.index not in stated:
                continue
            place, rectangle = stated[info.index], _place(info, access)
            if access.is_write:
                for other in near[place]:
                    if both := _both(rectangle, other[1:]):
                        before = [] if both == other[1:] else writes[other]
                        writes[other] = [*before, (both, info)]
                continue
            by = _last_to_write(writes[place], rectangle, info)
            if by is None or (instruction.line, info.name, by.name) in reported:
                continue
            reported.add((instruction.line, info.name, by.name))
            text = (
                f"{instruction.name} reads {called(info)}, of which {called(by)} has overwritten a "
                f"part: their addresses in {info.memory.upper()}, {info.address} and "
                f"{by.address}, overlap"
            )
            yield run.advice("overlapping addresses", instruction.line, text,
                             Remedy.ADDRESSES_APART)  # fmt: skip


def _last_to_write(writes, rectangle, info):
    """Return the tile that wrote a part of `rectangle` after `info` did, or None."""
    own_parts = []
    for place, by in reversed(writes):
        both = _both(place, rectangle)
        if both and by is info:
            own_parts.append(both)
            if both == rectangle:
                return None
        elif both and not any(_both(both, part) == both for part in own_parts):
            return by
    return None


def _place(info, access=None):
    """Return (first row, end row, first byte, end byte) of a tile, or of an access to it."""
    row, end = (access.first_row, access.end_row) if access else (0, info.partitions)
    low, high = (access.first_byte, access.end_byte) if access else (0, info.row_bytes)
    first, at = info.start_partition, info.address
    return first + row, first + end, at + low, at + high


def _both(a, b):
    """Return the intersection of two rectangles, or None."""
    row, end, low, high = max(a[0], b[0]), min(a[1], b[1]), max(a[2], b[2]), min(a[3], b[3])
    return (row, end, low, high) if row < end and low < high else None
