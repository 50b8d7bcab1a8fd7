"""What the fullest NeuronCore keeps in its HBM: closed forms of the ZeRO and Megatron papers.

*Weights, gradients, states.*  Of ``P`` parameters on a rank, ``2 + 2 + K`` bytes each: 16 with FP32
master weights and AdamW (18 where gradients are FP32, as Megatron-LM counts), 8 where dice round
BF16 weights and states.  AWS documents full BF16 with states of either width (`aws-torch-guide`);
``state_bytes=4`` gives the other, 12, which this project's own optimisers take.  ZeRO shares out
``ceil(P / replicas)`` of master weights and states (1), of gradients too (2), of weights too (3).
torch_xla's ZeRO-1 also keeps a copy of the rank's part of the weights that it updates; the papers,
and this, count one only if it is the FP32 master.

*Activations.*  A block keeps ``s b h (34 + 5 a s / h)`` bytes for backward if it has dropout and an
MLP four times as wide; ``_block`` counts value by value, so that other blocks have their own sum.
Under 1F1B stage ``k`` of ``p`` holds ``min(p - k, micro-batches)`` of them at once; with ``v``
parts per stage the first holds ``1 + (p - 1) / (p v)`` times as much.  Under sequence parallelism
the input that full recomputation keeps is split too.

*Buffers.*  What lives while backward is in one block: the block computed again; the gradient that
came in and the one that goes out of its widest product (scores, unless attention is flash); what
sequence parallelism and ZeRO gather for it beyond the rank's own part.  The papers leave this out;
without it the closed form falls 20 % short of what the executor needs for a small model and a large
batch, with it 5 %.

Left out: fragmentation of HBM, the compiler's scratch and its code, the runtime's rings, inputs,
and what lives within one operation.  Papers print decimal GB; HBM has 16 GiB, 17.2 GB.
Sources: `rajbhandari-2020`, `korthikanti-2022`, `megatron-2021`, `megatron-memory` (specs.SOURCES).
"""

from dataclasses import dataclass, field, replace
from functools import lru_cache
from math import ceil

from trainium_edu.cluster.models import Cnn, Mlp, Transformer, get_model
from trainium_edu.cluster.plan import Plan, PlanError
from trainium_edu.cluster.work import work
from trainium_edu.specs import INSTANCES
from trainium_edu.specs.arguments import whole
from trainium_edu.specs.signatures import checked

__all__ = ["Memory", "memory", "stages"]

#: Bytes per number of weights, gradients, master weights and states.
WIDTHS = {"bf16-sr": (2, 2, 0, 2), "bf16-master": (2, 2, 4, 4), "fp32": (4, 4, 0, 4)}
#: Numbers that an optimiser keeps per parameter; SGD with momentum.
STATES = {"adamw": 2, "lamb": 2, "sgd": 1}
#: Which parts a change makes less, the change in words, and the change.
_REMEDIES = (
    ("activations", "sequence parallelism", {"sequence_parallel": True}),
    ("activations buffers", "flash attention", {"flash_attention": True}),
    ("activations", "attention's scores computed again", {"recompute": "selective"}),
    ("activations buffers", "micro-batches of one sample", {"micro_batch": 1}),
    ("activations", "whole blocks computed again", {"recompute": "full"}),
    ("states master", "ZeRO-1 over {0.data} replicas", {"zero": 1}),
    ("states master", "rounding BF16 weights and states with dice", {"precision": "bf16-sr"}),
    ("gradients", "ZeRO-2 over {0.data} replicas", {"zero": 2}),
    ("weights", "ZeRO-3 over {0.data} replicas", {"zero": 3}),
)
_PARTS = ("weights", "gradients", "master", "states", "activations", "buffers")


