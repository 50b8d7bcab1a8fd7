"""The graphs of whole training steps, executed: what a script computes is what was recorded.

Judge: PyTorch.  It computes each value on the CPU while the calls are recorded; here the recorded
graph is run by ``xla``'s executor on the same data, and every tensor that lives must be equal.
"""

import numpy as np
import pytest

torch = pytest.importorskip("torch")
import trainium_edu.torch as bridge  # noqa: E402
from trainium_edu.torch import core as cores  # noqa: E402
from trainium_edu.xla.executor import Plan, Setting  # noqa: E402

pytestmark = pytest.mark.judge
nn, F, optim = torch.nn, torch.nn.functional, torch.optim
TOLERANCE = 2e-4  #: of the norm: a step or two of an optimiser, in another order of additions


class Kept(dict):
    """Keeps what came onto a tape as it was then; a write in place would change it."""

    def __init__(self):
        self.values = {}

    def __setitem__(self, slot, weak):
        self.values[slot] = weak().value.clone().numpy()
        super().__setitem__(slot, weak)


class Judge:
    """Holds each new graph of a core to PyTorch's values."""

    def __init__(self, core):
        self.core, self.translated, self.graphs, self.compared = core, core._translated, 0, 0
        core._translated, begin = self, core.trie.begin
        core.trie.begin = lambda: self._watched(begin())
        core.tape = self._watched(core.tape)

    def _watched(self, tape):
        tape.leaves = Kept()
        return tape

    def __call__(self, tape, live):
        found = self.translated(tape, live)
        if not found.graph.outputs:
            return found
        feeds = [tape.leaves.values[one] if type(one) is int else one for one in found.sources]
        feeds = [f.astype(np.int32) if f.dtype == np.int64 else f for f in feeds]
        got = Plan(found.graph).run(feeds, Setting())
        self.graphs += 1
        for slot, number in found.outputs:
            cell = tape.made[slot]() if tape.made[slot] is not None else None
            if cell is None or cell.slot != slot:
                continue
            right = cell.value.detach().double().numpy()
            size = max(np.linalg.norm(right), 1e-3 * right.size**0.5)
            apart = np.linalg.norm(np.asarray(got[number], np.float64) - right) / size
            assert apart < TOLERANCE, (found.graph.outputs[number], apart)
            self.compared += 1
        return found


@pytest.fixture
def judge():
    assert bridge.activate(replace=True)
    torch.manual_seed(3)
    core = cores.current()
    yield Judge(core)
    ran_on_cpu = {n for n in core.compiler.metrics.counter_names() if n.startswith("aten::")}
    assert ran_on_cpu <= {"aten::_local_scalar_dense"}
    bridge.deactivate()


def train(judge, model, optimiser, batch, loss, steps=3):
    """Train on the device, one graph a step."""
    model = model.to("xla")
    optimiser = optimiser(model.parameters())
    losses = []
    for _ in range(steps):
        x, y = (one.to("xla") for one in batch)
        optimiser.zero_grad()
        found = loss(model(x), y)
        found.backward()
        nn.utils.clip_grad_norm_(model.parameters(), 1.0)
        optimiser.step()
        losses.append(found.detach())
        judge.core.mark_step()
    assert judge.graphs >= 1
    assert judge.compared > len(list(model.parameters()))
    assert losses[-1].item() < losses[0].item()


def images(n=8, size=16):
    return torch.randn(n, 3, size, size), torch.arange(n) % 4


def mlp():
    return nn.Sequential(
        nn.Linear(12, 16), nn.ReLU(), nn.Linear(16, 16), nn.GELU(), nn.Linear(16, 4)
    )


OPTIMISERS = {
    "SGD": lambda p: optim.SGD(p, 0.1),
    "SGD with momentum": lambda p: optim.SGD(
        p, 0.1, momentum=0.9, weight_decay=0.01, nesterov=True),
    "Adam": lambda p: optim.Adam(p, 0.01),
    "AdamW": lambda p: optim.AdamW(p, 0.01, amsgrad=True),
    "Adagrad": lambda p: optim.Adagrad(p, 0.05),
    "RMSprop": lambda p: optim.RMSprop(p, 0.01, momentum=0.9, centered=True),
    "Adadelta": lambda p: optim.Adadelta(p, 1.0),
    "NAdam": lambda p: optim.NAdam(p, 0.01),
    "RAdam": lambda p: optim.RAdam(p, 0.01),
    "Adamax": lambda p: optim.Adamax(p, 0.01),
    "Adam, foreach": lambda p: optim.Adam(p, 0.01, foreach=True),
    "SGD, foreach": lambda p: optim.SGD(p, 0.1, momentum=0.9, foreach=True),
}  # fmt: skip


def some_slow(names, *fast):
    """Return the names, all but some marked slow."""
    return [n if n in fast else pytest.param(n, marks=pytest.mark.soak) for n in names]


@pytest.mark.parametrize("name", some_slow(OPTIMISERS, "SGD with momentum", "Adam", "AdamW"))
def test_an_optimisers_graph_computes_what_pytorch_does(judge, name):
    batch = torch.randn(8, 12), torch.arange(8) % 4
    train(judge, mlp(), OPTIMISERS[name], batch, F.cross_entropy)


