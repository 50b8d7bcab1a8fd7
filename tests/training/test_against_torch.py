"""Layers and optimisers beside PyTorch's on the CPU, with the same weights.

Judge: PyTorch.  Whole trainings are compared step by step: the loss, and every parameter tensor by
the norm of the difference over the norm of PyTorch's.
"""

from functools import partial

import numpy as np
import pytest

from tests.for_each import for_each, for_rows
from trainium_edu.training import nn, optim
from trainium_edu.training.data import digits
from trainium_edu.xla.compiler import Compiler
from trainium_edu.xla.device import Device
from trainium_edu.xla.executor import Setting
from trainium_edu.xla.flags import parse
from trainium_edu.xla.tensor import as_tensor

torch = pytest.importorskip("torch")
from tests.benchmarks.bench_training import torch_mlp, torch_vit  # noqa: E402

pytestmark = pytest.mark.judge
there = torch.nn


@pytest.fixture(autouse=True, scope="module")
def one_thread():
    """Keep PyTorch's threads from waiting for BLAS's."""
    before = torch.get_num_threads()
    torch.set_num_threads(1)
    yield
    torch.set_num_threads(before)


def encoder_layer(width=16, heads=4, hidden=24):
    return there.TransformerEncoderLayer(
        width, heads, hidden, 0.0, "gelu", batch_first=True, norm_first=True
    )


def heads():
    return there.MultiheadAttention(16, 4, batch_first=True)


def causal(x):
    return torch.triu(torch.ones(x.shape[1], x.shape[1], dtype=torch.bool), 1)


#: name -> (made of a library's layers, shape of the input)
LAYERS = {
    "Linear": (lambda m: m.Linear(6, 4), (5, 6)),
    "Linear, three axes, no bias": (lambda m: m.Linear(6, 4, bias=False), (2, 5, 6)),
    "LayerNorm": (lambda m: m.LayerNorm(12), (3, 4, 12)),
    "Conv2d": (lambda m: m.Conv2d(3, 5, 3), (2, 3, 8, 7)),
    "Conv2d, stride 2, padding 1": (lambda m: m.Conv2d(3, 5, 3, stride=2, padding=1), (2, 3, 8, 8)),
    "MaxPool2d": (lambda m: m.MaxPool2d(2), (2, 3, 6, 8)),
    "ReLU": (lambda m: m.ReLU(), (7, 5)),
    "GELU": (lambda m: m.GELU(), (7, 5)),
    "Flatten": (lambda m: m.Flatten(), (2, 3, 4)),
    "Dropout in eval": (lambda m: m.Dropout(0.3).eval(), (7, 5)),
}
#: name -> (ours, theirs, how theirs is called, shape of the input)
LAYERS = {name: (partial(make, nn), partial(make, there), None, shape)
          for name, (make, shape) in LAYERS.items()} | {
    "MultiHeadAttention": (
        lambda: nn.MultiHeadAttention(16, 4), heads, lambda m, x: m(x, x, x)[0], (2, 5, 16)),
    "MultiHeadAttention, causal": (
        lambda: nn.MultiHeadAttention(16, 4, causal=True), heads,
        lambda m, x: m(x, x, x, attn_mask=causal(x))[0], (2, 5, 16)),
    "TransformerBlock": (
        lambda: nn.TransformerBlock(16, 4, 24), encoder_layer, None, (2, 5, 16)),
    "TransformerBlock, causal": (
        lambda: nn.TransformerBlock(16, 4, 24, causal=True), encoder_layer,
        lambda m, x: m(x, src_mask=causal(x)), (2, 5, 16)),
    "MLP": (
        lambda: nn.MLP(6, 8, 3),
        lambda: there.Sequential(there.Linear(6, 8), there.ReLU(), there.Linear(8, 3)), None,
        (4, 6)),
}  # fmt: skip


def distance(a, b):
    """Return the norm of the difference over the norm of the second."""
    b = np.asarray(b, np.float64)
    return np.linalg.norm(a - b) / max(np.linalg.norm(b), 1e-12)


def shared(ours, theirs, dtype="float32", **setting):
    """Give our model PyTorch's weights and move it to a device."""
    ours.load_state_dict(theirs.state_dict())
    device = Device(setting=Setting(**setting))
    return ours.to(device, dtype), device


