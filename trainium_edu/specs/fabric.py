"""NeuronLink, EFA and collectives: links, latencies, published tables and neighbour lists."""

from dataclasses import dataclass

from trainium_edu.specs.fact import Fact, Kind
from trainium_edu.specs.instances import INSTANCES, TRN1
from trainium_edu.specs.sources import SOURCES, stated
from trainium_edu.specs.tables import rows

__all__ = ["FABRIC", "NCCOM_TABLES", "NccomTable"]

_nccom = SOURCES["nccom-test-guide"].says

FABRIC = stated(
    "NeuronLink, EFA and collectives", chip=TRN1, trn1=INSTANCES["trn1.32xlarge"],
    trn1n=INSTANCES["trn1n.32xlarge"],
)  # fmt: skip

_SUFFIX = {"K": 2**10, "M": 2**20, "G": 2**30}


def _bytes(text):
    return int(text[:-1]) * _SUFFIX[text[-1]] if text[-1] in _SUFFIX else int(text)


@dataclass(frozen=True, slots=True)
class NccomTable:
    """One table that nccom-test printed; the guide calls them examples, not kept current."""

    operation: str
    dtype: str
    ranks: int
    instances: int
    rows: Fact  #: (bytes, microseconds, algorithm or "") per line; all-gather bytes are the output
    edition: str = ""

    def __str__(self):
        where = f" on {self.instances} instances" if self.instances > 1 else ""
        return f"{self.operation}, {self.ranks} ranks{where}, {self.dtype}, {self.edition}".strip(
            ", "
        )


def _table(operation, dtype, ranks, instances, edition, printed):
    lines = (line.split(":") for line in printed.split())
    value = tuple((_bytes(size), float(us), *(rest or [""])) for size, us, *rest in lines)
    fact = _nccom(value, "(bytes, us, algorithm)", f"{operation}, {ranks} ranks",
                  kind=Kind.MEASURED)  # fmt: skip
    return NccomTable(operation, dtype, int(ranks), int(instances), fact, edition)


#: Every table of the guide.
NCCOM_TABLES = tuple(_table(*cells) for cells in rows("nccom.md"))
