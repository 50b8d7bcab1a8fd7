"""The device does what a device of PyTorch does: make, move, print, copy, store, train.

Judge: PyTorch on the CPU, by the same lines.
"""

import copy
import importlib
import io
import pickle

import pytest

torch = pytest.importorskip("torch")

from torch import nn  # noqa: E402
from torch.utils._pytree import tree_leaves  # noqa: E402

from tests.torch.expressions import expressions  # noqa: E402
from tests.torch.replay import replayed  # noqa: E402

pytestmark = pytest.mark.judge
F = nn.functional


@pytest.fixture
def device(core):
    return core.device


MADE = expressions("made", "d")


@pytest.mark.parametrize("how", MADE)
def test_tensors_are_made_on_the_device_as_on_the_cpu(device, how):
    want, got = MADE[how]("cpu"), MADE[how](device)
    assert got.device == device
    assert got.dtype == want.dtype
    assert got.shape == want.shape
    torch.testing.assert_close(got.cpu(), want)


def test_random_numbers_are_those_of_the_cpu(device):
    for draw in (
        torch.rand,
        torch.randn,
        lambda n, device: torch.empty(n, device=device).normal_(),
    ):
        torch.manual_seed(3)
        got = draw(5, device=device)
        torch.manual_seed(3)
        assert torch.equal(got.cpu(), draw(5, device="cpu"))


def test_it_prints_as_pytorch_xla_does_and_refuses_numpy(device):
    x = torch.tensor([[1.5, 2], [3, 4]], device=device)
    assert repr(x) == "tensor([[1.5000, 2.0000],\n        [3.0000, 4.0000]], device='xla:0')"
    assert f"{x.sum():.2f}" == "10.50"
    assert str(x.device) == "xla:0"
    assert x.is_xla
    assert repr(nn.Linear(1, 1).to(device).weight).startswith("Parameter containing:\ntensor([[")
    assert x.tolist() == [[1.5, 2], [3, 4]]
    assert isinstance(x, torch.Tensor)
    with pytest.raises(TypeError, match=r"can't convert xla:0 device type tensor to numpy\. Use "):
        torch.ones(2, device=device).numpy()
    assert torch.ones(2, device=device).cpu().numpy().tolist() == [1, 1]


def test_modules_are_copied_moved_and_cast_with_shared_weights(device):
    net = nn.Sequential(nn.Linear(2, 2), nn.BatchNorm1d(2)).to(device)
    twin = copy.deepcopy(net)
    with torch.no_grad():
        twin[0].weight.zero_()
    assert isinstance(twin[0].weight, nn.Parameter)
    assert twin[0].weight.requires_grad
    assert net[0].weight.abs().sum() > 0
    twin.load_state_dict(net.state_dict())
    assert torch.equal(twin[0].weight, net[0].weight)
    twin.load_state_dict({name: value.cpu() for name, value in net.state_dict().items()})
    assert twin.bfloat16()[0].weight.dtype is torch.bfloat16
    assert type(twin.float().cpu()[0].weight) is nn.Parameter
    net = nn.ModuleList([nn.Linear(2, 2).to(device), nn.Linear(2, 2).to(device)])
    net[1].weight = net[0].weight
    twin = copy.deepcopy(net)
    assert twin[0].weight is twin[1].weight
    assert twin[0].weight is not net[0].weight


@pytest.mark.parametrize("place", ["", "cpu", "xla", "xla:0"])
@pytest.mark.parametrize("made_on", ["cpu", "xla"])
def test_weights_are_saved_and_loaded(device, made_on, place):
    net, file = nn.Linear(2, 2).to(made_on), io.BytesIO()
    torch.save(net.state_dict(), file)
    file.seek(0)
    got = torch.load(file, **({"map_location": place} if place else {}))["weight"]
    assert got.device.type == (place or made_on).partition(":")[0]
    assert torch.equal(got.cpu(), net.weight.detach().cpu())
    assert (type(got) is torch.Tensor) == (got.device.type == "cpu")


def test_whole_modules_and_optimisers_are_saved_and_loaded(device):
    net, file = nn.Linear(2, 2).to(device), io.BytesIO()
    step = torch.optim.Adam(net.parameters())
    net(torch.ones(1, 2, device=device)).sum().backward()
    step.step()
    torch.save((net, step.state_dict()), file)
    file.seek(0)
    twin, state = torch.load(file, weights_only=False)
    assert isinstance(twin.weight, nn.Parameter)
    assert twin.weight.device == device
    step.load_state_dict(state)
    assert pickle.loads(pickle.dumps(torch.ones(2, device=device))).device == device


