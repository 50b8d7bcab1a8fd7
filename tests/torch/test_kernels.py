"""Kernels in NKI in a PyTorch script; judges: PyTorch on the CPU, the kernel alone (``nki.run``).

As AWS's guide of custom operators has it: the call is an operation of the step's graph, compiled
with the rest, and a ``torch.autograd.Function`` around it brings its gradient.
"""

import importlib

import numpy as np
import pytest

from tests.texts import text_beside
from tests.xla.kernels import exps, older_exps

torch = pytest.importorskip("torch")

import trainium_edu.torch as bridge  # noqa: E402
from trainium_edu import nki  # noqa: E402
from trainium_edu.nki import beta1  # noqa: E402
from trainium_edu.nki import language as nl  # noqa: E402
from trainium_edu.nki.beta1 import language as older  # noqa: E402
from trainium_edu.nki.beta1.typing import mutable_tensor  # noqa: E402
from trainium_edu.torch.core import current  # noqa: E402

pytestmark = pytest.mark.judge


RANKS = text_beside(__file__, "kernel_on_ranks.py.txt")


@beta1.jit
def cubes(x):
    out = older.ndarray(x.shape, dtype=x.dtype, buffer=older.shared_hbm)
    slope = older.ndarray(x.shape, dtype=x.dtype, buffer=older.shared_hbm)
    tile = older.load(x)
    square = older.multiply(tile, tile)
    older.store(out, older.multiply(square, tile))
    older.store(slope, older.multiply(square, 3.0))
    return out, slope


@beta1.jit
def doubled(x: mutable_tensor):
    older.store(x, older.multiply(older.load(x), 2.0))
    return x


class Cube(torch.autograd.Function):
    """As AWS's guide wraps a kernel."""

    @staticmethod
    def forward(ctx, x):
        out, slope = cubes(x)
        ctx.save_for_backward(slope)
        return out

    @staticmethod
    def backward(ctx, gradient):
        return gradient * ctx.saved_tensors[0]


def step_ns():
    return current().steps[-1].executable.makespan_ns


@pytest.mark.parametrize("kernel", [exps, older_exps])
def test_a_kernel_is_a_part_of_the_step(xm, kernel):
    device, given = xm.xla_device(), torch.randn(128, 128) / 8
    w = torch.randn(128, 128) / 8
    x, on_device = given.to(device), w.to(device)
    times, products = {}, (given @ w).exp() @ w
    for count in (0, 1, 1, 400):
        hidden = kernel(x @ on_device, count) if count else x @ on_device
        y = hidden @ on_device
        xm.mark_step()
        times[count] = step_ns()
        if count == 1:
            torch.testing.assert_close(y.cpu(), products, rtol=1e-4, atol=1e-5)
    # two products in one graph overlap by a part of one; apart they take as long as two graphs
    _kept = x @ on_device
    xm.mark_step()
    for count in (1, 400):
        alone = nki.run(kernel, given.numpy(), count, values=False).timeline.makespan_ns
        assert times[count] == pytest.approx(2 * step_ns() + alone, rel=1e-9)
    core = current()
    assert {one.kind for one in core.steps} == {"step"}  # no early run
    assert [e.kind for e in core.compiler.history[:4]] == ["compiled"] * 2 + ["memory", "compiled"]


def test_gradients_pass_through_a_function_around_it(xm):
    given = torch.randn(4, 8)
    x = given.to(xm.xla_device()).requires_grad_()
    loss = (Cube.apply(x) * x).sum()
    loss.backward()
    xm.mark_step()
    small = 1e-3  # central differences of x^4, in FP64
    wide = given.double()
    slopes = ((wide + small) ** 4 - (wide - small) ** 4) / (2 * small)
    torch.testing.assert_close(x.grad.cpu().double(), slopes, rtol=1e-4, atol=1e-4)
    assert [one.kind for one in current().steps] == ["step"]


