"""How much of a step communication takes for the sources' models: closed forms, and what was said.

Nothing is trained or scheduled here.  One replica's gradients are summed once per step, nothing of
it is hidden, and every input is in the table.  Its last column is what a report of AWS's keynote
says of three generations (`nextplatform-reinvent-2021`): 50, 14 and 7 % of the time.

*Between instances*: a ring over X replicas, ``2 (X - 1) (a + G / (X b))`` with 15 us a step and the
network's rate b; G is what one instance holds of the gradients.  *Inside* Trn1: ``hierarchical``
and the ring of ``fabric``.  Compute: ``6 P tokens`` FLOP at a stated share of the peak.
"""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass

from trainium_edu import fabric
from trainium_edu.specs import CLAIMS, FABRIC, INSTANCES, SOURCES
from trainium_edu.specs.arguments import number, whole
from trainium_edu.specs.signatures import checked
from trainium_edu.training.parallel.collectives import links
from trainium_edu.xla.graph import Type
from trainium_edu.xla.operations import apply, parameter

__all__ = ["Share", "Shares", "communication_share"]

#: Parameters of the models that the sources name.
_PARAMETERS = {
    "BERT-Large": SOURCES["bert-paper"].says(340e6, "parameters", "BERT-large"),
    "GPT-3": SOURCES["gpt3-paper"].says(175e9, "parameters", "abstract"),
}
_TRN1_RANKS = (("trn1.2xlarge", 2), ("trn1.32xlarge", 8), ("trn1.32xlarge", 32),
               ("trn1n.32xlarge", 32), ("trn1.32xlarge", 64), ("trn1.32xlarge", 512),
               ("trn1n.32xlarge", 512), ("trn1.32xlarge", 4096))  # fmt: skip


@dataclass(frozen=True, slots=True)
class Share:
    """One row: a model on some instances.

    Attributes
    ----------
    model, instance : str
    instances, ranks : int
        ``ranks`` are those that sum: NeuronCores for a model that fits one, else instances.
    gradient_bytes : float
        Summed by each of them, once per step.
    sum_ns, compute_ns : float
    published : float or None
        The report's figure for this model on `instances` instances of this generation.
    inputs : str
        Tokens, share of the peak, and what else goes in.
    """

    model: str
    instance: str
    instances: int
    ranks: int
    gradient_bytes: float
    sum_ns: float
    compute_ns: float
    published: float | None
    inputs: str

    @property
    def share(self) -> float:
        """Communication's part of a step in which nothing is hidden."""
        return self.sum_ns / (self.sum_ns + self.compute_ns)

    def __str__(self):
        published = "" if self.published is None else f"{self.published:.0%}"
        return (
            f"{self.model:<11}{self.instances:>5} x {self.instance:<15}{self.ranks:>6}"
            f"{self.gradient_bytes / 1e9:>9.3g} GB{self.sum_ns / 1e6:>12,.1f}"
            f"{self.compute_ns / 1e6:>12,.0f}{self.share:>9.1%}{published:>11}"
        ).rstrip()


class Shares(tuple):
    """The table: a :class:`Share` for each row."""

    __slots__ = ()

    def __str__(self):
        head = (f"{'model':<11}{'instances':>23}{'ranks':>6}{'gradients':>12}{'sum, ms':>12}"
                f"{'compute, ms':>12}{'share':>9}{'published':>11}")  # fmt: skip
        inputs = dict.fromkeys(f"{row.model}: {row.inputs}" for row in self)
        return "\n".join([head, *map(str, self), *inputs])


