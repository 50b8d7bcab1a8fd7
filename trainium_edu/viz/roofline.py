"""The roofline: what a NeuronCore could do at most, beside what a program did.

Both axes are logarithmic.  A roof that climbs is a memory (bytes per second), a flat one is an
engine (operations per second); where two meet is a ridge.  The printed ridge and the ones that
follow from other printed figures disagree, and the picture shows that.
"""

import math
from collections.abc import Iterable
from dataclasses import dataclass

import numpy as np

from trainium_edu.neuroncore.recording.engine import Engine
from trainium_edu.neuroncore.timing.bands import band_of
from trainium_edu.specs import TRN1, Record
from trainium_edu.specs.fact import Fact, derive
from trainium_edu.specs.signatures import checked
from trainium_edu.viz.style import COLOURS, figure, ink

__all__ = ["Point", "describe_roofline", "plot_roofline", "point_of", "ridges", "roofs"]

_MARKS = "osD^vPX*"


@dataclass(frozen=True, slots=True)
class Point:
    """What one program did."""

    name: str
    flop_per_byte: float  #: per byte that crossed HBM
    flop_per_s: float
    low_flop_per_s: float | None = None  #: of the prediction's band
    high_flop_per_s: float | None = None

    def __post_init__(self):
        for what in ("flop_per_byte", "flop_per_s"):
            value = getattr(self, what)
            if isinstance(value, bool) or not np.isfinite(value) or value <= 0:
                raise ValueError(
                    f"{self.name}: {what} is {value!r}; a roofline's axes are logarithmic, so a "
                    "point needs work and traffic above 0"
                )


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
    tensor, vector = spec.tensor_engine, spec.vector_engine
    return {
        "HBM, a NeuronCore's share": derive(
            "bytes/s", lambda rate, cores: rate / cores, spec.hbm_bytes_per_s, spec.cores,
            locator="HBM of the chip / NeuronCores"),
        "DMA, sustained": spec.dma.bytes_per_s,
        "Tensor Engine, BF16": tensor.peak_flops_from_array,
        "Tensor Engine, FP32": derive(
            "FLOP/s", lambda peak, factor: peak / factor, tensor.peak_flops_from_array,
            tensor.fp32_factor, locator="peak of the array / 4"),
        "Vector Engine": derive(
            "FLOP/s", lambda lanes, hz: lanes * hz, vector.lanes, vector.clock_hz,
            locator="lanes * clock, one operation of each lane and cycle"),
    }  # fmt: skip


