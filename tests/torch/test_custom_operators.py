"""Operators in C++ in a PyTorch script; judge: PyTorch's own operators and gradients on the CPU."""

import importlib

import numpy as np
import pytest

from tests.texts import text_beside

torch = pytest.importorskip("torch")

import trainium_edu.torch as bridge  # noqa: E402
from trainium_edu.neuroncore import gpsimd_cpp  # noqa: E402
from trainium_edu.specs import TRN1  # noqa: E402
from trainium_edu.torch.core import current  # noqa: E402

pytestmark = pytest.mark.judge

KERNEL = text_beside(__file__, "leaky.cpp")
SHAPE = text_beside(__file__, "leaky_shape.cpp")


class Leaky(torch.autograd.Function):
    """Leaky ReLU by operators of its own."""

    @staticmethod
    def forward(ctx, x):
        ctx.save_for_backward(x)
        return torch.ops.leaky_ops.leaky(x, 0.25)

    @staticmethod
    def backward(ctx, g):
        (x,) = ctx.saved_tensors
        return torch.ops.leaky_ops.leaky_backward(g, x, 0.25)


@pytest.fixture
def custom_op(tmp_path):
    try:
        gpsimd_cpp.find_compiler()
    except gpsimd_cpp.NoCompilerError as missing:
        pytest.skip(str(missing))
    (tmp_path / "kernel.cpp").write_text(KERNEL)
    (tmp_path / "shape.cpp").write_text(SHAPE)
    assert bridge.activate()
    module = importlib.import_module("torch_neuronx.xla_impl.custom_op")
    module.load(
        name="leaky", compute_srcs=[tmp_path / "kernel.cpp"], shape_srcs=[tmp_path / "shape.cpp"],
        build_directory=tmp_path,
    )  # fmt: skip
    yield module
    bridge.deactivate()


def trained(activation, device, cut):
    """Return the weights of a small network after three steps."""
    torch.manual_seed(3)
    layers = [torch.nn.Linear(n, m).to(device) for n, m in ((6, 16), (16, 16), (16, 2))]
    weights = [w for layer in layers for w in layer.parameters()]
    optimiser = torch.optim.SGD(weights, lr=0.1)
    for _ in range(3):
        x = torch.randn(8, 6).to(device)
        optimiser.zero_grad()
        (layers[2](activation(layers[1](activation(layers[0](x))))) ** 2).mean().backward()
        optimiser.step()
        cut()
    return [w.detach().cpu().numpy() for w in weights]


def test_training_through_operators_equals_pytorchs_own(custom_op):
    xm = importlib.import_module("torch_xla.core.xla_model")
    here = trained(Leaky.apply, xm.xla_device(), xm.mark_step)
    own = trained(lambda x: torch.nn.functional.leaky_relu(x, 0.25), "cpu", lambda: None)
    for mine, theirs in zip(here, own, strict=True):
        np.testing.assert_allclose(mine, theirs, rtol=2e-5, atol=1e-7)
    assert [e.kind for e in current().compiler.history][-2:] == ["memory", "memory"]
    graph = current().compiler.newest.final
    assert sum(node.operation == "custom_op" for node in graph.nodes) == 4


def test_a_built_library_is_loaded_again_by_its_file(custom_op, tmp_path):
    custom_op.load_library(tmp_path / "libleaky.so")
    x = torch.tensor([[-4.0, 2.0]], device="xla")
    assert torch.ops.leaky_ops.leaky(x, 0.5).tolist() == [[-2.0, 2.0]]


def test_without_values_the_shape_function_is_enough(custom_op):
    bridge.deactivate()
    assert bridge.activate(values="none")
    x = torch.zeros(3, 5, device="xla")
    assert torch.ops.leaky_ops.leaky(x, 0.5).shape == (3, 5)


