"""From a cluster to one multiply-accumulate: six rungs, each with the facts a first look needs."""

import functools
from dataclasses import dataclass

from trainium_edu.specs.fact import Fact, derive
from trainium_edu.specs.instances import INSTANCES, TRN1, ULTRACLUSTER
from trainium_edu.specs.prices import PRICES
from trainium_edu.specs.record import Record
from trainium_edu.specs.sources import SOURCES
from trainium_edu.specs.tables import rows

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
    te, _arch = TRN1.tensor_engine, SOURCES["nki-trn1-arch"].says
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
    own = Record(
        "ladder", elements=elements, everything=everything, beat=beat, per_element=per_element,
        mac=mac, inputs=_arch("BF16", "", "Tensor Engine, Data Types"),
        sums=_arch("FP32", "", "Tensor Engine, Data Types"),
    )  # fmt: skip
    records = {
        "trn1": INSTANCES["trn1.32xlarge"], "te": te, "TRN1": TRN1, "ULTRACLUSTER": ULTRACLUSTER,
        "price": PRICES["trn1.32xlarge"], "own": own,
    }  # fmt: skip
    figures: dict[str, list] = {}
    for key, counts, path in rows("ladder.md", "Figures"):
        record, _, name = path.partition(".")
        figures.setdefault(key, []).append((counts, records[record].find(name)))
    return tuple(
        Rung(key, name, holds or ULTRACLUSTER.instances.pretty, sentence, tuple(figures[key]))
        for key, name, holds, sentence in rows("ladder.md", "Rungs")
    )