@for_each("name", LAYERS)
def test_a_layer_computes_what_pytorchs_does_forward_and_backward(name):
    make, make_theirs, call, shape = LAYERS[name]
    torch.manual_seed(1)
    theirs = make_theirs()
    for p in theirs.parameters():  # some begin as zeros or ones
        p.data += 0.1 * torch.randn_like(p)
    ours, device = shared(make(), theirs)
    x, weights = (np.random.default_rng(2).standard_normal(shape).astype(np.float32) for _ in "ab")
    x_there = torch.from_numpy(x).requires_grad_()
    wanted = call(theirs, x_there) if call else theirs(x_there)
    weights = np.resize(weights, wanted.shape)
    (wanted * torch.from_numpy(weights)).sum().backward()
    x_here = as_tensor(x, device).requires_grad_()
    found = ours(x_here)
    (found * as_tensor(weights, device)).sum().backward()
    device.mark_step()
    assert distance(found.numpy(), wanted.detach().numpy()) < 1e-5
    assert distance(x_here.grad.numpy(), x_there.grad.numpy()) < 1e-5
    for (name, p), q in zip(ours.named_parameters(), theirs.parameters(), strict=True):
        q = dict(theirs.named_parameters())[name]
        if np.linalg.norm(q.grad) > 1e-5:  # the key's bias changes nothing: noise in both
            assert distance(p.grad.numpy(), q.grad.numpy()) < 1e-4, name


def test_every_layer_has_a_case():
    tried = {name.partition(",")[0].partition(" ")[0] for name in LAYERS}
    elsewhere = {"Module", "Sequential", "Embedding", "EmbeddingBag", "Decoder", "Encoder", "ViT",
                 "Recommender", "WordGuesser"}  # fmt: skip
    classes = {n for n in nn.__all__ if isinstance(getattr(nn, n), type)}
    assert classes == tried | elsewhere


def test_an_embedding_adds_up_the_gradients_of_a_row_that_is_used_twice():
    theirs = there.Embedding(6, 3)
    ours, device = shared(nn.Embedding(6, 3), theirs)
    numbers = np.array([[1, 4, 1], [0, 1, 5]], np.int32)
    theirs(torch.from_numpy(numbers)).square().sum().backward()
    rows = ours(as_tensor(numbers, device))
    (rows * rows).sum().backward()
    device.mark_step()
    assert distance(ours.weight.grad.numpy(), theirs.weight.grad.numpy()) < 1e-6


def test_bags_are_pytorchs_and_a_recommender_is_built_of_them():
    offered, basket = there.Embedding(9, 4), there.EmbeddingBag(9, 4, mode="mean")
    head = there.Sequential(there.Linear(12, 6), there.ReLU(), there.Linear(6, 2))
    theirs = there.ModuleDict({"offered": offered, "basket": basket, "head": head})
    ours, device = shared(nn.Recommender(9, 4, 6), theirs)
    numbers = np.array([[1, 4, 1, 2], [0, 1, 5, 5], [8, 0, 0, 0]], np.int32)
    given = torch.from_numpy(numbers)
    one, bag = offered(given[:, 0]), basket(given[:, 1:])
    wanted = head(torch.cat([one, bag, one * bag], 1))
    wanted.square().sum().backward()
    found = ours(as_tensor(numbers, device))
    (found * found).sum().backward()
    device.mark_step()
    assert distance(found.numpy(), wanted.detach().numpy()) < 1e-5
    for name, p in ours.named_parameters():
        assert distance(p.grad.numpy(), dict(theirs.named_parameters())[name].grad.numpy()) < 1e-5


def test_the_loss_and_its_gradient_are_pytorchs():
    rng = np.random.default_rng(0)
    x = rng.standard_normal((8, 5)).astype(np.float32)
    target = rng.integers(0, 5, 8).astype(np.int32)
    x_there = torch.from_numpy(x).requires_grad_()
    wanted = there.functional.cross_entropy(x_there, torch.from_numpy(target.astype(np.int64)))
    wanted.backward()
    device = Device()
    x_here = as_tensor(x, device).requires_grad_()
    found = nn.cross_entropy(x_here, as_tensor(target, device))
    found.backward()
    device.mark_step()
    assert found.item() == pytest.approx(wanted.item(), rel=1e-6)
    assert distance(x_here.grad.numpy(), x_there.grad.numpy()) < 1e-6


# -- whole trainings --------------------------------------------------------------------------


