"""Layers over lazy tensors, under PyTorch's names: what a network is made of, and nothing more.

A module's parameters are its arrays: NumPy's until :meth:`Module.to` moves them to a device.  Each
call opens a scope of the graph with the module's name, so that pictures can fold layers together.

>>> from trainium_edu.xla.device import Device
>>> from trainium_edu.xla.tensor import as_tensor
>>> device = Device()
>>> model = MLP(4, 8, 2).to(device)
>>> [name for name, _ in model.named_parameters()]
['0.weight', '0.bias', '2.weight', '2.bias']
>>> model(as_tensor(np.ones((3, 4), np.float32), device)).shape
(3, 2)
"""

# ruff: noqa: D102  what forward computes is said by its class

from collections.abc import Callable, Iterator, Mapping
from contextlib import AbstractContextManager, nullcontext
from contextvars import ContextVar
from itertools import pairwise

import numpy as np

from trainium_edu.specs.arguments import flag, number, whole, wholes
from trainium_edu.specs.signatures import checked, checked_after
from trainium_edu.xla import numpy as xnp
from trainium_edu.xla.device import Device, of_process
from trainium_edu.xla.executor import hollow
from trainium_edu.xla.graph import GraphError, Type, holding, scope
from trainium_edu.xla.operations import apply
from trainium_edu.xla.tensor import Tensor, as_tensor, of_node, together, unary

__all__ = [
    "GELU", "MLP", "Conv2d", "Decoder", "Dropout", "Embedding",
    "EmbeddingBag", "Encoder", "Flatten", "LayerNorm", "Linear", "MaxPool2d", "Module",
    "MultiHeadAttention", "ReLU", "Recommender", "Sequential", "TransformerBlock", "ViT",
    "WordGuesser", "cross_entropy", "manual_seed", "shapes_only",
]  # fmt: skip

_MAX = 2**31  #: size of a layer
#: whether initial weights have values
_draws: ContextVar[bool] = ContextVar("draws", default=True)


@checked
def manual_seed(seed: int) -> None:
    """Set the seed of the random numbers for initial weights and for the seeds of dropout."""
    of_process()["nn"] = np.random.default_rng(whole(seed, "seed", 0))


def _random() -> np.random.Generator:
    """Return this process's generator; until it is seeded, each process begins alike."""
    if "nn" not in of_process():
        manual_seed(0)
    return of_process()["nn"]


def shapes_only() -> AbstractContextManager:
    """Return a context in which initial weights take neither time nor room, and have no values.

    For a device that keeps shapes only: ``Device(setting=Setting(values=False))``.
    """
    return holding(_draws, False)


def on_replicas(array, device: Device, dtype: str = "float32", *, name: str = "") -> Tensor:
    """Move an array to a device; where it has replicas, to each of them, in storage of its own."""
    count = device.setting.replicas
    if count is None:
        return as_tensor(array, device, dtype, name=name)
    every = np.broadcast_to(array, (count, *array.shape))
    return as_tensor(every, device, dtype, name=name, per_replica=True)


def _uniform(bound, *shape) -> np.ndarray:
    if not _draws.get():
        return hollow(Type(shape, "float32"))
    return _random().uniform(-bound, bound, shape).astype(np.float32)


def _normal(deviation, *shape) -> np.ndarray:
    if not _draws.get():
        return hollow(Type(shape, "float32"))
    return deviation * _random().standard_normal(shape, np.float32)


