"""How much a model computes, holds and keeps, in closed form; its graph counts the same.

*Matrix products* are what the literature calls FLOP: ``2 m k n`` for ``[m, k]`` times ``[k, n]``.
Backward takes each twice, for the gradient of either factor; a layer that reads the data itself,
once.  *Everything else* (norms, softmax, activations, sums) is counted apart, for other engines do
it: one for each number and operation, as ``xla`` counts, and forward only.

>>> gpt3 = work("gpt3-175b")
>>> f"{gpt3.parameters:,} parameters, {gpt3.flops / 1e12:.0f} TFLOP for 2048 tokens"
'174,604,259,328 parameters, 2204 TFLOP for 2048 tokens'
"""

from dataclasses import dataclass, replace
from functools import lru_cache, partial
from itertools import pairwise
from typing import Literal

from trainium_edu.cluster.models import Cnn, Mlp, Transformer, get_model
from trainium_edu.specs.arguments import choice, flag, whole
from trainium_edu.specs.signatures import checked

__all__ = ["Part", "Work", "model_flops", "work"]

_NORM_OPERATIONS = {"layer": 8, "rms": 4}  #: operations per number; ``xla`` counts 8 for layer_norm
_SOFTMAX_OPERATIONS = 5  #: maximum, difference, exponential, sum, quotient
_DROPOUT_OPERATIONS = 3  #: a random bit and two products
_SUMMED = ("parameters", "forward_flops", "backward_flops", "recomputed_flops", "other_flops",
           "moved", "elements", "masks")  # fmt: skip


@dataclass(frozen=True, slots=True)
class Part:
    """The work of one kind of layer in a step, all blocks together.

    Attributes
    ----------
    name : str
    parameters : int
    forward_flops, backward_flops, recomputed_flops : int
        Of matrix products; recomputed is what backward does again.
    other_flops : int
        The forward operations outside matrix products.
    moved : int
        Numbers that forward's products read and write at least: each factor and result once.
    elements, masks : int
        What backward needs of forward: numbers that this part reads.  Masks of dropout count apart:
        they take a byte each, whatever the format of the rest.
    is_split : bool
        Whether tensor parallelism splits `elements` and `masks`; sequence parallelism splits all.
    in_blocks : bool
        Whether it belongs to the blocks, not to embedding or head.
    """

    name: str
    parameters: int = 0
    forward_flops: int = 0
    backward_flops: int = 0
    recomputed_flops: int = 0
    other_flops: int = 0
    moved: int = 0
    elements: int = 0
    masks: int = 0
    is_split: bool = False
    in_blocks: bool = True


@dataclass(frozen=True, slots=True)
class Work:
    """A training step of one batch, part by part; ``str()`` is a table."""

    name: str
    batch: int
    parts: tuple[Part, ...]

    def _total(self, *names):
        return sum(getattr(part, name) for part in self.parts for name in names)

    @property
    def parameters(self) -> int:
        """Trained numbers, each once."""
        return self._total("parameters")

    @property
    def forward_flops(self) -> int:
        """FLOP of forward's matrix products."""
        return self._total("forward_flops")

    @property
    def flops(self) -> int:
        """FLOP of a step's matrix products: forward, backward, and what is computed again."""
        return self._total("forward_flops", "backward_flops", "recomputed_flops")

    @property
    def other_flops(self) -> int:
        """Forward operations outside matrix products."""
        return self._total("other_flops")

    @property
    def moved(self) -> int:
        """Numbers that forward's products read and write at least."""
        return self._total("moved")

    @property
    def elements(self) -> int:
        """Numbers kept for backward."""
        return self._total("elements")

    @property
    def masks(self) -> int:
        """Masks of dropout kept for backward, a byte each."""
        return self._total("masks")

    def __getitem__(self, name: str) -> Part:
        for part in self.parts:
            if part.name == name:
                return part
        raise KeyError(f"no part {name!r}; there are {', '.join(p.name for p in self.parts)}")

    def __str__(self):
        lines = [f"{'':<12}{'parameters':>20}{'forward':>18}{'step':>18}{'kept':>20}"]
        for p in *self.parts, Part("all", **{name: self._total(name) for name in _SUMMED}):
            step = p.forward_flops + p.backward_flops + p.recomputed_flops
            lines.append(f"{p.name:<12}{p.parameters:>20,}{p.forward_flops / 1e9:>18,.3f}"
                         f"{step / 1e9:>18,.3f}{p.elements + p.masks:>20,}")  # fmt: skip
        return "\n".join([f"{self.name}, batch {self.batch} (GFLOP, numbers)", *lines])


