"""The familiar names.

Judges: pytorch/xla's ``xla_model.py`` for what each does, AWS's guides for the switches.
"""

import subprocess
import sys
from types import SimpleNamespace

import numpy as np
import pytest
from safetensors.numpy import load_file

from tests.for_each import for_rows, raises
from tests.texts import text_beside
from trainium_edu import xla
from trainium_edu.xla import numpy as xnp
from trainium_edu.xla import xm
from trainium_edu.xla.device import Device
from trainium_edu.xla.executor import Setting
from trainium_edu.xla.graph import Graph
from trainium_edu.xla.tensor import as_tensor


@pytest.fixture(autouse=True)
def _no_devices(monkeypatch):
    monkeypatch.setattr(xm, "DEVICES", {})


def kinds(device):
    return [event.kind for event in device.compiler.history]


def test_devices_are_the_neuroncores_of_an_instance():
    """Judge: AWS's table of instances: 16 chips of two NeuronCores."""
    device = xm.xla_device()
    assert (str(device), repr(device)) == ("xla:0", "device(type='xla', index=0)")
    assert xm.xla_device() is device is not xm.xla_device(31)
    raises(ValueError, "xla:0 to xla:31", xm.xla_device, 32)


def test_mark_step_runs_what_is_pending():
    device = xm.xla_device()
    x, seen = as_tensor([2.0], device) * 3, []
    xm.add_step_closure(seen.append, (x,), run_async=True)
    xm.mark_step()
    assert x.node is None
    assert seen == [x]
    assert device.step == 1


class Optimizer:
    """Has what ``optimizer_step`` asks of one."""

    def __init__(self, *parameters):
        self.parameters = parameters

    def step(self, scale=1.0):
        for p in self.parameters:
            p -= p.grad * scale
        return "stepped"


def test_optimizer_step_records_and_marks_a_step_with_a_barrier_only():
    device = xm.xla_device()
    w = as_tensor([3.0], device).requires_grad_()
    (w * w).sum().backward()
    assert xm.optimizer_step(Optimizer(w)) == "stepped"
    assert (device.step, w.node is None) == (0, False)
    xm.mark_step()
    assert w.item() == -3
    w.grad = None
    (w * w).sum().backward()
    assert xm.optimizer_step(Optimizer(w), barrier=True, optimizer_args={"scale": 0.5}) == "stepped"
    assert (device.step, w.item()) == (2, 0)


class Ranks:
    """Sums over the leading axis: what a trainer hands in."""

    def all_reduce(self, array, node, draw):
        reduce = {"sum": np.sum, "max": np.max, "min": np.min}[node.of["kind"]]
        return np.broadcast_to(reduce(array, axis=0, keepdims=True), array.shape)


@pytest.mark.parametrize(("size", "sizes"), [
    (0, [[1, 300, 200, 100]]),  # all in one
    (4 * 300, [[1], [300], [200, 100]]),
    (4 * 100, [[1], [300], [200], [100]]),  # a tensor may be larger than a bucket
    (None, [[1, 300, 200, 100]]),
])  # fmt: skip
def test_buckets_begin_with_the_last_and_hold_so_many_bytes(size, sizes, monkeypatch, device):
    monkeypatch.setenv("ALLREDUCE_GRADIENTS_BUCKET_SIZE_MB", "1")
    tensors = [as_tensor(np.ones(n, np.float32), device) for n in (100, 200, 300, 1)]
    buckets = xm.in_buckets(tensors, size)
    assert [[tensor.size for tensor in bucket] for bucket in buckets] == sizes


def test_a_bucket_is_of_one_dtype_and_as_large_as_the_switch_says(monkeypatch, device):
    wide, narrow = (
        as_tensor(np.ones(2**18, np.float32), device, dtype) for dtype in ("float32", "bfloat16")
    )
    monkeypatch.setenv("ALLREDUCE_GRADIENTS_BUCKET_SIZE_MB", "1")
    assert list(map(len, xm.in_buckets([wide, wide]))) == [1, 1]
    assert list(map(len, xm.in_buckets([narrow, narrow]))) == [2]
    assert list(map(len, xm.in_buckets([wide, narrow, wide], 0))) == [1, 1, 1]
    monkeypatch.setenv("ALLREDUCE_GRADIENTS_BUCKET_SIZE_MB", "2")
    assert list(map(len, xm.in_buckets([wide, wide]))) == [2]


def test_world_of_one_records_no_collective_for_gradients():
    device = xm.xla_device()
    w = as_tensor([3.0], device).requires_grad_()
    (w * w).sum().backward()
    before = w.grad.node
    xm.reduce_gradients(Optimizer(w))
    assert w.grad.node is before


