"""One clock for a step on many ranks: engines, links, and the slowest rank.

Compute is what the lowered instructions take, communication what ``fabric`` says, and both lie on
the tracks that ``xla.executable.tracks`` places.  All ranks do the same, so one rank's tracks are
everyone's: a straggler makes all wait at the next sum, which the report adds to the step.

Left out: what the host does (loading is in ``pipeline.py``; recording and launching a step are
assumed hidden), and collectives of parts of the ranks.
"""

from collections import Counter
from collections.abc import Container, Iterable, Mapping, Sequence
from dataclasses import dataclass, field

import numpy as np

from trainium_edu.neuroncore.recording.engine import Engine
from trainium_edu.neuroncore.timing.bands import Band
from trainium_edu.specs.arguments import number, whole
from trainium_edu.specs.record import Record
from trainium_edu.specs.signatures import checked
from trainium_edu.timeline import Span, Timeline
from trainium_edu.training.lookups import Lookups, lookups_of
from trainium_edu.training.parallel.collectives import Links
from trainium_edu.xla.executable import Executable, Operation, Placed
from trainium_edu.xla.executable.sections import Body
from trainium_edu.xla.executable.tracks import ENGINES, LINKS
from trainium_edu.xla.graph import Node
from trainium_edu.xla.operations import OPERATIONS
from trainium_edu.xla.operations.custom import calls

__all__ = ["TRACK_OF", "StepReport", "engine_shares", "link_shares", "peak_flops", "products_of",
           "step_report", "step_spans"]  # fmt: skip

_PRODUCTS = ("dot", "convolution", "convolution_of_input", "convolution_of_filter")
#: What the tracks of engines are called.
TRACK_OF = {"tensor": "Tensor Engine", "vector": "Vector Engine", "scalar": "Scalar Engine",
            "gpsimd": "GpSimd Engine", "dma": "DMA"}  # fmt: skip


@dataclass(frozen=True, slots=True)
class StepReport:
    """The time of one step by cause, the same on every rank."""

    step_ns: float
    band: Band  #: range of the step's time
    compute_ns: float  #: in which the engines work
    communication_ns: float  #: time of all collectives, one after the other
    exposed_ns: float  #: in which the engines stand still because ranks sum
    straggler_ns: float  #: by which the slowest rank makes the step longer
    samples: int  #: samples of all ranks per step
    ranks: int
    flops: int  #: of one rank's products: 2 M N K each, forward and backward; nothing else counts
    mfu: float  #: `flops` at the peak, as a share of the step
    peak: str  #: peak of one NeuronCore, and its source
    engines: Mapping[str, float]  #: share of the step in which each works
    links: np.ndarray = field(repr=False, compare=False)  #: float64[directed links], shares as well
    spans: Timeline = field(repr=False)  #: spans of the slowest rank
    lookups: Lookups | None = None  #: rows of tables by their numbers; None: there are none

    @property
    def hidden_ns(self) -> float:
        """Communication beside which the engines work."""
        return self.communication_ns - self.exposed_ns

    @property
    def samples_per_s(self) -> float:
        """Samples of all ranks per second."""
        return self.samples / self.step_ns * 1e9 if self.step_ns else 0.0

    def __str__(self):
        parts = {"compute": self.compute_ns, "exposed communication": self.exposed_ns,
                 "waiting for the slowest rank": self.straggler_ns}  # fmt: skip
        most = f"; {self.band.most} moves it most" if self.band.most else ""
        lines = [
            f"step {_us(self.step_ns)} ({_us(self.band.low_ns)} to {_us(self.band.high_ns)}{most})",
            " + ".join(f"{name} {_us(ns)}" for name, ns in parts.items() if ns or name in _ALWAYS),
            f"communication {_us(self.communication_ns)}, of which {_us(self.hidden_ns)} hidden",
            f"{self.samples_per_s:,.0f} samples/s on {self.ranks} ranks; MFU {self.mfu:.2%} of "
            f"{self.peak}",
            "engines: " + ", ".join(f"{name} {share:.1%}" for name, share in self.engines.items()),
        ]
        if self.links.size:
            lines.append(f"links: {self.links.mean():.1%} on average, {self.links.max():.1%} the "
                         f"busiest of {self.links.size}")  # fmt: skip
        if self.lookups:
            lines.append(str(self.lookups))
        return "\n".join(lines)


_ALWAYS = ("compute", "exposed communication")


def _us(ns) -> str:
    return f"{ns / 1e3:,.1f} us" if ns < 1e7 else f"{ns / 1e6:,.1f} ms"


@checked
def peak_flops(spec: Record, dtype: str) -> float:
    """Return the FLOP/s of one NeuronCore's products in a dtype: the chip's published figure, half.

    Parameters
    ----------
    spec : specs.Record
        ``TRN1`` or ``INF2``.
    dtype : str
        Of the operands.

    Examples
    --------
    >>> from trainium_edu.specs import TRN1
    >>> peak_flops(TRN1, "bfloat16") / 1e12, peak_flops(TRN1, "float32") / 1e12
    (95.0, 23.75)
    """
    whole_chip = spec.peak_flops_fp32 if dtype == "float32" else spec.peak_flops
    return float(whole_chip) / int(spec.cores)


