"""A model's work in closed form, against PyTorch.

Judges: PyTorch's counter of FLOP on the models of ``transformers`` in their published sizes, on the
meta device; the same programs through ``trainium_edu.torch``, in shapes; what autograd keeps.
Skipped without PyTorch; the models of transformers, without it.
"""

from functools import partial

import pytest

from tests.for_each import for_rows

torch = pytest.importorskip("torch")
from torch.utils.flop_counter import FlopCounterMode  # noqa: E402

import trainium_edu.torch as bridge  # noqa: E402
from trainium_edu.cluster import Mlp, Transformer, get_model, work  # noqa: E402
from trainium_edu.torch import core as cores  # noqa: E402
from trainium_edu.torch.elsewhere import elsewhere_refused  # noqa: E402
from trainium_edu.xla.operations.table import OPERATIONS  # noqa: E402

pytestmark = pytest.mark.judge
nn, F = torch.nn, torch.nn.functional
BATCH = 2


def made(model):
    """Return transformers' model of a Transformer's sizes, on the default device."""
    transformers = pytest.importorskip("transformers")
    with elsewhere_refused():  # it loads torchvision, which may be built for another PyTorch
        pytest.importorskip("transformers.models.vit.modeling_vit")
    sizes = {"hidden_size": model.hidden, "num_hidden_layers": model.layers,
             "num_attention_heads": model.heads, "intermediate_size": model.ffn,
             "vocab_size": model.vocabulary, "attn_implementation": "eager"}  # fmt: skip
    if model.head == "classes":
        del sizes["vocab_size"]
        config = transformers.ViTConfig(num_labels=model.classes, **sizes)
        return transformers.ViTForImageClassification(config)
    if model.head == "masked":
        return transformers.BertForPreTraining(transformers.BertConfig(**sizes))
    if model.name == "gpt2":
        return transformers.GPT2LMHeadModel(transformers.GPT2Config(
            n_embd=model.hidden, n_layer=model.layers, n_head=model.heads,
            vocab_size=model.vocabulary, n_positions=model.positions,
            attn_implementation="eager"))  # fmt: skip
    if model.name.startswith("gpt-neox"):
        return transformers.GPTNeoXForCausalLM(transformers.GPTNeoXConfig(**sizes))
    sizes |= {"num_key_value_heads": model.kv_heads, "head_dim": model.head_width}
    return transformers.LlamaForCausalLM(transformers.LlamaConfig(**sizes))


def trained(network, model, device):
    """Do forward and backward once; return the loss, forward's FLOP and all, as PyTorch counts."""
    if model.head == "classes":
        side = int((model.sequence - 1) ** 0.5) * 16
        inputs = torch.zeros(BATCH, 3, side, side)
    else:
        inputs = torch.zeros(BATCH, model.sequence, dtype=torch.long)
    with FlopCounterMode(display=False) as counter:
        out = network(inputs.to(device))
        forward = counter.get_total_flops()
        if model.head == "masked":
            loss = out.prediction_logits.sum() + out.seq_relationship_logits.sum()
        else:
            loss = out.logits.sum()
        loss.backward()
        return loss, forward, counter.get_total_flops()


NEMO = Transformer("nemo", 4, 512, 8, 64, 1000, 2, 1024, gated=True, biases=False, tied=False,
                   norm="rms", head_size=48)  # fmt: skip


@pytest.mark.parametrize(
    "name",
    ["bert-base", "bert-large", "gpt2", "vit-base", "llama2-7b", NEMO,
     *(pytest.param(n, marks=pytest.mark.soak)
       for n in ("llama2-13b", "llama2-70b", "llama3.1-8b", "llama3.1-70b", "gpt-neox-6.9b",
                 "gpt-neox-20b"))],
)  # fmt: skip
def test_published_models_count_as_pytorch_counts_them(name):
    """To the last parameter and the last FLOP, forward and backward."""
    model = get_model(name)
    with torch.device("meta"):
        network = made(model)
    found = work(model, batch=BATCH)
    assert found.parameters == sum(p.numel() for p in network.parameters())
    _, *flops = trained(network, model, "meta")
    assert flops == [found.forward_flops, found.flops]