@for_rows("kind, function", ("sum", np.sum), ("max", np.max), ("min", np.min))
def test_all_reduce_reduces_over_ranks(kind, function):
    data = np.array([[1.0, 2.0], [3.0, -5.0]], np.float32)
    device = Device(setting=Setting(replicas=2))
    with xm.world(xm.World(size=2, collectives=Ranks(), device=device)):
        x, y = (as_tensor(data, device, per_replica=True) for _ in range(2))
        total = xm.all_reduce(kind, x, scale=0.5)
        assert xm.all_reduce(kind, [y]) is None
        xm.mark_step()
    np.testing.assert_allclose(total.numpy()[0], function(data, 0) * 0.5)
    np.testing.assert_allclose(y.numpy()[1], function(data, 0))
    raises(ValueError, "mul", xm.all_reduce, "mul", x)


def test_ordinals_count_in_the_world_and_on_the_instance():
    assert (xm.get_ordinal(), xm.xrt_world_size(), xm.is_master_ordinal()) == (0, 1, True)
    with xm.world(xm.World(32, 64)):
        assert (xm.get_ordinal(), xm.get_local_ordinal(), xm.xrt_world_size()) == (32, 0, 64)
        assert xm.is_master_ordinal()
        assert not xm.is_master_ordinal(local=False)
        raises(RuntimeError, "rendezvous 'end' needs the other 63 ranks", xm.rendezvous, "end")
    with xm.world(xm.World(1, 2, SimpleNamespace(rendezvous=lambda tag, load: [b"0", load]))):
        assert xm.rendezvous("end", b"1") == [b"0", b"1"]
        assert str(xm.xla_device()) == "xla:1"
        assert xm.mesh_reduce("loss", 3.0, lambda loads: loads[1]) == 3.0


def test_mesh_reduce_collects_the_values_of_all_ranks():
    device = Device(setting=Setting(replicas=3))
    x = as_tensor([1.0, 2.0, 6.0], device, per_replica=True)
    assert xm.mesh_reduce("x", x, np.mean) == 3
    assert xm.mesh_reduce("y", as_tensor([4.0], xm.xla_device()), len) == 1
    assert xm.rendezvous("here", b"x") == [b"x"]


def test_save_writes_arrays_that_safetensors_loads_on_the_first_rank_only(tmp_path):
    device = xm.xla_device()
    state = {"w": as_tensor([1.5], device, "bfloat16"), "adam": {"m": as_tensor([[2]], device)},
             "file": 3.0}  # fmt: skip
    xm.save(state, tmp_path / "state.safetensors")
    saved = load_file(tmp_path / "state.safetensors")
    assert {k: v.tolist() for k, v in saved.items()} == {"w": [1.5], "adam/m": [[2]]}
    assert saved["w"].dtype == "bfloat16"
    meet = SimpleNamespace(rendezvous=lambda tag, load: [])
    with xm.world(xm.World(1, 2, meet)):
        xm.save(state, tmp_path / "other.safetensors")
        assert not (tmp_path / "other.safetensors").exists()
        xm.save(state, tmp_path / "other.safetensors", master_only=False)
    assert (tmp_path / "other.safetensors").exists()
    for bad in (object(), 1j, float("nan")):
        raises(ValueError, "bad is", xm.save, {"bad": bad}, tmp_path / "third.safetensors")
    assert not (tmp_path / "third.safetensors").exists()


# -- switches -----------------------------------------------------------------------------------


@pytest.mark.parametrize(("switch", "data", "dtype"), [
    ("XLA_USE_BF16", np.ones(2, np.float32), "bfloat16"),
    ("XLA_USE_BF16", np.ones(2), "bfloat16"),
    ("XLA_USE_BF16", [1.5], "bfloat16"),
    ("XLA_USE_BF16", [1], "int32"),
    ("XLA_DOWNCAST_BF16", np.ones(2, np.float32), "bfloat16"),
    ("XLA_DOWNCAST_BF16", np.ones(2), "float32"),
    ("XLA_DOWNCAST_BF16", [1.5], "bfloat16"),
])  # fmt: skip
def test_bf16_switches_narrow_data_and_round_stochastically(monkeypatch, switch, data, dtype):
    """Judge: ENV of AWS: float and double -> bf16; or float -> bf16, double -> float."""
    device = xm.xla_device()
    assert device.setting.rounding == "nearest"
    monkeypatch.setenv(switch, "1")  # after the imports and the first look at the device
    device = xm.xla_device()
    assert as_tensor(data, device).dtype == dtype
    assert device.setting.rounding == "stochastic"


def test_everything_computed_under_xla_use_bf16_is_bf16(monkeypatch):
    monkeypatch.setenv("XLA_USE_BF16", "1")
    device = xm.xla_device()
    x = as_tensor([1, 2], device)
    for made in (x * 0.5, x / 3, xnp.exp(x), xnp.mean(x), x.astype("float32"),
                 xnp.zeros(2, device=device)):  # fmt: skip
        assert made.dtype == "bfloat16"


def test_rounding_switches_are_read_at_each_step(monkeypatch):
    """Judge: the exact mean of stochastic rounding, within four standard errors."""
    device = xm.xla_device()
    values = np.full(4096, 256.0)

    def sums():
        made = as_tensor(values, device, "bfloat16") + 0.5  # spacing 2: up with probability 1/4
        xm.mark_step()
        return made.numpy()

    assert set(sums()) == {256}
    monkeypatch.setenv("NEURON_RT_STOCHASTIC_ROUNDING_EN", "1")
    monkeypatch.setenv("NEURON_RT_STOCHASTIC_ROUNDING_SEED", "9")
    first, second = sums(), sums()
    assert device.setting.seed == 9
    assert set(first) == {256, 258}
    assert abs(first.mean() - 256.5) < 4 * np.sqrt(0.75 / 4096)
    assert not np.array_equal(first, second)


