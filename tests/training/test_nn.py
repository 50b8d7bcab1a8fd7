"""Modules: names, scopes, moving, dropout.  Judge: PyTorch's names and defaults as documented.

Their arithmetic is compared with PyTorch in ``test_against_torch.py``.
"""

import numpy as np
import pytest

from trainium_edu.training import nn
from trainium_edu.xla.device import Device
from trainium_edu.xla.executor import Setting
from trainium_edu.xla.graph import GraphError, walk
from trainium_edu.xla.tensor import as_tensor


def test_parameters_have_pytorchs_names():
    block = [
        "self_attn.in_proj_weight", "self_attn.in_proj_bias", "self_attn.out_proj.weight",
        "self_attn.out_proj.bias", "linear1.weight", "linear1.bias", "linear2.weight",
        "linear2.bias", "norm1.weight", "norm1.bias", "norm2.weight", "norm2.bias",
    ]  # fmt: skip
    assert [name for name, _ in nn.TransformerBlock(8, 2, 16).named_parameters()] == block
    assert [name for name, _ in nn.MLP(4, 3, 2).named_parameters()] == [
        "0.weight", "0.bias", "2.weight", "2.bias",
    ]  # fmt: skip


def test_initial_weights_are_pytorchs_defaults():
    nn.manual_seed(3)
    linear, conv = nn.Linear(400, 300), nn.Conv2d(16, 50, 5)
    for layer, inputs in ((linear, 400), (conv, 16 * 25)):  # kaiming uniform with a = sqrt(5)
        bound = inputs**-0.5
        for values in (layer.weight, layer.bias):
            assert np.abs(values).max() <= bound
            assert np.abs(values).max() > 0.97 * bound
        assert layer.weight.std() == pytest.approx(bound / 3**0.5, rel=0.02)
    again = nn.manual_seed(3) or nn.Linear(400, 300)
    np.testing.assert_array_equal(again.weight, linear.weight)


def test_calls_open_scopes_that_name_the_layers():
    device = Device()
    model = nn.ViT(depth=2).to(device)
    logits = model(as_tensor(np.zeros((1, 1, 8, 8), np.float32), device))
    scopes = {node.scope for node in walk([logits.as_node()])}
    assert {"embedding", "encoder.0/self_attn", "encoder.1/self_attn/out_proj", "encoder.1/linear2",
            "encoder.0/norm1", "head"} <= scopes  # fmt: skip


def test_a_state_goes_out_and_in_again():
    device = Device()
    one, other = nn.MLP(5, 4, 3).to(device), nn.MLP(5, 4, 3)
    state = one.state_dict()
    assert not np.array_equal(other.state_dict()["0.weight"], state["0.weight"])
    other.load_state_dict(state)
    other.to(device)
    x = as_tensor(np.ones((2, 5), np.float32), device)
    a, b = one(x), other(x)
    device.mark_step()
    np.testing.assert_array_equal(a.numpy(), b.numpy())
    one.load_state_dict({name: 0 * value for name, value in state.items()})
    a = one(x)
    device.mark_step()
    assert not a.numpy().any()


def test_a_state_that_does_not_fit_is_refused_and_nothing_is_loaded():
    model = nn.MLP(5, 4, 3)
    before = model.state_dict()
    with pytest.raises(ValueError, match=r"'2\.bias' is missing"):
        model.load_state_dict({k: v for k, v in before.items() if k != "2.bias"})
    with pytest.raises(ValueError, match=r"'3\.bias' is not a parameter"):
        model.load_state_dict(before | {"3.bias": before["2.bias"]})
    with pytest.raises(ValueError, match=r"'2\.bias' has shape \(4,\), and takes \(3,\)"):
        model.load_state_dict({k: v + 1 for k, v in before.items()} | {"2.bias": np.zeros(4)})
    for name, value in model.state_dict().items():
        np.testing.assert_array_equal(value, before[name])


def test_a_shared_weight_stays_one_and_sums_its_gradients():
    device = Device()
    model = nn.Sequential(nn.Linear(3, 3, bias=False), nn.Linear(3, 3, bias=False))
    first, second = (layer for _, layer in model.children())
    second.weight = first.weight
    model.to(device)
    assert first.weight is second.weight
    assert len(model.parameters()) == 1
    x = as_tensor(np.eye(3, dtype=np.float32), device)
    model(x).sum().backward()
    device.mark_step()
    w = first.weight.numpy()  # the sum of all elements of W W, by hand
    expected = np.add.outer(w.sum(0), w.sum(1))
    np.testing.assert_allclose(first.weight.grad.numpy(), expected, rtol=1e-5)


def test_weights_on_the_host_are_an_error_that_says_what_to_do():
    with pytest.raises(GraphError, match=r"call model\.to"):
        nn.Linear(2, 2)(as_tensor(np.ones((1, 2), np.float32), Device()))


def test_a_causal_model_does_not_look_ahead():
    device = Device()
    model = nn.Decoder(11, 6, 16, 1, 2, 16).to(device)
    numbers = np.array([[1, 2, 3, 4, 5, 6]], np.int32)
    other = numbers.copy()
    other[0, 4] = 9
    a, b = (model(as_tensor(v, device)) for v in (numbers, other))
    device.mark_step()
    same = (a.numpy() == b.numpy()).all(-1)[0]
    assert same.tolist() == [True, True, True, True, False, False]


def dropped(layer, device, count=3):
    """Return the results of calls in steps of their own."""
    found = []
    for _ in range(count):
        y = layer(as_tensor(np.ones((200, 50), np.float32), device))
        device.mark_step()
        found.append(y.numpy())
    return found


def test_dropout_keeps_its_share_and_the_mean_and_never_compiles_anew():
    device, layer = Device(), nn.Dropout(0.25)
    one, two, three = dropped(layer, device)
    assert np.unique(one).tolist() == [0, np.float32(1 / 0.75)]
    assert (one == 0).mean() == pytest.approx(0.25, abs=4 * (0.25 * 0.75 / one.size) ** 0.5)
    assert not np.array_equal(one, two)
    assert not np.array_equal(two, three)
    assert [event.kind for event in device.compiler.history].count("compiled") == 1
    layer.eval()
    assert (dropped(layer, device, 1)[0] == 1).all()


def test_dropout_repeats_with_its_seed_and_differs_between_replicas():
    def draw(replicas):
        nn.manual_seed(5)
        return dropped(nn.Dropout(0.5), Device(setting=Setting(replicas=replicas)), 1)[0]

    np.testing.assert_array_equal(draw(None), draw(None))
    four = draw(4)
    assert four.shape == (4, 200, 50)
    agree = [(four[0] == one).mean() for one in four[1:]]
    assert agree == pytest.approx([0.5] * 3, abs=0.03)
    np.testing.assert_array_equal(four[0], draw(None))


def test_pooling_that_leaves_pixels_over_is_refused():
    device = Device()
    with pytest.raises(GraphError, match="windows of 3 do not fill an image of 8 x 8"):
        nn.MaxPool2d(3)(as_tensor(np.ones((1, 1, 8, 8), np.float32), device))
