"""Values are rounded as the chip rounds.

Judges: ``xla``'s own executor on the recorded graph (`replay`), ``numerics.rounding``, and PyTorch.
The executor rounds once per operation of the graph, the device once per call of PyTorch, so BF16
results agree to some units of the last place (2^-8 of the largest number).
"""

import numpy as np
import pytest

from tests.for_each import for_each, for_rows

torch = pytest.importorskip("torch")

from torch import nn  # noqa: E402

from tests.torch.expressions import TABLES, expressions  # noqa: E402
from tests.torch.replay import core_of_a_test, replayed  # noqa: E402
from trainium_edu.numerics import rounding  # noqa: E402
from trainium_edu.torch.operations import ON_CPU  # noqa: E402
from trainium_edu.xla.executor import Setting  # noqa: E402
from trainium_edu.xla.passes.auto_cast import auto_cast  # noqa: E402

pytestmark = pytest.mark.judge
BF16_NEAREST = {"XLA_USE_BF16": "1", "NEURON_RT_STOCHASTIC_ROUNDING_EN": "0"}


class ViT(nn.Module):
    """A small vision transformer."""

    def __init__(self):
        super().__init__()
        self.patch, self.head = nn.Conv2d(1, 16, 2, 2), nn.Linear(16, 10)
        self.place = nn.Parameter(torch.randn(1, 17, 16) / 50)
        self.first = nn.Parameter(torch.zeros(1, 1, 16))
        self.block = nn.TransformerEncoderLayer(16, 2, 32, 0.0, "gelu", batch_first=True)

    def forward(self, x):
        x = self.patch(x).flatten(2).transpose(1, 2)
        x = torch.cat([self.first.expand(len(x), -1, -1), x], 1) + self.place
        return self.head(self.block(x)[:, 0])


def mlp():
    return nn.Sequential(nn.Flatten(), nn.Linear(64, 32), nn.GELU(), nn.Linear(32, 10))


def cnn():
    return nn.Sequential(
        nn.Conv2d(1, 4, 3), nn.ReLU(), nn.MaxPool2d(2), nn.Flatten(), nn.Linear(36, 10)
    )


MODELS = {"mlp": mlp, "cnn": cnn, "vit": ViT}


def train(model, device, cut=lambda: None, steps=2, optimizer=torch.optim.SGD, **options):
    """Train for some steps; return the loss and the weights."""
    torch.manual_seed(0)
    net = MODELS[model]().to(device)
    x, y = torch.randn(6, 1, 8, 8).to(device), torch.randint(0, 10, (6,)).to(device)
    step = optimizer(net.parameters(), lr=1e-2, **options)
    for _ in range(steps):
        step.zero_grad()
        loss = nn.functional.cross_entropy(net(x), y)
        loss.backward()
        step.step()
        cut()
    return [loss, *net.parameters()]


def cast_as_told(core):
    flags = core.compiler.flags
    return lambda graph: auto_cast(graph, flags.auto_cast, flags.auto_cast_type).after


@for_each("model", MODELS)
def test_fp32_training_is_that_of_pytorch_and_of_the_executor(model):
    want = train(model, "cpu")
    with core_of_a_test() as core, replayed(core) as replay:
        got = train(model, core.device, core.mark_step)
        for ours, theirs in zip(got, want, strict=True):
            torch.testing.assert_close(ours.detach().cpu(), theirs.detach(), rtol=1e-5, atol=1e-7)
    replay.assert_close(1e-5, 1e-6)


@for_rows("foreach", True, False)
@for_rows("optimizer", torch.optim.Adam, torch.optim.AdamW, torch.optim.SGD)
def test_optimizers_give_what_the_executor_gives(optimizer, foreach):
    with core_of_a_test() as core, replayed(core) as replay:
        train("mlp", core.device, core.mark_step, 3, optimizer, foreach=foreach)
    replay.assert_close(1e-5, 1e-6)


