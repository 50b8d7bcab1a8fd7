"""What is trained: transformers by their published sizes, and small networks by their layers.

One record describes GPT, BERT, Llama and ViT; what distinguishes them are the fields below.  Sizes
are facts (``specs.PUBLISHED_MODELS``); what a family does with them is said here.
"""

from dataclasses import dataclass, replace
from difflib import get_close_matches
from typing import Literal

from trainium_edu.specs import PUBLISHED_MODELS
from trainium_edu.specs.arguments import choice, flag, short, text, whole
from trainium_edu.specs.signatures import checked

__all__ = ["MODELS", "Cnn", "Mlp", "Transformer", "get_model"]


@dataclass(frozen=True, slots=True)
class Transformer:
    """A stack of equal blocks: attention, then two or three linear layers.

    Attributes
    ----------
    name : str
    layers, hidden, heads, sequence, vocabulary : int
        ``sequence`` is the tokens of one sample, a ViT's class token among them.  A ViT has no
        vocabulary; without any, and without patches, this is a stack of blocks alone.
    kv_heads, ffn : int
        0 means as many as ``heads``, and four times ``hidden``.
    gated : bool
        Three matrices in the MLP instead of two (SwiGLU).
    causal : bool
        Whether a token sees only those before it.
    biases, tied : bool
        Whether linear layers have biases, and whether the head shares the embedding's weights.
    norm : {"layer", "rms"}
        Two vectors of weights, or one.
    positions : int
        Learned positions; 0 for rotary ones, which have no weights.
    dropout : bool
        Whether training drops anything: it costs random numbers and masks.
    head : {"tokens", "masked", "classes"}
        What follows the blocks: logits of every token; BERT's masked-token head and its pair
        classifier; logits of one token.
    classes, patch_inputs : int
        How many classes; of a ViT, the numbers in one patch.
    head_size : int
        Numbers per head; 0 means ``hidden`` over ``heads``.
    """

    name: str
    layers: int
    hidden: int
    heads: int
    sequence: int
    vocabulary: int = 0
    kv_heads: int = 0
    ffn: int = 0
    gated: bool = False
    causal: bool = True
    biases: bool = True
    tied: bool = True
    norm: Literal["layer", "rms"] = "layer"
    positions: int = 0
    dropout: bool = False
    head: Literal["tokens", "masked", "classes"] = "tokens"
    classes: int = 0
    patch_inputs: int = 0
    head_size: int = 0

    def __post_init__(self):
        text(self.name, "name")
        least = dict.fromkeys(("layers", "hidden", "heads", "sequence"), 1) | dict.fromkeys(
            ("vocabulary", "kv_heads", "ffn", "head_size", "positions", "classes", "patch_inputs"),
            0,
        )
        for name, low in least.items():  # Python's integers: NumPy's would overflow in products
            object.__setattr__(self, name, whole(getattr(self, name), name, low, 10**7))
        for name in ("gated", "causal", "biases", "tied", "dropout"):
            object.__setattr__(self, name, flag(getattr(self, name), name))
        choice(self.norm, "norm", ("layer", "rms"))
        choice(self.head, "head", ("tokens", "masked", "classes"))
        if not self.head_size and self.hidden % self.heads:
            raise ValueError(
                f"{self.name}: {self.heads} heads do not divide a hidden width of {self.hidden}; "
                "every head takes an equal part of it, unless you give head_size"
            )
        if 0 < self.positions < self.sequence:
            raise ValueError(f"{self.name}: {self.sequence} tokens and {self.positions} learned "
                             "positions; every token needs one, so take more positions or "
                             "shorter sequences")  # fmt: skip
        object.__setattr__(self, "kv_heads", self.kv_heads or self.heads)
        object.__setattr__(self, "ffn", self.ffn or 4 * self.hidden)
        if self.heads % self.kv_heads:
            raise ValueError(
                f"{self.name}: {self.kv_heads} heads for keys and values do not divide "
                f"{self.heads} heads; each is shared by an equal number of them"
            )

    @property
    def head_width(self) -> int:
        """Numbers per head."""
        return self.head_size or self.hidden // self.heads

    @property
    def query_width(self) -> int:
        """Columns of the query projection, and rows of the one after attention."""
        return self.heads * self.head_width

    @property
    def kv_width(self) -> int:
        """Columns of the key and the value projection, each."""
        return self.kv_heads * self.head_width


@dataclass(frozen=True, slots=True)
class Mlp:
    """Linear layers of these widths with an activation between them: ``Mlp("m", (64, 256, 10))``.

    Attributes
    ----------
    name : str
    widths : tuple of int
        Of the inputs, of each hidden layer, of the outputs.
    """

    name: str
    widths: tuple[int, ...]

    def __post_init__(self):
        object.__setattr__(self, "widths", _numbers(self, self.widths, "widths"))
        if len(self.widths) < 2:
            raise ValueError(f"{self.name}: an Mlp of widths {self.widths} has no layer; name at "
                             "least its inputs and its outputs")  # fmt: skip


