"""Where the sources disagree: every reading is kept, one is the default, and the reason is said."""

import textwrap
from dataclasses import dataclass

from trainium_edu.specs.claims import CLAIMS
from trainium_edu.specs.fabric import FABRIC
from trainium_edu.specs.fact import Fact
from trainium_edu.specs.instances import INSTANCES, TRN1, ULTRACLUSTER
from trainium_edu.specs.prices import PRICES
from trainium_edu.specs.signatures import checked
from trainium_edu.specs.software import SOFTWARE

__all__ = ["Conflict", "Conflicts", "conflicts"]


@dataclass(frozen=True, slots=True)
class Conflict:
    """One quantity with more than one published or computed value."""

    subject: str
    facts: tuple[Fact, ...]
    default: Fact  #: one of ``facts``: the value that the package uses
    why: str

    def __str__(self):
        rows = [self.subject]
        for fact in self.facts:
            mark = "→" if fact is self.default else " "
            rows.append(f"  {mark} {fact.pretty:<28} {fact.source}, {fact.as_of}: {fact.locator}")
        return "\n".join(
            [*rows, *textwrap.wrap(self.why, 92, initial_indent="    ", subsequent_indent="    ")]
        )


class Conflicts(tuple):
    """All conflicts, in reading order; ``print`` shows them as text, a notebook as a table."""

    __slots__ = ()

    @checked
    def about(self, word: str) -> "Conflicts":
        """Return those whose subject contains a word, in any case."""
        return Conflicts(c for c in self if word.lower() in c.subject.lower())

    def __str__(self):
        return "\n\n".join(str(c) for c in self)

    def __repr__(self):
        return f"Conflicts({len(self)} subjects)"

    def _repr_html_(self):
        rows = []
        for c in self:
            for i, f in enumerate(c.facts):
                first = f"<td rowspan={len(c.facts)}><b>{c.subject}</b><br>{c.why}</td>" * (i == 0)
                mark = "✓" if f is c.default else ""
                rows.append(f"<tr>{first}<td>{mark}</td><td>{f.pretty}</td><td>{f.source}</td>"
                            f"<td>{f.as_of}</td></tr>")  # fmt: skip
        names = ("subject, and why ✓", "", "value", "source", "date")
        head = f"<tr>{''.join(f'<th>{name}</th>' for name in names)}</tr>"
        return f"<table>{head}{''.join(rows)}</table>"