@pytest.mark.parametrize("model", MODELS)
@pytest.mark.parametrize(
    "switches", [BF16_NEAREST, {"NEURON_CC_FLAGS": "--auto-cast=all"}], ids=["use", "all"]
)
def test_bf16_training_is_that_of_the_executor_to_a_few_ulp(model, switches, monkeypatch):
    for name, value in switches.items():
        monkeypatch.setenv(name, value)
    with core_of_a_test() as core, replayed(core) as replay:
        replay.graph_of = cast_as_told(core)
        got = train(model, core.device, core.mark_step, steps=1)
        if "XLA_USE_BF16" in switches:  # weights too, which lists of them update
            for one in got:
                assert torch.equal(one.detach().cpu().bfloat16().float(), one.detach().cpu())
    replay.assert_close(0, 8 * 2**-8)


@pytest.mark.parametrize("kind", ["bf16", "fp16", "tf32", "fp8_e4m3"])
@pytest.mark.parametrize("model", ["mlp", "cnn"])
def test_auto_cast_rounds_the_operands_of_products(model, kind, monkeypatch):
    monkeypatch.setenv("NEURON_CC_FLAGS", f"--auto-cast=matmult --auto-cast-type={kind}")
    with core_of_a_test() as core, replayed(core) as replay:
        replay.graph_of = cast_as_told(core)
        train(model, core.device, core.mark_step, steps=1)
    replay.assert_close(0, 1e-5)
    plain = train(model, "cpu", steps=1)
    assert any(np.abs(a - b).max() > 1e-5 for a, b in zip(
        [pair[0] for pair in replay.pairs[:1]], [plain[0].detach().numpy()], strict=True
    ))  # fmt: skip


# -- stochastic -----------------------------------------------------------------------------------


@pytest.fixture
def tossing(monkeypatch):
    monkeypatch.setenv("NEURON_RT_STOCHASTIC_ROUNDING_EN", "1")
    monkeypatch.setenv("NEURON_RT_STOCHASTIC_ROUNDING_SEED", "7")
    with core_of_a_test() as core:
        assert core.rounded.mode == "stochastic"
        yield core


def test_bf16_is_rounded_at_random_from_fp32_and_kept_on_average(tossing):
    x = torch.linspace(1, 2, 1000).bfloat16()
    step = torch.full((1000,), 0.001).bfloat16()
    got = (x.to(tossing.device) + step.to(tossing.device)).cpu()
    exact = x.float() + step.float()
    draws = [rounding.round_floats(exact.numpy(), "bf16", "stochastic", seed=7, step=n)
             for n in range(1, 9)]  # fmt: skip
    assert got.dtype is torch.bfloat16
    assert any(np.array_equal(got.float().numpy(), one) for one in draws)
    assert not torch.equal(got, x + step)
    for weight in (torch.ones(4096, dtype=torch.bfloat16), torch.ones(8192).bfloat16()[::2]):
        there = weight.to(tossing.device)
        part = there.view(64, 64).t()
        for _ in range(100):
            part.add_(1e-4)
        assert abs(there.float().mean().item() - 1.01) < 6e-4  # four deviations
    assert (weight + 1e-4).eq(1).all()  # to nearest, nothing is left of it


def test_moves_are_not_rounded_again_and_integers_never(tossing):
    x = torch.randn(64, 64).bfloat16()
    there, n = x.to(tossing.device), torch.arange(64)
    moved = torch.cat([there.t()[n.to(tossing.device)].clone(), there[1:3].contiguous()])
    assert torch.equal(moved.cpu(), torch.cat([x.t()[n], x[1:3]]))
    assert torch.equal((n.to(tossing.device) * 3).cpu(), n * 3)


def test_each_step_draws_other_bits_and_a_seed_repeats_them(tossing):
    x = torch.full((256,), 1.001)

    def three(core):
        found = []
        for _ in range(3):
            found.append((x.to(core.device).to(torch.bfloat16) * 1.003).float().cpu())
            core.mark_step()
        return found

    first = three(tossing)
    assert not torch.equal(first[0], first[1])
    with core_of_a_test() as another:
        assert all(map(torch.equal, first, three(another)))


