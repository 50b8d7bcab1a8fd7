"""What a training step takes, derived from model, plan and machine: nothing is run.

One micro-batch on one pipeline stage takes, one after the other,

* the Tensor Engine's cycles for every matrix product, in whole tiles (:func:`products`);
* the other engines' passes over activations, operation by operation (:data:`ELEMENTWISE`): each as
  long as its numbers need through the engine or through the DMA engines, times the first calibrated
  number; and the linear layers' inputs and outputs, which come from memory and go there;
* the stage's weights and gradients through the DMA engines (:data:`WEIGHT_PASSES`);
* tensor-parallel sums, and the send to the next stage.

Stages fill and drain (Narayanan's bubble); then gradients are summed over replicas in buckets, the
optimiser passes over its parameters, and the host prepares the next step: the second calibrated
number.  Both are fitted to half of AWS's benchmark rows (``published.calibrate``); which operations
the tables below list was settled with all rows in view, so the other half tests the numbers more
than the list.

>>> from trainium_edu.cluster.plan import Cluster, Plan
>>> plan = Plan(Cluster(instances=32), tensor=8, pipeline=4, recompute="selective",
...             sequence_parallel=True)
>>> time = step_time("gpt3-23b", plan)
>>> 7 < time.step_ns / 1e9 < 13
True

Left out: overlap of engines (compilers overlap some; the first number holds what is left), products
that a library computes again beside Plan's choice, embeddings, checkpoints, evaluation.  MLPs and
CNNs are not timed: no benchmark row judges them.
"""

import math
from contextlib import suppress
from dataclasses import dataclass, field, replace
from functools import lru_cache
from typing import Literal

import numpy as np

from trainium_edu.cluster.models import Transformer, get_model
from trainium_edu.cluster.placement import Links, placement
from trainium_edu.cluster.plan import Cluster, Plan, PlanError
from trainium_edu.cluster.traffic import traffic
from trainium_edu.cluster.work import model_flops, parameters, work
from trainium_edu.specs import CALIBRATED, FABRIC, INSTANCES
from trainium_edu.specs.arguments import choice, flag, instance, number
from trainium_edu.specs.signatures import checked

__all__ = [
    "ELEMENTWISE", "PARTS", "WEIGHT_PASSES", "Rules", "StepTime", "look_ahead", "products",
    "step_time",
]  # fmt: skip

PARTS = ("Tensor Engine", "other engines", "weights to and from HBM", "tensor-parallel sums",
         "pipeline sends", "pipeline bubble", "gradient sums", "optimiser", "host")  # fmt: skip
_MEASURED_ON = "trn1.32xlarge"  #: what every published step ran on

#: Passes over activations per block: (operation, numbers passed over, forward, those that a full
#: recomputation leaves out, backward, when).  A pass is one cycle per number and lane; what
#: reads two arrays takes two; the Scalar Engine takes exponentials out of PSUM and adds up rows in
#: one (`nki-trn1-arch`, Pipelined Reduction).  What nobody reads again is not recomputed: the
#: last linear layer, and what follows it.
ELEMENTWISE = (
    ("norm", "residual", 8, 0, 16, "layer"),
    ("norm", "residual", 6, 0, 12, "rms"),
    ("residual sums", "residual", 4, 2, 4, ""),
    ("dropout", "residual", 8, 4, 4, "dropout"),
    ("out of PSUM: projection, MLP", "full", 2, 1, 2, ""),
    ("out of PSUM: q, k, v, context", "heads", 2, 0, 2, ""),
    ("rotary positions", "heads", 4, 0, 4, "rotary"),
    ("softmax out of PSUM", "scores", 3, 0, 4, ""),
    ("scale, mask, casts", "scores", 4, 0, 3, "split"),
    ("softmax by steps", "scores", 2, 0, 1, "eager"),
    ("dropout of attention", "scores", 4, 0, 2, "dropout"),
    ("GELU", "mlp", 1, 0, 3, "plain"),
    ("SwiGLU", "mlp", 3, 0, 8, "gated"),
)
#: How often a micro-batch passes over the stage's weights: read forward and backward (again when
#: recomputed in full); the gradient written, read, and added to what is kept (read and written).
WEIGHT_PASSES = {"none": 6, "selective": 6, "full": 7}
#: Passes of the optimiser over its parameters: reads and writes, and the engines' passes.
_OPTIMISERS = {"adamw": (7, 15), "lamb": (9, 21), "sgd": (3, 3)}
_HEAD = 8  #: passes over logits: softmax and loss, both ways