def conflicts() -> Conflicts:
    """List what the sources disagree on.

    Returns
    -------
    Conflicts
        A tuple of :class:`Conflict`; ``conflicts().about("peak")`` picks some.

    Examples
    --------
    >>> len(conflicts().about("chips in an UltraCluster"))
    1
    """
    te, dma, cycles = TRN1.tensor_engine, TRN1.dma, TRN1.cycles
    big, small, price = (
        INSTANCES["trn1.32xlarge"],
        INSTANCES["trn1.2xlarge"],
        PRICES["trn1.2xlarge"],
    )
    managed = PRICES["p4d.24xlarge"]
    found = (
        ("peak of one NeuronCore, BF16", (te.peak_flops_from_array, te.peak_flops,
         te.peak_flops_over), 0, "the array itself: 128 x 128 x 2 x 2.8 GHz; 92 is it rounded up"),
        ("peak of one chip, BF16", (TRN1.peak_flops, TRN1.peak_flops_launch,
         TRN1.peak_flops_from_cores, TRN1.peak_flops_from_array), 0,
         "the maker's present figure, and what most published utilisations divide by; our clock"
         " gives the last one, 3.4 % less, and no document explains the difference"),
        ("peak of one chip, FP32", (TRN1.peak_flops_fp32, TRN1.peak_flops_fp32_launch), 0,
         "the maker's present figure"),
        ("peak of one chip, INT8", (TRN1.peak_int8_ops, TRN1.peak_int8_ops_launch), 0,
         "the maker's present figure"),
        ("peak of trn1.32xlarge, BF16", (big.peak_flops, big.peak_flops_launch,
         big.peak_flops_announced, big.peak_flops_from_array), 0,
         "the present page; 3.4 PFLOPS was 16 x 210 rounded up at launch"),
        ("clock of the Tensor Engine", (te.clock_hz, TRN1.limits.port_clock_hz), 0,
         "the engine table; the second is stated of every SBUF port, and would halve the peak to"
         " 45.9 TFLOPS, which published matmul times beat"),
        ("reciprocal on the Vector Engine", (cycles.reciprocal_profiled, cycles.reciprocal), 0,
         "a profiled silu has less Vector work in all than 8 N for its reciprocals alone"),
        ("rate of a core's DMA engines", (dma.bytes_per_s, dma.rate_sustained,
         dma.rate_in_bursts), 0, "the documented rate lies between what long streams sustain and"
         " what short kernels reach; timing has both, and a burst's length is assumed"),
        ("rows of a few bytes", (TRN1.timing.dma_packet_ns, dma.short_rows_in_bursts,
         TRN1.timing.dma_buffer_ns), 0,
         "one packet per contiguous run of HBM explains the first two: rows of neighbouring"
         " partitions that are neighbours in HBM too travel together. Several runs of one partition"
         " are taken as one packet, too, of a buffer each"),
        ("rows of 1 KiB", (TRN1.timing.dma_packet_ns, TRN1.timing.dma_packet_ns_tutorial,
         TRN1.timing.dma_packet_ns_traces), 0, "AWS's figure, which AWS's times of three matmuls"
         " agree with; another study's times of the same work are half as long. Neither names its"
         " compiler; the instances are trn1.32xlarge and trn1.2xlarge. No rule fits both, so bands"
         " of kernels bound by short rows hold both"),
        ("shortest matmul", (cycles.nc_matmul, te.initiation_cycles), 0,
         "the instruction reference knows the stationary size; the guide says max(N, 64) for all"),
        ("cost of nc_match_replace8", (cycles.nc_match_replace8, cycles.nc_match_replace8_printed),
         0, "as printed an instruction of any size would take at most 64 cycles: read as a slip"),
        ("HBM bandwidth of one chip", (TRN1.hbm_bytes_per_s, TRN1.hbm_bytes_per_s_in_gib), 0,
         "the same digits with two units, 7 % apart; the architecture guide writes GB/s"),
        ("DMA queues of one NeuronCore", (dma.queues, dma.queues_per_core), 0,
         "two guides count 16 engines, the overview 16 queues on each of them; a transfer takes one"
         " queue on every engine, and we model that one"),
        ("bandwidth of one DMA engine", (dma.bytes_per_s_per_engine,
         dma.theoretical_bytes_per_s_per_engine, dma.peak_bytes_per_s_per_engine), 0,
         "17 is what a long stream sustains; bursts come near the 27 that the engine could move"),
        ("DMA bandwidth of one chip", (TRN1.dma_bytes_per_s_sustained, TRN1.dma_bytes_per_s,
         TRN1.dma_bytes_per_s_from_engines), 0, "twice the sustained rate of a NeuronCore"),
        ("network of trn1.2xlarge", (small.network_bits_per_s, small.network_bits_per_s_launch), 0,
         "all editions of the documentation; the launch posts say half, nobody says why"),
        ("chips in an UltraCluster", (ULTRACLUSTER.chips, ULTRACLUSTER.chips_launch,
         ULTRACLUSTER.chips_in_figure), 0, "the newest edition; the number grew with the years"),
        ("UltraCluster of 30 000 chips", (ULTRACLUSTER.peak_flops_30k,
         ULTRACLUSTER.peak_flops_launch, ULTRACLUSTER.peak_flops_announced), 0,
         '"over six exaflops" needs the launch figure of 210 per chip'),
        ("topology of trn1.32xlarge", (big.topology, big.topology_early), 0,
         "both are right: a ring of 4 is a square, so a 4 x 4 torus is a 4D hypercube"),
        ("one direction of a NeuronLink", (FABRIC.link_one_way_if_label_is_one_way,
         FABRIC.link_one_way_if_label_is_sum), 0,
         "the label stands on a double-headed arrow; undocumented, so it is a parameter"),
        ("all-reduce algorithm at 32 MiB", (FABRIC.rdh_range_bytes, FABRIC.kangaring_at_bytes), 0,
         "the ranges are for one group size; a published table of 16 ranks already leaves RDH"),
        ("NeuronCores in a group on trn1.32xlarge", (FABRIC.group_sizes_inference,
         FABRIC.group_sizes), 0, "the newer page, and published runs of 16 ranks; 4 is printed in a"
         " run as well, and placed here like the others, at a multiple of its size"),
        ("GB/s in nccom-test tables", (FABRIC.unit_in_newer_tables, FABRIC.unit_in_guide), 0,
         "recomputed row by row, old tables use GiB and new ones GB; we keep bytes and time"),
        ("network of Trn1 over P4d", (CLAIMS.network_over_p4d_trn1, CLAIMS.network_over_p4d,
         CLAIMS.network_over_p4d_up_to, CLAIMS.network_over_p4d_trn1n), 0,
         "800/400 = 2, as the same post says further down; only trn1n reaches 4"),
        ("BF16 compute of Trn1 over P4d", (CLAIMS.bf16_over_p4d_with_190, CLAIMS.bf16_over_p4d,
         CLAIMS.bf16_over_p4d_with_210, CLAIMS.bf16_over_p4d_with_184), 0,
         "with today's peaks; the launch figure of 210 comes nearest to 1.4"),
        ("TF32 compute of Trn1 over P4d", (CLAIMS.tf32_over_p4d_with_190, CLAIMS.tf32_over_p4d,
         CLAIMS.tf32_over_p4d_with_210, CLAIMS.tf32_over_p4d_with_184), 0,
         "with today's peaks, which come nearest to 2.5; none of the three gives it"),
        ("FP32 compute of Trn1 over P4d", (CLAIMS.fp32_over_p4d_with_190, CLAIMS.fp32_over_p4d,
         CLAIMS.fp32_over_p4d_with_210, CLAIMS.fp32_over_p4d_with_184), 0,
         "with today's peaks; all three round to 5, but no one peak gives 1.4, 2.5 and 5"),
        ("compute of P4d over P3dn", (CLAIMS.p4d_compute_over_p3dn_derived,
         CLAIMS.p4d_compute_over_p3dn), 0, "dense FP16, 2 496 / 1 000 TFLOPS; 4 is the network"),
        ("cost that Trn1 saves over P4d", (CLAIMS.sagemaker_cheaper_by, CLAIMS.cheaper_by), 0,
         '"up to 50 %" comes without a table; the one of the SageMaker post gives 39.5 %'),
        ("speed of Trn1 over P4d in the SageMaker post", (CLAIMS.sagemaker_time_ratio,
         CLAIMS.sagemaker_rate_ratio), 0,
         '"22 % faster" is the iteration rate; the billable time is 8.6 % shorter'),
        ("cost of Trn1 in the SageMaker post, USD", (CLAIMS.sagemaker_cost_trn1_derived,
         CLAIMS.sagemaker_cost_trn1), 0, "price x billable seconds; the print is 3.5 cents higher"),
        ("speed of inf2.xlarge over trn1.2xlarge", (CLAIMS.inf2_speed_ratio_per_dollar,
         CLAIMS.inf2_speed_ratio_by_cost), 0, '"39 % better price-performance" has two readings;'
         " more work per dollar is the usual one, and the table behind it is a picture"),
        ("price of ml.p4d.24xlarge", (managed.sagemaker_usd_per_hour,
         managed.sagemaker_usd_per_hour_derived), 0, "the print is rounded up: 32.7726 and 15 %"),
        ("default of --auto-cast", (SOFTWARE.auto_cast_default, SOFTWARE.auto_cast_default_before,
         SOFTWARE.auto_cast_default_in_guide, SOFTWARE.auto_cast_default_in_table), 0,
         "the present compiler, which leaves what a script computes alone; scripts of 2022 to 2025"
         " had their FP32 matmuls cast to BF16, and say --auto-cast=matmult for that today"),
        ("price of trn1.2xlarge", (price.on_demand_usd_per_hour,
         price.on_demand_usd_per_hour_exact), 0, "one is rounded, the other from memory"),
    )  # fmt: skip
    return Conflicts(Conflict(s, facts, facts[i], why) for s, facts, i, why in found)