def test_use_bf16_rounds_results_at_random_and_host_data_to_nearest(monkeypatch):
    """The host's casts are C++'s, to nearest: ``CopyTensors`` in pytorch/xla's tensor_util.cpp."""
    monkeypatch.setenv("XLA_USE_BF16", "1")
    with core_of_a_test() as core:
        x = torch.full((4096,), 1.001).to(core.device)
        assert x.cpu().unique().tolist() == [1.0]
        x = x + torch.full((4096,), 0.001, device=core.device)
        assert set(x.cpu().unique().tolist()) == {1.0, 1.0078125}
        assert abs(x.cpu().mean().item() - 1.001) < 3e-4


_MEETINGS = expressions("meetings", "x, n")


@pytest.mark.parametrize("kind", ["XLA_USE_BF16", "XLA_DOWNCAST_BF16", "bfloat16"])
@pytest.mark.parametrize("name", _MEETINGS)
def test_numbers_of_the_host_meet_bf16_tensors_in_bf16(name, kind, monkeypatch):
    """Judge: PyTorch in FP32 with BF16 operands, numbers included, rounded once.

    So pytorch/xla: a scalar becomes device data of its tensor's type (``GetIrValueForScalar``).
    """
    function, (_, number) = _MEETINGS[name], TABLES["meetings"][name]
    if kind.startswith("XLA"):
        monkeypatch.setenv(kind, "1")
        monkeypatch.setenv("NEURON_RT_STOCHASTIC_ROUNDING_EN", "0")
    x = torch.tensor([0.5, 1.0, 1.5, 3.0])
    want = function(x, torch.tensor(number).bfloat16().item())
    with core_of_a_test() as core:
        given = x.bfloat16() if kind == "bfloat16" else x
        got = function(given.to(core.device), number).cpu()
    want = want if want.dtype is torch.bool else want.bfloat16()
    torch.testing.assert_close(got.to(want.dtype), want, rtol=0, atol=0, equal_nan=True)


@pytest.mark.parametrize("optimizer", [torch.optim.Adam, torch.optim.SGD])
def test_rates_of_optimizers_are_bf16_numbers(optimizer, monkeypatch):
    """Adam's 0.999 is 1 in BF16: nothing of the second moment decays, as the executor finds too."""
    for name, value in BF16_NEAREST.items():
        monkeypatch.setenv(name, value)
    with core_of_a_test() as core, replayed(core) as replay:
        weight = nn.Parameter(torch.ones(4).to(core.device))
        step = optimizer([weight], lr=0.1003)
        for _ in range(3):
            weight.grad = torch.ones(4).to(core.device)
            step.step()
            core.mark_step()
        if optimizer is torch.optim.Adam:
            decayed = torch.tensor(0.001).bfloat16().item()
            squares = step.state[weight]["exp_avg_sq"].cpu()
            torch.testing.assert_close(squares, torch.full((4,), 3 * decayed), rtol=2**-7, atol=0)
        else:
            lr = torch.tensor(0.1003).bfloat16()
            want = torch.tensor(1.0).bfloat16()
            for _ in range(3):
                want = (want.float() - lr.float()).bfloat16()
            assert weight.tolist() == [want.item()] * 4
    replay.assert_close(0, 2**-8)


def test_downcast_makes_fp32_of_fp64_and_use_bf16_does_not(monkeypatch):
    """AWS's page on variables: DOWNCAST maps torch.double to FP32, USE_BF16 both to BF16."""
    given = torch.tensor([1.001], dtype=torch.float64)
    for name, wanted in (("XLA_DOWNCAST_BF16", 1.001), ("XLA_USE_BF16", 1.0)):
        monkeypatch.setenv(name, "1")
        with core_of_a_test() as core, replayed(core) as replay:
            assert abs((given.to(core.device) * 1.0).cpu().item() - wanted) < 1e-6
        replay.assert_close(0, 1e-6)
        monkeypatch.delenv(name)


