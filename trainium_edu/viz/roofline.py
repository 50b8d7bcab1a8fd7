"""The roofline: what a NeuronCore could do at most, beside what a program did.

Both axes are logarithmic.  A roof that climbs is a memory (bytes per second), a flat one is an
engine (operations per second); where two meet is a ridge.  The printed ridge and the ones that
follow from other printed figures disagree, and the picture shows that.
"""

import math
from collections.abc import Iterable
from dataclasses import dataclass
from itertools import cycle

import numpy as np

from trainium_edu.neuroncore.recording.engine import Engine
from trainium_edu.neuroncore.timing.bands import band_of
from trainium_edu.specs import TRN1, Record
from trainium_edu.specs.arguments import number
from trainium_edu.specs.fact import Fact
from trainium_edu.specs.signatures import checked
from trainium_edu.viz.chart import Chart
from trainium_edu.viz.colours import COLOURS
from trainium_edu.viz.scene import Scene

__all__ = ["Point", "describe_roofline", "draw_roofline", "point_of", "ridges", "roofs"]

_HBM, _DMA = COLOURS["blue"], COLOURS["sky"]
_LETTER = 6.4  # CSS pixels of a letter at size 12, on average
#: Where a point's name may stand: to its right or left, and how much lower; the first that is free.
_PLACES = ((1, 0), (-1, 0), (1, 15), (-1, 15), (1, -15), (-1, -15), (1, 30), (-1, 30))


@dataclass(frozen=True, slots=True)
class Point:
    """What one program did."""

    name: str
    flop_per_byte: float  #: per byte that crossed HBM
    flop_per_s: float
    low_flop_per_s: float | None = None  #: of the prediction's band
    high_flop_per_s: float | None = None

    def __post_init__(self):
        why = "; a roofline's axes are logarithmic, so a point needs work and traffic above 0"
        for what in ("flop_per_byte", "flop_per_s"):
            number(getattr(self, what), f"{self.name}: {what}", above=0, why=why)


def roofs(spec=TRN1) -> dict[str, Fact]:
    """Return the roofs of one NeuronCore, each a fact with its source.

    Returns
    -------
    dict of Fact
        ``"HBM, a NeuronCore's share"`` and ``"DMA, sustained"`` in bytes/s; ``"Tensor Engine,
        BF16"``, ``"Tensor Engine, FP32"`` and ``"Vector Engine"`` in FLOP/s.

    Examples
    --------
    >>> roofs()["Tensor Engine, BF16"].pretty
    '91.75 TFLOP/s'
    """
    tensor = spec.tensor_engine
    return {
        "HBM, a NeuronCore's share": spec.hbm_bytes_per_s_per_core,
        "DMA, sustained": spec.dma.bytes_per_s,
        "Tensor Engine, BF16": tensor.peak_flops_from_array,
        "Tensor Engine, FP32": tensor.peak_flops_fp32_from_array,
        "Vector Engine": spec.vector_engine.operations_per_s,
    }


def ridges(spec=TRN1) -> dict[str, Fact]:
    """Return where the roofs of a BF16 matmul meet, by different readings, in FLOP/byte.

    Examples
    --------
    >>> {name: round(fact.value) for name, fact in ridges().items()}
    {'printed': 222, 'array and HBM': 224, 'chip peak and HBM': 232, 'array and DMA': 337}
    """
    printed = getattr(spec.tensor_engine, "ridge_flop_per_byte", None)  # of Trainium alone
    return ({} if printed is None else {"printed": printed}) | {
        "array and HBM": spec.ridge_of_array,
        "chip peak and HBM": spec.ridge_of_chip,
        "array and DMA": spec.ridge_of_dma,
    }


