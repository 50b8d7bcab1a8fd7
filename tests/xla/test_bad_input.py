"""What goes wrong says so in one sentence, at the user's line.

Judge: the sentences themselves, the functions that this file knows, and the state before.
"""

import os
import sys
import traceback

import numpy as np
import pytest

from tests.for_each import for_each, raises
from trainium_edu.specs.errors import NkiValidationError
from trainium_edu.xla import numpy as xnp
from trainium_edu.xla import xm
from trainium_edu.xla.device import Device
from trainium_edu.xla.graph import GraphError
from trainium_edu.xla.tensor import as_tensor


def on(device, *shapes, dtype="float32"):
    return [as_tensor(np.ones(s), device, dtype) for s in shapes]


def add(device):
    a, b = on(device, (3, 4), (5,))
    return a + b


def stretched(device):
    a, b = on(device, (2, 3, 4), (2, 4))
    return a * b


def where(device):
    a, b = on(device, (4,), (2, 3))
    return xnp.where(a > 0, a, b)


def product(device):
    a, b = on(device, (2, 3), (4, 5))
    return a @ b


def unsigned(device):
    return as_tensor([1], device, "uint32") + as_tensor([1], device, "int32")


def eight_bits(device):
    return as_tensor([1.0], device, "float8_e4m3") * as_tensor([1.0], device, "bfloat16")


def two_devices(device):
    return as_tensor([1.0], device) + as_tensor([1.0], Device("xla:7"))


def two_devices_joined(device):
    return xnp.concatenate([as_tensor([1.0], device), as_tensor([1.0], Device("xla:7"))])


def truth(device):
    return bool(as_tensor([1.0, 2.0], device) > 1)


def element(device):
    (x,) = on(device, (2, 2))
    x[0] = 1.0


def reset(device):
    (x,) = on(device, (2,))
    device.reset()
    return x + 1


def reset_value(device):
    (x,) = on(device, (2,))
    device.reset()
    return x.numpy()


def reshaping(device):
    (x,) = on(device, (1,))
    x += np.ones(3, np.float32)


def integers(device):
    x = as_tensor([1], device)
    x += 0.5


def unknown_dtype(device):
    return as_tensor([1.0], device, "float65")


def words(device):
    return as_tensor(["a"], device)


def too_large(device):
    return as_tensor([2**31], device)


def too_large_number(device):
    return as_tensor([1], device) + 2**31


def twice(device):
    w = as_tensor([2.0], device).requires_grad_()
    loss = w.sum()
    loss.backward()
    loss.backward()


def too_late(device):
    w = as_tensor([2.0], device).requires_grad_()
    loss = (w * 3).sum()
    device.mark_step()
    loss.backward()


def nothing_to_train(device):
    (as_tensor([2.0], device) * 3).sum().backward()


def many(device):
    (as_tensor([2.0, 3.0], device).requires_grad_() * 3).backward()


def integer_gradient(device):
    as_tensor([2], device).requires_grad_()


def item(device):
    return as_tensor([2.0, 3.0], device).item()


SENTENCES = {
    add: r"add of f32\[3,4\] and f32\[5\]: axis -1 .from the end. has sizes 4 and 5",
    stretched: r"multiply of f32\[2,3,4\] and f32\[2,4\]: axis -2 .from the end. has sizes 3 and 2",
    where: r"where of pred\[4\] and f32\[4\] and f32\[2,3\]: axis -1",
    product: r"matmul of f32\[2,3\] and f32\[4,5\]: the inner sizes are 3 and 4",
    unsigned: r"add of u32\[1\] and s32\[1\]: no dtype holds both; cast one",
    eight_bits: r"multiply of f8e4m3\[1\] and bf16\[1\]: no dtype holds both",
    two_devices: "add of tensors on xla:0 and xla:7; both must be on one device",
    two_devices_joined: "concatenate of tensors on xla:0 and xla:7",
    truth: r"whether a pred\[2\] tensor is true is not defined.* any\(\) or all\(\)",
    element: "elements cannot be set.*where, concatenate",
    reset: r"this f32\[2\] tensor has no value: xla:0 was reset.*make it again",
    reset_value: "xla:0 was reset, or",
    reshaping: r"a f32\[1\] tensor cannot become f32\[3\] in place",
    integers: r"a s32\[1\] tensor cannot become f32\[1\] in place",
    unknown_dtype: "dtype is float65; a lazy device holds float32",
    words: "a lazy device holds float32",
    too_large: "integers from 2147483648 to 2147483648 do not fit into int32",
    too_large_number: r"2.14748e\+09 does not fit into int32",
    twice: "called on this tensor before in this step.*retain_graph=True",
    too_late: "mark_step has cut it off; call backward before mark_step",
    nothing_to_train: r"no tensor that requires a gradient.*requires_grad_\(\)",
    many: r"starts from one number, and this tensor is f32\[2\]; take its mean or sum",
    integer_gradient: r"only floating-point tensors have gradients; this one is s32\[1\]",
    item: r"item\(\) takes one element; this tensor is f32\[2\]",
}