@dataclass(frozen=True, slots=True)
class Memory:
    """The HBM that one NeuronCore uses, in bytes.

    Attributes
    ----------
    stage : int
        Of the pipeline, from 0.
    parameters : int
        That this rank computes with, before ZeRO shares anything out.
    weights, gradients, master, states : int
        ``master`` are FP32 weights beside BF16 ones.
    activations : int
        What forward keeps for backward, of all micro-batches in flight; logits in FP32.
    buffers : int
        What lives while backward is in one block: recomputed activations, gradients of its
        values, what sequence parallelism and ZeRO gather.
    available : int
        HBM of one NeuronCore.
    model, plan, gradient_bytes, state_bytes
        What this is the memory of.
    """

    stage: int
    parameters: int
    weights: int
    gradients: int
    master: int
    states: int
    activations: int
    buffers: int
    available: int
    model: Transformer | Mlp | Cnn = field(repr=False)
    plan: Plan = field(repr=False)
    gradient_bytes: int | None = field(default=None, repr=False)
    state_bytes: int | None = field(default=None, repr=False)

    @property
    def total(self) -> int:
        """All of it at once."""
        return (self.weights + self.gradients + self.master + self.states + self.activations
                + self.buffers)  # fmt: skip

    @property
    def fits(self) -> bool:
        """Whether one NeuronCore's HBM holds it."""
        return self.total <= self.available

    @property
    def over(self) -> int:
        """Bytes that do not fit; 0 if all do."""
        return max(0, self.total - self.available)

    @property
    def bytes_per_parameter(self) -> float:
        """Weights, gradients, master weights and states: 2 + 2 + K of the ZeRO paper."""
        kept = self.weights + self.gradients + self.master + self.states
        return kept / max(1, self.parameters)

    @property
    def largest(self) -> str:
        """The name of the largest part."""
        return max(_PARTS, key=lambda part: getattr(self, part))

    def explain(self) -> str:
        """Return a sentence on what takes most, and what would make it less.

        Examples
        --------
        >>> from trainium_edu.cluster import Cluster
        >>> plan = Plan(Cluster(instances=4), tensor=8, micro_batch=2)
        >>> print(memory("llama2-7b", plan).explain())
        26.0 of 16 GiB, 10.0 GiB too many: activations take 74 % of it; 9.6 GiB with ...
        """
        part, at = self.largest, ""
        if self.plan.pipeline > 1:
            at = f" on stage {self.stage + 1} of {self.plan.pipeline}"
        many = f", {_size(self.over)} too many" if self.over else ""
        share, words = (
            getattr(self, part) / self.total,
            {"master": "master weights"}.get(part, part),
        )
        held, room = _digits(self.total / 2**30), f"{self.available / 2**30:.0f} GiB"
        share = f"{share:.0%}".replace("%", " %")
        said = f"{held} of {room}{at}{many}: {words} take {share} of it"
        if self.fits:
            return said
        return f"{said}; {self._remedy(part)}"

    def _remedy(self, part) -> str:
        """Name the gentlest change that makes this fit, or the strongest if none does."""
        remedies = []
        for parts, words, change in _REMEDIES:
            if part in parts:
                try:
                    other = memory(self.model, replace(self.plan, **change),
                                   gradient_bytes=self.gradient_bytes,
                                   state_bytes=self.state_bytes)  # fmt: skip
                except PlanError:
                    continue
                remedies.append((other.total, words.format(self.plan)))
        total, words = next((each for each in remedies if each[0] <= self.available),
                            min(remedies, default=(self.total, "")))  # fmt: skip
        if total >= self.total:
            return "spread a replica over more ranks (tensor, pipeline)"
        return f"{_size(total)} with {words}"

    def __str__(self):
        names = (*_PARTS, "total")
        rows = [f"{name:<12}{getattr(self, name) / 2**30:>12,.3f} GiB" for name in names]
        return "\n".join([*rows, f"{'of':<12}{self.available / 2**30:>12,.3f} GiB"])


def _size(nbytes) -> str:
    """Write bytes in GiB, or in MiB where that would be nothing."""
    unit, name = (2**30, "GiB") if nbytes >= 2**30 else (2**20, "MiB")
    return f"{_digits(nbytes / unit)} {name}"


def _digits(size) -> str:
    return f"{size:,.0f}" if size >= 100 else f"{size:.1f}"