@dataclass(frozen=True, slots=True)
class Rules:
    """The settings by which a step is timed.

    Attributes
    ----------
    efficiency : float, optional
        Share of the Tensor Engines' peak that the compute reaches, given instead of derived: it
        then stands for the other engines, the weights and straggling instances too.
    passes : float
        Calibrated: how many times its documented time a pass of the other engines takes.
    host_ns : float
        Calibrated: what each step costs beside everything derived.
    attention : {"fused", "split", "eager"}, optional
        How the library computes scores.  "fused": the mask is a constant and softmax is one
        operation, as in neuronx-distributed; "split": scale, mask and casts stand alone, as in
        Megatron; "eager": softmax does too, as in Hugging Face's models.  Unless said otherwise,
        what AWS's scripts take: fused for models with RMS norm, split for other causal ones,
        eager for the rest; ``published.as_scripted`` knows each library's.
    straggling : float
        How much longer the slowest of several instances computes than one does alone.
    auto_cast : bool
        Whether products of an FP32 plan are taken in BF16, the compiler's default before SDK 2.27
        (`aws-compiler-notes`).
    activation_bytes : float, optional
        Of a number between operations, where a framework's autocast mixes formats.
    hidden : float
        Share of transfers (weights, sums, sends) that hides behind the engines' work.
    dma_bytes_per_s : float, optional
        Of one NeuronCore; the chip's own unless said otherwise.
    links : Links
    """

    efficiency: float | None = None
    passes: float = float(CALIBRATED.pass_factor)
    host_ns: float = float(CALIBRATED.host_ns)
    attention: Literal["fused", "split", "eager"] | None = None
    straggling: float = 1 / float(CALIBRATED.scaling_ratio)
    auto_cast: bool = True
    activation_bytes: float | None = None
    hidden: float = 0.0
    dma_bytes_per_s: float | None = None
    links: Links = field(default_factory=Links)

    def __post_init__(self):
        if self.efficiency is not None:
            number(self.efficiency, "efficiency", 1e-9, 1)
        if self.attention is not None:
            choice(self.attention, "attention", ("fused", "split", "eager"))
        number(self.passes, "passes", 0, 1e6)
        number(self.host_ns, "host_ns", 0, 1e18)
        number(self.straggling, "straggling", 1, 1e6)
        flag(self.auto_cast, "auto_cast")
        if self.activation_bytes is not None:
            number(self.activation_bytes, "activation_bytes", 1, 8)
        number(self.hidden, "hidden", 0, 1)
        if self.dma_bytes_per_s is not None:
            number(self.dma_bytes_per_s, "dma_bytes_per_s", 1, 1e18)
        instance(self.links, "links", Links, "Links(), say")


