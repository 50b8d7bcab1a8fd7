"""From a cluster to one multiply-accumulate: six rungs, each with the facts a first look needs."""

import functools
from dataclasses import dataclass

from trainium_edu.specs.claims import RECORDS
from trainium_edu.specs.fact import Fact
from trainium_edu.specs.instances import TRN1, ULTRACLUSTER
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


@functools.cache
def ladder() -> tuple[Rung, ...]:
    """List the rungs from the outside in.

    Examples
    --------
    >>> [rung.holds for rung in ladder()][1:3]
    ['16 chips', '2 NeuronCores']
    """
    own = stated("ladder", tensor_engine=TRN1.tensor_engine, cores=TRN1.cores, cluster=ULTRACLUSTER)
    records = RECORDS.replace(own=own)
    figures: dict[str, list] = {}
    for key, counts, path in rows("ladder.md", "Figures"):
        figures.setdefault(key, []).append((counts, records.find(path)))
    return tuple(
        Rung(key, name, holds or ULTRACLUSTER.instances.pretty, sentence, tuple(figures[key]))
        for key, name, holds, sentence in rows("ladder.md", "Rungs")
    )