@pytest.fixture
def core():
    """A core that records shapes and computes nothing."""
    assert bridge.activate(replace=True)
    found = cores.current()
    found.values = "none"
    found.follow()
    yield found
    bridge.deactivate()


SMALL = {
    "bert": Transformer("bert", 2, 64, 4, 32, 100, causal=False, positions=512, head="masked"),
    "gpt2": Transformer("gpt2", 2, 64, 4, 32, 100, positions=32),
    "vit": Transformer("vit", 2, 64, 4, 197, causal=False, positions=197, head="classes",
                       classes=1000, patch_inputs=768),
}  # fmt: skip


@pytest.mark.parametrize("name", SMALL)
def test_programs_on_the_bridge_record_the_same_products(core, name):
    model = SMALL[name]
    network = made(model).to("xla")
    loss, *_ = trained(network, model, "xla")  # alive, so that forward's last product counts
    core.mark_step()
    assert loss.shape == ()
    graph = core.steps[-1].executable.graph
    flops = sum(OPERATIONS[n.operation].flops(n) for n in graph.nodes
                if n.operation.startswith(("dot", "convolution")))  # fmt: skip
    assert flops == work(model, batch=BATCH).flops


class Block(nn.Module):
    """A block of GPT, with dropout, as Korthikanti et al. draw it in figure 2."""

    def __init__(self, h, heads):
        super().__init__()
        self.heads = heads
        self.norm1, self.norm2 = nn.LayerNorm(h), nn.LayerNorm(h)
        self.qkv, self.projection = nn.Linear(h, 3 * h), nn.Linear(h, h)
        self.up, self.down = nn.Linear(h, 4 * h), nn.Linear(4 * h, h)
        self.drop = partial(torch.native_dropout, p=0.1, train=True)

    def forward(self, x):
        b, s, h = x.shape
        q, k, v = (
            t.reshape(b, s, self.heads, -1).transpose(1, 2).reshape(b * self.heads, s, -1)
            for t in self.qkv(self.norm1(x)).chunk(3, -1)
        )
        weights, _ = self.drop(torch.bmm(q, k.transpose(1, 2)).softmax(-1))
        mixed = torch.bmm(weights, v).reshape(b, self.heads, s, -1).transpose(1, 2)
        x = x + self.drop(self.projection(mixed.reshape(b, s, h)))[0]
        return x + self.drop(self.down(F.gelu(self.up(self.norm2(x)))))[0]


def kept_bytes(network, x):
    """Return the bytes that autograd keeps, but for weights and the norms' two numbers per row."""
    weights = {p.untyped_storage().data_ptr() for p in network.parameters()}
    kept = {}

    def keep(tensor):
        if tensor.untyped_storage().data_ptr() not in weights and tensor.shape[-1:] != (1,):
            kept[tensor.untyped_storage().data_ptr()] = tensor  # alive: no address comes twice
        return tensor

    with torch.autograd.graph.saved_tensors_hooks(keep, lambda tensor: tensor):
        out = network(x)
    assert out.requires_grad
    return sum(t.untyped_storage().nbytes() for t in kept.values())


@for_rows("batch, s, h, heads", (2, 16, 32, 4), (1, 48, 16, 2))
def test_autograd_keeps_what_is_counted_for_a_block(batch, s, h, heads):
    """In BF16, with masks of a byte: s b h (34 + 5 a s / h)."""
    block = Block(h, heads).bfloat16()
    x = torch.randn(batch, s, h, dtype=torch.bfloat16, requires_grad=True)
    found = work(Transformer("block", 1, h, heads, s, dropout=True), batch=batch)
    parts = [part for part in found.parts if part.in_blocks]
    assert kept_bytes(block, x) == sum(2 * p.elements + p.masks for p in parts)


def test_autograd_keeps_what_is_counted_for_an_mlp():
    """But for the outputs, which a loss would keep."""
    network = nn.Sequential(
        nn.Linear(64, 256), nn.ReLU(), nn.Linear(256, 256), nn.ReLU(), nn.Linear(256, 10)
    )
    found = work(Mlp("m", (64, 256, 256, 10)), batch=8)
    assert kept_bytes(network, torch.randn(8, 64)) == 4 * found.elements