@dataclass(frozen=True, slots=True)
class StepTime:
    """A step's time, part by part, and what follows from it."""

    model: Transformer
    plan: Plan
    rules: Rules
    slowest: float
    parts: dict = field(hash=False)  #: name -> ns

    @property
    def step_ns(self) -> float:
        """Nanoseconds of a step."""
        return sum(self.parts.values())

    @property
    def low_ns(self) -> float:
        """The short end of the band."""
        return self.step_ns * math.exp(-_band(self.model, self.plan, self.rules, self.slowest)[0])

    @property
    def high_ns(self) -> float:
        """The long end of the band."""
        return self.step_ns * math.exp(_band(self.model, self.plan, self.rules, self.slowest)[1])

    @property
    def flops(self) -> float:
        """FLOP of the model in a step, under the convention of blocks."""
        return self.plan.global_batch * model_flops(self.model)

    @property
    def mfu(self) -> float:
        """Share of the chips' documented peak."""
        peak = self.plan.cluster.chips * float(
            INSTANCES[self.plan.cluster.instance].chip.peak_flops
        )
        return self.flops / self.step_ns * 1e9 / peak

    @property
    def samples_per_s(self) -> float:
        """Samples per second of the whole cluster."""
        return self.plan.global_batch / self.step_ns * 1e9

    @property
    def tokens_per_s(self) -> float:
        """Tokens per second of the whole cluster."""
        return self.samples_per_s * self.model.sequence

    @property
    def why(self) -> str:
        """The largest part that is not the Tensor Engine's, and what shortens it."""
        name = max(PARTS[1:], key=self.parts.__getitem__)
        share = self.parts[name] / self.step_ns
        plan, remedy = self.plan, _REMEDY[name]
        if name == "other engines":
            hides = ", which skips what the mask hides" * self.model.causal
            remedy = ", or ".join(["recompute less"] * (plan.recompute != "none")
                                  + [f"use flash attention{hides}"] * (not plan.flash_attention)
                                  or ["no choice of the plan shortens it"])  # fmt: skip
        return f"{share:.0%} of the step is {name}: {remedy}"

    def __str__(self):
        lines = [f"{self.model.name}, {self.plan}"]
        one, unit, digits = (1e9, "s", 2) if self.step_ns >= 1e10 else (1e6, "ms", 1)
        for name, ns in self.parts.items():
            lines.append(f"  {name:26}{ns / one:12,.{digits}f} {unit}{ns / self.step_ns:8.1%}")
        band = " to ".join(f"{ns / one:,.{digits - 1}f}" for ns in (self.low_ns, self.high_ns))
        lines.append(f"  {'a step':26}{self.step_ns / one:12,.{digits}f} {unit}  ({band}), MFU "
                     f"{self.mfu:.1%}, {self.samples_per_s:.5g} samples/s")  # fmt: skip
        chips = (INSTANCES[name].chip for name in (self.plan.cluster.instance, _MEASURED_ON))
        if len({chip.core_name for chip in chips}) > 1:
            lines.append("from the chip's peak rates and Trn1's calibration; no step was published")
        return "\n".join([*lines, self.why])


_REMEDY = {
    "other engines": "",  # depends on the plan
    "weights to and from HBM": "larger micro-batches use each weight that is fetched more often",
    "tensor-parallel sums": "a smaller tensor degree, or faster links",
    "pipeline sends": "fewer stages, or sequence parallelism, which sends each number once",
    "pipeline bubble": "more micro-batches per step, fewer stages, or interleaved ones",
    "gradient sums": "more micro-batches per step, or fewer bytes per gradient",
    "optimiser": "ZeRO shares its parameters out among the replicas",
    "host": "a larger global batch has fewer steps",
}


@checked
def step_time(
    model: str | Transformer, plan: Plan, *, rules: Rules | None = None, slowest: float = 1.0
) -> StepTime:
    """Predict the time of a training step.

    Parameters
    ----------
    model : Transformer, or a name in MODELS
    plan : Plan
    rules : Rules, optional
        What to take instead of the calibrated numbers and the usual readings of the facts.
    slowest : float
        How much longer the slowest NeuronCore computes than the others; all wait for it.

    Returns
    -------
    StepTime

    Raises
    ------
    PlanError
        If the model does not divide as the plan says.

    References
    ----------
    `megatron-2021` for the bubble, `nki-trn1-arch` for the engines' costs.
    """
    model, rules = get_model(model), rules or Rules()
    slowest = number(slowest, "slowest", 1, 1e6)
    plan.check(model)
    parts = zip(PARTS, _parts(model, plan, rules, slowest), strict=True)
    return StepTime(model, plan, rules, slowest, dict(parts))


