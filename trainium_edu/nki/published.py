"""Device times that somebody published for this generation, beside our predictions.

``python -m trainium_edu.nki.published`` prints the table (``--all``: with the longest kernels,
``--markdown``: as ``truth.md`` has it, ``--residuals``: as ``specs.times`` keeps it for bands).
``--trn2`` prints all rows of Trainium2, which no band rests on, with no source left out.  The rows
are ``specs.times``; the kernels are in ``nki.examples``.  Some issue what the published
ones issued, others are as written, and the older compiler's passes run.

Every row is predicted with its source left out: without the parameters that it helped to choose,
and in a band from the other sources' rows.  (What a source showed about the compiler stays: the
passes are the same for all.)  As in the publications a device time has a kernel's start and stop in
it.  Mamba's busy share of Vector is that of the *core execution period*, from its first
instruction on data to its last.
"""

import argparse
import pprint
import sys
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from functools import partial

import ml_dtypes
import numpy as np

from trainium_edu.neuroncore.timing.bands import Times, bound_by
from trainium_edu.neuroncore.timing.scheduler import reschedule
from trainium_edu.nki.examples import matmul, profiled, selective_scan
from trainium_edu.nki.kernel import run
from trainium_edu.specs.instances import TARGETS, TRN1
from trainium_edu.specs.times import TIMES, TIMES_TRN2, WITHOUT, MeasuredTime

__all__ = ["KERNELS", "ROWS", "Prediction", "compare", "device_ns", "predict", "residuals",
           "summary", "table", "vector_share"]  # fmt: skip

ROWS = TIMES
_LONG_US = 10_000  # longer ones are recorded in tens of seconds
_P = 128


def _zeros(*shapes):
    return [np.zeros(shape, np.float32) for shape in shapes]


def _mamba(kernel, channels, length, *more, states=16):
    wide, deep = (1, channels, length), (1, states, length)
    return kernel, [*_zeros(wide, wide, (channels, states), deep, deep), *more]


def _profiled(name, shapes, *sizes):
    return getattr(profiled, name), _zeros(*shapes(*sizes))


def _add(elements, rows, columns):
    kernel, arrays = _profiled("add", lambda n: ((n,), (n,)), elements)
    return kernel, [*arrays, rows, columns]


def _bf16_matmul(kernel, depth, m, n, *groups):
    operands = [np.zeros((depth, columns), ml_dtypes.bfloat16) for columns in (m, n)]
    return kernel, [*operands, *groups]


def _depthwise(batch, channels, width, turns, in_psum):
    return profiled.depthwise, [*_zeros((batch, channels, width), (channels, 3)), turns, in_psum]


def _of_study(kernel, dtype, last, shapes, *sizes):
    return getattr(profiled, kernel), [*(np.zeros(s, dtype) for s in shapes(*sizes)), last]