@checked
def step_report(executable: Executable, links: Links | None, samples: int, *,
                overlap: bool = True, slowest: float = 1.0) -> StepReport:  # fmt: skip
    """Return where the time of one step goes.

    Parameters
    ----------
    executable : Executable
        The program of one rank, compiled with ``times=links``; ``device.executable`` is the newest.
    links : Links or None
        How its ranks reach each other; None for one rank.
    samples : int
        Per step, of all ranks.
    overlap : bool
        Whether collectives run beside the engines.
    slowest : float
        Times which the slowest rank's engines take longer, 1 or more; all wait for it.

    Returns
    -------
    StepReport

    Examples
    --------
    >>> from trainium_edu.training import Job, Trainer
    >>> trainer = Trainer(Job(ranks=2, batch=8))
    >>> _ = trainer.step()
    >>> report = step_report(trainer.device.executable, trainer.links, 16)
    >>> report.step_ns == report.compute_ns + report.exposed_ns, report.ranks
    (True, 2)
    """
    whole(samples, "samples", 0)
    slowest = number(slowest, "slowest", 1)
    usual, slow = executable.tracks(overlap), executable.tracks(overlap, slowest=slowest)
    compute = sum(one.end_ns - one.start_ns for one in usual if one.track == ENGINES)
    alone, step = _end(usual), _end(slow)
    flops, ideal, peak = products_of(executable)
    return StepReport(
        step, executable.band_if(overlap, slowest), compute,
        sum(one.end_ns - one.start_ns for one in usual if one.track == LINKS), alone - compute,
        step - alone, samples, 1 if links is None else links.topology.ranks,
        flops, ideal / step if step else 0.0, peak,
        engine_shares(executable, step), link_shares(links, usual, step),
        step_spans(executable, slow, slowest), lookups_of(executable),
    )  # fmt: skip


def _end(placed: Sequence[Placed]) -> float:
    return max((one.end_ns for one in placed), default=0.0)


def products_of(executable: Executable) -> tuple[int, float, str]:
    """Return the FLOPs of a program's products, the ns they take at the peak, and that peak."""
    products = [n for n in executable.final.nodes if n.operation in _PRODUCTS or n.of.get("flops")]
    flops = {node: OPERATIONS[node.operation].flops(node) for node in products}
    ideal = sum(
        n / peak_flops(executable.spec, node.inputs[0].dtype) for node, n in flops.items()
    ) * 1e9  # fmt: skip
    return sum(flops.values()), ideal, _peak(executable.spec, flops)


def _peak(spec: Record, flops: Mapping[Node, int]) -> str:
    """Return by which peaks products are measured, as text."""
    of_dtype: Counter[str] = Counter()
    for node, count in flops.items():
        of_dtype[node.inputs[0].dtype] += count
    names = [dtype for dtype, _ in of_dtype.most_common()] or ["bfloat16"]
    peaks = ", ".join(f"{peak_flops(spec, name) / 1e12:g} TFLOP/s ({name})" for name in names)
    return f"{peaks}: half of the chip's published peak"


def engine_shares(executable: Executable, whole: float,
                  looked_into: Container[Body] | None = None) -> dict[str, float]:  # fmt: skip
    """Return the share of the step in which each engine works.

    DMA queues move data of several operations at once: the share is exact for sections that are
    looked into (default all), and for the others at most the section.
    """
    busy = dict.fromkeys(TRACK_OF.values(), 0.0)
    moving: dict[Body, float] = {}
    for section, times in executable.timed():
        body = section.body
        if body.is_collective:
            continue
        ns = {name: sum(spent.engine_ns[name] for spent in times.spent) for name in TRACK_OF}
        if body not in moving:  # a kernel's transfers are known only where it was called
            is_exact = looked_into is None or (body in looked_into and not calls(body.own))
            moving[body] = (body.run.timeline.busy_ns(Engine.DMA) if is_exact
                            else min(times.makespan_ns, ns["dma"]))  # fmt: skip
        for name, track in TRACK_OF.items():
            busy[track] += moving[body] if name == "dma" else ns[name]
    return {track: ns / whole if whole else 0.0 for track, ns in busy.items()}


def link_shares(links: Links | None, placed: Iterable[Placed], step: float) -> np.ndarray:
    """Return float64[directed links]: the share of the step in which each carries something."""
    if links is None:
        return np.zeros(0)
    busy = np.zeros(links.topology.links)
    for one in placed:
        if one.track == LINKS:
            busy += links.busy_ns(one.section.nodes[0])
    return busy / step if step else busy


def _phase(node: Node) -> str:
    """Return the part of a step in which a layer, its gradient or an update was recorded."""
    part = node.scope.partition("/")[0]
    return part if part in ("backward", "update") else "forward"


def step_spans(executable: Executable, placed: Sequence[Placed], slowest: float = 1.0) -> Timeline:
    """Return sections, each engine's part of them, and collectives, in time."""
    spans: list[Span] = []
    done: dict[int, list[Operation]] = {}
    for operation in executable.operations():
        if operation.section is not None:
            done.setdefault(operation.section, []).append(operation)
    before = executable.tracks()
    for i, section in enumerate(placed):
        nodes = section.section.nodes
        phases = dict.fromkeys(_phase(node) for node in nodes if node.scope)
        info = {"section": i, "operations": [n.title for n in nodes], "phases": [*phases]}
        spans.append(Span(section.track, section.name, section.start_ns, section.end_ns, info))
        if section.track == LINKS:
            continue
        begin = before[i].start_ns
        for engine, track in TRACK_OF.items():
            using = [operation for operation in done[i] if operation.engine_ns[engine]]
            if using:
                ends = min(o.start_ns for o in using), max(o.end_ns for o in using)
                start, end = (section.start_ns + (at - begin) * slowest for at in ends)
                spans.append(Span(track, section.name, start, min(end, section.end_ns), info))
    return Timeline(spans)