def test_eager_debug_mode_has_values_at_once(monkeypatch, recwarn):
    monkeypatch.setenv("NEURON_USE_EAGER_DEBUG_MODE", "1")
    x = as_tensor([2.0], xm.xla_device()) * 3
    assert x.node is None
    assert x.item() == 6
    assert not recwarn.list  # no graph was cut early


def test_disk_serves_the_next_run_and_flags_make_another_entry(monkeypatch, tmp_path):
    """Judge: AWS's layout, neuronxcc-<version>/MODULE_<graph>+<flags>/model.neff."""
    monkeypatch.setenv("NEURON_COMPILE_CACHE_URL", str(tmp_path))

    def run(flags):
        monkeypatch.setenv("NEURON_CC_FLAGS", flags)
        monkeypatch.setattr(xm, "DEVICES", {})
        device = xm.xla_device()
        out = xnp.exp(as_tensor([[1.0, 2.0]], device)) * 2
        xm.mark_step()
        np.testing.assert_allclose(out.numpy(), 2 * np.exp([[1.0, 2.0]]), rtol=1e-2)
        return kinds(device)

    first = run("")
    assert first == ["compiled"]
    assert run("") == ["disk"]
    assert run("--auto-cast=all") == ["compiled"]
    assert run("--auto-cast=all") == ["disk"]
    assert run("--no_cache") == ["compiled"]
    programs = sorted(tmp_path.glob("neuronxcc-*/MODULE_*/model.neff"))
    assert len(programs) == 2
    assert any(p.parent.name.endswith("+d41d8cd9") for p in programs)


def test_extraction_writes_graphs_and_hands_out_zeros(monkeypatch, tmp_path):
    """Judge: AWS's guide: no compilation, outputs invalid; the next run finds what was compiled."""
    monkeypatch.setenv("NEURON_COMPILE_CACHE_URL", str(tmp_path))
    monkeypatch.setenv("NEURON_EXTRACT_GRAPHS_ONLY", "1")

    def run():
        device = xm.xla_device()
        out = as_tensor([1.0, 2.0], device) + 3
        xm.mark_step()
        return device, out.numpy().tolist()

    device, values = run()
    assert (kinds(device), values) == (["extracted"], [0, 0])
    cache = device.compiler.cache
    (entry,) = cache.entries()
    assert entry.status == "remaining"
    text, _ = cache.graph_of(entry)
    program = xla.compiler.compile_bytes(text, "")
    key = Graph.from_json(text).fingerprint, device.compiler.flags.hash
    cache.get_or_compile(*key, lambda: program)
    monkeypatch.setenv("NEURON_EXTRACT_GRAPHS_ONLY", "0")
    monkeypatch.setattr(xm, "DEVICES", {})
    device, values = run()
    assert (kinds(device), values) == (["disk"], [4, 5])


# -- the front door -------------------------------------------------------------------------------


def test_front_door_loads_nothing_until_a_name_is_needed_and_tensors_have_their_methods():
    """Judge: a fresh interpreter."""
    code = text_beside(__file__, "front_door.py.txt")
    subprocess.run([sys.executable, "-c", code], check=True, timeout=60)


@pytest.mark.slow
@pytest.mark.clock
def test_front_door_opens_in_0_6_s_on_a_quiet_machine_in_0_15():
    """Judge: a fresh interpreter's clock."""
    code = text_beside(__file__, "opens_in_time.py.txt")
    subprocess.run([sys.executable, "-c", code], check=True, timeout=60)


def test_metrics_report_has_the_documented_names():
    """Judge: the report printed in AWS's debugging guide."""
    xla.met.clear_all()
    device = xm.xla_device()
    x = as_tensor(np.ones((2, 8)), device, "bfloat16") * 2
    xm.mark_step()
    x.numpy()
    names = ["CompileTime", "ExecuteTime", "InboundData", "InputOutputAliasCount", "OutboundData",
             "TensorsGraphSize", "TransferFromDeviceTime", "TransferToDeviceTime"]  # fmt: skip
    assert xla.met.metric_names() == names
    for name in ("TransferFromServerTime", "TransferToServerTime"):  # as that guide has them
        assert xla.met.metric_data(name) == xla.met.metric_data(name.replace("Server", "Device"))
    assert xla.met.metric_data("OutboundData")[:2] == (1, 32)
    assert xla.met.metric_data("InboundData")[:2] == (1, 32)
    names = ["DeviceDataCacheMiss", "MarkStep", "UncachedCompile", "xla::multiply"]
    assert xla.met.counter_names() == names
    assert "Metric: CompileTime\n  TotalSamples: 1\n" in xla.metrics_report()