@for_each("mistake", SENTENCES, ids=lambda f: f.__name__)
def test_mistake_is_one_sentence_at_the_line_that_made_it(mistake):
    with pytest.raises((ValueError, TypeError, RuntimeError), match=SENTENCES[mistake]) as caught:
        mistake(Device())
    text = str(caught.value)
    assert "\n" not in text
    assert not text.endswith(".")
    inside = [f for f in traceback.extract_tb(caught.tb) if f.filename == __file__]
    assert inside[-1].name == mistake.__name__  # the traceback's last line of the user's own


def test_mistake_leaves_the_recording_as_it_was(device):
    x = as_tensor([1.0, 2.0], device)
    y = x + 1
    with pytest.raises(GraphError):
        y + np.ones(3, np.float32)
    device.mark_step()
    assert y.numpy().tolist() == [2, 3]
    assert device.executions == 1


def test_backward_with_retained_graph_adds_the_gradient_twice(device):
    """Judge: PyTorch's ``retain_graph``."""
    w = as_tensor([2.0], device).requires_grad_()
    loss = (w * w).sum()
    loss.backward(retain_graph=True)
    loss.backward()
    device.mark_step()
    assert w.grad.item() == 8


def test_graph_beyond_hbm_is_refused_and_nothing_is_lost(device):
    """Judge: 16 GiB of HBM per NeuronCore (`nki-trn1-arch`); the sum below needs 32."""
    x = as_tensor(np.ones((1, 1), np.float32), device)
    side = 2**16
    large = xnp.exp(xnp.broadcast_to(x, (side, side))) * xnp.broadcast_to(x + 1, (side, side))
    small = x + 2
    raises(NkiValidationError, r"GiB of HBM at once, and a NeuronCore has 16", device.mark_step)
    raises(NkiValidationError, "GiB of HBM at once", device.mark_step)
    assert [e.kind for e in device.compiler.history] == ["failed", "failed"]
    assert large.node is not None
    del large
    device.mark_step()
    assert small.item() == 3


@pytest.fixture
def no_devices(monkeypatch):
    monkeypatch.setattr(xm, "DEVICES", {})


@pytest.mark.usefixtures("no_devices")
def test_cache_folder_that_is_a_file_is_refused_by_name(tmp_path, monkeypatch):
    (tmp_path / "note").write_text("a note")
    monkeypatch.setenv("NEURON_COMPILE_CACHE_URL", str(tmp_path / "note"))
    raises(ValueError, r"note.* cannot be used.*NEURON_COMPILE_CACHE_URL", xm.xla_device)


@pytest.mark.skipif(sys.platform == "win32" or os.geteuid() == 0, reason="root may write anywhere")
@pytest.mark.usefixtures("no_devices")
def test_read_only_cache_folder_is_said_once_and_values_are_right(tmp_path, monkeypatch, capfd):
    _cannot_write(tmp_path, monkeypatch, capfd, lambda folder: folder.chmod(0o555))


@pytest.mark.usefixtures("no_devices")
def test_full_disk_is_said_once_and_values_are_right(tmp_path, monkeypatch, capfd):
    def full(*_, **__):
        raise OSError(28, "No space left on device")

    _cannot_write(tmp_path, monkeypatch, capfd,
                  lambda folder: monkeypatch.setattr("trainium_edu.files.write", full))  # fmt: skip


def _cannot_write(tmp_path, monkeypatch, capfd, close):
    monkeypatch.setenv("NEURON_COMPILE_CACHE_URL", str(tmp_path))
    device = xm.xla_device()
    close(device.compiler.cache.folder)
    made = [as_tensor([2.0], device) * 3, as_tensor([[2.0]], device) * 4]
    xm.mark_step()
    assert [m.item() for m in made] == [6, 8]
    made = as_tensor([2.0], device) * 5 + 1
    xm.mark_step()
    assert made.item() == 11
    assert capfd.readouterr().err.count("takes nothing more") == 1


@pytest.mark.usefixtures("no_devices")
def test_switch_with_a_wrong_value_is_named(monkeypatch):
    monkeypatch.setenv("XLA_USE_BF16", "yes")
    raises(ValueError, "XLA_USE_BF16 is 'yes'; it must be 0 or 1", xm.xla_device)
