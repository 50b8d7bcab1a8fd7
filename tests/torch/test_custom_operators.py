"""Operators in C++ in a PyTorch script; judge: PyTorch's own operators and gradients on the CPU."""

import importlib

import numpy as np
import pytest

torch = pytest.importorskip("torch")

import trainium_edu.torch as bridge  # noqa: E402
from trainium_edu.neuroncore import gpsimd_cpp  # noqa: E402
from trainium_edu.torch.core import current  # noqa: E402

pytestmark = pytest.mark.judge

KERNEL = """#include <torch/torch.h>
torch::Tensor leaky(const torch::Tensor& x, double slope) {
  torch::Tensor y = torch::empty(x.sizes(), torch::kFloat);
  auto in = x.accessor<float, 2>();
  auto out = y.accessor<float, 2>();
  for (int i = 0; i < x.size(0); i++)
    for (int j = 0; j < x.size(1); j++) out[i][j] = in[i][j] > 0 ? in[i][j] : slope * in[i][j];
  return y;
}
torch::Tensor leaky_backward(const torch::Tensor& g, const torch::Tensor& x, double slope) {
  torch::Tensor y = torch::empty(x.sizes(), torch::kFloat);
  auto grad = g.accessor<float, 2>();
  auto in = x.accessor<float, 2>();
  auto out = y.accessor<float, 2>();
  for (int i = 0; i < x.size(0); i++)
    for (int j = 0; j < x.size(1); j++) out[i][j] = in[i][j] > 0 ? grad[i][j] : slope * grad[i][j];
  return y;
}
"""
SHAPE = """#include <torch/torch.h>
#include "torchneuron/register.h"
torch::Tensor same(torch::Tensor x, double) { return torch::zeros(x.sizes(), torch::kFloat); }
torch::Tensor second(torch::Tensor, torch::Tensor x, double) { return x; }
NEURON_LIBRARY(leaky_ops, m) {
  m.def("leaky", &same, "leaky");
  m.def("leaky_backward", &second, "leaky_backward");
}
"""


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


def test_on_the_cpu_there_is_none(custom_op):
    with pytest.raises(RuntimeError, match="custom operator runs on the chip's GpSimd Engine: mov"):
        torch.ops.leaky_ops.leaky(torch.zeros(2, 2), 0.5)


def test_another_library_of_the_same_name_is_refused(custom_op, tmp_path):
    (tmp_path / "shape.cpp").write_text(SHAPE.replace('m.def("leaky_b', 'm.def("other_b'))
    with pytest.raises(RuntimeError, match="a library leaky_ops with other operators is loaded"):
        custom_op.load(name="x", compute_srcs=[tmp_path / "kernel.cpp"],
                       shape_srcs=[tmp_path / "shape.cpp"])  # fmt: skip