@checked
def work(
    model: str | Transformer | Mlp | Cnn,
    *,
    batch: int = 1,
    recompute: Literal["none", "selective", "full"] = "none",
    flash_attention: bool = False,
) -> Work:
    """Count a training step.

    Parameters
    ----------
    model : Transformer, Mlp, Cnn, or a name in MODELS
        For other sequences: ``get_model("bert-large", sequence=512)``.
    batch : int
        Samples, each of ``model.sequence`` tokens.
    recompute : {"none", "selective", "full"}
        What backward computes again instead of keeping it: nothing; scores, softmax and context;
        all of each block from its input.
    flash_attention : bool
        Whether scores stay on the chip: backward makes them again, and what a causal mask hides
        is never computed.

    Returns
    -------
    Work

    Raises
    ------
    ValueError
        For an unknown name, a batch of none, and for recomputation where there are no blocks.

    Examples
    --------
    >>> work("bert-large", batch=8)["mlp in"].parameters
    100761600
    >>> full = work("megatron-145.6b", recompute="full")
    >>> full["qkv"].recomputed_flops == full["qkv"].forward_flops
    True

    References
    ----------
    `korthikanti-2022` for what is kept, `megatron-2021` for the products.
    """
    model = get_model(model) if isinstance(model, str) else model
    batch = whole(batch, "batch", 1, 10**9)
    choice(recompute, "recompute", ("none", "selective", "full"))
    flash_attention = flag(flash_attention, "flash_attention")
    if isinstance(model, Transformer):
        block = _block(model, batch, flash_attention)
        if recompute != "none":
            block = [_again(part, recompute, batch * model.sequence, model) for part in block]
        blocks = [_times(part, model.layers) for part in block]
        return Work(model.name, batch, (_embedding(model, batch), *blocks, *_head(model, batch)))
    if recompute != "none" or flash_attention:
        raise ValueError(f"{model.name} has no blocks of attention to compute again or to keep on "
                         "the chip; leave recompute and flash_attention as they are")  # fmt: skip
    parts = _of_mlp(model, batch) if isinstance(model, Mlp) else _of_cnn(model, batch)
    return Work(model.name, batch, tuple(parts))


@lru_cache(maxsize=256)
def parameters(model: Transformer) -> int:
    """Return a model's trained numbers, counted once per model."""
    return work(model).parameters


# -- one layer ---------------------------------------------------------------------------------


def _linear(name, rows, inputs, outputs, *, bias=True, after=0, reads_data=False, **more):
    """Return a linear layer over rows of inputs; `after` counts what is done to its results."""
    flops = 2 * rows * inputs * outputs
    return Part(
        name, (inputs + bias) * outputs, flops, flops * (1 if reads_data else 2),
        other_flops=(bias + after) * rows * outputs,
        moved=rows * inputs + inputs * outputs + rows * outputs, elements=rows * inputs, **more,
    )  # fmt: skip


def _norm(model, rows):
    """Return the parameters of a norm, and its operations on rows."""
    vectors = 2 if model.norm == "layer" else 1
    return vectors * model.hidden, _NORM_OPERATIONS[model.norm] * rows * model.hidden


# -- transformers ------------------------------------------------------------------------------