@checked
def memory(
    model: str | Transformer | Mlp | Cnn,
    plan: Plan,
    *,
    gradient_bytes: int | None = None,
    state_bytes: int | None = None,
) -> Memory:
    """Return what the fullest NeuronCore keeps in HBM while it trains.

    Parameters
    ----------
    model : Transformer, Mlp, Cnn, or a name in MODELS
        An Mlp or a Cnn is whole on every rank: data parallelism and ZeRO only.
    plan : Plan
    gradient_bytes : int, optional
        Per gradient, in place of what ``plan.precision`` says: 4 for BF16 weights whose gradients
        are summed up in FP32, as Megatron-LM does.
    state_bytes : int, optional
        Per number of the optimiser's states, likewise: 4 for FP32 states of BF16 weights.

    Returns
    -------
    Memory
        Of the first pipeline stage, which has the embedding and most micro-batches in flight, or
        of the last, which has the head: whichever is fuller.

    Raises
    ------
    PlanError, ValueError
        If the model does not divide as the plan says; if there is no model of that name.

    Examples
    --------
    >>> from trainium_edu.cluster import Cluster
    >>> plan = Plan(Cluster("trn1.32xlarge", 4), tensor=8, precision="bf16-master")
    >>> kept = memory("llama2-7b", plan)
    >>> kept.bytes_per_parameter, kept.fits
    (16.0, False)
    >>> memory("llama2-7b", replace(plan, precision="bf16-sr")).bytes_per_parameter
    8.0

    References
    ----------
    `rajbhandari-2020`, section 3 and table 1; `korthikanti-2022`, table 2 and section 4.4;
    `megatron-2021`, section 2.2 (1F1B and interleaving); `megatron-memory` (18 bytes).
    """
    ends = dict.fromkeys((0, plan.pipeline - 1))  # every stage between has less than the first
    return max(
        _of_stages(model, plan, gradient_bytes, state_bytes, ends), key=lambda kept: kept.total
    )


@checked
def stages(
    model: str | Transformer | Mlp | Cnn,
    plan: Plan,
    *,
    gradient_bytes: int | None = None,
    state_bytes: int | None = None,
) -> tuple[Memory, ...]:
    """Return what a NeuronCore of each pipeline stage keeps in HBM, in the order of the stages.

    Parameters
    ----------
    model, plan, gradient_bytes, state_bytes
        As for :func:`memory`.

    Returns
    -------
    tuple of Memory

    Raises
    ------
    PlanError, ValueError
        As for :func:`memory`.

    Examples
    --------
    >>> from trainium_edu.cluster import Cluster
    >>> first, last = stages("gpt3-6.7b", Plan(Cluster(), tensor=8, pipeline=2))
    >>> first.activations > last.activations
    True
    """
    return tuple(_of_stages(model, plan, gradient_bytes, state_bytes, range(plan.pipeline)))