def test_writes_through_data_and_without_grad_reach_the_weight(device):
    net = nn.Linear(2, 2).to(device)
    weight = net.weight
    weight.data = torch.zeros(2, 2, device=device)
    weight.data.add_(1)
    assert weight.sum() == 4
    weight.data.copy_(torch.full((2, 2), 3.0))
    weight.data[0] = 5.0
    assert weight.sum() == 16
    net(torch.ones(1, 2, device=device)).sum().backward()
    weight.grad.data.zero_()
    assert weight.grad.sum() == 0
    with torch.no_grad():
        weight -= 0.5 * weight
    assert weight.sum() == 8


@pytest.mark.parametrize("layer", [nn.LSTM, nn.GRU, nn.RNN])
def test_recurrent_layers_and_their_gradients(core, layer):
    torch.manual_seed(0)
    net, x = layer(3, 4, 2, batch_first=True, bidirectional=True), torch.randn(2, 5, 3)
    want = net(x)[0]
    want.sum().backward()
    gradient = net.weight_ih_l0.grad.clone()
    net.zero_grad()
    with replayed(core) as replay:
        net.to(core.device)
        got = net(x.to(core.device))[0]
        got.sum().backward()
        core.mark_step()
    torch.testing.assert_close(got.cpu(), want)
    torch.testing.assert_close(net.weight_ih_l0.grad.cpu(), gradient)
    replay.assert_close(1e-5, 1e-6)
    assert not core.steps


@pytest.mark.parametrize("layer", [nn.LSTMCell, nn.GRUCell, nn.RNNCell])
def test_recurrent_cells_and_their_gradients(core, layer):
    net, x = layer(3, 4), torch.randn(2, 3)
    want = tree_leaves(net(x))
    sum(one.sum() for one in want).backward()
    gradient = net.weight_ih.grad.clone()
    net.zero_grad()
    net.to(core.device)
    with torch.inference_mode():
        inferred = tree_leaves(net(x.to(core.device)))
    core.mark_step()
    with replayed(core) as replay:
        got = tree_leaves(net(x.to(core.device)))
        sum(one.sum() for one in got).backward()
        core.mark_step()
    for one, other, right in zip(got, inferred, want, strict=True):
        torch.testing.assert_close(one.cpu(), right)
        torch.testing.assert_close(other.cpu(), right)
    torch.testing.assert_close(net.weight_ih.grad.cpu(), gradient)
    replay.assert_close(1e-5, 1e-6)
    assert not any(step.kind == "fallback" for step in core.steps)


def test_dropout_draws_with_pytorch_and_is_drawn_in_the_graph(core):
    y = F.dropout(torch.ones(1000, device=core.device), 0.5)
    core.mark_step()
    assert 400 < (y == 0).sum() < 600
    names = [node.operation for node in core.steps[0].executable.graph.nodes]
    assert "random_keep" in names


def test_gradients_are_clipped_on_the_device(device):
    weight = torch.ones(4, device=device, requires_grad=True)
    (weight * 3).sum().backward()
    norm = nn.utils.clip_grad_norm_([weight], 1.0)
    assert norm.device == device
    assert norm.item() == pytest.approx(6)
    assert weight.grad.norm().item() == pytest.approx(1)


def test_modes_wrappers_and_transforms_of_pytorch_work(device):
    """As where PyTorch knows of no accelerator but XLA's."""
    with torch.inference_mode():
        x = torch.ones(2, 3, device=device)
        x[0].mul_(2)
        assert F.linear(x, torch.ones(1, 3, device=device)).tolist() == [[6], [3]]
    with torch.device(device):
        assert nn.Linear(2, 2).weight.device == device
    net, x = nn.Linear(3, 2).to(device), torch.ones(4, 3, device=device)
    assert torch.equal(nn.DataParallel(net)(x).cpu(), net(x).cpu())
    data = torch.utils.data.TensorDataset(torch.ones(4, 2))
    batches = torch.utils.data.DataLoader(data, batch_size=2, pin_memory=True)
    assert [x.to(device).sum().item() for (x,) in batches] == [4, 4]
    x = torch.ones(3, device=device)
    assert torch.func.grad(lambda x: (x * x).sum())(x).tolist() == [2, 2, 2]
    assert torch.vmap(lambda x: x * 2)(x).tolist() == [2, 2, 2]


