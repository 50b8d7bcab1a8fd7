"""What operators in C++ do slowly: trips to HBM, short copies, one processor for all."""

from trainium_edu.neuroncore.advice.evidence import engine_called, several
from trainium_edu.neuroncore.advice.remedies import Remedy
from trainium_edu.neuroncore.engines.custom_op import Work, custom_op_ns, parts_ns
from trainium_edu.neuroncore.recording.engine import Engine
from trainium_edu.neuroncore.recording.source import SourceLine
from trainium_edu.neuroncore.timing.durations import OPERATOR_PARAMETERS

__all__ = ["custom_operators"]

_PIECE_BYTES = 4096  # what a copy can well be: a quarter of the pool
_SHORT_BYTES = 1024
_ELEMENT_BYTES = 4
_UNEVEN = 1.25


def custom_operators(run):
    """Find what operators in C++ spend their time on."""
    values = run.timeline.parameters
    prices = {name.removeprefix("operator_"): values[name] for name in OPERATOR_PARAMETERS}
    for (line, _), group in run.by_line(lambda i: i.name == "custom_op").items():
        for one, _ in group:
            yield from _of_one(run, line, group, one, prices)
            break  # a line's operators do the same


def _of_one(run, line, group, one, prices):
    options = dict(one.options)
    works = [Work(*work) for work in one.work]
    parts = [parts_ns(work, prices) for work in works]
    slowest = max(range(len(works)), key=lambda p: sum(parts[p].values()))
    total = sum(parts[slowest].values()) or 1.0

    def judged(kind, text, remedy, changed, at=line):
        left = custom_op_ns(changed, prices) / total
        if left < 1:
            change = run.keeping(group, lambda i: (1, 1, left))
            yield from run.judged(
                kind, at, text, remedy, change, engine_called(Engine.GPSIMD), is_most=True
            )

    elements = sum(work.elements for work in works)
    if elements:
        at, here = _costliest(options["sites"], 2)
        where = f", {here:,} of them at this line" if here < elements else ""
        yield from judged(
            "element accessor",
            f"{options['operator']} makes {elements:,} trips to HBM through an element "
            f"accessor (or a stream beyond the fourth), one for each element that it names{where}",
            Remedy.THROUGH_TCM, [_through_tcm(work) for work in works], at or line,
        )  # fmt: skip
    copies = sum(work.copies for work in works)
    each = sum(work.copied_bytes for work in works) // copies if copies else 0
    if copies and each < _SHORT_BYTES:
        at, _ = _costliest(options["sites"], 4)
        yield from judged(
            "short copies",
            f"{options['operator']} makes {copies:,} copies between HBM and TCM of {each} "
            "bytes each, and each starts anew",
            Remedy.LONGER_COPIES, [_longer(work) for work in works], at or line,
        )  # fmt: skip
    if len(works) > 1 and total > _UNEVEN * sum(map(_sum, parts)) / len(parts):
        shared = [Work(*(n // len(works) for n in map(sum, zip(*works, strict=True))))]
        yield from judged(
            "uneven shares", f"processor {slowest} works longest, and the others wait for it",
            Remedy.SHARE_EVENLY, shared,
        )  # fmt: skip
    if len(works) == 1 and not elements and works[0].copies:
        eight = int(run.timeline.spec.gpsimd_engine.processors)
        yield from judged(
            "one processor", f"{options['operator']} runs on one of {eight} processors",
            Remedy.SEVERAL_PROCESSORS, [Work(*(n // eight for n in works[0]))],
        )  # fmt: skip
    most = int(run.timeline.spec.custom_operators.stack_bytes)
    if options.get("stack_bytes", 0) > most:
        yield run.advice(
            "slow stack", line,
            f"the stack of {options['operator']} takes {several(options['stack_bytes'], 'byte')}, "
            f"and what is beyond {most} lies in slower memory (which is not priced: no figure is "
            "published)", Remedy.SMALLER_STACK,
        )  # fmt: skip


def _sum(parts):
    return sum(parts.values())


def _costliest(sites, column):
    """Return the C++ line with the most of one count, and that count."""
    if not sites:
        return None, 0
    best = max(sites, key=lambda site: site[column])
    return SourceLine(best[0], best[1], ""), best[column]


def _through_tcm(work: Work) -> Work:
    """Return the same work with every element in TCM, copied in pieces of 4 KB."""
    nbytes = work.elements * _ELEMENT_BYTES
    return work._replace(elements=0, copies=work.copies + -(-nbytes // _PIECE_BYTES),
                         copied_bytes=work.copied_bytes + nbytes)  # fmt: skip


def _longer(work: Work) -> Work:
    return work._replace(copies=min(work.copies, -(-work.copied_bytes // _PIECE_BYTES)))