class Residual(nn.Module):
    def __init__(self, wide, groups=1):
        super().__init__()
        self.inner = nn.Sequential(
            nn.Conv2d(wide, wide, 3, padding=1, groups=groups, bias=False), nn.BatchNorm2d(wide),
            nn.ReLU(inplace=True), nn.Conv2d(wide, wide, 3, padding=1), nn.BatchNorm2d(wide),
        )  # fmt: skip

    def forward(self, x):
        return F.relu(x + self.inner(x), inplace=True)


class Attention(nn.Module):
    """A decoder with learned places, as small as they come."""

    def __init__(self):
        super().__init__()
        self.words, self.places = nn.Embedding(11, 16), nn.Embedding(8, 16)
        layer = nn.TransformerEncoderLayer(
            16, 4, 32, 0.0, "gelu", batch_first=True, norm_first=True
        )
        self.layers = nn.TransformerEncoder(layer, 2, enable_nested_tensor=False)
        self.out = nn.Linear(16, 11)

    def forward(self, x):
        size = x.shape[1]
        mask = torch.triu(torch.full((size, size), float("-inf"), device=x.device), 1)
        h = self.words(x) + self.places(torch.arange(size, device=x.device))
        return self.out(self.layers(h, mask=mask)).transpose(1, 2)


class Recurrent(nn.Module):
    def __init__(self, kind):
        super().__init__()
        self.inner, self.out = kind(3 * 16, 8, batch_first=True), nn.Linear(8, 4)

    def forward(self, x):
        return self.out(self.inner(x.permute(0, 2, 1, 3).flatten(2))[0][:, -1])


MODELS = {
    "convolutions": lambda: nn.Sequential(
        nn.Conv2d(3, 8, 3, 2, 1), nn.BatchNorm2d(8), nn.ReLU(), nn.MaxPool2d(3, 2, 1), Residual(8),
        nn.AdaptiveAvgPool2d(1), nn.Flatten(), nn.Linear(8, 4)),
    "by channel, in groups, dilated": lambda: nn.Sequential(
        nn.Conv2d(3, 8, 1), Residual(8, 8), Residual(8, 2), nn.GroupNorm(2, 8), nn.SiLU(),
        nn.Conv2d(8, 8, 3, dilation=2), nn.Hardswish(), nn.AvgPool2d(2), nn.Flatten(),
        nn.LazyLinear(4)),
    "up and down": lambda: nn.Sequential(
        nn.Conv2d(3, 4, 4, 2, 1), nn.InstanceNorm2d(4, affine=True), nn.LeakyReLU(0.2),
        nn.ConvTranspose2d(4, 4, 4, 2, 1), nn.Upsample(scale_factor=2, mode="bilinear"),
        nn.PReLU(), nn.Conv2d(4, 4, 3, 2), nn.ELU(), nn.AdaptiveAvgPool2d(2), nn.Flatten(),
        nn.Linear(16, 4), nn.Softplus()),
    "RNN": lambda: Recurrent(nn.RNN), "LSTM": lambda: Recurrent(nn.LSTM),
    "GRU": lambda: Recurrent(nn.GRU),
    "patches": lambda: nn.Sequential(
        nn.Conv2d(3, 16, 4, 4), nn.Flatten(2), nn.LayerNorm(16), nn.Linear(16, 16), nn.Tanh(),
        nn.RMSNorm(16), nn.Flatten(), nn.Linear(256, 4)),
}  # fmt: skip


@pytest.mark.parametrize("name", some_slow(MODELS, "convolutions", "LSTM"))
def test_a_models_graph_computes_what_pytorch_does(judge, name):
    model, batch = MODELS[name](), images()
    model(batch[0])
    train(judge, model, OPTIMISERS["SGD"], batch, F.cross_entropy)


def test_a_transformers_graph_computes_what_pytorch_does(judge):
    text = torch.randint(11, (4, 8))
    labels = torch.where(text > 8, -100, text)
    train(judge, Attention(), OPTIMISERS["SGD"], (text, labels), F.cross_entropy)


def test_writes_through_views_of_views_reach_the_graph(judge):
    x = torch.arange(24.0).reshape(4, 6).to("xla")
    judge.core.mark_step()
    x[1] = 7.0
    x[:, ::2].mul_(2.0)
    x.t()[3].add_(x[0, 0] + 1)
    x.view(2, 2, 6).unbind(1)[1][:, :2].neg_()
    x.diagonal().fill_(0.5)
    first, *_ = x.split(3, 1)
    first.clamp_(min=0)
    judge.core.mark_step()
    wanted = torch.arange(24.0).reshape(4, 6)
    wanted[1] = 7.0
    wanted[:, ::2] *= 2
    wanted.t()[3] += wanted[0, 0] + 1
    wanted.view(2, 2, 6)[:, 1, :2] *= -1
    wanted.diagonal()[:] = 0.5
    wanted[:, :3] = wanted[:, :3].clamp(min=0)
    assert torch.equal(x.cpu(), wanted)
    assert judge.compared >= 1