def test_what_a_kernel_writes_is_seen_through_every_view(xm):
    x = torch.ones(8, 4).to(xm.xla_device())
    half = x[:4]
    assert doubled(half).shape == half.shape
    xm.mark_step()
    assert x.cpu().sum(1).tolist() == [8] * 4 + [4] * 4


def test_dtypes_and_layouts_are_those_of_the_tensors(xm):
    device, given = xm.xla_device(), torch.randn(16, 8)
    columns = exps(given.to(device).t())
    narrow = exps(given.to(device).bfloat16())
    xm.mark_step()
    assert columns.is_contiguous()
    assert narrow.dtype is torch.bfloat16
    torch.testing.assert_close(columns.cpu(), given.t().exp())
    torch.testing.assert_close(narrow.cpu(), given.bfloat16().exp(), rtol=2**-7, atol=0)


def test_under_xla_use_bf16_a_kernel_sees_bf16_and_a_script_fp32(xm, monkeypatch):
    monkeypatch.setenv("XLA_USE_BF16", "1")
    seen = []

    @nki.jit
    def copied(x):
        seen.append(str(x.dtype))
        return exps(x)

    given = torch.full((4, 4), 1.0 + 2**-9)
    y = copied(given.to(xm.xla_device()))
    xm.mark_step()
    assert y.dtype is torch.float32
    assert {*seen} == {"bfloat16"}
    assert y.cpu()[0, 0] == torch.tensor(1.0).exp().bfloat16()


def test_without_values_shapes_come_from_the_recording():
    assert bridge.activate(values="none")
    try:
        xm = importlib.import_module("torch_xla.core.xla_model")
        for _ in range(2):
            out, slope = cubes(torch.zeros(4, 8, device=xm.xla_device()))
            xm.mark_step()
        assert (out.shape, slope.shape) == ((4, 8), (4, 8))
        assert [event.kind for event in current().compiler.history] == ["compiled", "memory"]
    finally:
        bridge.deactivate()


def test_an_edited_kernel_is_another_graph(xm):
    found = []
    for factor in (2.0, 3.0):

        @nki.jit
        def scaled(x, factor=factor):
            out = nl.ndarray(x.shape, x.dtype, buffer=nl.shared_hbm)
            nl.store(out, nl.multiply(nl.load(x), factor))
            return out

        y = scaled(torch.ones(4, 4).to(xm.xla_device()))
        xm.mark_step()
        found.append(y.cpu()[0, 0].item())
    assert found == [2, 3]
    assert [event.kind for event in current().compiler.history] == ["compiled"] * 2


def test_a_traced_model_has_its_kernel(xm):
    neuronx = importlib.import_module("torch_neuronx")
    given = torch.randn(4, 8)
    model = neuronx.trace(lambda x: exps(x) + 1, given)
    torch.testing.assert_close(model(given), given.exp() + 1)


def test_the_host_and_the_device_are_told_apart(xm):
    x = torch.ones(4, 4).to(xm.xla_device())
    with pytest.raises(TypeError, match="an array on the host; move that to the device first"):
        exps([x, torch.ones(4, 4)])
    with pytest.raises(TypeError, match=r"x is a tensor on xla:0, .* call the kernel itself"):
        beta1.simulate_kernel(older_exps, x)
    assert np.asarray(exps(torch.zeros(2, 2))).tolist() == [[1, 1], [1, 1]]


def test_each_rank_computes_its_own(tmp_path, capfd):
    (tmp_path / "ranks.py").write_text(RANKS)
    assert bridge.run_script(tmp_path / "ranks.py", ranks=2) == 0
    total = sum(n * n for n in range(16))  # of one sample for each rank, and step
    assert capfd.readouterr().out.splitlines() == [f"total {total:.1f}"] * 2
    executable = bridge.last_run().steps[0].executable
    assert executable.why().share_by_operation()["square"] > 0.1
    assert executable.band.low_ns < executable.makespan_ns < executable.band.high_ns
