"""NeuronLink, EFA and collectives: links, latencies, published tables and neighbour lists."""

from dataclasses import dataclass

from trainium_edu.specs.fact import Fact, Kind, derive
from trainium_edu.specs.instances import INSTANCES, TRN1
from trainium_edu.specs.sources import SOURCES, stated
from trainium_edu.specs.tables import rows

__all__ = ["FABRIC", "NCCOM_TABLES", "NccomTable"]

_GiB = 2**30
_nccom = SOURCES["nccom-test-guide"].says

_link = SOURCES["aws-inf2-page"].says(
    96 * _GiB, "bytes/s", "figure of the ring, label on a double-headed arrow",
    note="no document says whether this is one direction or the sum of both",
)  # fmt: skip


def _per_port(instance, ports):
    per_chip = INSTANCES[instance].neuronlink_bytes_per_s_per_chip
    return derive("bytes/s", lambda b, n: b // n, per_chip, ports, locator="per chip / ports")


FABRIC = stated(
    "NeuronLink, EFA and collectives",
    link_bytes_per_s=_link,
    link_one_way_if_label_is_one_way=derive("bytes/s", lambda b: b, _link, locator="the label"),
    link_one_way_if_label_is_sum=derive("bytes/s", lambda b: b // 2, _link, locator="label / 2"),
    link_bytes_per_s_trn1=_per_port("trn1.32xlarge", TRN1.neuronlink_ports),
    link_bytes_per_s_trn1n=_per_port("trn1n.32xlarge", TRN1.neuronlink_ports),
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