def test_an_encoder_is_evaluated_with_padding_as_on_the_cpu(core):
    """On the CPU PyTorch takes nested tensors for it, which it never does on XLA."""
    layer = nn.TransformerEncoderLayer(8, 2, 16, batch_first=True)
    encoder = nn.TransformerEncoder(layer, 2).eval()
    x, padded = torch.randn(2, 5, 8), torch.arange(5) >= torch.tensor([[5], [3]])
    with torch.no_grad():
        expected = encoder(x, src_key_padding_mask=padded)
        found = encoder.to("xla")(x.to("xla"), src_key_padding_mask=padded.to("xla")).cpu()
    torch.testing.assert_close(found[~padded], expected[~padded])
    names = core.compiler.metrics.counter_names()
    assert not [one for one in names if "nested" in one]


@pytest.mark.parametrize("kind", [torch.tensor, tuple])
def test_a_loss_of_sequences_takes_lengths_on_the_host(device, kind):
    """Judge: PyTorch on the CPU."""
    scores, labels = torch.randn(12, 2, 5), torch.randint(1, 5, (2, 4))
    lengths, found = [kind((12, 9)), kind((4, 2))], []
    for place in ("cpu", device):
        x = scores.clone().to(place).requires_grad_()
        loss = F.ctc_loss(x.log_softmax(-1), labels.to(place), *lengths, zero_infinity=True)
        loss.backward()
        found.append((loss.detach().cpu(), x.grad.cpu()))
    torch.testing.assert_close(*found)


def test_what_pytorch_makes_of_operations_with_rows_does_not_fall_back(core):
    core.compiler.metrics.clear_counters()
    x = torch.arange(9.0).reshape(3, 3).to("xla")
    assert x.diag().tolist() == [0.0, 4.0, 8.0]
    assert torch._is_all_true(x > -1)
    assert set(core.compiler.metrics.fallbacks()) <= {"aten::_local_scalar_dense"}


def test_tied_weights_are_written_once_where_storages_are_asked_for(core, tmp_path):
    """Judge: safetensors, which looks for shared storages, and reads back."""
    safetensors = pytest.importorskip("safetensors.torch")
    weight = nn.Parameter(torch.randn(3, 2).to("xla"))
    state = {"one": weight, "other": weight, "third": weight.detach() * 2}
    assert {one.untyped_storage().data_ptr() for one in state.values()} == {0}
    safetensors.save_file(state, tmp_path / "kept")
    found = safetensors.load_file(tmp_path / "kept")
    for name, one in state.items():
        torch.testing.assert_close(found[name], one.detach().cpu())


NOTHING = expressions("of_nothing", "x")


@pytest.mark.parametrize("how", NOTHING)
def test_tensors_without_elements_live_over_a_cut_and_have_gradients(core, how):
    found = []
    for place in ("cpu", core.device):
        x = torch.arange(12.0).reshape(4, 3).to(place).requires_grad_()
        y = NOTHING[how](x) + 0
        core.mark_step()
        y.sum().backward()
        core.mark_step()
        found.append((y.detach().cpu(), x.grad.cpu()))
    torch.testing.assert_close(*found, equal_nan=True)


def test_an_evaluated_norm_keeps_its_graph_over_a_cut(core):
    core.compiler.metrics.clear_counters()
    found = []
    for place in ("cpu", core.device):
        net = nn.BatchNorm2d(2).eval().to(place)
        y = net(torch.arange(16.0).reshape(2, 2, 2, 2).to(place))
        core.mark_step()
        y.square().sum().backward()
        found.append((y.detach().cpu(), net.weight.grad.cpu()))
    torch.testing.assert_close(*found)
    assert not [one for one in core.compiler.metrics.counter_names() if "aten" in one]


def test_kernels_give_results_on_their_arguments_device_and_write_to_arguments(device):
    nki = importlib.import_module("trainium_edu.nki.beta1")
    nl = nki.language

    @nki.jit
    def exponential(x):
        out = nl.ndarray(x.shape, dtype=x.dtype, buffer=nl.shared_hbm)
        nl.store(out, nl.exp(nl.load(x)))
        return out

    found = exponential(torch.full((2, 3), 2.0, device=device))
    assert found.device.type == torch.device(device).type
    torch.testing.assert_close(found.cpu(), torch.full((2, 3), 2.0).exp())
    nl = importlib.import_module("trainium_edu.nki.beta1.language")
    neuronx = importlib.import_module("trainium_edu.torch.stand_ins.neuronx")

    @neuronx.nki_jit
    def doubled(x, out):
        nl.store(out, nl.multiply(nl.load(x), 2.0))

    x, out = torch.ones(4, 8, device=device), torch.zeros(4, 8, device=device)
    doubled(x, out)
    torch.testing.assert_close(out.cpu(), 2 * x.cpu())