def cnn(m):
    return m.Sequential(
        m.Conv2d(1, 8, 3, padding=1), m.ReLU(), m.MaxPool2d(2), m.Conv2d(8, 16, 3, padding=1),
        m.ReLU(), m.MaxPool2d(2), m.Flatten(), m.Linear(64, 10),
    )  # fmt: skip


class TorchEncoder(there.Module):
    """``nn.Encoder`` of PyTorch's own layers."""

    blocks = "encoder"

    def __init__(self, vocabulary, length, classes, width, depth, heads, hidden, bias=True):
        super().__init__()
        self.tokens = there.Embedding(vocabulary, width)
        self.places = there.Embedding(length, width)
        layers = there.ModuleList(encoder_layer(width, heads, hidden) for _ in range(depth))
        setattr(self, self.blocks, layers)
        self.norm, self.head = there.LayerNorm(width), there.Linear(width, classes, bias)

    def normed(self, numbers, mask=None):
        x = self.tokens(numbers) + self.places.weight[: numbers.shape[1]]
        for block in getattr(self, self.blocks):
            x = block(x, src_mask=mask)
        return self.norm(x)

    def forward(self, numbers):
        return self.head(self.normed(numbers)[:, 0])


class TorchGuesser(TorchEncoder):
    """``nn.WordGuesser``: an answer at each place."""

    def forward(self, numbers):
        return self.head(self.normed(numbers))


class TorchDecoder(TorchEncoder):
    """``nn.Decoder``: an answer at each place, which looks at those before."""

    blocks = "decoder"

    def forward(self, numbers):
        return self.head(self.normed(numbers, causal(numbers)))


def of_digits(n, shape):
    found = digits()
    return found.train_images[:n].reshape(n, *shape), found.train_labels[:n].astype(np.int32)


def of_text():
    """Return token numbers and the ones that follow: letters of a sentence, again and again."""
    text = np.frombuffer(b"the quick brown fox jumps over the lazy dog and " * 12, np.uint8)
    text = np.unique(text, return_inverse=True)[1].astype(np.int32)
    windows = np.lib.stride_tricks.sliding_window_view(text, 17)[::9][:32]
    return windows[:, :-1], windows[:, 1:].reshape(-1)


def of_sentences():
    """Return token numbers, and of each row a class that depends on them."""
    numbers, _ = of_text()
    return numbers, (numbers.sum(axis=1) % 3).astype(np.int32)


#: name -> (ours, theirs, data)
MODELS = {
    "mlp": (lambda: nn.MLP(64, 256, 256, 10), torch_mlp, lambda: of_digits(256, (64,))),
    "vit": (nn.ViT, torch_vit, lambda: of_digits(64, (1, 8, 8))),
    "cnn": (lambda: cnn(nn), lambda: cnn(there), lambda: of_digits(64, (1, 8, 8))),
    "decoder": (lambda: nn.Decoder(27, 16, 32, 2, 4, 64),
                lambda: TorchDecoder(27, 16, 27, 32, 2, 4, 64, bias=False), of_text),
    "encoder": (lambda: nn.Encoder(27, 16, 3, 32, 2, 4, 64),
                lambda: TorchEncoder(27, 16, 3, 32, 2, 4, 64), of_sentences),
    "guesser": (lambda: nn.WordGuesser(27, 16),
                lambda: TorchGuesser(27, 16, 27, 64, 2, 4, 128), of_text),
}  # fmt: skip

#: name -> of a library's optimisers, from parameters
OPTIMISERS = {
    "sgd": lambda o, p, **k: o.SGD(p, 0.1, 0.9, **k),
    "slow sgd": lambda o, p: o.SGD(p, 0.03, 0.9),
    "sgd with decay": lambda o, p: o.SGD(p, 0.1, weight_decay=0.01),
    "adam": lambda o, p: o.Adam(p, 1e-3, weight_decay=0.01),
    "adamw": lambda o, p, **k: o.AdamW(p, 1e-3, eps=1e-6, **k),
}


def steps(model, optimiser, data, count, dtype="float32"):
    """Take steps of ours, and yield each loss."""
    device = optimiser.parameters[0].device
    inputs, labels = data
    for _ in range(count):
        optimiser.zero_grad()
        x = as_tensor(inputs, device, dtype if inputs.dtype == np.float32 else None)
        loss = nn.cross_entropy(model(x), as_tensor(labels, device))
        loss.backward()
        optimiser.step()
        device.mark_step()
        yield loss.item()