@checked
def communication_share(efficiency: float = 0.4, *, sequences: int = 512, sequence: int = 128,
                        gpt3_tokens: float = 3.2e6, bytes_per_gradient: int = 2,
                        replicas_of: int = 1) -> Shares:  # fmt: skip
    """Return communication's share of a step for the sources' models, from closed forms.

    Parameters
    ----------
    efficiency : float
        Of compute: the share of the peak that a step reaches while it computes.  Assumed.
    sequences, sequence : int
        BERT-Large: sequences per rank and step, and tokens in each.  As in AWS's tutorial: batches
        of 16, 32 micro-batches, and 16,384 sequences of 128 tokens over 32 ranks.
    gpt3_tokens : float
        GPT-3: tokens per step of all instances together.  Assumed: 3.2 million.
    bytes_per_gradient : int
        2 for BF16.
    replicas_of : int
        Instances that hold one replica of GPT-3 together; each sums its part of the gradients.

    Returns
    -------
    Shares
        BERT-Large on 2 to 4,096 ranks of Trn1, weak scaling; GPT-3 on the instances of the report,
        its batch divided among them.

    Examples
    --------
    >>> rows = communication_share()
    >>> [(row.instance, row.published) for row in rows if row.published]
    [('p3dn.24xlarge', 0.5), ('p4d.24xlarge', 0.14), ('trn1n.32xlarge', 0.07)]

    Notes
    -----
    The report counts 130 instances of "Trn1"; only trn1n has the 1600 Gbit/s that it speaks of.  A
    replica of GPT-3 does not fit one instance of any of the three; with `replicas_of` the sums
    shrink, and what a replica's parts say to each other comes on top: it is not in the table.

    References
    ----------
    `nextplatform-reinvent-2021`, `bert-paper`, `gpt3-paper` in
    :data:`trainium_edu.specs.SOURCES`; AWS Neuron, Hugging Face BERT Pretraining Tutorial.
    """
    efficiency = number(efficiency, "efficiency", above=0)
    whole(sequences, "sequences", 1), whole(sequence, "sequence", 1)
    whole(replicas_of, "replicas_of", 1, 64)
    return Shares((
        *_bert(efficiency, sequences, sequence, bytes_per_gradient),
        *_gpt3(efficiency, gpt3_tokens, bytes_per_gradient, replicas_of),
    ))  # fmt: skip


def _bert(efficiency, sequences, sequence, width) -> Iterator[Share]:
    size, tokens = int(_PARAMETERS["BERT-Large"].value), sequences * sequence
    bucket = apply("all_reduce", parameter(0, Type((size * width,), "uint8")), kind="sum",
                   groups=None, scale=1.0)  # fmt: skip
    for name, ranks in _TRN1_RANKS:
        instance, reached = INSTANCES[name], links(ranks, name, algorithm="kangaring")
        peak = float(instance.peak_flops) / int(instance.cores) * efficiency
        assert reached is not None  # none of these is one rank
        yield Share(
            "BERT-Large", name, reached.topology.instances, ranks, size * width,
            reached.collective(bucket).nominal_ns, 6 * size * tokens / peak * 1e9, None,
            f"{sequences} x {sequence} tokens per rank, {efficiency:.0%} of the peak",
        )  # fmt: skip


def _gpt3(efficiency, tokens, width, parts) -> Iterator[Share]:
    said: Mapping[str, float] = dict(CLAIMS.communication_share.value)
    count: Mapping[str, int] = dict(CLAIMS.two_week_instances.value)
    size, step_ns = float(_PARAMETERS["GPT-3"].value), float(FABRIC.inter_step_latency_ns)
    for key, network, whole_peak in (
        ("p3dn", "p3dn.24xlarge", INSTANCES["p3dn.24xlarge"].peak_flops),
        ("p4d", "p4d.24xlarge", INSTANCES["p4d.24xlarge"].peak_flops),
        ("trn1", "trn1n.32xlarge", INSTANCES["trn1.32xlarge"].peak_flops_launch),
    ):
        rate = float(INSTANCES[network].network_bits_per_s) / 8
        peak = float(whole_peak) * efficiency
        mine, replicas = size * width / parts, max(2, count[key] // parts)
        form = fabric.inter_node("ring", replicas, step_ns=step_ns, bytes_per_s=rate)
        yield Share(
            "GPT-3", network, count[key], count[key], mine, float(form.at(mine)),
            6 * size * tokens / count[key] / peak * 1e9, said[key],
            f"{tokens / 1e6:.3g} million tokens among all, {efficiency:.0%} of "
            f"{peak / efficiency / 1e12:,.0f} TFLOP/s, {rate * 8 / 1e9:g} Gbit/s"
            + (f", {parts} instances hold a replica" if parts > 1 else ""),
        )  # fmt: skip