class Module:
    """A part of a network: parameters, modules inside it, and ``forward``.

    Whatever array or module is assigned to an attribute belongs to it.

    Attributes
    ----------
    training : bool
        Whether dropout drops; see :meth:`train`.
    """

    training = True
    _name = ""

    def __setattr__(self, name, value):
        if isinstance(value, Module):
            value._name = name
        super().__setattr__(name, value)

    def forward(self, *inputs):
        """Record what the module computes."""
        raise NotImplementedError(f"{type(self).__name__} has no forward(); write it")

    def __call__(self, *inputs):
        if any(isinstance(value, np.ndarray) for value in vars(self).values()):
            raise GraphError(f"the weights of {type(self).__name__} are still on the host; "
                             "call model.to(device) first")  # fmt: skip
        name = f"{self._name} {type(self).__name__}" if self._name.isdigit() else self._name
        with scope(name) if name else nullcontext():
            return self.forward(*inputs)

    def children(self) -> Iterator[tuple[str, "Module"]]:
        """Yield (name, module) of the modules right inside this one."""
        return ((n, value) for n, value in vars(self).items() if isinstance(value, Module))

    def modules(self) -> Iterator["Module"]:
        """Yield this module and all inside it."""
        yield self
        for _, child in self.children():
            yield from child.modules()

    def _places(self, prefix="") -> Iterator[tuple[str, "Module", str]]:
        """Yield (full name, owner, attribute) of every parameter."""
        for name, value in vars(self).items():
            if isinstance(value, Tensor | np.ndarray):
                yield prefix + name, self, name
            elif isinstance(value, Module):
                yield from value._places(f"{prefix}{name}.")

    def named_parameters(self) -> Iterator[tuple[str, Tensor]]:
        """Yield (name, parameter), each parameter once, under the names that PyTorch gives them."""
        seen = set()
        for name, owner, attribute in self._places():
            value = getattr(owner, attribute)
            if id(value) not in seen:
                seen.add(id(value))
                yield name, value

    def parameters(self) -> list[Tensor]:
        """Return the parameters, each once."""
        return [value for _, value in self.named_parameters()]

    @checked
    def to(self, device: Device, dtype: str = "float32") -> "Module":
        """Move the parameters to a device, and let ``backward`` give them gradients.

        Make the optimiser afterwards: the parameters are other objects then.
        """
        moved: dict[int, tuple] = {}  # a parameter that two modules share stays one
        for name, owner, attribute in list(self._places()):
            value = getattr(owner, attribute)
            if id(value) not in moved:
                array = value.numpy() if isinstance(value, Tensor) else value
                tensor = on_replicas(array, device, dtype, name=name).requires_grad_()
                moved[id(value)] = tensor, value
            setattr(owner, attribute, moved[id(value)][0])
        return self

    def state_dict(self) -> dict[str, np.ndarray]:
        """Return the parameters' values by name, float32."""
        values = ((n, getattr(owner, a)) for n, owner, a in self._places())
        return {n: v.numpy() if isinstance(v, Tensor) else v.copy() for n, v in values}

    @checked
    def load_state_dict(self, state: Mapping) -> None:
        """Take over values by name, such as a PyTorch module's ``state_dict()``.

        Raises
        ------
        ValueError
            For names that are missing or unknown, and for another shape; nothing is loaded then.
        """
        places = {name: (owner, a) for name, owner, a in self._places()}
        if odd := sorted(places.keys() ^ state.keys()):
            kind = "is missing" if odd[0] in places else "is not a parameter of this model"
            raise ValueError(f"{odd[0]!r} {kind}; names must be {', '.join(places)}")
        arrays = {name: np.asarray(state[name]).astype(np.float32) for name in places}
        for name, (owner, attribute) in places.items():
            shape = getattr(owner, attribute).shape
            if arrays[name].shape != shape:
                raise ValueError(f"{name!r} has shape {arrays[name].shape}, and takes {shape}")
        for name, (owner, attribute) in places.items():
            held = getattr(owner, attribute)
            if isinstance(held, Tensor):
                held.set_(as_tensor(arrays[name], held.device, held.dtype))
            else:
                setattr(owner, attribute, arrays[name])

    def train(self, mode: bool = True) -> "Module":
        """Switch to training, where dropout drops, or to evaluation."""
        for module in self.modules():
            module.training = flag(mode, "mode")
        return self

    def eval(self) -> "Module":
        """Switch to evaluation: dropout passes everything."""
        return self.train(False)


class Sequential(Module):
    """Modules one after the other; in the graph they are ``name.0``, ``name.1`` ..."""

    def __init__(self, *modules: Module):
        for i, module in enumerate(modules):
            setattr(self, str(i), module)

    def __call__(self, x):
        for name, module in self.children():
            module._name = f"{self._name}.{name}" if self._name else name
            x = module(x)
        return x


# -- layers with weights ----------------------------------------------------------------------


class Linear(Module):
    """``x @ weight.T + bias``, weight [out, in]."""

    def __init__(self, in_features: int, out_features: int, bias: bool = True):
        wholes(1, _MAX, in_features=in_features, out_features=out_features)
        bound = in_features**-0.5
        self.weight = _uniform(bound, out_features, in_features)
        self.bias = _uniform(bound, out_features) if bias else None

    def forward(self, x: Tensor):
        return _linear(x, self.weight, self.bias)


def _linear(x, weight, bias):
    """Return x [..., in] times weight [out, in] transposed, as one large product."""
    flat = x.reshape((-1, x.shape[-1]))
    out = together("dot", flat, weight, turn_a=False, turn_b=True)
    out = out if bias is None else out + bias
    return out.reshape((*x.shape[:-1], weight.shape[0]))