def steps_there(model, optimiser, data, count, autocast=False):
    inputs, labels = (torch.tensor(v) for v in data)
    for _ in range(count):
        optimiser.zero_grad()
        with torch.autocast("cpu", torch.bfloat16, enabled=autocast):
            logits = model(inputs)
            loss = there.functional.cross_entropy(logits.reshape(len(labels), -1), labels.long())
        loss.backward()
        optimiser.step()
        yield loss.item()


def without_key_bias(name, array):
    """Leave out what changes no result: its gradient is noise, which Adam scales to full steps."""
    third = len(array) // 3
    return np.delete(array, slice(third, 2 * third)) if "in_proj_bias" in name else array


@pytest.mark.parametrize(("model", "optimiser", "count"), [
    ("mlp", "sgd", 50), ("mlp", "adamw", 50), ("mlp", "sgd with decay", 10), ("mlp", "adam", 10),
    ("cnn", "sgd", 10), ("cnn", "adamw", 10),
    pytest.param("vit", "slow sgd", 50, marks=pytest.mark.slow),
    pytest.param("vit", "adamw", 50, marks=pytest.mark.slow), ("encoder", "adamw", 10),
    ("guesser", "adamw", 10), ("decoder", "adamw", 10),
])  # fmt: skip
def test_a_training_is_pytorchs_step_by_step(model, optimiser, count):
    make, make_theirs, data = MODELS[model]
    torch.manual_seed(0)
    theirs = make_theirs()
    ours, _ = shared(make(), theirs)
    a = OPTIMISERS[optimiser](optim, ours.parameters())
    b = OPTIMISERS[optimiser](torch.optim, theirs.parameters())
    losses = []
    pairs = zip(steps(ours, a, data(), count), steps_there(theirs, b, data(), count), strict=True)
    for step, (found, wanted) in enumerate(pairs):
        losses.append(wanted)
        assert found == pytest.approx(wanted, rel=1e-4), step
        state = theirs.state_dict()
        for name, value in ours.state_dict().items():
            value, other = (without_key_bias(name, v) for v in (value, state[name].numpy()))
            assert distance(value, other) < 1e-4, (step, name)
    if count == 50:
        assert losses[-1] < losses[0] / 2


@for_rows("optimiser", "sgd", "adamw")
@for_rows("how", "weights", "weights, stochastic", "auto-cast all", "auto-cast matmult")
def test_bf16_trains_within_the_range_of_pytorchs_own_bf16_autocast(optimiser, how):
    make, make_theirs, data = MODELS["mlp"]
    curves, ours = [], make()
    for seed in range(3):
        torch.manual_seed(seed)
        theirs = make_theirs()
        if seed == 0:
            ours.load_state_dict(theirs.state_dict())
        b = OPTIMISERS[optimiser](torch.optim, theirs.parameters())
        curves.append(list(steps_there(theirs, b, data(), 50, autocast=True)))
    setting = Setting("stochastic" if "stochastic" in how else "nearest")
    flags = parse(f"--{how.replace('cast ', 'cast=')}" if "auto" in how else "")
    dtype = "float32" if "auto" in how else "bfloat16"
    ours.to(Device(setting=setting, compiler=Compiler(flags=flags)), dtype)
    a = OPTIMISERS[optimiser](optim, ours.parameters(), master_weights="weights" in how)
    curve = np.array(list(steps(ours, a, data(), 50, dtype)))
    low, high = np.min(curves, 0) * 0.9, np.max(curves, 0) * 1.1
    assert (low <= curve).all()
    assert (curve <= high).all()
    assert curve[-1] < curve[0] / 2


def test_gradients_are_clipped_as_pytorch_clips_them():
    torch.manual_seed(0)
    theirs = torch_mlp()
    ours, device = shared(nn.MLP(64, 256, 256, 10), theirs)
    x, y = of_digits(32, (64,))
    there.functional.cross_entropy(theirs(torch.tensor(x)), torch.tensor(y).long()).backward()
    wanted = there.utils.clip_grad_norm_(theirs.parameters(), 0.1)
    nn.cross_entropy(ours(as_tensor(x, device)), as_tensor(y, device)).backward()
    found = optim.clip_grad_norm_(ours.parameters(), 0.1)
    device.mark_step()
    assert found.item() == pytest.approx(wanted.item(), rel=1e-5)
    for p, q in zip(ours.parameters(), theirs.parameters(), strict=True):
        assert distance(p.grad.numpy(), q.grad.numpy()) < 1e-5
