"""What goes wrong says so in one sentence, at the user's line.

Judge: the sentences themselves, the functions that this file knows, and the state before.
"""

import os
import sys
import tomllib
import traceback
from pathlib import Path

import numpy as np
import pytest

from tests.for_each import for_each, raises
from trainium_edu.specs.errors import NkiValidationError
from trainium_edu.xla import numpy as xnp
from trainium_edu.xla import xm
from trainium_edu.xla.device import Device
from trainium_edu.xla.graph import GraphError
from trainium_edu.xla.tensor import as_tensor

MISTAKES = tomllib.loads(Path(__file__).with_name("mistakes.toml").read_text("utf-8"))


@for_each("mistake", MISTAKES)
def test_mistake_is_one_sentence_at_the_line_that_made_it(mistake):
    d = Device()
    scope = {"d": d, "ones": lambda *shape: as_tensor(np.ones(shape), d, "float32"), **globals()}
    with pytest.raises((ValueError, TypeError, RuntimeError), match=MISTAKES[mistake]) as caught:
        exec(compile(mistake, "script.py", "exec"), scope)
    text = str(caught.value)
    assert "\n" not in text
    assert not text.endswith(".")
    assert "script.py" in {frame.filename for frame in traceback.extract_tb(caught.tb)}


def test_mistake_leaves_the_recording_as_it_was(device):
    x = as_tensor([1.0, 2.0], device)
    y = x + 1
    raises(GraphError, "", lambda: y + np.ones(3, np.float32))
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
