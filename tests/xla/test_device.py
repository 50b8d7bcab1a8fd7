"""A lazy device.

Judges: PyTorch/XLA's documented counts of compiles and executions, and the same work left alone.
"""

import signal
import time
from dataclasses import replace

import numpy as np
import pytest

from tests.for_each import raises
from trainium_edu.xla import numpy as xnp
from trainium_edu.xla.device import Device, World, current_world, world
from trainium_edu.xla.operations import OPERATIONS
from trainium_edu.xla.tensor import NotFinite, as_tensor

rng = np.random.default_rng(0)
DATA = rng.normal(size=(512, 8)).astype(np.float32)


def test_learning_rate_is_an_input(device):
    """Judge: PyTorch/XLA, which hands Python's numbers in as data, except 0 and 1."""
    for rate in (0.1, 0.2, 0.3, 1.0):
        x = as_tensor([1.0], device) * rate
        device.mark_step()
        assert x.item() == np.float32(rate)
    assert [e.kind for e in device.compiler.history] == ["compiled", "memory", "memory", "compiled"]


def test_step_closures_run_after_the_step_in_order_also_after_one_that_fails():
    device, seen = Device(), []
    x = as_tensor([1.0], device) + 2
    for name in "ab":
        device.add_step_closure(
            lambda name, t: seen.append((name, t.item(), device.step)), (name, x)
        )
    assert seen == []
    device.mark_step()
    device.mark_step()
    assert seen == [("a", 3.0, 1), ("b", 3.0, 1)]
    device, seen = Device(), []
    device.add_step_closure(lambda: 1 / 0)
    device.add_step_closure(seen.append, (1,))
    raises(ZeroDivisionError, "", device.mark_step)
    device.mark_step()
    assert seen == [1]


def test_dead_tensors_are_not_computed(device):
    """Judge: PyTorch/XLA, whose graph has live tensors for roots."""
    x = as_tensor([1.0], device)
    kept = xnp.exp(x)
    xnp.log(x)
    device.mark_step()
    assert kept.item() == pytest.approx(np.e)
    (graph,) = device.compiler.graphs
    assert [n.operation for n in graph.nodes] == ["parameter", "exp"]


# -- eager mode ---------------------------------------------------------------------------------


def test_eager_mode_runs_each_operation_alone_and_gives_the_same():
    """Judge: the lazy run."""
    results = []
    for eager in (False, True):
        device = Device()
        device.eager = eager
        w = as_tensor(DATA[:4, :4], device).requires_grad_()
        loss = (xnp.tanh(w @ w) * 0.5).mean()
        if eager:
            assert loss.node is None
        loss.backward()
        device.mark_step()
        results.append((loss.numpy(), w.grad.numpy()))
        largest = max(len(g.nodes) - len(g.parameters) for g in device.compiler.graphs)
        assert (largest == 1) is eager
    for lazy, eager in zip(*results, strict=True):
        np.testing.assert_allclose(lazy, eager, rtol=1e-6)


# -- interrupts ---------------------------------------------------------------------------------


def snapshot(device, tensors):
    return (device.step, device.executions, device.pending, [t.state for t in tensors])


def broken_run(monkeypatch, how):
    """Let the second product of a run raise, or a real SIGINT arrive there; once."""
    row, count = OPERATIONS["dot"], [0]

    def value(*args):
        count[0] += 1
        if count[0] == 2:
            how()
        return row.value(*args)

    monkeypatch.setitem(OPERATIONS, "dot", replace(row, value=value))


def fail():
    raise MemoryError("no room")


@pytest.mark.parametrize(
    ("how", "error"),
    [(fail, MemoryError), (lambda: signal.raise_signal(signal.SIGINT), KeyboardInterrupt)],
)
def test_interrupted_step_leaves_the_state_as_before(monkeypatch, how, error):
    """Judge: the same steps, left alone."""
    before = signal.signal(signal.SIGINT, signal.default_int_handler)
    try:
        _interrupted(monkeypatch, how, error)
    finally:
        signal.signal(signal.SIGINT, before)


def products(device):
    w = as_tensor(DATA[:8, :8], device)
    h = xnp.exp(xnp.tanh(w @ w) * 0.5)
    w += h.sum(0)
    return [w, h, w @ h]


def _interrupted(monkeypatch, how, error):
    device, other = Device(), Device()
    tensors, wanted = products(device), products(other)
    state = snapshot(device, tensors)
    with monkeypatch.context() as patch:
        broken_run(patch, how)
        raises(error, "", device.mark_step)
    assert snapshot(device, tensors) == state
    device.mark_step()
    other.mark_step()
    for tensor, same in zip(tensors, wanted, strict=True):
        assert np.array_equal(tensor.numpy(), same.numpy())