@pytest.mark.parametrize(("shape", "wrap"), [((5, 5), False), ((4, 7), False), ((9, 3), True)])
def test_a_diagonal_is_filled_in_place(judge, shape, wrap):
    """As contrastive losses leave a sample's likeness to itself out."""
    there, here = (torch.arange(1.0 * np.prod(shape)).reshape(shape).to(d) for d in ("xla", "cpu"))
    judge.core.mark_step()
    found, wanted = (x.mul(2).fill_diagonal_(-1.0, wrap=wrap) for x in (there, here))
    judge.core.mark_step()
    assert torch.equal(found.cpu(), wanted)
    assert judge.compared == 1


def test_a_buffer_filled_part_by_part_is_joined_once(judge):
    """As DDP fills its buckets; closed form: the elements that are moved, once each."""
    parts = [torch.arange(5.0).to("xla") + i for i in range(8)]
    judge.core.mark_step()
    bucket = torch.zeros(6, 8, device="xla").t().contiguous().view(-1)
    views = [bucket[6 * i : 6 * i + 5] for i in range(8)]
    for view, one in zip(views, parts, strict=True):
        view.copy_(one)
    total = bucket.as_strided((2, 3), (3, 1), 6).sum() + views[7].sum()
    bucket[4:9] += 1
    judge.core.mark_step()
    graph = judge.core.newest.graph
    assert sum(n.type.size for n in graph.nodes if n.operation == "concatenate") <= 2 * 48
    wanted = torch.zeros(8, 6)
    wanted[:, :5] = torch.arange(5.0) + torch.arange(8.0)[:, None]
    assert total.item() == wanted[1].sum() + wanted[7].sum()
    wanted.view(-1)[4:9] += 1
    assert torch.equal(bucket.cpu(), wanted.view(-1))
    assert judge.compared >= 2


def test_tensors_made_from_data_are_on_the_device(judge):
    made = [torch.tensor([1.5, 2.0], device="xla"), torch.tensor(3, device="xla"),
            torch.tensor([], device="xla")]  # fmt: skip
    assert [one.cpu().tolist() for one in made] == [[1.5, 2.0], 3, []]
    assert {one.device.type for one in made} == {"xla"}


# -- models of others -----------------------------------------------------------------------------

SMALL = {"vocab_size": 50, "hidden_size": 16, "num_hidden_layers": 1, "num_attention_heads": 2,
         "intermediate_size": 24, "max_position_embeddings": 16}  # fmt: skip
QUIET = {"hidden_dropout_prob": 0.0, "attention_probs_dropout_prob": 0.0}
GPT = {"vocab_size": 50, "n_embd": 16, "n_layer": 1, "n_head": 2, "n_positions": 16,
       "resid_pdrop": 0.0, "embd_pdrop": 0.0, "attn_pdrop": 0.0}  # fmt: skip
LANGUAGE = {
    "BertForSequenceClassification": ("BertConfig", {**SMALL, **QUIET}),
    "BertForMaskedLM": ("BertConfig", {**SMALL, **QUIET}),
    "RobertaForSequenceClassification": ("RobertaConfig", {**SMALL, **QUIET}),
    "GPT2LMHeadModel": ("GPT2Config", GPT),
    "LlamaForCausalLM": ("LlamaConfig", SMALL),
    "GPTNeoXForCausalLM": ("GPTNeoXConfig", {**SMALL, **QUIET}),
}


@pytest.mark.soak
@pytest.mark.parametrize("name", LANGUAGE)
def test_a_language_models_graph_computes_what_pytorch_does(judge, name):
    transformers = pytest.importorskip("transformers")
    config, sizes = LANGUAGE[name]
    model = getattr(transformers, name)(getattr(transformers, config)(**sizes))
    text = torch.randint(2, 50, (2, 8))
    mask = torch.ones(2, 8, dtype=torch.int64)
    mask[0, 6:] = 0
    labels = torch.tensor([0, 1]) if "Sequence" in name else text

    def loss(out, y):
        return model(input_ids=out, attention_mask=mask.to("xla"), labels=y).loss

    model.to("xla")
    train(judge, Through(model), OPTIMISERS["SGD"], (text, labels), loss)


class Through(nn.Module):
    """Hands its input on; the loss calls the model inside."""

    def __init__(self, model):
        super().__init__()
        self.model = model

    def forward(self, x):
        return x


IMAGES = {
    "resnet18": 64, "resnext50_32x4d": 64, "mobilenetv3_small_050": 64,
}  # fmt: skip


@pytest.mark.soak
@pytest.mark.parametrize("name", IMAGES)
def test_an_image_models_graph_computes_what_pytorch_does(judge, name):
    timm = pytest.importorskip("timm")
    size = {"img_size": IMAGES[name]} if "vit" in name else {}
    model = timm.create_model(name, num_classes=4, drop_rate=0.0, **size)
    train(judge, model, OPTIMISERS["SGD"], images(4, IMAGES[name]), F.cross_entropy, steps=2)