def ridges(spec=TRN1) -> dict[str, Fact]:
    """Return where the roofs of a BF16 matmul meet, by different readings, in FLOP/byte.

    Examples
    --------
    >>> {name: round(fact.value) for name, fact in ridges().items()}
    {'printed': 222, 'array and HBM': 224, 'chip peak and HBM': 232, 'array and DMA': 337}
    """
    roof = roofs(spec)
    peak = roof["Tensor Engine, BF16"]

    def meet(locator, flops, rate):
        return derive("FLOP/byte", lambda f, b: f / b, flops, rate, locator=locator)

    printed = getattr(spec.tensor_engine, "ridge_flop_per_byte", None)  # of Trainium alone
    return {
        **({} if printed is None else {"printed": printed}),
        "array and HBM": meet(
            "peak of the array / a NeuronCore's HBM", peak, roof["HBM, a NeuronCore's share"]
        ),
        "chip peak and HBM": meet(
            "printed peak of the chip / HBM of the chip", spec.peak_flops, spec.hbm_bytes_per_s
        ),
        "array and DMA": meet(
            "peak of the array / sustained DMA of one core", peak, roof["DMA, sustained"]
        ),
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
def plot_roofline(points: Iterable[Point] = (), *, spec: Record = TRN1):
    """Draw roofs, ridges, and where programs stand below them.

    Parameters
    ----------
    points : iterable of Point
    spec : Record

    Returns
    -------
    Figure
    """
    points = list(points)
    roof, ridge = roofs(spec), ridges(spec)
    hbm, dma = float(roof["HBM, a NeuronCore's share"]), float(roof["DMA, sustained"])
    tops = {name: float(roof[name]) for name in list(roof)[2:]}
    peak = tops["Tensor Engine, BF16"]
    xs = [p.flop_per_byte for p in points]
    low = max(0.05, min(xs) / 60) if xs and min(xs) > 0.15 else min([0.05, *(x / 3 for x in xs)])
    high = max([6000, *(3 * x for x in xs)])
    reached = (0.4 * (p.low_flop_per_s or p.flop_per_s) for p in points)
    floor = min([dma * low, tops["Vector Engine"] / 4, *reached])
    fig = figure(8.4, 4.5, margins=(0.78, 0.2, 0.55, 0.4))
    ax = fig.subplots()
    at = np.geomspace(low, high, 200)
    ax.fill_between(at, np.minimum(peak, hbm * at), floor, color=COLOURS["blue"], alpha=0.06, lw=0)
    ax.fill_between(at, np.minimum(peak, hbm * at), np.minimum(peak, dma * at),
                    color=COLOURS["sky"], alpha=0.28, lw=0)  # fmt: skip
    ax.plot(at, np.minimum(peak, hbm * at), color=COLOURS["blue"], lw=2.2)
    ax.plot(at, np.minimum(peak, dma * at), color=COLOURS["sky"], lw=2.2)
    for name, dash in (("Tensor Engine, FP32", "--"), ("Vector Engine", ":")):
        ax.plot([tops[name] / hbm, high], [tops[name]] * 2, dash, color=ink("muted"), lw=1.4)
    ax.set(xscale="log", yscale="log", xlim=(low, high), ylim=(floor, peak * 4))
    ax.set(xlabel="arithmetic intensity, FLOP per byte of HBM traffic", ylabel="FLOP/s")
    _label_roofs(ax, roof, high)
    for name, style, colour in (("printed", "-", "red"), ("array and DMA", "-.", "sky")):
        x = float(ridge.get(name, ridge["array and HBM"]))
        ax.plot([x, x], [floor, peak], style, color=COLOURS[colour], lw=1)
        ax.plot(x, peak, "|", color=COLOURS[colour], ms=9, mew=1.6)
    ours, sustained = (float(ridge[n]) for n in ("array and HBM", "array and DMA"))
    x = float(ridge.get("printed", ours))
    words = f"AWS prints {x:.0f};\nours {ours:.1f}" if "printed" in ridge else f"ours {ours:.1f}"
    ax.text(x * 0.93, floor * 1.5, words, ha="right", va="bottom", size=9)
    words = f"by what DMA sustains\n{sustained:.0f}"
    ax.text(sustained * 1.07, floor * 1.5, words, va="bottom", size=9)
    for i, p in enumerate(points):
        _draw_point(ax, p, i)
    _name_points(ax, points, [(high, float(roof[n])) for n in list(roof)[2:]])
    ax.set_title("One NeuronCore-v2: roofs, and what was reached below them")
    return fig


def _label_roofs(ax, roof, high):
    for name in ("Tensor Engine, BF16", "Tensor Engine, FP32", "Vector Engine"):
        fact = roof[name]
        ax.text(high * 0.93, float(fact) * 1.12, f"{name}: {fact.pretty}", ha="right", size=9)
    box = ax.get_window_extent()
    (x0, x1), (y0, y1) = np.log10(ax.get_xlim()), np.log10(ax.get_ylim())
    slope = np.degrees(np.arctan2(box.height / (y1 - y0), box.width / (x1 - x0)))
    x = 10 ** (x0 + 0.21 * (x1 - x0))
    for name, above in (("HBM, a NeuronCore's share", True), ("DMA, sustained", False)):
        rate = float(roof[name])
        ax.text(x, rate * x * (1.22 if above else 0.8), f"{name}: {roof[name].pretty}", size=9,
                rotation=slope, rotation_mode="anchor", color=ink(),
                va="bottom" if above else "top")  # fmt: skip


def _draw_point(ax, p, i):
    colour = list(COLOURS.values())[(2 * i + 1) % len(COLOURS)]
    if p.low_flop_per_s and p.high_flop_per_s:
        ax.plot([p.flop_per_byte] * 2, [p.low_flop_per_s, p.high_flop_per_s], "-", color=colour,
                lw=5, alpha=0.45, solid_capstyle="butt", zorder=4)  # fmt: skip
    ax.plot(p.flop_per_byte, p.flop_per_s, _MARKS[i % len(_MARKS)], color=colour, ms=8,
            markeredgecolor=ink("paper"), zorder=6)  # fmt: skip


_PLACES = ((1, 0), (-1, 0), (1, -14), (-1, -14), (1, 14), (-1, 14), (1, -28), (-1, -28))


def _name_points(ax, points, roof_labels):
    """Write each name beside its point, where it stands on no other name, point or roof's label."""
    scale = 72 / ax.figure.dpi  # pixels to points

    def at(x, y):
        return ax.transData.transform((x, y)) * scale

    right_edge, _ = at(ax.get_xlim()[1], points[0].flop_per_s) if points else (0, 0)
    taken = [
        (right_edge - 180, at(x, y)[1] - 1, right_edge, at(x, y)[1] + 15) for x, y in roof_labels
    ]
    marks = [at(p.flop_per_byte, p.flop_per_s) for p in points]
    taken += [(x - 6, y - 6, x + 6, y + 6) for x, y in marks]
    for p, (x, y) in zip(points, marks, strict=True):
        width = 6.4 * len(p.name)
        for side, up in _PLACES:
            left = x + 9 if side > 0 else x - 9 - width
            box = (left, y + up - 6, left + width, y + up + 6)
            if box[2] < right_edge and not any(_overlap(box, other) for other in taken):
                break
        else:
            side, up, box = 1, 0, (x + 9, y - 6, x + 9 + width, y + 6)
        taken.append(box)
        ax.annotate(p.name, (p.flop_per_byte, p.flop_per_s), (9 * side, up),
                    textcoords="offset points", ha="left" if side > 0 else "right", va="center",
                    size=9.5, weight="bold", zorder=5,
                    bbox={"facecolor": ink("paper"), "alpha": 0.7, "lw": 0, "pad": 1})  # fmt: skip


def _overlap(a, b) -> bool:
    return a[0] < b[2] and b[0] < a[2] and a[1] < b[3] and b[1] < a[3]


def describe_roofline(points: Iterable[Point] = (), *, spec=TRN1) -> str:
    """Say what `plot_roofline` shows, with its numbers.

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