class LayerNorm(Module):
    """Bring each row of the last axis to mean 0 and variance 1; then scale and shift."""

    def __init__(self, width: int, eps: float = 1e-5):
        wholes(1, _MAX, width=width)
        self.weight, self.bias = np.ones(width, np.float32), np.zeros(width, np.float32)
        self.eps = number(eps, "eps", 0)

    def forward(self, x: Tensor):
        return xnp.layer_norm(x, self.weight, self.bias, self.eps)  # type: ignore[arg-type]


class Embedding(Module):
    """Rows of a table [rows, width] by their numbers."""

    def __init__(self, rows: int, width: int):
        wholes(1, _MAX, rows=rows, width=width)
        self.weight = _normal(1, rows, width)

    def forward(self, numbers: Tensor):
        return xnp.take(self.weight, numbers)  # type: ignore[arg-type]  # on a device by now


class EmbeddingBag(Embedding):
    """The mean of the rows that each bag [bags, length] names."""

    def forward(self, numbers: Tensor):
        return super().forward(numbers).mean(axis=1)


class Conv2d(Module):
    """Filters [out, in, k, k] over images [N, in, H, W]."""

    def __init__(self, in_channels: int, out_channels: int, kernel_size: int, stride: int = 1,
                 padding: int = 0, bias: bool = True):  # fmt: skip
        wholes(1, _MAX, in_channels=in_channels, out_channels=out_channels, kernel_size=kernel_size)
        bound = (in_channels * kernel_size**2) ** -0.5
        self.weight = _uniform(bound, out_channels, in_channels, kernel_size, kernel_size)
        self.bias = _uniform(bound, out_channels) if bias else None
        self.stride, self.padding = whole(stride, "stride", 1), whole(padding, "padding", 0)

    def forward(self, x: Tensor):
        weights = self.weight, self.bias
        return xnp.conv2d(x, *weights, stride=self.stride, padding=self.padding)  # type: ignore[arg-type]