def test_on_the_cpu_or_with_other_operators_of_the_name_it_is_refused(custom_op, tmp_path):
    with pytest.raises(RuntimeError, match="custom operator runs on the chip's GpSimd Engine: mov"):
        torch.ops.leaky_ops.leaky(torch.zeros(2, 2), 0.5)
    (tmp_path / "shape.cpp").write_text(SHAPE.replace('m.def("leaky_b', 'm.def("other_b'))
    with pytest.raises(RuntimeError, match="a library leaky_ops with other operators is loaded"):
        custom_op.load(
            name="x", compute_srcs=[tmp_path / "kernel.cpp"], shape_srcs=[tmp_path / "shape.cpp"]
        )


RELU = text_beside(__file__, "relu.cpp")
RELU_SHAPE = text_beside(__file__, "relu_shape.cpp")


class Relu(torch.autograd.Function):
    """ReLU by an operator, as the tutorials write it."""

    @staticmethod
    def forward(ctx, x, operator):
        ctx.save_for_backward(x)
        return operator(x)

    @staticmethod
    def backward(ctx, g):
        (x,) = ctx.saved_tensors
        return torch.ops.relu_one.backward(g, x), None


def step(operator, widths, *, is_training):
    """Return (chip's ns, band) of a step of the tutorials' network with a batch of 32."""
    xm = importlib.import_module("torch_xla.core.xla_model")
    device = xm.xla_device()
    sizes = list(zip((784, *widths), (*widths, 10), strict=True))
    layers = torch.nn.ModuleList(torch.nn.Linear(n, m) for n, m in sizes).to(device)
    optimiser = torch.optim.SGD(layers.parameters(), lr=0.01)
    kept = []  # what is alive when a step is cut is computed: also what autograd keeps
    for _ in range(2):
        kept.clear()
        optimiser.zero_grad()
        h = torch.rand(32, 784).to(device)
        for layer in layers[:-1]:
            h = Relu.apply(layer(h), operator)
        kept.append(torch.log_softmax(layers[-1](h), dim=1))
        if is_training:
            label = torch.zeros(32, dtype=torch.int64).to(device)
            torch.nn.functional.nll_loss(kept[0], label).backward()
            optimiser.step()
        xm.mark_step()
    newest = current().compiler.newest
    return newest.makespan_ns, newest.band


def test_the_tutorials_steps_lie_in_their_bands(custom_op, tmp_path):
    """Judge: AWS's published iterations per second, of which a whole step is the inverse.

    Three of them fixed the operators' prices by their differences; what layers take, and the
    training row, fixed none.  While the chip works, the host loads the next batch: the
    longer of the two counts.
    """
    for library, several in (("relu_one", False), ("relu_eight", True)):
        (tmp_path / "relu.cpp").write_text(RELU)
        (tmp_path / f"{library}.cpp").write_text(RELU_SHAPE.replace("NAME", library))
        custom_op.load(name=library, compute_srcs=[tmp_path / "relu.cpp"],
                       shape_srcs=[tmp_path / f"{library}.cpp"], multicore=several)  # fmt: skip
    facts, one = TRN1.custom_operators, torch.ops.relu_one
    rows = [
        (one.element, False, facts.element_iterations_per_s, 0.05),
        (one.tcm, False, facts.tcm_iterations_per_s, 0.35),  # layers and code are both rough
        (torch.ops.relu_eight.eight, False, facts.eight_iterations_per_s, 0.1),
        (one.element, True, facts.training_iterations_per_s, 0.1),
    ]
    for operator, is_training, rate, off in rows:
        widths = (120, 84) if is_training else (4096, 2048)
        chip_ns, band = step(operator, widths, is_training=is_training)
        published = 1e9 / float(rate)
        host_ns = float(facts.host_step_ns)  # of another script: good to a tenth
        assert band.low_ns < published < max(band.high_ns, 1.1 * host_ns), operator
        assert max(chip_ns, host_ns) == pytest.approx(published, rel=off), operator