def _block(model, batch, flash) -> list[Part]:
    """Return one block's parts; what is kept follows Korthikanti et al., section 4.1."""
    h, s, f, kv, drop = model.hidden, model.sequence, model.ffn, model.kv_width, model.dropout
    q = model.query_width
    tokens, up = batch * s, 1 + model.gated
    linear = partial(_linear, bias=model.biases)
    gains, of_norm = _norm(model, tokens)
    every = tokens * model.heads * s  # attention's weights, of all heads
    scored = tokens * model.heads * (s + 1) // 2 if flash and model.causal else every
    product = 2 * scored * model.head_width  # queries times keys, weights times values
    stored = 0 if flash else every  # in HBM
    hidden = model.causal and not flash  # a mask over scores that were computed
    scores = Part(
        "scores", 0, product, 2 * product, flash * product, is_split=True,
        other_flops=tokens * q + hidden * every,  # queries are scaled
        moved=tokens * (q + kv) + stored, elements=tokens * (q + kv),
    )  # fmt: skip
    softmax = Part(
        "softmax", other_flops=(_SOFTMAX_OPERATIONS + _DROPOUT_OPERATIONS * drop) * scored,
        elements=stored or tokens * model.heads,  # flash: one sum per row
        masks=drop * stored, is_split=True,
    )  # fmt: skip
    context = Part(
        "context", 0, product, 2 * product, is_split=True,
        moved=stored + tokens * (kv + q), elements=tokens * kv + drop * stored,
    )  # fmt: skip
    return [
        Part("norms", 2 * gains, other_flops=2 * of_norm, elements=2 * tokens * h),
        linear("qkv", tokens, h, q + 2 * kv),
        scores, softmax, context,
        linear("projection", tokens, q, h, after=1, is_split=True),  # added to what came in
        linear("mlp in", tokens, h, up * f),
        # a gate and what it gates are multiplied in one pass, which keeps both and nothing between
        Part("activation", other_flops=up * tokens * f, elements=up * tokens * f, is_split=True),
        linear("mlp out", tokens, f, h, after=1, is_split=True),
        Part("dropout", other_flops=_DROPOUT_OPERATIONS * drop * 2 * tokens * h,
             masks=drop * 2 * tokens * h),
    ]  # fmt: skip


def _again(part, recompute, tokens, model):
    """Return a part of a block that computes again what it does not keep."""
    again = part.recomputed_flops + part.forward_flops
    if recompute == "full":  # all from the block's input, which the first norm reads
        kept = tokens * model.hidden if part.name == "norms" else 0
        return replace(part, recomputed_flops=again, elements=kept, masks=0)
    kept = {"scores": part.elements, "softmax": 0, "context": tokens * model.kv_width}
    if part.name not in kept:
        return part
    return replace(part, recomputed_flops=again, elements=kept[part.name], masks=0)


def _times(part, count):
    """Return so many equal parts as one."""
    return replace(part, **{name: count * getattr(part, name) for name in _SUMMED})


def _embedding(model, batch) -> Part:
    """Return what comes before the blocks: tables, or a linear layer over patches."""
    h, tokens = model.hidden, batch * model.sequence
    rows, added = model.vocabulary + model.positions, tokens * h * (model.positions > 0)
    drop = {"masks": model.dropout * tokens * h, "in_blocks": False}
    dropped = _DROPOUT_OPERATIONS * model.dropout * tokens * h
    if model.patch_inputs:  # every token but the class's is a patch
        layer = _linear("embedding", tokens - batch, model.patch_inputs, h, bias=model.biases,
                        reads_data=True, **drop)  # fmt: skip
        return replace(layer, parameters=layer.parameters + (rows + 1) * h,
                       other_flops=layer.other_flops + added + dropped)  # fmt: skip
    if model.head != "masked":
        return Part("embedding", rows * h, other_flops=added + dropped, elements=tokens, **drop)
    gains, of_norm = _norm(model, tokens)  # BERT: two kinds of segments, and a norm
    return Part("embedding", (rows + 2) * h + gains, elements=tokens + tokens * h,
                other_flops=2 * added + of_norm + dropped, **drop)  # fmt: skip


def _head(model, batch) -> tuple[Part, Part]:
    """Return what follows the blocks as one part, and the logits that the loss keeps."""
    h, tokens = model.hidden, batch * model.sequence
    rows, logits = (batch, model.classes) if model.head == "classes" else (tokens, model.vocabulary)
    linear = partial(_linear, bias=model.biases)
    gains, of_norm = _norm(model, rows)
    last = linear("logits", rows, h, logits, bias=model.head != "tokens")
    if model.tied and model.head != "classes":
        last = replace(last, parameters=last.parameters - h * logits)
    layers = [Part("norm", gains, other_flops=of_norm, elements=rows * h), last]
    if model.head == "masked":  # BERT: a layer and an activation before, two layers for pairs
        gelu = Part("gelu", other_flops=tokens * h, elements=tokens * h)
        tanh = Part("tanh", other_flops=batch * h)
        layers += [linear("masked", tokens, h, h), gelu, linear("pooler", batch, h, h), tanh,
                   linear("pairs", batch, h, 2)]  # fmt: skip
    together = {name: sum(getattr(layer, name) for layer in layers) for name in _SUMMED}
    loss = Part("loss", elements=rows * logits, is_split=True, in_blocks=False)
    return Part("head", **together, in_blocks=False), loss


