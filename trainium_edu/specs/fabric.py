"""NeuronLink, EFA and collectives: links, latencies, published tables and neighbour lists."""

from dataclasses import dataclass

from trainium_edu.specs.fact import Fact, Kind, derive
from trainium_edu.specs.instances import INSTANCES, TRN1
from trainium_edu.specs.sources import SOURCES, stated

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


def _table(operation, dtype, ranks, rows, *, instances=1, edition="", locator=""):
    lines = (row.split(":") for row in rows.split())
    value = tuple((_bytes(size), float(us), *(rest or [""])) for size, us, *rest in lines)
    fact = _nccom(value, "(bytes, us, algorithm)", locator or f"{operation}, {ranks} ranks",
                  kind=Kind.MEASURED)  # fmt: skip
    return NccomTable(operation, dtype, ranks, instances, fact, edition)


#: Every table of the guide.
NCCOM_TABLES = (
    _table("all_reduce", "fp32", 2, "1K:58 4K:58 16K:58 64K:58 256K:60 1M:68 4M:107 16M:332"
           " 64M:1214 256M:4750 1G:18930"),
    _table("all_reduce", "uint8", 2, "32M:768"),
    _table("all_gather", "fp32", 32, "1K:151 8K:149 64K:150 512K:179", edition="older"),
    _table("all_gather", "fp32", 32, "1K:6.16 8K:6.48 64K:8.17 512K:23.16", edition="newer"),
    _table("all_gather", "fp32", 32, "1K:6.19 8K:6.55 64K:8.18 512K:23.11",
           edition="newer, second print"),
    _table("all_gather", "fp32", 8, "1K:10.0 8K:10.22 64K:11.31 512K:14.83", edition="newer"),
    _table("permute", "uint8", 8, "32M:894.24", edition="newer"),
    _table("all_reduce", "fp32", 16, "4:299.91:mesh 32:299.69:mesh 512:299.82:mesh 8K:299.74:mesh"
           " 128K:574.15:mesh 2M:686.32:rdh 32M:2754.15:kangaring 512M:9689.51:kangaring",
           edition="newer"),
    _table("all_reduce", "bf16", 16, "1K:101.14 2K:101.93 4K:101.45 8K:101.84 16K:102.21"
           " 32K:102.36 64K:103.28 128K:105.03 256K:107.37 512K:110.07 1M:117.67",
           edition="newer, one of two streams of 64 ranks"),
    _table("all_gatherv", "fp16", 4, "2K:16.28", edition="newer"),
    _table("all_reduce", "fp32", 64, "8:520 16:520 32:523 64:525 128:553 256:709 512:782 1K:840"
           " 2K:881 4K:916 8K:1013 16K:1031 32K:1174 64K:1315 128K:1315 256K:1311 512K:1312 1M:1328"
           " 2M:1329 4M:1378 8M:1419 16M:2138 32M:2711 64M:3963 128M:6279 256M:11954 512M:21803"
           " 1G:41806", instances=2),
    _table("all_to_allv", "fp32", 2, "1048608:955.05", instances=2, edition="newer"),
)  # fmt: skip