def test_interrupt_while_compiling_leaves_the_state_as_before(monkeypatch, device):
    out = xnp.exp(as_tensor(DATA[:4], device))
    state = snapshot(device, [out])

    def interrupted(*_, **__):
        raise KeyboardInterrupt

    with monkeypatch.context() as patch:
        patch.setattr("trainium_edu.xla.compiler.Executable", interrupted)
        raises(KeyboardInterrupt, "", device.mark_step)
    assert snapshot(device, [out]) == state
    assert device.compiler.history == []
    device.mark_step()
    np.testing.assert_allclose(out.numpy(), np.exp(DATA[:4]), rtol=1e-6)


def test_interrupt_while_results_are_handed_out_leaves_the_state_as_before(monkeypatch, device):
    x = as_tensor([1.0], device)
    a, b = x + 1, x + 2
    state, hold = snapshot(device, [a, b]), type(a).hold
    with monkeypatch.context() as patch:
        patch.setattr(
            type(a), "hold", lambda t, v: hold(t, v) if t is a else signal.raise_signal(2)
        )
        raises(KeyboardInterrupt, "", device.mark_step)
    assert snapshot(device, [a, b]) == state


# -- numbers that are none ------------------------------------------------------------------------


def test_nan_loss_names_the_operation_and_line_that_made_it(device):
    """Judge: the line that this test knows to be wrong; the infinite mask is no mistake."""
    x = as_tensor([[1.0, 2.0], [3.0, 0.0]], device)
    masked = xnp.where(x > 0, x, float("-inf"))
    good = xnp.exp(masked)
    bad = xnp.log(x - 2.5)  # the line
    line = test_nan_loss_names_the_operation_and_line_that_made_it.__code__.co_firstlineno + 5
    loss = (good + bad).sum()
    device.mark_step()
    with pytest.warns(NotFinite, match=rf"nan: the first NaN was made by log at \S+py:{line},"):
        assert np.isnan(loss.item())
    assert "3 of its 4 numbers" in device.find_nan()


def test_infinity_and_data_that_are_not_finite_are_named(device):
    loss = xnp.exp(as_tensor([1.0, 100.0], device)).sum()
    device.mark_step()
    with pytest.warns(NotFinite, match="first infinity was made by exp .*1 of its 2 numbers"):
        assert loss.item() == np.inf
    loss = (as_tensor([1.0, float("nan")], device, name="batch") * 3).sum()
    device.mark_step()
    with pytest.warns(NotFinite, match=r"came in with the data: parameter batch, f32\[2\]"):
        loss.item()


def test_inputs_are_kept_for_a_look_back_only_if_small_or_asked_for(device):
    device.keep_feeds = False
    loss = xnp.log(as_tensor([-1.0], device)).sum()
    device.mark_step()
    assert np.isnan(loss.item())  # and no warning, which would fail this test
    raises(RuntimeError, "keep_feeds = True", device.find_nan)


# -- worlds, and the size of recordings -----------------------------------------------------------


def test_world_is_of_one_rank_unless_told_otherwise():
    assert current_world() == World(0, 1)
    with world(World(3, 8)):
        assert current_world().ordinal == 3
    assert current_world().size == 1
    raises(ValueError, "counts from 0", World, 8, 8)


def record(x, y, turns):
    for _ in range(turns):
        x = xnp.tanh(x @ y + 1.5) * x
    return x


def test_step_recorded_again_ends_at_the_very_same_node(device):
    x, y = (as_tensor(DATA[:4, :4], device) for _ in range(2))
    roots = []
    for _ in range(3):
        z = record(x, y, 20)
        roots.append(z.node)
        device.mark_step()
        z = None
    assert roots[0] is roots[1] is roots[2]
    assert [e.kind for e in device.compiler.history] == ["compiled", "memory", "memory"]


@pytest.mark.slow
@pytest.mark.clock
def test_recording_and_looking_up_2000_nodes_takes_at_most_20_ms_on_a_quiet_machine(device):
    """Judge: the stated 20 ms.  Tripled, the best of ten: other work may be on the machine."""
    x, y = (as_tensor(DATA[:4, :4], device) for _ in range(2))
    seconds = []
    for _ in range(10):
        start = time.perf_counter()
        z = record(x, y, 400)  # five nodes each
        seconds.append(time.perf_counter() - start)
        device.mark_step()
        z = None
    (graph,) = device.compiler.graphs
    assert len(graph.nodes) >= 2000
    assert z is None
    assert min(seconds[1:]) < 0.06