# -- layers in a row ---------------------------------------------------------------------------


def _of_mlp(model, batch) -> list[Part]:
    """Return a part per layer; an activation's gradient needs only what the next layer reads."""
    last = len(model.widths) - 2
    return [
        _linear(f"linear {i}", batch, inputs, outputs, after=i < last, reads_data=i == 0)
        for i, (inputs, outputs) in enumerate(pairwise(model.widths))
    ]


def _of_cnn(model, batch) -> list[Part]:
    """Return a part per row; a convolution is a product for each place of its result."""
    parts: list[Part] = []
    last = max((i for i, row in enumerate(model.rows) if row[0] != "pool"), default=-1)
    for i, (row, (before, after)) in enumerate(
        zip(model.rows, pairwise(model.shapes), strict=True)
    ):
        inputs, outputs = (batch * c * high * wide for c, high, wide in (before, after))
        name, options = f"{row[0]} {i}", {"after": i < last, "reads_data": not parts}
        if row[0] == "pool":
            parts.append(Part(name, other_flops=inputs, elements=inputs))
        elif row[0] == "linear":
            parts.append(_linear(name, batch, inputs // batch, after[0], **options))
        else:
            weights = before[0] * row[2] ** 2
            layer = _linear(name, outputs // after[0], weights, after[0], **options)
            moved = inputs + weights * after[0] + outputs  # not each place's window apart
            parts.append(replace(layer, moved=moved, elements=inputs))
    return parts


# -- conventions -------------------------------------------------------------------------------


@checked
def model_flops(
    model: str | Transformer,
    convention: Literal["blocks", "6nd", "causal", "palm", "megatron"] = "blocks",
) -> float:
    """Return the FLOP of one training sample under a named convention, as MFU is printed with.

    Parameters
    ----------
    model : Transformer, or a name in MODELS
    convention : {"blocks", "6nd", "causal", "palm", "megatron"}
        With N weights in the blocks' matrices, l layers, s tokens, h numbers in all heads (most
        models': per token):
        6 N s + 12 l s² h, attention in full, no logits, no embeddings;
        6 times all P parameters times s;
        6 N s + 6 l s² h + 6 s h V, half the attention and the logits of a vocabulary V;
        6 P s + 12 l s² h, as the PaLM paper does and many since;
        6 N s + 12 l s² h + 6 s h V, as Megatron-LM does where nothing is computed again.

    Returns
    -------
    float

    Raises
    ------
    ValueError
        For "causal", if tokens see those after them too.

    Examples
    --------
    >>> [f"{model_flops('gpt3-175b', c) / 1e12:.0f} TFLOP" for c in ("blocks", "6nd", "causal")]
    ['2197 TFLOP', '2146 TFLOP', '2175 TFLOP']

    References
    ----------
    `palm-2022`, appendix B; `megatron-2021`, equation 3; `korthikanti-2022`, appendix A.
    """
    model = get_model(model)
    choice(convention, "convention", ("blocks", "6nd", "causal", "palm", "megatron"))
    step = work(model)
    attention = step["scores"].forward_flops + step["context"].forward_flops
    if convention in ("6nd", "palm"):
        dense = 6.0 * step.parameters * model.sequence
        return dense + 3.0 * attention * (convention == "palm")
    blocks = sum(part.forward_flops for part in step.parts if part.in_blocks)
    if convention == "blocks":
        return 3.0 * blocks
    if convention == "megatron":
        return 3.0 * (blocks + step["head"].forward_flops)
    if not model.causal:
        raise ValueError(f"{model.name}: every token sees all others, so 'causal', which counts "
                         "half the attention, does not describe it; take 'blocks'")  # fmt: skip
    return 3.0 * (blocks - attention / 2 + step["head"].forward_flops)