def products(model: Transformer, plan: Plan) -> tuple:
    """Return one block's products of one micro-batch on one NeuronCore: (name, m, k, n, count).

    Each is [m, k] times [k, n], `count` times.
    """
    t, h, d, q = plan.tensor, model.hidden, model.head_width, model.query_width
    tokens, s = plan.micro_batch * model.sequence, model.sequence
    heads = plan.micro_batch * model.heads // t
    kv = max(1, model.kv_heads // t) * d  # where there are fewer than ranks, they are replicated
    ffn = model.ffn // t
    return (
        ("qkv", tokens, h, q // t + 2 * kv, 1),
        ("scores", s, d, s, heads),
        ("context", s, s, d, heads),
        ("projection", tokens, q // t, h, 1),
        ("mlp in", tokens, h, (1 + model.gated) * ffn, 1),
        ("mlp out", tokens, ffn, h, 1),
    )


@lru_cache(maxsize=16)
def _array(instance):
    """Return the rows of a chip's array, its longest moving tile, and the fewest cycles of one."""
    engine = INSTANCES[instance].chip.tensor_engine
    return tuple(map(int, (engine.rows, engine.moving_free_max, engine.min_initiation_cycles)))


def _cycles(plan, m, k, n):
    """Return the Tensor Engine's cycles for [m, k] times [k, n] in whole tiles."""
    rows, most, fewest = _array(plan.cluster.instance)

    def moving(n):
        return n // most * most + (max(n % most, fewest) if n % most else 0)

    return -(-k // rows) * min(-(-m // rows) * moving(n), -(-n // rows) * moving(m))


def _shown(model, plan):
    """Return the part of the scores that is computed: flash attention skips what is masked."""
    rows, *_ = _array(plan.cluster.instance)
    return (1 + rows / model.sequence) / 2 if plan.flash_attention and model.causal else 1.0


@lru_cache(maxsize=4096)
def _block(model, plan, attention):
    """Return a block's cycles, passes and operands, recomputation included.

    Cycles are the Tensor Engine's; passes are numbers through the other engines; operands are
    the numbers that linear layers read and write in memory.
    """
    cycles, passes, operands = np.zeros((3, 4))  # each: forward, its last part, backward, scores
    for name, m, k, n, count in products(model, plan):
        scores, last = name in ("scores", "context"), name == "mlp out"
        weight = count * (_shown(model, plan) if scores else 1.0)
        once = weight * _cycles(plan, m, k, n)
        back = weight * (_cycles(plan, m, n, k) + _cycles(plan, k, m, n))
        cycles += once, once * last, back, once * scores
        if not scores:
            operands += m * (k + n) * np.array((1, last, 2, 0))
    sizes = _sizes(model, plan)
    has = {model.norm, "", "gated" if model.gated else "plain"}
    has |= {"dropout"} if model.dropout else set()
    has |= {"rotary"} if model.vocabulary and not model.positions else set()
    usual = "fused" if model.norm == "rms" else "split" if model.causal else "eager"
    if not plan.flash_attention:
        has |= {"fused": set(), "split": {"split"}, "eager": {"split", "eager"}}[attention or usual]
    for _, size, ahead, last, back, when in ELEMENTWISE:
        if when in has:
            passes += sizes[size] * np.array((ahead, last, back, ahead * (size == "scores")))
    again = plan.recompute
    if plan.flash_attention and again == "none":
        again = "selective"
    extra = {"none": (1, 0, 1, 0), "selective": (1, 0, 1, 1), "full": (2, -1, 1, 0)}[again]
    return tuple(float(np.dot(extra, a)) for a in (cycles, passes, operands))


def _sizes(model, plan):
    """Return how many numbers of each kind a NeuronCore passes over in a block."""
    t, tokens = plan.tensor, plan.micro_batch * model.sequence
    full = tokens * model.hidden
    kv = max(1, model.kv_heads // t) * model.head_width
    return {
        "full": full,
        "residual": full / t if plan.sequence_parallel else full,
        "heads": tokens * (model.query_width // t + kv),
        "scores": _shown(model, plan) * tokens * model.sequence * (model.heads // t),
        "mlp": tokens * model.ffn / t,
    }


def _head(model, plan):
    """Return the head's cycles, passes and operands, both ways."""
    tokens = plan.micro_batch * (1 if model.head == "classes" else model.sequence)
    n = -(-(model.vocabulary or model.classes) // plan.tensor)
    h = model.hidden
    shapes = (tokens, h, n), (tokens, n, h), (h, tokens, n)
    cycles = sum(_cycles(plan, *shape) for shape in shapes)
    return cycles, _HEAD * tokens * n, 3 * tokens * (h + n)


def _bytes(plan):
    """Return the bytes of a weight or its gradient, and of an optimiser's state."""
    return {"bf16-sr": (2, 2), "bf16-master": (2, 4), "fp32": (4, 4)}[plan.precision]


@lru_cache(maxsize=4096)
def _parts(model, plan, rules, slowest):
    """Return the nanoseconds of every part, in the order of PARTS."""
    p, k, visible = plan.pipeline, plan.micro_batches, 1 - rules.hidden
    layers, (each, state) = model.layers / p, _bytes(plan)
    weights, where = parameters(model) / (plan.tensor * p), placement(plan, rules.links)
    # a micro-batch on a stage, and the head's more on the last one
    amounts = np.array([_block(model, plan, rules.attention), _head(model, plan)])
    amounts[0] *= layers
    chip = INSTANCES[plan.cluster.instance].chip
    array, vector = chip.tensor_engine, chip.vector_engine
    slow = int(array.fp32_factor) if plan.precision == "fp32" and not rules.auto_cast else 1
    rate = float(vector.clock_hz) * int(vector.lanes)
    dma = rules.dma_bytes_per_s or float(chip.dma.bytes_per_s)
    tensor = amounts[:, 0] * slow / float(array.clock_hz) * 1e9
    kept = (rules.activation_bytes or each) / dma
    other = (rules.passes * max(1 / rate, kept) * amounts[:, 1] + kept * amounts[:, 2]) * 1e9
    moved = visible * WEIGHT_PASSES[plan.recompute] * weights * each / dma * 1e9
    if rules.efficiency is not None:
        step = work(model, recompute=plan.recompute, flash_attention=plan.flash_attention)
        own = step.flops * plan.micro_batch / (plan.tensor * p)
        peak = float(array.peak_flops) / slow
        tensor, other, moved = np.array([own / peak / rules.efficiency * 1e9, 0]), np.zeros(2), 0.0
    alone = plan.cluster.instances == 1 or rules.efficiency is not None
    waits = slowest * (1.0 if alone else rules.straggling)
    tensor, other, moved = waits * tensor, waits * other, waits * moved
    sent = traffic(model, plan)
    tensor_ns, data_ns = (
        visible
        * sum(s.count * where.collective_ns(kind, s.operation, s.nbytes) for s in sent[kind])
        for kind in ("tensor", "data")
    )
    send_ns = visible * sum(s.count * where.send_ns(s.nbytes) for s in sent["pipeline"])
    body = tensor[0] + other[0] + moved + (tensor_ns + send_ns) / k
    return tuple(map(float, (
        k * tensor.sum(), k * other.sum(), k * moved, tensor_ns, send_ns,
        (p - 1) / plan.interleave * body, data_ns,
        _optimiser(plan, rules, weights, max(each, state) / dma, rate), rules.host_ns,
    )))  # fmt: skip


def _optimiser(plan, rules, held, touch_s, rate):
    """Return the optimiser's time over the parameters that a rank updates."""
    mine = held / plan.data if plan.zero else held
    touches, passes = _OPTIMISERS[plan.optimizer]
    return mine * (touches * touch_s + rules.passes * passes / rate) * 1e9


@lru_cache(maxsize=4096)
def _band(model, plan, rules, slowest):
    """Return how far facts and choices move a step, down and up, as logarithms in quadrature."""
    base, links = sum(_parts(model, plan, rules, slowest)), rules.links
    chip = INSTANCES[plan.cluster.instance].chip
    in_gib = getattr(chip, "hbm_bytes_per_s_in_gib", chip.hbm_bytes_per_s)
    changes = [{"links": replace(links, **change)} for change in (
        *({"hop_ns": ns} for ns in FABRIC.hop_latency_ns.value),
        {"direction": "one_way"}, {"direction": "both_ways"},
        {"hbm_bytes_per_s": float(in_gib)},
    )]  # fmt: skip
    fastest = int(chip.dma.engines) * float(chip.dma.theoretical_bytes_per_s_per_engine)
    changes += [{"dma_bytes_per_s": fastest}, {"hidden": 1.0}, {"straggling": 1.0}]
    down = up = float(CALIBRATED.residual_factor) ** 2
    for change in changes:
        there = sum(_parts(model, plan, replace(rules, **change), slowest))
        moved = math.log(there / base)
        down, up = down + min(moved, 0) ** 2, up + max(moved, 0) ** 2
    return math.sqrt(down), math.sqrt(up)


def look_ahead(model, global_batch):
    """Time a plan with each degree of tensor parallelism, so that later calls find it known."""
    for tensor in (1, 2, 4, 8, 16, 32):
        with suppress(PlanError):
            plan = Plan(Cluster(instances=8), tensor=tensor, zero=1, global_batch=global_batch)
            step_time(model, plan)
