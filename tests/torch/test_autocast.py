"""``torch.autocast`` on the device casts by the lists of PyTorch/XLA.

Judges: dtypes that the lists give, and ``xla``'s own executor (`replay`).
"""

import pytest

torch = pytest.importorskip("torch")

from torch import nn  # noqa: E402

from tests.torch.replay import replayed  # noqa: E402

pytestmark = pytest.mark.judge
F = nn.functional
BF16, FP32 = torch.bfloat16, torch.float32


def net_on(device):
    torch.manual_seed(0)
    return nn.Sequential(nn.Linear(8, 16), nn.LayerNorm(16), nn.GELU(), nn.Linear(16, 4)).to(device)


def test_products_run_in_bf16_and_losses_in_fp32(core):
    net, x = net_on(core.device), torch.randn(5, 8).to(core.device)
    y = torch.tensor([0, 1, 2, 3, 0]).to(core.device)
    with replayed(core) as replay:
        with torch.autocast(device_type="xla", dtype=BF16):
            out = net(x)
            loss = F.cross_entropy(out, y)
        loss.backward()
        assert (out.dtype, loss.dtype, net[0].weight.grad.dtype) == (BF16, FP32, FP32)
        core.mark_step()
    replay.assert_close(0, 4 * 2**-8)


def test_each_operation_is_cast_as_its_list_says(core):
    a, b = (torch.randn(4, 4).to(core.device) for _ in "ab")
    image = torch.randn(2, 1, 6, 6).to(core.device)
    kernel = torch.randn(2, 1, 3, 3).to(core.device)
    with torch.autocast("xla"):  # to BF16, if nothing is said
        half = a @ b
        found = {
            "conv2d": F.conv2d(image, kernel), "relu": F.relu(a), "bmm": a[None] @ b[None],
            "einsum": torch.einsum("ij,jk->ik", a, b), "stack": torch.stack([half, half]),
        }  # fmt: skip
        wide = {
            "softmax": F.softmax(half, -1), "pow": half**2, "mse": F.mse_loss(half, half),
            "cat": torch.cat([half, a]), "sum": a.sum(), "add": a + half,
        }  # fmt: skip
        with torch.autocast("xla", enabled=False):
            wide["off"] = a @ b
    assert {name: one.dtype for name, one in found.items()} == dict.fromkeys(found, BF16)
    assert {name: one.dtype for name, one in wide.items()} == dict.fromkeys(wide, FP32)
    assert (a @ b).dtype is FP32


def test_a_guides_recipe_and_a_scaler_run_and_the_cpu_is_left_alone(core, monkeypatch):
    monkeypatch.setattr(torch.cuda, "is_bf16_supported", lambda: True)
    net, x = net_on(core.device), torch.randn(5, 8).to(core.device)

    @torch.autocast("xla", dtype=BF16)
    def forward():
        return net(x)

    assert forward().dtype is BF16
    with torch.autocast("cpu", dtype=BF16):
        assert nn.Linear(2, 2)(torch.ones(1, 2)).dtype is BF16
        assert net(x).dtype is FP32
    weight = torch.ones(4, device=core.device, requires_grad=True)
    step, scaler = torch.optim.SGD([weight], lr=0.5), torch.amp.GradScaler("xla")
    scaler.scale(weight.sum()).backward()
    scaler.step(step)
    scaler.update()
    assert weight.tolist() == [0.5] * 4


@pytest.mark.parametrize("reentrant", [True, False])
def test_a_checkpoint_runs_again_in_the_same_types(core, reentrant):
    net, x = net_on(core.device), torch.randn(5, 8).to(core.device).requires_grad_()
    with torch.autocast("xla", dtype=BF16):
        out = torch.utils.checkpoint.checkpoint(net, x, use_reentrant=reentrant)
    out.float().sum().backward()
    assert out.dtype is BF16
    assert x.grad.dtype is FP32
