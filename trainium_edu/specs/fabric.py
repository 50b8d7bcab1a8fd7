"""NeuronLink, EFA and collectives: links, latencies, published tables and neighbour lists."""

from dataclasses import dataclass

from trainium_edu.specs.fact import Fact, Kind, derive
from trainium_edu.specs.instances import INSTANCES, TRN1
from trainium_edu.specs.record import Record
from trainium_edu.specs.sources import SOURCES

__all__ = ["FABRIC", "NCCOM_TABLES", "NccomTable"]

_GiB = 2**30
_intra = SOURCES["aws-intranode"].says
_inter = SOURCES["aws-internode"].says
_nccom = SOURCES["nccom-test-guide"].says
_tips = SOURCES["aws-runtime-tips"].says
_own = SOURCES["emulator"].says

_link = SOURCES["aws-inf2-page"].says(
    96 * _GiB, "bytes/s", "figure of the ring, label on a double-headed arrow",
    note="no document says whether this is one direction or the sum of both",
)  # fmt: skip


def _per_port(instance, ports):
    per_chip = INSTANCES[instance].neuronlink_bytes_per_s_per_chip
    return derive("bytes/s", lambda b, n: b // n, per_chip, ports, locator="per chip / ports")


FABRIC = Record(
    "NeuronLink, EFA and collectives",
    link_bytes_per_s=_link,
    link_one_way_if_label_is_one_way=derive("bytes/s", lambda b: b, _link, locator="the label"),
    link_one_way_if_label_is_sum=derive("bytes/s", lambda b: b // 2, _link, locator="label / 2"),
    link_bytes_per_s_trn1=_per_port("trn1.32xlarge", TRN1.neuronlink_ports),
    link_bytes_per_s_trn1n=_per_port("trn1n.32xlarge", TRN1.neuronlink_ports),
    hop_latency_ns=_intra((1_000, 2_000), "ns", "execution time paragraph",
                         note="per hop of Ring and KangaRing, depends on HBM load"),
    inter_step_latency_ns=_inter(15_000, "ns", "execution time paragraph",
                                note="about; aws-collectives, System Connectivity: HBM to HBM,"
                                     " smallest packet, Trn2"),
    mesh_below_bytes=_intra(10**6, "bytes", "Algorithm Summary, Sweet Range", note='"< 1MB"'),
    rdh_range_bytes=_intra((10**6, 56 * 10**6), "bytes", "Algorithm Summary, Sweet Range",
                           note='"1-56MB"'),
    kangaring_above_bytes=_intra(56 * 10**6, "bytes", "Algorithm Summary, Sweet Range",
                                 note='">56MB"'),
    kangaring_at_bytes=_nccom(
        32 * 2**20, "bytes", "16-rank all-reduce with --show-algorithm",
        note="KangaRing already chosen inside RDH's range", kind=Kind.MEASURED),
    hamiltonian_cycles=_intra(2, "edge-disjoint cycles", "KangaRing Algorithm",
                              note='"2 non-overlapping Hamiltonian cycles on 2D Torus"'),
    rdh_axis_order=_own("rotated", "", "fabric.algorithms.rdh",
                        note="rank j starts at axis j: if all took the same axis, RDH could be the"
                        " fastest at no size, and the summary table says 1-56MB"),
    ranks_per_chip=SOURCES["nki-trn1-arch"].says(2, "ranks", "figure of the device",
                                                 note="Trn2, for which the text is written: 4"),
    bucket_bytes=SOURCES["aws-torch-envvars"].says(
        50 * 10**6, "bytes", "ALLREDUCE_GRADIENTS_BUCKET_SIZE_MB",
        note='"50MB by default"; 512 suggested for BERT on several instances'),
    group_sizes=SOURCES["aws-torch-envvars"].says(
        (1, 2, 8, 32), "NeuronCores", "NEURON_RT_VISIBLE_CORES",
        note="a group starts at a multiple of its size"),
    group_sizes_inference=SOURCES["aws-nxdi-features"].says(
        (1, 2, 8, 16, 32), "NeuronCores", "tensor-parallelism degrees, Trn1",
        note="of the runtime, which adds 16"),
    unit_in_guide=_nccom("GB/s means GiB/s", "", "output columns",
                         note="true of the tables whose time column is a whole number"),
    unit_in_newer_tables=_nccom("GB/s means GB/s", "", "tables with time:avg(us), JSON sample",
                                note="512 MiB in 9689.51 us prints 55.41", kind=Kind.MEASURED),
    neighbours_trn1=_tips(
        tuple(
            ((i - 4) % 16, i // 4 * 4 + (i - 1) % 4, (i + 4) % 16, i // 4 * 4 + (i + 1) % 4)
            for i in range(16)
        ),
        "chips", "Respect the NUMA node layout, table trn1.32xlarge, CONNECTED DEVICES",
        note="what neuron-ls prints: chip i's neighbours up, left, down, right"),
    neighbours_inf2=_tips(
        tuple(((i - 1) % 12, (i + 1) % 12) for i in range(12)), "chips",
        "Respect the NUMA node layout, table inf2.48xlarge, CONNECTED DEVICES"),
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