def point_of(timeline, name: str = "") -> Point:
    """Return the point of a timed program.

    Parameters
    ----------
    timeline : CoreTimeline
    name : str
        Default the program's name.

    Returns
    -------
    Point
        Of its matmuls' FLOP; without a matmul, of the elements that its instructions write.
    """
    name = name or timeline.program.name
    work, moved = timeline.flops, timeline.hbm_bytes
    if not work:
        run = timeline.placement.run
        each = np.array([_operations(i) for i in timeline.program.instructions], float)
        work = float(each[run.instruction].sum())
    if not work or not moved or not timeline.makespan_ns:
        raise ValueError(
            f"{name} has {work:.0f} operations and moves {moved:.0f} bytes from and to HBM; it has "
            "no place on a roofline, which needs both"
        )
    per_ns = 1e9 * work
    band = band_of(timeline)
    rates = (per_ns / ns for ns in (timeline.makespan_ns, band.high_ns, band.low_ns))
    return Point(name, work / moved, *rates)


def _operations(instruction) -> int:
    """Return the elements that an instruction writes (none of a transfer)."""
    if instruction.engine is Engine.DMA:
        return 0
    return sum(math.prod(a.geometry[1]) for a in instruction.accesses if a.is_write)


@checked
def draw_roofline(
    points: Iterable[Point] = (), *, spec: Record = TRN1, width: float = 890.0
) -> Scene:
    """Draw roofs, ridges, and where programs stand below them.

    Parameters
    ----------
    points : iterable of Point
    spec : Record
    width : float, CSS pixels

    Returns
    -------
    Scene
    """
    points = list(points)
    roof, ridge = roofs(spec), {name: float(fact) for name, fact in ridges(spec).items()}
    hbm, dma, peak, *lower = map(float, roof.values())
    xs = [p.flop_per_byte for p in points]
    low = max(0.05, min(xs) / 60) if xs and min(xs) > 0.15 else min([0.05, *(x / 3 for x in xs)])
    high = max([6000, *(3 * x for x in xs)])
    reached = (0.4 * (p.low_flop_per_s or p.flop_per_s) for p in points)
    floor = min([dma * low, lower[-1] / 4, *reached])
    scene = Scene(width, 1, describe_roofline(points, spec=spec))
    chart = Chart(scene, (46, 34, width - 62, 300), (low, high), (floor, peak * 4), log="xy")
    title = "One NeuronCore: roofs, and what was reached below them"
    chart.axes(title, "FLOP per byte of HBM traffic (arithmetic intensity)", unit="FLOP/s")
    at = np.geomspace(low, high, 200)
    below_hbm, below_dma = (np.minimum(peak, rate * at) for rate in (hbm, dma))
    chart.band(at, np.full(at.size, floor), below_hbm, _HBM, opacity=0.06, words="")
    chart.band(at, below_dma, below_hbm, _DMA, opacity=0.28, words="")
    for name, rates, colour in zip(roof, (below_hbm, below_dma), (_HBM, _DMA), strict=False):
        chart.series(at, rates, colour, f"{name}: {roof[name].pretty}", width=2.2)
    taken: list[tuple] = []  # where no point's name may stand
    for name, top, dash in zip(
        list(roof)[2:], (peak, *lower), ("", "dashed", "dotted"), strict=True
    ):
        if dash:
            chart.curve([top / hbm, high], [top, top], "muted", width=1.4, dash=dash, words=name)
        end, y = chart.place(high, top)
        _write(scene, taken, end - 6, y - 6, f"{name}: {roof[name].pretty}", "end")
    ours, sustained = ridge["array and HBM"], ridge["array and DMA"]
    left = [f"AWS prints {ridge['printed']:.0f};"] if "printed" in ridge else []
    for value, colour, dash, anchor, off, lines in (
        (ridge.get("printed", ours), COLOURS["red"], "", "end", -5, [*left, f"ours {ours:.1f}"]),
        (sustained, _DMA, "6 3 1 3", "start", 5, ["by what DMA", f"sustains: {sustained:.0f}"]),
    ):
        chart.curve([value, value], [floor, peak], colour, dash=dash, words="ridge")
        x, y = chart.place(value, floor)
        for row, line in enumerate(reversed(lines)):
            _write(scene, taken, x + off, y - 8 - 16 * row, line, anchor)
    _draw_points(chart, points, taken)
    chart.key_below()
    return scene