@dataclass(frozen=True, slots=True)
class Cnn:
    """Layers over an image, in rows; after every layer with weights but the last, an activation.

    Attributes
    ----------
    name : str
    image : (int, int, int)
        Channels, height, width.
    rows : tuple of tuple
        ``("conv", channels, kernel, stride, padding)``, ``("pool", kernel)`` whose windows lie side
        by side, ``("linear", width)`` of all that is left.

    Examples
    --------
    >>> Cnn("digits-cnn", (1, 8, 8), (("conv", 16, 3, 1, 1), ("pool", 2), ("linear", 10))).shapes
    ((1, 8, 8), (16, 8, 8), (16, 4, 4), (10, 1, 1))
    """

    name: str
    image: tuple[int, int, int]
    rows: tuple[tuple, ...]

    def __post_init__(self):
        object.__setattr__(self, "image", _numbers(self, self.image, "image", 3))
        if not isinstance(self.rows, list | tuple) or not self.rows:
            raise ValueError(f"{self.name}: rows is {short(self.rows)}; name at least one layer, "
                             'such as ("linear", 10)')  # fmt: skip
        object.__setattr__(self, "rows", tuple(self._row(row) for row in self.rows))
        _ = self.shapes

    def _row(self, row):
        """Return one row in the form of the class's docstring, or raise what is wrong with it."""
        takes = {"conv": 4, "pool": 1, "linear": 1}
        kind = row[0] if isinstance(row, list | tuple) and row else row
        if not isinstance(kind, str) or kind not in takes or len(row) != 1 + takes[kind]:
            raise ValueError(
                f"{self.name}: a row is {short(row)}; rows are ('conv', channels, kernel, stride, "
                "padding), ('pool', kernel) and ('linear', width)"
            )
        return kind, *(
            whole(number, f"{self.name}: number {at + 1} of {row}", 0 if at == 3 else 1, 10**7)
            for at, number in enumerate(row[1:])
        )

    @property
    def shapes(self) -> tuple[tuple[int, int, int], ...]:
        """The image's shape and the one after each row: channels, height, width."""
        shapes = [self.image]
        for kind, *numbers in self.rows:
            channels, high, wide = shapes[-1]
            if kind == "linear":
                channels, high, wide = numbers[0], 1, 1
            elif kind == "pool":
                high, wide = high // numbers[0], wide // numbers[0]
            else:
                channels, kernel, stride, padding = numbers
                high, wide = ((side + 2 * padding - kernel) // stride + 1 for side in (high, wide))
            if min(high, wide) < 1:
                raise ValueError(f"{self.name}: nothing is left of an image of "
                                 f"{shapes[-1][1]} x {shapes[-1][2]} after {(kind, *numbers)}; "
                                 "take a smaller kernel or fewer rows")  # fmt: skip
            shapes.append((channels, high, wide))
        return tuple(shapes)


def _numbers(model, values, field, count=None):
    """Return a tuple of positive integers."""
    text(model.name, "name")
    if not isinstance(values, list | tuple) or count not in (None, len(values)):
        many = "integers" if count is None else f"{count} integers"
        raise TypeError(f"{model.name}: {field} is {short(values)}; it must be a tuple of {many}")
    return tuple(whole(v, f"{model.name}: each of {field}", 1, 10**7) for v in values)


_GPT = {"dropout": True}
_BERT = {"causal": False, "dropout": True, "head": "masked"}
#: How the family of each name is built: what comes before the first hyphen.  Dropout as in the
#: papers' and AWS's recipes (`aws-nemo-megatron`: 0.1 for GPT, none for Llama and GPT-NeoX).
_FAMILIES = {
    "bert": _BERT, "gpt2": _GPT, "gpt3": _GPT, "megatron": _GPT, "gpt": _GPT,
    "llama2": {"gated": True, "biases": False, "tied": False, "norm": "rms"},
    "llama3.1": {"gated": True, "biases": False, "tied": False, "norm": "rms"},
    "gpt-neox": {"tied": False},
    "vit": {"causal": False, "head": "classes"},
}  # fmt: skip


def _published(name, record):
    """Return a published model: its family, and its numbers."""
    family = "gpt-neox" if name.startswith("gpt-neox") else name.partition("-")[0]
    sizes = {what: int(fact) for what, fact in record.items() if what != "parameters"}
    return Transformer(name, **sizes, **_FAMILIES[family])


#: Transformers by name; ``MODELS["gpt3-175b"]``.
MODELS = {name: _published(name, record) for name, record in PUBLISHED_MODELS.items()}


@checked
def get_model(model: str | Transformer, *, sequence: int | None = None) -> Transformer:
    """Return a model, or the one of :data:`MODELS` with that name.

    Parameters
    ----------
    model : Transformer or str
    sequence : int, optional
        Tokens of one sample, in place of the model's own.

    Returns
    -------
    Transformer

    Raises
    ------
    ValueError
        If there is no such name, or there are fewer learned positions than tokens.

    Examples
    --------
    >>> get_model("bert-large", sequence=512).sequence
    512
    """
    if isinstance(model, str):
        if model not in MODELS:
            near = get_close_matches(model, MODELS, 4, 0) or ["gpt3-175b"]
            raise ValueError(f"no model {short(model)}; MODELS has {', '.join(near)} and "
                             f"{len(MODELS) - len(near)} others, or describe your own with "
                             "Transformer(...)")  # fmt: skip
        found = MODELS[model]
    else:
        found = model
    return found if sequence is None else replace(found, sequence=sequence)