#: What a row runs: its sizes -> (kernel, arguments).
KERNELS: dict[str, Callable] = {
    "mamba v1": partial(_mamba, selective_scan.reload),
    "mamba v2": partial(_mamba, selective_scan.hoisted),
    "mamba v3": partial(_mamba, selective_scan.tiled),
    "scan of products": lambda *sizes: _mamba(selective_scan.hoisted, *sizes, True),
    "scan in pieces": partial(_mamba, selective_scan.in_pieces),
    "matmul in groups": partial(_bf16_matmul, profiled.grouped),
    "blocked matmul": partial(_bf16_matmul, matmul.fully_blocked),
    "depthwise convolution": _depthwise,
    "add": _add,
    "convolution": partial(
        _profiled, "convolution", lambda c, d, w: ((c, w, w), (d, c, 3, 3), (_P, _P))
    ),
    "silu": partial(_profiled, "silu", lambda m, n: ((m, n),)),
    "adamw": partial(_profiled, "adamw", lambda m, n: ((m, n),) * 4),
    "rope": partial(_profiled, "rope", lambda d, s: ((d, s), (d // 2, s), (d // 2, s))),
    "bmm": partial(_profiled, "bmm", lambda b, m, k, n: ((b, m, k), (b, k, n), (_P, _P))),
    "matmul": partial(_profiled, "matmul", lambda m, k, n: ((m, k), (k, n), (_P, _P))),
    "transpose_matmul": partial(_profiled, "transpose_matmul", lambda m, k, n: ((k, m), (k, n))),
    "matmul_add_rmsnorm": partial(
        _profiled, "matmul_add_rmsnorm",
        lambda m, k, n: ((m, k), (k, n), (m, n), (1, n), (_P, _P)),
    ),
}  # fmt: skip
for _suffix, _dtype in (("", np.float32), (" BF16", ml_dtypes.bfloat16)):
    for _name, _is_fused in (("attention", False), ("fused attention", True)):
        KERNELS[_name + _suffix] = partial(_of_study, "attention", _dtype, _is_fused,
                                           lambda n: ((_P, n),) * 3)  # fmt: skip
    for _name, _by_hand in (("gelu", False), ("gelu by hand", True)):
        KERNELS[_name + _suffix] = partial(_of_study, "gelu_of_product", _dtype, _by_hand,
                                           lambda m, k, n: ((k, m), (k, n), (1, n)))  # fmt: skip


@dataclass(frozen=True, slots=True)
class Prediction:
    """One row beside what the emulator says; device times in us."""

    row: MeasuredTime
    us: float
    low_us: float
    high_us: float
    vector_busy: float
    bound_by: str

    @property
    def published_us(self) -> float:
        """The published time; of several the nearest."""
        return min(self.row.us, key=lambda us: abs(self.us / us - 1))

    @property
    def off(self) -> float:
        """The prediction's error, as a part of the published time."""
        return self.us / self.published_us - 1

    @property
    def is_inside(self) -> bool:
        """Return whether a published time, as far as its digits go, lies in the band."""
        low, high = self.low_us - self.row.rounding_us, self.high_us + self.row.rounding_us
        return any(low <= us <= high for us in self.row.us)

    @property
    def cells(self) -> tuple[str, ...]:
        """The row's cells in the table."""
        row = self.row
        busy = "" if row.vector_busy is None else f"{row.vector_busy:.0%} / {self.vector_busy:.0%}"
        return (
            row.kernel, row.printed_sizes, row.source, " or ".join(f"{us:.5g}" for us in row.us),
            f"{self.us:.5g}", f"{self.low_us:.5g} to {self.high_us:.5g}", f"{self.off:+.1%}",
            "yes" if self.is_inside else "no", busy, self.bound_by,
        )  # fmt: skip


_HEAD = ("kernel", "sizes", "source", "published us", "predicted", "band", "off", "in band",
         "Vector busy", "bound by")  # fmt: skip


def predict(row: MeasuredTime, *, buffers=None):
    """Run a row's kernel without values, its source left out, and return its CoreTimeline."""
    kernel, arguments = KERNELS[row.kernel](*row.sizes)
    passes = True if row.is_as_written else None
    timeline = run(kernel, *arguments, values=False, buffers=buffers, passes=passes,
                   spec=_chip(row), dge=row.dge).timeline  # fmt: skip
    if row.source not in WITHOUT:
        return timeline
    return reschedule(timeline, parameters=timeline.parameters | WITHOUT[row.source])


def _chip(row):
    return TARGETS[row.instance.partition(".")[0]]


def device_ns(
    makespan_ns: float, which: str = "middle", around_ns=TRN1.measured.start_and_stop_ns.value
) -> float:
    """Return a device time: a kernel's makespan with its start and stop, in ns.

    Parameters
    ----------
    makespan_ns : float
    which : {"middle", "low", "high"}
        Which end of what start and stop take.
    around_ns : (low, high), optional
        What they take; default Trainium's.
    """
    low, high = around_ns
    return makespan_ns + {"low": low, "middle": (low + high) / 2, "high": high}[which]


def vector_share(timeline) -> float:
    """Return the share of the core execution period in which the Vector Engine was busy.

    Parameters
    ----------
    timeline : CoreTimeline
        The period goes from Vector's first instruction that reads something (clearing a tile
        needs no data) to the end of its last.
    """
    rows = timeline.rows_on("vector")
    names = [timeline.instruction(row).name for row in rows]
    first = next((i for i, name in enumerate(names) if name != "memset"), None)
    if first is None:
        return 0.0
    start, end = timeline.start_ns[rows[first:]], timeline.end_ns[rows[first:]]
    return float((end - start).sum() / (end.max() - start[0]))


def compare(row: MeasuredTime) -> Prediction:
    """Predict a row with its source left out, with its band."""
    timeline = predict(row)
    times = Times(timeline, in_proportion=True, left_out=row.source)
    if row.kernel.startswith("mamba"):
        busy = vector_share(timeline)
    else:
        busy = timeline.busy_ns("vector") / timeline.makespan_ns
    around = row.around_ns or _chip(row).measured.start_and_stop_ns.value
    ends = zip((timeline.makespan_ns, *times.ends()), ("middle", "low", "high"), strict=True)
    us, low_us, high_us = (device_ns(ns, which, around) / 1e3 for ns, which in ends)
    return Prediction(row, us, low_us, high_us, busy, bound_by(timeline))


def summary(found: Iterable[Prediction]) -> str:
    """Return how near the rows of each source are, and all, as sentences."""
    predictions = list(found)
    sources = dict.fromkeys(p.row.source for p in predictions)
    lines = []
    for source in (*sources, *[""] * (len(sources) > 1)):
        rows = [p for p in predictions if source in ("", p.row.source)]
        off = [abs(p.off) for p in rows]
        lines.append(
            f"{_left_out(rows) if source else 'all'}: {len(rows)} rows, median error "
            f"{np.median(off):.0%}, {np.mean([o <= 0.25 for o in off]):.0%} within 25 %, "
            f"{np.mean([p.is_inside for p in rows]):.0%} in band"
        )
    return "\n".join(lines)


def _left_out(rows) -> str:
    source = rows[0].row.source
    return source if rows[0].row in TIMES_TRN2 else f"{source} left out"


def residuals(found: Iterable[Prediction]) -> str:
    """Return published / predicted by what bounds a prediction and by source, as Python."""
    by_kind: dict[str, dict[str, list]] = {}
    for p in found:
        ratios = by_kind.setdefault(p.bound_by, {}).setdefault(p.row.source, [])
        ratios.append(float(f"{p.published_us / p.us:.3g}"))
    return pprint.pformat(by_kind, width=100, sort_dicts=False, compact=True)


def table(rows: Iterable[MeasuredTime] | None = None, *, markdown=False) -> str:
    """Return published and predicted times as text.

    Parameters
    ----------
    rows : iterable of MeasuredTime, optional
        Default: those of less than 10 ms on the device.
    markdown : bool

    Returns
    -------
    str
    """
    rows = _short_rows() if rows is None else rows
    return _as_text([compare(row) for row in rows], markdown)


def _short_rows():
    return [row for row in ROWS if min(row.us) < _LONG_US]


def _as_text(predictions, markdown, as_residuals=False):
    if as_residuals:
        return residuals(predictions)
    lines = [_HEAD, *(p.cells for p in predictions)]
    if markdown:
        rows = ["| " + " | ".join(cells) + " |" for cells in lines]
        said = [f"- {line}" for line in summary(predictions).splitlines()]
        return "\n".join([rows[0], "|" + "---|" * len(_HEAD), *rows[1:], "", *said])
    widths = [max(map(len, column)) for column in zip(*lines, strict=True)]
    sides = "<<<>>>>><<"
    text = [
        "  ".join(
            f"{cell:{side}{width}}" for cell, side, width in zip(cells, sides, widths, strict=True)
        ).rstrip()
        for cells in lines
    ]
    return "\n".join([*text, summary(predictions)])


def main(arguments=None) -> int:
    """Print the table, with progress on stderr; after Ctrl-C print the rows found so far."""
    parser = argparse.ArgumentParser(prog="python -m trainium_edu.nki.published",
                                     description=main.__doc__)  # fmt: skip
    parser.add_argument("--all", action="store_true", help="also kernels of 10 ms and more")
    parser.add_argument("--markdown", action="store_true", help="as a Markdown table")
    parser.add_argument("--residuals", action="store_true", help="as specs.times keeps them")
    parser.add_argument("--trn2", action="store_true", help="all rows of Trainium2")
    options = parser.parse_args(arguments)
    every = TIMES_TRN2 if options.trn2 else ROWS
    rows = [*every] if options.all or options.trn2 else _short_rows()
    predictions = []
    try:
        for number, row in enumerate(rows, 1):
            print(f"\r{number} of {len(rows)}: {row!s:<45}", end="", file=sys.stderr, flush=True)
            predictions.append(compare(row))
    except KeyboardInterrupt:
        print(f"\rstopped after {len(predictions)} of {len(rows)} rows{'':<40}", file=sys.stderr)
        if predictions:
            print(_as_text(predictions, options.markdown, options.residuals))
        return 130
    print(f"\r{'':<60}\r", end="", file=sys.stderr)
    print(_as_text(predictions, options.markdown, options.residuals))
    left = len(every) - len(rows)
    if left:
        print(f"{left} longer ones left out; --all takes a few minutes", file=sys.stderr)
    return 0


if __name__ == "__main__":
    sys.exit(main())