def _write(scene, taken, x, y, words, anchor, **look):
    """Write words, and note the place that they take."""
    left = x - _LETTER * len(words) * (anchor == "end")
    taken.append((left, y - 12, left + _LETTER * len(words), y + 3))
    scene.text(x, y, words, anchor=anchor, **look)


def _draw_points(chart, points, taken):
    """Draw each point with its band, and its name where it stands on nothing else's."""
    scene, colours = chart.scene, list(COLOURS.values())[1::2] + list(COLOURS.values())[::2]
    marks = [chart.place(p.flop_per_byte, p.flop_per_s) for p in points]
    taken += [(x - 6, y - 6, x + 6, y + 6) for x, y in marks]
    for p, (x, y), colour in zip(points, marks, cycle(colours), strict=False):
        if p.low_flop_per_s and p.high_flop_per_s:
            ends, words = (p.low_flop_per_s, p.high_flop_per_s), f"{p.name}: from the band"
            chart.curve([p.flop_per_byte] * 2, ends, colour, width=6, opacity=0.45, words=words)
        scene.rect(x - 5, y - 5, 10, 10, "paper")
        scene.rect(x - 4, y - 4, 8, 8, colour)
        wide = _LETTER * len(p.name) + 4
        places = [(x + 9 if side > 0 else x - 9 - wide, y + down) for side, down in _PLACES]
        left, middle = next((at for at in places if _is_free(at, wide, chart, taken)), places[0])
        scene.rect(left - 2, middle - 8, wide, 16, "paper", opacity=0.7)
        _write(scene, taken, left, middle + 4, p.name, "start", bold=True)


def _is_free(place, wide, chart, taken) -> bool:
    """Tell whether a name from a place on stays within the chart, and off what is taken."""
    left, middle = place
    right, top, bottom = left + wide, middle - 8, middle + 8
    inside = left > chart.left and right < chart.left + chart.width
    return inside and not any(
        left < b[2] and b[0] < right and top < b[3] and b[1] < bottom for b in taken
    )


def describe_roofline(points: Iterable[Point] = (), *, spec=TRN1) -> str:
    """Say what `draw_roofline` shows, with its numbers.

    Examples
    --------
    >>> print(describe_roofline([Point("matmul", 500.0, 4e13)]))
    matmul: 500 FLOP/byte, 40 TFLOP/s, 43.6 % of its roof (compute)
    ridge of a BF16 matmul: printed 222, array and HBM 223.8, chip peak and HBM 231.7, array and \
DMA 337.3 FLOP/byte
    """
    roof = roofs(spec)
    peak, hbm = float(roof["Tensor Engine, BF16"]), float(roof["HBM, a NeuronCore's share"])
    said = []
    for p in points:
        limit = min(peak, hbm * p.flop_per_byte)
        bound = "compute" if limit == peak else "memory"
        band = ""
        if p.low_flop_per_s and p.high_flop_per_s:
            band = f" (between {_tera(p.low_flop_per_s)} and {_tera(p.high_flop_per_s)})"
        said.append(
            f"{p.name}: {p.flop_per_byte:.3g} FLOP/byte, {_tera(p.flop_per_s)} TFLOP/s{band}, "
            f"{100 * p.flop_per_s / limit:.3g} % of its roof ({bound})"
        )
    values = ", ".join(f"{name} {fact.value:.4g}" for name, fact in ridges(spec).items())
    return "\n".join([*said, f"ridge of a BF16 matmul: {values} FLOP/byte"])


def _tera(flop_per_s):
    return f"{flop_per_s / 1e12:.3g}"
