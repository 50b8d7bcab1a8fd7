"""From a cluster to one multiply-accumulate: six rungs, each with the facts a first look needs."""

import functools
from dataclasses import dataclass

from trainium_edu.specs.fact import Fact, derive
from trainium_edu.specs.instances import INSTANCES, TRN1, ULTRACLUSTER
from trainium_edu.specs.prices import PRICES
from trainium_edu.specs.sources import SOURCES

__all__ = ["Rung", "ladder"]


@dataclass(frozen=True, slots=True)
class Rung:
    """One level of the machine."""

    key: str  #: "instance"
    name: str  #: "one instance, trn1.32xlarge"
    holds: str  #: what it holds of the next rung: "16 chips"
    sentence: str
    figures: tuple[tuple[str, Fact], ...]  #: (what the figure counts, fact)


@functools.cache
def ladder() -> tuple[Rung, ...]:
    """List the rungs from the outside in.

    Examples
    --------
    >>> [rung.holds for rung in ladder()][1:3]
    ['16 chips', '2 NeuronCores']
    """
    big, te = INSTANCES["trn1.32xlarge"], TRN1.tensor_engine
    elements = derive("processing elements", lambda r, c: r * c, te.rows, te.columns,
                      locator="rows * columns")  # fmt: skip
    everything = derive(
        "processing elements", lambda chips, cores, n: chips * cores * n, ULTRACLUSTER.chips,
        TRN1.cores, elements, locator="chips * NeuronCores * processing elements",
    )  # fmt: skip
    beat = derive("ns", lambda hz: 1e9 / hz, te.clock_hz, locator="1 / clock")
    per_element = derive("FLOP/s", lambda hz: 2 * hz, te.clock_hz,
                         locator="one multiply and one add per cycle")  # fmt: skip
    mac = derive("multiply-accumulate per cycle", lambda peak, n, hz: round(peak / (2 * n * hz)),
                 te.peak_flops, elements, te.clock_hz,
                 locator="92 TFLOPS / (2 * elements * clock), rounded")  # fmt: skip
    return (
        Rung(
            "ultracluster", "UltraCluster", f"{ULTRACLUSTER.instances.pretty}",
            "A hall full of instances, joined by a network on which no pair blocks another."
            " Each dot is one instance.",
            (
                ("size, over", ULTRACLUSTER.chips),
                ("that makes", ULTRACLUSTER.instances),
                ("size at launch, over", ULTRACLUSTER.chips_launch),
                ("peak at launch, over", ULTRACLUSTER.peak_flops_announced),
                ("multipliers in all", everything),
            ),
        ),
        Rung(
            "instance", "instance", "16 chips",
            "One rented computer, trn1.32xlarge: 16 chips in a grid whose edges wrap around.",
            (
                ("chips", big.chips),
                ("how they are wired", big.topology),
                ("peak, BF16", big.peak_flops),
                ("memory on the chips", big.memory_bytes),
                ("NeuronLink of one chip", big.neuronlink_bytes_per_s_per_chip),
                ("network to other instances", big.network_bits_per_s),
                ("an hour of it", PRICES["trn1.32xlarge"].on_demand_usd_per_hour),
            ),
        ),
        Rung(
            "chip", "chip", "2 NeuronCores",
            "Trainium: two NeuronCores beside two stacks of memory, with four links to neighbours.",
            (
                ("NeuronCores", TRN1.cores),
                ("peak, BF16", TRN1.peak_flops),
                ("memory (HBM)", TRN1.hbm_bytes),
                ("memory bandwidth", TRN1.hbm_bytes_per_s),
                ("links to other chips", TRN1.neuronlink_ports),
                ("data movers (DMA)", TRN1.dma_engines),
                ("cores for collectives", TRN1.cc_cores),
            ),
        ),
        Rung(
            "neuroncore", "NeuronCore", "4 engines",
            "Four engines at four trades, all running at once, around two memories that software"
            " fills.",
            (
                ("Tensor Engine clock", te.clock_hz),
                ("Vector Engine clock", TRN1.vector_engine.clock_hz),
                ("Scalar Engine clock", TRN1.scalar_engine.clock_hz),
                ("GpSimd Engine clock", TRN1.gpsimd_engine.clock_hz),
                ("SBUF, the working memory", TRN1.sbuf.capacity_bytes),
                ("PSUM, where sums land", TRN1.psum.capacity_bytes),
                ("DMA, to and from HBM", TRN1.dma.bytes_per_s),
            ),
        ),
        Rung(
            "tensor_engine", "Tensor Engine", "16 384 processing elements",
            "A systolic array: weights stay put, inputs march in from one side, sums leave at"
            " another.",
            (
                ("size", elements),
                ("rows", te.rows),
                ("columns", te.columns),
                ("peak, BF16", te.peak_flops_from_array),
                ("largest matmul", te.moving_free_max),
                ("time it takes up", te.multiply_moving_512_ns),
            ),
        ),
        Rung(
            "element", "one multiply-accumulate", "one beat",
            "One processing element keeps one weight. At every beat it multiplies what comes in"
            " and adds it to the sum that passes by.",
            (
                ("work of one beat", mac),
                ("length of a beat", beat),
                ("speed of one element", per_element),
                ("inputs, for example", SOURCES["nki-trn1-arch"].says(
                    "BF16", "", "Tensor Engine, Data Types")),
                ("sums", SOURCES["nki-trn1-arch"].says(
                    "FP32", "", "Tensor Engine, Data Types")),
            ),
        ),
    )  # fmt: skip
