"""From a cluster to one multiply-accumulate: six rungs, each with the facts a first look needs."""

from dataclasses import dataclass

from trainium_edu.specs.fact import Fact
from trainium_edu.specs.instances import INSTANCES, TRN1, ULTRACLUSTER
from trainium_edu.specs.prices import PRICES
from trainium_edu.specs.record import Record
from trainium_edu.specs.signatures import checked
from trainium_edu.specs.sources import stated
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


@checked
def ladder(chip: Record = TRN1) -> tuple[Rung, ...]:
    """List the rungs from the outside in, as far out as a chip's instances are known.

    Examples
    --------
    >>> from trainium_edu.specs import TRN2
    >>> [rung.holds for rung in ladder()][1:3], [rung.holds for rung in ladder(TRN2)][:2]
    (['16 chips', '2 NeuronCores'], ['16 chips', '8 NeuronCores'])
    """
    own = stated("ladder", tensor_engine=chip.tensor_engine, cores=chip.cores, cluster=ULTRACLUSTER)
    records = {"chip": chip, "own": own}
    if chip == TRN1:
        records["ultracluster"] = ULTRACLUSTER
    for name, instance in INSTANCES.items():
        topology = getattr(instance, "topology", None)
        is_drawn = topology is not None and topology.value == "4 x 4 torus"
        if is_drawn and instance.chip == chip and "instance" not in records:
            records |= {"instance": instance, "price": PRICES[name]}
    unknown = {"ultracluster", "instance"} - records.keys()
    figures: dict[str, list] = {}
    for key, counts, path in rows("ladder.md", "Figures"):
        record, _, fact = path.partition(".")
        if key not in unknown and hasattr(records[record], fact.partition(".")[0]):
            figures.setdefault(key, []).append((counts, records[record].find(fact)))
    return tuple(
        Rung(key, name, holds.format(**records), sentence.format(**records), tuple(figures[key]))
        for key, name, holds, sentence in rows("ladder.md", "Rungs")
        if key not in unknown
    )
