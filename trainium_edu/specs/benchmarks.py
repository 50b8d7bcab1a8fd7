"""AWS's training benchmarks on trn1.32xlarge: every configuration of every edition of the tables.

The tables change with each SDK, and so do their numbers: one configuration's throughput
moves by up to 20 % between editions.  A row here is one configuration with all its editions.  Three
rows come from logs in AWS's tutorials instead, on numbers of instances that no table has.  What
the tables do not say comes from the scripts that they link: sequence length (before 2024), what is
recomputed, dropout, sequence parallelism (`aws-megatron-reference`, `aws-nemo-megatron`,
`aws-nxd-examples`).  Vision and language Perceivers and CLIP are left out:
no record of ours describes them.

The two calibrated numbers of ``cluster.step_time`` are here too, with how they were fitted.
"""

import statistics
from dataclasses import dataclass
from typing import Literal

from trainium_edu.specs.fact import Fact, Kind
from trainium_edu.specs.sources import SOURCES, stated
from trainium_edu.specs.tables import rows

__all__ = ["BENCHMARKS", "CALIBRATED", "EDITIONS", "RELEASES", "Benchmark", "PrintedMfu"]

#: SDK edition -> (date, commit of the documentation's repository).
EDITIONS = {edition: (date, commit) for edition, date, commit in rows("editions.md")}
_tables = SOURCES["aws-trn1-benchmark-history"]


def _date(edition):
    """Return an edition's date; a log is named by its own."""
    return EDITIONS.get(edition, (edition,))[0]


@dataclass(frozen=True, slots=True)
class PrintedMfu:
    """One MFU as an edition printed it, and the convention and peak that it follows."""

    edition: str
    sequences_per_s: float
    percent: float
    convention: str  #: of ``cluster.model_flops``, or "printed": the TFLOP of its own column
    tflops_per_core: float  #: the peak of a NeuronCore in its denominator
    tflop: float = 0.0  #: TFLOP per sequence, where the table prints them
    conflict: str = ""  #: why it does not follow from its own columns


@dataclass(frozen=True, slots=True)
class Benchmark:
    """One configuration of the tables.

    Attributes
    ----------
    name, model : str
        `model` is a key of ``cluster.MODELS``.
    sequence, instances, micro_batch, global_batch, tensor, pipeline, zero : int
    precision, optimizer, recompute : str
        As ``cluster.Plan`` names them.
    library : str
        Whose script ran: "transformers", "megatron-lm", "nemo-megatron", "neuronx-distributed".
    flash_attention : bool
    fused_softmax : bool
        Whether its script sets NEURON_FUSE_SOFTMAX.
    rates : Fact
        (edition, sequences per second) for every edition that has the row; (date, sequences per
        second) of a log.
    mfu : tuple of PrintedMfu
    conflict : str
        What in its columns contradicts what; such a row calibrates nothing.
    """

    name: str
    model: str
    sequence: int
    instances: int
    micro_batch: int
    global_batch: int
    tensor: int
    pipeline: int
    zero: int
    precision: Literal["bf16-sr", "bf16-master", "fp32"]
    optimizer: Literal["adamw", "lamb"]
    recompute: Literal["none", "selective", "full"]
    library: str
    flash_attention: bool
    fused_softmax: bool
    rates: Fact
    mfu: tuple[PrintedMfu, ...] = ()
    conflict: str = ""

    @property
    def first(self) -> str:
        """The date of its first publication."""
        return min(_date(edition) for edition, _ in self.rates.value)

    @property
    def is_log(self) -> bool:
        """Whether it comes from a log instead of a table: then it calibrates nothing."""
        return self.rates.source != _tables.key

    @property
    def sequences_per_s(self) -> float:
        """The median of its editions."""
        return statistics.median(rate for _, rate in self.rates.value)

    @property
    def spread(self) -> tuple[float, float]:
        """The lowest and the highest edition, over the median."""
        rates = [rate for _, rate in self.rates.value]
        return min(rates) / self.sequences_per_s, max(rates) / self.sequences_per_s


def _benchmark(name, model, sequence, instances, batches, degrees, how, rates, mfu, conflict,
               source, where):  # fmt: skip
    """Return a row of the table."""
    pairs = tuple((edition, float(rate)) for edition, _, rate in
                  (text.partition(":") for text in rates.split()))  # fmt: skip
    micro, global_batch = map(int, batches.split(" of "))
    tensor, pipeline = map(int, degrees.split(" x "))
    precision, optimizer, recompute, library, *more = how.split()
    fact = Fact(pairs, "(edition, sequences/s)", source or _tables.key,
                where or f"training tables, {name}", Kind.MEASURED,
                max(_date(edition) for edition, _ in pairs))  # fmt: skip
    return Benchmark(
        name, model, int(sequence), int(instances), micro, global_batch, tensor, pipeline,
        int("zero-1" in more), precision, optimizer, recompute, _LIBRARIES[library],
        "flash" in more, library in ("nemo", "nxd") or "fused" in more, fact,
        tuple(_printed(*line.split(", ")) for line in mfu.split("<br>") if line), conflict,
    )  # fmt: skip


def _printed(edition, rate, percent, convention, peak, tflop="0", conflict=""):
    return PrintedMfu(
        edition, float(rate), float(percent), convention, float(peak), float(tflop), conflict
    )


_LIBRARIES = {"hf": "transformers", "mlm": "megatron-lm", "nemo": "nemo-megatron",
              "nxd": "neuronx-distributed"}  # fmt: skip

#: In order of first publication, and within an edition as they are printed there.
BENCHMARKS = tuple(_benchmark(*cells) for cells in rows("benchmarks.md"))

#: By how many per cent an SDK changed training, as its notes say; the rows show it too.
RELEASES = stated("what SDKs changed")
#: What no document says about a step, fitted to half of the rows.
CALIBRATED = stated("calibrated numbers of a training step")