class MultiHeadAttention(Module):
    """Self-attention over x [batch, tokens, width]; ``causal``: tokens see none that follow."""

    def __init__(self, width: int, heads: int, causal: bool = False):
        wholes(1, _MAX, width=width, heads=heads)
        if width % heads:
            raise ValueError(f"width is {width}, which does not divide among {heads} heads")
        self.in_proj_weight = _uniform((6 / (4 * width)) ** 0.5, 3 * width, width)
        self.in_proj_bias = np.zeros(3 * width, np.float32)
        self.out_proj = Linear(width, width)
        self.out_proj.bias = np.zeros(width, np.float32)
        self.heads, self.causal = heads, causal

    def forward(self, x: Tensor):
        batch, tokens, width = x.shape
        all_three = _linear(x, self.in_proj_weight, self.in_proj_bias)
        apart = all_three.reshape((batch, tokens, 3, self.heads, width // self.heads))
        apart = apart.transpose((2, 0, 3, 1, 4))  # [3, batch, heads, tokens, width of a head]
        query, key, value = (apart[i] for i in range(3))
        query = query * (width // self.heads) ** -0.5
        scores = together("dot", query, key, turn_a=False, turn_b=True)
        if self.causal:
            scores = xnp.where(_is_not_later(scores), scores, -1e30)
        mixed = xnp.matmul(xnp.softmax(scores), value)
        return self.out_proj(mixed.transpose((0, 2, 1, 3)).reshape(x.shape))


def _is_not_later(scores):
    """Return bool[1, 1, tokens, tokens]: whether the column's token is the row's or before it."""
    tokens = scores.shape[-1]
    row, column = (
        apply("iota", shape=shape, axis=axis, dtype="int32")
        for shape, axis in (((1, 1, tokens, 1), -2), ((1, 1, 1, tokens), -1))
    )
    return of_node(scores.device, apply("greater_equal", row, column))


# -- layers without weights -------------------------------------------------------------------


class ReLU(Module):
    """The activation ``max(x, 0)``."""

    def forward(self, x: Tensor):
        return xnp.relu(x)


class GELU(Module):
    """x times the probability that a normal number is smaller."""

    def forward(self, x: Tensor):
        return xnp.gelu(x)


class Flatten(Module):
    """All axes but the first as one."""

    def forward(self, x: Tensor):
        return x.reshape((x.shape[0], -1))


class MaxPool2d(Module):
    """The largest number of each window of images [N, C, H, W]; windows lie side by side.

    Equal numbers share the gradient.
    """

    def __init__(self, kernel_size: int):
        self.kernel_size = whole(kernel_size, "kernel_size", 1)

    def forward(self, x: Tensor):
        (n, c, h, w), k = x.shape, self.kernel_size
        if h % k or w % k:
            raise GraphError(f"pooling windows of {k} do not fill an image of {h} x {w}")
        return x.reshape((n, c, h // k, k, w // k, k)).max(axis=(3, 5))


class Dropout(Module):
    """Zero each number with probability `p` while training, and scale up what stays.

    Seed and step are inputs of the graph: each call draws other bits and none compiles again.
    Replicas have seeds of their own.
    """

    def __init__(self, p: float = 0.5):
        self.p, self.step = number(p, "p", 0, below=1), 0
        self.seed = int(_random().integers(2**31))

    def forward(self, x: Tensor):
        if not self.training or not self.p:
            return x
        self.step += 1
        replicas = x.device.setting.replicas
        seeds = np.array(self.seed if replicas is None else self.seed + np.arange(replicas))
        word = Type((), "uint32")
        seed, step = (
            Tensor(x.device, word, data=data.astype(np.uint32))
            for data in (seeds, np.array(self.step))
        )
        keep = together("random_keep", seed, step, shape=x.shape, probability=1 - self.p, number=0,
                       dtype=x.dtype)  # fmt: skip
        return x * keep * (1 / (1 - self.p))


# -- whole networks ---------------------------------------------------------------------------


class MLP(Sequential):
    """Linear layers of these widths with an activation between them: ``MLP(64, 256, 10)``."""

    def __init__(self, *widths: int, activation: Callable = ReLU):
        layers: list[Module] = []
        for before, after in pairwise(widths):
            layers += [Linear(before, after), activation()]
        super().__init__(*layers[:-1])


class TransformerBlock(Module):
    """Attention, then two linear layers, each on normalised numbers and added to what came in.

    ``causal=False`` is an encoder's block, PyTorch's ``TransformerEncoderLayer`` with
    ``norm_first=True, activation="gelu", batch_first=True`` and its names; ``causal=True`` that of
    a decoder without an encoder, as GPT's.
    """

    def __init__(self, width: int, heads: int, hidden: int, dropout: float = 0.0,
                 causal: bool = False):  # fmt: skip
        self.self_attn = MultiHeadAttention(width, heads, causal)
        self.linear1, self.linear2 = Linear(width, hidden), Linear(hidden, width)
        self.norm1, self.norm2 = LayerNorm(width), LayerNorm(width)
        self.gelu, self.dropout = GELU(), Dropout(dropout)

    def forward(self, x: Tensor):
        x = x + self.dropout(self.self_attn(self.norm1(x)))
        hidden = self.gelu(self.linear1(self.norm2(x)))
        return x + self.dropout(self.linear2(hidden))


def _blocks(depth, *of) -> Sequential:
    return Sequential(*(TransformerBlock(*of) for _ in range(whole(depth, "depth", 0, 1000))))


class ViT(Module):
    """A vision transformer: an image's patches are its words, and a class token sums them up.

    Parameters
    ----------
    image, patch : int
        Sides in pixels.
    width, depth, heads, hidden : int
        Of the blocks.
    classes, channels : int
    dropout : float
    """

    def __init__(self, image: int = 8, patch: int = 2, width: int = 64, depth: int = 2,
                 heads: int = 4, hidden: int = 128, classes: int = 10, channels: int = 1,
                 dropout: float = 0.0):  # fmt: skip
        wholes(1, _MAX, image=image, patch=patch, classes=classes, channels=channels)
        if image % patch:
            raise ValueError(f"patches of {patch} do not fill an image of {image} x {image} pixels")
        self.patch = patch
        self.embedding = Linear(channels * patch**2, width)
        self.class_token = _normal(0.02, 1, 1, width)
        tokens = (image // patch) ** 2 + 1
        self.positions = _normal(0.02, 1, tokens, width)
        self.encoder = _blocks(depth, width, heads, hidden, dropout)
        self.norm, self.head = LayerNorm(width), Linear(width, classes)

    def forward(self, images: Tensor):
        """Return logits [N, classes] of images [N, channels, H, W]."""
        (n, c, h, w), p = images.shape, self.patch
        patches = images.reshape((n, c, h // p, p, w // p, p)).transpose((0, 2, 4, 1, 3, 5))
        x = self.embedding(patches.reshape((n, -1, c * p * p)))
        first = unary("broadcast", self.class_token, shape=(n, 1, x.shape[-1]))  # type: ignore[arg-type]
        x = xnp.concatenate([first, x], axis=1) + self.positions
        return self.head(self.norm(self.encoder(x)[:, 0]))


class Decoder(Module):
    """A small language model: token and place, causal blocks, a guess of the next token."""

    def __init__(self, vocabulary: int, length: int, width: int = 64, depth: int = 2,
                 heads: int = 4, hidden: int = 128, dropout: float = 0.0):  # fmt: skip
        self.tokens, self.places = Embedding(vocabulary, width), Embedding(length, width)
        self.decoder = _blocks(depth, width, heads, hidden, dropout, True)
        self.norm, self.head = LayerNorm(width), Linear(width, vocabulary, bias=False)

    def forward(self, numbers: Tensor):
        """Return logits [batch, tokens, vocabulary] of token numbers int32[batch, tokens]."""
        x = self.tokens(numbers) + self.places.weight[: numbers.shape[1]]
        return self.head(self.norm(self.decoder(x)))


class Encoder(Module):
    """A small text classifier as BERT's: blocks see all words, the first word's place answers."""

    def __init__(self, vocabulary: int, length: int, classes: int, width: int = 64, depth: int = 2,
                 heads: int = 4, hidden: int = 128, dropout: float = 0.0):  # fmt: skip
        wholes(1, _MAX, classes=classes)
        self.tokens, self.places = Embedding(vocabulary, width), Embedding(length, width)
        self.encoder = _blocks(depth, width, heads, hidden, dropout)
        self.norm, self.head = LayerNorm(width), Linear(width, classes)

    def forward(self, numbers: Tensor):
        """Return logits [batch, classes] of token numbers int32[batch, tokens]."""
        return self.head(self.norm(self.blocks(numbers)[:, 0]))

    def blocks(self, numbers: Tensor):
        """Return what the last block makes of each word, [batch, tokens, width]."""
        return self.encoder(self.tokens(numbers) + self.places.weight[: numbers.shape[1]])


class WordGuesser(Encoder):
    """An encoder that predicts the word at each position: the model of pre-training."""

    def __init__(self, vocabulary: int, length: int):
        super().__init__(vocabulary, length, vocabulary)
        for table in (self.tokens, self.places):  # smaller numbers learn sooner
            table.weight = _normal(0.3, *table.weight.shape)

    def forward(self, numbers: Tensor):
        """Return logits [batch, tokens, vocabulary] of token numbers int32[batch, tokens]."""
        return self.head(self.norm(self.blocks(numbers)))


class Recommender(Module):
    """Whether an offered item is taken: two tables, the basket's mean, and their product.

    As in the models that rank what a shop shows, nearly all weights are rows of tables, and a
    sample needs a few of them.  The products of these rows are small.
    """

    def __init__(self, items: int, width: int = 8, hidden: int = 32):
        self.offered, self.basket = Embedding(items, width), EmbeddingBag(items, width)
        for table in (self.offered, self.basket):  # products of smaller numbers learn sooner
            table.weight = _normal(0.3, items, width)
        self.head = MLP(3 * width, hidden, 2)

    def forward(self, numbers: Tensor):
        """Return logits [batch, 2] of item numbers int32[batch, 1 + basket], the offered first."""
        offered, basket = self.offered(numbers[:, 0]), self.basket(numbers[:, 1:])
        return self.head(xnp.concatenate([offered, basket, offered * basket], axis=1))


# -- losses -----------------------------------------------------------------------------------


@checked_after
def cross_entropy(logits: Tensor, labels: Tensor) -> Tensor:
    """Return the mean of -log(probability of the right class), in FP32.

    Parameters
    ----------
    logits : Tensor [..., classes]
    labels : Tensor, int32[...]
        Class numbers.  The loss of a negative one is 0, and it counts in the mean.
    """
    rows = xnp.reshape(xnp.astype(logits, "float32"), (-1, logits.shape[-1]))
    return xnp.mean(xnp.cross_entropy(rows, xnp.reshape(labels, -1)))


for _layer in [value for value in vars().values() if isinstance(value, type)]:
    if _layer.__module__ == __name__:
        for _name, _held in (("__init__", checked), ("forward", checked_after)):
            if _name in vars(_layer):
                setattr(_layer, _name, _held(vars(_layer)[_name]))