def _of_stages(model, plan, gradient_bytes, state_bytes, which):
    """Yield the memory of some pipeline stages."""
    model = get_model(model) if isinstance(model, str) else model
    plan.check(model)
    for name, width in (("gradient_bytes", gradient_bytes), ("state_bytes", state_bytes)):
        if width is not None:
            whole(width, name, 1, 8)
    chip = INSTANCES[plan.cluster.instance].chip
    weight, gradient, master, state = WIDTHS[plan.precision]
    gradient, state = gradient_bytes or gradient, state_bytes or state
    shares = [plan.data if plan.zero >= level else 1 for level in (1, 2, 3)]
    for stage in which:
        count, largest = _parameters(model, plan, stage)
        states, gradients, weights = (-(-count // share) for share in shares)
        kept, at_work = _activations(model, plan, stage)
        gathered = largest * (1 - 1 / plan.data)
        gathered *= gradient * (plan.zero >= 2) + weight * (plan.zero >= 3)
        yield Memory(
            stage, count, weights * weight, gradients * gradient, states * master,
            states * state * STATES[plan.optimizer], ceil(kept), ceil(at_work + gathered),
            int(chip.hbm_bytes_per_core), model, plan, gradient_bytes, state_bytes,
        )  # fmt: skip


@lru_cache(maxsize=256)
def _ends(model, batch) -> tuple:
    """Return the parts of a model's work on a micro-batch that belong to no block."""
    return tuple(part for part in work(model, batch=batch).parts if not part.in_blocks)


@lru_cache(maxsize=256)
def _layers(model, batch) -> tuple:
    """Return the parts of a model that has layers and no blocks."""
    return work(model, batch=batch).parts


def _parameters(model, plan, stage) -> tuple[int, int]:
    """Return the parameters of one rank of a stage, and those of its largest part."""
    if not isinstance(model, Transformer):
        layers = [part.parameters for part in _layers(model, plan.micro_batch)]
        return sum(layers), max(layers)
    degree, width, (embedding, *last) = plan.tensor, model.hidden, _ends(model, plan.micro_batch)
    keys = -(-model.kv_heads // degree) * model.head_width  # a head is not cut: copies, if few
    into = model.query_width // degree + 2 * keys + model.ffn // degree * (1 + model.gated)
    out = model.query_width // degree + model.ffn // degree
    norms = 2 * width * (1 + (model.norm == "layer"))
    block = (into + out) * width + norms + (into + 2 * width) * model.biases
    ends = []
    table = model.vocabulary * width  # split by words; what else the ends have is on every rank
    split = -(-model.vocabulary // degree) * width
    if stage == 0:
        ends.append(embedding.parameters - table + split)
    if stage == plan.pipeline - 1:
        head = sum(part.parameters for part in last)
        if model.head != "classes" and not model.tied:
            head += split - table
        elif model.head != "classes" and plan.pipeline > 1:
            head += split  # a copy of the embedding's weights, kept equal by a sum of gradients
        ends.append(head)
    return block * (model.layers // plan.pipeline) + sum(ends), max(block, *ends, 0)


def _activations(model, plan, stage) -> tuple[float, float]:
    """Return the bytes that one rank keeps for backward, and those of the block at work."""
    bytes_each = 4 if plan.precision == "fp32" else 2
    if not isinstance(model, Transformer):
        layers = [part.elements * bytes_each for part in _layers(model, plan.micro_batch)]
        return sum(layers), 2 * max(layers)
    embedding, *last, loss = _ends(model, plan.micro_batch)
    input_, everything, scores, largest = _block(model, plan, bytes_each)
    kept = {"none": everything, "selective": everything - scores, "full": input_}[plan.recompute]
    flying, split = _in_flight(plan, stage), plan.tensor if plan.sequence_parallel else 1
    gathered = input_ * (split - 1)  # the whole sequence's, before a product
    at_work = everything - kept + 2 * largest + gathered
    total = model.layers / plan.pipeline * flying * kept
    if stage == 0:
        total += flying * (embedding.elements * bytes_each + embedding.masks) / split
    if stage == plan.pipeline - 1:
        logits = loss.elements * 4 / plan.tensor  # FP32
        total += sum(part.elements for part in last) * bytes_each / split + logits
        at_work = max(at_work, logits)
    return total, at_work


def _block(model, plan, bytes_each) -> tuple[float, float, float, float]:
    """Return the bytes of a block's input, all that it keeps, its scores, its widest product.

    Whole on every tensor-parallel rank, unless split along the sequence: the inputs of two norms,
    of attention and of the MLP, two masks.  Split by heads and columns: queries, keys, values, the
    output of attention; in the MLP what goes into the nonlinearity and what comes out.
    """
    degree, width, drops = plan.tensor, model.hidden, model.dropout
    tokens = model.sequence * plan.micro_batch
    keys = -(-model.kv_heads // degree) * model.head_width
    lines = tokens * width / (degree if plan.sequence_parallel else 1)
    queries = tokens * model.query_width / degree
    projected = queries + 2 * tokens * keys
    inner = tokens * model.ffn / degree
    split = projected + queries + (2 + model.gated) * inner
    largest = max(lines, projected, inner * (1 + model.gated))
    rows = tokens * model.heads / degree  # of scores, each as long as the sequence
    if plan.flash_attention:
        scores = 4 * rows  # one FP32 logarithm each
    else:
        scores = rows * model.sequence * (bytes_each + drops * (bytes_each + 1))
        largest = max(largest, rows * model.sequence)
    everything = lines * (4 * bytes_each + 2 * drops) + split * bytes_each + scores
    return lines * bytes_each, everything, scores, largest * bytes_each


def _in_flight(plan, stage) -> float:
    """Return how many micro-batches' activations a stage holds at once under 1F1B."""
    before_end = plan.pipeline - stage
    if plan.interleave == 1:
        return min(before_end, plan.micro_batches)
    parts = 2 * before_end - 1 + (plan.interleave - 1) * plan.pipeline
    return min(parts / plan.interleave, plan.micro_batches)