def test_training_in_bf16_with_tosses_stays_near_that_of_the_executor(monkeypatch):
    monkeypatch.setenv("XLA_USE_BF16", "1")
    with core_of_a_test() as core, replayed(core, Setting("stochastic")) as replay:
        train("mlp", core.device, core.mark_step, steps=1)
    replay.assert_close(0, 16 * 2**-8)


def test_a_plain_core_adds_nothing_to_a_call(monkeypatch):
    with core_of_a_test() as core:
        assert core.rounded.is_plain
        a, b = torch.randn(8, 8), torch.randn(8, 8)
        assert torch.equal((a.to(core.device) @ b.to(core.device)).cpu(), a @ b)


@for_rows("kind", torch.float32, torch.bfloat16, torch.float16, torch.float64)
@for_rows("dim", 0, 1, -1)
def test_the_quick_safe_softmax_has_the_bits_of_pytorchs(kind, dim):
    """The outside judge is PyTorch's own, which looks at every number for masked rows."""
    quick, its_own = ON_CPU["aten::_safe_softmax"], torch.ops.aten._safe_softmax.default
    whole = torch.randn(5, 7, dtype=kind, generator=torch.Generator().manual_seed(1))
    masked, partly, broken, endless = (whole.clone() for _ in range(4))
    masked[2], masked[:, 3], partly[1, 2:] = -torch.inf, -torch.inf, -torch.inf
    broken[3, 3], endless[0, 1] = torch.nan, torch.inf
    for x in (whole, masked, partly, broken, endless, whole[:0], whole[:, :0]):
        found, wanted = quick(x, dim), its_own(x, dim)
        assert found.dtype == wanted.dtype
        torch.testing.assert_close(found, wanted, rtol=0, atol=0, equal_nan=True)
    assert (quick(masked, dim)[2] == 0).all() or dim == 0
    assert quick(whole, dim, torch.float32).dtype is torch.float32
    assert quick(whole.to("meta"), dim).shape == whole.shape


@pytest.mark.parametrize("scale", [None, 0.3])
def test_attention_by_one_call_has_the_bits_of_pytorchs_parts(core, scale):
    """Judge: PyTorch's plain way (``SDPBackend.MATH``) on the CPU, and autograd on it.

    Where a script asks for the plain way it gets its parts, which can be differentiated twice.
    """
    from torch.nn.attention import SDPBackend, sdpa_kernel

    torch.manual_seed(0)
    given = [torch.randn(2, n, 3, k).transpose(1, 2) for n, k in ((5, 4), (7, 4), (7, 6))]
    grad = torch.randn(2, 5, 3, 6).transpose(1, 2)
    attention = nn.functional.scaled_dot_product_attention

    def run(device, create_graph=False):
        there = [t.to(device).detach().requires_grad_() for t in given]
        out = attention(*there, scale=scale)
        back = torch.autograd.grad(out, there, grad.to(device), create_graph=create_graph)
        twice = torch.autograd.grad(back[0].square().sum(), there[1]) if create_graph else ()
        return out, *back, *twice

    def calls():
        return [place.call.counter for place in core.tape.path if place.call]

    ours, recorded = run(core.device), calls()
    assert recorded.count("aten::_scaled_dot_product_efficient_attention") == 1
    with sdpa_kernel(SDPBackend.MATH):
        parts, wanted = run(core.device, True), run("cpu", True)
    assert calls().count("aten::_scaled_dot_product_efficient_attention") == 1
    for got, apart, right in zip(ours, parts, wanted, strict=False):
        assert torch.equal(got.cpu(), right)
        assert torch.equal(apart.cpu(), right)
    torch.testing.assert_close(parts[-1].cpu(), wanted[-1])
